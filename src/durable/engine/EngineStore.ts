/**
 * What the workflow engine reads and writes. Keys are encoded ids and names. Writes of results wait for the disk
 * (`synchronous` full); those of leases and owners do not.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Access, Database } from "../../persistence/engine/Database.js"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import type * as Payloads from "../../persistence/engine/Payloads.js"
import * as SqlFailure from "../../persistence/engine/SqlFailure.js"
import { Synchronous } from "../../persistence/engine/Synchronous.js"
import type { Hook } from "./BeforeCommit.js"
import * as EngineStatements from "./EngineStatements.js"
import { longOf, packed, textOf } from "./StoredText.js"

/**
 * What an execution is of: the condition of its owner's writes.
 *
 * @category models
 */
export interface Owner {
  readonly key: string
  readonly runnerId: string
}

/**
 * An execution that a runner has taken. `parent` is a key.
 *
 * @category models
 */
export interface Claimed extends Owner {
  readonly executionId: string
  readonly workflow: string
  readonly parent: string | undefined
  readonly wake: number
  readonly interrupted: number
  readonly payload: Payloads.Kept
}

/**
 * `status`: 0 runs or is ready to, 1 is suspended, 2 has ended, 3 failed without a result.
 *
 * @category models
 */
export interface State {
  readonly status: 0 | 1 | 2 | 3
  readonly runnerId: string | undefined
  readonly wake: number
  readonly interrupted: number
  readonly result: Payloads.Kept
}

/**
 * Which kinds of work there are.
 *
 * @category models
 */
export interface Look {
  readonly due: boolean
  readonly expired: boolean
  readonly ready: boolean
  readonly interrupted: boolean
}

/**
 * The effect of a `BeforeCommit` failed.
 *
 * @category errors
 */
export class HookFailure extends Data.TaggedError("HookFailure")<{ readonly failure: Cause.Cause<unknown> }> {}

const durable: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.provideService(
  Synchronous,
  "full"
)

type KeyRow = { readonly execution_id: string }
type StateRow = Payloads.Kept & {
  readonly status: number
  readonly runner_id: string | null
  readonly wake: number
  readonly interrupted: number
}
type ClaimRow = Payloads.Kept & {
  readonly execution_id: string
  readonly long_id: string | null
  readonly workflow: string
  readonly parent_id: string | null
  readonly wake: number
  readonly interrupted: number
}
type FindRow = Payloads.Kept & { readonly runner_id: string | null; readonly attempt: number | null }

/**
 * @category models
 */
export type EngineStore = ReturnType<typeof make>

const isConflict = (error: SqlError | HookFailure): boolean =>
  error._tag === "SqlError" && SqlFailure.describe(error).isConflict

type Guards = ReturnType<typeof guards>

/** Steps within transactions. */
const guards = ({ dialect }: Database, sql: EngineStatements.Statements) => ({
  /** Orders transactions of one execution, also before it exists. */
  locked: (tx: Access, key: string): Effect.Effect<unknown, SqlError> =>
    dialect.lock === undefined ? Effect.void : tx.rows(dialect.lock, [`lex_workflow ${key}`]),
  /** Whether the owner still is one; without an owner, yes. The row stays its own until the end of the transaction. */
  isOwned: (tx: Access, owner: Owner | undefined): Effect.Effect<boolean, SqlError> =>
    owner === undefined
      ? Effect.succeed(true)
      : Effect.map(tx.first(sql.owner, [owner.key, owner.runnerId]), (row) => row !== undefined),
  wakeIn: (tx: Access, key: string, now: number) => tx.run(sql.wake, [now, key])
})

const executions = (database: Database, sql: EngineStatements.Statements, { isOwned, locked, wakeIn }: Guards) => {
  const { dialect } = database
  return {
    /** Nothing if it exists, or if the parent belongs to another runner. The lock orders it with `settle`. */
    insert: Effect.fnUntraced(function* (execution: {
      readonly executionId: string
      readonly workflow: string
      readonly payload: string
      readonly parent: Owner | undefined
    }) {
      const { executionId, parent } = execution
      const key = IndexKey.of(executionId)
      const { body, bytes, data } = yield* packed(execution.payload)
      const now = yield* Clock.currentTimeMillis
      const workflow = IndexKey.of(execution.workflow)
      const params = [key, longOf(executionId, key), workflow, parent?.key ?? null, now, now, bytes, body, data]
      if (dialect.lock === undefined && parent === undefined) {
        yield* durable(database.run(sql.insert, params))
        return
      }
      yield* database.transaction(
        (tx) =>
          Effect.flatMap(Effect.zipRight(locked(tx, key), isOwned(tx, parent)), (owned) =>
            owned ? tx.run(sql.insert, params) : Effect.void
          ),
        { durable: true }
      )
    }),
    state: (key: string): Effect.Effect<State | undefined, SqlError> =>
      Effect.map(database.first<StateRow>(sql.state, [key]), (row) =>
        row === undefined
          ? undefined
          : {
              status: Number(row.status) as State["status"],
              runnerId: row.runner_id ?? undefined,
              wake: Number(row.wake),
              interrupted: Number(row.interrupted),
              result: row
            }
      ),
    wake: (key: string): Effect.Effect<number, SqlError> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => durable(wakeIn(database, key, now))),
    interrupt: (key: string): Effect.Effect<number, SqlError> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => durable(database.run(sql.interrupt, [now, key]))),
    ended: (keys: ReadonlyArray<string>) => keysOf(database.rows(sql.ended, [dialect.list(keys)])),
    paused: (keys: ReadonlyArray<string>) => keysOf(database.rows(sql.paused, [dialect.list(keys)]))
  }
}

const endings = (database: Database, sql: EngineStatements.Statements, { wakeIn }: Guards) => {
  return {
    /** False if it was woken since `wake`, or belongs to another runner. */
    suspend: (owner: Owner, wake: number, status: 1 | 3, result: string | undefined) =>
      Effect.flatMap(result === undefined ? Effect.succeed(undefined) : packed(result), (kept) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(
            durable(
              database.run(sql.suspend, [
                status,
                kept?.body ?? null,
                kept?.data ?? null,
                now,
                owner.key,
                owner.runnerId,
                wake
              ])
            ),
            (changed) => changed > 0
          )
        )
      ),
    /** False if it belongs to another runner. Wakes its parent. */
    complete: Effect.fnUntraced(function* (owner: Owner, parent: string | undefined, result: string) {
      const { body, bytes, data } = yield* packed(result)
      const now = yield* Clock.currentTimeMillis
      const params = [body, data, bytes, now, now, owner.key, owner.runnerId]
      if (parent === undefined) return (yield* durable(database.run(sql.complete, params))) > 0
      return yield* database.transaction(
        (tx) =>
          Effect.flatMap(tx.run(sql.complete, params), (changed) =>
            changed > 0 ? Effect.as(wakeIn(tx, parent, now), true) : Effect.succeed(false)
          ),
        { durable: true }
      )
    }),
    release: ({ key, runnerId }: Owner) => database.run(sql.release, [key, runnerId])
  }
}

const keysOf = (
  rows: Effect.Effect<ReadonlyArray<unknown>, SqlError>
): Effect.Effect<ReadonlyArray<string>, SqlError> =>
  Effect.map(rows, (found) => (found as ReadonlyArray<KeyRow>).map(({ execution_id }) => execution_id))

/** How `recorded` names an attempt at an activity. */
export const recordOf = (name: string, attempt: number): string => `${attempt}/${IndexKey.of(name)}`

const activities = (database: Database, sql: EngineStatements.Statements) => ({
  /** The attempts at activities that have ended. */
  recorded: (key: string, access: Access = database): Effect.Effect<Set<string>, SqlError> =>
    Effect.map(
      access.rows<{ readonly name: string; readonly attempt: number }>(sql.recorded, [key]),
      (rows) => new Set(rows.map(({ attempt, name }) => `${attempt}/${name}`))
    ),
  /** Whether the owner still is one, and the stored result if there is one. */
  find: ({ key, runnerId }: Owner, name: string, attempt: number) =>
    Effect.map(database.first<FindRow>(sql.find, [IndexKey.of(name), attempt, key]), (row) => ({
      isOwned: row?.runner_id === runnerId,
      stored: row === undefined || row.attempt === null ? undefined : (row satisfies Payloads.Kept)
    })),
  /** Whether the result was stored. It is not if there is one, or if the execution belongs to another runner. */
  commit: Effect.fnUntraced(function* (
    { key, runnerId }: Owner,
    activity: { readonly name: string; readonly attempt: number; readonly result: string },
    hook: Hook | undefined
  ) {
    const { attempt, name, result } = activity
    const { body, bytes, data } = yield* packed(result)
    const nameKey = IndexKey.of(name)
    const now = yield* Clock.currentTimeMillis
    const params = [nameKey, attempt, longOf(name, nameKey), now, bytes, body, data, key, runnerId]
    const insert = Effect.map(database.run(sql.commit, params), (added) => added > 0)
    const before = hook?.()
    if (before === undefined) return yield* durable(insert)
    const guarded = Effect.catchAllCause(before, (failure) => new HookFailure({ failure }))
    const both = database.client.withTransaction(
      Effect.flatMap(insert, (added) => (added ? Effect.as(guarded, true) : Effect.succeed(false)))
    )
    return yield* Effect.retry(durable(both), { times: 7, while: isConflict })
  })
})

const deferreds = (database: Database, sql: EngineStatements.Statements, { isOwned, locked, wakeIn }: Guards) => {
  const settleIn = (
    tx: Access,
    deferred: { readonly key: string; readonly name: string },
    kept: Effect.Effect.Success<ReturnType<typeof packed>>,
    now: number
  ) =>
    Effect.flatMap(
      tx.run(sql.settle, [
        deferred.key,
        deferred.name,
        deferred.key,
        now,
        kept.bytes,
        kept.body,
        kept.data,
        deferred.key
      ]),
      (added) => (added > 0 ? wakeIn(tx, deferred.key, now) : Effect.void)
    )
  return {
    deferred: (key: string, name: string) => database.first<Payloads.Kept>(sql.deferred, [key, IndexKey.of(name)]),
    /** Stores the first result of a deferred and wakes its execution. Nothing if `by` belongs to another runner. */
    settle: Effect.fnUntraced(function* (
      deferred: { readonly executionId: string; readonly name: string; readonly result: string },
      by: Owner | undefined
    ) {
      const kept = yield* packed(deferred.result)
      const now = yield* Clock.currentTimeMillis
      const key = IndexKey.of(deferred.executionId)
      const place = { key, name: IndexKey.of(deferred.name) }
      yield* database.transaction(
        (tx) =>
          Effect.flatMap(Effect.zipRight(locked(tx, key), isOwned(tx, by)), (owned) =>
            owned ? settleIn(tx, place, kept, now) : Effect.void
          ),
        { durable: true }
      )
    }),
    /** Nothing if its clock is there or has rung. `name` is that of the deferred. */
    schedule: Effect.fnUntraced(function* (
      clock: { readonly executionId: string; readonly name: string; readonly dueAt: number },
      by: Owner | undefined
    ) {
      const key = IndexKey.of(clock.executionId)
      const name = IndexKey.of(clock.name)
      yield* database.transaction(
        (tx) =>
          Effect.flatMap(isOwned(tx, by), (owned) =>
            owned ? tx.run(sql.schedule, [key, name, clock.dueAt, key, name]) : Effect.void
          ),
        { durable: true }
      )
    }),
    due: (now: number) => database.rows<{ readonly execution_id: string; readonly name: string }>(sql.due, [now]),
    /** Replaces a clock by the result of its deferred, and wakes its execution. */
    ring: Effect.fnUntraced(function* (place: { readonly key: string; readonly name: string }, result: string) {
      const kept = yield* packed(result)
      const now = yield* Clock.currentTimeMillis
      yield* database.transaction(
        (tx) =>
          Effect.flatMap(Effect.zipRight(locked(tx, place.key), tx.run(sql.ring, [place.key, place.name])), (rung) =>
            rung > 0 ? settleIn(tx, place, kept, now) : Effect.void
          ),
        { durable: true }
      )
    })
  }
}

const runners = (database: Database, sql: EngineStatements.Statements) => {
  const { dialect } = database
  return {
    /** False if the id is taken. */
    enter: (id: string, expiresAt: number) =>
      Effect.map(database.run(sql.enter, [id, expiresAt]), (added) => added > 0),
    /** False if the runner was removed because its lease had run out. */
    renew: (id: string, expiresAt: number) =>
      Effect.map(database.run(sql.renew, [expiresAt, id]), (changed) => changed > 0),
    /** Leaves its executions to others. */
    leave: (id: string) =>
      database.transaction((tx) => Effect.zipRight(tx.run(sql.releaseAll, [id]), tx.run(sql.leave, [id]))),
    /** Removes other runners whose lease has run out. Succeeds with their number. */
    expire: (id: string, now: number) => database.run(sql.expire, [now, id]),
    /** Leaves executions to others whose runner is gone. */
    abandon: database.run(sql.abandoned),
    look: (id: string, workflows: ReadonlyArray<string>, now: number): Effect.Effect<Look, SqlError> =>
      Effect.map(database.first(sql.look, [now, now, id, dialect.list(workflows), id]), (row) => ({
        due: Boolean(row?.due),
        expired: Boolean(row?.expired),
        ready: Boolean(row?.ready),
        interrupted: Boolean(row?.interrupted)
      })),
    ready: (workflows: ReadonlyArray<string>) => keysOf(database.rows(sql.ready, [dialect.list(workflows)])),
    interrupted: (id: string) => keysOf(database.rows(sql.interrupted, [id])),
    /** `undefined` if it is not ready, belongs to a runner, or is of another workflow. */
    claim: Effect.fnUntraced(function* (key: string, runnerId: string, workflows: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      const row = yield* database.first<ClaimRow>(sql.claim, [runnerId, now, key, dialect.list(workflows)])
      if (row === undefined) return undefined
      const claimed: Claimed = {
        key,
        runnerId,
        executionId: textOf(key, row.long_id),
        workflow: row.workflow,
        parent: row.parent_id ?? undefined,
        wake: Number(row.wake),
        interrupted: Number(row.interrupted),
        payload: row
      }
      return claimed
    })
  }
}

const writes = (database: Database, { isOwned }: Guards) => ({
  /** Runs a write in a transaction in which the execution stays its owner's. `None` if it belongs to another runner. */
  guarded: <A, E, R>(owner: Owner, write: Effect.Effect<A, E, R>): Effect.Effect<Option.Option<A>, E | SqlError, R> =>
    database.client.withTransaction(
      Effect.flatMap(isOwned(database, owner), (owned) => (owned ? Effect.asSome(write) : Effect.succeedNone))
    )
})

/**
 * @category constructors
 */
export const make = (database: Database, bound?: number) => {
  const sql = EngineStatements.make(database.dialect, bound)
  const within = guards(database, sql)
  return {
    ...executions(database, sql, within),
    ...endings(database, sql, within),
    ...activities(database, sql),
    ...deferreds(database, sql, within),
    ...writes(database, within),
    ...runners(database, sql)
  }
}
