/**
 * Measures how the CPU time of work grows with its input, as a ratio within one run. It is the only module of the tests that reads a clock of the
 * process: no test compares a time with a number of seconds, which another machine or a busy one does not keep.
 *
 * Both works of a ratio take turns for some rounds, and the least time of each counts: what else the machine does disturbs single rounds only.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

export interface Shape<A> {
  /** Makes an input of about `size` characters, items or steps. Its time does not count. */
  readonly input: (size: number) => A
  /** The larger size. The smaller one is a sixteenth of it. */
  readonly size: number
  /** How much less the smaller size is; 16 by default. */
  readonly times?: number | undefined
  /** What the assertion says when it fails. */
  readonly name?: string | undefined
}

/** Work that lasts shorter is repeated until it lasts as long: microseconds of CPU. */
const leastMicros = 2000

const fewestRounds = 3

const mostRounds = 12

/** What lasts longer than this is enough of a measurement by itself: microseconds of CPU. */
const enoughMicros = 10_000

/** After so much CPU time there is no further round: what lasts so long is not what a disturbance of some milliseconds makes of it. */
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
 * Asks for works to be run and is given their CPU time. Returns the ratio: at once when it is at most `limit`, or else after the last round.
 */
function* rounds(limit: number): Generator<Step, number, number> {
  // The compiler and the caches have seen both before the first round.
  const first = yield { which: "other", repeat: 1 }
  const cold = yield { which: "one", repeat: 1 }
  const again = yield { which: "other", repeat: 1 }
  // Work that the compiler sees for the first time lasts longer, not shorter.
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

/** How many times the CPU time of `other` is what `one` takes. Stops early once that is at most `limit`. */
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

/** Work on one large input, and on as many small ones as are together as large: in linear time both last equally long. */
const inputsOf = <A>({ input, size, times = 16 }: Shape<A>) => ({
  // Half way, on a logarithmic scale, between linear and quadratic.
  limit: Math.sqrt(times),
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
 * Fails when `run` takes more than linear time: when one input of `size` lasts four times as long as sixteen of a sixteenth of it. What is
 * quadratic lasts sixteen times as long.
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

/** {@link assertLinear} for each text: one that is repeated, or one that is made for a length. */
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
