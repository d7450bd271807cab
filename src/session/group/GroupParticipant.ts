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
 * A participant as the others see it.
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
 * The input of a participant. It contains nothing that is hidden from the participant.
 *
 * @since 0.1.0
 * @category models
 */
export interface Invitation {
  readonly sessionId: SessionId
  readonly userId?: UserId | undefined
  /** The id of the run in which the participant answers. */
  readonly runId: RunId
  readonly self: Member
  /** Everybody who may still speak, including the participant, in the order of the group. */
  readonly members: ReadonlyArray<Member>
  /** The newest turn. */
  readonly message: SessionTurn
  /** The turns before it, oldest first. */
  readonly history: ReadonlyArray<SessionTurn>
  /** From 1. */
  readonly round: number
}

/**
 * An answer. Without `visibleTo` and `hiddenFrom`, everybody sees it; see `RoleIsolation`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly _tag: "Answer"
  /** A blank text is silence. */
  readonly text: string
  readonly toolCalls?: ReadonlyArray<TurnToolCall> | undefined
  /** Stored with the turn; the group writes `agent`, `role` and `round`. */
  readonly metadata?: { readonly [key: string]: unknown } | undefined
  /** Names and roles that see it, in addition to its author. */
  readonly visibleTo?: ReadonlyArray<string> | undefined
  /** Names and roles that do not see it. */
  readonly hiddenFrom?: ReadonlyArray<string> | undefined
}

/**
 * Silence.
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
  /** The participant's timeout, which overrides the group's. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Called by a group, one participant at a time. A run below the current `Run`, with the id of the invitation, emits
   * the events. A failure or a defect does not end the group: it is recorded, and others continue.
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
  /** Describes the participant to those who choose the next speaker. Default none. */
  readonly description?: string | undefined
  /** Default: the timeout of the group. */
  readonly timeout?: Duration.DurationInput | undefined
  /** A text is an answer, `undefined` is silence. The current `Run` is that of the participant. */
  readonly respond: (invitation: Invitation) => Effect.Effect<Reply | string | undefined, E, R>
}

/**
 * Silence.
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

/** The run of a participant that is not an agent: begun, answered, ended. */
const inRun = <E, R>(
  invitation: Invitation,
  strategy: string,
  respond: Effect.Effect<Reply, E, R>
): Effect.Effect<Reply, E, R> =>
  // Uninterruptible except for the answer itself, so that a run has both its first and its last event, or neither.
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
      const answered = Effect.tap(respond, (reply) =>
        reply._tag === "Answer" ? run.emit({ _tag: "Message", text: reply.text }) : Effect.void
      )
      const inside = Effect.provideService(
        wait === undefined ? answered : Effect.zipRight(wait, answered),
        Run.Run,
        run
      )
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
 * Makes a participant from a function. Its events belong to a run of its own.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupParticipant } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * // Counts the words of what the others say, and only the editor sees the count.
 * const counter = GroupParticipant.make("counter", {
 *   role: "reviewer",
 *   description: "Counts words",
 *   timeout: "5 seconds",
 *   respond: ({ message }) => {
 *     const words = message.content.split(/\s+/).length
 *     return Effect.succeed(
 *       words < 100 ? undefined : GroupParticipant.answer(`${words} words`, { visibleTo: ["editor"] })
 *     )
 *   }
 * })
 * ```
 */
export const make = <E = never, R = never>(name: string, options: Options<E, R>): GroupParticipant<E, R> =>
  makeWith(name, "participant", options)

/**
 * As `make`, with the name of its strategy for the `Started` event of its run.
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
