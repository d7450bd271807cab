/**
 * Converts database rows to JSON, within limits.
 *
 * @private
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly maxRows: number
  readonly maxCellChars: number
  /** Limit of all cells together. */
  readonly maxChars: number
  readonly timeoutMs: number
}

/**
 * @since 0.1.0
 * @category models
 */
export type Row = { readonly [column: string]: unknown }

/**
 * Cells are JSON: dates, large numbers and bytes (Base64) are text.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rows {
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<Row>
  /** Whether rows or parts of cells were left out. */
  readonly truncated: boolean
}

const jsonOf = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
  return value ?? null
}

interface Cell {
  readonly value: unknown
  readonly chars: number
  readonly isCut: boolean
}

/** A cut cell states its full length; an object that is too large becomes the beginning of its text. */
const cellOf = (raw: unknown, maxChars: number): Cell => {
  const value = jsonOf(raw)
  if (typeof value !== "string" && typeof value !== "object") return { value, chars: 8, isCut: false }
  const text = typeof value === "string" ? value : JSON.stringify(value, (_, part) => jsonOf(part))
  if (text.length > maxChars) {
    return { value: `${text.slice(0, maxChars)}… (${text.length} characters)`, chars: maxChars, isCut: true }
  }
  return { value: typeof value === "string" ? value : JSON.parse(text), chars: text.length, isCut: false }
}

/**
 * The rows that fit, at least one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (found: ReadonlyArray<Row>, limits: Limits): Rows => {
  const rows: Array<Row> = []
  let chars = 0
  let truncated = false
  for (const row of found) {
    const cells = Object.entries(row).map(([column, raw]) => [column, cellOf(raw, limits.maxCellChars)] as const)
    for (const [column, cell] of cells) {
      chars += column.length + cell.chars
      truncated ||= cell.isCut
    }
    if (rows.length === limits.maxRows || (chars > limits.maxChars && rows.length > 0)) {
      truncated = true
      break
    }
    rows.push(Object.fromEntries(cells.map(([column, { value }]) => [column, value])))
  }
  return { columns: Object.keys(found[0] ?? {}), rows, truncated }
}
