/**
 * Facts that a text states in plain English sentences, found by their words alone.
 *
 * What is read: sentences of the form `X is / are / was / were / has / have Y`, `X's A is Y`, and those with the verbs listed here (`lives
 * in`, `works at`, `likes`, …), about whoever speaks (`I`, `my`) or about something that is named. What is asked, denied, supposed, wished,
 * reported or quoted states nothing, and neither does code. Passwords, keys and the like are passed over.
 *
 * @internal
 * @since 0.1.0
 */
import type { Triple } from "./Fact.js"
import * as FactSecrets from "./FactSecrets.js"

/** Characters of a text that are read. */
const maxChars = 50_000
const maxSentence = 400
const maxSubject = 60
const maxObject = 120
const maxSubjectWords = 8

const listed = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** A sentence that has one of them may be about what is not so, or about what somebody else said. */
const doubtful = listed(
  "if unless whether would could should might may maybe perhaps possibly probably supposedly allegedly reportedly apparently suppose " +
    "supposing imagine pretend assume assuming hypothetically wish wished hope hoped hopefully guess guessed think thinks thought believe " +
    "believes believed doubt doubts seem seems seemed say says said saying tell tells told heard hear claim claims claimed mention " +
    "mentioned rumor rumour according dream dreamed dreamt story novel example instance e.g otherwise will shall won't shan't ought " +
    "ignore disregard forget"
)
const denying = listed(
  "not no never none nobody nothing neither nor cannot without hardly barely nowhere almost nearly"
)
const asking = listed(
  "who whom whose what which when where why how is are was were am do does did can could will would shall should may might has have had " +
    "isn't aren't wasn't weren't don't doesn't didn't can't won't let let's"
)
/** Nobody knows later whom they meant. */
const vague = listed(
  "i me you he him she it we us they them this that these those there here who what which someone somebody anyone anybody everyone " +
    "everybody something anything everything one ones both all some any such his hers their theirs your yours its mine ours myself " +
    "yourself her and or so then now also as to in on at for with from of-course when while after before since because although though " +
    "once until whenever whatever today tomorrow yesterday please thanks"
)
const opening = listed(
  "and but so also well actually anyway ok okay yes hi hello hey btw fyi please remember note that by the way too"
)
const cutting = listed("because although though but which who where when while whereas since until unless except so")
const closing = listed("now too currently today already please thanks though anyway actually again nowadays right")
const speakers = listed("i my our we")
const hollow = listed(
  "it that this you me them him her us so what there here one sure sorry ok okay fine right true false done ready back gone about glad"
)
/** What an object may not begin with: the object would not say what it is. */
const pointing = listed(
  "it this that these those you me him her them us he she they we my your his their its our here there what who which"
)
const titles = listed("dr mr mrs ms prof st")
const participles = listed(
  "been being done gone seen made taken got gotten had become come given shown known written heard found left lost told said to just " +
    "already always ever recently"
)
const articles = listed("a an the")

/** Words of the verb in the first and in the third person, and the predicate both come to. */
const verbs: ReadonlyArray<readonly [first: string, third: string, predicate: string]> = [
  ["live in", "lives in", "lives in"],
  ["live at", "lives at", "lives in"],
  ["reside in", "resides in", "lives in"],
  ["am living in", "is living in", "lives in"],
  ["moved to", "moved to", "lives in"],
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
  ["use", "uses", "uses"]
]

interface Pattern {
  readonly words: ReadonlyArray<string>
  readonly predicate: string
}

/** By their first word, the longest first. */
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

const firstPerson = patternsOf(0)
const thirdPerson = patternsOf(1)
const being = listed("is are was were")
const having = listed("has have")

interface Word {
  /** As it stands there, without what surrounds it. */
  readonly text: string
  readonly low: string
  /** Behind it the sentence is parted. */
  readonly breaks: boolean
}

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

const abbreviations = listed("mr mrs ms dr prof st sr jr vs etc approx inc ltd co no")

/** Whether the point at this place ends a sentence. */
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

/** The lines that somebody wrote as text: no code, no quotation, no transcript. */
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

/** Parts that could stand alone: what follows a word that joins sentences, or a comma, when it begins with the speaker. */
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

/** The month is none of the words of doubt. */
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

/** What stands behind the verb, up to where something else begins. */
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

/** `has gone` says what was done, not what there is. */
const isPerfect = (word: Word | undefined): boolean =>
  word === undefined || participles.has(word.low) || (word.low.length > 4 && word.low.endsWith("ed"))

const isPossessive = ({ low }: Word): boolean => low.length > 2 && low.endsWith("'s")

/** A subject that can be known later; `my` and `our` are the speaker's. */
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
  // `is going` and `is to` say what happens, not what is.
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

const ofClause = (clause: ReadonlyArray<Word>, speaker: string): Triple | undefined => {
  let from = 0
  while (from < clause.length - 1 && opening.has(clause[from]!.low)) from++
  const words = clause.slice(from)
  if (words.length < 3 || isDenied(words) || asking.has(words[0]!.low)) return undefined
  if (words[0]!.low === "call" && words[1]!.low === "me") return triple(speaker, "is called", words.slice(2))
  return words[0]!.low === "i" ? ofSpeaker(words, speaker) : ofOthers(words, speaker)
}

/**
 * The facts of a text, each once, in its order.
 *
 * @category conversions
 */
export const read = (
  text: string,
  options: { readonly speaker: string; readonly limit: number }
): ReadonlyArray<Triple> => {
  const found = new Map<string, Triple>()
  for (const line of linesOf(text.slice(0, maxChars))) {
    for (const sentence of sentencesOf(line)) {
      if (!isPlain(sentence)) continue
      const words = wordsOf(sentence.text)
      if (words.some(isDoubtful)) continue
      for (const clause of clausesOf(words)) {
        const fact = ofClause(clause, options.speaker)
        if (fact === undefined || FactSecrets.isSecret(fact)) continue
        if (found.size >= options.limit) return [...found.values()]
        found.set(JSON.stringify([fact.subject, fact.predicate, fact.object]).toLowerCase(), fact)
      }
    }
  }
  return [...found.values()]
}
