/**
 * Reads the facts of one clause in the present tense: `X is / are / was / were / has / have Y`, `X's A is Y`, and those
 * with the verbs of `FactVerbs`, about the speaker (`I`, `my`) or a named subject. Lists are several facts.
 *
 * @private
 * @since 0.1.0
 */
import type { Triple } from "../facts/Fact.js"
import * as FactTimes from "./FactTimes.js"
import { firstPerson, type Pattern, thirdPerson, type Word } from "./FactVerbs.js"
import * as StatementText from "./StatementText.js"

const { wordSet } = StatementText

const maxSubject = 60
const maxObject = 120
const maxSubjectWords = 8

const denying = wordSet(
  "not no never none nobody nothing neither nor cannot without hardly barely nowhere almost nearly"
)
/** Nobody can tell later whom these refer to. */
const vague = wordSet(
  "i me you he him she it we us they them this that these those there here who what which someone somebody anyone anybody everyone " +
    "everybody something anything everything one ones both all some any such his hers their theirs your yours its mine ours myself " +
    "yourself her and or so then now also as to in on at for with from of-course when while after before since because although though " +
    "once until whenever whatever today tomorrow yesterday please thanks"
)
const closing = wordSet("now too currently today already please thanks though anyway actually again nowadays right")
const speakers = wordSet("i my our we")
const hollow = wordSet(
  "it that this you me them him her us so what there here one sure sorry ok okay fine right true false done ready back gone about glad"
)
/** Words that an object must not begin with, because it would not say what it is. */
const pointing = wordSet(
  "it this that these those you me him her them us he she they we my your his their its our here there what who which"
)
const participles = wordSet(
  "been being done gone seen made taken got gotten had become come given shown known written heard found left lost told said to just " +
    "already always ever recently"
)
const articles = wordSet("a an the")
/** Their objects are places: `the deadline moved to Monday` says nothing of where it is. */
const placing: ReadonlySet<string> = new Set(["lives in", "is based in", "is located in"])
const asking = wordSet(
  "who whom whose what which when where why how is are was were am do does did can could will would shall should might may has have had " +
    "isn't aren't wasn't weren't don't doesn't didn't can't won't let let's"
)
/** Of these somebody may have several, one after another: `my brother is Tom`, `my brother is Max`. */
const several = wordSet(
  "brother sister sibling friend colleague coworker cousin son daughter child kid neighbour neighbor aunt uncle nephew niece grandchild " +
    "roommate student client customer pet cat dog hobby skill language interest goal allergy project task idea problem plan dream"
)
/** Words of an attribute that say that it replaces another. */
const newer = wordSet("new current")
/** Predicates whose objects are listed, and how many items make a list. */
const listed: ReadonlyMap<string, number> = new Map([
  ...["speaks", "plays", "studies", "teaches"].map((predicate) => [predicate, 2] as const),
  ...["likes", "loves", "enjoys", "hates", "dislikes", "owns", "uses", "collects", "drinks", "eats"].map(
    (predicate) => [predicate, 3] as const
  )
])
const being = wordSet("is are was were")
const having = wordSet("has have")

/**
 * @category guards
 */
export const isDenied = (words: ReadonlyArray<Word>): boolean =>
  words.some(({ low }) => denying.has(low) || low.endsWith("n't"))

/**
 * A fact of a clause.
 *
 * @category models
 */
export interface Parsed extends Triple {
  /** It has one object at a time, whatever its predicate. */
  readonly replaces?: true | undefined
}

const matches = (words: ReadonlyArray<Word>, at: number, pattern: ReadonlyArray<string>): boolean =>
  pattern.every((word, index) => words[at + index]?.low === word)

const find = (
  patterns: ReadonlyMap<string, ReadonlyArray<Pattern>>,
  words: ReadonlyArray<Word>,
  at: number
): Pattern | undefined => patterns.get(words[at]?.low ?? "")?.find((pattern) => matches(words, at, pattern.words))

/**
 * The words as a text.
 *
 * @category conversions
 */
export const textOf = (words: ReadonlyArray<Word>): string =>
  words.map(({ breaks, text }) => (breaks ? `${text},` : text)).join(" ")

/** The words after the verb, up to the next phrase. */
const objectOf = (words: ReadonlyArray<Word>): ReadonlyArray<Word> => {
  let end = words.findIndex(({ low }, index) => index > 0 && StatementText.isCutting(low))
  if (end < 0) end = words.length
  while (end > 1 && closing.has(words[end - 1]!.low)) end--
  return words.slice(0, end)
}

/** Up to a comma or an `and`, only a time is named. */
const isTime = (object: ReadonlyArray<Word>): boolean => {
  const end = object.findIndex(({ low }, at) => low === "and" || (at > 0 && object[at - 1]!.breaks))
  return FactTimes.isTime((end < 0 ? object : object.slice(0, end)).map(({ low }) => low))
}

const objectText = (words: ReadonlyArray<Word>, predicate: string): string | undefined => {
  const object = objectOf(words)
  const [first] = object
  if (placing.has(predicate) && isTime(object)) return undefined
  if (first === undefined || (object.length === 1 && hollow.has(first.low)) || pointing.has(first.low)) return undefined
  const text = textOf(object).replace(/,$/, "")
  return text.length <= maxObject && /[\p{L}\p{N}]/u.test(text) ? text : undefined
}

const triple = (subject: string, predicate: string, object: ReadonlyArray<Word>): Triple | undefined => {
  const text = objectText(object, predicate)
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
  const named = words.length > 1 && newer.has(words[0]!.low) ? words.slice(1) : words
  const name = named.map(({ low }) => low).join(" ")
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
  const subject = mine ? `${speaker}'s ${text}` : text
  return subject.length > maxSubject ? undefined : subject
}

/** `my A is B`, `X's A is B`, `X is B`, `X has B` and the verbs. */
const ofOthers = (words: ReadonlyArray<Word>, speaker: string): Parsed | undefined => {
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

/** Only one at a time: `my shoe size is 44`. */
const isSingle = (name: ReadonlyArray<Word>, verb: string, rest: ReadonlyArray<Word>): boolean => {
  const last = name.at(-1)?.low ?? ""
  return (
    verb === "is" && !last.endsWith("s") && !several.has(last) && rest[0]?.low !== "one" && rest[0]?.low !== "another"
  )
}

const replacing = (fact: Triple | undefined, isOne: boolean): Parsed | undefined =>
  fact === undefined || !isOne ? fact : { ...fact, replaces: true }

/** `X is my A`: an attribute if it is a favorite, else what X is. */
const ofMine = (subject: string, rest: ReadonlyArray<Word>, speaker: string): Parsed | undefined => {
  const [, ...name] = objectOf(rest)
  const words = subjectOf([{ text: "my", low: "my", breaks: false }, ...name], speaker)
  if (words === undefined || name.length === 0 || name.length > 4) return undefined
  const isFavorite = /^favou?rite$/.test(name[0]!.low)
  const fact = isFavorite
    ? { subject: speaker, predicate: attribute(name), object: subject }
    : { subject, predicate: "is", object: words }
  return replacing(fact, isFavorite)
}

const ofBeing = (
  before: ReadonlyArray<Word>,
  verb: string,
  given: ReadonlyArray<Word>,
  speaker: string
): Parsed | undefined => {
  const isMore = given[0]?.low === "also"
  const rest = isMore ? given.slice(1) : given
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
    const name = before.slice(owner + 1)
    return subject === undefined
      ? undefined
      : replacing(triple(subject, attribute(name), rest), !isMore && isSingle(name, verb, rest))
  }
  const mine = before[0]?.low === "my" || before[0]?.low === "our"
  if (mine && verb === "is") {
    const name = before.slice(1)
    return subjectOf(before, speaker) === undefined
      ? undefined
      : replacing(triple(speaker, attribute(name), rest), !isMore && isSingle(name, verb, rest))
  }
  const subject = subjectOf(before, speaker)
  if (subject === undefined) return undefined
  if (verb === "is" && (first.low === "my" || first.low === "our")) return ofMine(subject, rest, speaker)
  const age = verb === "is" ? ageOf(rest) : undefined
  return age !== undefined && rest.length === 3
    ? { subject, predicate: "has age", object: age }
    : triple(subject, verb, rest)
}

/** `call me Ann`, `everyone calls me Ann`. */
const nameIn = (words: ReadonlyArray<Word>): ReadonlyArray<Word> | undefined => {
  const place = words.slice(0, 3).findIndex(({ low }) => low === "call" || low === "calls")
  return place < 0 || words[place + 1]?.low !== "me" ? undefined : words.slice(place + 2)
}

/**
 * The fact of one clause.
 *
 * @category conversions
 */
export const one = (words: ReadonlyArray<Word>, speaker: string): Parsed | undefined => {
  if (words.length < 3 || isDenied(words) || asking.has(words[0]!.low)) return undefined
  const name = nameIn(words)
  if (name !== undefined) return triple(speaker, "is called", name)
  return words[0]!.low === "i" ? ofSpeaker(words, speaker) : ofOthers(words, speaker)
}

const isName = ({ text }: Word): boolean => /^\p{Lu}/u.test(text)

/** The place of the first verb of `FactVerbs` after the subject. */
const verbPlace = (words: ReadonlyArray<Word>): number => {
  if (words[0]?.low === "i") return find(firstPerson, words, 1) === undefined ? -1 : 1
  return words.findIndex((_, at) => at > 0 && at <= maxSubjectWords && find(thirdPerson, words, at) !== undefined)
}

/** `I live in Oslo and work at Acme`: clauses that share their subject. */
const sharing = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> => {
  const place = verbPlace(words)
  if (place < 0) return [words]
  const patterns = words[0]?.low === "i" ? firstPerson : thirdPerson
  const subject = words.slice(0, place)
  const clauses: Array<ReadonlyArray<Word>> = []
  let from = place
  for (let at = place + 2; at < words.length - 1; at++) {
    if (words[at]!.low !== "and" || find(patterns, words, at + 1) === undefined) continue
    clauses.push([...subject, ...words.slice(from, at)])
    from = at + 1
  }
  return [...clauses, [...subject, ...words.slice(from)]]
}

/** `Tom and Ada live in Bonn`: a clause of each, with the verb of one. */
const ofEach = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> | undefined => {
  const place = words.findIndex((_, at) => at > 2 && at < 8 && find(firstPerson, words, at) !== undefined)
  const joint = words.findIndex(({ low }) => low === "and")
  const pattern = place < 0 ? undefined : find(firstPerson, words, place)
  if (pattern === undefined || joint < 1 || joint > place - 2) return undefined
  const [one, other] = [words.slice(0, joint), words.slice(joint + 1, place)]
  const third = [...thirdPerson.values()].flat().find(({ predicate }) => predicate === pattern.predicate)
  if (third === undefined || ![...one, ...other].every(isName)) return undefined
  const verb = third.words.map((low) => ({ text: low, low, breaks: false }))
  return [one, other].map((name) => [...name, ...verb, ...words.slice(place + pattern.words.length)])
}

/** The items of a list. */
const itemsOf = ({ object, predicate }: Parsed): ReadonlyArray<string> => {
  const least = listed.get(predicate)
  if (least === undefined) return [object]
  const items = object.split(/,? and |, /)
  return items.length >= least && items.every((item) => item !== "" && item.split(" ").length <= 3) ? items : [object]
}

/**
 * The facts of a clause.
 *
 * @category conversions
 */
export const of = (words: ReadonlyArray<Word>, speaker: string): ReadonlyArray<Parsed> =>
  (ofEach(words) ?? sharing(words)).flatMap((clause) => {
    const fact = one(clause, speaker)
    return fact === undefined ? [] : itemsOf(fact).map((object) => ({ ...fact, object }))
  })

/**
 * The text of an object that takes the place of another, without the preposition that the predicate has.
 *
 * @category conversions
 */
export const objectIn = (words: ReadonlyArray<Word>, predicate: string): string | undefined => {
  const last = predicate.split(" ").at(-1) ?? ""
  const isJoined = words[0]?.low === last || (last === "at" && words[0]?.low === "for")
  return objectText(isJoined ? words.slice(1) : words, predicate)
}
