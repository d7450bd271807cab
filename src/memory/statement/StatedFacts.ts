/**
 * Reads facts from plain English sentences by their words.
 *
 * Reads clauses of the forms of `ClauseFacts`, about the speaker (`I`, `my`, `we`) or a named subject. Phrases for
 * past states (`no longer`, `not … anymore`, `used to`, `stopped`, `moved out of`) retract a fact, time phrases
 * (`since May 2021`, `from 2020 to 2022`, `until 2022`, `for ten years`) set its validity, and contrasts (`not X but
 * Y`, `Y, not X`) do both. Corrections (`FactCorrections`) mean what the conversation stated before. Questions,
 * negations, suppositions, wishes, reports, quotations and code state no facts. Passwords, keys and the like are
 * skipped.
 *
 * @private
 * @since 0.1.0
 */
import type { Triple } from "../facts/Fact.js"
import * as ClauseFacts from "./ClauseFacts.js"
import * as FactCorrections from "./FactCorrections.js"
import * as FactSecrets from "./FactSecrets.js"
import * as FactTense from "./FactTense.js"
import * as FactTimes from "./FactTimes.js"
import { isVerb, type Word } from "./FactVerbs.js"
import * as StatementText from "./StatementText.js"

const { wordSet } = StatementText

/** Maximum characters of a text that are read. */
const maxChars = 50_000

/** A sentence with one of these words may be about something untrue, or something that another person said. */
const doubtful = wordSet(
  "if unless whether would could should might may maybe perhaps possibly probably supposedly allegedly reportedly apparently suppose " +
    "supposing imagine pretend assume assuming hypothetically wish wished hope hoped hopefully guess guessed think thinks thought believe " +
    "believes believed doubt doubts seem seems seemed say says said saying tell tells told heard hear claim claims claimed mention " +
    "mentioned rumor rumour according dream dreamed dreamt story novel example instance e.g otherwise will shall won't shan't ought " +
    "ignore disregard forget"
)
const opening = wordSet(
  "and but so also well actually anyway ok okay yes hi hello hey btw fyi please remember note that by the way too correction sorry oops " +
    "wait no"
)
/** Adverbs that may stand before a verb, and say nothing that is kept. */
const adverbs = wordSet(
  "really always currently just recently now also still often usually mostly mainly already finally actually sometimes generally"
)
/** Phrases that may end a clause, and say nothing that is kept. */
const trailing: ReadonlyArray<ReadonlyArray<string>> = [
  "at the moment",
  "these days",
  "right now",
  "at present",
  "for now",
  "by now",
  "as well",
  "lately"
].map((phrase) => phrase.split(" "))
/** Words of clauses that tell when something changed. */
const changes = wordSet("moved relocated joined switched married")

/** The month of May is not a word of doubt. */
const isDoubtful = ({ low, text }: Word): boolean =>
  (doubtful.has(low) && text !== "May") || low.endsWith("'d") || low.endsWith("'ll")

/**
 * A fact as a text states or retracts it.
 *
 * @category models
 */
export interface Stated extends Triple {
  readonly retracted?: true | undefined
  readonly times?: FactTimes.Times | undefined
  /** It was true, and no longer is when it is stated. */
  readonly isPast?: true | undefined
  /** It has one object at a time, whatever its predicate. */
  readonly replaces?: true | undefined
}

/**
 * @category models
 */
export interface Options {
  readonly speaker: string
  readonly limit: number
  /** When it was said, in milliseconds since the epoch. Without it, relative times are not read. */
  readonly at?: number | undefined
  /** What the speaker stated before, in the same conversation. */
  readonly before?: FactCorrections.Context | undefined
}

const lowsOf = (words: ReadonlyArray<Word>): ReadonlyArray<string> => words.map(({ low }) => low)

/** `from the first of February 2020 to 2022` is no longer than that. */
const maxTimes = 10

interface Timed {
  readonly words: ReadonlyArray<Word>
  readonly times: FactTimes.Times
}

/** The time phrase at the end of a clause, and the rest of it. */
const timedEnd = (words: ReadonlyArray<Word>, now: number | undefined): Timed | undefined => {
  const lows = lowsOf(words)
  const isChange = lows.some((low) => changes.has(low))
  for (let place = words.length - 2; place > 0 && place >= words.length - maxTimes; place--) {
    const [times, length] =
      FactTimes.at(lows, place, now) ?? (isChange ? FactTimes.changeAt(lows, place, now) : undefined) ?? []
    if (times !== undefined && place + (length ?? 0) === words.length) return { words: words.slice(0, place), times }
  }
  return undefined
}

const none: FactTimes.Times = {}

const we: ReadonlyMap<string, string> = new Map([
  ["we", "I"],
  ["are", "am"],
  ["were", "was"]
])

/** In the singular: what `we` do, the speaker does. */
const ofOne = (words: ReadonlyArray<Word>): ReadonlyArray<Word> =>
  words[0]?.low !== "we"
    ? words
    : words.map((word, at) => {
        const text = at < 2 ? we.get(word.low) : undefined
        return text === undefined ? word : { ...word, text, low: text.toLowerCase() }
      })

const endsWith = (words: ReadonlyArray<Word>, phrase: ReadonlyArray<string>): boolean =>
  words.length > phrase.length + 2 && phrase.every((low, at) => words[words.length - phrase.length + at]?.low === low)

/** Without greetings, adverbs and phrases that say nothing that is kept. */
const essence = (clause: ReadonlyArray<Word>): ReadonlyArray<Word> => {
  let from = 0
  while (from < clause.length - 1 && opening.has(clause[from]!.low)) from++
  const words = ofOne(clause.slice(from)).filter(
    ({ low }, at, all) => at === 0 || !adverbs.has(low) || !isVerb(all[at + 1]?.low ?? "")
  )
  const phrase = trailing.find((one) => endsWith(words, one))
  return phrase === undefined ? words : words.slice(0, words.length - phrase.length)
}

/** `I live in Bern, not in Basel`; `I don't live in Basel but in Bern`. */
interface Contrast {
  /** A clause that states one of the two. */
  readonly words: ReadonlyArray<Word>
  readonly other: ReadonlyArray<Word>
  readonly states: "clause" | "other"
}

const contrastIn = (words: ReadonlyArray<Word>): Contrast | undefined => {
  const not = words.findIndex(({ low }, at) => at > 2 && low === "not" && words[at - 1]!.breaks)
  if (not > 0 && not < words.length - 1) {
    return { words: words.slice(0, not), other: words.slice(not + 1), states: "clause" }
  }
  const but = words.findIndex(({ low }, at) => at > 2 && low === "but")
  if (but < 0 || but === words.length - 1) return undefined
  const positive = FactTense.positive(words.slice(0, but), words[0]!.low === "i")
  return positive === undefined ? undefined : { words: positive, other: words.slice(but + 1), states: "other" }
}

const ofContrast = ({ other, states, words }: Contrast, speaker: string): ReadonlyArray<Stated> =>
  ClauseFacts.of(words, speaker)
    .slice(0, 1)
    .flatMap((fact) => {
      const object = ClauseFacts.objectIn(other, fact.predicate)
      if (object === undefined) return []
      const second = { ...fact, object }
      return states === "clause" ? [retraction(second), fact] : [retraction(fact), second]
    })

const retraction = ({ object, predicate, subject }: Triple): Stated => ({ subject, predicate, object, retracted: true })

const ofClause = (
  clause: ReadonlyArray<Word>,
  leading: FactTimes.Times,
  { at: now, speaker }: Options,
  context: FactCorrections.Context
): ReadonlyArray<Stated> => {
  const whole = essence(clause)
  const contrast = contrastIn(whole)
  if (contrast !== undefined) return ofContrast(contrast, speaker)
  let timed = timedEnd(whole, now) ?? { words: whole, times: leading }
  const corrected = FactCorrections.inClause(timed.words, speaker, context)
  if (corrected !== undefined) {
    return [...corrected.retracts.map(retraction), ...corrected.states]
  }
  let tensed = FactTense.read(timed.words, timed.times)
  // `I like the music from 1980 to 1990`
  if (timed.times.from !== undefined && timed.times.to !== undefined && !tensed.isPast) {
    timed = { words: whole, times: none }
    tensed = FactTense.read(whole, none)
  }
  const { isPast, retracted, words } = tensed
  return ClauseFacts.of(words, speaker).map(({ replaces, ...fact }) => ({
    ...fact,
    ...(retracted ? { retracted: true } : {}),
    ...(timed.times === none ? {} : { times: timed.times }),
    ...(isPast ? { isPast: true } : {}),
    ...(replaces === true && !retracted && !isPast ? { replaces } : {})
  }))
}

/** What a clause denies, if the next one states another object: `I don't like tea, I like coffee`. */
const deniedBefore = (
  clause: ReadonlyArray<Word>,
  next: ReadonlyArray<Stated>,
  speaker: string
): ReadonlyArray<Stated> => {
  const words = essence(clause)
  const positive = ClauseFacts.isDenied(words) ? FactTense.positive(words, words[0]?.low === "i") : undefined
  const denied = positive === undefined ? undefined : ClauseFacts.one(positive, speaker)
  const isContrast = next.some(
    ({ predicate, retracted, subject }) =>
      retracted !== true && predicate === denied?.predicate && subject === denied.subject
  )
  return denied === undefined || !isContrast ? [] : [retraction(denied)]
}

/** The time phrase at the beginning of a sentence. */
const timedBeginning = (words: ReadonlyArray<Word>, now: number | undefined): Timed => {
  const [times, length = 0] = FactTimes.at(lowsOf(words.slice(0, maxTimes)), 0, now) ?? []
  return times === undefined || length === words.length ? { words, times: none } : { words: words.slice(length), times }
}

interface Read {
  readonly facts: ReadonlyArray<Stated>
  readonly context: FactCorrections.Context
}

const ofSentence = (sentence: StatementText.Sentence, options: Options, before: FactCorrections.Context): Read => {
  if (!StatementText.isPlain(sentence)) return { facts: [], context: before }
  const all = StatementText.wordsOf(sentence.text)
  const correction = FactCorrections.inSentence(all, before)
  const retracts = (correction?.retracts ?? []).map(retraction)
  const context = FactCorrections.without(before, correction?.retracts ?? [])
  const facts: Array<Stated> = [...retracts, ...(correction?.states ?? [])]
  const { times, words } = timedBeginning(correction?.rest ?? all, options.at)
  if (words.length > 0 && !words.some(isDoubtful)) {
    const clauses = StatementText.clausesOf(words)
    for (const [index, clause] of clauses.entries()) {
      const found = ofClause(clause, index === 0 ? times : none, options, context)
      const denied = index === 0 ? [] : deniedBefore(clauses[index - 1]!, found, options.speaker)
      facts.push(...denied, ...found)
    }
  }
  const kept = facts.filter((fact) => !FactSecrets.isSecret(fact))
  const stated = kept.filter(({ retracted }) => retracted !== true)
  return { facts: kept, context: stated.length === 0 ? context : FactCorrections.after(context, stated) }
}

/**
 * The distinct facts of a text, in its order, and what a later text of the speaker may correct.
 *
 * @category conversions
 */
export const readAfter = (text: string, options: Options): Read => {
  const found = new Map<string, Stated>()
  let context = options.before ?? FactCorrections.nothing
  for (const line of StatementText.linesOf(text.slice(0, maxChars))) {
    for (const sentence of StatementText.sentencesOf(line)) {
      const read = ofSentence(sentence, options, context)
      context = read.context
      for (const fact of read.facts) {
        if (found.size >= options.limit) return { facts: [...found.values()], context }
        const { object, predicate, subject, ...rest } = fact
        found.set(JSON.stringify([subject, predicate, object, rest]).toLowerCase(), fact)
      }
    }
  }
  return { facts: [...found.values()], context }
}

/**
 * The distinct facts of a text, in its order.
 *
 * @category conversions
 */
export const read = (text: string, options: Options): ReadonlyArray<Stated> => readAfter(text, options).facts
