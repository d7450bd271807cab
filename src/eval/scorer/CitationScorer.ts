/**
 * Scores whether an answer cites what its sources say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Citations from "../../document/Citations.js"
import * as CitationMarks from "../../document/text/CitationMarks.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in Input = any, in Output = any, in Expected = any> extends Citations.Options {
  /** The name of the scorer; `citations` by default. */
  readonly name?: string | undefined
  /** The sources that the answer may cite, as they were shown. */
  readonly sources: (subject: Scorer.Subject<Input, Output, Expected>) => ReadonlyArray<Citations.Source>
}

const inWords = ({ numbers, problem }: ReturnType<typeof Citations.check>[number]): string => {
  const cited = numbers.map((number) => `[${number}]`).join("")
  switch (problem) {
    case "Missing":
      return "nothing is cited"
    case "Unknown":
      return `${cited} is no source`
    case "Unsupported":
      return `${cited} does not say what cites it`
  }
}

/** Problems that a reason names. */
const MAX_NAMED = 5

/**
 * 1 if all citations of an answer hold, as `Citations` checks them: each number is that of a source, and the sources
 * have the words, figures and quotations of the sentences that cite them. The reason names those that do not. With
 * `required` an answer without a citation scores 0. The check compares words, not meanings.
 *
 * @example
 * ```ts
 * import { CitationScorer } from "effect-lexigram/eval"
 *
 * const text = "Refunds take at most five days."
 * const handbook = [{ number: 1, title: "Handbook", source: "handbook.pdf", place: "page 4", text }]
 *
 * // "Refunds take at most five days [1]." scores 1.
 * const cited = CitationScorer.make({ sources: () => handbook, required: true })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Input = unknown, Expected = unknown>(
  options: Options<Input, string, Expected>
): Scorer.Scorer<Input, string, Expected> =>
  Scorer.makeEffect(options.name ?? "citations", (subject) =>
    Effect.gen(function* () {
      const output = yield* SubjectText.outputOf(subject)
      const sources = yield* SubjectText.attempt(() => options.sources(subject))
      const problems = Citations.check(output, sources, options)
      if (problems.length === 0) return { value: 1 }
      return {
        value: 0,
        reason: Array.from(new Set(problems.map(inWords)))
          .slice(0, MAX_NAMED)
          .join("; ")
      }
    })
  )

/**
 * The share of the sources that answer a case which the answer cites: the recall of its citations. `relevant` gives
 * their numbers; without any, the case fails.
 *
 * @since 0.1.0
 * @category constructors
 */
export const recall = <Input = unknown, Expected = unknown>(options: {
  readonly name?: string | undefined
  readonly relevant: (subject: Scorer.Subject<Input, string, Expected>) => ReadonlyArray<number>
}): Scorer.Scorer<Input, string, Expected> =>
  Scorer.makeEffect(options.name ?? "citation recall", (subject) =>
    Effect.gen(function* () {
      const output = yield* SubjectText.outputOf(subject)
      const relevant = new Set(yield* SubjectText.attempt(() => options.relevant(subject)))
      if (relevant.size === 0) return yield* Effect.fail("the case has no relevant sources")
      const cited = CitationMarks.cited(output).filter((number) => relevant.has(number))
      return cited.length / relevant.size
    })
  )
