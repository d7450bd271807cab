/**
 * A `WorkflowEngine` of `@effect/workflow` on SQLite or Postgres. Workflows go on after the end of their process, in
 * the same or another one, and finished activities do not run again.
 *
 * Each process that runs workflows is a runner with a lease. An execution belongs to one runner at a time. Every write
 * of a run is conditional on that, so a process that was frozen beyond its lease changes nothing when it continues: its
 * runs stop. Runs of another process go on when that one has closed the engine, or after its lease.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as BlobStore from "../../content/BlobStore.js"
import type { Database } from "../../persistence/engine/Database.js"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import { PersistenceConfigurationError } from "../../persistence/engine/PersistenceError.js"
import * as MigrationRun from "../../persistence/schema/MigrationRun.js"
import type { MigrationFailure } from "../../persistence/schema/Migrations.js"
import * as RunBlobs from "../payload/RunBlobs.js"
import * as ActiveRuns from "./ActiveRuns.js"
import * as EncodedEngine from "./EncodedEngine.js"
import * as EngineStore from "./EngineStore.js"
import * as RunFence from "./RunFence.js"
import * as RunnerLease from "./RunnerLease.js"
import * as SqlWorkflowJournal from "./SqlWorkflowJournal.js"
import * as StorageFailure from "./StorageFailure.js"
import * as Waiters from "./Waiters.js"
import { WorkflowJournal } from "./WorkflowJournal.js"
import type { WorkflowStorageError } from "./WorkflowStorageError.js"
import * as WorkLoop from "./WorkLoop.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long a process keeps its executions without renewing its lease, which it does after a third of it. After a
   * crash, others go on after that time. At least 100 milliseconds. Clocks of machines that share a database must agree
   * well within it. Default: 10 seconds.
   */
  readonly lease?: Duration.DurationInput | undefined
  /**
   * How often the process looks for due clocks, wake-ups by other processes and executions without a runner. Wake-ups
   * of this process need no look. At least 1 millisecond. Default: 200 milliseconds.
   */
  readonly poll?: Duration.DurationInput | undefined
  /**
   * Whether the process runs workflows. A client, with `false`, starts, awaits, polls, interrupts and resumes
   * executions and completes deferreds, which a runner then acts on. Default: true.
   */
  readonly runner?: boolean | undefined
  /**
   * How long what an execution has recorded is kept after its end. A runner removes older ones once an hour. Default:
   * 90 days; infinity to keep all.
   */
  readonly retain?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  lease: Duration.seconds(10),
  poll: Duration.millis(200),
  runner: true,
  retain: Duration.days(90)
} as const

const leastLease = 100

const millis = (
  name: string,
  given: Duration.DurationInput,
  least: number
): Effect.Effect<number, PersistenceConfigurationError> => {
  const value = Duration.toMillis(given)
  return Number.isFinite(value) && value >= least
    ? Effect.succeed(value)
    : new PersistenceConfigurationError({
        message: `The ${name} of the workflow engine must be a time of at least ${least} ms`,
        hint: `Give \`${name}\` another value`
      })
}

type Services = WorkflowEngine.WorkflowEngine | WorkflowJournal

/** Writes of a run, while the run belongs to this process. */
const fenceOf = (store: EngineStore.EngineStore, runs: ActiveRuns.ActiveRuns): RunFence.Service => ({
  guard: <A, E, R>({ executionId }: WorkflowEngine.WorkflowInstance["Type"], write: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | SqlError, R> => {
      const run = runs.get(IndexKey.of(executionId))
      if (run === undefined || run.isStopped) return Effect.interrupt
      return Effect.flatMap(
        store.guarded(run.claimed, write),
        Option.match({
          onNone: () =>
            Effect.zipRight(
              Effect.sync(() => runs.stop(run)),
              Effect.interrupt
            ),
          onSome: Effect.succeed
        })
      )
    })
})

const assemble = (
  database: Database,
  options: {
    readonly lease: number
    readonly poll: number
    readonly runner: boolean
    readonly retain: Duration.DurationInput
  }
): Effect.Effect<Context.Context<Services | RunFence.RunFence>, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const store = EngineStore.make(database)
    const clock = yield* Effect.clock
    const waiters = Waiters.make()
    const entries = new Map<string, ActiveRuns.Entry>()
    const persist = StorageFailure.persistFor(options.lease)
    const giveUp: EncodedEngine.Parts["giveUp"] = (run, error) =>
      // The stop interrupts the fiber that this runs in.
      Effect.uninterruptible(
        Effect.suspend(() => {
          runs.stop(run)
          return Effect.zipRight(
            loop.release(run.claimed),
            StorageFailure.warn("A workflow pauses: its database failed", StorageFailure.of("run")(error))
          )
        })
      )
    const runs: ActiveRuns.ActiveRuns = ActiveRuns.make({
      store,
      engine: () => engine,
      persist,
      giveUp,
      changed: waiters.signal,
      woken: (key) => loop.woken(key)
    })
    yield* Effect.addFinalizer(() => Effect.sync(waiters.close))
    const lease = options.runner ? yield* leaseOf(store, options.lease, runs) : undefined
    const loop: WorkLoop.WorkLoop = WorkLoop.make({
      store,
      lease,
      runs,
      waiters,
      entries,
      poll: options.poll,
      leaseMillis: options.lease
    })
    const engine = WorkflowEngine.makeUnsafe(
      EncodedEngine.make({ store, clock, runs, waiters, loop, lease, entries, persist, giveUp })
    )
    yield* Effect.forkScoped(Effect.interruptible(loop.run))
    const blobs = yield* Effect.serviceOption(BlobStore.BlobStore)
    const journal = SqlWorkflowJournal.make(database, waiters.signal, blobs)
    if (options.runner) yield* SqlWorkflowJournal.keepPruned(journal, options.retain)
    return Context.make(WorkflowEngine.WorkflowEngine, engine).pipe(
      Context.add(WorkflowJournal, journal),
      Context.add(RunFence.RunFence, fenceOf(store, runs)),
      RunBlobs.add(blobs)
    )
  })

/** Ends the runs while the lease is still renewed, then gives it back. */
const leaseOf = (store: EngineStore.EngineStore, lease: number, runs: ActiveRuns.ActiveRuns) =>
  Effect.gen(function* () {
    yield* Effect.addFinalizer(() => Effect.suspend(() => Effect.ignoreLogged(store.leave(held.id()))))
    const held: RunnerLease.RunnerLease = yield* RunnerLease.make(
      store,
      lease,
      Effect.sync(() => runs.stopWhere((run) => run.claimed.runnerId !== held.id()))
    )
    yield* Effect.addFinalizer(() => runs.endWhere(() => true))
    return held
  })

const build = (
  migrate: boolean,
  options: Options | undefined
): Effect.Effect<
  Context.Context<Services>,
  MigrationFailure | WorkflowStorageError,
  SqlClient.SqlClient | Scope.Scope
> =>
  Effect.gen(function* () {
    const lease = yield* millis("lease", options?.lease ?? defaults.lease, leastLease)
    const poll = yield* millis("poll", options?.poll ?? defaults.poll, 1)
    const runner = options?.runner ?? defaults.runner
    const retain = options?.retain ?? defaults.retain
    const database = yield* MigrationRun.open({ migrate })
    return yield* Effect.mapError(assemble(database, { lease, poll, runner, retain }), StorageFailure.of("open"))
  })

/**
 * Requires a database with the tables of this version. Building fails with `MigrationError` (`absent`) if it lacks
 * them, `PersistenceConfigurationError` for an option out of bounds, `WorkflowStorageError` if the runner cannot be
 * entered.
 *
 * Operations of the engine die with `WorkflowStorageError` if the database fails. A run whose database is away for
 * longer than the lease pauses without a result, and goes on when it is back.
 *
 * Starting an execution joins a transaction of the caller on the same client. Await its result after that transaction:
 * it does not begin before the commit.
 *
 * When the scope ends, runs are interrupted without recording anything and left to other processes at once.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<Services, MigrationFailure | WorkflowStorageError, SqlClient.SqlClient> =>
  Layer.scopedContext(build(false, options))

/**
 * Migrates the database first.
 *
 * @example
 * ```ts
 * import { SqlWorkflowEngine } from "effect-lexigram/durable"
 * import { SqliteClient } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * const engine = SqlWorkflowEngine.layerMigrated({ lease: "5 seconds", retain: "30 days" }).pipe(
 *   Layer.provide(SqliteClient.layer({ file: "workflows.db" }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<Services, MigrationFailure | WorkflowStorageError, SqlClient.SqlClient> =>
  Layer.scopedContext(build(true, options))
