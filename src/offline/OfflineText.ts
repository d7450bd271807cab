/**
 * Reads English text: tokens, stems and sentences, in one pass over a bounded text.
 *
 * @private
 * @since 0.1.0
 */
import { stemmer } from "stemmer"
import * as StopWords from "../internal/text/StopWords.js"

/**
 * `value` is the token as data: a number, or the text without quotation marks.
 *
 * @category models
 */
export interface Token {
  readonly kind: "word" | "number" | "code" | "date" | "email" | "url" | "quoted" | "mark"
  readonly text: string
  readonly lower: string
  readonly stem: string
  readonly value: string | number
  /** Capitalized, and not a common word. */
  readonly isName: boolean
}

/** Characters read of a text: of a longer one, three quarters from its start and the rest from its end. */
const maxCharacters = 16_000

const clip = (text: string): string =>
  text.length <= maxCharacters
    ? text
    : `${text.slice(0, (maxCharacters * 3) / 4)}\n${text.slice(text.length - maxCharacters / 4)}`

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const generic = set(
  "retrieve fetch find search lookup look list locate provide return calculate compute check display perform generate create make want need " +
    "function tool data information info detail details result results value values name number type parameter optional default user"
)

const openers = set(
  "find show calculate compute convert book order buy send create set add update delete remove cancel schedule plan search look check list track " +
    "write turn open start stop run draw fetch compare estimate solve summarize call read save sort pay transfer explain extend paint dye rent " +
    "view browse lookup got looking sell carry offer weather feed tune"
)

const currencies: { readonly [said: string]: string } = { "€": "eur", euro: "eur", $: "usd", dollar: "usd", "£": "gbp" }

/**
 * Stem of a lower-case word by Porter's algorithm, or the code of a currency.
 *
 * @category conversions
 */
export const stem = (lower: string): string => {
  const stemmed = stemmer(lower.replace(/['’]s?$/, ""))
  return currencies[stemmed] ?? stemmed
}

/**
 * Splits an identifier or a phrase into lower-case words: `getUserName`, `get_user-name` and `get.user name` alike.
 *
 * @category conversions
 */
export const words = (identifier: string): ReadonlyArray<string> =>
  identifier
    .slice(0, 2_000)
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}'’]+/u)
    .filter((word) => word !== "")

/**
 * @category predicates
 */
export const isContent = (lower: string): boolean => !StopWords.isStopWord(lower) && !generic.has(lower)

/**
 * Stems of the content words of a text.
 *
 * @category conversions
 */
export const contentStems = (text: string): ReadonlyArray<string> => words(text).filter(isContent).map(stem)

/**
 * @category conversions
 */
export const sentences = (text: string): ReadonlyArray<string> =>
  clip(text)
    .split(/(?<=[.!?])\s+|\n+/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(0, 400)

const end = "(?![\\p{L}\\p{N}_])"

const pattern = new RegExp(
  [
    "(?<email>[\\p{L}\\p{N}][\\p{L}\\p{N}._%+-]{0,63}@[\\p{L}\\p{N}-]{1,63}(?:\\.[\\p{L}\\p{N}-]{1,63}){1,5})",
    "(?<url>https?://[^\\s<>\"'`\\])]{1,500})",
    "(?<quoted>\"[^\"\\n]{1,200}\"|“[^”\\n]{1,200}”|(?<![\\p{L}\\p{N}])'[^'\\n]{1,200}'(?![\\p{L}\\p{N}]))",
    `(?<date>\\d{4}-\\d{2}-\\d{2}${end})`,
    `(?<number>\\d{1,3}(?:,\\d{3}){1,6}(?:\\.\\d{1,15})?${end}|\\d{1,20}(?:\\.\\d{1,15})?(?![\\p{L}\\p{N}_]|[-/:.][\\p{L}\\p{N}]))`,
    "(?<word>[\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_]*(?:[-_/.&'’][\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_]*)*)",
    "(?<mark>\\S)"
  ].join("|"),
  "giu"
)

const numerals = "zero one two three four five six seven eight nine ten eleven twelve".split(" ")
const valueOf = (kind: Token["kind"], text: string): string | number =>
  kind === "number" ? Number(text.replaceAll(",", "")) : kind === "quoted" ? text.slice(1, -1) : text

const kindOf = (groups: { readonly [kind: string]: string | undefined }, text: string): Token["kind"] => {
  if (groups["word"] !== undefined) return /\p{N}/u.test(text) || /\w_\w/.test(text) ? "code" : "word"
  return (["email", "url", "quoted", "date", "number"] as const).find((kind) => groups[kind] !== undefined) ?? "mark"
}

/**
 * @category conversions
 */
export const tokens = (text: string): ReadonlyArray<Token> => {
  const found: Array<Token> = []
  for (const match of clip(text).matchAll(pattern)) {
    const said = match[0]
    const kind = kindOf(match.groups ?? {}, said)
    const lower = said.toLowerCase()
    const numeral = kind === "word" ? numerals.indexOf(lower) : -1
    const isOrdinary = StopWords.isStopWord(lower) || openers.has(lower) || generic.has(lower)
    found.push({
      kind: numeral >= 2 ? "number" : kind,
      text: said,
      lower,
      stem: stem(lower),
      value: numeral >= 2 ? numeral : valueOf(kind, said),
      isName: kind === "word" && /^\p{Lu}/u.test(said) && !isOrdinary
    })
  }
  return found
}
