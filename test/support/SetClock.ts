/** A clock set by hand, for tests that move it thousands of times: it wakes no fiber. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface SetClock {
  readonly clock: Clock.Clock
  readonly now: () => number
  readonly set: (millis: number) => void
}

export const make = (start = 0): SetClock => {
  let now = start
  const nanos = () => BigInt(Math.round(now * 1e6))
  return {
    clock: {
      ...Clock.make(),
      unsafeCurrentTimeMillis: () => now,
      unsafeCurrentTimeNanos: nanos,
      currentTimeMillis: Effect.sync(() => now),
      currentTimeNanos: Effect.sync(nanos)
    },
    now: () => now,
    set: (millis) => {
      now = millis
    }
  }
}
