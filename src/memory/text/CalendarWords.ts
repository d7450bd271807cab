/**
 * The English names of months and weekdays, in lower case.
 *
 * @private
 * @since 0.1.0
 */

/**
 * The names of each month from January on: in full, then its abbreviations.
 *
 * @category constants
 */
export const months: ReadonlyArray<readonly [name: string, ...short: ReadonlyArray<string>]> = [
  ["january", "jan"],
  ["february", "feb"],
  ["march", "mar"],
  ["april", "apr"],
  ["may"],
  ["june", "jun"],
  ["july", "jul"],
  ["august", "aug"],
  ["september", "sep", "sept"],
  ["october", "oct"],
  ["november", "nov"],
  ["december", "dec"]
]

const numbers: ReadonlyMap<string, number> = new Map(
  months.flatMap((names, at) => names.map((name) => [name, at + 1] as const))
)

/**
 * The number of a month, from 1, by one of its names in lower case.
 *
 * @category getters
 */
export const monthOf = (name: string): number | undefined => numbers.get(name)

/**
 * From Monday on.
 *
 * @category constants
 */
export const weekdays: ReadonlyArray<string> = "monday tuesday wednesday thursday friday saturday sunday".split(" ")
