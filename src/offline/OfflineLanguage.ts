/**
 * How the offline model reads English: tokens, stems and clauses. Everything is one pass over a bounded text.
 *
 * @internal
 * @since 0.1.0
 */
import * as StopWords from "../internal/text/StopWords.js"

/**
 * @since 0.1.0
 * @category models
 */
export type TokenKind = "word" | "number" | "code" | "date" | "time" | "email" | "url" | "quoted" | "symbol"

/**
 * `start` and `end` are offsets into the text; `sentence` and `segment` count from 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
  readonly lower: string
  readonly stem: string
  readonly start: number
  readonly end: number
  readonly capital: boolean
  readonly sentence: number
  readonly segment: number
}

/**
 * A clause: what stands between two conjunctions, commas or ends of sentences. `lead` is what separates it from the one
 * before.
 *
 * @since 0.1.0
 * @category models
 */
export interface Segment {
  readonly from: number
  readonly to: number
  readonly sentence: number
  readonly lead: "start" | "sentence" | "and" | "comma"
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Reading {
  readonly text: string
  readonly tokens: ReadonlyArray<Token>
  readonly segments: ReadonlyArray<Segment>
}

/**
 * Characters of one text that are read; of a longer one, three quarters from its beginning and the rest from its end.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxCharacters = 16_000

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** Verbs that say only that something is wanted: they match any tool alike. */
const genericVerbs = set(
  "get retrieve fetch find search lookup look show tell list locate give provide return calculate compute determine identify obtain check " +
    "display request perform generate create make estimate want need help function tool data information info details detail result results value values " +
    "name number type parameter optional default specify specified time list user"
)

const imperatives = set(
  "find get give tell show calculate compute determine identify what who where when which how why please can could would will should is are " +
    "do does did book order buy send create make set add update delete remove cancel schedule plan search look check list locate convert " +
    "translate write draft play turn open close start stop run generate draw fetch retrieve provide compare estimate predict solve analyze analyse " +
    "summarize summarise help let remind call email read save store recommend suggest sort filter track pay transfer explain describe also then " +
    "first second third fourth lastly finally next additionally and but or if in on at to from by for with after before the a an i my we our " +
    "you your he she they it its this that these those assuming given suppose imagine now later going based using use there here hi hello hey " +
    "thanks thank no yes ok okay not only just as all any some each both however while since because so hire register rent cook modify change " +
    "simulate evaluate measure adjust assign reserve apply design build test"
)

/**
 * Words that a request has whatever it is about.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isStopWord = (lower: string): boolean =>
  isStop(lower) || (lower.includes("'") && isStop(lower.slice(0, lower.indexOf("'"))))

const isStop = (lower: string): boolean => StopWords.english.has(lower) || StopWords.request.has(lower)

/**
 * @since 0.1.0
 * @category predicates
 */
export const isGeneric = (lower: string): boolean => genericVerbs.has(lower)

/**
 * Words that open an English sentence in capitals without being a name.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isOpener = (lower: string): boolean => imperatives.has(lower)

const prepositions = set(
  "in on at to from by for with of about into near via using as between until till since after before during within per named called titled " +
    "against over under around inside through toward towards onto versus vs than starting"
)

/**
 * @since 0.1.0
 * @category predicates
 */
export const isPreposition = (lower: string): boolean => prepositions.has(lower)

const suffixes = [
  "izations",
  "ization",
  "izing",
  "ized",
  "izes",
  "ize",
  "ational",
  "ationary",
  "utionary",
  "ations",
  "ation",
  "itions",
  "ition",
  "ements",
  "ement",
  "fulness",
  "iveness",
  "ingly",
  "ments",
  "ment",
  "ities",
  "ates",
  "ated",
  "ating",
  "ator",
  "ate",
  "ions",
  "ional",
  "ion",
  "ings",
  "ing",
  "ers",
  "er",
  "ors",
  "or",
  "edly",
  "ed",
  "ally",
  "ly",
  "al",
  "ives",
  "ive",
  "ary",
  "able",
  "ible",
  "ness",
  "ity",
  "ical",
  "ic",
  "es",
  "e",
  "y"
] as const

const sameMeaning: ReadonlyMap<string, string> = new Map(
  [
    "buy purchase",
    "price cost",
    "movie film",
    "weather forecast",
    "mail email",
    "picture image photo",
    "conversion convert exchange",
    "trip travel journey",
    "car vehicle automobile",
    "doctor physician",
    "cancel cancellation",
    "speed velocity",
    "begin start initial",
    "end final finish",
    "fast quick",
    "big large",
    "remove delete erase",
    "reserve reservation book booking",
    "sum total",
    "country nation",
    "roots zeros",
    "town city",
    "lawsuit case",
    "bought purchased",
    "flat apartment",
    "wage salary",
    "latest recent newest",
    "hotel accommodation lodging",
    "divisor factor",
    "evolution evolutionary",
    "population inhabitants"
  ].flatMap((line) => {
    const [head = "", ...rest] = line.split(" ")
    return rest.map((word) => [word, head] as const)
  })
)

/**
 * The stem of a lower-case word: plural and common suffixes off, a few synonyms folded together.
 *
 * @since 0.1.0
 * @category combinators
 */
export const stem = (lower: string): string => {
  const remembered = stems.get(lower)
  if (remembered !== undefined) return remembered
  const found = reduce(lower)
  if (stems.size >= 8_192) stems.clear()
  if (lower.length <= 64) stems.set(lower, found)
  return found
}

const stems = new Map<string, string>()

const reduce = (lower: string): string => {
  const known = sameMeaning.get(lower)
  const word = strip(known ?? lower)
  return known === undefined ? (folded.get(word) ?? word) : word
}

const strip = (lower: string): string => {
  let word = lower.replace(/['’]s?$/, "")
  if (word.length <= 3) return word
  if (word.endsWith("ies") && word.length > 4) word = `${word.slice(0, -3)}y`
  else if (/(?:ss|sh|ch|x|z)es$/.test(word)) word = word.slice(0, -2)
  else if (word.endsWith("s") && !/(?:ss|us|is)$/.test(word)) word = word.slice(0, -1)
  for (const suffix of suffixes) {
    if (
      word.length - suffix.length >= (suffix.length < 3 && suffix !== "e" && suffix !== "y" ? 4 : 3) &&
      word.endsWith(suffix)
    ) {
      word = word.slice(0, -suffix.length)
      break
    }
  }
  return word.length > 3 && /([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word
}

const folded: ReadonlyMap<string, string> = new Map(
  Array.from(sameMeaning, ([word, head]) => [strip(word), strip(head)] as const).filter(([word, head]) => word !== head)
)

/**
 * An identifier or a phrase as lower-case words: `getUserName`, `get_user-name` and `get.user name` alike.
 *
 * @since 0.1.0
 * @category combinators
 */
export const words = (identifier: string): ReadonlyArray<string> =>
  identifier
    .slice(0, 2_000)
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .replace(/(\p{L})(\p{Nd})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}'’²³]+/u)
    .filter((word) => word !== "")

const month =
  "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
const day = "\\d{1,2}(?:st|nd|rd|th)?"
const notWord = "(?![\\p{L}\\p{N}_])"

const tokenPattern = new RegExp(
  [
    `(?<email>[\\p{L}\\p{N}][\\p{L}\\p{N}._%+-]{0,63}@[\\p{L}\\p{N}-]{1,63}(?:\\.[\\p{L}\\p{N}-]{1,63}){1,5})`,
    `(?<url>https?://[^\\s<>"'\`\\])]{1,500})`,
    `(?<quoted>"[^"\\n]{1,200}"|“[^”\\n]{1,200}”|‘[^’\\n]{1,200}’|\`[^\`\\n]{1,200}\`|(?<![\\p{L}\\p{N}])'[^'\\n]{1,200}'(?![\\p{L}\\p{N}]))`,
    `(?<date>\\d{4}-\\d{2}-\\d{2}(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?:Z|[+-]\\d{2}:?\\d{2})?)?${notWord}` +
      `|\\d{1,2}/\\d{1,2}/\\d{4}${notWord}|${month}\\.?\\s{0,2}${day}(?:,?\\s{1,2}\\d{4})?${notWord}` +
      `|${day}\\s{1,2}(?:of\\s{1,2})?${month}(?:,?\\s{1,2}\\d{4})?${notWord}|${month}\\s{1,2}\\d{4}${notWord})`,
    `(?<time>\\d{1,2}:\\d{2}(?::\\d{2})?(?:\\s?[ap]\\.?m${notWord}\\.?)?${notWord}|\\d{1,2}\\s?[ap]m${notWord})`,
    `(?<number>\\d{1,3}(?:,\\d{3}){1,6}(?:\\.\\d{1,15})?${notWord}|\\d{1,20}(?:\\.\\d{1,15})?(?![\\p{L}\\p{N}_]|[-/:.][\\p{L}\\p{N}]))`,
    `(?<chunk>[\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_²³]*(?:[-_/.:&'’^][\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_²³]*)*)`,
    `(?<symbol>\\S)`
  ].join("|"),
  "giu"
)

const clip = (text: string): string =>
  text.length <= maxCharacters
    ? text
    : `${text.slice(0, (maxCharacters * 3) / 4)}\n${text.slice(text.length - maxCharacters / 4)}`

/** Some callers hand over the whole request in quotation marks. */
const unquote = (text: string): string => {
  const trimmed = text.trim()
  return trimmed.length > 2 && /^["“]/.test(trimmed) && /["”]$/.test(trimmed) && !/["“”]/.test(trimmed.slice(1, -1))
    ? trimmed.slice(1, -1)
    : trimmed
}

const kindOf = (groups: { readonly [key: string]: string | undefined }, text: string): TokenKind => {
  if (groups["chunk"] === undefined) {
    const inner = groups["quoted"] === undefined ? "" : text.slice(1, -1).trim()
    if (/^[^\s@]{1,64}@[^\s@.]{1,63}(?:\.[^\s@.]{1,63}){1,5}$/.test(inner)) return "email"
    if (/^https?:\/\/\S+$/.test(inner)) return "url"
    if (/^\d{4}-\d{2}-\d{2}$/.test(inner)) return "date"
    for (const kind of ["email", "url", "quoted", "date", "time", "number"] as const)
      if (groups[kind] !== undefined) return kind
    return "symbol"
  }
  return /\p{N}/u.test(text) || /[\p{L}\p{N}]_[\p{L}\p{N}]/u.test(text) ? "code" : "word"
}

const conjunctions = set("and then also plus but & while whereas besides")

/**
 * Reads a text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = (input: string): Reading => {
  const text = clip(unquote(input))
  const tokens: Array<Token> = []
  const segments: Array<{ from: number; to: number; sentence: number; lead: Segment["lead"] }> = []
  let sentence = 0
  let lead: Segment["lead"] = "start"
  let open: { from: number; to: number; sentence: number; lead: Segment["lead"] } | undefined
  let end = 0
  const close = (next: Segment["lead"]) => {
    if (open !== undefined) segments.push(open)
    if (open !== undefined || next === "sentence" || lead === "comma") lead = next
    if (next === "sentence" && open !== undefined) sentence++
    open = undefined
  }
  for (const match of text.matchAll(tokenPattern)) {
    const raw = match[0]
    const start = match.index
    if (text.slice(end, start).includes("\n")) close("sentence")
    end = start + raw.length
    const kind = kindOf(match.groups ?? {}, raw)
    const value = match.groups?.["quoted"] !== undefined ? raw.slice(1, -1).trim() : raw
    const lower = value.toLowerCase().replace(/’/g, "'")
    const parts = kind === "word" ? lower : ""
    if (open === undefined) open = { from: tokens.length, to: tokens.length, sentence, lead }
    open.to = tokens.length + 1
    tokens.push({
      kind,
      text: value,
      lower,
      stem: parts === "" ? lower : stem(parts),
      start,
      end,
      capital: /^\p{Lu}/u.test(value),
      sentence,
      segment: segments.length
    })
    if (kind === "symbol") {
      if (raw === "." || raw === "?" || raw === "!" || raw === ";") {
        const before = tokens[tokens.length - 2]
        const abbreviation =
          raw === "." && before !== undefined && before.end === start && before.text.length === 1 && before.capital
        if (!abbreviation && !/[\p{L}\p{N}]/u.test(text.charAt(end))) close("sentence")
      } else if (raw === "," || raw === "&" || raw === "(" || raw === ")") close(raw === "&" ? "and" : "comma")
    } else if (kind === "word" && conjunctions.has(lower)) close("and")
  }
  close("sentence")
  return { text, tokens, segments }
}

/**
 * The stems of a text that carry meaning, each once, in order.
 *
 * @since 0.1.0
 * @category getters
 */
export const contentStems = (text: string): ReadonlyArray<string> =>
  Array.from(
    new Set(
      words(text)
        .filter((word) => !isStopWord(word) && word.length > 1)
        .map(stem)
    )
  )

/**
 * The sentences of a text, trimmed, at most 400.
 *
 * @since 0.1.0
 * @category getters
 */
export const sentences = (text: string): ReadonlyArray<string> =>
  clip(text)
    .split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"“'])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")
    .slice(0, 400)
