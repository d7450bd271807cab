/**
 * Reads sentences that correct what the same text or conversation stated before: `actually it's 7 May`, `I meant Genk`,
 * `scratch that`, `forget what I said about the boat`, `I left Acme`, `I switched to Initech`.
 *
 * @private
 * @since 0.1.0
 */
import type { Triple } from "../facts/Fact.js"
import * as FactCardinality from "../facts/FactCardinality.js"
import * as ClauseFacts from "./ClauseFacts.js"
import type { Word } from "./FactVerbs.js"
import * as StatementText from "./StatementText.js"

/** Facts of a conversation that corrections may mean. */
const MAX_RECENT = 32

/**
 * What was stated before, by one speaker.
 *
 * @category models
 */
export interface Context {
  /** The newest last. */
  readonly recent: ReadonlyArray<Triple>
  /** The facts of the last sentence that stated any. */
  readonly last: ReadonlyArray<Triple>
}

/**
 * @category constants
 */
export const nothing: Context = { recent: [], last: [] }

/**
 * The context after a sentence that stated facts.
 *
 * @category combinators
 */
export const after = ({ recent }: Context, stated: ReadonlyArray<Triple>): Context => ({
  recent: [...recent, ...stated].slice(-MAX_RECENT),
  last: stated
})

/**
 * The context without facts that were taken back.
 *
 * @category combinators
 */
export const without = ({ last, recent }: Context, gone: ReadonlyArray<Triple>): Context => {
  const stays = (fact: Triple): boolean => !gone.includes(fact)
  return { recent: recent.filter(stays), last: last.filter(stays) }
}

/**
 * @category models
 */
export interface Correction {
  readonly retracts: ReadonlyArray<Triple>
  readonly states: ReadonlyArray<ClauseFacts.Parsed>
  /** What is left of the sentence. */
  readonly rest: ReadonlyArray<Word>
}

const scratching =
  /^(?:(?:ok|okay|wait|no|sorry|oh|actually),? )*(?:(?:scratch|strike|forget|ignore|disregard|delete|cancel) (?:that|it|this)(?: last (?:one|part|bit))?|never ?mind(?: that)?)(?=$|[,:])/i
const untrue =
  /^(?:(?:ok|okay|wait|no|sorry|oh|actually),? )*(?:that|this)(?:'s| is| was|'s all| is all) (?:wrong|not true|untrue|incorrect|false|not right|not correct|a mistake|my mistake|no longer true|not true (?:anymore|any more))$/i
const forgetting =
  /^(?:please )?(?:scratch|strike|forget|ignore|disregard) what i (?:just )?(?:said|told you|wrote) (?:about|on|regarding) (?:the |my |our )?(.+)$/i
const meaning =
  /^(?:(?:actually|sorry|no|oops|wait|correction|well|i mean|hm+|oh|ah|ok),? )*(?:i (?:meant|mean)(?: to say)?|make (?:that|it)|(?:that|it) should be|it should have been) (.+)$/i
const being =
  /^(?:(?:actually|sorry|no|oops|wait|correction|well,? actually|i mean|oh),? )+(?:it's|it is|that's|that is) (.+)$/i

/** The words after this many characters of their text. */
const rest = (words: ReadonlyArray<Word>, length: number): ReadonlyArray<Word> => {
  let seen = 0
  for (const [at, word] of words.entries()) {
    if (seen >= length) return words.slice(at)
    seen += ClauseFacts.textOf([word]).length + 1
  }
  return []
}

/** Another object for the one fact of the last sentence. */
const replacing = ({ last }: Context, text: string | undefined): Correction | undefined => {
  const [fact] = last
  if (text === undefined || fact === undefined || last.length !== 1) return undefined
  // `Thursday, not Friday` says the old one as well.
  const words = StatementText.wordsOf(text.replace(/,? not .*$/i, ""))
  const object = words.length > 8 ? undefined : ClauseFacts.objectIn(words, fact.predicate)
  if (object === undefined || ClauseFacts.isDenied(words)) return undefined
  return { retracts: [fact], states: [{ ...fact, object }], rest: [] }
}

/**
 * The correction that a sentence is, as far as it means something that was said before.
 *
 * @category conversions
 */
export const inSentence = (words: ReadonlyArray<Word>, context: Context): Correction | undefined => {
  if (context.recent.length === 0) return undefined
  const text = ClauseFacts.textOf(words)
  const scratched = scratching.exec(text)
  if (scratched !== null) {
    const left = rest(words, scratched[0].length)
    return { retracts: context.last, states: [], rest: untrue.test(ClauseFacts.textOf(left)) ? [] : left }
  }
  if (untrue.test(text)) return { retracts: context.last, states: [], rest: [] }
  const about = forgetting.exec(text)?.[1]?.toLowerCase()
  if (about !== undefined) {
    const named = context.recent.filter(({ object, subject }) =>
      ` ${subject} ${object} `.toLowerCase().includes(` ${about} `)
    )
    return { retracts: named, states: [], rest: [] }
  }
  return replacing(context, meaning.exec(text)?.[1] ?? being.exec(text)?.[1])
}

const leaving: ReadonlySet<string> = new Set(["left", "quit", "sold", "lost"])
const switching: ReadonlyArray<readonly [words: ReadonlyArray<string>, predicate: string]> = [
  [["switched", "to"], ""],
  [["changed", "to"], ""],
  [["joined"], "works at"]
]
const determiner = /^(?:a|an|the|my|our|his|her|their) /i

const bare = (text: string): string => text.toLowerCase().replace(determiner, "")

/** Facts of the subject that somebody can leave or sell. */
const ended: ReadonlySet<string> = new Set(["works at", "works in", "lives in", "studies", "owns", "has", "drives"])

/**
 * What a clause ends or replaces of what was said before: `I left Acme`, `I sold my boat`, `I switched to Initech`.
 *
 * @category conversions
 */
export const inClause = (
  words: ReadonlyArray<Word>,
  speaker: string,
  context: Context
): Omit<Correction, "rest"> | undefined => {
  const place = words.findIndex(
    ({ low }, at) =>
      at > 0 && at < 6 && (leaving.has(low) || low === "switched" || low === "changed" || low === "joined")
  )
  if (place < 0) return undefined
  const subject = words[0]?.low === "i" ? speaker : ClauseFacts.textOf(words.slice(0, place))
  const known = context.recent.filter((fact) => fact.subject.toLowerCase() === subject.toLowerCase())
  if (leaving.has(words[place]?.low ?? "")) {
    const object = bare(ClauseFacts.textOf(words.slice(place + 1)))
    const retracts = known.filter((fact) => ended.has(fact.predicate) && bare(fact.object) === object)
    return retracts.length === 0 ? undefined : { retracts, states: [] }
  }
  const found = switching.find(([phrase]) => phrase.every((low, at) => words[place + at]?.low === low))
  if (found === undefined) return undefined
  const [phrase, predicate] = found
  const fact = known.findLast((one) =>
    predicate === ""
      ? FactCardinality.standard(one.predicate) === "one" || one.predicate === "uses"
      : one.predicate === predicate
  )
  const object =
    fact === undefined ? undefined : ClauseFacts.objectIn(words.slice(place + phrase.length), fact.predicate)
  return fact === undefined || object === undefined ? undefined : { retracts: [fact], states: [{ ...fact, object }] }
}
