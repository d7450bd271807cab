/**
 * Keeps schedules of runs in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as RunPage from "./RunPage.js"
import { dueAt, type RunSchedule } from "./RunSchedule.js"
import * as ScheduleError from "./ScheduleError.js"
import * as SchedulePage from "./SchedulePage.js"
import * as ScheduleStore from "./ScheduleStore.js"

interface Kept {
  schedule: RunSchedule
  readonly fingerprint: string
}

const isVisible = (held: SystemAccess.Held, userId: string | undefined, schedule: RunSchedule): boolean =>
  SystemAccess.allows(held, userId, schedule.userId) && (schedule.system !== true || SystemAccess.isGrant(held))

const compare = <A>(a: A, b: A): number => (a < b ? -1 : a > b ? 1 : 0)

const newestFirst = (a: RunSchedule, b: RunSchedule): number => b.createdAt - a.createdAt || compare(b.id, a.id)

const dueFirst = (a: RunSchedule, b: RunSchedule): number => (dueAt(a) ?? 0) - (dueAt(b) ?? 0) || compare(a.id, b.id)

/** Whether a schedule comes after a place in a list. */
const isAfter = (schedule: RunSchedule, { createdAt, key }: RunPage.Place): boolean =>
  schedule.createdAt < createdAt || (schedule.createdAt === createdAt && schedule.id < key)

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (): ScheduleStore.Service => {
  const schedules = new Map<string, Kept>()
  const all = () => Array.from(schedules.values(), ({ schedule }) => schedule)
  return {
    insert: (schedule, fingerprint) =>
      Effect.suspend((): ReturnType<ScheduleStore.Service["insert"]> => {
        const known = schedules.get(schedule.id)
        if (known === undefined) {
          schedules.set(schedule.id, { schedule, fingerprint })
          return Effect.succeed({ schedule, added: true })
        }
        const { system, userId } = known.schedule
        return known.fingerprint === fingerprint && userId === schedule.userId && system === schedule.system
          ? Effect.succeed({ schedule: known.schedule, added: false })
          : ScheduleError.conflict(schedule.id)
      }),
    get: (id, access) =>
      Effect.map(SystemAccess.held, (held) =>
        Option.filter(Option.fromNullable(schedules.get(id)?.schedule), (schedule) =>
          isVisible(held, access?.userId, schedule)
        )
      ),
    list: (filter = {}) =>
      Effect.flatMap(SchedulePage.fromCursor(filter), (place) =>
        Effect.map(SystemAccess.held, (held): ScheduleStore.Page => {
          const found = all()
            .filter(
              (schedule) =>
                isVisible(held, filter.userId, schedule) &&
                (filter.agent === undefined || filter.agent === schedule.agent) &&
                (filter.state === undefined || filter.state === schedule.state) &&
                (place === undefined || isAfter(schedule, place))
            )
            .sort(newestFirst)
          const page = found.slice(0, SchedulePage.limitOf(filter))
          const last = page.at(-1)
          return last === undefined || found.length === page.length
            ? { schedules: page }
            : { schedules: page, next: RunPage.toCursor({ createdAt: last.createdAt, key: last.id }) }
        })
      ),
    replace: (schedule) =>
      Effect.sync(() => {
        const known = schedules.get(schedule.id)
        if (known?.schedule.key !== schedule.key || known.schedule.revision + 1 !== schedule.revision) return false
        known.schedule = schedule
        return true
      }),
    remove: ({ id, key }) => Effect.sync(() => schedules.get(id)?.schedule.key === key && schedules.delete(id)),
    due: ({ after, agents, limit, now }) =>
      Effect.sync(() =>
        all()
          .filter(
            (schedule) =>
              (dueAt(schedule) ?? Number.POSITIVE_INFINITY) <= now &&
              agents.includes(schedule.agent) &&
              (after === undefined || dueFirst(schedule, after) > 0)
          )
          .sort(dueFirst)
          .slice(0, limit)
      ),
    nextDue: (agents) =>
      Effect.sync(() => {
        const times = all().flatMap((schedule) => (agents.includes(schedule.agent) ? (dueAt(schedule) ?? []) : []))
        return times.length === 0 ? Option.none() : Option.some(times.reduce((a, b) => Math.min(a, b)))
      }),
    erase: (userId) =>
      Effect.sync(() => {
        const gone = all().filter((schedule) => schedule.userId === userId)
        for (const { id } of gone) schedules.delete(id)
        return gone.length
      })
  }
}

/**
 * Schedules in memory: they end with the process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { InMemoryScheduleStore, Scheduler } from "effect-lexigram/agent"
 * import * as Layer from "effect/Layer"
 *
 * const schedules = Scheduler.layer({ agents: ["clerk"] }).pipe(Layer.provide(InMemoryScheduleStore.layer))
 * ```
 */
export const layer: Layer.Layer<ScheduleStore.ScheduleStore> = Layer.sync(ScheduleStore.ScheduleStore, make)
