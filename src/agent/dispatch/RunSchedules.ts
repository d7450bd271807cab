/**
 * Schedules of runs: runs that start again and again, by a cron expression or at a fixed distance.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Cron from "effect/Cron"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Content } from "../../content/Content.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { RunError } from "../record/RunError.js"
import type { RunPolicy } from "../record/RunPolicy.js"
import type { RunRecord } from "../record/RunRecord.js"
import type * as RunSchedule from "../record/RunSchedule.js"
import type { ScheduleError } from "../record/ScheduleError.js"
import type * as ScheduleStore from "../record/ScheduleStore.js"
import type { Access } from "../runs/Runs.js"

/**
 * When a schedule fires: `cron` with an optional `timeZone`, or `every`.
 *
 * @since 0.1.0
 * @category models
 */
export interface TimingRequest {
  /**
   * Five fields (minute, hour, day, month, weekday), or six with one second in front; at most 256 characters. Or a
   * `Cron` of Effect, with its own time zone.
   */
  readonly cron?: Cron.Cron | string | undefined
  /** A name of the IANA database, or an offset (`+02:00`). Default: the zone of the `Cron`, else UTC. */
  readonly timeZone?: string | undefined
  /** A finite duration of at least one second. The first firing is at `startsAt`, or one distance after now. */
  readonly every?: Duration.DurationInput | undefined
}

/**
 * What can change after a schedule was created. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Changes extends TimingRequest {
  /** The name of the agent. */
  readonly agent?: string | undefined
  readonly input?: string | ReadonlyArray<Content> | undefined
  readonly settings?: ModelSettings.ModelSettings | undefined
  /** Limits, retries and fallbacks of each run; see `RunPolicy.make`. A change holds for runs that start after it. */
  readonly policy?: RunPolicy | undefined
  /** The labels of the runs: at most 15. The runs also have the label `schedule`, with the id of the schedule. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** What happens to firings that no process started in time; default `skip`. */
  readonly missed?: RunSchedule.Missed | undefined
  /** Whether a run starts while the last one goes on; default `allow`. */
  readonly overlap?: RunSchedule.Overlap | undefined
  /** No firing is before it. */
  readonly startsAt?: number | undefined
  /** No firing is after it. */
  readonly endsAt?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CreateRequest extends Changes {
  readonly agent: string
  readonly input: string | ReadonlyArray<Content>
  /** At most 200 characters. Default: a new id. */
  readonly id?: string | undefined
  /** The owner of the schedule and of its runs. */
  readonly userId?: string | undefined
  readonly tenantId?: string | undefined
  /** The session of all runs. Default: each has its own, if it has one. */
  readonly sessionId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TriggerOptions extends Access {
  /** At most 100 characters. The same key again gives the known run. Default: a new run with each call. */
  readonly key?: string | undefined
}

/**
 * A schedule belongs to the user that it was created for. To anybody else it is an unknown one; without a user, a
 * caller reaches only schedules without one, and the system (`SystemAccess`) reaches all. Every method may fail with
 * the reason `storage`, and those that change a schedule with `conflict`, if others change it all the time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Creates a schedule, which is `active`. An `id` that is known gives the known schedule if owner and request are the
   * same; else it fails with `conflict`. Other failures: `unknown-agent`, `invalid`.
   */
  readonly create: (request: CreateRequest) => Effect.Effect<RunSchedule.RunSchedule, ScheduleError>
  /** None if the caller may see no such schedule. */
  readonly get: (
    id: string,
    access?: Access | undefined
  ) => Effect.Effect<Option.Option<RunSchedule.RunSchedule>, ScheduleError>
  /** The newest schedules first, page by page. */
  readonly list: (filter?: ScheduleStore.Filter | undefined) => Effect.Effect<ScheduleStore.Page, ScheduleError>
  /**
   * Its firings start no runs until it is resumed. Runs that go on are not touched. A firing that a process has decided
   * to start still starts, unless starts fail.
   */
  readonly pause: (id: string, access?: Access | undefined) => Effect.Effect<RunSchedule.RunSchedule, ScheduleError>
  /** Goes on with the next firing from now. What passed meanwhile is not missed. `invalid` if it has ended. */
  readonly resume: (id: string, access?: Access | undefined) => Effect.Effect<RunSchedule.RunSchedule, ScheduleError>
  /**
   * Changes a schedule; fields that are absent stay. With other times, the next firing is the first one from now, and
   * a schedule that has ended goes on.
   */
  readonly update: (
    id: string,
    changes: Changes,
    access?: Access | undefined
  ) => Effect.Effect<RunSchedule.RunSchedule, ScheduleError>
  /** Removes a schedule. Its runs stay, and those that go on are not touched. */
  readonly remove: (id: string, access?: Access | undefined) => Effect.Effect<void, ScheduleError>
  /** Starts a run of the schedule now, whatever its state and its overlap, and returns the record of the run. */
  readonly trigger: (
    id: string,
    options?: TriggerOptions | undefined
  ) => Effect.Effect<RunRecord, ScheduleError | RunError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RunSchedules extends Context.Tag("effect-lexigram/agent/RunSchedules")<RunSchedules, Service>() {}
