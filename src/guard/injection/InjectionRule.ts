/**
 * The form of a rule of the injection detector. `InjectionRules` exports it.
 *
 * @private
 * @since 0.1.0
 */
import type { Meaning } from "./InjectionLexicon.js"

export type { Meaning }

/**
 * - `instruction_override`: sets earlier instructions aside or replaces them
 * - `roleplay_jailbreak`: a role, mode or story in which no rules apply
 * - `prompt_exfiltration`: asks for the system prompt
 * - `delimiter_spoofing`: imitates another speaker or the end of its own frame
 * - `tool_spoofing`: imitates tool calls and results
 * - `indirect_injection`: data that addresses the model without the user's knowledge
 * - `data_exfiltration`: asks to send confidential data somewhere
 * - `encoding_bypass`: instructions hidden from readers and filters
 * - `many_shot`: a long invented dialogue as an example to follow
 *
 * @since 0.1.0
 * @category constants
 */
export const categories = [
  "instruction_override",
  "roleplay_jailbreak",
  "prompt_exfiltration",
  "delimiter_spoofing",
  "tool_spoofing",
  "indirect_injection",
  "data_exfiltration",
  "encoding_bypass",
  "many_shot"
] as const

/**
 * One of `categories`, or a custom name.
 *
 * @since 0.1.0
 * @category models
 */
export type Category = (typeof categories)[number] | (string & {})

type Meanings = Meaning | ReadonlyArray<Meaning>

/**
 * Words of given meanings, in any language of the lexicon, close to each other in one sentence.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sentence {
  readonly say: Meanings
  /** One word of each list must be near it. */
  readonly with: ReadonlyArray<Meanings>
  /** Number of words after it to search, at most 16. */
  readonly after: number
  /** Number of words before it to search, at most 16. Default none. */
  readonly before?: number | undefined
  /** Lowers the weight if one of these is near: people may ask to ignore their own text. */
  readonly weakenedBy?: Meanings | undefined
  /** Must follow directly. */
  readonly followedBy?: RegExp | undefined
  /** Must occur within it, or in the 160 characters after it. */
  readonly leadsTo?: RegExp | undefined
}

/**
 * A pattern over the text as written, or (`folded`) in lower case without accents and disguise. It must take linear
 * time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pattern {
  readonly pattern: RegExp
  readonly folded?: boolean | undefined
  /** Must also match within the match. */
  readonly holds?: RegExp | undefined
  /** Required number of matches. Default 1. */
  readonly times?: number | undefined
  /** Only texts in which this matches are searched: a cheaper test before a costly pattern. Without the flag `g`. */
  readonly onlyIf?: RegExp | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  /** Unique; by convention `category.name`. */
  readonly id: string
  readonly category: Category
  /** From 0 to 1: the certainty when only this rule matches. */
  readonly weight: number
  /** One sentence for those who adjust the rules. */
  readonly doc: string
  /** Phrases are compared word by word, without case, accents and disguise. */
  readonly match: Sentence | Pattern | ReadonlyArray<string>
}

export const rule = (id: string, weight: number, doc: string, match: Rule["match"]): Rule => ({
  id,
  category: id.slice(0, id.indexOf(".")),
  weight,
  doc,
  match
})
