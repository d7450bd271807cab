/** A clock set by hand, for tests that move it thousands of times: it wakes no fiber. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
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

/** A clock that goes on with another one, so much later. Its sleeps are those of the other one. */
export const ahead = (clock: Clock.Clock, by: Duration.DurationInput): Clock.Clock => {
  const millis = Duration.toMillis(by)
  const nanos = BigInt(millis) * 1_000_000n
  return {
    ...clock,
    [Clock.ClockTypeId]: clock[Clock.ClockTypeId],
    sleep: (duration) => clock.sleep(duration),
    unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + millis,
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() + nanos,
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis),
    currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now + nanos)
  }
}

/** A clock whose sleeps of some length take a shorter time. */
export const hurried = (clock: Clock.Clock, from: Duration.DurationInput, to: Duration.DurationInput): Clock.Clock => ({
  ...ahead(clock, 0),
  sleep: (duration) => clock.sleep(Duration.greaterThanOrEqualTo(duration, from) ? Duration.decode(to) : duration)
})

/** A clock on which so many times as much time passes as on the given one. */
export const faster = (clock: Clock.Clock, times: number): Clock.Clock => {
  const start = clock.unsafeCurrentTimeNanos()
  const nanos = () => start + (clock.unsafeCurrentTimeNanos() - start) * BigInt(times)
  const began = clock.unsafeCurrentTimeMillis()
  const millis = () => began + Number((nanos() - start) / 1_000_000n)
  return {
    ...clock,
    [Clock.ClockTypeId]: clock[Clock.ClockTypeId],
    sleep: (duration) => clock.sleep(Duration.millis(Duration.toMillis(duration) / times)),
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos)
  }
}
