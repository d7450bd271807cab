/**
 * Checks the citations of an answer (`[2]`, `[1, 3]`) against the sources that were shown: every number is that of a
 * source, and the sources that a sentence cites have its words, its figures and what it quotes.
 *
 * This compares words, not meanings: it finds invented sources, figures and quotations, and sentences about something
 * else. A sentence that turns the words of its source around passes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as TextAnalyzer from "../memory/text/TextAnalyzer.js"
import { CitationError, type CitationProblem } from "./format/DocumentError.js"
import * as CitationMarks from "./text/CitationMarks.js"
import * as Sentences from "./text/Sentences.js"

/**
 * A passage as it was shown, under its number.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source {
  /** From 1. */
  readonly number: number
  readonly title: string
  readonly source: string
  /** Headings and pages. */
  readonly place: string
  readonly text: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The share of the words of a sentence that the sources it cites must have, 0 to 1. Default 0.5. */
  readonly minSupport?: number | undefined
  /** Whether an answer without any citation is a problem where sources were shown. Default false. */
  readonly required?: boolean | undefined
}

/** Citations at the beginning of a stretch: they belong to the sentence before it. */
const leading = /^\s{0,9}(?:(?:\[[\d\s,;–-]{1,99}\]|【\s?\d{1,9}[^【】\n]{0,99}】)\s{0,9}){1,20}/

/** The mark of a list item, whose number is no figure. */
const marker = /^\s{0,9}(?:\d{1,9}[.)]|[-*+])\s/

interface Claim {
  readonly text: string
  readonly numbers: ReadonlyArray<number>
}

const fenced = (answer: string): string =>
  CitationMarks.linesOf(answer)
    .map(({ isFenced, line }) => (isFenced ? "" : line))
    .join("\n")

/** The sentences of an answer that cite something, without code. */
const claimsOf = (answer: string): ReadonlyArray<Claim> => {
  const text = fenced(answer)
  const claims: Array<{ text: string; numbers: Array<number> }> = []
  for (const paragraph of text.split(/\n[ \t]*\n/)) {
    const starts = Sentences.starts(paragraph, 0, paragraph.length)
    starts.forEach((start, at) => {
      let sentence = paragraph.slice(start, starts[at + 1] ?? paragraph.length)
      const before = at === 0 ? undefined : claims.at(-1)
      const first = before === undefined ? undefined : leading.exec(sentence)?.[0]
      if (before !== undefined && first !== undefined) {
        before.numbers.push(...CitationMarks.cited(first))
        sentence = sentence.slice(first.length)
      }
      claims.push({
        text: CitationMarks.resolve(sentence.replace(marker, ""), new Set()).text,
        numbers: [...CitationMarks.cited(sentence)]
      })
    })
  }
  return claims.filter(({ numbers }) => numbers.length > 0)
}

const quotation = /["“„«]([^"“”„«»\n]{8,300})["”“»]/g

const plain = (text: string): string => text.toLowerCase().replace(/[\s*_`]+/g, " ")

const figure = /\d[\d.,:/-]{0,30}/g

/** The numbers of a figure: a date has three. `1,000` is one number, and `05` is 5. */
const numbersIn = (found: string): ReadonlyArray<string> =>
  found
    .replace(/(\d),(?=\d{3}(?!\d))/g, "$1")
    .split(/[.,:/-]/)
    .filter((part) => part !== "")
    .map((part) => part.replace(/^0{1,30}(?=\d)/, ""))

const figuresOf = (text: string): ReadonlyArray<string> => (text.match(figure) ?? []).flatMap(numbersIn)

/** What a claim is compared with. Each source is analyzed once. */
class Shown {
  private readonly terms = new Map<number, ReadonlySet<string>>()
  private readonly texts = new Map<number, string>()
  private readonly figures = new Map<number, ReadonlySet<string>>()
  private readonly sources: ReadonlyMap<number, Source>

  constructor(sources: ReadonlyArray<Source>) {
    this.sources = new Map(sources.map((source) => [source.number, source]))
  }

  has(number: number): boolean {
    return this.sources.has(number)
  }

  termsOf(number: number): ReadonlySet<string> {
    return this.kept(this.terms, number, (text) => new Set(TextAnalyzer.english.analyze(text)))
  }

  figuresOf(number: number): ReadonlySet<string> {
    return this.kept(this.figures, number, (text) => new Set(figuresOf(text)))
  }

  textOf(number: number): string {
    return this.kept(this.texts, number, plain)
  }

  private kept<A>(known: Map<number, A>, number: number, make: (text: string) => A): A {
    const before = known.get(number)
    if (before !== undefined) return before
    const { place = "", text = "", title = "" } = this.sources.get(number) ?? {}
    const made = make(`${title}\n${place}\n${text}`)
    known.set(number, made)
    return made
  }
}

/** The share of the words of a claim that its sources have; 0 if they lack a figure or a quotation of it. */
const supportOf = (shown: Shown, { numbers, text }: Claim): number => {
  const quoted = Array.from(text.matchAll(quotation), (match) => plain(match[1] ?? "").trim())
  if (!quoted.every((words) => numbers.some((number) => shown.textOf(number).includes(words)))) return 0
  const known = (is: (number: number) => boolean) => numbers.some(is)
  if (!figuresOf(text).every((found) => known((number) => shown.figuresOf(number).has(found)))) return 0
  const terms = Array.from(new Set(TextAnalyzer.english.analyze(text)))
  const held = terms.filter((term) => known((number) => shown.termsOf(number).has(term)))
  return terms.length === 0 ? 1 : held.length / terms.length
}

/**
 * What is wrong with the citations of an answer; empty if nothing is.
 *
 * @since 0.1.0
 * @category checks
 */
export const check = (
  answer: string,
  sources: ReadonlyArray<Source>,
  { minSupport = 0.5, required = false }: Options = {}
): ReadonlyArray<CitationProblem> => {
  const shown = new Shown(sources)
  const claims = claimsOf(answer)
  if (claims.length === 0) return required && sources.length > 0 ? [{ problem: "Missing", numbers: [] }] : []
  return claims.flatMap((claim): ReadonlyArray<CitationProblem> => {
    const unknown = claim.numbers.filter((number) => !shown.has(number))
    if (unknown.length > 0) return [{ problem: "Unknown", numbers: unknown }]
    const support = supportOf(shown, claim)
    return support < minSupport ? [{ problem: "Unsupported", numbers: claim.numbers, support }] : []
  })
}

const listed = (numbers: ReadonlyArray<number>): string =>
  Array.from(new Set(numbers), (number) => `[${number}]`).join(", ")

const inWords = ({ numbers, problem }: CitationProblem): string => {
  switch (problem) {
    case "Unknown":
      return `${listed(numbers)} was not shown`
    case "Unsupported":
      return `a sentence that cites ${listed(numbers)} says what that does not say`
    case "Missing":
      return "nothing is cited"
  }
}

/** Problems that a message names. */
const MAX_NAMED = 5

/**
 * Fails with a `CitationError` if something is wrong. Its message is in words that a model can act on, and has no text
 * of the answer or of a source.
 *
 * @since 0.1.0
 * @category checks
 */
export const verify = (
  answer: string,
  sources: ReadonlyArray<Source>,
  options?: Options | undefined
): Effect.Effect<void, CitationError> =>
  Effect.suspend(() => {
    const problems = check(answer, sources, options)
    if (problems.length === 0) return Effect.void
    const named = Array.from(new Set(problems.map(inWords)))
    const more = named.length > MAX_NAMED ? `; and ${named.length - MAX_NAMED} more` : ""
    return new CitationError({
      problems,
      message: `The citations do not hold: ${named.slice(0, MAX_NAMED).join("; ")}${more}`,
      hint:
        sources.length === 0
          ? "No sources were shown. Answer without citations, or search first"
          : `Cite only what the sources [1] to [${sources.length}] say, by their numbers`
    })
  })
