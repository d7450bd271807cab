/**
 * Fires schedules of runs by the `Runs` in context.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import type { RunError } from "../record/RunError.js"
import type * as RunSchedule from "../record/RunSchedule.js"
import * as ScheduleErrors from "../record/ScheduleError.js"
import * as ScheduleStore from "../record/ScheduleStore.js"
import * as ScheduleTimes from "../record/ScheduleTimes.js"
import * as RunAdmission from "../runs/RunAdmission.js"
import { type Access, Runs, type Service as RunsService } from "../runs/Runs.js"
import { type CreateRequest, RunSchedules, type Service } from "./RunSchedules.js"
import * as ScheduleFiring from "./ScheduleFiring.js"
import * as ScheduleLoop from "./ScheduleLoop.js"
import * as ScheduleRequest from "./ScheduleRequest.js"

type ScheduleError = ScheduleErrors.ScheduleError

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The agents of the `Runs` in context, or their names. This process starts runs of these agents only. */
  readonly agents: ReadonlyArray<string | { readonly name: string }>
  /** How often schedules that other processes changed are looked at, and failed starts tried again; default 5 s. */
  readonly poll?: Duration.DurationInput | undefined
  /** A firing that nobody started for longer than this is missed; default 1 minute. */
  readonly tolerance?: Duration.DurationInput | undefined
  /** The most missed firings of one schedule that start with the policy `all`: the newest ones. Default 100. */
  readonly maxCatchUp?: number | undefined
}

/** The longest key of a trigger, in characters. */
const maxKey = 100

/** How often a change is tried again that lost against another one. */
const attempts = 16

/** Records of runs could not be read. */
const storageOf = ({ message }: RunError): ScheduleError =>
  new ScheduleErrors.ScheduleError({ reason: "storage", message, hint: "Try again" })

class Schedules implements Service {
  constructor(
    private readonly store: ScheduleStore.Service,
    private readonly runs: RunsService,
    private readonly agents: ReadonlyArray<string>,
    private readonly wake: Effect.Effect<unknown>
  ) {}

  private checkAgent(agent: string): Effect.Effect<void, ScheduleError> {
    if (this.agents.includes(agent)) return Effect.void
    const { hint, message } = RunAdmission.unknownAgent(agent, this.agents)
    return new ScheduleErrors.ScheduleError({
      reason: "unknown-agent",
      message,
      ...(hint === undefined ? {} : { hint })
    })
  }

  readonly create = (request: CreateRequest): Effect.Effect<RunSchedule.RunSchedule, ScheduleError> =>
    Effect.gen(this, function* () {
      yield* this.checkAgent(request.agent)
      const id = yield* ScheduleRequest.idOf(request.id ?? (yield* IdGenerator.generate))
      const now = yield* Clock.currentTimeMillis
      const timing = yield* ScheduleRequest.timingOf(request, now, request.startsAt)
      if (timing === undefined) {
        return yield* ScheduleErrors.invalid("The schedule has no times", "Give `cron` or `every`")
      }
      const labels = yield* ScheduleRequest.labelsOf(request.labels)
      const { agent, endsAt, input, missed, overlap, policy, sessionId, settings, startsAt, tenantId, userId } = request
      const isSystem = userId === undefined && (yield* SystemAccess.isGranted)
      const given: RunSchedule.RunSchedule = yield* ScheduleRequest.checked(
        ScheduleRequest.compact({
          id,
          key: yield* IdGenerator.generate,
          agent,
          userId: userId as UserId | undefined,
          ...(isSystem ? { system: true as const } : {}),
          tenantId: tenantId as UserId | undefined,
          sessionId: sessionId as SessionId | undefined,
          input,
          settings,
          policy,
          labels,
          timing,
          missed: missed ?? "skip",
          overlap: overlap ?? "allow",
          startsAt,
          endsAt,
          state: "active",
          createdAt: now,
          updatedAt: now,
          revision: 0,
          pending: []
        })
      )
      const fingerprint = yield* ScheduleRequest.fingerprintOf(given)
      const schedule = yield* ScheduleRequest.withNext(given, now)
      const inserted = yield* this.store.insert(schedule, fingerprint)
      yield* this.wake
      return inserted.schedule
    })

  readonly get: Service["get"] = (id, access) => this.store.get(id, access)

  readonly list: Service["list"] = (filter) => this.store.list(filter)

  private find(id: string, access: Access | undefined): Effect.Effect<RunSchedule.RunSchedule, ScheduleError> {
    return Effect.flatMap(this.store.get(id, access), (found) =>
      Option.isSome(found) ? Effect.succeed(found.value) : ScheduleErrors.unknownSchedule(String(id))
    )
  }

  /** Changes a schedule by what it is at that time; `undefined` leaves it as it is. */
  private change(
    id: string,
    access: Access | undefined,
    f: (
      schedule: RunSchedule.RunSchedule,
      now: number
    ) => Effect.Effect<RunSchedule.RunSchedule | undefined, ScheduleError>
  ): Effect.Effect<RunSchedule.RunSchedule, ScheduleError> {
    const attempt = (left: number): Effect.Effect<RunSchedule.RunSchedule, ScheduleError> =>
      Effect.gen(this, function* () {
        const known = yield* this.find(id, access)
        const now = yield* Clock.currentTimeMillis
        const made = yield* f(known, now)
        if (made === undefined) return known
        const next = ScheduleRequest.compact({ ...made, updatedAt: now, revision: known.revision + 1 })
        if (yield* this.store.replace(next)) return next
        if (left > 1) return yield* attempt(left - 1)
        return yield* new ScheduleErrors.ScheduleError({
          reason: "conflict",
          scheduleId: known.id,
          message: "The schedule was changed by others at the same time",
          hint: "Try again"
        })
      })
    return Effect.tap(attempt(attempts), () => this.wake)
  }

  readonly pause: Service["pause"] = (id, access) =>
    this.change(id, access, (schedule) =>
      schedule.state === "active"
        ? Effect.map(Effect.mapError(ScheduleFiring.keptByPause(this.runs, schedule), storageOf), (pending) => ({
            ...schedule,
            state: "paused" as const,
            nextAt: undefined,
            pending
          }))
        : Effect.succeed(undefined)
    )

  readonly resume: Service["resume"] = (id, access) =>
    this.change(id, access, (schedule, now) => {
      if (schedule.state === "active") return Effect.succeed(undefined)
      const nextAt = schedule.state === "ended" ? undefined : ScheduleTimes.make(schedule)(now)
      return nextAt === undefined
        ? ScheduleErrors.invalid("The schedule has ended", "Give it other times by `update`")
        : Effect.succeed({ ...schedule, state: "active", nextAt })
    })

  readonly update: Service["update"] = (id, changes, access) =>
    this.change(id, access, (schedule, now) =>
      Effect.gen(this, function* () {
        const { cron: _, every: __, labels, timeZone: ___, ...others } = changes
        if (others.agent !== undefined) yield* this.checkAgent(others.agent)
        const startsAt = others.startsAt ?? schedule.startsAt
        const timing = yield* ScheduleRequest.timingOf(changes, now, startsAt)
        const next: RunSchedule.RunSchedule = {
          ...schedule,
          ...ScheduleRequest.compact(others),
          labels: labels === undefined ? schedule.labels : yield* ScheduleRequest.labelsOf(labels),
          timing: timing ?? ScheduleRequest.moved(schedule.timing, others.startsAt)
        }
        const made = yield* ScheduleRequest.checked(ScheduleRequest.compact(next))
        yield* ScheduleRequest.fingerprintOf(made)
        const isMoved = timing !== undefined || others.startsAt !== undefined || others.endsAt !== undefined
        if (!isMoved) return made
        const active = yield* ScheduleRequest.withNext(made, now)
        return schedule.state === "paused" ? made : { ...active, state: "active" }
      })
    )

  readonly remove: Service["remove"] = (id, access) =>
    Effect.flatMap(this.find(id, access), (schedule) => Effect.asVoid(this.store.remove(schedule)))

  readonly trigger: Service["trigger"] = (id, options) =>
    Effect.gen(this, function* () {
      const key = options?.key ?? (yield* IdGenerator.generate)
      const { key: own } = yield* this.find(id, options)
      const runId = RunAdmission.runIdOf(`${own}!${key}`)
      if (runId === undefined || key === "" || key.length > maxKey) {
        return yield* ScheduleErrors.invalid(
          "The key is not valid",
          `Keys have 1 to ${maxKey} characters and no control characters`
        )
      }
      // Before the run starts, so that no firing overlooks it.
      const schedule = yield* this.change(id, options, (known) => Effect.succeed({ ...known, lastRunId: runId }))
      return yield* ScheduleFiring.start(this.runs, schedule, runId)
    })
}

/**
 * Fires the schedules of its `ScheduleStore` by the `Runs` in context, as long as its scope is open. Any number of
 * processes may do so on one store: each firing starts one run, which goes on as those `Runs` let it.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { InMemoryScheduleStore, RunSchedules, Scheduler } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Requires `Runs`, for example `LocalRuns.layer`.
 * const layer = Scheduler.layer({ agents: ["clerk"] }).pipe(Layer.provide(InMemoryScheduleStore.layer))
 *
 * // Starts a run every Monday at nine, while the layer is open.
 * const create = Effect.flatMap(RunSchedules.RunSchedules, (schedules) =>
 *   schedules.create({ agent: "clerk", input: "Sum up the week", cron: "0 9 * * 1", timeZone: "Europe/Berlin" })
 * )
 * ```
 */
export const layer = (options: Options): Layer.Layer<RunSchedules, never, Runs | ScheduleStore.ScheduleStore> =>
  Layer.scoped(
    RunSchedules,
    Effect.gen(function* () {
      const store = yield* ScheduleStore.ScheduleStore
      const runs = yield* Runs
      const agents = options.agents.map((agent) => (typeof agent === "string" ? agent : agent.name))
      const changes = yield* Queue.sliding<void>(1)
      yield* ScheduleLoop.run({
        store,
        runs,
        agents,
        poll: Duration.toMillis(options.poll ?? "5 seconds"),
        tolerance: Duration.toMillis(options.tolerance ?? "1 minute"),
        maxCatchUp: count(options.maxCatchUp, 100, 1),
        changed: Queue.take(changes)
      }).pipe(SystemAccess.drop, Effect.interruptible, Effect.forkScoped)
      return new Schedules(store, runs, agents, Queue.offer(changes, undefined))
    })
  )
