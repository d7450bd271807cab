/**
 * The part of a selection that both databases decide exactly like `Selection.predicate`, which decides the rest on the
 * rows found.
 *
 * Equality conditions on metadata use tags of a row: key and value as JSON, so that equal tags are equal scalars and
 * databases can store every string. A row with too many tags has a tag that matches every condition.
 *
 * @private
 * @since 0.1.0
 */
import { type Condition, type Selectable, type Selection, treeKey } from "../../memory/entry/Selection.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"

const MAX_TAGS = 64
const MAX_LENGTH = 256
/** The most conditions on metadata in one statement, to limit the number of statements. */
const MAX_FILTERS = 4
const ANY = "*"

const tagOf = (key: string, value: unknown): string | undefined => {
  if (
    typeof value !== "string" &&
    typeof value !== "boolean" &&
    !(typeof value === "number" && Number.isFinite(value))
  ) {
    return undefined
  }
  if (key.length > MAX_LENGTH || (typeof value === "string" && value.length > MAX_LENGTH)) return undefined
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`
}

/**
 * @category conversions
 */
export const tags = ({ metadata }: Pick<Selectable, "metadata">): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const [key, value] of Object.entries(metadata)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      const tag = tagOf(key, one)
      if (tag === undefined) continue
      if (found.size >= MAX_TAGS) return [...found, ANY]
      found.add(tag)
    }
  }
  return [...found]
}

/** The tags of which a row must have one, if the condition is an equality. */
const wanted = (key: string, condition: Condition): ReadonlyArray<string> | undefined => {
  const values =
    typeof condition !== "object" ? [condition] : condition !== null && "in" in condition ? condition.in : undefined
  if (values === undefined) return undefined
  const found = values.map((value) => tagOf(key, value))
  return found.every((tag) => tag !== undefined) ? [...found, ANY] : undefined
}

/** Whether an item is in one of the intervals, which are one parameter. */
const stretch = {
  sqlite: (row: string) =>
    `EXISTS (SELECT 1 FROM json_each(?) way WHERE json_extract(way.value, '$.s') = ${row}.session_id
       AND ${row}.timestamp <= coalesce(json_extract(way.value, '$.u'), ${row}.timestamp)
       AND ${row}.beginning >= coalesce(json_extract(way.value, '$.f'), ${row}.beginning))`,
  postgres: (row: string) =>
    `EXISTS (SELECT 1 FROM jsonb_to_recordset(?::jsonb) AS way (s text, f float8, u float8) WHERE way.s = ${row}.session_id
       AND ${row}.timestamp <= coalesce(way.u, ${row}.timestamp) AND ${row}.beginning >= coalesce(way.f, ${row}.beginning))`
} as const

/**
 * @category models
 */
export interface Conditions {
  /** Each condition begins with ` AND`. The number of texts is bounded. */
  readonly sql: string
  readonly params: ReadonlyArray<Param>
  /** Whether many of the rows may not be selected. A few may never be. */
  readonly isPartial: boolean
}

/**
 * `row` is the name of the table in the statement.
 *
 * @category conversions
 */
export const conditions = (dialect: Dialect, row: string, selection: Selection): Conditions => {
  const sql: Array<string> = []
  const params: Array<Param> = []
  let isPartial = false
  const { filters, lineage, roles, sessionIds, timeRange, tree } = selection
  if (timeRange !== undefined) {
    sql.push(`${row}.timestamp >= ? AND ${row}.timestamp <= ?`)
    params.push(timeRange.start, timeRange.end)
  }
  if (roles !== undefined) {
    sql.push(dialect.oneOf(`${row}.role`))
    params.push(dialect.list(roles))
  }
  if (sessionIds !== undefined) {
    sql.push(dialect.oneOf(`${row}.session_id`))
    params.push(dialect.list(sessionIds.map(KeyText.encode)))
  }
  const hasTag = (not: string): string =>
    dialect.name === "sqlite"
      ? `${not}EXISTS (SELECT 1 FROM json_each(${row}.tags) tag WHERE ${dialect.oneOf("tag.value")})`
      : `${not}(${row}.tags && ?::text[])`
  if (lineage !== undefined) {
    const named = [...new Set(lineage.map(({ sessionId }) => KeyText.encode(sessionId)))]
    const stretches = lineage.map(({ from, sessionId, until }) => ({ s: KeyText.encode(sessionId), f: from, u: until }))
    let elsewhere = `${row}.session_id IS NULL`
    const other: Array<Param> = []
    let tagged = ""
    if (tree !== undefined) {
      elsewhere += ` OR (${row}.session_id <> ? AND NOT ${dialect.oneOf(`${row}.session_id`)})`
      other.push(KeyText.encode(tree), dialect.list(named))
      const tag = tagOf(treeKey, tree)
      if (tag === undefined) {
        isPartial = true
      } else {
        tagged = ` AND ${hasTag("NOT ")}`
        other.push(dialect.list([tag]))
      }
    }
    sql.push(`(${stretch[dialect.name](row)} OR ((${elsewhere})${tagged}))`)
    params.push(JSON.stringify(stretches), ...other)
  }
  let count = 0
  for (const [key, condition] of Object.entries(filters ?? {})) {
    const anyOf = wanted(key, condition)
    if (anyOf === undefined || count >= MAX_FILTERS) {
      isPartial = true
      continue
    }
    count++
    sql.push(hasTag(""))
    params.push(dialect.list(anyOf))
  }
  return { sql: sql.map((one) => ` AND ${one}`).join(""), params, isPartial }
}
