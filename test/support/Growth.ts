/**
 * Measures how CPU time grows with the input, as a ratio within one run. It is the only test module that reads a
 * process clock: no test compares a time with a number of seconds, which depends on the machine and its load.
 *
 * Both sides of a ratio alternate for some rounds, and the shortest time of each counts: other load disturbs only
 * single rounds.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

export interface Shape<A> {
  /** Makes an input of about `size` characters, items or steps. Not measured. */
  readonly input: (size: number) => A
  /** The larger size. The smaller one is a sixteenth of it. */
  readonly size: number
  /** Ratio of the sizes; 16 by default. */
  readonly times?: number | undefined
  /** Name in the failed assertion. */
  readonly name?: string | undefined
}

/** Shorter work is repeated until it takes this long, in microseconds of CPU. */
const leastMicros = 2000

const fewestRounds = 3

const mostRounds = 12

/** A measurement of this length is reliable by itself, in microseconds of CPU. */
const enoughMicros = 10_000

/** No further round after this CPU time: short disturbances cannot explain such a duration. */
const mostMicros = 3_000_000

type Which = "one" | "other"

interface Step {
  readonly which: Which
  readonly repeat: number
}

const micros = (): number => {
  const { system, user } = process.cpuUsage()
  return user + system
}

/**
 * Yields work to run and receives its CPU time. Returns the ratio: at once if it is at most `limit`, otherwise after
 * the last round.
 */
function* rounds(limit: number): Generator<Step, number, number> {
  // Warms up compiler and caches for both sides before the first round.
  const first = yield { which: "other", repeat: 1 }
  const cold = yield { which: "one", repeat: 1 }
  // Long enough that compilation is a small part of it.
  if (first >= 4 * enoughMicros && cold / first <= limit) return cold / first
  const again = yield { which: "other", repeat: 1 }
  // Uncompiled work takes longer, never shorter.
  const least = Math.min(first, again)
  if (least >= enoughMicros && cold / least <= limit) return cold / least
  const repeat = Math.max(1, Math.ceil(leastMicros / Math.max(1, least)))
  let one = Number.POSITIVE_INFINITY
  let other = Number.POSITIVE_INFINITY
  let spent = 0
  for (let round = 1; ; round++) {
    const others = yield { which: "other", repeat }
    const ones = yield { which: "one", repeat }
    other = Math.min(other, others)
    one = Math.min(one, ones)
    spent += others + ones
    const ratio = one / Math.max(1, other)
    if (round >= fewestRounds && (ratio <= limit || round >= mostRounds || spent >= mostMicros)) return ratio
  }
}

/** Ratio of the CPU time of `one` to that of `other`. Stops early once it is at most `limit`. */
export const ratio = (works: Readonly<Record<Which, () => unknown>>, limit = 0): number => {
  const asked = rounds(limit)
  let next = asked.next()
  while (next.done !== true) {
    const { repeat, which } = next.value
    const work = works[which]
    const before = micros()
    for (let count = 0; count < repeat; count++) work()
    next = asked.next(micros() - before)
  }
  return next.value
}

/** {@link ratio} for effects. */
export const ratioEffect = Effect.fnUntraced(function* <E, R>(
  works: Readonly<Record<Which, Effect.Effect<unknown, E, R>>>,
  limit = 0
) {
  const asked = rounds(limit)
  let next = asked.next()
  while (next.done !== true) {
    const { repeat, which } = next.value
    const before = micros()
    for (let count = 0; count < repeat; count++) yield* works[which]
    next = asked.next(micros() - before)
  }
  return next.value
})

/** One large input, and small ones of the same total size: linear work takes equally long for both. */
const inputsOf = <A>({ input, size, times = 16 }: Shape<A>) => ({
  // Halfway between linear and quadratic on a logarithmic scale.
  // Quadratic work takes `times` as long. Linear work does up to seven times, where a large text does not fit the cache.
  limit: times / 2,
  large: input(size),
  small: Array.from({ length: times }, () => input(Math.ceil(size / times)))
})

export type Text = string | ((size: number) => string)

const shapeOf = (text: Text, size: number): Shape<string> => ({
  input: typeof text === "string" ? (length) => text.repeat(Math.ceil(length / text.length)) : text,
  size,
  name: JSON.stringify((typeof text === "string" ? text : text(16)).slice(0, 40))
})

const message = (name: string | undefined, found: number, limit: number): string =>
  `${name === undefined ? "" : `${name}: `}grows faster than its input: ${found.toFixed(1)} times the time of as much in small pieces, at most ${limit} expected`

/**
 * Fails if `run` takes more than linear time: if one input of `size` takes four times as long as sixteen inputs of a
 * sixteenth. Quadratic work takes sixteen times as long.
 */
export const assertLinear = <A>(shape: Shape<A> & { readonly run: (input: A) => unknown }): void => {
  const { large, limit, small } = inputsOf(shape)
  const found = ratio({ one: () => shape.run(large), other: () => small.forEach((one) => void shape.run(one)) }, limit)
  assert.isAtMost(found, limit, message(shape.name, found, limit))
}

/** {@link assertLinear} for effects. */
export const assertLinearEffect = Effect.fnUntraced(function* <A, E, R>(
  shape: Shape<A> & { readonly run: (input: A) => Effect.Effect<unknown, E, R> }
) {
  const { large, limit, small } = inputsOf(shape)
  const works = { one: shape.run(large), other: Effect.forEach(small, shape.run, { discard: true }) }
  const found = yield* ratioEffect(works, limit)
  assert.isAtMost(found, limit, message(shape.name, found, limit))
})

/** {@link assertLinear} for each text: a repeated one, or one made for a length. */
export const assertLinearTexts = (texts: ReadonlyArray<Text>, run: (text: string) => unknown, size = 32_000): void => {
  for (const text of texts) assertLinear({ ...shapeOf(text, size), run })
}

/** {@link assertLinearTexts} for effects. */
export const assertLinearTextsEffect = <E, R>(
  texts: ReadonlyArray<Text>,
  run: (text: string) => Effect.Effect<unknown, E, R>,
  size = 32_000
): Effect.Effect<void, E, R> =>
  Effect.forEach(texts, (text) => assertLinearEffect({ ...shapeOf(text, size), run }), { discard: true })
