/**
 * Statements that list records of runs. Each reads one index in the order of its pages, and compares the other columns
 * as expressions, which no index has.
 *
 * @private
 * @since 0.1.0
 */
import type * as RunPage from "../../agent/record/RunPage.js"
import { isEnded } from "../../agent/record/RunRecord.js"
import type { Filter } from "../../agent/record/RunStore.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as IndexKey from "../engine/IndexKey.js"

/**
 * The column of one label: its name and its value.
 *
 * @category conversions
 */
export const labelOf = (name: string, value: string): string => IndexKey.of(JSON.stringify([name, value]))

/** A time that both databases compare; `otherwise` for none. */
const timeOf = (time: number | undefined, otherwise: number): number =>
  time === undefined || Number.isNaN(time) ? otherwise : Math.min(Math.max(time, -Number.MAX_VALUE), Number.MAX_VALUE)

interface Condition {
  readonly text: string
  readonly params: ReadonlyArray<Param>
}

/** The columns that must be equal, the most selective first. */
const equalities = (filter: Filter, userId: string | null | undefined): ReadonlyArray<readonly [string, string]> => [
  ...(filter.sessionId === undefined ? [] : [["session_id", IndexKey.of(filter.sessionId)] as const]),
  ...(typeof userId === "string" ? [["user_id", IndexKey.of(userId)] as const] : []),
  ...(filter.agent === undefined ? [] : [["agent", IndexKey.of(filter.agent)] as const])
]

/** The conditions besides labels and times. With `isLed` another table leads, and no column uses its index. */
const conditionsOf = (
  dialect: Dialect,
  filter: Filter,
  userId: string | null | undefined,
  isLed: boolean
): ReadonlyArray<Condition> => {
  const { states } = filter
  const [only] = states ?? []
  const equal = equalities(filter, userId)
  const isOpen = states?.every((state) => !isEnded(state)) === true
  const byState = !isLed && equal.length === 0 && states?.length === 1 && !isOpen && only !== undefined
  const conditions: Array<Condition> = equal.map(([column, value], i) => ({
    text: `r.${column}${isLed || i > 0 ? " || ''" : ""} = ?`,
    params: [value]
  }))
  if (userId === null) conditions.push({ text: "r.user_id IS NULL", params: [] })
  if (isOpen) conditions.push({ text: "r.ended_at IS NULL", params: [] })
  if (byState) conditions.push({ text: "r.state = ?", params: [only] })
  else if (states !== undefined) {
    conditions.push({ text: dialect.oneOf("r.state || ''"), params: [dialect.list(states)] })
  }
  return conditions
}

const otherLabel: string =
  "EXISTS (SELECT 1 FROM lex_run_labels o WHERE o.label = ? AND o.created_at = l.created_at AND o.run_id = l.run_id)"

/**
 * A statement and its parameters.
 *
 * @category models
 */
export interface List {
  readonly text: string
  readonly params: ReadonlyArray<Param>
}

/**
 * The statement for a filter, the owner of its runs (`null`: nobody, `undefined`: any), its place and a limit. There is
 * one text for each set of filters.
 *
 * @category constructors
 */
export const make = (
  dialect: Dialect,
  columns: string
): ((filter: Filter, userId: string | null | undefined, place: RunPage.Place | undefined, limit: number) => List) => {
  const texts = new Map<string, string>()
  return (filter, userId, place, limit) => {
    const [first, ...others] = Object.entries(filter.labels ?? {}).map(([name, value]) => labelOf(name, value))
    const lead = first === undefined ? "r" : "l"
    const before = timeOf(filter.createdBefore, Number.MAX_VALUE)
    const isFurther = place !== undefined && place.createdAt < before
    const conditions: ReadonlyArray<Condition> = [
      ...(first === undefined ? [] : [{ text: "l.label = ?", params: [first] }]),
      {
        text: `(${lead}.created_at, ${lead}.run_id) < (?, ?)`,
        params: isFurther ? [place.createdAt, place.key] : [before, ""]
      },
      { text: `${lead}.created_at >= ?`, params: [timeOf(filter.createdFrom, -Number.MAX_VALUE)] },
      ...others.map((label) => ({ text: otherLabel, params: [label] })),
      ...conditionsOf(dialect, filter, userId, first !== undefined)
    ]
    const where = conditions.map(({ text }) => text).join(" AND ")
    let text = texts.get(`${lead} ${where}`)
    if (text === undefined) {
      const from =
        first === undefined ? "lex_run_records r" : "lex_run_labels l JOIN lex_run_records r ON r.run_id = l.run_id"
      text = dialect.sql(
        `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY ${lead}.created_at DESC, ${lead}.run_id DESC LIMIT ?`
      )
      texts.set(`${lead} ${where}`, text)
    }
    return { text, params: [...conditions.flatMap(({ params }) => params), limit] }
  }
}
