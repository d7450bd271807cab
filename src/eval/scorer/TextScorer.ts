/**
 * Scorers that compare the text of an output with what was expected: one text, or several of which the best counts.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PatternCost from "../../internal/text/PatternCost.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * A text that was expected, or several of which each is right.
 *
 * @since 0.1.0
 * @category models
 */
export type References = SubjectText.References

/**
 * A scorer of texts.
 *
 * @since 0.1.0
 * @category models
 */
export type TextScorer = Scorer.Scorer<unknown, string, References>

/**
 * What of a text does not count. Texts are compared in Unicode's form NFKC.
 *
 * @since 0.1.0
 * @category models
 */
export interface Normalization {
  /** Upper and lower case are the same; true by default. */
  readonly ignoreCase?: boolean | undefined
  /** Space around a text does not count, and any space inside is one blank; true by default. */
  readonly ignoreWhitespace?: boolean | undefined
  /** Punctuation and symbols do not count; false by default. */
  readonly ignorePunctuation?: boolean | undefined
  /** The words `a`, `an` and `the` do not count; false by default. */
  readonly ignoreArticles?: boolean | undefined
}

const article = /(?<![\p{L}\p{N}_])(?:an?|the)(?![\p{L}\p{N}_])/giu

/**
 * The text without what does not count.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalize = (text: string, options: Normalization = {}): string => {
  const { ignoreArticles = false, ignoreCase = true, ignorePunctuation = false, ignoreWhitespace = true } = options
  let result = text.normalize("NFKC")
  if (ignoreCase) result = result.toLowerCase()
  if (ignorePunctuation) result = result.replace(/[\p{P}\p{S}]/gu, "")
  if (ignoreArticles) result = result.replace(article, " ")
  return ignoreWhitespace ? result.replace(/\s+/g, " ").trim() : result
}

const same = (name: string, toText: (text: string) => string): TextScorer =>
  SubjectText.best(name, (output, reference) =>
    Effect.sync(() => ({ value: toText(output) === toText(reference) ? 1 : 0 }))
  )

/**
 * 1 if the output is the expected text, character by character.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exact: TextScorer = same("exact", (text) => text)

/**
 * 1 if the output is the expected text but for what does not count.
 *
 * @since 0.1.0
 * @category constructors
 */
export const normalized = (options: Normalization & { readonly name?: string | undefined } = {}): TextScorer =>
  same(options.name ?? "normalized", (text) => normalize(text, options))

/**
 * @since 0.1.0
 * @category models
 */
export interface ContainsOptions extends Normalization {
  /** The name of the scorer. */
  readonly name?: string | undefined
  /** The texts to look for; by default those that were expected. */
  readonly texts?: ReadonlyArray<string> | undefined
}

const MAX_NAMED = 5

const listed = (texts: ReadonlyArray<string>): string => {
  const named = texts.slice(0, MAX_NAMED).map((text) => JSON.stringify(text.slice(0, 100)))
  return `${named.join(", ")}${texts.length > MAX_NAMED ? ` and ${texts.length - MAX_NAMED} more` : ""}`
}

const containing = (
  name: string,
  options: ContainsOptions,
  holds: (missing: ReadonlyArray<string>, count: number) => boolean
): TextScorer =>
  Scorer.makeEffect(options.name ?? name, (subject) =>
    Effect.gen(function* () {
      const output = normalize(yield* SubjectText.outputOf(subject), options)
      const texts = yield* SubjectText.referencesOf(options.texts ?? subject.expected)
      const missing = texts.filter((text) => !output.includes(normalize(text, options)))
      return holds(missing, texts.length)
        ? { value: 1 }
        : { value: 0, reason: `it does not contain ${listed(missing)}` }
    })
  )

/**
 * 1 if the output contains all of the texts; the reason names those that it lacks. Case and space do not count by
 * default. A single text that was expected is all of them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const containsAll = (options: ContainsOptions = {}): TextScorer =>
  containing("containsAll", options, (missing) => missing.length === 0)

/**
 * 1 if the output contains one of the texts at least. Case and space do not count by default.
 *
 * @since 0.1.0
 * @category constructors
 */
export const containsAny = (options: ContainsOptions = {}): TextScorer =>
  containing("containsAny", options, (missing, count) => missing.length < count)

/** The longest text that a pattern out of a dataset is tried on. */
const mostMatched = 10_000

const compile = (pattern: string): Effect.Effect<RegExp, string> => {
  const shown = JSON.stringify(pattern.slice(0, 100))
  if (!PatternCost.isCheap(pattern)) {
    return Effect.fail(
      `the pattern ${shown} may take long: give one with fewer and simpler repetitions, or a RegExp in code`
    )
  }
  return Effect.try({
    try: () => new RegExp(pattern, "u"),
    catch: (error) => `the pattern ${shown} is no regular expression: ${error instanceof Error ? error.message : ""}`
  })
}

const matchesExpected = (output: string, pattern: string): Effect.Effect<Scorer.Score, string> =>
  output.length > mostMatched
    ? Effect.fail(
        `its output has ${output.length} characters: patterns of cases are tried on ${mostMatched} at most; give a RegExp in code`
      )
    : Effect.map(compile(pattern), (expression) => ({ value: expression.test(output) ? 1 : 0 }))

/**
 * 1 if some part of the output fits a regular expression: the one that is given, or the pattern that was expected.
 *
 * A pattern that was expected comes out of a dataset: one that may take more than time quadratic in the text is
 * refused, and so are outputs of more than 10,000 characters. An expression that is given runs as it is, on texts of
 * any length.
 *
 * @since 0.1.0
 * @category constructors
 */
export const matches = (expression?: RegExp, name = "matches"): TextScorer =>
  expression === undefined
    ? SubjectText.best(name, matchesExpected)
    : Scorer.makeEffect(name, (subject) =>
        Effect.map(SubjectText.outputOf(subject), (output) => output.search(expression) >= 0)
      )

/** The edits from one list to another, in one row of the table at a time. */
const edits = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  const row = Uint32Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    let diagonal = row[0] ?? 0
    row[0] = i
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0
      const swapped = a[i - 1] === b[j - 1] ? diagonal : diagonal + 1
      row[j] = Math.min(swapped, above + 1, (row[j - 1] ?? 0) + 1)
      diagonal = above
    }
  }
  return row[b.length] ?? 0
}

/** What both lists begin and end with takes no edits. */
const editsBetween = (a: ReadonlyArray<string>, b: ReadonlyArray<string>, most: number) => {
  let from = 0
  while (from < a.length && from < b.length && a[from] === b[from]) from++
  let [endA, endB] = [a.length, b.length]
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) {
    endA--
    endB--
  }
  const [restA, restB] = [a.slice(from, endA), b.slice(from, endB)]
  return Math.max(restA.length, restB.length) > most ? undefined : edits(restA, restB)
}

/**
 * How much of the longer text needs no edit: 1 less the Levenshtein distance (insertions, deletions and replacements of
 * code points) divided by the length of the longer text. The work is the product of the lengths: texts that differ in
 * parts of more than `maxCharacters`, 5,000 by default, fail.
 *
 * @since 0.1.0
 * @category constructors
 */
export const similarity = (
  options: { readonly name?: string | undefined; readonly maxCharacters?: number | undefined } = {}
): TextScorer => {
  const { maxCharacters = 5000 } = options
  return SubjectText.best(options.name ?? "similarity", (output, reference) =>
    Effect.suspend(() => {
      const [a, b] = [Array.from(output), Array.from(reference)]
      const longest = Math.max(a.length, b.length)
      if (longest === 0) return Effect.succeed({ value: 1 })
      const found = editsBetween(a, b, maxCharacters)
      return found === undefined
        ? Effect.fail(`texts of ${a.length} and ${b.length} characters differ in more than ${maxCharacters} of them`)
        : Effect.succeed({ value: 1 - found / longest })
    })
  )
}

/** The words of a text as SQuAD's evaluation has them. */
const words = (text: string): ReadonlyArray<string> =>
  text
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, "")
    .replace(article, " ")
    .split(/\s+/)
    .filter((word) => word !== "")

/**
 * The F1 of words, as SQuAD's evaluation has it (Rajpurkar et al. 2016): the harmonic mean of the share of the words of
 * the output that were expected, and the share of the expected words that it has. Case, ASCII punctuation and the
 * articles `a`, `an`, `the` do not count. Two texts without words are the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tokenF1: TextScorer = SubjectText.best("tokenF1", (output, reference) =>
  Effect.sync(() => {
    const [a, b] = [words(output), words(reference)]
    const shared = SubjectText.common(a, b)
    return { value: a.length + b.length === 0 ? 1 : (2 * shared) / (a.length + b.length) }
  })
)
