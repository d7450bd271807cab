/**
 * A participant of a group: an agent, a human, or a function. It receives the turns that it may see and answers or
 * stays silent.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import type { SessionTurn, TurnToolCall } from "../turn/Session.js"
import * as GroupOutcome from "./GroupOutcome.js"

/**
 * A participant as the others know it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Member {
  readonly name: string
  readonly role: string
  readonly description: string
}

/**
 * What a participant is asked with. There is nothing in it that is hidden from the participant.
 *
 * @since 0.1.0
 * @category models
 */
export interface Invitation {
  readonly sessionId: SessionId
  readonly userId?: UserId | undefined
  /** The id of the run in which it answers. */
  readonly runId: RunId
  readonly self: Member
  /** Everybody who may still speak, the participant included, in the order of the group. */
  readonly members: ReadonlyArray<Member>
  /** The newest turn. */
  readonly message: SessionTurn
  /** Turns before it, oldest first. */
  readonly history: ReadonlyArray<SessionTurn>
  /** From 1. */
  readonly round: number
}

/**
 * Something to say. Without `visibleTo` and `hiddenFrom` everybody sees it; see `RoleIsolation`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly _tag: "Answer"
  /** A blank one is silence. */
  readonly text: string
  readonly toolCalls?: ReadonlyArray<TurnToolCall> | undefined
  /** Kept with the turn; `agent`, `role` and `round` are written by the group. */
  readonly metadata?: { readonly [key: string]: unknown } | undefined
  /** Names and roles of those who see it, besides the one who says it. */
  readonly visibleTo?: ReadonlyArray<string> | undefined
  /** Names and roles of those who do not see it. */
  readonly hiddenFrom?: ReadonlyArray<string> | undefined
}

/**
 * Nothing to say.
 *
 * @since 0.1.0
 * @category models
 */
export interface Silence {
  readonly _tag: "Silence"
}

/**
 * @since 0.1.0
 * @category models
 */
export type Reply = Answer | Silence

/**
 * @since 0.1.0
 * @category models
 */
export interface GroupParticipant<out E = never, out R = never> extends Member {
  /** How long it may take, whatever the group says. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Asked by a group, one at a time. What happens on the way is emitted by a run under the current `Run`, with the id
   * of the invitation. A failure or a defect is no end of the group: it is noted, and others go on.
   */
  readonly respond: (invitation: Invitation) => Effect.Effect<Reply, E, R>
}

/**
 * Any participant.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = GroupParticipant<any, any>

/**
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<P extends Any> = P extends GroupParticipant<any, infer R> ? R : never

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  /** Default `participant`. */
  readonly role?: string | undefined
  /** Who it is, for those who choose the next speaker. Default none. */
  readonly description?: string | undefined
  /** Default that of the group. */
  readonly timeout?: Duration.DurationInput | undefined
  /** A text is an answer, `undefined` is silence. The current `Run` is that of the participant. */
  readonly respond: (invitation: Invitation) => Effect.Effect<Reply | string | undefined, E, R>
}

/**
 * Nothing to say.
 *
 * @since 0.1.0
 * @category constructors
 */
export const silence: Silence = { _tag: "Silence" }

/**
 * @since 0.1.0
 * @category constructors
 */
export const answer = (text: string, options: Omit<Answer, "_tag" | "text"> = {}): Answer => ({
  ...options,
  _tag: "Answer",
  text
})

const replyOf = (given: Reply | string | undefined): Reply =>
  given === undefined ? silence : typeof given === "string" ? { _tag: "Answer", text: given } : given

/** The run of a participant that is no agent: begun, answered, ended. */
const inRun = <E, R>(
  invitation: Invitation,
  strategy: string,
  respond: Effect.Effect<Reply, E, R>
): Effect.Effect<Reply, E, R> =>
  // Uninterruptible up to the answer itself: a run has both its first and its last event, or none.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const outer = yield* Run.Run
      const step = yield* Step.Step
      const startedAt = yield* Clock.currentTimeMillis
      const run = outer.child(invitation.runId, invitation.self.name)
      const wait = run.unsafeEmit({
        _tag: "Started",
        input: invitation.message.content,
        strategy,
        sessionId: invitation.sessionId,
        ...(invitation.userId === undefined ? {} : { userId: invitation.userId })
      })
      const said = Effect.tap(respond, (reply) =>
        reply._tag === "Answer" ? run.emit({ _tag: "Message", text: reply.text }) : Effect.void
      )
      const inside = Effect.provideService(wait === undefined ? said : Effect.zipRight(wait, said), Run.Run, run)
      const exit = yield* Effect.exit(restore(inside))
      const durationMs = (yield* Clock.currentTimeMillis) - startedAt
      if (!step.isSuspended()) {
        run.terminal(
          Exit.isSuccess(exit)
            ? { _tag: "Finished", reason: "completed", durationMs }
            : {
                _tag: "Error",
                interrupted: Cause.isInterruptedOnly(exit.cause),
                error: GroupOutcome.failureOf(exit.cause)
              }
        )
      }
      return yield* exit
    })
  )

/**
 * A participant from a function. Its events stand in a run of its own.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(name: string, options: Options<E, R>): GroupParticipant<E, R> =>
  makeWith(name, "participant", options)

/**
 * The same, with a word for how it finds its answers, for the `Started` event of its run.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = <E = never, R = never>(
  name: string,
  strategy: string,
  options: Options<E, R>
): GroupParticipant<E, R> => ({
  name,
  role: options.role ?? "participant",
  description: options.description ?? "",
  timeout: options.timeout,
  respond: (invitation) =>
    inRun(
      invitation,
      strategy,
      Effect.map(
        Effect.suspend(() => options.respond(invitation)),
        replyOf
      )
    )
})
