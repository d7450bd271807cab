/**
 * Converts values to and from SQLite, the same for all drivers: integers are stored as integers, and read as numbers if
 * exact, otherwise as bigints.
 *
 * @private
 * @since 0.1.0
 */
import { SqliteFailure } from "./SqliteFailure.js"

/**
 * @category models
 */
export type Bindable = string | number | bigint | null | Buffer

/**
 * @category models
 */
export type Row = { [column: string]: unknown }

const refused = (what: string): SqliteFailure => new SqliteFailure("SQLITE_MISMATCH", `${what} cannot be kept`)

const MIN_INTEGER = -(2n ** 63n)
const MAX_INTEGER = 2n ** 63n - 1n

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A slice of allocated memory: a buffer without memory would be bound as NULL. */
const noBytes = Buffer.alloc(1).subarray(0, 0)

const jsonOf = (value: object): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const bindableObject = (value: object): Bindable => {
  if (ArrayBuffer.isView(value)) {
    return value.byteLength === 0 ? noBytes : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw refused("An invalid date")
    return value.toISOString()
  }
  if (!Array.isArray(value) && !isPlain(value)) throw refused("An object that is neither a list nor a record")
  const text = jsonOf(value)
  if (text === undefined) throw refused("An object that has no form in JSON")
  return text
}

const bindable = (value: unknown): Bindable => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
      // The drivers bind every number as a float, which a column without a type would store as `1.0`.
      if (Number.isSafeInteger(value)) return Object.is(value, -0) ? value : BigInt(value)
      // SQLite would store NULL.
      if (Number.isNaN(value)) throw refused("NaN")
      return value
    case "bigint":
      if (value < MIN_INTEGER || value > MAX_INTEGER) throw refused("An integer of more than 64 bits")
      return value
    case "boolean":
      return value ? 1n : 0n
    case "undefined":
      return null
    case "object":
      return value === null ? null : bindableObject(value)
    default:
      throw refused(`A ${typeof value}`)
  }
}

/**
 * Throws a `SqliteFailure` for values that cannot be bound.
 *
 * @category conversions
 */
export const bind = (params: ReadonlyArray<unknown>): Array<Bindable> => {
  const bound = new Array<Bindable>(params.length)
  for (let at = 0; at < params.length; at++) bound[at] = bindable(params[at])
  return bound
}

/**
 * @category conversions
 */
export const read = (value: unknown): unknown => {
  if (typeof value === "bigint") {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  if (typeof value === "object" && value !== null) {
    if (value instanceof ArrayBuffer) return new Uint8Array(value)
    if (Buffer.isBuffer(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
  return value
}

/**
 * Converts in place.
 *
 * @category conversions
 */
export const readAll = (rows: Array<Array<unknown>>): Array<Array<unknown>> => {
  for (const row of rows) for (let at = 0; at < row.length; at++) row[at] = read(row[at])
  return rows
}

/**
 * Keeps a column named `__proto__` as an ordinary property.
 *
 * @category conversions
 */
export const toRow = (values: ReadonlyArray<unknown>, columns: ReadonlyArray<string>): Row => {
  const row: Row = {}
  const width = Math.min(values.length, columns.length)
  for (let column = 0; column < width; column++) {
    const name = columns[column]!
    const value = read(values[column])
    if (name === "__proto__") {
      Object.defineProperty(row, name, { value, configurable: true, enumerable: true, writable: true })
    } else row[name] = value
  }
  return row
}

/**
 * @category conversions
 */
export const toRows = (rows: ReadonlyArray<ReadonlyArray<unknown>>, columns: ReadonlyArray<string>): Array<Row> =>
  rows.map((values) => toRow(values, columns))
