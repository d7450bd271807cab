/**
 * Converts facts to rows and back, and builds the statements that read them. Texts that are compared or sorted are
 * encoded by `KeyText`.
 *
 * @private
 * @since 0.1.0
 */
import { FactId } from "../../memory/facts/Fact.js"
import type { FactBackend, FactRow, RowSelection } from "../../memory/facts/FactBackend.js"
import * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * @category models
 */
export interface Kept {
  readonly id: string
  readonly subject: string
  readonly subject_key: string
  readonly predicate_key: string
  readonly object_key: string
  readonly subject_words: string
  readonly object_words: string
  readonly text: string
  readonly confidence: number
  readonly valid_from: number
  readonly valid_to: number | null
  readonly replaces_from: number | null
  readonly body: string
}

const read = [
  "id",
  "subject",
  "subject_key",
  "predicate_key",
  "object_key",
  "subject_words",
  "object_words",
  "text",
  "confidence",
  "valid_from",
  "valid_to",
  "replaces_from",
  "body"
] as const satisfies ReadonlyArray<keyof Kept>

const written = ["owner_id", ...read, "doubt", "age", "terms"]

const columns = read.map((column) => `f.${column}`).join(", ")

const optional = (value: number | null): number | undefined => (value === null ? undefined : Number(value))

/**
 * @category conversions
 */
export const toRow = (ownerId: string, kept: Kept): FactRow => ({
  id: FactId.make(KeyText.decode(kept.id)),
  ownerId,
  subject: KeyText.decode(kept.subject),
  subjectKey: KeyText.decode(kept.subject_key),
  predicateKey: KeyText.decode(kept.predicate_key),
  objectKey: KeyText.decode(kept.object_key),
  subjectWords: kept.subject_words,
  objectWords: kept.object_words,
  text: kept.text,
  confidence: Number(kept.confidence),
  validFrom: Number(kept.valid_from),
  validTo: optional(kept.valid_to),
  replacesFrom: optional(kept.replaces_from),
  body: kept.body
})

/**
 * The parameters of `put` for a fact with this number of terms.
 *
 * @category conversions
 */
export const fromRow = (ownerKey: string, row: FactRow, terms: number): ReadonlyArray<Param> => [
  ownerKey,
  KeyText.encode(row.id),
  KeyText.encode(row.subject),
  KeyText.encode(row.subjectKey),
  KeyText.encode(row.predicateKey),
  KeyText.encode(row.objectKey),
  row.subjectWords,
  row.objectWords,
  row.text,
  row.confidence,
  row.validFrom,
  row.validTo ?? null,
  row.replacesFrom ?? null,
  row.body,
  0 - row.confidence,
  0 - row.validFrom,
  terms
]

/**
 * @category constants
 */
export const put: Database.Insert = Database.insertInto(
  "lex_facts",
  written,
  `ON CONFLICT (owner_id, id) DO UPDATE SET ${written
    .slice(2)
    .map((column) => `${column} = excluded.${column}`)
    .join(", ")}`
)

/** Sorts after every continuation of a key. */
const AFTER = "\ue000"

const longest = (words: string): string =>
  words.split(" ").reduce((longest, word) => (word.length > longest.length ? word : longest), "")

const position = "f.doubt, f.age, f.id"

/**
 * The same order, but the plus signs keep the planner from scanning all facts of an owner to find those of a subject in
 * order.
 */
const foundFirst = "+f.doubt, +f.age, f.id"

interface Condition {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

/** The conditions of a selection. Each combination of restrictions has its own text. */
const conditionOf = (dialect: Dialect, ownerKey: string, selection: RowSelection): Condition => {
  const { at, includeClosed, minConfidence, objectKey, predicateKey, subjectPrefix, subjects, words } = selection
  const sql: Array<string> = ["f.owner_id = ?", "f.valid_from <= ?", "f.confidence >= ?"]
  const params: Array<Param> = [ownerKey, at, minConfidence]
  const add = (text: string, ...values: ReadonlyArray<Param>): void => {
    sql.push(text)
    params.push(...values)
  }
  if (!includeClosed) add("(f.valid_to IS NULL OR f.valid_to > ?)", at)
  if (subjectPrefix !== undefined && subjectPrefix !== "") {
    const from = KeyText.encode(subjectPrefix)
    add("f.subject_key >= ? AND f.subject_key < ?", from, from + AFTER)
  }
  if (subjects !== undefined) add(dialect.oneOf("f.subject_key"), dialect.list(subjects.map(KeyText.encode)))
  if (predicateKey !== undefined) add("f.predicate_key = ?", KeyText.encode(predicateKey))
  if (objectKey !== undefined) add("f.object_key = ?", KeyText.encode(objectKey))
  if (words !== undefined) {
    const within = dialect.name === "sqlite" ? "instr" : "strpos"
    add(
      `f.id IN (SELECT w.fact_id FROM lex_fact_terms w WHERE w.owner_id = ? AND w.kind = 1 AND w.term = ?)
      AND (${within}(f.subject_words, ?) > 0 OR ${within}(f.object_words, ?) > 0)`,
      ownerKey,
      KeyText.encode(longest(words)),
      words,
      words
    )
  }
  return { sql: sql.join(" AND "), params }
}

/** The condition that a fact was read from one of these entries. */
const readFrom = ({ list, oneOf }: Dialect, ownerKey: string, sources: ReadonlyArray<string>): Condition => ({
  sql: ` AND f.id IN (SELECT s.fact_id FROM lex_fact_terms s WHERE s.owner_id = ? AND s.kind = 2 AND ${oneOf("s.term")})`,
  params: [ownerKey, list(sources.map(KeyText.encode))]
})

/**
 * @category models
 */
export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<Param>
}

/** Numbers of search terms, rounded up, so that there are three statements instead of 64. */
const sizes = [4, 16, 64]

/**
 * A search term and its weight.
 *
 * @category models
 */
export interface Weighted {
  readonly term: string
  readonly weight: number
}

/** No term is encoded like this. */
const NO_TERM = "\u0001"

/** Same as in `LexicalIndex`. */
const K1 = 1.2
const B = 0.75

const near = "f.owner_id = ? AND f.subject_key = ? AND f.predicate_key = ?"
const meets = "f.valid_from <= ? AND (f.valid_to IS NULL OR f.valid_to >= ?)"

/**
 * @category constructors
 */
export const makeStatements = (dialect: Dialect) => {
  const { oneOf } = dialect
  const numbered = new Map<string, string>()
  const statement = (text: string, params: ReadonlyArray<Param>): Statement => {
    let sql = numbered.get(text)
    if (sql === undefined) {
      sql = dialect.sql(text)
      numbered.set(text, sql)
    }
    return { text: sql, params }
  }
  return {
    get: (ownerKey: string, ids: ReadonlyArray<string>): Statement =>
      statement(`SELECT ${columns} FROM lex_facts f WHERE f.owner_id = ? AND ${oneOf("f.id")}`, [
        ownerKey,
        dialect.list(ids)
      ]),

    near: (
      ownerKey: string,
      options: {
        readonly subjectKey: string
        readonly predicateKey: string
        readonly objectKey: string
        readonly at: number
      }
    ): Statement => {
      const { at } = options
      const slot = [ownerKey, KeyText.encode(options.subjectKey), KeyText.encode(options.predicateKey)]
      const object = KeyText.encode(options.objectKey)
      return statement(
        `SELECT ${columns} FROM lex_facts f WHERE ${near} AND ${meets}
        UNION ALL SELECT * FROM (
          SELECT ${columns} FROM lex_facts f WHERE ${near} AND f.object_key = ? AND f.valid_from > ?
          ORDER BY f.valid_from, f.id LIMIT 1
        ) AS same
        UNION ALL SELECT * FROM (
          SELECT ${columns} FROM lex_facts f
          WHERE ${near} AND f.object_key <> ? AND f.replaces_from > ? AND NOT (${meets})
          ORDER BY f.replaces_from, f.id LIMIT 1
        ) AS other`,
        [...slot, at, at, ...slot, object, at, ...slot, object, at, at, at]
      )
    },

    find: (ownerKey: string, options: Parameters<FactBackend["find"]>[1]): Statement => {
      const { after, limit, selection, sources } = options
      const selected = conditionOf(dialect, ownerKey, selection)
      const source = sources === undefined ? { sql: "", params: [] } : readFrom(dialect, ownerKey, sources)
      const sql = `${selected.sql}${source.sql}`
      const params = [...selected.params, ...source.params]
      const { subjectPrefix, subjects, words } = selection
      const isNarrow = (subjectPrefix ?? "") !== "" || (subjects ?? words ?? sources) !== undefined
      const order = isNarrow ? foundFirst : position
      const behind = after === undefined ? "" : ` AND (${order}) > (?, ?, ?)`
      const from = after === undefined ? [] : [0 - after.confidence, 0 - after.validFrom, KeyText.encode(after.id)]
      return statement(`SELECT ${columns} FROM lex_facts f WHERE ${sql}${behind} ORDER BY ${order} LIMIT ?`, [
        ...params,
        ...from,
        limit
      ])
    },

    count: (ownerKey: string, selection: RowSelection): Statement => {
      const { params, sql } = conditionOf(dialect, ownerKey, selection)
      return statement(`SELECT COUNT(*) AS facts FROM lex_facts f WHERE ${sql}`, params)
    },

    /**
     * The best facts of the owner by BM25. `weighted` has the terms and their weights. SQLite joins the tables of a
     * `CROSS JOIN` in order: terms first.
     */
    lexical: (
      ownerKey: string,
      options: {
        readonly weighted: ReadonlyArray<Weighted>
        readonly averageTerms: number
        readonly selection: RowSelection
        readonly limit: number
      }
    ): Statement => {
      const { averageTerms, limit, selection, weighted } = options
      const size = sizes.find((size) => size >= weighted.length) ?? weighted.length
      const terms = Array.from({ length: size }, (_, at) => weighted[at] ?? { term: NO_TERM, weight: 0 })
      const weight = `CASE t.term${" WHEN ? THEN CAST(? AS DOUBLE PRECISION)".repeat(size)} END`
      const { params, sql } = conditionOf(dialect, ownerKey, selection)
      return statement(
        `SELECT ${columns}, hits.score FROM (
          SELECT f.id, SUM(${weight} * t.frequency * ${K1 + 1}
            / (t.frequency + ${K1} * (${1 - B} + ${B} * f.terms / CAST(? AS DOUBLE PRECISION)))) AS score
          FROM lex_fact_terms t CROSS JOIN lex_facts f
          WHERE t.owner_id = ? AND t.kind = 0 AND ${oneOf("t.term")} AND f.id = t.fact_id AND ${sql}
          GROUP BY f.id
        ) AS hits CROSS JOIN lex_facts f WHERE f.owner_id = ? AND f.id = hits.id
        ORDER BY hits.score DESC, ${position} LIMIT ?`,
        [
          ...terms.flatMap(({ term, weight }) => [term, weight]),
          averageTerms,
          ownerKey,
          dialect.list(weighted.map(({ term }) => term)),
          ...params,
          ownerKey,
          limit
        ]
      )
    },

    subjects: (ownerKey: string, options: { readonly limit: number; readonly after?: string | undefined }): Statement =>
      statement(
        `SELECT f.subject_key, MIN(f.subject) AS subject, COUNT(*) AS facts, COUNT(f.valid_to) AS closed FROM lex_facts f
        WHERE f.owner_id = ? AND f.subject_key > ? GROUP BY f.subject_key ORDER BY f.subject_key LIMIT ?`,
        [ownerKey, KeyText.encode(options.after ?? ""), options.limit]
      ),

    known: (ownerKey: string, subjectKeys: ReadonlyArray<string>): Statement =>
      statement(`SELECT DISTINCT f.subject_key FROM lex_facts f WHERE f.owner_id = ? AND ${oneOf("f.subject_key")}`, [
        ownerKey,
        dialect.list(subjectKeys.map(KeyText.encode))
      ])
  }
}
