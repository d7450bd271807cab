/**
 * Statements that ask for rows by whichever columns are given: one text for each set of columns, made once. Of several
 * columns the first is looked up in its index, the others are compared: stood in an expression, no index is tried for
 * them.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialect } from "./Dialect.js"
import * as IndexKey from "./IndexKey.js"

/**
 * Columns and what must be in them: `null` for nothing, and what is not given may be anything. Those first that fit
 * fewest.
 *
 * @category models
 */
export type Wanted = ReadonlyArray<readonly [column: string, value: string | null | undefined]>

/**
 * @category models
 */
export interface Lookup {
  readonly text: string
  /** For the first parameters of the statement. */
  readonly values: ReadonlyArray<string>
}

/**
 * `statement` makes the text from the conditions, to which it adds its own.
 *
 * @category constructors
 */
export const make = (dialect: Dialect, statement: (conditions: string) => string): ((wanted: Wanted) => Lookup) => {
  const texts = new Map<string, string>()
  return (wanted) => {
    const columns: Array<string> = []
    const empty: Array<string> = []
    const values: Array<string> = []
    for (const [column, value] of wanted) {
      if (value === undefined) continue
      if (value === null) {
        empty.push(column)
        continue
      }
      columns.push(column)
      values.push(IndexKey.of(value))
    }
    const key = `${columns.join()};${empty.join()}`
    let text = texts.get(key)
    if (text === undefined) {
      const conditions = columns.map((column, index) => (index === 0 ? `${column} = ?` : `${column} || '' = ?`))
      const absent = empty.map((column) => `${column} IS NULL`)
      text = dialect.sql(statement(["1 = 1", ...conditions, ...absent].join(" AND ")))
      texts.set(key, text)
    }
    return { text, values }
  }
}
