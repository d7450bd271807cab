/**
 * Verbs whose sentences state facts, with their forms and predicates.
 *
 * @private
 * @since 0.1.0
 */

/**
 * A word of a sentence.
 *
 * @category models
 */
export interface Word {
  /** As written, without surrounding punctuation. */
  readonly text: string
  readonly low: string
  /** The sentence is divided after it. */
  readonly breaks: boolean
}

/** The verb phrase in the first and in the third person, and their common predicate. */
const verbs: ReadonlyArray<readonly [first: string, third: string, predicate: string]> = [
  ["live in", "lives in", "lives in"],
  ["live at", "lives at", "lives in"],
  ["reside in", "resides in", "lives in"],
  ["am living in", "is living in", "lives in"],
  ["moved to", "moved to", "lives in"],
  ["have moved to", "has moved to", "lives in"],
  ["relocated to", "relocated to", "lives in"],
  ["have relocated to", "has relocated to", "lives in"],
  ["work at", "works at", "works at"],
  ["work for", "works for", "works at"],
  ["am working at", "is working at", "works at"],
  ["am working for", "is working for", "works at"],
  ["am employed by", "is employed by", "works at"],
  ["work as", "works as", "works as"],
  ["work in", "works in", "works in"],
  ["am called", "is called", "is called"],
  ["am named", "is named", "is called"],
  ["am from", "is from", "is from"],
  ["come from", "comes from", "is from"],
  ["am based in", "is based in", "is based in"],
  ["am located in", "is located in", "is located in"],
  ["am married to", "is married to", "is married to"],
  ["got married to", "got married to", "is married to"],
  ["go by", "goes by", "is called"],
  ["am engaged to", "is engaged to", "is engaged to"],
  ["am allergic to", "is allergic to", "is allergic to"],
  ["was born in", "was born in", "was born in"],
  ["was born on", "was born on", "was born on"],
  ["like", "likes", "likes"],
  ["love", "loves", "loves"],
  ["enjoy", "enjoys", "enjoys"],
  ["prefer", "prefers", "prefers"],
  ["hate", "hates", "hates"],
  ["dislike", "dislikes", "dislikes"],
  ["own", "owns", "owns"],
  ["speak", "speaks", "speaks"],
  ["study", "studies", "studies"],
  ["teach", "teaches", "teaches"],
  ["play", "plays", "plays"],
  ["drive", "drives", "drives"],
  ["use", "uses", "uses"],
  ["drink", "drinks", "drinks"],
  ["eat", "eats", "eats"],
  ["collect", "collects", "collects"],
  ["ride", "rides", "rides"],
  ["wear", "wears", "wears"],
  ["sing", "sings", "sings"],
  ["grow", "grows", "grows"]
]

/**
 * A verb phrase of a sentence.
 *
 * @category models
 */
export interface Pattern {
  readonly words: ReadonlyArray<string>
  readonly predicate: string
}

/** By first word, the longest first. */
const patternsOf = (pick: 0 | 1): ReadonlyMap<string, ReadonlyArray<Pattern>> => {
  const patterns = new Map<string, Array<Pattern>>()
  for (const verb of verbs) {
    const words = verb[pick].split(" ")
    const known = patterns.get(words[0]!)
    const pattern = { words, predicate: verb[2] }
    if (known === undefined) patterns.set(words[0]!, [pattern])
    else known.push(pattern)
  }
  for (const known of patterns.values()) known.sort((a, b) => b.words.length - a.words.length)
  return patterns
}

/**
 * By first word, the longest first.
 *
 * @category constants
 */
export const firstPerson = patternsOf(0)
/**
 * @category constants
 */
export const thirdPerson = patternsOf(1)

/** A verb in the first and third person of the present. */
type Forms = readonly [first: string, third: string]

const being: Forms = ["am", "is"]
const having: Forms = ["have", "has"]

const bases: ReadonlyMap<string, Forms> = new Map([
  ["be", being],
  ["have", having],
  ...verbs.flatMap(([first, third]) => {
    const [base = "", other = ""] = [first.split(" ")[0], third.split(" ")[0]]
    return base === other || base === "am" ? [] : [[base, [base, other]] as const]
  })
])

const pasts: ReadonlyMap<string, string> = new Map(
  (
    "lived live resided reside worked work came come liked like loved love enjoyed enjoy preferred prefer hated hate disliked dislike " +
    "owned own spoke speak spoken speak studied study taught teach played play drove drive driven drive used use was be were be had have " +
    "drank drink ate eat collected collect rode ride wore wear sang sing grew grow"
  )
    .split(" ")
    .flatMap((word, index, all) => (index % 2 === 0 ? [[word, all[index + 1] as string] as const] : []))
)

const gerundOf = (base: string): string => `${base.endsWith("e") ? base.slice(0, -1) : base}ing`

const gerunds: ReadonlyMap<string, string> = new Map(
  [...bases.keys()].filter((base) => base !== "be").map((base) => [gerundOf(base), base])
)

type Form = "base" | "past" | "gerund"

const baseOf = (word: string, form: Form): string | undefined =>
  form === "base" ? word : form === "past" ? pasts.get(word) : gerunds.get(word)

/**
 * The present form of a word, if it is a form of a verb.
 *
 * @category conversions
 */
export const present = (word: string, form: Form, isSpeaker: boolean): string | undefined =>
  bases.get(baseOf(word, form) ?? "")?.[isSpeaker ? 0 : 1]

/** First words of phrases that end or change a state. */
const changing: ReadonlySet<string> = new Set(
  "left sold quit stopped started gave joined switched resigned retired used moved relocated".split(" ")
)

/**
 * Whether a word is a form of one of these verbs.
 *
 * @category guards
 */
export const isVerb = (low: string): boolean =>
  firstPerson.has(low) ||
  thirdPerson.has(low) ||
  bases.has(low) ||
  pasts.has(low) ||
  gerunds.has(low) ||
  changing.has(low)
