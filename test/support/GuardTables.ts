/** Measures the guards on the texts of the repository, and draws the tables of `docs/guards.md`. */
import * as Effect from "effect/Effect"
import * as NationalEntities from "../../src/guard/entity/NationalEntities.js"
import type * as PiiEntity from "../../src/guard/entity/PiiEntity.js"
import * as InjectionDetector from "../../src/guard/injection/InjectionDetector.js"
import * as PiiDetector from "../../src/guard/pii/PiiDetector.js"
import * as PiiEntities from "../../src/guard/pii/PiiEntities.js"
import * as UnicodeGuard from "../../src/guard/UnicodeGuard.js"
import { attacks } from "../guard/corpus/attacks.js"
import * as FreeWords from "../guard/corpus/free-words.js"
import { languages, ordinaryWords } from "../guard/corpus/languages.js"
import { ordinary } from "../guard/corpus/ordinary.js"
import { legitimate } from "../guard/corpus/unicode.js"
import { evasions } from "./Evasions.js"
import * as PiiCases from "./PiiCases.js"
import * as PiiCorpus from "./PiiCorpus.js"

interface Share {
  readonly found: number
  readonly of: number
}

export interface PiiRow {
  readonly type: string
  readonly positives: Share
  readonly whole: Share
  readonly far: Share
  readonly unannounced: Share
  /** Findings in texts without any, and others than expected in texts with some. */
  readonly wrong: number
  readonly negatives: number
  /** Share of random strings like the values that pass the checks, and that are found in a text about nothing. */
  readonly passing: number
  readonly chance: number
}

/** Of findings in positives and negatives; 1 without any. */
export const precision = ({ positives, wrong }: PiiRow): number =>
  positives.found + wrong === 0 ? 1 : positives.found / (positives.found + wrong)

export const recall = ({ found, of }: Share): number => (of === 0 ? 1 : found / of)

const keyOf = (start: number, end: number): string => `${start}-${end}`

/** Exact findings, and the others. */
const count = (
  detector: PiiDetector.PiiDetector,
  samples: ReadonlyArray<PiiCorpus.Sample>
): Share & { readonly others: number } => {
  let found = 0
  let of = 0
  let others = 0
  for (const { spans, text } of samples) {
    const wanted = new Set(spans.map(([start, end]) => keyOf(start, end)))
    of += wanted.size
    for (const { end, start } of detector.find(text)) {
      if (wanted.has(keyOf(start, end))) found++
      else others++
    }
  }
  return { found, of, others }
}

const variants = 100

/** The same shape with other digits and letters. */
const like = (value: string, pick: PiiCorpus.Random): string =>
  value.replace(/[0-9A-Za-z]/g, (char) => {
    if (/\d/.test(char)) return String(pick(10))
    const letter = String.fromCharCode(65 + pick(26))
    return char === char.toUpperCase() ? letter : letter.toLowerCase()
  })

const chanceOf = (detector: PiiDetector.PiiDetector, type: string, values: ReadonlyArray<string>): number => {
  if (values.length === 0) return 0
  const pick = PiiCorpus.random(type.length)
  let passed = 0
  for (const value of values) {
    for (let index = 0; index < variants; index++) {
      if (detector.find(`on ${like(value, pick)} at`).length > 0) passed++
    }
  }
  return passed / (values.length * variants)
}

const measure = (entities: ReadonlyArray<PiiEntity.PiiEntity>, type: string): PiiRow => {
  const own = entities.filter((entity) => entity.type === type)
  const detector = PiiDetector.make({ entities: own })
  const { far, negatives, positives, unannounced, whole } = PiiCases.of(type)
  const values = whole.map(({ text }) => text)
  const announced = count(detector, positives)
  const wrong = negatives.filter((text) => detector.find(text).length > 0).length
  return {
    type,
    positives: announced,
    whole: count(detector, whole),
    far: count(detector, far),
    unannounced: count(detector, unannounced),
    wrong: wrong + announced.others,
    negatives: negatives.length,
    passing: chanceOf(PiiDetector.make({ entities: own, sensitivity: "high" }), type, values),
    chance: chanceOf(detector, type, values)
  }
}

export interface PiiRows {
  readonly standard: ReadonlyArray<PiiRow>
  readonly optional: ReadonlyArray<PiiRow>
}

/** One row a type, in the order of the library. */
export const pii: Effect.Effect<PiiRows> = Effect.map(Effect.orDie(PiiEntities.make()), (ready) => ({
  standard: PiiEntities.types.map((type) => measure(ready, type)),
  optional: PiiEntities.optional.map((type) => measure(NationalEntities.all, type))
}))

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string | number>>): string =>
  [head, head.map((_, index) => (index === 0 ? "---" : "---:")), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n")

const shown = ({ found, of }: Share): string => `${found} of ${of}`

const percent = (share: number, places = 0): string => `${(100 * share).toFixed(places)} %`

const detector = InjectionDetector.make()

const isFlagged = (text: string): boolean => detector.detect(text).score >= InjectionDetector.thresholds.medium

const flagged = (texts: ReadonlyArray<string>): Share => ({ found: texts.filter(isFlagged).length, of: texts.length })

const latin = [...attacks["instruction_override"]!, ...attacks["prompt_exfiltration"]!].filter((text) =>
  /^[\x20-\x7e]*$/.test(text)
)

type Shares = { readonly [name: string]: Share }

const sharesOf = (groups: { readonly [name: string]: ReadonlyArray<string> }): Shares =>
  Object.fromEntries(Object.entries(groups).map(([name, texts]) => [name, flagged(texts)]))

/** Texts flagged as injections at the default sensitivity. */
export const injection = (): {
  readonly kinds: Shares
  readonly ordinary: Shares
  readonly languages: Shares
  readonly evasions: Shares
} => ({
  kinds: sharesOf({ ...attacks, ...FreeWords.attacks }),
  ordinary: sharesOf({
    ...ordinary,
    "asked of assistants": FreeWords.requests,
    "words of injections, twelve languages": Object.values(ordinaryWords).flat()
  }),
  languages: sharesOf(languages),
  evasions: Object.fromEntries(
    Object.entries(evasions).map(([name, write]) => [name, flagged(latin.map((text) => write(text)))])
  )
})

export const sum = (shares: Shares): Share =>
  Object.values(shares).reduce((all, one) => ({ found: all.found + one.found, of: all.of + one.of }), {
    found: 0,
    of: 0
  })

const listed = (shares: Shares): ReadonlyArray<ReadonlyArray<string | number>> => [
  ...Object.entries(shares).map(([name, share]) => [name.replaceAll("_", " "), share.of, share.found]),
  ["all", sum(shares).of, sum(shares).found]
]

const invisible = (): ReadonlyArray<ReadonlyArray<string | number>> => {
  const guard = UnicodeGuard.window()
  const isFound = (text: string): boolean => guard.find(text, 0).length > 0
  const hidden = ["zero-width characters within words", "soft hyphens within words", "tag characters behind a greeting"]
  return [
    ...hidden.map((name) => {
      const texts = latin.map((text) => evasions[name]!(text))
      return [name, texts.length, texts.filter(isFound).length]
    }),
    ["ordinary texts of many scripts", legitimate.length, legitimate.filter(isFound).length]
  ]
}

const piiTables = ({ optional, standard }: PiiRows): { readonly [name: string]: string } => ({
  standard: table(
    ["type", "found", "texts without", "wrongly found", "recall", "precision"],
    standard.map((row) => [
      `\`${row.type}\``,
      shown(row.positives),
      row.negatives,
      row.wrong,
      percent(recall(row.positives)),
      percent(precision(row))
    ])
  ),
  optional: table(
    [
      "type",
      "beside a word",
      "word far off",
      "the whole text",
      "no word",
      "texts without",
      "wrongly found",
      "precision",
      "random strings that pass",
      "and need no word"
    ],
    optional.map((row) => [
      `\`${row.type}\``,
      shown(row.positives),
      shown(row.far),
      shown(row.whole),
      shown(row.unannounced),
      row.negatives,
      row.wrong,
      percent(precision(row)),
      percent(row.passing, 1),
      percent(row.chance, 1)
    ])
  )
})

const injectionTables = (): { readonly [name: string]: string } => {
  const measured = injection()
  const ground = (name: string, shares: Shares) => table([name, "texts", "flagged"], listed(shares))
  return {
    attacks: ground("kind of attack", measured.kinds),
    ordinary: ground("ordinary texts", measured.ordinary),
    languages: ground("language of attacks", measured.languages),
    evasions: table(
      ["how 43 attacks are written", "flagged"],
      Object.entries(measured.evasions).map(([name, { found }]) => [name, found])
    ),
    unicode: table(["texts", "number", "flagged"], invisible())
  }
}

/** Tables by the name of their place in the page. */
export const tablesOf = (rows: PiiRows): { readonly [name: string]: string } => ({
  ...piiTables(rows),
  ...injectionTables()
})

const placeOf = (name: string): RegExp => new RegExp(`(<!-- table: ${name} -->)[\\s\\S]*?(<!-- /table -->)`)

/** Redraws the tables of a page. */
export const withTables = (page: string, drawn: { readonly [name: string]: string }): string =>
  Object.entries(drawn).reduce(
    (text, [name, rows]) => text.replace(placeOf(name), (_, begin, end) => `${begin}\n\n${rows}\n\n${end}`),
    page
  )
