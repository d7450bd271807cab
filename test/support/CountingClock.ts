/** The live clock with a count of its armed timers, for tests in a shared process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface CountingClock {
  readonly clock: Clock.Clock
  readonly timers: () => number
}

/** Present in the live clock, but not in its type. */
interface Scheduled extends Clock.Clock {
  readonly scheduler: () => Effect.Effect<Clock.ClockScheduler>
}

export const make = (): CountingClock => {
  const live = Clock.make()
  const timers = Effect.runSync((live as Scheduled).scheduler())
  let armed = 0
  const unsafeSchedule: Clock.ClockScheduler["unsafeSchedule"] = (task, duration) => {
    armed++
    const cancel = timers.unsafeSchedule(() => {
      armed--
      task()
    }, duration)
    return () => {
      const wasArmed = cancel()
      if (wasArmed) armed--
      return wasArmed
    }
  }
  const scheduler: Clock.ClockScheduler = { ...timers, unsafeSchedule }
  const sleep: Clock.Clock["sleep"] = (duration) =>
    Effect.async<void>((resume) => {
      const cancel = unsafeSchedule(() => resume(Effect.void), duration)
      return Effect.sync(() => void cancel())
    })
  return {
    clock: Object.assign(Object.create(live), { scheduler: () => Effect.succeed(scheduler), sleep }),
    timers: () => armed
  }
}
