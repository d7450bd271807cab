/**
 * Scorers that count the words an output has in common with references: BLEU and ROUGE. They compare words, not
 * meanings, and are of use beside numbers that others published.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name of the scorer. */
  readonly name?: string | undefined
  /** The words of a text; by default those of the tool whose numbers the scorer gives. */
  readonly tokenize?: ((text: string) => ReadonlyArray<string>) | undefined
}

const entities: { readonly [entity: string]: string } = { "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">" }

/**
 * The tokens of `mteval-v13a`, which is sacrebleu's default: punctuation stands alone, but for dots and commas within
 * numbers.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tokenize13a = (text: string): ReadonlyArray<string> => {
  const plain = text
    .replaceAll("<skipped>", "")
    .replaceAll("-\n", "")
    .replaceAll("\n", " ")
    .replace(/&(?:quot|amp|lt|gt);/g, (entity) => entities[entity] ?? entity)
  return ` ${plain} `
    .replace(/[{-~[-` -&(-+:-@/]/g, " $& ")
    .replace(/([^0-9])([.,])/g, "$1 $2 ")
    .replace(/([.,])([^0-9])/g, " $1 $2")
    .replace(/([0-9])(-)/g, "$1 $2 ")
    .split(/\s+/)
    .filter((token) => token !== "")
}

/** The words of rouge-score: ASCII letters and digits in lower case. */
const rougeWords = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[a-z0-9]+/g) ?? []

const countsOf = (items: ReadonlyArray<string>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

/** All runs of `n` tokens. Tokens have no blank, which joins them. */
const gramsOf = (tokens: ReadonlyArray<string>, n: number): ReadonlyArray<string> =>
  Array.from({ length: Math.max(0, tokens.length - n + 1) }, (_, at) => tokens.slice(at, at + n).join(" "))

const longestGram = 4

/** Matches of n-grams, each as often as the reference has it that has it most often, and their number. */
const matched = (output: ReadonlyArray<string>, references: ReadonlyArray<ReadonlyArray<string>>, n: number) => {
  const most = new Map<string, number>()
  for (const reference of references)
    for (const [gram, count] of countsOf(gramsOf(reference, n))) most.set(gram, Math.max(most.get(gram) ?? 0, count))
  const grams = gramsOf(output, n)
  let matches = 0
  for (const [gram, count] of countsOf(grams)) matches += Math.min(count, most.get(gram) ?? 0)
  return { matches, total: grams.length }
}

/** The length of the reference that is nearest to that of the output; of two, the shorter one. */
const nearestLength = (length: number, references: ReadonlyArray<ReadonlyArray<string>>): number =>
  references
    .map((reference) => reference.length)
    .reduce((best, next) => {
      const [far, near] = [Math.abs(best - length), Math.abs(next - length)]
      return near < far || (near === far && next < best) ? next : best
    })

const bleuOf = (output: ReadonlyArray<string>, references: ReadonlyArray<ReadonlyArray<string>>): number => {
  const found = Array.from({ length: longestGram }, (_, i) => matched(output, references, i + 1)).filter(
    ({ total }) => total > 0
  )
  if (found.every(({ matches }) => matches === 0)) return 0
  let smoothing = 1
  let logs = 0
  for (const { matches, total } of found) {
    if (matches === 0) smoothing *= 2
    logs += Math.log((matches === 0 ? 1 / smoothing : matches) / total)
  }
  const expected = nearestLength(output.length, references)
  const brevity = output.length < expected ? Math.exp(1 - expected / output.length) : 1
  return Math.min(1, brevity * Math.exp(logs / found.length))
}

/**
 * Sentence BLEU from 0 to 1, as sacrebleu's `sentence_bleu` gives it from 0 to 100: n-grams of 1 to 4 tokens, as far as
 * the output has them, exponential smoothing, and all references at once (Papineni et al. 2002; Post 2018). Case
 * counts. It says little of a single short text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const bleu = (options: Options = {}): Scorer.Scorer<unknown, string, SubjectText.References> => {
  const { name = "bleu", tokenize = tokenize13a } = options
  return Scorer.makeEffect(name, (subject) =>
    Effect.gen(function* () {
      const output = yield* SubjectText.outputOf(subject)
      const references = yield* SubjectText.referencesOf(subject.expected)
      return yield* SubjectText.attempt(() => bleuOf(tokenize(output), references.map(tokenize)))
    })
  )
}

/** The length of the longest common subsequence, in one row of the table. */
const subsequence = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  const row = new Uint32Array(b.length + 1)
  for (const token of a) {
    let diagonal = 0
    for (let j = 1; j <= b.length; j++) {
      const above = row[j] ?? 0
      row[j] = token === b[j - 1] ? diagonal + 1 : Math.max(above, row[j - 1] ?? 0)
      diagonal = above
    }
  }
  return row[b.length] ?? 0
}

/** More words than this make a table that takes long. */
const mostWords = 5000

const longestCommon = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): Effect.Effect<number, string> =>
  Math.max(a.length, b.length) > mostWords
    ? Effect.fail(`ROUGE-L takes texts of up to ${mostWords} words, not of ${a.length} and ${b.length}`)
    : Effect.sync(() => subsequence(a, b))

/**
 * ROUGE F1 from 0 to 1, as rouge-score gives it without its stemmer: for 1 and 2 of the words and pairs of words in
 * common, for `L` of the longest common subsequence of words (Lin 2004). Case does not count. Of several references the
 * best counts. `L` fails for texts of more than 5,000 words.
 *
 * Words are ASCII letters and digits, which is of no use for other scripts: give `tokenize` for those.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rouge = (
  kind: 1 | 2 | "L",
  options: Options = {}
): Scorer.Scorer<unknown, string, SubjectText.References> => {
  const { name = `rouge${kind}`, tokenize = rougeWords } = options
  return SubjectText.best(name, (output, reference) =>
    Effect.gen(function* () {
      const [a, b] = yield* SubjectText.attempt(() => [tokenize(output), tokenize(reference)] as const)
      if (kind === "L") return f1(yield* longestCommon(a, b), a.length, b.length)
      const [gramsA, gramsB] = [gramsOf(a, kind), gramsOf(b, kind)]
      return f1(SubjectText.common(gramsA, gramsB), gramsA.length, gramsB.length)
    })
  )
}

const f1 = (shared: number, a: number, b: number): Scorer.Score => ({
  value: shared === 0 ? 0 : (2 * shared) / (a + b)
})
