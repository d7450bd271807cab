/**
 * The terms by which facts are found: those of their texts with frequencies, the whole words of their subjects and
 * objects, and the entries that they were read from.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type FactRow, sourcesOf } from "../../memory/facts/FactBackend.js"
import { queryTerms, type TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import type { Weighted } from "./SqlFactRows.js"

/** The most terms of a question, like in memory. */
const maxQueryTerms = 64

/** Facts per page when all facts of an owner are analyzed again. */
const pageSize = 256

/**
 * What the terms of a row are made from.
 *
 * @category models
 */
export type Said = Pick<FactRow, "id" | "text" | "subjectWords" | "objectWords">

interface Analyzed {
  readonly id: string
  readonly text: string
  readonly body: string
}

/** Part of the name under which an owner's terms are kept. Terms of versions without sources are made again. */
const withSources = "+sources"

const insert = Database.insertInto("lex_fact_terms", ["owner_id", "kind", "term", "fact_id", "frequency"])

/**
 * Exported so that tests can check the query plans.
 *
 * @category constants
 */
export const statements = ({ oneOf, sql }: Dialect) => ({
  remove: sql(`DELETE FROM lex_fact_terms WHERE owner_id = ? AND ${oneOf("fact_id")}`),
  removeTerms: sql("DELETE FROM lex_fact_terms WHERE owner_id = ? AND kind IN (0, 2)"),
  removeSources: sql(`DELETE FROM lex_fact_terms WHERE owner_id = ? AND kind = 2 AND fact_id = ? AND ${oneOf("term")}`),
  clear: sql("DELETE FROM lex_fact_terms WHERE owner_id = ?"),
  claim: sql("UPDATE lex_fact_owners SET analyzer = ? WHERE owner_id = ?"),
  analyzer: sql("SELECT analyzer FROM lex_fact_owners WHERE owner_id = ?"),
  page: sql("SELECT id, text, body FROM lex_facts WHERE owner_id = ? AND id > ? ORDER BY id LIMIT ?"),
  setLength: sql("UPDATE lex_facts SET terms = ? WHERE owner_id = ? AND id = ?"),
  setTotal: sql("UPDATE lex_fact_owners SET terms = ? WHERE owner_id = ?"),
  holders: sql(
    `SELECT o.facts, o.terms, o.analyzer, t.term, COUNT(t.fact_id) AS holders FROM lex_fact_owners o
    LEFT JOIN lex_fact_terms t ON t.owner_id = o.owner_id AND t.kind = 0 AND ${oneOf("t.term")}
    WHERE o.owner_id = ? GROUP BY o.facts, o.terms, o.analyzer, t.term`
  )
})

/**
 * The weighted terms of a search. `undefined` if no fact has any of them.
 *
 * @category models
 */
export interface Question {
  readonly weighted: ReadonlyArray<Weighted>
  readonly averageTerms: number
}

/**
 * @category constructors
 */
export const make = (dialect: Dialect, analyzer: TextAnalyzer) => {
  const texts = statements(dialect)
  const name = `${analyzer.name}${withSources}`

  const sourceRows = (ownerKey: string, factKey: string, sources: ReadonlyArray<string>) =>
    sources.map((source): ReadonlyArray<Param> => [ownerKey, 2, KeyText.encode(source), factKey, 1])

  const analyzed = (ownerKey: string, factKey: string, text: string) => {
    const terms = analyzer.analyze(text)
    const frequencies = new Map<string, number>()
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + 1)
    return {
      length: terms.length,
      rows: Array.from(
        frequencies,
        ([term, frequency]): ReadonlyArray<Param> => [ownerKey, 0, KeyText.encode(term), factKey, frequency]
      )
    }
  }

  const wordsOf = ({ objectWords, subjectWords }: Said): ReadonlySet<string> =>
    new Set(`${subjectWords}${objectWords}`.split(" ").filter((word) => word !== ""))

  /**
   * Analyzes all facts of the owner again after a change of the analyzer or of what terms there are, in a transaction.
   * Succeeds with the number of their terms.
   */
  const renew = Effect.fnUntraced(function* (tx: Database.Access, ownerKey: string) {
    // Locks the owner.
    yield* tx.run(texts.claim, [name, ownerKey])
    yield* tx.run(texts.removeTerms, [ownerKey])
    let total = 0
    for (let after = ""; ; ) {
      const facts: ReadonlyArray<Analyzed> = yield* tx.rows<Analyzed>(texts.page, [ownerKey, after, pageSize])
      for (const { body, id, text } of facts) {
        const { length, rows } = analyzed(ownerKey, id, text)
        total += length
        yield* tx.insert(insert, [...rows, ...sourceRows(ownerKey, id, sourcesOf({ body }))])
        yield* tx.run(texts.setLength, [length, ownerKey, id])
      }
      const last = facts.at(-1)
      if (last === undefined) break
      after = last.id
    }
    yield* tx.run(texts.setTotal, [total, ownerKey])
    return total
  })

  const asked = (access: Database.Access, ownerKey: string, terms: ReadonlyArray<string>) =>
    access.rows<{
      readonly facts: number
      readonly terms: number
      readonly analyzer: string
      readonly term: string | null
      readonly holders: number
    }>(texts.holders, [dialect.list(terms), ownerKey])

  return {
    name,
    renew,
    sourceRows,

    /** Makes the terms of an owner again if they are of another analyzer or of a version without sources. */
    ensure: (database: Database.Database, ownerKey: string) =>
      Effect.flatMap(database.first<{ readonly analyzer: string }>(texts.analyzer, [ownerKey]), (found) =>
        found === undefined || found.analyzer === name
          ? Effect.void
          : Effect.asVoid(database.transaction((tx) => renew(tx, ownerKey)))
      ),

    /** The terms of facts, and their number per fact. */
    of: (ownerKey: string, facts: ReadonlyArray<Said>) => {
      const rows: Array<ReadonlyArray<Param>> = []
      const lengths = new Map<string, number>()
      for (const fact of facts) {
        const key = KeyText.encode(fact.id)
        const found = analyzed(ownerKey, key, fact.text)
        lengths.set(fact.id, found.length)
        for (const row of found.rows) rows.push(row)
        for (const word of wordsOf(fact)) rows.push([ownerKey, 1, KeyText.encode(word), key, 1])
      }
      return { rows, lengths }
    },

    add: (tx: Database.Access, rows: ReadonlyArray<ReadonlyArray<Param>>) => tx.insert(insert, rows),

    remove: (tx: Database.Access, ownerKey: string, factKeys: ReadonlyArray<string>) =>
      factKeys.length === 0 ? Effect.succeed(0) : tx.run(texts.remove, [ownerKey, dialect.list(factKeys)]),

    removeSources: (tx: Database.Access, ownerKey: string, factKey: string, sources: ReadonlyArray<string>) =>
      sources.length === 0
        ? Effect.succeed(0)
        : tx.run(texts.removeSources, [ownerKey, factKey, dialect.list(sources.map(KeyText.encode))]),

    clear: (tx: Database.Access, ownerKey: string) => tx.run(texts.clear, [ownerKey]),

    /** Weighs terms like `LexicalIndex`: idf ln(1 + (N - n + 0.5) / (n + 0.5)). */
    question: Effect.fnUntraced(function* (database: Database.Database, ownerKey: string, text: string) {
      const terms = Array.from(new Set(queryTerms(analyzer, text)), KeyText.encode).slice(0, maxQueryTerms)
      if (terms.length === 0) return undefined
      let rows = yield* asked(database, ownerKey, terms)
      if (rows[0] !== undefined && rows[0].analyzer !== name) {
        yield* database.transaction((tx) => renew(tx, ownerKey))
        rows = yield* asked(database, ownerKey, terms)
      }
      const weighted: Array<Weighted> = []
      let averageTerms = 1
      for (const row of rows) {
        if (row.term === null) continue
        const [facts, holders] = [Number(row.facts), Number(row.holders)]
        averageTerms = Math.max(1, Number(row.terms) / Math.max(1, facts))
        weighted.push({ term: row.term, weight: Math.log(1 + Math.max(0, facts - holders + 0.5) / (holders + 0.5)) })
      }
      return weighted.length === 0 ? undefined : ({ weighted, averageTerms } satisfies Question)
    })
  }
}
