/**
 * Statements that select rows by any set of columns, with one text per set. The first column uses its index; the others
 * are wrapped in an expression so that no other index is considered.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "./Dialect.js"
import * as IndexKey from "./IndexKey.js"

/**
 * Columns and the values they must have: `null` for NULL, `undefined` for any value. The most selective column comes
 * first.
 *
 * @category models
 */
export type Wanted = ReadonlyArray<readonly [column: string, value: string | null | undefined]>

/**
 * @category models
 */
export interface Lookup {
  readonly text: string
  /** Values of the first parameters. */
  readonly values: ReadonlyArray<string>
}

/**
 * `statement` builds the text from the conditions and may add its own.
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
