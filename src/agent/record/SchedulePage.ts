/**
 * Pages of schedules: what every store of schedules does in the same way.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as RunPage from "./RunPage.js"
import { invalid, type ScheduleError } from "./ScheduleError.js"
import type { Filter } from "./ScheduleStore.js"

/** The place that a cursor names; the error `invalid` for any other text. */
export const fromCursor = ({ cursor }: Filter): Effect.Effect<RunPage.Place | undefined, ScheduleError> =>
  Effect.mapError(RunPage.fromCursor(cursor), ({ hint, message }) => invalid(message, hint ?? ""))

/** The number of schedules on a page: at least 1. */
export const limitOf = ({ limit }: Filter): number => RunPage.limitOf({ limit })
