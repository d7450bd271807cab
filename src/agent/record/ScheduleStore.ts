/**
 * The port that keeps schedules of runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { RunSchedule, ScheduleState } from "./RunSchedule.js"
import type { Access } from "./RunStore.js"
import type { ScheduleError } from "./ScheduleError.js"

/**
 * Selects schedules among those that the caller may see. Every given field must match.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter extends Access {
  readonly agent?: string | undefined
  readonly state?: ScheduleState | undefined
  /** Default 50, at most 500. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly schedules: ReadonlyArray<RunSchedule>
  /** The cursor of the next page; absent if there is none. */
  readonly next?: string | undefined
}

/**
 * Selects schedules whose runs a process can start.
 *
 * @since 0.1.0
 * @category models
 */
export interface DueOptions {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly agents: ReadonlyArray<string>
  /** The last schedule of the page before. */
  readonly after?: RunSchedule | undefined
  /** At least 1. */
  readonly limit: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a schedule. A known id with the same fingerprint and owner gives the known schedule, with another one the
   * error `conflict`. Of concurrent calls one is `added`.
   */
  readonly insert: (
    schedule: RunSchedule,
    fingerprint: string
  ) => Effect.Effect<{ readonly schedule: RunSchedule; readonly added: boolean }, ScheduleError>
  /** None if the caller may see no such schedule. */
  readonly get: (id: string, access?: Access | undefined) => Effect.Effect<Option.Option<RunSchedule>, ScheduleError>
  /** The newest schedules first; those of one millisecond in the descending order of their ids. */
  readonly list: (filter?: Filter | undefined) => Effect.Effect<Page, ScheduleError>
  /**
   * Replaces the schedule with this id, key and the `revision` before that of `schedule`; returns whether it did.
   * Owner and time of creation do not change. Does not ask who calls.
   */
  readonly replace: (schedule: RunSchedule) => Effect.Effect<boolean, ScheduleError>
  /** Removes the schedule with this id and key; returns whether it did. Does not ask who calls. */
  readonly remove: (schedule: Pick<RunSchedule, "id" | "key">) => Effect.Effect<boolean, ScheduleError>
  /** Schedules of all owners that are due, those first that are due for the longest time. */
  readonly due: (options: DueOptions) => Effect.Effect<ReadonlyArray<RunSchedule>, ScheduleError>
  /** When the next schedule of these agents is due. */
  readonly nextDue: (agents: ReadonlyArray<string>) => Effect.Effect<Option.Option<number>, ScheduleError>
  /** Removes all schedules of a user; returns how many. */
  readonly erase: (userId: string) => Effect.Effect<number, ScheduleError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ScheduleStore extends Context.Tag("effect-lexigram/agent/ScheduleStore")<ScheduleStore, Service>() {}
