/**
 * Rewrites past and negated sentences in the present tense: `I don't live in Ghent anymore` becomes a retraction of `I
 * live in Ghent`.
 *
 * @private
 * @since 0.1.0
 */
import type * as FactTimes from "./FactTimes.js"
import { present, type Word } from "./FactVerbs.js"

/**
 * @category models
 */
export interface Tensed {
  readonly words: ReadonlyArray<Word>
  readonly retracted: boolean
  /** It was true, and no longer is when it is stated. */
  readonly isPast: boolean
}

/** A subject has at most this many words before its verb. */
const maxPlace = 9

const wordsOf = (text: string): ReadonlyArray<Word> => text.split(" ").map((low) => ({ text: low, low, breaks: false }))

/** Replaces `count` words at a place. */
const replaced = (words: ReadonlyArray<Word>, place: number, count: number, text: string): ReadonlyArray<Word> => [
  ...words.slice(0, place),
  ...(text === "" ? [] : wordsOf(text)),
  ...words.slice(place + count)
]

const says = (words: ReadonlyArray<Word>, place: number, text: string): boolean =>
  text.split(" ").every((low, index) => words[place + index]?.low === low)

/** Phrases that complete a negation at the end, with their number of words. */
const endings = ["anymore", "any more", "any longer"].map((text) => [text, text.split(" ").length] as const)

/** Negations before the verb and their replacements. `base` stands for the verb after `do`. */
const denials: ReadonlyArray<readonly [text: string, becomes: string | "base"]> = [
  ["do not", "base"],
  ["does not", "base"],
  ["don't", "base"],
  ["doesn't", "base"],
  ["can not", "base"],
  ["cannot", "base"],
  ["can't", "base"],
  ["am not", "am"],
  ["is not", "is"],
  ["isn't", "is"],
  ["are not", "are"],
  ["aren't", "are"]
]

/** Phrases that end a state, and the state they end. */
const leaving: ReadonlyArray<readonly [text: string, first: string, third: string]> = [
  ["moved out of", "live in", "lives in"],
  ["moved away from", "live in", "lives in"],
  ["was fired from", "work at", "works at"],
  ["got fired from", "work at", "works at"],
  ["was laid off from", "work at", "works at"],
  ["was laid off by", "work at", "works at"],
  ["resigned from", "work at", "works at"],
  ["retired from", "work at", "works at"],
  ["quit my job at", "work at", "works at"],
  ["left my job at", "work at", "works at"],
  ["quit his job at", "work at", "works at"],
  ["left his job at", "work at", "works at"],
  ["quit her job at", "work at", "works at"],
  ["left her job at", "work at", "works at"]
]

/** The first place after the subject where the change applies. */
const firstPlace = <A>(words: ReadonlyArray<Word>, change: (place: number) => A | undefined): A | undefined => {
  for (let place = 1; place < words.length && place <= maxPlace; place++) {
    const changed = change(place)
    if (changed !== undefined) return changed
  }
  return undefined
}

/**
 * What a denial denies: `I live in Ghent` for `I don't live in Ghent`.
 *
 * @category conversions
 */
export const positive = (words: ReadonlyArray<Word>, isSpeaker: boolean): ReadonlyArray<Word> | undefined =>
  firstPlace(words, (place) => {
    const denial = denials.find(([text]) => says(words, place, text))
    if (denial === undefined) return undefined
    const [text, becomes] = denial
    const count = text.split(" ").length
    if (becomes !== "base") return replaced(words, place, count, becomes)
    const verb = present(words[place + count]?.low ?? "", "base", isSpeaker)
    return verb === undefined ? undefined : replaced(words, place, count + 1, verb)
  })

/** `no longer`, and `not … anymore`. */
const undenied = (words: ReadonlyArray<Word>, isSpeaker: boolean): ReadonlyArray<Word> | undefined => {
  const plain = firstPlace(words, (place) => {
    if (says(words, place, "can no longer")) {
      const verb = present(words[place + 3]?.low ?? "", "base", isSpeaker)
      if (verb !== undefined) return replaced(words, place, 4, verb)
    }
    return says(words, place, "no longer") ? replaced(words, place, 2, "") : undefined
  })
  if (plain !== undefined) return plain
  const ending = endings.find(([text, count]) => says(words, words.length - count, text))
  return ending === undefined ? undefined : positive(words.slice(0, words.length - ending[1]), isSpeaker)
}

/** `used to live in`, `stopped living in`, `moved out of`. */
const given = (words: ReadonlyArray<Word>, isSpeaker: boolean): ReadonlyArray<Word> | undefined =>
  firstPlace(words, (place) => {
    const low = words[place]?.low ?? ""
    if (says(words, place, "used to")) {
      const verb = present(words[place + 2]?.low ?? "", "base", isSpeaker)
      return verb === undefined ? undefined : replaced(words, place, 3, verb)
    }
    const ended = low === "stopped" || low === "quit" ? 1 : says(words, place, "gave up") ? 2 : 0
    if (ended > 0) {
      const verb = present(words[place + ended]?.low ?? "", "gerund", isSpeaker)
      if (verb !== undefined) return replaced(words, place, ended + 1, verb)
    }
    const left = leaving.find(([text]) => says(words, place, text))
    return left === undefined
      ? undefined
      : replaced(words, place, left[0].split(" ").length, isSpeaker ? left[1] : left[2])
  })

/** `started working at`. */
const begun = (words: ReadonlyArray<Word>, isSpeaker: boolean): ReadonlyArray<Word> | undefined =>
  firstPlace(words, (place) => {
    if (words[place]?.low !== "started") return undefined
    const verb = present(words[place + 1]?.low ?? "", "gerund", isSpeaker)
    return verb === undefined ? undefined : replaced(words, place, 2, verb)
  })

/** `lived in`, if there is an end; `have lived in` and `have been living in`, if there is a beginning. */
const earlier = (
  words: ReadonlyArray<Word>,
  isSpeaker: boolean,
  { from, to }: FactTimes.Times
): ReadonlyArray<Word> | undefined =>
  firstPlace(words, (place) => {
    const low = words[place]?.low ?? ""
    const next = words[place + 1]?.low ?? ""
    if (to !== undefined) {
      const verb = low === "were" && !isSpeaker ? "are" : present(low, "past", isSpeaker)
      return verb === undefined ? undefined : replaced(words, place, 1, verb)
    }
    if (from === undefined || (low !== "have" && low !== "has")) return undefined
    if (next !== "been") {
      const verb = present(next, "past", isSpeaker)
      return verb === undefined ? undefined : replaced(words, place, 2, verb)
    }
    const verb = present(words[place + 2]?.low ?? "", "gerund", isSpeaker)
    return verb === undefined ? replaced(words, place, 2, isSpeaker ? "am" : "is") : replaced(words, place, 3, verb)
  })

/**
 * @category conversions
 */
export const read = (words: ReadonlyArray<Word>, times: FactTimes.Times): Tensed => {
  const isSpeaker = words[0]?.low === "i"
  const unsaid = undenied(words, isSpeaker) ?? given(words, isSpeaker)
  if (unsaid !== undefined) return { words: unsaid, retracted: true, isPast: false }
  const now = begun(words, isSpeaker)
  if (now !== undefined) return { words: now, retracted: false, isPast: false }
  const past = earlier(words, isSpeaker, times)
  return past === undefined
    ? { words, retracted: false, isPast: false }
    : { words: past, retracted: false, isPast: times.to !== undefined }
}
