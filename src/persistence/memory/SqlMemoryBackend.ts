/**
 * A `MemoryBackend` on the tables of a database.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { LexicalMatches, MemoryBackend } from "../../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type { StorageError } from "../../memory/entry/MemoryError.js"
import type { Selection } from "../../memory/entry/Selection.js"
import * as Unchanged from "../../memory/entry/Unchanged.js"
import { queryTerms, type TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import type * as Database from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFullText from "./SqlFullText.js"
import * as Owners from "./SqlMemoryOwners.js"
import { decoded, make as makeReads, storage } from "./SqlMemoryReads.js"
import * as Rows from "./SqlMemoryRows.js"
import * as SqlMemorySearch from "./SqlMemorySearch.js"
import * as Writes from "./SqlMemoryWrites.js"

/** How often a search is repeated because entries that it found were gone when they were read. */
const MAX_SEARCHES = 3

interface Parts {
  readonly database: Database.Database
  readonly analyzer: TextAnalyzer
  readonly full: SqlFullText.FullText
  readonly owners: Owners.Owners
  readonly writes: Writes.Writes
  readonly reads: ReturnType<typeof makeReads>
}

const makeApply = ({ analyzer, database, reads, writes }: Parts): MemoryBackend["apply"] =>
  Effect.fnUntraced(function* (ownerId, change) {
    const now = yield* Clock.currentTimeMillis
    const stored = new Map((change.store ?? []).map((entry) => [entry.id, entry]))
    const deleted = new Set(change.delete ?? [])
    const ids = Array.from(new Set([...deleted, ...stored.keys()]))
    const lasting = Array.from(stored.values()).filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
    const prepared = yield* Effect.forEach(lasting, (entry) => Rows.prepare(entry, analyzer))
    const replacement = { deleted, ids, prepared }
    const { unchanged = [] } = change
    if (unchanged.length === 0) {
      return yield* storage(database.transaction((tx) => writes.apply(tx, ownerId, replacement, now)))
    }
    const expected = unchanged.map(({ id }) => id)
    return yield* storage(
      database.transaction((tx) => {
        const holds = Effect.map(reads.byId(tx, ownerId, expected, now), (found) =>
          Unchanged.holds(unchanged, (id) => found.get(id))
        )
        return writes.applyIf(holds, tx, ownerId, replacement, now)
      })
    )
  })

const makeLexical = ({ analyzer, database, full, owners, writes }: Parts) => {
  const { dialect } = database
  const search = SqlMemorySearch.make(dialect, full)
  const readHits = dialect.sql(
    `SELECT ${Rows.read} FROM lex_memories m JOIN lex_memory_bodies b ON b.serial = m.serial` +
      ` WHERE ${Rows.oneOfSerials(dialect, "m.serial")}`
  )
  const lexical = (
    ownerId: string,
    options: { readonly text: string; readonly limit: number; readonly selection: Selection },
    now: number,
    searches: number
  ): Effect.Effect<LexicalMatches, SqlError | StorageError> =>
    Effect.gen(function* () {
      let owner = yield* owners.find(database, ownerId)
      if (owner === undefined) return { hits: [], ceiling: 0, entries: 0 }
      if (owner.analyzer !== analyzer.name) {
        yield* database.transaction((tx) => writes.reread(tx, ownerId))
        owner = (yield* owners.find(database, ownerId)) ?? owner
      }
      const { limit, selection, text } = options
      const {
        ceiling,
        entries: live,
        hits,
        isStale
      } = yield* search(database, owner, {
        terms: queryTerms(analyzer, text),
        limit,
        selection,
        now
      })
      if (isStale && searches > 1) return yield* lexical(ownerId, options, now, searches - 1)
      if (hits.length === 0) return { hits: [], ceiling, entries: live }
      const rows = yield* database.rows(readHits, [
        Rows.serials(
          dialect,
          hits.map(({ serial }) => serial)
        )
      ])
      // Entries were replaced in the meantime: search again.
      if (rows.length < hits.length && searches > 1) return yield* lexical(ownerId, options, now, searches - 1)
      const entries = yield* decoded(ownerId, rows)
      const bySerial = new Map(rows.map((row, at) => [Number(row["serial"]), entries[at] as MemoryEntry]))
      return {
        hits: hits.flatMap(({ score, serial }) => {
          const entry = bySerial.get(serial)
          return entry === undefined ? [] : [{ entry, score }]
        }),
        ceiling,
        entries: live
      }
    })

  return lexical
}

const makeExpire = ({ database, writes }: Parts): MemoryBackend["expire"] => {
  const expiring = database.dialect.sql(
    "SELECT owner_id FROM lex_memory_owners WHERE next_expiry <= ? ORDER BY next_expiry LIMIT 1"
  )
  return storage(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      let count = 0
      for (;;) {
        const next = yield* database.first(expiring, [now])
        if (next === undefined) return count
        const ownerId = KeyText.decode(next["owner_id"])
        count += yield* database.transaction((tx) => writes.expire(tx, ownerId, now))
      }
    })
  )
}

/**
 * @category constructors
 */
export const make = (database: Database.Database, analyzer: TextAnalyzer): MemoryBackend => {
  const full = SqlFullText.make(database.dialect)
  const owners = Owners.make(database.dialect, analyzer.name)
  const writes = Writes.make(database.dialect, full, analyzer, owners)
  const reads = makeReads(database, full, owners)
  const parts: Parts = { database, analyzer, full, owners, writes, reads }
  const lexical = makeLexical(parts)
  return {
    name: database.dialect.name,
    apply: makeApply(parts),
    get: (ownerId, ids) =>
      storage(
        Effect.gen(function* () {
          const found = yield* reads.byId(database, ownerId, ids, yield* Clock.currentTimeMillis)
          return ids.map((id) => found.get(id)).filter((entry) => entry !== undefined)
        })
      ),
    recent: reads.recent,
    page: reads.page,
    lexical: (ownerId, options) =>
      storage(Effect.flatMap(Clock.currentTimeMillis, (now) => lexical(ownerId, options, now, MAX_SEARCHES))),
    around: reads.around,
    count: reads.count,
    owners: reads.owners,
    recordAccess: (ownerId, ids, at) =>
      storage(
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          database.transaction((tx) => writes.recordAccess(tx, ownerId, ids as ReadonlyArray<EntryId>, at, now))
        )
      ),
    clear: (ownerId) =>
      storage(
        Effect.flatMap(Clock.currentTimeMillis, (now) => database.transaction((tx) => writes.clear(tx, ownerId, now)))
      ),
    expire: makeExpire(parts),
    health: reads.health
  }
}
