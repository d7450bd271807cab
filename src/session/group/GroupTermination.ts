/**
 * Conditions that end a group before its limits. They are checked between two turns and never interrupt a participant.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Usage from "../../domain/Usage.js"
import type { SessionTurn } from "../turn/Session.js"
import type { Progress } from "./GroupOutcome.js"
import { authorOf } from "./RoleIsolation.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface GroupTermination {
  readonly name: string
  /** The name of the condition that holds, if any. */
  readonly holds: (progress: Progress) => string | undefined
}

/**
 * Makes a condition from a predicate over the progress of the group.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupTermination } from "effect-lexigram/session"
 *
 * // Ends when the rounds have brought fewer than one answer each, or after 20,000 tokens.
 * const done = GroupTermination.or(
 *   GroupTermination.make("quiet", ({ answers, isRoundOver, round }) => isRoundOver && answers < round),
 *   GroupTermination.tokenBudget(20_000)
 * )
 * ```
 */
export const make = (name: string, predicate: (progress: Progress) => boolean): GroupTermination => ({
  name,
  holds: (progress) => (predicate(progress) ? name : undefined)
})

/**
 * Holds after this many complete rounds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const maxRounds = (rounds: number): GroupTermination =>
  make(`max_rounds(${rounds})`, (progress) => progress.isRoundOver && progress.round >= rounds)

/**
 * Holds after this many answers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const maxTurns = (turns: number): GroupTermination =>
  make(`max_turns(${turns})`, (progress) => progress.answers >= turns)

/** The first or last non-blank line, found from its end of the text alone. */
const lineOf = (text: string, at: "first" | "last"): string => {
  const trimmed = text.trim()
  const end = at === "first" ? trimmed.search(/[\r\n]/) : -1
  if (at === "first") return end < 0 ? trimmed : trimmed.slice(0, end).trimEnd()
  return trimmed.slice(Math.max(trimmed.lastIndexOf("\n"), trimmed.lastIndexOf("\r")) + 1).trimStart()
}

/**
 * Holds when the newest answer is exactly this token, or when its first or last line is (`at`; default `whole`).
 * Surrounding white space is ignored, nothing else: `NOT DONE` is not `DONE`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const saidExactly = (
  token: string,
  options: { readonly at?: "whole" | "first" | "last" | undefined; readonly by?: string | undefined } = {}
): GroupTermination => {
  const { at = "whole", by: speaker } = options
  const wanted = token.trim()
  return make(`said_exactly(${wanted.slice(0, 64)})`, ({ last }) => {
    if (last === undefined || wanted === "") return false
    if (speaker !== undefined && authorOf(last).name !== speaker) return false
    return (at === "whole" ? last.content.trim() : lineOf(last.content, at)) === wanted
  })
}

/**
 * Holds when the newest answer is this participant's and satisfies the predicate; default any answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const by = (name: string, predicate: (turn: SessionTurn) => boolean = () => true): GroupTermination =>
  make(`by(${name.slice(0, 64)})`, ({ last }) => last !== undefined && authorOf(last).name === name && predicate(last))

/**
 * Holds after this many tokens. The turn that exceeds the budget is the last one; the limits of its agent bound a
 * single turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tokenBudget = (tokens: number): GroupTermination =>
  make(`token_budget(${tokens})`, ({ usage }) => Usage.total(usage) >= tokens)

/**
 * Holds after this many US dollars, as `tokenBudget`. A call without a known price ends the group: unknown is not zero.
 *
 * @since 0.1.0
 * @category constructors
 */
export const costBudget = (usd: number): GroupTermination =>
  make(`cost_budget(${usd})`, ({ costUsd, isUnpriced }) => isUnpriced || costUsd >= usd)

/**
 * Holds after this much time. It does not interrupt the speaker; the `timeout` of a group does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeout = (duration: Duration.DurationInput): GroupTermination => {
  const millis = Duration.toMillis(duration)
  return make(`timeout(${millis})`, ({ elapsedMs }) => elapsedMs >= millis)
}

/**
 * Holds when all conditions hold at once; without conditions, never.
 *
 * @since 0.1.0
 * @category combinators
 */
export const and = (...conditions: ReadonlyArray<GroupTermination>): GroupTermination => {
  const name = `and(${conditions.map((condition) => condition.name).join(", ")})`
  return make(
    name,
    (progress) => conditions.length > 0 && conditions.every((condition) => condition.holds(progress) !== undefined)
  )
}

/**
 * Holds when one condition holds; the first one that does is named.
 *
 * @since 0.1.0
 * @category combinators
 */
export const or = (...conditions: ReadonlyArray<GroupTermination>): GroupTermination => ({
  name: `or(${conditions.map((condition) => condition.name).join(", ")})`,
  holds: (progress) => {
    for (const condition of conditions) {
      const held = condition.holds(progress)
      if (held !== undefined) return held
    }
    return undefined
  }
})
