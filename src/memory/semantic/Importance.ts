/**
 * Judges the importance of an entry by its words, without a model.
 *
 * | what the text is | importance |
 * |---|---|
 * | nothing to keep: a greeting, thanks, one or two words without a name or a number | 0.05 |
 * | anything else | 0.35 |
 * | it states a fact in plain English (`StatedFacts`), or a preference, a decision or a duty | + 0.2 |
 * | it names somebody or something (`EntityNames`) | + 0.1 |
 * | it has a number; a date, a weekday, a month or a time | + 0.05; + 0.1 |
 * | it only asks | 0.3 at most |
 * | it says to remember something (`remember that`, `don't forget`, `keep in mind`) | 0.9 |
 *
 * What a model said counts by four fifths, and tool results and system texts by one half. Words are English; names,
 * numbers and dates count in other languages too.
 *
 * @private
 * @since 0.1.0
 */
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as StatedFacts from "../statement/StatedFacts.js"
import * as EntityNames from "../text/EntityNames.js"

/** Characters that are read: what matters is at the beginning. */
const maxChars = 4_000

const asksToRemember =
  /\b(?:(?:please |always )?remember (?:that|this|to|my|me|i|we|the|it)\b|(?:do not|don['’]t|never) forget\b|keep (?:this |that |it )?in mind\b|(?:make a )?note (?:that|to self)\b|for (?:future reference|the record)\b)/i
/** A question whether something is remembered asks for nothing to be kept. */
const asksBack = /\b(?:do|did|can|could|will|would) you (?:still )?remember\b/i
const hollow =
  /^(?:(?:hi|hello|hey|thanks|thank you|thx|ok|okay|yes|no|yep|nope|sure|great|cool|nice|perfect|got it|sounds good|good (?:morning|evening|night)|bye|goodbye|please|lol|hm+|so much|very much|there|again)[\s,.!…]*)+$/i
const keeps =
  /\b(?:prefer|favou?rite|like|love|hate|dislike|always|never|allergic|allergy|vegan|vegetarian|decided|agreed|promised|must|need to|have to|deadline|birthday|my name is|call me)\b/i
const number = /\p{N}/u
const date =
  /\b(?:\d{4}-\d{2}(?:-\d{2})?|\d{1,2}:\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|tomorrow|noon|midnight)\b|\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec)|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b/i

const weightOf = { user: 1, assistant: 0.8, tool: 0.5, system: 0.5 } as const

const ofText = (text: string): number => {
  const plain = text.slice(0, maxChars).trim()
  const hasNumber = number.test(plain)
  const names = EntityNames.entitiesOf(plain, { limit: 1 }).length > 0
  const words = plain.split(/\s+/, 3).length
  if (hollow.test(plain.slice(0, 200)) || plain === "" || (words <= 2 && !hasNumber && !names)) return 0.05
  if (asksToRemember.test(plain) && !asksBack.test(plain)) return 0.9
  const states = keeps.test(plain) || StatedFacts.read(plain, { speaker: "user", limit: 1 }).length > 0
  const sum = 0.35 + (states ? 0.2 : 0) + (names ? 0.1 : 0) + (hasNumber ? 0.05 : 0) + (date.test(plain) ? 0.1 : 0)
  const isQuestion = /[?？]\s*$/.test(plain) && !/[.!。]\s/.test(plain)
  return isQuestion ? Math.min(0.3, sum) : sum
}

/**
 * The importance, 0 to 1.
 *
 * @category conversions
 */
export const of = ({ content, role }: Pick<MemoryEntry, "content" | "role">): number =>
  Math.round(ofText(content) * weightOf[role] * 100) / 100
