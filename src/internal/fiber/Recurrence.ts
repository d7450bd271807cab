/** Waits between repetitions: random jitter, and sleeps of any length. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * Varies a duration at random by up to a fraction of it (0 to 1), in whole milliseconds: clocks round to them, and a
 * fractional wait would repeatedly wake too early.
 */
export const jittered = (millis: number, jitter: number): Effect.Effect<number> =>
  Effect.map(Random.next, (random) =>
    Math.round(millis * (1 + (jitter > 0 ? Math.min(1, jitter) : 0) * (2 * random - 1)))
  )

/** Timers of a month and more fail, and after the machine slept the time of day counts. */
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
