/**
 * Reads the texts of a subject.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scorer from "./Scorer.js"

/** A text that was expected, or several of which each is right. */
export type References = string | ReadonlyArray<string>

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : typeof value

/** The output as text; a scorer of texts does not turn other values into some. */
export const outputOf = ({ output }: Scorer.Subject): Effect.Effect<string, string> =>
  typeof output === "string"
    ? Effect.succeed(output)
    : Effect.fail(`its output is no text, but ${kindOf(output)}: map the subject to a text`)

/** The texts that were expected, at least one. */
export const referencesOf = (expected: unknown): Effect.Effect<ReadonlyArray<string>, string> => {
  const given: ReadonlyArray<unknown> = Array.isArray(expected) ? expected : [expected]
  const texts = given.filter((text) => typeof text === "string")
  return texts.length > 0 && texts.length === given.length
    ? Effect.succeed(texts)
    : Effect.fail(`what is expected is no text, but ${given.length === 0 ? "an empty list" : kindOf(expected)}`)
}

/** Functions of callers: what they throw fails the scorer. */
export const attempt = <A>(evaluate: () => A): Effect.Effect<A, string> =>
  Effect.try({
    try: evaluate,
    catch: (error) => `it threw: ${error instanceof Error ? error.message : String(error)}`
  })

/** Scores the output by the reference that fits it best. */
export const best = (
  name: string,
  compare: (output: string, reference: string) => Effect.Effect<Scorer.Score, string>
): Scorer.Scorer<unknown, string, References> =>
  Scorer.makeEffect(name, (subject) =>
    Effect.gen(function* () {
      const output = yield* outputOf(subject)
      const scores = yield* Effect.forEach(yield* referencesOf(subject.expected), (text) => compare(output, text))
      return scores.reduce((best, score) => (score.value > best.value ? score : best))
    })
  )

/** How many members two lists have in common, each as often as both have it. */
export const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  const left = new Map<string, number>()
  for (const one of b) left.set(one, (left.get(one) ?? 0) + 1)
  return a.filter((one) => {
    const count = left.get(one) ?? 0
    left.set(one, count - 1)
    return count > 0
  }).length
}
