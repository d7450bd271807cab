/**
 * Translates a selection of entries to SQL conditions that hold exactly when `Selection.predicate` does.
 *
 * Metadata that filters can test, scalars and lists of them, is stored beside the entry as a JSON list of texts
 * `key=value`. Their encoding makes SQL exact and simple: they contain no quotes, so that an equal value is a substring
 * of the whole list, and they sort like numbers and, by code unit, like texts, so that a range of values is a range of
 * texts.
 *
 * @private
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as Selections from "../../memory/entry/Selection.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * Conditions to append to others, for the table of entries named `m`. Each begins with ` AND `.
 *
 * @category models
 */
export interface Where {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

const quotes = /[!"[\\]/g
const quotings: Readonly<Record<string, string>> = { "!": "!!", '"': "!~", "[": "[!", "\\": "[~" }
const isQuoted = /[!"[\\]/

/** Without quotes and backslashes, in the same order. */
const plain = (text: string): string => {
  const encoded = KeyText.encode(text)
  return isQuoted.test(encoded) ? encoded.replace(quotes, (character) => quotings[character] as string) : encoded
}

const keyed = (key: string): string => plain(key).replaceAll("=", "!e")

const room = new DataView(new ArrayBuffer(8))

const digits = (half: number): string => (half >>> 0).toString(16).padStart(8, "0")

/** In the order of numbers. */
const ordered = (value: number): string => {
  // Both zeros are equal.
  room.setFloat64(0, value === 0 ? 0 : value)
  const high = room.getInt32(0)
  const low = room.getInt32(4)
  return high < 0 ? digits(~high) + digits(~low) : digits(high ^ 0x80000000) + digits(low)
}

const scalar = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "number":
      return `n${ordered(value)}`
    case "string":
      return `s${plain(value)}`
    case "boolean":
      return value ? "b1" : "b0"
    default:
      return value === null ? "z" : undefined
  }
}

/** A value that equals no condition but exists. */
const other = "o"

const attributeOf = (key: string, value: Selections.Scalar): string => `${keyed(key)}=${scalar(value)}`

/**
 * The attributes that filters can test.
 *
 * @category conversions
 */
export const attributesOf = (metadata: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const [key, value] of Object.entries(metadata)) {
    if (value === undefined) continue
    const name = keyed(key)
    const values = (Array.isArray(value) ? value : [value]).map(scalar).filter((one) => one !== undefined)
    if (values.length === 0) found.add(`${name}=${other}`)
    for (const one of values) found.add(`${name}=${one}`)
  }
  return Array.from(found)
}

/**
 * The form of the column.
 *
 * @category encoding
 */
export const encode = (attributes: ReadonlyArray<string>): string => JSON.stringify(attributes)

/**
 * A full-text word of every entry with the attribute, and of few others.
 *
 * @category conversions
 */
export const wordOf = (attribute: string): string => createHash("sha1").update(attribute).digest("hex").slice(0, 10)

/**
 * Words of which each selected entry has at least one, if a filter tests certain values. Entries with none of them can
 * be skipped.
 *
 * @category getters
 */
export const wordsOf = ({ filters }: Selections.Selection): ReadonlyArray<string> | undefined => {
  for (const [key, condition] of Object.entries(filters ?? {})) {
    if (condition === null) continue
    const values = typeof condition !== "object" ? [condition] : "in" in condition ? condition.in : undefined
    if (values === undefined || values.includes(null)) continue
    return values.map((value) => wordOf(attributeOf(key, value)))
  }
  return undefined
}

const nothing = "1 = 0"

type Add = (sql: string, ...params: ReadonlyArray<Param>) => void

interface Language {
  /** Whether the attributes contain the parameter. */
  readonly contains: string
  /** Whether they contain one of the list that is the parameter. */
  readonly containsOne: string
  /** A row per attribute, as `a.value`. */
  readonly each: string
  /** The compared form of each attribute. */
  readonly value: string
}

const languages: { readonly [D in Dialect["name"]]: Language } = {
  sqlite: {
    contains: "instr(m.attributes, ?) > 0",
    containsOne: "EXISTS (SELECT 1 FROM json_each(?) q WHERE instr(m.attributes, q.value) > 0)",
    each: "json_each(m.attributes) a",
    value: "a.value"
  },
  postgres: {
    contains: "strpos(m.attributes, ?) > 0",
    containsOne: "EXISTS (SELECT 1 FROM unnest(?::text[]) q(value) WHERE strpos(m.attributes, q.value) > 0)",
    each: "json_array_elements_text(m.attributes::json) a(value)",
    value: 'a.value COLLATE "C"'
  }
}

const whole = (attribute: string): string => JSON.stringify(attribute)

const begun = (prefix: string): string => JSON.stringify(prefix).slice(0, -1)

const isOneOf = (
  dialect: Dialect,
  language: Language,
  key: string,
  values: ReadonlyArray<Selections.Scalar>,
  add: Add
) => {
  const wanted = values.map((value) => whole(attributeOf(key, value)))
  const is = wanted.length === 1 ? language.contains : language.containsOne
  const param = wanted.length === 1 ? (wanted[0] as string) : dialect.list(wanted)
  if (values.length === 0) add(nothing)
  else if (!values.includes(null)) add(is, param)
  else add(`(${is} OR NOT ${language.contains})`, param, begun(`${keyed(key)}=`))
}

const operators = [
  ["gt", ">"],
  ["gte", ">="],
  ["lt", "<"],
  ["lte", "<="]
] as const

const isWithin = (language: Language, key: string, range: Selections.Range, add: Add) => {
  const bounds = operators.flatMap(([name, operator]) => {
    const bound = range[name]
    return bound === undefined ? [] : [[operator, bound] as const]
  })
  const kinds = new Set(bounds.map(([, bound]) => typeof bound))
  if (kinds.size > 1) {
    add(nothing)
    return
  }
  const name = keyed(key)
  const parts: Array<string> = []
  const params: Array<Param> = []
  for (const [kind, first, next] of [
    ["number", "n", "o"],
    ["string", "s", "t"]
  ] as const) {
    if (kinds.size === 1 && !kinds.has(kind)) continue
    const compared = bounds.map(([operator]) => ` AND ${language.value} ${operator} ?`).join("")
    parts.push(
      `(${language.contains} AND EXISTS (SELECT 1 FROM ${language.each}` +
        ` WHERE ${language.value} >= ? AND ${language.value} < ?${compared}))`
    )
    params.push(begun(`${name}=${first}`), `${name}=${first}`, `${name}=${next}`)
    for (const [, bound] of bounds) params.push(attributeOf(key, bound))
  }
  add(`(${parts.join(" OR ")})`, ...params)
}

const ROW = "(CAST(? AS TEXT), CAST(? AS DOUBLE PRECISION), CAST(? AS DOUBLE PRECISION))"

/**
 * Rounds the number of rows up to a power of two by repeating the last one, so that there are few different statements.
 */
const padded = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const size = 2 ** Math.ceil(Math.log2(items.length))
  return Array.from({ length: size }, (_, at) => items[Math.min(at, items.length - 1)] as A)
}

const isOnTheWay = (
  dialect: Dialect,
  language: Language,
  lineage: ReadonlyArray<Selections.Ancestor>,
  tree: string | undefined,
  add: Add
) => {
  const stretches = lineage.length === 0 ? [] : padded(lineage)
  const isStretch =
    stretches.length === 0
      ? nothing
      : `EXISTS (SELECT 1 FROM (VALUES ${stretches.map(() => ROW).join(", ")}) AS w WHERE w.column1 = m.session_id` +
        " AND (w.column3 IS NULL OR m.timestamp <= w.column3) AND (w.column2 IS NULL OR m.beginning >= w.column2))"
  const params: Array<Param> = stretches.flatMap(({ from, sessionId, until }) => [
    KeyText.encode(sessionId),
    from ?? null,
    until ?? null
  ])
  if (tree === undefined) {
    add(`(m.session_id IS NULL OR ${isStretch})`, ...params)
    return
  }
  const named = Array.from(new Set(lineage.map(({ sessionId }) => sessionId)).add(tree as never), KeyText.encode)
  add(
    `(${isStretch} OR (NOT ${language.contains} AND (m.session_id IS NULL OR NOT (${dialect.oneOf("m.session_id")}))))`,
    ...params,
    whole(attributeOf(Selections.treeKey, tree)),
    dialect.list(named)
  )
}

/**
 * @category conversions
 */
export const where = (dialect: Dialect, selection: Selections.Selection): Where => {
  const parts: Array<string> = []
  const params: Array<Param> = []
  const add: Add = (sql, ...given) => {
    parts.push(` AND ${sql}`)
    params.push(...given)
  }
  const language = languages[dialect.name]
  const { filters, lineage, roles, sessionIds, timeRange, tree } = selection
  if (timeRange !== undefined) {
    add("m.timestamp >= ?", timeRange.start)
    add("m.timestamp <= ?", timeRange.end)
  }
  if (sessionIds !== undefined) {
    const wanted = sessionIds.map(KeyText.encode)
    if (wanted.length === 1) add("m.session_id = ?", wanted[0] as string)
    else add(dialect.oneOf("m.session_id"), dialect.list(wanted))
  }
  if (lineage !== undefined) isOnTheWay(dialect, language, lineage, tree, add)
  if (roles !== undefined) add(dialect.oneOf("m.role"), dialect.list(roles))
  for (const [key, condition] of Object.entries(filters ?? {})) {
    if (condition === null || typeof condition !== "object") isOneOf(dialect, language, key, [condition], add)
    else if ("in" in condition) isOneOf(dialect, language, key, condition.in, add)
    else isWithin(language, key, condition, add)
  }
  return { sql: parts.join(""), params }
}
