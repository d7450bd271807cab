/**
 * Imports the lines of an export in one transaction.
 *
 * @private
 * @since 0.1.0
 */
import { SqlError } from "@effect/sql/SqlError"
import * as Arr from "effect/Array"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as BlobRef from "../content/BlobRef.js"
import type * as BlobStore from "../content/BlobStore.js"
import type { UserId } from "../domain/Ids.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import * as OwnerNamespace from "../memory/entry/OwnerNamespace.js"
import type { Param } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import * as KeyText from "./engine/KeyText.js"
import type { DataTransferError } from "./engine/PersistenceError.js"
import type { Names } from "./OwnedConditions.js"
import type { OwnedTable } from "./OwnedTables.js"
import type * as OwnerData from "./OwnerData.js"
import { checkPlaces } from "./OwnerExport.js"
import { type Line, readHead, readLine, toParam } from "./OwnerLines.js"
import { add, because, blobsElsewhere, failed, nameOf, ownersOf, PAGE, type Parts, type Tables } from "./OwnerStores.js"
import * as Migrations from "./schema/Migrations.js"

const isSqlError = (error: unknown): error is SqlError => error instanceof SqlError

const BLOBS = "lex_blobs"

const unchanged = "Import an unchanged export"

const taken = (part: string): DataTransferError =>
  failed(part, "The database already has data of this user", "Erase it first, or import into another database")

const strange = (part: string): DataTransferError => failed(part, "The export contains data of another user", unchanged)

const unknown = (number: number): DataTransferError =>
  failed("lines", `Line ${number} is of a table that this version does not know`, unchanged)

const decoded = (text: string, number: number): Effect.Effect<typeof Line.Type, DataTransferError> =>
  Either.match(readLine(text), {
    onLeft: () => Effect.fail(failed("lines", `Line ${number} is not a line of an export`, unchanged)),
    onRight: Effect.succeed
  })

const whole = (blob: Blob): Effect.Effect<Blob, DataTransferError> =>
  BlobRef.hashOf(blob.bytes) === blob.hash
    ? Effect.succeed(blob)
    : Effect.fail(failed("blobs", "The bytes of a file are not those of its hash", unchanged))

/** Lines that are written together. */
interface Batch {
  readonly rows: Map<OwnedTable, Array<ReadonlyArray<Param>>>
  readonly entries: Array<MemoryEntry>
  readonly blobs: Array<Blob>
}

/** A blob with its bytes, which are those of its hash. */
interface Blob extends Omit<BlobStore.Put, "owner"> {
  readonly hash: string
}

/** What has been read so far. */
class Intake {
  readonly rows = new Map<OwnedTable, number>()
  /** Keys of the sessions. */
  readonly sessions: Array<string> = []
  private readonly owners: ReadonlySet<string>
  entries = 0
  blobs = 0
  private line = 1
  private end: number | undefined

  constructor(
    private readonly userId: UserId,
    private readonly tables: Tables,
    /** Blobs are kept outside of the database. */
    private readonly isBlobElsewhere: boolean
  ) {
    this.owners = new Set(ownersOf(userId))
  }

  /** Sorts lines by the table or the store they belong to. */
  readonly sort = (texts: Iterable<string>): Effect.Effect<Batch, DataTransferError> =>
    Effect.gen(this, function* () {
      const batch: Batch = { rows: new Map(), entries: [], blobs: [] }
      for (const text of texts) {
        const line = yield* decoded(text, ++this.line)
        if (this.end !== undefined) return yield* failed("lines", "There are lines after the end of the export")
        if ("end" in line) this.end = line.end
        else if ("entry" in line) {
          if (!this.owners.has(line.entry.ownerId)) return yield* strange("memory")
          batch.entries.push(line.entry)
        } else if ("blob" in line) {
          const { base64, hash, mediaType, scope } = line.blob
          const bytes = Buffer.from(base64, "base64")
          if (this.isBlobElsewhere) batch.blobs.push(yield* whole({ scope, hash, mediaType, bytes }))
          else {
            const row = [IndexKey.of(this.userId), KeyText.encode(scope), hash, mediaType, bytes.length, bytes]
            yield* whole({ scope, hash, mediaType, bytes })
            this.addRow(batch, this.tables.exported.get(BLOBS) as OwnedTable, row)
          }
        } else {
          const table = this.tables.exported.get(line.table)
          if (table === undefined || line.row.length !== table.columns.length) return yield* unknown(this.line)
          const row = line.row.map(toParam)
          if (table.table === "lex_sessions") this.sessions.push(String(row[0]))
          if (table.table !== BLOBS || !this.isBlobElsewhere) this.addRow(batch, table, row)
          else {
            const [owner, scope, hash, mediaType, , bytes] = row
            if (owner !== IndexKey.of(this.userId)) return yield* strange("blobs")
            if (!(bytes instanceof Uint8Array)) return yield* unknown(this.line)
            const blob = {
              scope: KeyText.decode(String(scope)),
              hash: String(hash),
              mediaType: String(mediaType),
              bytes
            }
            batch.blobs.push(yield* whole(blob))
          }
        }
      }
      return batch
    })

  private addRow({ rows }: Batch, table: OwnedTable, row: ReadonlyArray<Param>): void {
    const known = rows.get(table) ?? []
    known.push([...row, ...(table.fixed ?? []).map(([, value]) => value)])
    rows.set(table, known)
  }

  written({ blobs, entries, rows }: Batch): void {
    this.blobs += blobs.length
    for (const [table, many] of rows) this.rows.set(table, (this.rows.get(table) ?? 0) + many.length)
    this.entries += entries.length
  }

  isWhole(): boolean {
    const others = this.entries + this.blobs
    return this.end === others + Array.from(this.rows.values()).reduce((sum, count) => sum + count, 0)
  }
}

const makeCounts = ({ database }: Parts, tables: Tables) => {
  const count = (table: OwnedTable, names: Names) =>
    Effect.map(database.first(tables.statementsOf(table).count, table.owned.params(names)), (row) =>
      Number(row?.["count"])
    )
  /** Like `count`, without the rows of other users. */
  const countOwn = (table: OwnedTable, names: Names) =>
    table.table === "lex_sessions" || !table.columns.includes("user_id")
      ? count(table, names)
      : Effect.map(
          database.first(tables.statementsOf(table).own, [...table.owned.params(names), IndexKey.of(names.user)]),
          (row) => Number(row?.["count"])
        )
  return { count, countOwn }
}

type CountRows = ReturnType<typeof makeCounts>

/** Fails if the database has data of the user: rows of both would not fit together. */
const checkFree = Effect.fnUntraced(function* (parts: Parts, tables: Tables, { count }: CountRows, userId: UserId) {
  const { memory } = parts
  const names = yield* Effect.mapError(tables.namesOf(userId), because("sessions", "Reading"))
  for (const table of tables.all) {
    if (table.isMain !== true) continue
    if ((yield* Effect.mapError(count(table, names), because(table.part, "Reading"))) > 0)
      return yield* taken(table.part)
  }
  const elsewhere = blobsElsewhere(parts)
  if (Option.isSome(elsewhere)) {
    const first = Stream.runHead(elsewhere.value.list({ owner: userId }))
    if (Option.isSome(yield* Effect.mapError(first, because("blobs", "Reading")))) return yield* taken("blobs")
  }
  for (const owner of names.owners) {
    if ((yield* Effect.mapError(memory.count(owner), because("memory", "Reading"))) > 0) return yield* taken("memory")
  }
})

/** Raises the revision for new fact owners above every imported one. */
const raised = `INSERT INTO lex_fact_owners (owner_id, revision, facts, terms, analyzer)
    SELECT '\u0001', COALESCE(MAX(revision), 0), 0, 0, '' FROM lex_fact_owners WHERE true
    ON CONFLICT (owner_id) DO UPDATE SET revision = excluded.revision`

/** Gives the owners of open exchanges without a lease one that has ended. */
const leased = `INSERT INTO lex_session_leases (owner_id, until)
    SELECT DISTINCT owner_id, 0 FROM lex_session_exchanges WHERE owner_id IS NOT NULL
    ON CONFLICT (owner_id) DO NOTHING`

/** Fails unless every imported row belongs to the user. */
const makeCheckOwned = ({ database }: Parts, tables: Tables, { countOwn }: CountRows) => {
  const { dialect } = database
  /** Counts sessions of other users, without the remains of deleted ones. */
  const foreign = dialect.sql(
    `SELECT COUNT(*) AS count FROM lex_sessions WHERE ${dialect.oneOf("id")} AND user_id <> ? AND status <> 4`
  )

  return Effect.fnUntraced(function* (userId: UserId, intake: Intake) {
    const names = yield* Effect.mapError(tables.namesOf(userId), because("sessions", "Reading"))
    const strangers = yield* Effect.mapError(
      database.first(foreign, [dialect.list(intake.sessions), KeyText.encode(userId)]),
      because("sessions", "Reading")
    )
    if (Number(strangers?.["count"]) > 0) return yield* strange("sessions")
    const counts = new Map<string, number>()
    for (const [table, count] of intake.rows) {
      const own = yield* Effect.mapError(countOwn(table, names), because(table.part, "Reading"))
      if (own !== count) return yield* strange(table.part)
      add(counts, table.part, count)
    }
    add(counts, "memory", intake.entries)
    add(counts, "blobs", intake.blobs)
    return counts
  })
}

/** Characters of lines that are written together. */
const maxCharacters = 32 * 1_048_576

/** Up to `PAGE` lines, fewer if they are long. */
const together = Sink.foldWeighted({
  initial: Chunk.empty<string>(),
  maxCost: maxCharacters,
  cost: (_, line: string) => Math.max(line.length, maxCharacters / PAGE),
  body: (lines, line) => Chunk.append(lines, line)
})

/**
 * @category constructors
 */
export const make = (parts: Parts, tables: Tables): OwnerData.Service["import"] => {
  const { client, database, kept, memory } = parts
  const counting = makeCounts(parts, tables)
  const checkOwned = makeCheckOwned(parts, tables, counting)

  const elsewhere = blobsElsewhere(parts)

  const putAll = (owner: UserId, blobs: ReadonlyArray<Blob>) =>
    Option.match(elsewhere, {
      onNone: () => Effect.void,
      onSome: (store) =>
        Effect.forEach(
          blobs,
          ({ bytes, mediaType, scope }) =>
            Effect.mapError(store.put({ owner, scope, bytes, mediaType }), because("blobs", "Writing")),
          { discard: true }
        )
    })

  /** Files are in no transaction: those of an import that failed are removed. The user had none before. */
  const removeAll = (owner: UserId) =>
    Option.match(elsewhere, {
      onNone: () => Effect.void,
      onSome: (store) => Effect.ignore(store.removeOwner({ owner }))
    })

  const write = Effect.fnUntraced(function* (owner: UserId, { blobs, entries, rows }: Batch) {
    yield* putAll(owner, blobs)
    for (const [table, many] of rows) {
      const insert = database.insert(tables.statementsOf(table).insert, many)
      yield* Effect.mapError(insert, because(table.part, "Writing"))
    }
    const space = OwnerNamespace.documents(ownersOf(owner)[0] as string)
    const [remembered, documents] = Arr.partition(entries, ({ ownerId }) => ownerId === space)
    yield* Effect.mapError(memory.storeMany(remembered), because("memory", "Writing"))
    // Documents do not expire as memory does.
    if (documents.length > 0)
      yield* Effect.mapError(kept.memory.apply(space, { store: documents }), because("memory", "Writing"))
  })

  const readAll = <E, R>(subject: OwnerData.Subject, lines: Stream.Stream<string, E, R>) =>
    Effect.gen(function* () {
      const userId = nameOf(subject)
      const intake = new Intake(userId, tables, Option.isSome(elsewhere))
      yield* lines.pipe(
        Stream.transduce(together),
        Stream.runForEach((texts) =>
          Effect.flatMap(intake.sort(texts), (batch) => Effect.map(write(userId, batch), () => intake.written(batch)))
        )
      )
      if (!intake.isWhole()) return yield* failed("lines", "The export is incomplete", "Import all of its lines")
      yield* Effect.mapError(database.run(raised), because("facts", "Writing"))
      yield* Effect.mapError(database.run(leased), because("sessions", "Writing"))
      const counts = Object.fromEntries(yield* checkOwned(userId, intake))
      return typeof subject === "string" ? { userId: subject, counts } : { namespace: subject, counts }
    })

  const takeIn = <E, R>(subject: OwnerData.Subject, lines: Stream.Stream<string, E, R>) =>
    Effect.suspend(() => {
      const userId = nameOf(subject)
      let isFree = false
      return client
        .withTransaction(
          Effect.gen(function* () {
            yield* checkPlaces(parts)
            yield* checkFree(parts, tables, counting, userId)
            isFree = true
            return yield* readAll(subject, lines)
          })
        )
        .pipe(Effect.onError(() => (isFree ? removeAll(userId) : Effect.void)))
    })

  return <E, R>(lines: Stream.Stream<string, E, R>): Effect.Effect<OwnerData.Imported, DataTransferError | E, R> =>
    Effect.scoped(
      Effect.gen(function* () {
        const [first, rest] = yield* Stream.peel(lines, Sink.head<string>())
        const head = readHead(Option.getOrElse(first, () => ""))
        if (Either.isLeft(head)) return yield* failed("lines", "The first line is not the head of an export")
        if (head.right.tables > Migrations.version) {
          return yield* failed("lines", "The export was made by a newer version", "Use that version or a later one")
        }
        return yield* takeIn("userId" in head.right ? head.right.userId : head.right.namespace, rest)
      })
    ).pipe(
      Effect.catchIf(isSqlError, (error) => Effect.fail(because("lines", "Writing")(error))),
      Effect.catchSomeDefect((defect) =>
        defect instanceof SqlError ? Option.some(Effect.fail(because("lines", "Writing")(defect))) : Option.none()
      )
    )
}
