/**
 * Time, randomness and ids between the steps of a durable run: the same on every replay.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as IdGenerator from "../domain/IdGenerator.js"
import * as Sha256 from "../internal/text/Sha256.js"
import * as Step from "../observability/Step.js"

/** The place of what runs now. */
export const currentPlace = (): Step.PlaceService | undefined => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber())
  return fiber === undefined ? undefined : Context.get(fiber.currentContext as Context.Context<Step.Place>, Step.Place)
}

/**
 * The time of the last step. Waits and elapsed times are those of the given clock: they are not part of what a run
 * does.
 */
export const clock = (real: Clock.Clock): Clock.Clock => {
  const now = (): number => {
    const at = currentPlace()?.at() ?? 0
    return at === 0 ? real.unsafeCurrentTimeMillis() : at
  }
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: real.currentTimeNanos,
    sleep: (duration) => real.sleep(duration)
  }
}

const placed = <A>(kind: string, make: (place: string) => A): Effect.Effect<A> =>
  Effect.map(Step.Place, (place) => make(place.draw(kind)))

/** Numbers by the run and the place. */
export const random = (runId: string): Random.Random => {
  const seeded = <A>(use: (random: Random.Random) => Effect.Effect<A>): Effect.Effect<A> =>
    Effect.flatten(placed("r", (place) => use(Random.make(`${runId}${place}`))))
  return {
    [Random.RandomTypeId]: Random.RandomTypeId,
    next: seeded((random) => random.next),
    nextBoolean: seeded((random) => random.nextBoolean),
    nextInt: seeded((random) => random.nextInt),
    nextRange: (min, max) => seeded((random) => random.nextRange(min, max)),
    nextIntBetween: (min, max) => seeded((random) => random.nextIntBetween(min, max)),
    shuffle: (elements) => seeded((random) => random.shuffle(elements))
  }
}

/** Ids by the run and the place, in the form of a UUID (version 8). */
export const ids = (runId: string): IdGenerator.Service => ({
  next: placed("i", (place) => {
    const hex = Sha256.hex(`${runId}${place}`)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  })
})
