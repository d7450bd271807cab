/**
 * A `FactBackend` on the tables of a database.
 *
 * A change of an owner's facts begins with the owner's row, which has the revision: of two writers that read the same
 * revision only the first one succeeds. The row is deleted with the last fact. A new row continues from the highest
 * revision of all deleted rows.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type MemoryStoreFailure, StorageError } from "../../memory/entry/MemoryError.js"
import { FactId } from "../../memory/facts/Fact.js"
import { type FactBackend, type FactChange, sourcesOf } from "../../memory/facts/FactBackend.js"
import type { TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import type * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as SqlFactRows from "./SqlFactRows.js"
import * as SqlFactTerms from "./SqlFactTerms.js"

/** Key of a row that is no owner and sorts before all of them: its revision is the highest of all deleted rows. */
const GONE = "\u0001"

interface Owner {
  readonly facts: number
  readonly terms: number
  readonly analyzer: string
}

const owner = "facts, terms, analyzer"

const trimmed = (which: string, order: string, { oneOf }: Dialect): string =>
  `DELETE FROM lex_facts WHERE owner_id = ? AND id IN (
    SELECT ranked.id FROM (
      SELECT id, ROW_NUMBER() OVER (PARTITION BY subject_key ORDER BY ${order}) AS place FROM lex_facts
      WHERE owner_id = ? AND ${oneOf("subject_key")} AND valid_to ${which}
    ) AS ranked WHERE ranked.place > ?
  ) RETURNING id, terms`

/**
 * Exported so that tests can check the query plans.
 *
 * @category constants
 */
export const statements = (dialect: Dialect) => {
  const { oneOf, sql } = dialect
  return {
    revision: sql("SELECT revision FROM lex_fact_owners WHERE owner_id = ?"),
    begin: sql(
      `INSERT INTO lex_fact_owners (owner_id, revision, facts, terms, analyzer) VALUES (?, 0, 0, 0, ?)
      ON CONFLICT (owner_id) DO NOTHING RETURNING ${owner}`
    ),
    number: sql(
      `UPDATE lex_fact_owners SET revision = 1 + COALESCE(
        (SELECT gone.revision FROM lex_fact_owners gone WHERE gone.owner_id = ?), 0
      ) WHERE owner_id = ?`
    ),
    proceed: sql(
      `UPDATE lex_fact_owners SET revision = revision + 1 WHERE owner_id = ? AND revision = ? RETURNING ${owner}`
    ),
    count: sql("UPDATE lex_fact_owners SET facts = ?, terms = ? WHERE owner_id = ?"),
    leave: sql("DELETE FROM lex_fact_owners WHERE owner_id = ? RETURNING revision"),
    remember: sql(
      `INSERT INTO lex_fact_owners AS gone (owner_id, revision, facts, terms, analyzer) VALUES (?, ?, 0, 0, '')
      ON CONFLICT (owner_id) DO UPDATE SET revision =
        CASE WHEN gone.revision > excluded.revision THEN gone.revision ELSE excluded.revision END`
    ),
    owners: sql("SELECT owner_id FROM lex_fact_owners WHERE owner_id > ? ORDER BY owner_id LIMIT ?"),
    remove: sql(`DELETE FROM lex_facts WHERE owner_id = ? AND ${oneOf("id")} RETURNING id, terms`),
    clear: sql("DELETE FROM lex_facts WHERE owner_id = ?"),
    said: sql(
      `SELECT id, text, subject_words, object_words, terms, body FROM lex_facts WHERE owner_id = ? AND ${oneOf("id")}`
    ),
    sizes: sql(
      `SELECT subject_key, COUNT(*) AS facts, COUNT(valid_to) AS closed FROM lex_facts
      WHERE owner_id = ? AND ${oneOf("subject_key")} GROUP BY subject_key`
    ),
    trimOpen: sql(trimmed("IS NULL", "doubt, age, id", dialect)),
    trimClosed: sql(trimmed("IS NOT NULL", "valid_to DESC, doubt, age, id", dialect))
  }
}

interface Removed {
  readonly id: string
  readonly terms: number
}

interface SaidRow extends Removed {
  readonly text: string
  readonly subject_words: string
  readonly object_words: string
  readonly body: string
}

const failed = (error: SqlError): StorageError => new StorageError(SqlFailure.fields(error))

const orFail = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, MemoryStoreFailure> =>
  Effect.mapError(effect, failed)

const makeWrites = (database: Database.Database, terms: ReturnType<typeof SqlFactTerms.make>) => {
  const { dialect } = database
  const texts = statements(dialect)

  /** Locks the owner's row if it still has the revision that was read. */
  const begin = (tx: Database.Access, key: string, revision: number) =>
    revision === 0 ? tx.first<Owner>(texts.begin, [key, terms.name]) : tx.first<Owner>(texts.proceed, [key, revision])

  const leave = Effect.fnUntraced(function* (tx: Database.Access, key: string) {
    const row = yield* tx.first<{ readonly revision: number }>(texts.leave, [key])
    if (row !== undefined) yield* tx.run(texts.remember, [GONE, Number(row.revision)])
    return row !== undefined
  })

  /**
   * Writes facts, and the terms of facts whose text or sources changed. Succeeds with the number of new facts and by
   * how much the number of terms grew.
   */
  const put = Effect.fnUntraced(function* (tx: Database.Access, key: string, given: NonNullable<FactChange["put"]>) {
    const ids = given.map(({ id }) => KeyText.encode(id))
    const known = new Map<string, SaidRow>()
    for (const row of yield* tx.rows<SaidRow>(texts.said, [key, dialect.list(ids)])) {
      known.set(KeyText.decode(row.id), row)
    }
    const telling = given.filter(({ id, objectWords, subjectWords, text }) => {
      const before = known.get(id)
      return before?.text !== text || before.subject_words !== subjectWords || before.object_words !== objectWords
    })
    const { lengths, rows } = terms.of(key, telling)
    const written: Array<ReadonlyArray<Param>> = []
    let more = 0
    for (const row of given) {
      const before = Number(known.get(row.id)?.terms ?? 0)
      const length = lengths.get(row.id) ?? before
      more += length - before
      written.push(SqlFactRows.fromRow(key, row, length))
    }
    yield* tx.insert(SqlFactRows.put, written)
    const changed = telling.flatMap(({ id }) => (known.has(id) ? [KeyText.encode(id)] : []))
    yield* terms.remove(tx, key, changed)
    const rewritten = new Set(telling.map(({ id }) => id))
    const sources: Array<ReadonlyArray<Param>> = []
    for (const row of given) {
      const factKey = KeyText.encode(row.id)
      const after = new Set(sourcesOf(row))
      const found = rewritten.has(row.id) ? undefined : known.get(row.id)
      const before = new Set(found === undefined ? [] : sourcesOf(found))
      sources.push(
        ...terms.sourceRows(
          key,
          factKey,
          [...after].filter((source) => !before.has(source))
        )
      )
      yield* terms.removeSources(
        tx,
        key,
        factKey,
        [...before].filter((source) => !after.has(source))
      )
    }
    yield* terms.add(tx, [...rows, ...sources])
    return { facts: given.length - known.size, terms: more }
  })

  const trim = Effect.fnUntraced(function* (
    tx: Database.Access,
    key: string,
    { maxClosed, maxOpen, trim: given = [] }: FactChange
  ) {
    const subjects = dialect.list(given.map(KeyText.encode))
    const sizes = yield* tx.rows<{ readonly facts: number; readonly closed: number }>(texts.sizes, [key, subjects])
    const removed: Array<Removed> = []
    if (sizes.some(({ closed, facts }) => Number(facts) - Number(closed) > maxOpen)) {
      removed.push(...(yield* tx.rows<Removed>(texts.trimOpen, [key, key, subjects, maxOpen])))
    }
    if (sizes.some(({ closed }) => Number(closed) > maxClosed)) {
      removed.push(...(yield* tx.rows<Removed>(texts.trimClosed, [key, key, subjects, maxClosed])))
    }
    return removed
  })

  const apply = (ownerId: string, revision: number, change: FactChange) => {
    const key = KeyText.encode(ownerId)
    return database.transaction(
      Effect.fnUntraced(function* (tx) {
        const begun = yield* begin(tx, key, revision)
        if (begun === undefined) return Option.none()
        let facts = Number(begun.facts)
        let total = begun.analyzer === terms.name ? Number(begun.terms) : yield* terms.renew(tx, key)
        const dropped = (removed: ReadonlyArray<Removed>) => {
          facts -= removed.length
          for (const row of removed) total -= Number(row.terms)
          return terms.remove(
            tx,
            key,
            removed.map(({ id }) => id)
          )
        }
        if (change.delete !== undefined && change.delete.length > 0) {
          const ids = dialect.list(change.delete.map(KeyText.encode))
          yield* dropped(yield* tx.rows<Removed>(texts.remove, [key, ids]))
        }
        if (change.put !== undefined && change.put.length > 0) {
          const more = yield* put(tx, key, change.put)
          facts += more.facts
          total += more.terms
        }
        const surplus = change.trim === undefined || change.trim.length === 0 ? [] : yield* trim(tx, key, change)
        yield* dropped(surplus)
        if (facts === 0) yield* leave(tx, key)
        else {
          yield* tx.run(texts.count, [facts, total, key])
          if (revision === 0) yield* tx.run(texts.number, [GONE, key])
        }
        return Option.some(surplus.map(({ id }) => FactId.make(KeyText.decode(id))))
      })
    )
  }

  const clear = (ownerId: string) => {
    const key = KeyText.encode(ownerId)
    return database.transaction(
      Effect.fnUntraced(function* (tx) {
        if (!(yield* leave(tx, key))) return 0
        yield* terms.clear(tx, key)
        return yield* tx.run(texts.clear, [key])
      })
    )
  }

  return { apply, clear }
}

/**
 * @category constructors
 */
export const make = (database: Database.Database, analyzer: TextAnalyzer): FactBackend => {
  const { dialect } = database
  const texts = statements(dialect)
  const reads = SqlFactRows.makeStatements(dialect)
  const terms = SqlFactTerms.make(dialect, analyzer)
  const writes = makeWrites(database, terms)

  const rows = (ownerId: string, { params, text }: SqlFactRows.Statement) =>
    Effect.map(database.rows<SqlFactRows.Kept>(text, params), (kept) =>
      kept.map((one) => SqlFactRows.toRow(ownerId, one))
    )

  return {
    name: dialect.name,
    revision: (ownerId) =>
      orFail(
        Effect.map(database.first<{ readonly revision: number }>(texts.revision, [KeyText.encode(ownerId)]), (row) =>
          Number(row?.revision ?? 0)
        )
      ),
    apply: (ownerId, revision, change) => orFail(writes.apply(ownerId, revision, change)),
    get: (ownerId, ids) => {
      if (ids.length === 0) return Effect.succeed([])
      const keys = ids.map(KeyText.encode)
      return orFail(
        Effect.map(rows(ownerId, reads.get(KeyText.encode(ownerId), keys)), (found) => {
          const byId = new Map(found.map((row) => [row.id, row]))
          return ids.flatMap((id) => byId.get(id) ?? [])
        })
      )
    },
    near: (ownerId, options) => orFail(rows(ownerId, reads.near(KeyText.encode(ownerId), options))),
    find: (ownerId, options) => {
      const key = KeyText.encode(ownerId)
      const found = rows(ownerId, reads.find(key, options))
      return orFail(options.sources === undefined ? found : Effect.zipRight(terms.ensure(database, key), found))
    },
    lexical: (ownerId, { limit, selection, text }) => {
      const key = KeyText.encode(ownerId)
      return orFail(
        Effect.flatMap(terms.question(database, key, text), (question) => {
          if (question === undefined) return Effect.succeed([])
          const statement = reads.lexical(key, { ...question, selection, limit })
          return Effect.map(
            database.rows<SqlFactRows.Kept & { readonly score: number }>(statement.text, statement.params),
            (found) => found.map((one) => ({ row: SqlFactRows.toRow(ownerId, one), score: Number(one.score) }))
          )
        })
      )
    },
    count: (ownerId, selection) => {
      const { params, text } = reads.count(KeyText.encode(ownerId), selection)
      return orFail(
        Effect.map(database.first<{ readonly facts: number }>(text, params), (row) => Number(row?.facts ?? 0))
      )
    },
    subjects: (ownerId, options) => {
      const { params, text } = reads.subjects(KeyText.encode(ownerId), options)
      return orFail(
        Effect.map(
          database.rows<{
            readonly subject_key: string
            readonly subject: string
            readonly facts: number
            readonly closed: number
          }>(text, params),
          (found) =>
            found.map(({ closed, facts, subject, subject_key }) => ({
              subjectKey: KeyText.decode(subject_key),
              subject: KeyText.decode(subject),
              open: Number(facts) - Number(closed),
              closed: Number(closed)
            }))
        )
      )
    },
    known: (ownerId, subjectKeys) => {
      const { params, text } = reads.known(KeyText.encode(ownerId), subjectKeys)
      return orFail(
        Effect.map(database.rows<{ readonly subject_key: string }>(text, params), (found) => {
          const there = new Set(found.map(({ subject_key }) => KeyText.decode(subject_key)))
          return subjectKeys.filter((key) => there.has(key))
        })
      )
    },
    owners: ({ after, limit }) =>
      orFail(
        Effect.map(
          database.rows<{ readonly owner_id: string }>(texts.owners, [
            after === undefined ? GONE : KeyText.encode(after),
            limit
          ]),
          (found) => found.map(({ owner_id }) => KeyText.decode(owner_id))
        )
      ),
    clear: (ownerId) => orFail(writes.clear(ownerId)),
    health: orFail(Effect.asVoid(database.first("SELECT 1 AS answer")))
  }
}
