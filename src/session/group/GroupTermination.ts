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
  /** The name of the condition that holds, if it does. */
  readonly holds: (progress: Progress) => string | undefined
}

/**
 * A condition from a predicate over what was reached so far.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (name: string, predicate: (progress: Progress) => boolean): GroupTermination => ({
  name,
  holds: (progress) => (predicate(progress) ? name : undefined)
})

/**
 * Everybody was asked so many times.
 *
 * @since 0.1.0
 * @category constructors
 */
export const maxRounds = (rounds: number): GroupTermination =>
  make(`max_rounds(${rounds})`, (progress) => progress.isRoundOver && progress.round >= rounds)

/**
 * So many answers were written.
 *
 * @since 0.1.0
 * @category constructors
 */
export const maxTurns = (turns: number): GroupTermination =>
  make(`max_turns(${turns})`, (progress) => progress.answers >= turns)

/** The first or last line that is not blank, found from its end of the text alone. */
const lineOf = (text: string, at: "first" | "last"): string => {
  const trimmed = text.trim()
  const end = at === "first" ? trimmed.search(/[\r\n]/) : -1
  if (at === "first") return end < 0 ? trimmed : trimmed.slice(0, end).trimEnd()
  return trimmed.slice(Math.max(trimmed.lastIndexOf("\n"), trimmed.lastIndexOf("\r")) + 1).trimStart()
}

/**
 * The newest answer is exactly this token, or its first or last line is (`at`; default `whole`). White space around it
 * does not count, anything else does: `NOT DONE` is not `DONE`.
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
 * The newest answer is this participant's, and the predicate holds of it; default any.
 *
 * @since 0.1.0
 * @category constructors
 */
export const by = (name: string, predicate: (turn: SessionTurn) => boolean = () => true): GroupTermination =>
  make(`by(${name.slice(0, 64)})`, ({ last }) => last !== undefined && authorOf(last).name === name && predicate(last))

/**
 * So many tokens were used. The turn that passes the budget is the last one; what a single turn may use is a limit of
 * its agent.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tokenBudget = (tokens: number): GroupTermination =>
  make(`token_budget(${tokens})`, ({ usage }) => Usage.total(usage) >= tokens)

/**
 * So many US dollars were spent, as `tokenBudget`. A call whose price is not known ends the group: not known is not
 * nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const costBudget = (usd: number): GroupTermination =>
  make(`cost_budget(${usd})`, ({ costUsd, isUnpriced }) => isUnpriced || costUsd >= usd)

/**
 * So much time has passed. It does not cut off who is speaking; the `timeout` of a group does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeout = (duration: Duration.DurationInput): GroupTermination => {
  const millis = Duration.toMillis(duration)
  return make(`timeout(${millis})`, ({ elapsedMs }) => elapsedMs >= millis)
}

/**
 * All of them hold at the same time; none given: never.
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
 * One of them holds: the first that does is the one that is named.
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
