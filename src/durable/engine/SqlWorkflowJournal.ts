/**
 * The journal of durable workflows on a database.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as BlobStore from "../../content/BlobStore.js"
import { count } from "../../internal/Count.js"
import type { Database } from "../../persistence/engine/Database.js"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import * as KeyText from "../../persistence/engine/KeyText.js"
import type * as Payloads from "../../persistence/engine/Payloads.js"
import * as RunBlobs from "../payload/RunBlobs.js"
import * as EngineStatements from "./EngineStatements.js"
import * as ResultText from "./ResultText.js"
import * as StorageFailure from "./StorageFailure.js"
import { longOf, packed, textOf } from "./StoredText.js"
import type { PageOptions, Result, Service } from "./WorkflowJournal.js"
import { WorkflowStorageError } from "./WorkflowStorageError.js"

type ActivityRow = {
  readonly name: string
  readonly long_name: string | null
  readonly attempt: number
  readonly at: number
  readonly bytes: number
}

type KeyRow = { readonly execution_id: string }

const { of } = StorageFailure

/** The blobs of executions, which go with them. Payloads are read one at a time: they may be large. */
const blobsOf = (database: Database, sql: EngineStatements.Statements, blobs: Option.Option<BlobStore.Service>) => ({
  /** Where those of executions are. An execution that cannot be read has none: it keeps nobody from removing others. */
  places: (keys: ReadonlyArray<string>, operation: string) =>
    Effect.gen(function* () {
      const places = new Map<string, RunBlobs.Place>()
      for (const key of keys) {
        const row = yield* database.first<Payloads.Kept>(sql.payload, [key])
        if (row === undefined) continue
        const payload = yield* Effect.catchAllDefect(ResultText.toEncoded(row), () => Effect.succeed(undefined))
        const place = RunBlobs.placeIn(KeyText.decode(key), payload)
        if (place !== undefined) places.set(key, place)
      }
      return places
    }).pipe(Effect.mapError(of(operation))),
  /** Succeeds with the executions whose blobs are in a store that is not here. */
  remove: (
    places: ReadonlyMap<string, RunBlobs.Place>,
    operation: string
  ): Effect.Effect<ReadonlySet<string>, WorkflowStorageError> =>
    Option.match(blobs, {
      onNone: () => Effect.succeed(new Set(places.keys())),
      onSome: (store) =>
        Effect.forEach(places.values(), (place) => store.removeScope(place), { discard: true }).pipe(
          Effect.mapBoth({ onFailure: StorageFailure.ofBlobs(operation), onSuccess: () => new Set<string>() })
        )
    })
})

const elsewhere = (operation: string, left: number): WorkflowStorageError =>
  new WorkflowStorageError({
    operation,
    reason: "other",
    message: `${left} executions have values in a BlobStore, and there is none here`,
    hint: "Provide the BlobStore of these runs to the engine, so that their blobs are removed with them"
  })

/** Orders before every activity: attempts begin at 1. */
const first = { name: "", attempt: -1 }

const mostEntries = 1_000

/**
 * @category constructors
 */
export const make = (
  database: Database,
  onErased: (key: string) => void,
  blobs: Option.Option<BlobStore.Service>
): Service => {
  const { dialect } = database
  const sql = EngineStatements.make(dialect)

  /** The executions that existed. */
  const removeIn = (keys: ReadonlyArray<string>) =>
    database.transaction((tx) =>
      Effect.gen(function* () {
        const [removed = 0] = yield* Effect.forEach(sql.remove, (statement) => tx.run(statement, [dialect.list(keys)]))
        return removed
      })
    )

  const ofBlobs = blobsOf(database, sql, blobs)
  const oldOf = (rows: ReadonlyArray<KeyRow>) => rows.map(({ execution_id }) => execution_id)

  const removeOld = (before: number, keys: ReadonlySet<string>) =>
    database.transaction((tx) =>
      Effect.gen(function* () {
        // Others may have removed some of them, and begun them again.
        const old = oldOf(yield* tx.rows<KeyRow>(sql.old, [before])).filter((key) => keys.has(key))
        if (old.length === 0) return 0
        for (const statement of sql.remove) yield* tx.run(statement, [dialect.list(old)])
        return old.length
      })
    )

  /** The blobs first: when the rows are gone, nobody knows of them. */
  const pruneOld = (before: number) =>
    Effect.gen(function* () {
      const keys = oldOf(yield* Effect.mapError(database.rows<KeyRow>(sql.old, [before]), of("prune")))
      const left = yield* ofBlobs.remove(yield* ofBlobs.places(keys, "prune"), "prune")
      if (left.size > 0) yield* StorageFailure.warn("Executions are not pruned", elsewhere("prune", left.size))
      return yield* Effect.mapError(removeOld(before, new Set(keys.filter((key) => !left.has(key)))), of("prune"))
    })

  const kept = (statement: string, params: ReadonlyArray<string>, operation: string) =>
    database
      .first<Payloads.Kept>(statement, params)
      .pipe(Effect.map(Option.fromNullable), Effect.mapError(StorageFailure.of(operation)))

  const keepIn = (key: string, { exit, name }: Result) =>
    Effect.gen(function* () {
      const { body, bytes, data } = yield* packed(yield* ResultText.ofExit(exit, "activity"))
      const nameKey = IndexKey.of(name)
      const now = yield* Clock.currentTimeMillis
      yield* database.run(sql.commitWith, [key, nameKey, longOf(name, nameKey), now, bytes, body, data])
    }).pipe(Effect.mapError(StorageFailure.of("activity")))

  return {
    result: (executionId, name) =>
      Effect.flatMap(
        kept(sql.result, [IndexKey.of(executionId), IndexKey.of(name)], "result"),
        Effect.transposeMapOption((row) => ResultText.toExit(row, "result"))
      ),
    keepWith: (executionId, results) =>
      Effect.forEach(results, (result) => keepIn(IndexKey.of(executionId), result), { discard: true }),
    payload: (executionId) =>
      Effect.flatMap(
        kept(sql.payload, [IndexKey.of(executionId)], "payload"),
        Effect.transposeMapOption(ResultText.toEncoded)
      ),
    activities: (executionId, options?: PageOptions | undefined) => {
      const { attempt, name } = options?.after ?? first
      const limit = Math.min(mostEntries, count(options?.limit, 100, 1))
      return database
        .rows<ActivityRow>(sql.activities, [IndexKey.of(executionId), IndexKey.of(name), attempt, limit])
        .pipe(
          Effect.map((rows) =>
            rows.map((row) => ({
              name: textOf(row.name, row.long_name),
              attempt: Number(row.attempt),
              at: Number(row.at),
              bytes: Number(row.bytes)
            }))
          ),
          Effect.mapError(StorageFailure.of("activities"))
        )
    },
    size: (executionId) => {
      const key = IndexKey.of(executionId)
      return database.first(sql.size, [key, key, key]).pipe(
        Effect.map((row) => Number(row?.bytes ?? 0)),
        Effect.mapError(StorageFailure.of("size"))
      )
    },
    prune: ({ olderThan }) =>
      Effect.gen(function* () {
        const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(olderThan)
        let removed = 0
        for (let more = true; more; ) {
          const batch = yield* pruneOld(before)
          removed += batch
          more = batch === EngineStatements.page
        }
        yield* Effect.mapError(database.run(sql.removeEarly, [before]), of("prune"))
        return removed
      }),
    erase: (executionIds) =>
      Effect.gen(function* () {
        const keys = Array.from(new Set(executionIds), IndexKey.of)
        let removed = 0
        for (let at = 0; at < keys.length; at += EngineStatements.page) {
          const batch = keys.slice(at, at + EngineStatements.page)
          const places = yield* ofBlobs.places(batch, "erase")
          const left = yield* ofBlobs.remove(places, "erase")
          if (left.size > 0) return yield* elsewhere("erase", left.size)
          removed += yield* Effect.mapError(removeIn(batch), of("erase"))
          batch.forEach(onErased)
          // A run that still went on may have put some.
          yield* ofBlobs.remove(places, "erase")
        }
        return removed
      })
  }
}

const upkeepEvery = Duration.hours(1)

/**
 * Removes what ended long ago, once an hour while the scope is open. Nothing for an infinite time.
 *
 * @category combinators
 */
export const keepPruned = (
  journal: Service,
  retain: Duration.DurationInput
): Effect.Effect<void, never, Scope.Scope> => {
  const olderThan = Duration.decode(retain)
  const pruned = Effect.delay(Effect.ignoreLogged(journal.prune({ olderThan })), upkeepEvery)
  return Duration.isFinite(olderThan)
    ? Effect.asVoid(Effect.forkScoped(Effect.interruptible(Effect.forever(pruned))))
    : Effect.void
}
