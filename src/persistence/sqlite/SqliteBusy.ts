/**
 * Waiting for a lock that another process holds: by trying again, so that all other work goes on meanwhile.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as SqliteFailure from "./SqliteFailure.js"

/** Another process goes by the time of the machine, whatever the clock of this fiber is. */
const machine = Clock.make()

/**
 * @category getters
 */
export const now = (): number => machine.unsafeCurrentTimeMillis()

/**
 * Milliseconds: pauses grow up to the first; who has waited for so long looks more often than others, so that nobody is
 * left behind.
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
 * What is tried holds nothing after it has failed. A failure for another reason ends it at once. `millis` from when
 * `since` says, which is asked where there is something to wait for: from then on unless given; 0 tries once.
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

/** Milliseconds that a process which is not alone goes on writing, and after which it takes itself to be alone. */
const SPELL = 20
const MEMORY = 1000

/**
 * A process that writes all the time would leave others only the moments between two transactions. One that has found
 * another one in its way lately stands back for a moment now and then.
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
