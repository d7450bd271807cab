/**
 * Reads facts from plain English sentences by their words.
 *
 * Reads sentences of the form `X is / are / was / were / has / have Y`, `X's A is Y`, and those with the verbs of
 * `FactVerbs` (`lives in`, `works at`, `likes`, …), about the speaker (`I`, `my`) or a named subject. Phrases for past
 * states (`no longer`, `not … anymore`, `used to`, `stopped`, `moved out of`) retract a fact, and time phrases (`since
 * May 2021`, `from 2020 to 2022`, `until 2022`) set its validity. Questions, negations, suppositions, wishes, reports,
 * quotations and code state no facts. Passwords, keys and the like are skipped.
 *
 * @private
 * @since 0.1.0
 */
import type { Triple } from "../facts/Fact.js"
import * as FactSecrets from "./FactSecrets.js"
import * as FactTense from "./FactTense.js"
import * as FactTimes from "./FactTimes.js"
import { firstPerson, type Pattern, thirdPerson, type Word } from "./FactVerbs.js"

/** Maximum characters of a text that are read. */
const maxChars = 50_000
const maxSentence = 400
const maxSubject = 60
const maxObject = 120
const maxSubjectWords = 8

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** A sentence with one of these words may be about something untrue, or something that another person said. */
const doubtful = wordSet(
  "if unless whether would could should might may maybe perhaps possibly probably supposedly allegedly reportedly apparently suppose " +
    "supposing imagine pretend assume assuming hypothetically wish wished hope hoped hopefully guess guessed think thinks thought believe " +
    "believes believed doubt doubts seem seems seemed say says said saying tell tells told heard hear claim claims claimed mention " +
    "mentioned rumor rumour according dream dreamed dreamt story novel example instance e.g otherwise will shall won't shan't ought " +
    "ignore disregard forget"
)
const denying = wordSet(
  "not no never none nobody nothing neither nor cannot without hardly barely nowhere almost nearly"
)
const asking = wordSet(
  "who whom whose what which when where why how is are was were am do does did can could will would shall should may might has have had " +
    "isn't aren't wasn't weren't don't doesn't didn't can't won't let let's"
)
/** Nobody can tell later whom these refer to. */
const vague = wordSet(
  "i me you he him she it we us they them this that these those there here who what which someone somebody anyone anybody everyone " +
    "everybody something anything everything one ones both all some any such his hers their theirs your yours its mine ours myself " +
    "yourself her and or so then now also as to in on at for with from of-course when while after before since because although though " +
    "once until whenever whatever today tomorrow yesterday please thanks"
)
const opening = wordSet(
  "and but so also well actually anyway ok okay yes hi hello hey btw fyi please remember note that by the way too"
)
const cutting = wordSet("because although though but which who where when while whereas since until unless except so")
const closing = wordSet("now too currently today already please thanks though anyway actually again nowadays right")
const speakers = wordSet("i my our we")
const hollow = wordSet(
  "it that this you me them him her us so what there here one sure sorry ok okay fine right true false done ready back gone about glad"
)
/** Words that an object must not begin with, because it would not say what it is. */
const pointing = wordSet(
  "it this that these those you me him her them us he she they we my your his their its our here there what who which"
)
const titles = wordSet("dr mr mrs ms prof st")
const participles = wordSet(
  "been being done gone seen made taken got gotten had become come given shown known written heard found left lost told said to just " +
    "already always ever recently"
)
const articles = wordSet("a an the")

const being = wordSet("is are was were")
const having = wordSet("has have")

const edges = /^[("'“”‘’«»[*_~-]+|(?<![)"'“”‘’«»\]*_~,:!.?-])[)"'“”‘’«»\]*_~,:!.?-]+$/g

const wordsOf = (sentence: string): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  for (const raw of sentence.replaceAll("’", "'").split(" ")) {
    const bare = raw.replace(edges, "")
    if (bare === "") continue
    const low = bare.toLowerCase()
    const text = titles.has(low) && raw.endsWith(".") ? `${bare}.` : bare
    const breaks = /[,:]["'”)]*$/.test(raw)
    if (low === "i'm") words.push({ text: "I", low: "i", breaks: false }, { text: "am", low: "am", breaks })
    else if (low === "name's")
      words.push({ text: "name", low: "name", breaks: false }, { text: "is", low: "is", breaks })
    else words.push({ text, low, breaks })
  }
  return words
}

const abbreviations = wordSet("mr mrs ms dr prof st sr jr vs etc approx inc ltd co no")

/** Whether the period at this place ends a sentence. */
const ends = (text: string, at: number): boolean => {
  const next = text[at + 1]
  if (next !== undefined && next !== " " && next !== '"' && next !== "”" && next !== ")") return false
  let from = at
  while (from > 0 && at - from < 8 && /[A-Za-z.]/.test(text[from - 1]!)) from--
  const before = text.slice(from, at).toLowerCase()
  return !(abbreviations.has(before) || /^[a-z]$|\./.test(before))
}

interface Sentence {
  readonly text: string
  readonly asks: boolean
}

const sentencesOf = (line: string): ReadonlyArray<Sentence> => {
  const sentences: Array<Sentence> = []
  let from = 0
  const push = (to: number, asks: boolean): void => {
    const text = line.slice(from, to).trim()
    if (text !== "") sentences.push({ text, asks })
    from = to + 1
  }
  for (let at = 0; at < line.length; at++) {
    const char = line[at]
    if (char === "?" || char === "!" || char === ";" || char === "…") push(at, char === "?")
    else if (char === "." && ends(line, at)) push(at, false)
  }
  push(line.length, false)
  return sentences
}

const fence = /^\s*(?:```|~~~)/
const quoted = /^\s*(?:>|\||(?:system|assistant|user|human|ai|tool)\s*:)/i
const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/

/** The lines of prose: no code, quotation or transcript. */
const linesOf = (text: string): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let inCode = false
  for (const line of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
    if (fence.test(line)) inCode = !inCode
    else if (!inCode && !quoted.test(line) && !/^(?: {4}|\t)/.test(line)) {
      lines.push(line.replace(bullet, "").replace(/\s+/g, " "))
    }
  }
  return lines
}

const code = /[`{}<>=\\]|:\/\//
const quotation = /["“«]([^"”»]{0,400})/

const isPlain = ({ asks, text }: Sentence): boolean => {
  if (asks || text.length > maxSentence || code.test(text)) return false
  const inner = quotation.exec(text)?.[1]
  return inner === undefined || inner.trim().split(" ").length <= 3
}

/**
 * Clauses that could stand alone: what follows a conjunction, or a comma if it begins with the speaker.
 */
const clausesOf = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> => {
  const clauses: Array<ReadonlyArray<Word>> = []
  let from = 0
  for (let at = 1; at < words.length; at++) {
    const joins = words[at]!.low === "and" || cutting.has(words[at]!.low)
    const next = words[at + (joins ? 1 : 0)]
    if (next === undefined || !speakers.has(next.low) || !(joins || words[at - 1]!.breaks)) continue
    clauses.push(words.slice(from, at))
    from = joins ? at + 1 : at
  }
  clauses.push(words.slice(from))
  return clauses
}

/** The month of May is not a word of doubt. */
const isDoubtful = ({ low, text }: Word): boolean =>
  (doubtful.has(low) && text !== "May") || low.endsWith("'d") || low.endsWith("'ll")

const isDenied = (words: ReadonlyArray<Word>): boolean =>
  words.some(({ low }) => denying.has(low) || low.endsWith("n't"))

const matches = (words: ReadonlyArray<Word>, at: number, pattern: ReadonlyArray<string>): boolean =>
  pattern.every((word, index) => words[at + index]?.low === word)

const find = (
  patterns: ReadonlyMap<string, ReadonlyArray<Pattern>>,
  words: ReadonlyArray<Word>,
  at: number
): Pattern | undefined => patterns.get(words[at]?.low ?? "")?.find((pattern) => matches(words, at, pattern.words))

const textOf = (words: ReadonlyArray<Word>): string =>
  words.map(({ breaks, text }) => (breaks ? `${text},` : text)).join(" ")

/** The words after the verb, up to the next phrase. */
const objectOf = (words: ReadonlyArray<Word>): ReadonlyArray<Word> => {
  let end = words.findIndex(({ low }, index) => index > 0 && cutting.has(low))
  if (end < 0) end = words.length
  while (end > 1 && closing.has(words[end - 1]!.low)) end--
  return words.slice(0, end)
}

const objectText = (words: ReadonlyArray<Word>): string | undefined => {
  const object = objectOf(words)
  const [first] = object
  if (first === undefined || (object.length === 1 && hollow.has(first.low)) || pointing.has(first.low)) return undefined
  const text = textOf(object).replace(/,$/, "")
  return text.length <= maxObject && /[\p{L}\p{N}]/u.test(text) ? text : undefined
}

const triple = (subject: string, predicate: string, object: ReadonlyArray<Word>): Triple | undefined => {
  const text = objectText(object)
  return text === undefined || subject === "" || subject.length > maxSubject || predicate.length > maxSubject
    ? undefined
    : { subject, predicate, object: text }
}

const ageOf = (words: ReadonlyArray<Word>): string | undefined => {
  const [first, second, third] = words
  if (first === undefined || !/^\d{1,3}$/.test(first.text)) return undefined
  const old = second?.low === "years" && third?.low === "old" && words.length === 3
  return old || words.length === 1 ? first.text : undefined
}

const attribute = (words: ReadonlyArray<Word>): string => {
  const name = words.map(({ low }) => low).join(" ")
  if (name === "name" || name === "full name") return "is called"
  return name === "home" || name === "home town" ? "lives in" : `has ${name}`
}

/** `I …` */
const ofSpeaker = (words: ReadonlyArray<Word>, speaker: string): Triple | undefined => {
  const pattern = find(firstPerson, words, 1)
  if (pattern !== undefined) return triple(speaker, pattern.predicate, words.slice(1 + pattern.words.length))
  const verb = words[1]?.low
  const rest = words.slice(2)
  if (verb === "have" && !isPerfect(rest[0])) return triple(speaker, "has", rest)
  if (verb !== "am") return undefined
  const age = ageOf(rest)
  if (age !== undefined) return { subject: speaker, predicate: "has age", object: age }
  return rest[0] !== undefined && articles.has(rest[0].low) ? triple(speaker, "is", rest) : undefined
}

/** `has gone` states what was done, not what exists. */
const isPerfect = (word: Word | undefined): boolean =>
  word === undefined || participles.has(word.low) || (word.low.length > 4 && word.low.endsWith("ed"))

const isPossessive = ({ low }: Word): boolean => low.length > 2 && low.endsWith("'s")

/** A subject that can be identified later. `my` and `our` refer to the speaker. */
const subjectOf = (words: ReadonlyArray<Word>, speaker: string): string | undefined => {
  if (words.length === 0 || words.length > maxSubjectWords || words.some(({ breaks }) => breaks)) return undefined
  const [first, ...rest] = words
  const mine = first!.low === "my" || first!.low === "our"
  const named = mine || articles.has(first!.low) ? rest : words
  if (named.length === 0 || named.some(({ low }) => vague.has(low) || speakers.has(low) || low === "am"))
    return undefined
  const text = named.map((word) => word.text).join(" ")
  return mine ? `${speaker}'s ${text}` : text
}

/** `my A is B`, `X's A is B`, `X is B`, `X has B` and the verbs. */
const ofOthers = (words: ReadonlyArray<Word>, speaker: string): Triple | undefined => {
  for (let at = 1; at < words.length && at <= maxSubjectWords + 1; at++) {
    const { low } = words[at]!
    const pattern = find(thirdPerson, words, at)
    const before = words.slice(0, at)
    if (pattern !== undefined) {
      const subject = subjectOf(before, speaker)
      return subject === undefined
        ? undefined
        : triple(subject, pattern.predicate, words.slice(at + pattern.words.length))
    }
    const rest = words.slice(at + 1)
    if (having.has(low)) {
      const subject = subjectOf(before, speaker)
      return subject === undefined || isPerfect(rest[0]) ? undefined : triple(subject, low, rest)
    }
    if (being.has(low)) return ofBeing(before, low, rest, speaker)
  }
  return undefined
}

const ofBeing = (
  before: ReadonlyArray<Word>,
  verb: string,
  rest: ReadonlyArray<Word>,
  speaker: string
): Triple | undefined => {
  const [first] = rest
  // `is going` and `is to` state what happens, not what is.
  if (first === undefined || participles.has(first.low) || (first.low.length > 4 && first.low.endsWith("ing"))) {
    return undefined
  }
  const owner = before.findIndex(isPossessive)
  if (owner >= 0 && before.length > owner + 1) {
    const last = before[owner]!
    const holder = [...before.slice(0, owner), { ...last, text: last.text.slice(0, -2), low: last.low.slice(0, -2) }]
    const subject = subjectOf(holder, speaker)
    return subject === undefined ? undefined : triple(subject, attribute(before.slice(owner + 1)), rest)
  }
  const mine = before[0]?.low === "my" || before[0]?.low === "our"
  if (mine && verb === "is") {
    return subjectOf(before, speaker) === undefined ? undefined : triple(speaker, attribute(before.slice(1)), rest)
  }
  const subject = subjectOf(before, speaker)
  if (subject === undefined) return undefined
  const age = verb === "is" ? ageOf(rest) : undefined
  return age !== undefined && rest.length === 3
    ? { subject, predicate: "has age", object: age }
    : triple(subject, verb, rest)
}

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
}

const lowsOf = (words: ReadonlyArray<Word>): ReadonlyArray<string> => words.map(({ low }) => low)

/** `from the first of February 2020 to 2022` is no longer than that. */
const maxTimes = 10

interface Timed {
  readonly words: ReadonlyArray<Word>
  readonly times: FactTimes.Times
}

/** The time phrase at the end of a clause, and the rest of it. */
const timedEnd = (words: ReadonlyArray<Word>): Timed | undefined => {
  const lows = lowsOf(words)
  for (let place = words.length - 2; place > 0 && place >= words.length - maxTimes; place--) {
    const [times, length] = FactTimes.at(lows, place) ?? []
    if (times !== undefined && place + (length ?? 0) === words.length) return { words: words.slice(0, place), times }
  }
  return undefined
}

const none: FactTimes.Times = {}

const ofClause = (clause: ReadonlyArray<Word>, speaker: string, leading: FactTimes.Times): Stated | undefined => {
  let from = 0
  while (from < clause.length - 1 && opening.has(clause[from]!.low)) from++
  const whole = clause.slice(from)
  let timed = timedEnd(whole) ?? { words: whole, times: leading }
  let tensed = FactTense.read(timed.words, timed.times)
  // `I like the music from 1980 to 1990`
  if (timed.times.from !== undefined && timed.times.to !== undefined && !tensed.isPast) {
    timed = { words: whole, times: none }
    tensed = FactTense.read(whole, none)
  }
  const { isPast, retracted, words } = tensed
  if (words.length < 3 || isDenied(words) || asking.has(words[0]!.low)) return undefined
  const named = words[0]!.low === "call" && words[1]!.low === "me"
  const fact = named
    ? triple(speaker, "is called", words.slice(2))
    : words[0]!.low === "i"
      ? ofSpeaker(words, speaker)
      : ofOthers(words, speaker)
  if (fact === undefined) return undefined
  return {
    ...fact,
    ...(retracted ? { retracted: true } : {}),
    ...(timed.times === none ? {} : { times: timed.times }),
    ...(isPast ? { isPast: true } : {})
  }
}

/** The time phrase at the beginning of a sentence. */
const timedBeginning = (words: ReadonlyArray<Word>): Timed => {
  const [times, length = 0] = FactTimes.at(lowsOf(words.slice(0, maxTimes)), 0) ?? []
  return times === undefined || length === words.length ? { words, times: none } : { words: words.slice(length), times }
}

/**
 * The distinct facts of a text, in its order.
 *
 * @category conversions
 */
export const read = (
  text: string,
  options: { readonly speaker: string; readonly limit: number }
): ReadonlyArray<Stated> => {
  const found = new Map<string, Stated>()
  for (const line of linesOf(text.slice(0, maxChars))) {
    for (const sentence of sentencesOf(line)) {
      if (!isPlain(sentence)) continue
      const { times, words } = timedBeginning(wordsOf(sentence.text))
      if (words.some(isDoubtful)) continue
      for (const [index, clause] of clausesOf(words).entries()) {
        const fact = ofClause(clause, options.speaker, index === 0 ? times : none)
        if (fact === undefined || FactSecrets.isSecret(fact)) continue
        if (found.size >= options.limit) return [...found.values()]
        const { object, predicate, subject, ...rest } = fact
        found.set(JSON.stringify([subject, predicate, object, rest]).toLowerCase(), fact)
      }
    }
  }
  return [...found.values()]
}
