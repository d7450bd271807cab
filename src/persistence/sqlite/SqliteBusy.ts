/**
 * Waits for a lock held by another process by retrying, without blocking the event loop.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as SqliteFailure from "./SqliteFailure.js"

/** Other processes run on system time, whatever the clock of this fiber is. */
const machine = Clock.make()

/**
 * @category getters
 */
export const now = (): number => machine.unsafeCurrentTimeMillis()

/**
 * Milliseconds. Pauses grow up to the first value; a fiber that has waited for a while retries more often than others,
 * so that none starves.
 */
const MAX_PAUSE = 25
const LONG_WAIT = 500
const OLD_PAUSE = 4

const step = <A>(
  attempt: () => A,
  onBusy: (failure: SqliteFailure.SqliteFailure) => Effect.Effect<A, SqlError>
): Effect.Effect<A, SqlError> => {
  try {
    return Effect.succeed(attempt())
  } catch (error) {
    const failure = SqliteFailure.from(error, [])
    return SqliteFailure.isBusy(failure) ? onBusy(failure) : Effect.fail(SqliteFailure.toSqlError(failure))
  }
}

const maxPause = (from: number, count: number): number =>
  now() - from > LONG_WAIT ? OLD_PAUSE : Math.min(count + 2, MAX_PAUSE)

const again = <A>(attempt: () => A, from: number, millis: number, count: number): Effect.Effect<A, SqlError> =>
  Effect.flatMap(Random.nextIntBetween(1, maxPause(from, count) + 1), (pause) =>
    Effect.zipRight(
      Effect.withClock(Effect.sleep(pause), machine),
      Effect.suspend(() =>
        step(attempt, (failure) =>
          now() - from >= millis
            ? Effect.fail(SqliteFailure.toSqlError(failure))
            : again(attempt, from, millis, count + 1)
        )
      )
    )
  )

/**
 * Retries while the database is busy; any other failure ends it. `attempt` must hold nothing after a failure. The limit
 * of `millis` counts from `since`, which is read on the first wait; by default from then on. 0 tries once.
 *
 * @category combinators
 */
export const retry = <A>(attempt: () => A, millis: number, since: () => number = now): Effect.Effect<A, SqlError> =>
  Effect.suspend(() =>
    step(attempt, (failure) => {
      const from = since()
      return now() - from >= millis ? Effect.fail(SqliteFailure.toSqlError(failure)) : again(attempt, from, millis, 0)
    })
  )

/** Milliseconds that a process with competitors keeps writing, and after which it considers itself alone. */
const SPELL = 20
const MEMORY = 1000

/**
 * A process that writes all the time would leave others only the gaps between its transactions. One that met another
 * process lately pauses briefly now and then.
 *
 * @category models
 */
export interface Courtesy {
  readonly met: () => void
  readonly isDue: () => boolean
  readonly standBack: Effect.Effect<void>
}

/**
 * @category constructors
 */
export const courtesy = (): Courtesy => {
  let met = Number.NEGATIVE_INFINITY
  let stoodBack = Number.NEGATIVE_INFINITY
  const isDue = (): boolean => {
    if (met < 0) return false
    const time = now()
    if (time - met <= MEMORY) return time - stoodBack >= SPELL
    met = Number.NEGATIVE_INFINITY
    return false
  }
  return {
    isDue,
    met: () => {
      met = now()
    },
    standBack: Effect.suspend(() =>
      isDue()
        ? Effect.zipRight(
            Effect.withClock(Effect.sleep(OLD_PAUSE), machine),
            Effect.sync(() => {
              stoodBack = now()
            })
          )
        : Effect.void
    )
  }
}
