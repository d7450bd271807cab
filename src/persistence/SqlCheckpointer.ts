/**
 * A `Checkpointer` in a database. A checkpoint has the whole state of its graph, and takes room for what has changed: large fields are kept in
 * pieces that the checkpoints of a thread share.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Checkpointer from "../graph/Checkpointer.js"
import { CheckpointerError } from "../graph/GraphError.js"
import * as CanonicalJson from "../internal/CanonicalJson.js"
import { count } from "../internal/Count.js"
import * as CheckpointPieces from "./CheckpointPieces.js"
import type { Database } from "./Database.js"
import * as Immediate from "./Immediate.js"
import * as IndexKey from "./IndexKey.js"
import * as MigrationRun from "./MigrationRun.js"
import type { MigrationFailure } from "./Migrations.js"
import * as Payloads from "./Payloads.js"
import * as SqlFailure from "./SqlFailure.js"

/** Checkpoints in one statement at most. */
const page = 50

type WritesRow = Payloads.Kept

type Row = CheckpointPieces.CheckpointRow

const statements = ({ dialect }: Database) => {
  const select = "SELECT number, body, ref, metadata FROM lex_checkpoints WHERE thread_id = ?"
  return {
    count: dialect.sql(
      `INSERT INTO lex_threads (thread_id, revision) VALUES (?, 1)
      ON CONFLICT (thread_id) DO UPDATE SET revision = lex_threads.revision + 1 RETURNING revision`
    ),
    put: dialect.sql(
      `INSERT INTO lex_checkpoints (thread_id, number, id, namespace, body, ref, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (thread_id, id) DO NOTHING`
    ),
    last: dialect.sql(`${select} AND namespace = ? ORDER BY number DESC LIMIT 1`),
    one: dialect.sql(`${select} AND id = ? AND namespace = ?`),
    list: dialect.sql(`${select} AND namespace = ? AND number < ? ORDER BY number DESC LIMIT ?`),
    lock: dialect.sql(`SELECT revision FROM lex_threads WHERE thread_id = ?${dialect.forUpdate}`),
    number: dialect.sql("SELECT number FROM lex_checkpoints WHERE thread_id = ? AND id = ?"),
    putWrites: dialect.sql(
      `INSERT INTO lex_checkpoint_writes (thread_id, number, node, position, body, data) VALUES (?, ?, ?,
        (SELECT COALESCE(MAX(position), 0) + 1 FROM lex_checkpoint_writes WHERE thread_id = ? AND number = ?), ?, ?)
      ON CONFLICT (thread_id, number, node) DO NOTHING`
    ),
    writes: dialect.sql(
      "SELECT body, data FROM lex_checkpoint_writes WHERE thread_id = ? AND number = ? ORDER BY position"
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

/** The test of a metadata text: by the texts that equal values have. What is broken is passed on to whoever reads it. */
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

const over = (database: Database): Checkpointer.Service => {
  const sql = statements(database)
  const pieces = CheckpointPieces.make(database)

  const numberOf = (thread: string, id: string): Effect.Effect<number | undefined, SqlError> =>
    Effect.map(database.first<{ readonly number: number }>(sql.number, [thread, IndexKey.of(id)]), (row) =>
      row === undefined ? undefined : Number(row.number)
    )

  const saved = Effect.fnUntraced(function* (thread: string, row: Row) {
    const [checkpoint] = (yield* pieces.read(thread, [row])) ?? []
    if (checkpoint === undefined) return undefined
    const rows = yield* database.rows<WritesRow>(sql.writes, [thread, Number(row.number)])
    const writes: Array<Checkpointer.NodeWrites> = []
    for (const one of rows) {
      const read = nodeWritesOf(one)
      if (read === undefined) return yield* unreadable("get")
      writes.push(read)
    }
    return Option.some<Checkpointer.Saved>({ checkpoint, writes })
  })

  /** Again where something was deleted while it was read: the second time nobody else changes the thread. */
  const consistently = <A, E>(
    operation: Operation,
    thread: string,
    read: Effect.Effect<A | undefined, E>
  ): Effect.Effect<A, E | SqlError | CheckpointerError> => {
    const locked = database.client.withTransaction(Effect.zipRight(database.first(sql.lock, [thread]), read))
    return Effect.flatMap(read, (found) =>
      found === undefined
        ? Effect.flatMap(locked, (found) => (found === undefined ? unreadable(operation) : Effect.succeed(found)))
        : Effect.succeed(found)
    )
  }

  const listed = Effect.fnUntraced(function* (thread: string, options: Checkpointer.ListOptions | undefined) {
    const limit = count(options?.limit, Number.POSITIVE_INFINITY, 0)
    const namespace = IndexKey.of(options?.namespace ?? "")
    const accepts = accepting(options?.filter)
    const found: Array<Checkpointer.Checkpoint> = []
    let before: number | undefined = Number.MAX_VALUE
    if (options?.before !== undefined) before = yield* numberOf(thread, options.before)
    while (before !== undefined && found.length < limit) {
      const left = limit - found.length
      const size = options?.filter === undefined ? Math.min(page, left) : page
      const rows: ReadonlyArray<Row> = yield* database.rows<Row>(sql.list, [thread, namespace, before, size])
      const wanted = rows.filter(({ metadata }) => accepts(metadata)).slice(0, Math.min(left, page))
      const checkpoints = yield* pieces.read(thread, wanted)
      if (checkpoints === undefined) return undefined
      for (const one of checkpoints) found.push(one)
      const last = rows.at(-1)
      before = last === undefined || rows.length < size ? undefined : Number(last.number)
    }
    return found
  })

  return {
    put: (checkpoint) =>
      Effect.suspend(() => {
        const { id, namespace, threadId } = checkpoint
        const thread = IndexKey.of(threadId)
        const { body, metadata, ref, ropes } = CheckpointPieces.write(checkpoint)
        return Effect.flatMap(pieces.plan(thread, ropes), (plan) =>
          database.transaction(
            Immediate.fn(function* (tx) {
              // From here on nobody else changes the thread.
              const counted = yield* tx.first<{ readonly revision: number }>(sql.count, [thread])
              const number = Number(counted?.revision)
              const row = [thread, number, IndexKey.of(id), IndexKey.of(namespace), body, ref, metadata]
              const added = yield* tx.run(sql.put, row)
              if (added > 0 && ropes.length > 0) yield* pieces.put(tx, thread, ropes, plan)
            }),
            { durable: true }
          )
        )
      }).pipe(Effect.mapError(failing("put"))),
    putWrites: (threadId, checkpointId, node, writes) =>
      Effect.flatMap(Payloads.pack(JSON.stringify([node, writes])), ({ body, data }) => {
        const thread = IndexKey.of(threadId)
        const id = IndexKey.of(checkpointId)
        return database.transaction(
          Immediate.fn(function* (tx) {
            if ((yield* tx.first(sql.lock, [thread])) === undefined) return
            const found = yield* tx.first<{ readonly number: number }>(sql.number, [thread, id])
            if (found === undefined) return
            const number = Number(found.number)
            const row = [thread, number, IndexKey.of(node), thread, number, body, data ?? null]
            yield* tx.run(sql.putWrites, row)
          }),
          { durable: true }
        )
      }).pipe(Effect.mapError(failing("putWrites"))),
    get: (threadId, options) => {
      const thread = IndexKey.of(threadId)
      const namespace = IndexKey.of(options?.namespace ?? "")
      const id = options?.id
      const row =
        id === undefined
          ? database.first<Row>(sql.last, [thread, namespace])
          : database.first<Row>(sql.one, [thread, IndexKey.of(id), namespace])
      return consistently(
        "get",
        thread,
        Effect.flatMap(row, (found) =>
          found === undefined ? Effect.succeed(Option.none<Checkpointer.Saved>()) : saved(thread, found)
        )
      ).pipe(Effect.mapError(failing("get")))
    },
    list: (threadId, options) =>
      Effect.suspend(() => {
        const thread = IndexKey.of(threadId)
        return Effect.mapError(consistently("list", thread, listed(thread, options)), failing("list"))
      }),
    deleteThread: (threadId) => {
      const thread = IndexKey.of(threadId)
      return database
        .transaction(
          (tx) =>
            Effect.flatMap(tx.first(sql.lock, [thread]), (there) =>
              // What is not there cannot be locked: whoever begins it now has begun it afterwards.
              there === undefined
                ? Effect.void
                : Effect.forEach(sql.deletes, (text) => tx.run(text, [thread]), { discard: true })
            ),
          { durable: true }
        )
        .pipe(Effect.mapError(failing("deleteThread")))
    }
  }
}

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), over)

/**
 * Over the `SqlClient`, whose database has its tables already. What was put is there after a loss of power.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Checkpointer.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) where the database has not its tables.
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
 */
export const layerMigrated: Layer.Layer<Checkpointer.Checkpointer, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(Checkpointer.Checkpointer, build(true))
