/**
 * Consolidates the memory of all owners at a fixed interval or on demand.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Recurrence from "../../internal/fiber/Recurrence.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { MemoryError, MemoryStoreFailure } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import * as MemoryStore from "../search/MemoryStore.js"
import { ConsolidationScheduler, type Report, type Service, type Status } from "./ConsolidationScheduler.js"
import * as LastConsolidation from "./LastConsolidation.js"
import * as MemoryConsolidator from "./MemoryConsolidator.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Time between the beginnings of two runs. Default 1 hour, at least a second. */
  readonly interval?: Duration.DurationInput | undefined
  /**
   * The fraction of the interval by which a run may be early or late, so that many processes do not run at once.
   * Default 0.1.
   */
  readonly jitter?: number | undefined
  /** The owners to consolidate. Default all. */
  readonly owners?: ReadonlyArray<string> | ((ownerId: string) => boolean) | undefined
  /** Runs at once, regardless of the last run. Default false. */
  readonly runOnStart?: boolean | undefined
  /** Retries an owner that failed. Default none. */
  readonly retry?: Schedule.Schedule<unknown, MemoryError> | undefined
}

const add = (
  a: MemoryConsolidator.ConsolidationResult,
  b: MemoryConsolidator.ConsolidationResult
): MemoryConsolidator.ConsolidationResult => ({
  entriesProcessed: a.entriesProcessed + b.entriesProcessed,
  entriesConsolidated: a.entriesConsolidated + b.entriesConsolidated,
  entriesPruned: a.entriesPruned + b.entriesPruned,
  entitiesExtracted: a.entitiesExtracted + b.entitiesExtracted,
  summariesStored: a.summariesStored + b.summariesStored,
  durationMs: a.durationMs + b.durationMs,
  dryRun: false
})

const warn = (message: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "ConsolidationScheduler" })

/**
 * The tag and message of a failure. Only the word `defect` for a defect, which may reveal private data.
 */
const reasonOf = (cause: Cause.Cause<{ readonly _tag: string; readonly message: string }>): string =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => (Cause.isInterruptedOnly(cause) ? "interrupted" : "defect"),
    onSome: (error) => `${error._tag}: ${SecretText.excerpt(error.message, { maxLength: 200 })}`
  })

const chosen = (store: MemoryStore.Service, owners: Options["owners"]): Stream.Stream<string, MemoryStoreFailure> => {
  // Reserved spaces, such as that of procedures, are not memories: similar entries are not duplicates there.
  const all = Stream.filter(store.owners, (ownerId) => !OwnerNamespace.isReserved(ownerId))
  if (owners === undefined) return all
  return typeof owners === "function" ? Stream.filter(all, owners) : Stream.fromIterable(new Set(owners))
}

interface Runner extends Service {
  readonly plan: (at: number) => Effect.Effect<void>
  readonly lastRun: Option.Option<number>
}

const makeRunner = (
  options: Options | undefined
): Effect.Effect<
  Runner,
  never,
  MemoryStore.MemoryStore | MemoryConsolidator.MemoryConsolidator | LastConsolidation.LastConsolidation
> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const consolidator = yield* MemoryConsolidator.MemoryConsolidator
    const mark = yield* LastConsolidation.LastConsolidation
    const oneAtATime = Permits.make(1)
    const lastRun = yield* Effect.catchAll(mark.get, (error) =>
      Effect.as(warn(`The time of the last consolidation could not be read: ${error.message}`), Option.none<number>())
    )
    let status: Status = { running: false, lastRun, lastReport: Option.none(), nextRunAt: Option.none() }

    const one = (ownerId: string, report: Report): Effect.Effect<Report> => {
      const run = consolidator.consolidate({ ownerId })
      return Effect.matchCauseEffect(options?.retry === undefined ? run : Effect.retry(run, options.retry), {
        onSuccess: (result) =>
          Effect.succeed({ ...report, owners: report.owners + 1, result: add(report.result, result) }),
        // An interruption of the owner's run only. If this fiber is interrupted, the handler does not run.
        onFailure: (cause) =>
          Effect.as(
            Effect.annotateLogs(warn(`The memory of an owner could not be consolidated: ${reasonOf(cause)}`), {
              owner: SecretText.excerpt(ownerId, { maxLength: 64 })
            }),
            { ...report, failed: report.failed + 1 }
          )
      })
    }

    const everybody = Effect.gen(function* () {
      const startedAt = yield* Clock.currentTimeMillis
      const report = yield* Stream.runFoldEffect(
        chosen(store, options?.owners),
        { result: MemoryConsolidator.emptyResult, owners: 0, failed: 0, startedAt },
        (report: Report, ownerId) => one(ownerId, report)
      )
      status = { ...status, lastRun: Option.some(startedAt), lastReport: Option.some(report) }
      yield* Effect.catchAll(mark.set(startedAt), (error) =>
        warn(`The time of the last consolidation could not be stored: ${error.message}`)
      )
      return report
    })

    const running = (running: boolean) =>
      Effect.sync(() => {
        status = { ...status, running }
      })
    return {
      lastRun,
      plan: (at) =>
        Effect.sync(() => {
          status = { ...status, nextRunAt: Number.isFinite(at) ? Option.some(at) : Option.none() }
        }),
      status: Effect.sync(() => status),
      runOnce: oneAtATime(
        Effect.acquireUseRelease(
          running(true),
          () => everybody,
          () => running(false)
        )
      )
    }
  })

/** Runs forever, from one run to the next. */
const clockwork = Effect.fnUntraced(function* (runner: Runner, options: Options | undefined) {
  const interval = Math.max(1000, Duration.toMillis(options?.interval ?? "1 hour"))
  const jitter = Math.min(1, Math.max(0, options?.jitter ?? 0.1))
  const begun = yield* Clock.currentTimeMillis
  // Missed runs are made up for once. A last run in the future comes from a wrong clock.
  const last = Math.min(
    begun,
    Option.getOrElse(runner.lastRun, () => begun)
  )
  let due = options?.runOnStart === true ? begun : last + (yield* Recurrence.jittered(interval, jitter))
  while (true) {
    yield* runner.plan(due)
    yield* Recurrence.sleepUntil(due)
    const startedAt = yield* Clock.currentTimeMillis
    due = startedAt + (yield* Recurrence.jittered(interval, jitter))
    yield* runner.plan(due)
    yield* Effect.catchAllCause(runner.runOnce, (cause) => warn(`Memory could not be consolidated: ${reasonOf(cause)}`))
  }
})

/**
 * Runs while the layer exists. Closing it interrupts a consolidation in progress, which then stores nothing of its
 * current step. The first run is due one interval after the last known run (immediately if that time has passed),
 * otherwise one interval after the layer was built. One run makes up for all that were missed.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import {
 *   DefaultConsolidationScheduler,
 *   DefaultMemoryConsolidator,
 *   InMemoryMemoryStore,
 *   LastConsolidation,
 *   SemanticMemory
 * } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * const scheduler = DefaultConsolidationScheduler.layer({ interval: "6 hours", jitter: 0.2 }).pipe(
 *   Layer.provide(DefaultMemoryConsolidator.layer({ facts: "none" })),
 *   Layer.provide([InMemoryMemoryStore.layer(), SemanticMemory.layerNoop, LastConsolidation.layerMemory])
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<
  ConsolidationScheduler,
  never,
  MemoryStore.MemoryStore | MemoryConsolidator.MemoryConsolidator | LastConsolidation.LastConsolidation
> =>
  Layer.scoped(
    ConsolidationScheduler,
    Effect.gen(function* () {
      const runner = yield* makeRunner(options)
      yield* Effect.forkScoped(clockwork(runner, options))
      return { runOnce: runner.runOnce, status: runner.status }
    })
  )

/**
 * Runs only on demand.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerManual = (
  options?: Pick<Options, "owners" | "retry"> | undefined
): Layer.Layer<
  ConsolidationScheduler,
  never,
  MemoryStore.MemoryStore | MemoryConsolidator.MemoryConsolidator | LastConsolidation.LastConsolidation
> =>
  Layer.effect(
    ConsolidationScheduler,
    Effect.map(makeRunner(options), ({ runOnce, status }) => ({ runOnce, status }))
  )
