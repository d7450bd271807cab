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
import { count } from "../../internal/Count.js"
import type { Database } from "../../persistence/engine/Database.js"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import type * as Payloads from "../../persistence/engine/Payloads.js"
import * as EngineStatements from "./EngineStatements.js"
import * as EngineStore from "./EngineStore.js"
import * as ResultText from "./ResultText.js"
import * as StorageFailure from "./StorageFailure.js"
import type { PageOptions, Result, Service } from "./WorkflowJournal.js"

type ActivityRow = {
  readonly name: string
  readonly long_name: string | null
  readonly attempt: number
  readonly at: number
  readonly bytes: number
}

/** Orders before every activity: attempts begin at 1. */
const first = { name: "", attempt: -1 }

const mostEntries = 1_000

/**
 * @category constructors
 */
export const make = (database: Database, onErased: (key: string) => void): Service => {
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

  const removeOld = (before: number) =>
    database.transaction((tx) =>
      Effect.gen(function* () {
        const old = yield* tx.rows<{ readonly execution_id: string }>(sql.old, [before])
        if (old.length === 0) return 0
        const keys = dialect.list(old.map(({ execution_id }) => execution_id))
        for (const statement of sql.remove) yield* tx.run(statement, [keys])
        return old.length
      })
    )

  const kept = (statement: string, params: ReadonlyArray<string>, operation: string) =>
    database
      .first<Payloads.Kept>(statement, params)
      .pipe(Effect.map(Option.fromNullable), Effect.mapError(StorageFailure.of(operation)))

  const keepIn = (key: string, { exit, name }: Result) =>
    Effect.gen(function* () {
      const { body, bytes, data } = yield* EngineStore.packed(yield* ResultText.ofExit(exit, "activity"))
      const nameKey = IndexKey.of(name)
      const now = yield* Clock.currentTimeMillis
      yield* database.run(sql.commitWith, [key, nameKey, EngineStore.longOf(name, nameKey), now, bytes, body, data])
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
              name: EngineStore.textOf(row.name, row.long_name),
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
          const batch = yield* removeOld(before)
          removed += batch
          more = batch === EngineStatements.page
        }
        yield* database.run(sql.removeEarly, [before])
        return removed
      }).pipe(Effect.mapError(StorageFailure.of("prune"))),
    erase: (executionIds) =>
      Effect.gen(function* () {
        const keys = Array.from(new Set(executionIds), IndexKey.of)
        let removed = 0
        for (let at = 0; at < keys.length; at += EngineStatements.page) {
          const batch = keys.slice(at, at + EngineStatements.page)
          removed += yield* removeIn(batch)
          batch.forEach(onErased)
        }
        return removed
      }).pipe(Effect.mapError(StorageFailure.of("erase")))
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
