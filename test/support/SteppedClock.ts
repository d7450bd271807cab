/** A clock with a timer service, like the live one, whose time advances only on request. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface SteppedClock {
  readonly clock: Clock.Clock
  /** Advances the time and fires due timers in order. */
  readonly advance: (millis: number) => Effect.Effect<void>
  /** Number of armed timers. */
  readonly timers: () => number
}

export const make = (): SteppedClock => {
  let now = 0
  let armed: Array<{ readonly at: number; readonly task: () => void }> = []
  const scheduler: Clock.ClockScheduler = {
    [Symbol.for("effect/ClockScheduler")]: Symbol.for("effect/ClockScheduler"),
    unsafeSchedule: (task: () => void, duration: Duration.Duration) => {
      const timer = { at: now + Duration.toMillis(duration), task }
      armed.push(timer)
      return () => {
        const known = armed.includes(timer)
        armed = armed.filter((other) => other !== timer)
        return known
      }
    }
  } as unknown as Clock.ClockScheduler
  const clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(now * 1e6)),
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now * 1e6))),
    scheduler: () => Effect.succeed(scheduler),
    sleep: (duration: Duration.Duration) =>
      Effect.async<void>((resume) => {
        const cancel = scheduler.unsafeSchedule(() => resume(Effect.void), duration)
        return Effect.sync(() => void cancel())
      })
  } as unknown as Clock.Clock
  // Lets fibers woken by a timer run before the next one fires.
  const settle = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  return {
    clock,
    timers: () => armed.length,
    advance: (millis) =>
      Effect.gen(function* () {
        const until = now + millis
        yield* settle
        for (;;) {
          const next = armed.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0]
          if (next === undefined) break
          now = Math.max(now, next.at)
          armed = armed.filter((timer) => timer !== next)
          next.task()
          yield* settle
        }
        now = until
        yield* settle
      })
  }
}
