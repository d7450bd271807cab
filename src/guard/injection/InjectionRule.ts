/**
 * The form of a rule of the injection detector. `InjectionRules` exports it.
 *
 * @private
 * @since 0.1.0
 */
import type { Meaning } from "./InjectionLexicon.js"

export type { Meaning }

/**
 * - `instruction_override`: instructions given before are to be set aside, new ones take their place
 * - `roleplay_jailbreak`: a role, mode or story in which no rules hold
 * - `prompt_exfiltration`: the system prompt is to be shown
 * - `delimiter_spoofing`: the text plays another speaker or the end of its own frame
 * - `tool_spoofing`: the text plays calls and results of tools
 * - `indirect_injection`: data that speaks to the model behind the back of the user
 * - `data_exfiltration`: what is confidential is to be sent somewhere
 * - `encoding_bypass`: instructions that are hidden from readers and filters
 * - `many_shot`: a long made-up dialogue as an example to follow
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
 * One of `categories`, or a name of one's own.
 *
 * @since 0.1.0
 * @category models
 */
export type Category = (typeof categories)[number] | (string & {})

type Meanings = Meaning | ReadonlyArray<Meaning>

/**
 * Words of certain meanings, in any of the languages the lexicon knows, close to each other in one sentence.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sentence {
  readonly say: Meanings
  /** Each of these (one of each list) stands near it. */
  readonly with: ReadonlyArray<Meanings>
  /** How many words may follow, at most 16. */
  readonly after: number
  /** How many words may come before, at most 16. Default none. */
  readonly before?: number | undefined
  /** Counts less where one of these is near: people may ask to ignore what they wrote themselves. */
  readonly weakenedBy?: Meanings | undefined
  /** What stands right behind. */
  readonly followedBy?: RegExp | undefined
  /** What stands somewhere in it, or in the 160 characters behind. */
  readonly leadsTo?: RegExp | undefined
}

/**
 * A pattern in the text as it stands, or (`folded`) in lower case without accents and disguise. It must take linear
 * time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pattern {
  readonly pattern: RegExp
  readonly folded?: boolean | undefined
  /** What the match has to hold besides. */
  readonly holds?: RegExp | undefined
  /** How often it has to be there. Default 1. */
  readonly times?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  /** Unique; `category.name` by custom. */
  readonly id: string
  readonly category: Category
  /** From 0 to 1: how sure one is when nothing but this is found. */
  readonly weight: number
  /** One sentence for those who tune the rules. */
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
