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

/** Milliseconds: pauses grow up to the first; who has waited for so long looks more often than others, so that nobody is left behind. */
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
  machine.unsafeCurrentTimeMillis() - from > LONG_WAIT ? OLD_PAUSE : Math.min(count + 2, MAX_PAUSE)

const again = <A>(attempt: () => A, from: number, millis: number, count: number): Effect.Effect<A, SqlError> =>
  Effect.flatMap(Random.nextIntBetween(1, maxPause(from, count) + 1), (pause) =>
    Effect.zipRight(
      Effect.withClock(Effect.sleep(pause), machine),
      Effect.suspend(() =>
        step(attempt, (failure) =>
          machine.unsafeCurrentTimeMillis() - from >= millis
            ? Effect.fail(SqliteFailure.toSqlError(failure))
            : again(attempt, from, millis, count + 1)
        )
      )
    )
  )

/**
 * What is tried holds nothing after it has failed. A failure for another reason ends it at once. `millis` from now on; 0 tries once.
 *
 * @category combinators
 */
export const retry = <A>(attempt: () => A, millis: number): Effect.Effect<A, SqlError> =>
  Effect.suspend(() =>
    step(attempt, (failure) =>
      millis <= 0
        ? Effect.fail(SqliteFailure.toSqlError(failure))
        : again(attempt, machine.unsafeCurrentTimeMillis(), millis, 0)
    )
  )
