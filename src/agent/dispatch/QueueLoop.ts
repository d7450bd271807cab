/**
 * Claims queued runs, starts them, and removes them from the queue when they have ended.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type { QueuedRun } from "../record/QueuedRun.js"
import type * as QueueStore from "../record/QueueStore.js"
import type { RunError } from "../record/RunError.js"
import { isEnded, OPEN } from "../record/RunRecord.js"
import type * as RunStore from "../record/RunStore.js"
import type { Service as RunsService } from "../runs/Runs.js"

/**
 * @category models
 */
export interface Options {
  readonly worker: string
  readonly agents: ReadonlyArray<string>
  readonly concurrency: number
  readonly perOwner: number
  readonly perAgent: number
  /** Milliseconds. */
  readonly lease: number
  /** Milliseconds. */
  readonly poll: number
}

const warn = (what: string) => (error: { readonly message: string }) =>
  Effect.annotateLogs(Effect.logWarning(`${what}: ${error.message}`), { module: "RunQueue" })

/** Acts as the owner of a run. */
const asOwner = ({ system }: QueuedRun) => (system === true ? SystemAccess.grant : SystemAccess.drop)

const lost = {
  tag: "RunLost",
  message: "The process of the run ended, and these runs do not survive their process",
  hint: "Start the run again, or queue runs of a durable layer of Runs"
}

/**
 * What one process does for the queue.
 *
 * @category models
 */
export class QueueLoop {
  /** The claims of this process, and the fibers that wait for their ends. */
  private readonly own = new Map<string, Fiber.RuntimeFiber<unknown, unknown>>()

  constructor(
    private readonly options: Options,
    private readonly queue: QueueStore.Service,
    private readonly runs: RunsService,
    private readonly records: RunStore.Service,
    private readonly scope: Scope.Scope,
    /** Lets `run` look at once. */
    private readonly wake: Effect.Effect<unknown>
  ) {}

  /** The lease that begins now. */
  readonly lease: Effect.Effect<QueueStore.Worker> = Effect.suspend(() =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      worker: this.options.worker,
      leaseUntil: now + this.options.lease
    }))
  )

  private end(run: QueuedRun, to: "interrupted" | "failed", error?: typeof lost): Effect.Effect<unknown, RunError> {
    return Effect.flatMap(Clock.currentTimeMillis, (at) =>
      this.records.update(run.runId, { from: OPEN, to, at, ...(error === undefined ? {} : { error }) })
    )
  }

  /** Starts a run, and waits for its end. Fails if that must be tried again. */
  private startAndAwait(run: QueuedRun): Effect.Effect<void, RunError> {
    const { userId } = run
    return Effect.gen(this, function* () {
      const started = yield* Effect.either(this.runs.start(run.request))
      if (started._tag === "Left") {
        if (started.left.reason === "conflict") return
        if (started.left.reason !== "invalid") return yield* started.left
        const { hint, message } = started.left
        yield* this.end(run, "failed", { tag: "RunError", message, hint: hint ?? "" })
        return
      }
      const ended = yield* Effect.either(this.runs.await(run.runId, { userId }))
      if (ended._tag === "Right" || ended.left._tag === "RunFailedError") return
      const found = yield* this.runs.poll(run.runId, { userId })
      if (Option.isSome(found) && !isEnded(found.value.record.state)) return yield* ended.left
    }).pipe(asOwner(run))
  }

  /** Brings a claimed run to its end. `isTakenOver`: another process may have begun it. */
  private serve(run: QueuedRun, isTakenOver: boolean): Effect.Effect<void, RunError> {
    return Effect.gen(this, function* () {
      if (run.cancelled === true) {
        yield* this.end(run, "interrupted")
        return
      }
      if (isTakenOver && !this.runs.capabilities.resume) {
        const found = yield* SystemAccess.grant(this.records.get(run.runId))
        if (Option.isSome(found)) {
          yield* this.end(run, "failed", lost)
          return
        }
      }
      yield* this.startAndAwait(run)
    }).pipe(Effect.zipRight(this.queue.remove(run.runId)))
  }

  /** Serves a claimed run in a fiber, until it has ended. */
  readonly launch = (run: QueuedRun, isTakenOver: boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.own.has(run.runId)) return Effect.void
      const what = `the queued run ${JSON.stringify(run.runId)} could not be started`
      const served = this.serve(run, isTakenOver).pipe(
        Effect.tapError(warn(what)),
        Effect.retry(Schedule.spaced(this.options.poll)),
        Effect.ensuring(Effect.sync(() => this.own.delete(run.runId))),
        Effect.ensuring(this.wake)
      )
      return Effect.map(Effect.forkIn(Effect.interruptible(served), this.scope), (fiber) => {
        if (fiber.unsafePoll() === null) this.own.set(run.runId, fiber)
      })
    })

  private readonly look: Effect.Effect<void, RunError> = Effect.suspend(() =>
    Effect.gen(this, function* () {
      const { agents, concurrency, perAgent, perOwner } = this.options
      const now = yield* Clock.currentTimeMillis
      const lease = yield* this.lease
      for (const run of yield* this.queue.takeOver({ ...lease, now, agents })) yield* this.launch(run, true)
      for (;;) {
        const claimed = yield* this.queue.claim({ ...lease, now, agents, concurrency, perOwner, perAgent })
        for (const run of claimed) yield* this.launch(run, false)
        if (claimed.length === 0) return
      }
    })
  )

  /** Claims and starts runs until it is interrupted. */
  readonly run = (changed: Effect.Effect<unknown>): Effect.Effect<never> =>
    this.look.pipe(
      Effect.uninterruptible,
      Effect.catchAll(warn("the queue could not be read")),
      Effect.zipRight(Effect.raceFirst(Effect.sleep(this.options.poll), changed)),
      Effect.forever
    )

  /** Renews the lease until it is interrupted. A claim that another process has taken is its own no longer. */
  readonly renew: Effect.Effect<never> = Effect.suspend(() =>
    Effect.flatMap(this.lease, (lease) => this.queue.renew(lease)).pipe(
      Effect.flatMap((kept) => {
        const gone = Array.from(this.own).filter(([runId]) => !kept.includes(runId))
        return Effect.forEach(gone, ([runId, fiber]) => this.leave(runId, fiber), { discard: true })
      }),
      Effect.catchAll(warn("the lease of the queue could not be renewed")),
      Effect.delay(Math.max(1, Math.floor(this.options.lease / 3))),
      Effect.forever
    )
  )

  private leave(runId: string, fiber: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<void, RunError> {
    return Effect.gen(this, function* () {
      const found = yield* SystemAccess.grant(this.queue.get(runId))
      // Without a place, it ended in this moment.
      if (Option.isNone(found)) return
      yield* Fiber.interrupt(fiber)
      if (!this.runs.capabilities.resume) yield* Effect.ignore(SystemAccess.grant(this.runs.interrupt(runId)))
    })
  }

  /** Leaves the claims to other processes at once, where their runs go on. */
  readonly release: Effect.Effect<void> = Effect.suspend(() =>
    this.runs.capabilities.resume
      ? Effect.ignore(this.queue.renew({ worker: this.options.worker, leaseUntil: 0 }))
      : Effect.void
  )
}
