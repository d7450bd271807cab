/**
 * Everything that is kept of a user: given out, taken in by another database, erased.
 *
 * An export is lines of JSON, each by itself: a head, the rows of the tables (alike in SQLite and Postgres), the
 * entries of memory, an end. It holds sessions with all turns, checkpoints and questions that are not answered yet,
 * memory, facts, runs, approvals, audit, costs, and threads of graphs; not what is only there for a while or made anew:
 * caches, rates, holds, and vectors (an import makes those of what it stores).
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import { UserId } from "../domain/Ids.js"
import * as QuotaUnits from "../governance/QuotaUnits.js"
import type * as CostLedger from "../governance/store/CostLedger.js"
import type { MemoryBackend } from "../memory/entry/MemoryBackend.js"
import * as MemoryEntry from "../memory/entry/MemoryEntry.js"
import * as OwnerNamespace from "../memory/entry/OwnerNamespace.js"
import * as FactStore from "../memory/facts/FactStore.js"
import * as MemoryStore from "../memory/search/MemoryStore.js"
import * as SessionMemory from "../session/manager/SessionMemory.js"
import * as SessionStore from "../session/turn/SessionStore.js"
import * as Database from "./engine/Database.js"
import type { Param } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import * as KeyText from "./engine/KeyText.js"
import { DataTransferError } from "./engine/PersistenceError.js"
import * as SqlFailure from "./engine/SqlFailure.js"
import * as CostLedgerBook from "./governance/CostLedgerBook.js"
import * as SqlCostLedger from "./governance/SqlCostLedger.js"
import * as SqlRates from "./governance/SqlRates.js"
import * as SqlMemoryStore from "./memory/SqlMemoryStore.js"
import * as OwnedTables from "./OwnedTables.js"
import * as RedisCacheBackend from "./redis/RedisCacheBackend.js"
import { RedisClient } from "./redis/RedisClient.js"
import * as RedisRateLimitStore from "./redis/RedisRateLimitStore.js"
import * as MigrationRun from "./schema/MigrationRun.js"
import * as Migrations from "./schema/Migrations.js"
import * as SqlSessionStore from "./session/SqlSessionStore.js"
import * as VectorErasure from "./vector/VectorErasure.js"

/**
 * How many things of each part there were: sessions, entries of `memory`, and rows of the others.
 *
 * @since 0.1.0
 * @category models
 */
export type Counts = { readonly [part: string]: number }

/**
 * @since 0.1.0
 * @category models
 */
export interface EraseOptions {
  /** Threads of graphs that are nobody's and go too, by their ids; those of the user go anyway. Default none. */
  readonly threads?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The lines of an export, each without its line break, read page by page. What changes meanwhile may be in it or not;
   * a session never lacks a turn that it stands on. Sessions and memory that are kept elsewhere than in the database
   * are a `DataTransferError`.
   */
  readonly export: (userId: UserId) => Stream.Stream<string, DataTransferError>
  /**
   * Takes in an export, into a database of either kind: all of it or nothing. Refused for a user of whom something is
   * kept already, and when the lines are not a whole export of one user. It is one transaction, and lasts as long as
   * the lines come. A question that a process had still to answer is marked as interrupted at the next sweep, unless
   * that process works with this database, too.
   */
  readonly import: <E, R>(
    lines: Stream.Stream<string, E, R>
  ) => Effect.Effect<{ readonly userId: UserId; readonly counts: Counts }, DataTransferError | E, R>
  /**
   * Erases everything of a user, in every table and in every store the system has; caches, which do not know what is
   * whose, as a whole. What was erased stays so when it fails; once more goes on. A file of SQLite may hold the bytes
   * until their place is used again or it is vacuumed.
   */
  readonly erase: (userId: UserId, options?: EraseOptions | undefined) => Effect.Effect<Counts, DataTransferError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class OwnerData extends Context.Tag("effect-lexigram/persistence/OwnerData")<OwnerData, Service>() {}

const FORMAT = "effect-lexigram.owner"

const Head = Schema.Struct({
  format: Schema.Literal(FORMAT),
  version: Schema.Literal(1),
  /** Of the tables. */
  tables: Schema.Number,
  userId: UserId,
  at: Schema.Number
})

const Cell = Schema.Union(Schema.String, Schema.JsonNumber, Schema.Null, Schema.Struct({ base64: Schema.String }))

const Line = Schema.Union(
  Schema.Struct({ table: Schema.String, row: Schema.Array(Cell) }),
  Schema.Struct({ entry: MemoryEntry.MemoryEntry }),
  Schema.Struct({ end: Schema.Number })
)

const readHead = Schema.decodeUnknownEither(Schema.parseJson(Head), { onExcessProperty: "error" })
const readLine = Schema.decodeUnknownEither(Schema.parseJson(Line), { onExcessProperty: "error" })
const encodeEntry = Schema.encodeSync(MemoryEntry.MemoryEntry)

/** Rows and sessions that are read at once, and rows that are written by one statement. */
const PAGE = 200

const failed = (part: string, message: string, hint?: string): DataTransferError =>
  new DataTransferError({ part, message, ...(hint === undefined ? {} : { hint }) })

/** Of any port: its message says nothing of contents. */
const because =
  (part: string, doing: string) =>
  (error: { readonly message: string }): DataTransferError => {
    const message = error instanceof SqlError ? SqlFailure.describe(error).message : error.message
    return failed(part, `${doing} failed: ${message}`, "See to the reason and try again")
  }

const toCell = (value: unknown): typeof Cell.Encoded => {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") }
  return typeof value === "string" || typeof value === "number" || value === null ? value : String(value)
}

const toParam = (cell: typeof Cell.Type): Param =>
  typeof cell === "object" && cell !== null ? Buffer.from(cell.base64, "base64") : cell

/** Whose memory is the user's. */
const ownersOf = (userId: UserId): ReadonlyArray<string> => {
  const owner = SessionMemory.ownerOf({ userId }) as string
  return [owner, OwnerNamespace.procedures(owner)]
}

const add = (counts: Map<string, number>, part: string, more: number): void => {
  if (more > 0) counts.set(part, (counts.get(part) ?? 0) + more)
}

interface Parts {
  readonly client: SqlClient.SqlClient
  readonly database: Database.Database
  readonly memory: MemoryStore.Service
  readonly facts: FactStore.Service
  readonly sessions: SessionStore.Service
  /** Of the database, also where the system keeps its sessions and entries elsewhere now. */
  readonly kept: {
    readonly sessions: SessionStore.Service
    readonly memory: MemoryBackend
    readonly ledger: CostLedger.Service
  }
  readonly redis: Option.Option<RedisClient["Type"]>
}

const over = ({ client, database, facts, kept, memory, redis, sessions }: Parts): Service => {
  const { dialect } = database
  const tables = OwnedTables.make(dialect)
  const byName = new Map(tables.filter(({ columns }) => columns.length > 0).map((table) => [table.table, table]))
  const sessionsOf = OwnedTables.sessionsOf(dialect)
  const runsOf = OwnedTables.runsOf(dialect)
  const threadsOf = OwnedTables.threadsOf(dialect)
  const isHere = (name: string): boolean => name === dialect.name

  const statements = new Map(
    tables.map((owned) => {
      const { columns, fixed, key, owned: condition, table } = owned
      const names = [...key.map((column, i) => `${column} AS key_${i}`), ...columns].join(", ")
      const place = `(${key.join(", ")}) > (${key.map(() => "?").join(", ")})`
      const page = (where: string) =>
        dialect.sql(
          `SELECT ${names} FROM ${table} WHERE ${condition.text}${where} ORDER BY ${key.join(", ")} LIMIT ${PAGE}`
        )
      return [
        owned,
        {
          first: page(""),
          next: page(` AND ${place}`),
          count: dialect.sql(`SELECT COUNT(*) AS count FROM ${table} WHERE ${condition.text}`),
          // A run of the system in a session of the user is no other user's.
          own: dialect.sql(
            `SELECT COUNT(*) AS count FROM ${table}
            WHERE ${condition.text} AND (user_id IS NULL OR user_id IN (?, '${IndexKey.everybody}'))`
          ),
          erase: dialect.sql(`DELETE FROM ${table} WHERE ${condition.text}`),
          insert: Database.insertInto(table, [...columns, ...(fixed ?? []).map(([column]) => column)])
        }
      ] as const
    })
  )
  const of = (table: OwnedTables.OwnedTable) => statements.get(table) as NonNullable<ReturnType<typeof statements.get>>
  /** Sessions in the lines of an export that are neither the user's nor what is left of a deleted one. */
  const foreign = dialect.sql(
    `SELECT COUNT(*) AS count FROM lex_sessions WHERE ${dialect.oneOf("id")} AND user_id <> ? AND status <> 4`
  )
  const raised = `INSERT INTO lex_fact_owners (owner_id, revision, facts, terms, analyzer)
    SELECT '\u0001', COALESCE(MAX(revision), 0), 0, 0, '' FROM lex_fact_owners WHERE true
    ON CONFLICT (owner_id) DO UPDATE SET revision = excluded.revision`
  /** Who was to answer and has no lease here has none that lasts. */
  const leased = `INSERT INTO lex_session_leases (owner_id, until)
    SELECT DISTINCT owner_id, 0 FROM lex_session_exchanges WHERE owner_id IS NOT NULL
    ON CONFLICT (owner_id) DO NOTHING`
  const eraseVectors = VectorErasure.erase(database)
  const present = dialect.sql(`SELECT rate_key FROM lex_rates WHERE ${dialect.oneOf("rate_key")}`)
  const book = CostLedgerBook.make(dialect)
  const quotas = dialect.sql(
    `SELECT rate_key FROM lex_rates WHERE rate_key > ? AND rate_key < ? ORDER BY rate_key LIMIT ${PAGE}`
  )

  const namesOf = Effect.fnUntraced(function* (userId: UserId, options?: EraseOptions) {
    const ids = yield* sessionsOf(database, userId)
    const runs = yield* runsOf(database, userId, ids)
    const threads = yield* threadsOf(database, userId, options?.threads ?? [])
    return { user: userId, owners: ownersOf(userId), sessions: ids, runs, threads }
  })

  const rowsOf = (
    table: OwnedTables.OwnedTable,
    names: OwnedTables.Names
  ): Stream.Stream<string, DataTransferError> => {
    const { first, next } = of(table)
    const given = table.owned.params(names)
    const lineOf = (row: Database.Row): string =>
      JSON.stringify({ table: table.table, row: table.columns.map((column) => toCell(row[column])) })
    return Stream.paginateChunkEffect(noPlace, (after) =>
      Effect.map(
        Effect.mapError(
          database.rows(after === undefined ? first : next, [...given, ...(after ?? [])]),
          because(table.part, "Reading")
        ),
        (rows) => {
          const last = rows.length < PAGE ? undefined : rows[PAGE - 1]
          const place = last === undefined ? undefined : table.key.map((_, i) => last[`key_${i}`] as Param)
          return [Chunk.unsafeFromArray(rows.map(lineOf)), Option.fromNullable(place)] as const
        }
      )
    )
  }

  const entriesOf = (ownerId: string): Stream.Stream<string, DataTransferError> =>
    memory.stream(ownerId).pipe(
      Stream.map((entry) => JSON.stringify({ entry: encodeEntry(entry) })),
      Stream.mapError(because("memory", "Reading"))
    )

  const elsewhere = (part: string, name: string): DataTransferError =>
    failed(
      part,
      `It is kept in ${name}, and only what the database keeps can be given out or taken in`,
      "Have it kept in the database"
    )

  const checkPlaces: Effect.Effect<void, DataTransferError> = !isHere(sessions.name)
    ? Effect.fail(elsewhere("sessions", sessions.name))
    : isHere(memory.name)
      ? Effect.void
      : Effect.fail(elsewhere("memory", memory.name))

  const exported = (userId: UserId): Stream.Stream<string, DataTransferError> =>
    Stream.unwrap(
      Effect.gen(function* () {
        yield* checkPlaces
        const names = yield* Effect.mapError(namesOf(userId), because("sessions", "Reading"))
        const head = { format: FORMAT, version: 1, tables: Migrations.version, userId }
        const at = yield* Clock.currentTimeMillis
        let lines = 0
        const body = Stream.fromIterable(byName.values()).pipe(
          Stream.flatMap((table) => rowsOf(table, names)),
          Stream.concat(Stream.flatMap(Stream.fromIterable(names.owners), entriesOf)),
          Stream.tap(() => Effect.sync(() => lines++))
        )
        return Stream.make(JSON.stringify({ ...head, at })).pipe(
          Stream.concat(body),
          Stream.concat(Stream.suspend(() => Stream.make(JSON.stringify({ end: lines }))))
        )
      })
    )

  const countOf = (access: Database.Access, table: OwnedTables.OwnedTable, names: OwnedTables.Names) =>
    Effect.map(access.first(of(table).count, table.owned.params(names)), (row) => Number(row?.["count"]))

  /** As `countOf`, without those that say that they are somebody else's. */
  const ownRows = (table: OwnedTables.OwnedTable, names: OwnedTables.Names) =>
    table.table === "lex_sessions" || !table.columns.includes("user_id")
      ? countOf(database, table, names)
      : Effect.map(database.first(of(table).own, [...table.owned.params(names), IndexKey.of(names.user)]), (row) =>
          Number(row?.["count"])
        )

  /** Nothing of the user may be there: rows of both would not fit together. */
  const checkFree = Effect.fnUntraced(function* (userId: UserId) {
    const names = yield* Effect.mapError(namesOf(userId), because("sessions", "Reading"))
    for (const table of tables) {
      if (table.isMain !== true) continue
      const count = yield* Effect.mapError(countOf(database, table, names), because(table.part, "Reading"))
      if (count > 0) return yield* taken(table.part)
    }
    for (const owner of names.owners) {
      const count = yield* Effect.mapError(memory.count(owner), because("memory", "Reading"))
      if (count > 0) return yield* taken("memory")
    }
  })

  const decoded = (text: string, number: number): Effect.Effect<typeof Line.Type, DataTransferError> =>
    Either.match(readLine(text), {
      onLeft: () => Effect.fail(failed("lines", `Line ${number} is not one of an export`, "Give the export as it was")),
      onRight: Effect.succeed
    })

  /** In the transaction of the import. */
  const takeIn = <E, R>(userId: UserId, lines: Stream.Stream<string, E, R>) =>
    Effect.gen(function* () {
      yield* checkPlaces
      yield* checkFree(userId)
      const owners = new Set(ownersOf(userId))
      const rows = new Map<OwnedTables.OwnedTable, number>()
      const ids: Array<string> = []
      let entries = 0
      let number = 1
      let end: number | undefined
      const insert = (table: OwnedTables.OwnedTable, many: ReadonlyArray<ReadonlyArray<Param>>) =>
        Effect.mapError(database.insert(of(table).insert, many), because(table.part, "Writing"))
      yield* lines.pipe(
        Stream.grouped(PAGE),
        Stream.runForEach((texts) =>
          Effect.gen(function* () {
            const batch = new Map<OwnedTables.OwnedTable, Array<ReadonlyArray<Param>>>()
            const stored: Array<MemoryEntry.MemoryEntry> = []
            for (const text of texts) {
              number++
              const line = yield* decoded(text, number)
              if (end !== undefined) return yield* failed("lines", "There are lines behind the end of the export")
              if ("end" in line) {
                end = line.end
                continue
              }
              if ("entry" in line) {
                if (!owners.has(line.entry.ownerId)) return yield* strange("memory")
                stored.push(line.entry)
                continue
              }
              const table = byName.get(line.table)
              if (table === undefined || line.row.length !== table.columns.length) return yield* unknown(number)
              const written = batch.get(table) ?? []
              written.push([...line.row.map(toParam), ...(table.fixed ?? []).map(([, value]) => value)])
              batch.set(table, written)
              if (table.table === "lex_sessions") ids.push(String(line.row[0]))
            }
            for (const [table, many] of batch) {
              yield* insert(table, many)
              rows.set(table, (rows.get(table) ?? 0) + many.length)
            }
            entries += stored.length
            yield* Effect.mapError(memory.storeMany(stored), because("memory", "Writing"))
          })
        )
      )
      const seen = entries + Array.from(rows.values()).reduce((sum, count) => sum + count, 0)
      if (end !== seen) return yield* failed("lines", "The export has not all of its lines", "Give all of them")
      // The next revision of an owner is above all that any had.
      yield* Effect.mapError(database.run(raised), because("facts", "Writing"))
      yield* Effect.mapError(database.run(leased), because("sessions", "Writing"))
      // What was taken in is the user's to the last row, or it is not taken in.
      const names = yield* Effect.mapError(namesOf(userId), because("sessions", "Reading"))
      const strangers = yield* Effect.mapError(
        database.first(foreign, [dialect.list(ids), KeyText.encode(userId)]),
        because("sessions", "Reading")
      )
      if (Number(strangers?.["count"]) > 0) return yield* strange("sessions")
      const counts = new Map<string, number>()
      for (const [table, count] of rows) {
        const own = yield* Effect.mapError(ownRows(table, names), because(table.part, "Reading"))
        if (own !== count) return yield* strange(table.part)
        add(counts, table.part, count)
      }
      add(counts, "memory", entries)
      return { userId, counts: Object.fromEntries(counts) }
    })

  const imported = <E, R>(
    lines: Stream.Stream<string, E, R>
  ): Effect.Effect<{ readonly userId: UserId; readonly counts: Counts }, DataTransferError | E, R> =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, rest] = yield* Stream.peel(lines, Sink.head<string>())
        const head = readHead(Option.getOrElse(first, () => ""))
        if (Either.isLeft(head)) return yield* failed("lines", "The first line is not the head of an export")
        if (head.right.tables > Migrations.version) {
          return yield* failed("lines", "The export was made by a newer version", "Use that version or a later one")
        }
        return yield* client.withTransaction(takeIn(head.right.userId, rest))
      })
    ).pipe(
      Effect.catchIf(isSqlError, (error) => Effect.fail(because("lines", "Writing")(error))),
      Effect.catchSomeDefect((defect) =>
        defect instanceof SqlError ? Option.some(Effect.fail(because("lines", "Writing")(defect))) : Option.none()
      )
    )

  const eraseSessions = Effect.fnUntraced(function* (store: SessionStore.Service, userId: UserId) {
    const erasing = because("sessions", "Erasing")
    let erased = 0
    for (;;) {
      const page = yield* Effect.mapError(store.list({ userId, limit: PAGE }), erasing)
      for (const { id } of page) if (yield* Effect.mapError(store.delete(id), erasing)) erased++
      if (page.length < PAGE) return erased
    }
  })

  /** What is held there is given back in all accounts that it is held in. */
  const eraseCosts = Effect.fnUntraced(function* (userId: UserId, counts: Map<string, number>) {
    for (const { account } of yield* book.ofUser(database, userId)) {
      yield* kept.ledger.close(account)
      add(counts, "costs", 1)
    }
  })

  /** What is counted for the user: rates, and quotas, whose tenant is the user where there is no other. */
  const ratesOf = Effect.fnUntraced(function* (userId: UserId) {
    const keys = [...governed(userId)]
    for (let after = "quota:"; ; ) {
      const rows = yield* database.rows<{ readonly rate_key: string }>(quotas, [after, "quota;"])
      keys.push(
        ...rows
          .map(({ rate_key }) => KeyText.decode(rate_key))
          .filter((key) => QuotaUnits.tenantOf(key) === `user:${userId}`)
      )
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) break
      after = last.rate_key
    }
    const there = yield* database.rows<{ readonly rate_key: string }>(present, [dialect.list(keys.map(KeyText.encode))])
    return there.map(({ rate_key }) => KeyText.decode(rate_key))
  })

  const erase = Effect.fnUntraced(function* (userId: UserId, options?: EraseOptions) {
    const counts = new Map<string, number>()
    // Before the sessions go: runs and approvals are found by them, too.
    const names = yield* Effect.mapError(namesOf(userId, options), because("sessions", "Reading"))
    for (const owner of names.owners) {
      const erasing = because("memory", "Erasing")
      add(counts, "memory", yield* Effect.mapError(memory.clear(owner), erasing))
      if (!isHere(memory.name)) add(counts, "memory", yield* Effect.mapError(kept.memory.clear(owner), erasing))
      add(counts, "facts", yield* Effect.mapError(facts.clear(owner), because("facts", "Erasing")))
    }
    add(counts, "sessions", yield* eraseSessions(sessions, userId))
    if (!isHere(sessions.name)) add(counts, "sessions", yield* eraseSessions(kept.sessions, userId))
    for (const table of tables) {
      if (table.part === "sessions" || table.part === "costs") continue
      const erased = yield* Effect.mapError(
        database.run(of(table).erase, table.owned.params(names)),
        because(table.part, "Erasing")
      )
      add(counts, table.part, erased)
    }
    for (const owner of names.owners) {
      const erased = database.transaction((tx) => eraseVectors(tx, owner))
      add(counts, "vectors", yield* Effect.mapError(erased, because("vectors", "Erasing")))
    }
    yield* Effect.mapError(eraseCosts(userId, counts), because("costs", "Erasing"))
    const keys = yield* Effect.mapError(ratesOf(userId), because("rates", "Reading"))
    add(counts, "rates", keys.length)
    yield* Effect.mapError(SqlRates.forget(database, keys), because("rates", "Erasing"))
    if (Option.isSome(redis)) {
      const erased = Effect.provideService(RedisCacheBackend.clear(), RedisClient, redis.value)
      add(counts, "caches", yield* Effect.mapError(erased, because("caches", "Erasing")))
      for (const key of governed(userId)) {
        const forgotten = Effect.provideService(RedisRateLimitStore.forget(key), RedisClient, redis.value)
        if (yield* Effect.mapError(forgotten, because("rates", "Erasing"))) add(counts, "rates", 1)
      }
    }
    return Object.fromEntries(counts) as Counts
  })

  return { export: exported, import: imported, erase }
}

/** Where the first page begins. */
const noPlace = undefined as ReadonlyArray<Param> | undefined

const governed = (userId: UserId): ReadonlyArray<string> => ["rpm", "tpm"].map((kind) => `${kind}:user:${userId}`)

const isSqlError = (error: unknown): error is SqlError => error instanceof SqlError

const taken = (part: string): DataTransferError =>
  failed(part, "Something of this user is kept already", "Erase it first, or take the export into another database")

const strange = (part: string): DataTransferError =>
  failed(part, "The export holds what is not this user's", "Give the export as it was")

const unknown = (number: number): DataTransferError =>
  failed("lines", `Line ${number} is of a table that this version does not know`, "Give the export as it was")

/**
 * Over the database and the stores in the context; also what Redis caches, where there is a `RedisClient`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  OwnerData,
  Migrations.MigrationFailure,
  SqlClient.SqlClient | MemoryStore.MemoryStore | FactStore.FactStore | SessionStore.SessionStore
> = Layer.effect(
  OwnerData,
  Effect.gen(function* () {
    return over({
      client: yield* SqlClient.SqlClient,
      database: yield* MigrationRun.open({ migrate: false }),
      memory: yield* MemoryStore.MemoryStore,
      facts: yield* FactStore.FactStore,
      sessions: yield* SessionStore.SessionStore,
      kept: {
        sessions: yield* SqlSessionStore.make,
        memory: yield* SqlMemoryStore.makeBackend(),
        ledger: yield* SqlCostLedger.make()
      },
      redis: yield* Effect.serviceOption(RedisClient)
    })
  })
)
