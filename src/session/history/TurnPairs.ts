/**
 * Groups the turns of a session that belong together: a tool call and its results.
 *
 * @private
 * @since 0.1.0
 */
import * as ToolPairs from "../../memory/entry/ToolPairs.js"
import type { SessionTurn, TurnToolCall } from "../turn/Session.js"

/**
 * @category models
 */
export interface Unit {
  /** In order. */
  readonly turns: ReadonlyArray<SessionTurn>
  /** A call that lacks a result, or a result that lacks its call. */
  readonly broken: boolean
}

const hasResult = ({ isFailure, result }: TurnToolCall): boolean => result !== undefined || isFailure !== undefined

interface Item extends ToolPairs.Item {
  readonly turn: SessionTurn
  /** Calls that another turn must answer. */
  readonly asks: ReadonlySet<string>
}

/**
 * Reads calls as `ToolPairs` does, and those a turn holds itself: they need no result turn, and stay with one if it
 * exists. All turns belong to one conversation, whichever sessions wrote them.
 */
const itemOf = (turn: SessionTurn): Item => {
  const held = turn.role === "assistant" ? turn.toolCalls : []
  const answered = new Set(held.filter(hasResult).map(({ id }) => id))
  const named = ToolPairs.callsOf(turn)
  const asks = new Set(Array.from(named).filter((id) => !answered.has(id)))
  const calls = new Set([...named, ...held.map(({ id }) => id)])
  const result = ToolPairs.resultOf(turn)
  return {
    turn,
    asks,
    role: turn.role,
    metadata: {
      ...(calls.size === 0 ? {} : { [ToolPairs.TOOL_CALL_IDS]: Array.from(calls) }),
      ...(result === undefined ? {} : { [ToolPairs.TOOL_CALL_ID]: result })
    },
    runId: turn.runId
  }
}

const isBroken = ([first, ...others]: ReadonlyArray<Item>): boolean => {
  if (first === undefined) return false
  if (ToolPairs.resultOf(first) !== undefined) return true
  const results = new Set(others.map(ToolPairs.resultOf))
  return Array.from(first.asks).some((id) => !results.has(id))
}

/**
 * Groups turns, oldest first, into units in the order of their first turns. Linear in the turns.
 *
 * @category combinators
 */
export const units = (turns: ReadonlyArray<SessionTurn>): ReadonlyArray<Unit> =>
  ToolPairs.units(turns.map(itemOf)).map(({ entries }) => ({
    turns: entries.map(({ turn }) => turn),
    broken: isBroken(entries)
  }))
