/**
 * Humans as participants of a group. They have a longer timeout, and no answer counts as silence.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Watch from "../../internal/fiber/Watch.js"
import * as GroupParticipant from "./GroupParticipant.js"

/**
 * `E` and `R` are those of `ask`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  /**
   * Gets the answer from the human; `undefined` or a blank text is silence. `Inbox.ask` waits for an answer from
   * outside.
   */
  readonly ask: (invitation: GroupParticipant.Invitation) => Effect.Effect<string | undefined, E, R>
  /** No answer within this time is silence; default 5 minutes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Default `human`. */
  readonly role?: string | undefined
  /** Default `A human`. */
  readonly description?: string | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  name: string,
  options: Options<E, R>
): GroupParticipant.GroupParticipant<E, R> => {
  const millis = Duration.toMillis(options.timeout ?? "5 minutes")
  return GroupParticipant.makeWith(name, "human", {
    role: options.role ?? "human",
    description: options.description ?? "A human",
    // Has its own timeout, which is not a failure.
    timeout: Duration.infinity,
    respond: (invitation) =>
      Effect.catchIf(
        Watch.outside(
          Deadline.run(() => Effect.suspend(() => options.ask(invitation)), {
            whole: Number.isFinite(millis) ? millis : undefined,
            onTimeout: () => timedOut
          })
        ),
        (error): error is typeof timedOut => error === timedOut,
        () => Effect.succeed(undefined)
      )
  })
}

const timedOut = { _tag: "Late" } as const

/**
 * A pending question.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  readonly id: RunId
  readonly sessionId: SessionId
  readonly userId?: UserId | undefined
  readonly participant: string
  readonly invitation: GroupParticipant.Invitation
}

/**
 * Selects a question. With a user, only that user's questions are found; without one, only those without an owner,
 * unless the caller acts for the system (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Target {
  readonly sessionId: SessionId
  readonly userId?: UserId | undefined
  /** The human who answers, when several may be asked. */
  readonly participant?: string | undefined
}

/**
 * Holds the questions that humans are asked now, and nothing else.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inbox {
  /** Waits for an answer. Used by `HumanParticipant.make`. */
  readonly ask: (invitation: GroupParticipant.Invitation) => Effect.Effect<string | undefined>
  /** Answers the oldest pending question. False: no question is pending; the answer is not stored for later. */
  readonly answer: (target: Target, text: string) => Effect.Effect<boolean>
  /** Declines to answer. */
  readonly pass: (target: Target) => Effect.Effect<boolean>
  /**
   * The pending questions, oldest first: those of a user, or those without an owner; all of them for the system without
   * a user.
   */
  readonly waiting: (of?: Pick<Target, "userId"> | undefined) => Effect.Effect<ReadonlyArray<Question>>
}

interface Pending {
  readonly question: Question
  readonly reply: Deferred.Deferred<string | undefined>
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Ids } from "effect-lexigram"
 * import { HumanParticipant } from "effect-lexigram/session"
 *
 * const program = Effect.gen(function* () {
 *   const inbox = yield* HumanParticipant.makeInbox
 *   const editor = HumanParticipant.make("editor", { ask: inbox.ask, timeout: "10 minutes" })
 *   // Elsewhere, when the editor has typed something:
 *   const wasAsked = yield* inbox.answer({ sessionId: Ids.SessionId.make("s1") }, "Looks good")
 *   return { editor, wasAsked }
 * })
 * ```
 */
export const makeInbox: Effect.Effect<Inbox> = Effect.sync((): Inbox => {
  const pending = new Set<Pending>()
  const find = ({ participant, sessionId, userId }: Target, held: SystemAccess.Held): Pending | undefined => {
    for (const one of pending) {
      const { question } = one
      if (question.sessionId !== sessionId) continue
      if (!SystemAccess.allows(held, userId, question.userId)) continue
      if (participant === undefined || question.participant === participant) return one
    }
    return undefined
  }
  const reply = (target: Target, text: string | undefined): Effect.Effect<boolean> =>
    Effect.flatMap(SystemAccess.held, (held) => {
      const found = find(target, held)
      if (found === undefined) return Effect.succeed(false)
      // At once, so that the next answer is for the next question.
      pending.delete(found)
      return Deferred.succeed(found.reply, text)
    })
  return {
    ask: (invitation) =>
      Effect.acquireUseRelease(
        Effect.map(Deferred.make<string | undefined>(), (reply): Pending => {
          const { runId, self, sessionId, userId } = invitation
          const one: Pending = {
            reply,
            question: {
              id: runId,
              sessionId,
              ...(userId === undefined ? {} : { userId }),
              participant: self.name,
              invitation
            }
          }
          pending.add(one)
          return one
        }),
        ({ reply }) => Watch.outside(Deferred.await(reply)),
        (one) => Effect.sync(() => void pending.delete(one))
      ),
    answer: reply,
    pass: (target) => reply(target, undefined),
    waiting: (of) =>
      Effect.map(SystemAccess.held, (held) =>
        Array.from(pending, ({ question }) => question).filter((question) =>
          SystemAccess.allows(held, of?.userId, question.userId)
        )
      )
  }
})
