/**
 * What a clause wants, whatever it is about: what is to be done, what is to be found, and what is pointed at by its
 * number alone. All of it is read from the function words of English, none of it from the nouns.
 *
 * @internal
 * @since 0.1.0
 */
import * as Language from "./OfflineLanguage.js"
import type { Mention, Scene } from "./OfflineMentions.js"

const maxTokens = 80

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const asksFor = set("i we you they he she people someone one")
const modal = set(
  "can could may might would should will shall must let i'd i'll we'd we'll to please now then and also just"
)

const isPolite = (lower: string): boolean => /^(?:also|please|just|now|then|and|,|hi|hello|hey|ok|okay)$/.test(lower)

/**
 * "I want to X", "can you X", "please X", "X …" at the start of a clause; and what is wanted as a thing: "I want an X".
 */
const isCommanded = (scene: Scene, index: number, from: number): boolean => {
  let at = index - 1
  while (at >= from && isPolite(scene.tokens[at]!.lower)) at--
  if (at < from) return true
  while (at >= from && /^(?:a|an|the|my|our|this|that)$/.test(scene.tokens[at]!.lower)) at--
  if (at < from) return false
  const before = scene.tokens[at]!
  if (/^(?:want|wants|need|needs|like|wish|get|request)$/.test(before.lower)) return true
  if (at < index - 1) return false
  if (!asksFor.has(before.lower)) return before.lower === "to" || modal.has(before.lower)
  const earlier = scene.tokens[at - 1]
  return earlier !== undefined && at - 1 >= from && modal.has(earlier.lower)
}

/**
 * The stems a clause says as something to be done.
 *
 * @since 0.1.0
 * @category getters
 */
export const commands = (scene: Scene, index: number): ReadonlySet<string> => {
  const { from, to } = scene.segments[index]!
  const found = new Set<string>()
  for (let i = from; i < Math.min(to, from + maxTokens); i++) {
    const token = scene.tokens[i]!
    if (token.kind === "word" && !Language.isStopWord(token.lower) && isCommanded(scene, i, from)) found.add(token.stem)
  }
  return found
}

const knowing = "know|think|mean|remember|understand|speak|work|see|feel|believe|like|mind"
const getting = "buy|get|find|see|look|have|purchase|order|rent|borrow|hire|browse"

const wish = new RegExp(
  [
    `\\b(?:do|does|did|can|could) (?:you|they|we|i|the \\p{L}+|your \\p{L}+) (?:still |also |currently )?(?!(?:${knowing})\\b)(?:have|get|find|buy|\\p{L}+ )`,
    "\\b(?:have you got|you got|got any|got some|is there|are there|any)\\b",
    "\\b(?:find|search|browse|look for|looking for|searching for|in search of|show me|recommend|suggest)\\b",
    `\\b(?:want|need|like) (?!to\\b)|\\b(?:want|need|like) to (?:${getting})\\b`,
    "\\bhow much (?:is|are|does|do|for|would|was)\\b",
    "\\b(?:price|prices|cost|costs|rate|fee) (?:of|for)\\b|\\bcosts?\\b",
    "\\b(?:in stock|available)\\b",
    "^(?:what|which) .{1,80} (?:do|does) (?:you|they|we)\\b"
  ].join("|"),
  "u"
)

const spoken = (scene: Scene, from: number, to: number): string =>
  scene.tokens
    .slice(from, Math.min(to, from + maxTokens))
    .map((token) => token.lower)
    .join(" ")

/**
 * The clause asks whether there is something, or for something to be found.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isWish = (scene: Scene, index: number): boolean => {
  const { from, to } = scene.segments[index]!
  return wish.test(spoken(scene, from, to))
}

const skipped = set(
  "search searching find finding browse looking look list something anything everything stuff kind kinds sort sorts type types " +
    "cheapest priciest newest latest oldest best biggest largest smallest recommend suggest thanks please got price prices cost costs check seeking"
)

/** The words right after "do you", "can I", "want to" are verbs, and not what is looked for. */
const isVerb = (scene: Scene, index: number, from: number): boolean => {
  const previous = scene.tokens[index - 1]?.lower
  const earlier = scene.tokens[index - 2]?.lower
  if (index - 1 < from || previous === undefined) return false
  if (/^(?:you|they|we|i)$/.test(previous))
    return earlier !== undefined && /^(?:do|does|did|can|could|would|will)$/.test(earlier)
  if (/^(?:also|still|currently)$/.test(previous)) return isVerb(scene, index - 1, from)
  return previous === "to" && earlier !== undefined && /^(?:want|like|need|going|wish)$/.test(earlier)
}

const ends =
  /^(?:under|below|above|over|within|between|that|which|who|whose|is|are|was|were|do|does|did|can|could|will|would|if|when|because|since|costs?|available|left|please|cheaper|less|fewer|more|up|max|maximum|min|minimum|at|until|now|today|i|you|they|we|it|and|or|there|here)$/

/**
 * A stretch of tokens.
 *
 * @since 0.1.0
 * @category models
 */
export interface Span {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** "a down jacket", "an over bed table": after an article a preposition belongs to what it stands before. */
const isPartOfName = (scene: Scene, index: number, from: number): boolean => {
  const next = scene.tokens[index + 1]
  return (
    index > from &&
    /^(?:down|up|off|out|over|under|after|before|on|in)$/.test(scene.tokens[index]!.lower) &&
    /^(?:a|an|any|some)$/.test(scene.tokens[index - 1]!.lower) &&
    next?.kind === "word" &&
    !Language.isStopWord(next.lower)
  )
}

const begin = (scene: Scene, from: number, to: number): number => {
  let at = from
  while (at < to) {
    const token = scene.tokens[at]!
    const empty =
      token.kind === "symbol" ||
      (token.kind === "word" &&
        (Language.isStopWord(token.lower) || skipped.has(token.lower) || isVerb(scene, at, from)))
    if (!empty || isPartOfName(scene, at, from)) break
    at++
  }
  return at
}

const finish = (scene: Scene, from: number, to: number): number => {
  const { mentions, tokens } = scene
  let at = from
  while (at < to) {
    const token = tokens[at]!
    const next = tokens[at + 1]
    const joined = token.kind === "symbol" && at > from && /^['’/+-]$/.test(token.text)
    if (token.kind === "symbol" && !joined) break
    if (at > from && ends.test(token.lower)) break
    if (token.lower === "in" && next?.lower === "stock") break
    const valued = mentions.some((mention) => mention.kind === "number" && mention.from === at && isValue(mention))
    if (valued && at > from) break
    at++
  }
  while (at > from && (Language.isStopWord(tokens[at - 1]!.lower) || Language.isPreposition(tokens[at - 1]!.lower)))
    at--
  return at
}

const isValue = (mention: Mention): boolean => mention.money !== undefined || mention.bound !== undefined

/**
 * What a clause is about, for a search: its noun phrase without the question around it and without limits. `nouns` are
 * the stems of what the search is known to return: "books about whales" asks a search of books for whales.
 *
 * @since 0.1.0
 * @category getters
 */
export const sought = (scene: Scene, index: number, nouns: ReadonlySet<string>): Span | undefined => {
  const segment = scene.segments[index]!
  const last = Math.min(segment.to, segment.from + maxTokens)
  let from = begin(scene, segment.from, last)
  let to = finish(scene, from, last)
  const link = scene.tokens[from + 1]
  if (
    to - from > 2 &&
    nouns.has(scene.tokens[from]!.stem) &&
    /^(?:about|on|by|with|for|called|named|like|from)$/.test(link!.lower)
  ) {
    from = begin(scene, from + 2, to)
    to = finish(scene, from, last)
  }
  if (to <= from) return undefined
  const text = scene.text.slice(scene.tokens[from]!.start, scene.tokens[to - 1]!.end)
  return text.length > 200 ? undefined : { from, to, text }
}

/** A number or code that stands for something, and does not measure it. */
export const isIdentifier = (mention: Mention): boolean =>
  (mention.kind === "code" && /\d/.test(mention.text)) ||
  (mention.kind === "number" &&
    /^\d{3,}$/.test(mention.text) &&
    mention.money === undefined &&
    mention.percent !== true &&
    mention.bound === undefined)

/**
 * The clause asks about something by its number.
 *
 * @since 0.1.0
 * @category predicates
 */
export const pointsAt = (scene: Scene, index: number): Mention | undefined => {
  const { from, to } = scene.segments[index]!
  const found = scene.mentions.filter((mention) => mention.segment === index && isIdentifier(mention))
  if (found.length !== 1) return undefined
  const question =
    /^(?:(?:and|so|hi|hello|hey|please|,) )*(?:where|when|what|who|how|which|is|has|did|was|will|any|status|track|check|show|find|look)\b/
  return question.test(spoken(scene, from, to)) || (scene.segments.length === 1 && to - from <= 2)
    ? found[0]
    : undefined
}
