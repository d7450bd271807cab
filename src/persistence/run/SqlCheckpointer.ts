/**
 * A `Checkpointer` in a database. A checkpoint holds the whole state of its graph but only takes space for changes:
 * large fields are stored in pieces that the checkpoints of a thread share.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Checkpointer from "../../graph/Checkpointer.js"
import { CheckpointerError } from "../../graph/GraphError.js"
import { count } from "../../internal/Count.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Database } from "../engine/Database.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as CheckpointPieces from "./CheckpointPieces.js"

/** The most checkpoints in one statement. */
const page = 50

type WritesRow = Payloads.Kept

type Row = CheckpointPieces.CheckpointRow

/** Whether the caller may access a thread: a user, nobody, or the system (`everybody`). */
const allowed = `? IN (COALESCE(lex_threads.user_id, '${IndexKey.nobody}'), '${IndexKey.everybody}')`

const askerOf = (access: Checkpointer.Access | undefined): Effect.Effect<string> => {
  if (access?.userId !== undefined) return Effect.succeed(IndexKey.of(access.userId))
  return Effect.map(SystemAccess.isGranted, (granted) => (granted ? IndexKey.everybody : IndexKey.nobody))
}

/** A thread, and who accesses it. */
type Place = readonly [thread: string, asker: string]

const placeOf = (threadId: string, access: Checkpointer.Access | undefined): Effect.Effect<Place> =>
  Effect.map(askerOf(access), (asker) => [IndexKey.of(threadId), asker] as const)

const statements = ({ dialect }: Database) => {
  const thread = `thread_id = (SELECT thread_id FROM lex_threads WHERE thread_id = ? AND ${allowed})`
  const select = `SELECT number, body, ref, metadata FROM lex_checkpoints WHERE ${thread}`
  return {
    count: dialect.sql(
      `INSERT INTO lex_threads (thread_id, revision, user_id) VALUES (?, 1, ?)
      ON CONFLICT (thread_id) DO UPDATE SET revision = lex_threads.revision + 1 WHERE ${allowed} RETURNING revision`
    ),
    put: dialect.sql(
      `INSERT INTO lex_checkpoints (thread_id, number, id, namespace, body, ref, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (thread_id, id) DO NOTHING`
    ),
    last: dialect.sql(`${select} AND namespace = ? ORDER BY number DESC LIMIT 1`),
    one: dialect.sql(`${select} AND id = ? AND namespace = ?`),
    list: dialect.sql(`${select} AND namespace = ? AND number < ? ORDER BY number DESC LIMIT ?`),
    lock: dialect.sql(`SELECT revision FROM lex_threads WHERE thread_id = ? AND ${allowed}${dialect.forUpdate}`),
    number: dialect.sql(`SELECT number FROM lex_checkpoints WHERE ${thread} AND id = ?`),
    putWrites: dialect.sql(
      `INSERT INTO lex_checkpoint_writes (thread_id, number, node, position, body, data) VALUES (?, ?, ?,
        (SELECT COALESCE(MAX(position), 0) + 1 FROM lex_checkpoint_writes WHERE thread_id = ? AND number = ?), ?, ?)
      ON CONFLICT (thread_id, number, node) DO NOTHING`
    ),
    writes: dialect.sql(
      `SELECT body, data FROM lex_checkpoint_writes WHERE ${thread} AND number = ? ORDER BY position`
    ),
    deletes: ["lex_checkpoint_writes", "lex_checkpoints", "lex_checkpoint_pieces", "lex_threads"].map((table) =>
      dialect.sql(`DELETE FROM ${table} WHERE thread_id = ?`)
    )
  }
}

type Operation = CheckpointerError["operation"]

const failing =
  (operation: Operation) =>
  (error: SqlError | CheckpointerError): CheckpointerError =>
    error._tag === "SqlError" ? new CheckpointerError({ ...SqlFailure.fields(error), operation }) : error

const unreadable = (operation: Operation): CheckpointerError =>
  new CheckpointerError({ message: "What the database holds of a thread cannot be read", operation })

const attempt = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/**
 * Tests the text of metadata by the canonical texts of its values. Invalid metadata passes, so that reading it fails.
 */
const accepting = (filter: Checkpointer.ListOptions["filter"]): ((metadata: string) => boolean) => {
  if (filter === undefined) return () => true
  const wanted = Object.keys(filter).map((key) => [key, CanonicalJson.stringify(filter[key])] as const)
  return (text) => {
    const metadata = attempt(() => CheckpointPieces.metadataOf(text))
    return (
      metadata === undefined ||
      wanted.every(([key, value]) => Object.hasOwn(metadata, key) && CanonicalJson.stringify(metadata[key]) === value)
    )
  }
}

const isWrite = (write: unknown): write is Checkpointer.Writes[number] =>
  Array.isArray(write) && typeof write[0] === "string"

const nodeWritesOf = (row: WritesRow): Checkpointer.NodeWrites | undefined => {
  const parsed: unknown = attempt(() => JSON.parse(Payloads.unpack(row) ?? ""))
  return Array.isArray(parsed) && typeof parsed[0] === "string" && Array.isArray(parsed[1]) && parsed[1].every(isWrite)
    ? { node: parsed[0], writes: parsed[1] }
    : undefined
}

const makeService = (database: Database): Checkpointer.Service => {
  const sql = statements(database)
  const pieces = CheckpointPieces.make(database)

  const numberOf = (place: Place, id: string): Effect.Effect<number | undefined, SqlError> =>
    Effect.map(database.first<{ readonly number: number }>(sql.number, [...place, IndexKey.of(id)]), (row) =>
      row === undefined ? undefined : Number(row.number)
    )

  const saved = Effect.fnUntraced(function* (place: Place, row: Row) {
    const [checkpoint] = (yield* pieces.read(place[0], [row])) ?? []
    if (checkpoint === undefined) return undefined
    const rows = yield* database.rows<WritesRow>(sql.writes, [...place, Number(row.number)])
    const writes: Array<Checkpointer.NodeWrites> = []
    for (const one of rows) {
      const read = nodeWritesOf(one)
      if (read === undefined) return yield* unreadable("get")
      writes.push(read)
    }
    return Option.some<Checkpointer.Saved>({ checkpoint, writes })
  })

  /** Reads again if something was deleted meanwhile; the second time the thread is locked. */
  const consistently = <A, E>(
    operation: Operation,
    place: Place,
    read: Effect.Effect<A | undefined, E>
  ): Effect.Effect<A, E | SqlError | CheckpointerError> => {
    const locked = database.client.withTransaction(Effect.zipRight(database.first(sql.lock, place), read))
    return Effect.flatMap(read, (found) =>
      found === undefined
        ? Effect.flatMap(locked, (found) => (found === undefined ? unreadable(operation) : Effect.succeed(found)))
        : Effect.succeed(found)
    )
  }

  const listed = Effect.fnUntraced(function* (place: Place, options: Checkpointer.ListOptions | undefined) {
    const limit = count(options?.limit, Number.POSITIVE_INFINITY, 0)
    const namespace = IndexKey.of(options?.namespace ?? "")
    const accepts = accepting(options?.filter)
    const found: Array<Checkpointer.Checkpoint> = []
    let before: number | undefined = Number.MAX_VALUE
    if (options?.before !== undefined) before = yield* numberOf(place, options.before)
    while (before !== undefined && found.length < limit) {
      const left = limit - found.length
      const size = options?.filter === undefined ? Math.min(page, left) : page
      const rows: ReadonlyArray<Row> = yield* database.rows<Row>(sql.list, [...place, namespace, before, size])
      const wanted = rows.filter(({ metadata }) => accepts(metadata)).slice(0, Math.min(left, page))
      const checkpoints = yield* pieces.read(place[0], wanted)
      if (checkpoints === undefined) return undefined
      for (const one of checkpoints) found.push(one)
      const last = rows.at(-1)
      before = last === undefined || rows.length < size ? undefined : Number(last.number)
    }
    return found
  })

  return {
    put: (checkpoint, access) =>
      Effect.flatMap(placeOf(checkpoint.threadId, access), ([thread, asker]) => {
        const { id, namespace } = checkpoint
        const { body, metadata, ref, ropes } = CheckpointPieces.write(checkpoint)
        return Effect.flatMap(pieces.plan(thread, ropes), (plan) =>
          database.transaction(
            Effect.fnUntraced(function* (tx) {
              // Locks the thread.
              const owner = IndexKey.orNull(access?.userId)
              const counted = yield* tx.first<{ readonly revision: number }>(sql.count, [thread, owner, asker])
              if (counted === undefined) return yield* Checkpointer.taken()
              const number = Number(counted.revision)
              const row = [thread, number, IndexKey.of(id), IndexKey.of(namespace), body, ref, metadata]
              const added = yield* tx.run(sql.put, row)
              if (added > 0 && ropes.length > 0) yield* pieces.put(tx, thread, ropes, plan)
            }),
            { durable: true }
          )
        )
      }).pipe(Effect.mapError(failing("put"))),
    putWrites: (threadId, checkpointId, node, writes, access) =>
      Effect.flatMap(placeOf(threadId, access), (place) =>
        Effect.flatMap(Payloads.pack(JSON.stringify([node, writes])), ({ body, data }) => {
          const [thread] = place
          return database.transaction(
            Effect.fnUntraced(function* (tx) {
              if ((yield* tx.first(sql.lock, place)) === undefined) return
              const found = yield* tx.first<{ readonly number: number }>(sql.number, [
                ...place,
                IndexKey.of(checkpointId)
              ])
              if (found === undefined) return
              const number = Number(found.number)
              const row = [thread, number, IndexKey.of(node), thread, number, body, data ?? null]
              yield* tx.run(sql.putWrites, row)
            }),
            { durable: true }
          )
        })
      ).pipe(Effect.mapError(failing("putWrites"))),
    get: (threadId, options) =>
      Effect.flatMap(placeOf(threadId, options), (place) => {
        const namespace = IndexKey.of(options?.namespace ?? "")
        const id = options?.id
        const row =
          id === undefined
            ? database.first<Row>(sql.last, [...place, namespace])
            : database.first<Row>(sql.one, [...place, IndexKey.of(id), namespace])
        return consistently(
          "get",
          place,
          Effect.flatMap(row, (found) =>
            found === undefined ? Effect.succeed(Option.none<Checkpointer.Saved>()) : saved(place, found)
          )
        )
      }).pipe(Effect.mapError(failing("get"))),
    list: (threadId, options) =>
      Effect.flatMap(placeOf(threadId, options), (place) => consistently("list", place, listed(place, options))).pipe(
        Effect.mapError(failing("list"))
      ),
    deleteThread: (threadId, access) =>
      Effect.flatMap(placeOf(threadId, access), (place) =>
        database.transaction(
          (tx) =>
            Effect.flatMap(tx.first(sql.lock, place), (there) =>
              // A missing thread cannot be locked. One that is created now counts as created after the delete.
              there === undefined
                ? Effect.void
                : Effect.forEach(sql.deletes, (text) => tx.run(text, [place[0]]), { discard: true })
            ),
          { durable: true }
        )
      ).pipe(Effect.mapError(failing("deleteThread")))
  }
}

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), makeService)

/**
 * Requires a database with the tables of this version. A checkpoint that was put survives a power loss.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Checkpointer.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Checkpointer.Checkpointer, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  Checkpointer.Checkpointer,
  make
)

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { StateGraph } from "effect-lexigram/graph"
 * import { SqlCheckpointer, SqliteClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const order = StateGraph.unsafeCompile(
 *   StateGraph.make({
 *     name: "order",
 *     state: Schema.Struct({ approved: Schema.Boolean }),
 *     nodes: { ask: () => Effect.map(StateGraph.wait("approval", Schema.Boolean), (approved) => ({ approved })) },
 *     start: "ask",
 *     edges: { ask: "END" }
 *   })
 * )
 *
 * // The thread was begun by `invokeThread`, in this process or an earlier one, and waits.
 * const program = StateGraph.resume(order, { threadId: "4711", value: true }).pipe(
 *   Effect.provide(SqlCheckpointer.layerMigrated),
 *   Effect.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layerMigrated: Layer.Layer<Checkpointer.Checkpointer, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(Checkpointer.Checkpointer, build(true))
