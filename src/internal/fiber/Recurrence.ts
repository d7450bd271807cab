/**
 * When something comes again: sooner or later by chance, and however long it takes until then.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * What has a share of it (0 to 1) more or less, in whole milliseconds: clocks know no others, and would be asked again
 * and again for the rest.
 */
export const jittered = (millis: number, jitter: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) =>
    Math.round(millis * (1 + (jitter > 0 ? Math.min(1, jitter) : 0) * (2 * random - 1)))
  )

/** Timers of a month and more do not work, and after a sleep of the machine the time of day counts. */
const longestSleep = 86_400_000

export const sleepUntil = (due: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    due <= now
      ? Effect.void
      : Effect.zipRight(
          Effect.sleep(Math.min(due - now, longestSleep)),
          Effect.suspend(() => sleepUntil(due))
        )
  )
