/**
 * Starts queued runs by the `Runs` in context.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as QueuedRun from "../record/QueuedRun.js"
import type { QueueFullError } from "../record/QueueFullError.js"
import * as QueueStore from "../record/QueueStore.js"
import { RunError, unknownRun } from "../record/RunError.js"
import type { RunRecord } from "../record/RunRecord.js"
import * as RunStore from "../record/RunStore.js"
import * as RunAdmission from "../runs/RunAdmission.js"
import { Runs, type Service as RunsService } from "../runs/Runs.js"
import { QueueLoop } from "./QueueLoop.js"
import { type EnqueueRequest, RunQueue, type Service } from "./RunQueue.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The agents of the `Runs` in context, or their names. This process starts runs of these agents only. */
  readonly agents: ReadonlyArray<string | { readonly name: string }>
  /** The most runs of the queue that go on at once, in all processes; default 10. */
  readonly concurrency?: number | undefined
  /** The most of them that belong to one owner; default no limit. Runs without a user have one owner together. */
  readonly perOwner?: number | undefined
  /** The most of them that are of one agent; default no limit. */
  readonly perAgent?: number | undefined
  /** The most runs that wait; default 10,000. */
  readonly maxWaiting?: number | undefined
  /** The time that a priority of 1 is worth; default 1 minute. */
  readonly ageing?: Duration.DurationInput | undefined
  /** How long a process keeps its runs without renewing its lease; default 1 minute. */
  readonly lease?: Duration.DurationInput | undefined
  /** How often the queue is looked at; default 1 s. */
  readonly poll?: Duration.DurationInput | undefined
}

const invalid = (message: string, hint: string): RunError => new RunError({ reason: "invalid", message, hint })

const validate = Schema.validateEither(QueuedRun.QueuedRun)

const isTime = (time: number): boolean => Math.abs(time) <= 8.64e15

class Enqueuing implements Service {
  constructor(
    private readonly queue: QueueStore.Service,
    private readonly runs: RunsService,
    private readonly records: RunStore.Service,
    private readonly loop: QueueLoop,
    private readonly agents: ReadonlyArray<string>,
    private readonly options: { readonly maxWaiting: number; readonly ageing: number; readonly poll: number },
    private readonly wake: Effect.Effect<unknown>
  ) {}

  /** The record of a request, and its place in the queue. */
  private admit({ notBefore, priority = 0, ...request }: EnqueueRequest) {
    return Effect.gen(this, function* () {
      if (!this.agents.includes(request.agent)) return yield* RunAdmission.unknownAgent(request.agent, this.agents)
      const { fingerprint, record } = yield* RunAdmission.admit(request, undefined)
      const { agent, createdAt, runId, system, userId } = record
      const begin = Math.max(createdAt, notBefore ?? createdAt)
      if (!(Math.abs(priority) <= 1000) || !isTime(begin)) {
        return yield* invalid(
          "The priority or `notBefore` is not valid",
          "Priorities are from -1,000 to 1,000; `notBefore` is in milliseconds since the epoch"
        )
      }
      const run = validate({
        runId,
        agent,
        ...(userId === undefined ? {} : { userId }),
        ...(system === undefined ? {} : { system }),
        request: { ...request, runId },
        fingerprint,
        priority,
        rank: begin - priority * this.options.ageing,
        notBefore: begin,
        createdAt
      })
      if (Either.isLeft(run)) {
        return yield* invalid(
          "The request has a field that is not valid",
          "`input` is a text or content, `settings` are those of a model, `classifications` are texts"
        )
      }
      return { run: run.right, record, fingerprint }
    })
  }

  readonly enqueue = (request: EnqueueRequest): Effect.Effect<RunRecord, RunError | QueueFullError> =>
    Effect.gen(this, function* () {
      const { fingerprint, record, run } = yield* this.admit(request)
      if (request.runId !== undefined) {
        const known = yield* SystemAccess.grant(this.records.get(record.runId))
        // It has left the queue, or is still in it.
        if (Option.isSome(known)) return (yield* this.records.insert(record, fingerprint)).record
      }
      const now = yield* Clock.currentTimeMillis
      const added = yield* this.queue.add(run, { now, maxWaiting: this.options.maxWaiting })
      const { createdAt } = added.run
      const queued = { ...record, createdAt, updatedAt: createdAt }
      // Durable runs begin what is queued in their records. Others would never begin it.
      const kept = this.runs.capabilities.resume ? (yield* this.records.insert(queued, fingerprint)).record : queued
      yield* this.wake
      return kept
    }).pipe(Effect.uninterruptible)

  readonly enqueueOrWait = (request: EnqueueRequest): Effect.Effect<RunRecord, RunError> =>
    Effect.catchTag(this.enqueue(request), "QueueFullError", () =>
      Effect.zipRight(
        Effect.sleep(this.options.poll),
        Effect.suspend(() => this.enqueueOrWait(request))
      )
    )

  readonly get: Service["get"] = (runId, access) => this.queue.get(runId, access)

  readonly counts: Service["counts"] = (access) => this.queue.counts(access)

  readonly cancel: Service["cancel"] = (runId, access) =>
    Effect.gen(this, function* () {
      const found = yield* this.queue.get(runId, access)
      if (Option.isNone(found)) return false
      if (!(yield* this.queue.cancel(runId, yield* this.loop.lease))) return false
      yield* this.loop.launch({ ...found.value.run, cancelled: true }, false)
      return true
    }).pipe(Effect.uninterruptible)
}

/** Runs whose `poll` and `interrupt` know what waits in the queue. */
const withQueue = (runs: RunsService, queue: Service, pause: number): RunsService => {
  const poll: RunsService["poll"] = (runId, access) =>
    Effect.flatMap(runs.poll(runId, access), (found) =>
      Option.isSome(found)
        ? Effect.succeed(found)
        : Effect.map(
            queue.get(runId, access),
            Option.map(({ run }) => ({ record: recordOf(run) }))
          )
    )
  const settled = (runId: string, access: Parameters<RunsService["poll"]>[1]): Effect.Effect<RunRecord, RunError> =>
    Effect.flatMap(queue.get(runId, access), (place) =>
      Option.isSome(place)
        ? Effect.zipRight(
            Effect.sleep(Math.min(pause, 50)),
            Effect.suspend(() => settled(runId, access))
          )
        : Effect.flatMap(runs.poll(runId, access), (found) =>
            Option.isSome(found) ? Effect.succeed(found.value.record) : unknownRun(runId)
          )
    )
  return {
    ...runs,
    poll,
    interrupt: (runId, access) =>
      Effect.flatMap(poll(runId, access), (found) => {
        if (Option.isNone(found)) return unknownRun(String(runId))
        const { record } = found.value
        return Effect.flatMap(queue.cancel(runId, access), (isCancelled) =>
          !isCancelled
            ? runs.interrupt(runId, access)
            : Effect.catchIf(
                settled(runId, access),
                ({ reason }) => reason === "unknown-run",
                () => Effect.succeed({ ...record, state: "interrupted" as const })
              )
        )
      })
  }
}

const recordOf = ({ agent, createdAt, request, runId, system, userId }: QueuedRun.QueuedRun): RunRecord => ({
  runId,
  agent,
  ...(userId === undefined ? {} : { userId }),
  ...(system === undefined ? {} : { system }),
  state: "queued",
  labels: request.labels ?? {},
  createdAt,
  updatedAt: createdAt
})

/**
 * Starts the runs of its `QueueStore` by the `Runs` in context, as long as its scope is open. Any number of processes
 * may do so on one store. Provides the queue, and `Runs` whose `poll` and `interrupt` know what waits in it.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { InMemoryQueueStore, QueueRunner, RunQueue } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Requires `Runs`, for example `LocalRuns.layer`, and their `RunStore`.
 * const queue = QueueRunner.layer({ agents: ["clerk"], concurrency: 4, perOwner: 1 }).pipe(
 *   Layer.provide(InMemoryQueueStore.layer)
 * )
 *
 * const program = Effect.flatMap(RunQueue.RunQueue, (queue) =>
 *   queue.enqueue({ agent: "clerk", input: "Sum up the week", userId: "ada", priority: 5 })
 * ).pipe(Effect.provide(queue))
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<RunQueue | Runs, never, Runs | RunStore.RunStore | QueueStore.QueueStore> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const queue = yield* QueueStore.QueueStore
      const runs = yield* Runs
      const records = yield* RunStore.RunStore
      const agents = options.agents.map((agent) => (typeof agent === "string" ? agent : agent.name))
      const changes = yield* Queue.sliding<void>(1)
      const wake = Queue.offer(changes, undefined)
      const poll = Duration.toMillis(options.poll ?? "1 second")
      const loop = new QueueLoop(
        {
          worker: yield* IdGenerator.generate,
          agents,
          concurrency: count(options.concurrency, 10, 1),
          perOwner: count(options.perOwner, Number.POSITIVE_INFINITY, 1),
          perAgent: count(options.perAgent, Number.POSITIVE_INFINITY, 1),
          lease: Duration.toMillis(options.lease ?? "1 minute"),
          poll
        },
        queue,
        runs,
        records,
        yield* Effect.scope,
        wake
      )
      yield* Effect.addFinalizer(() => loop.release)
      yield* loop.run(Queue.take(changes)).pipe(SystemAccess.drop, Effect.interruptible, Effect.forkScoped)
      yield* loop.renew.pipe(SystemAccess.drop, Effect.interruptible, Effect.forkScoped)
      const service = new Enqueuing(
        queue,
        runs,
        records,
        loop,
        agents,
        {
          maxWaiting: count(options.maxWaiting, 10_000, 1),
          ageing: Duration.toMillis(options.ageing ?? "1 minute"),
          poll
        },
        wake
      )
      return Context.make(RunQueue, service as Service).pipe(Context.add(Runs, withQueue(runs, service, poll)))
    })
  )
