/**
 * Decides whether a text carries out an injection or only mentions one.
 *
 * @since 0.1.0
 * @private
 */
import { bits, lexicon } from "./InjectionLexicon.js"
import * as InjectionText from "./InjectionText.js"
import * as InjectionWords from "./InjectionWords.js"

const opening = "\"'`“‘«„「『‹”’"
const closing: { readonly [open: string]: string } = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": "”",
  "‘": "’",
  "«": "»",
  "„": "“”",
  "「": "」",
  "『": "』",
  "‹": "›",
  "”": "”",
  "’": "’"
}

const isWordChar = /[\p{L}\p{N}]/u

/** True if quotation marks enclose the place closely, within a line. */
const isQuoted = (text: string, start: number, end: number): boolean => {
  for (let i = start - 1; i >= 0 && i >= start - 100; i--) {
    const char = text[i] as string
    if (char === "\n") return false
    if (!opening.includes(char)) continue
    // An apostrophe is between letters.
    if (i > 0 && isWordChar.test(text[i - 1] as string) && isWordChar.test(text[i + 1] as string)) continue
    const ends = closing[char] as string
    for (let j = end; j < text.length && j < end + 160; j++) {
      const other = text[j] as string
      if (other === "\n") return false
      if (ends.includes(other) && !(isWordChar.test(text[j - 1] as string) && isWordChar.test(text[j + 1] ?? " ")))
        return true
    }
    return false
  }
  return false
}

/** Characters around a match that decide whether it is a mention. */
const surroundings = 240

/** A host may be named `security`, a mailbox `attacker`. */
const withoutAddress = (token: string): string => {
  if (token.includes("@")) return " "
  const start = token.search(/https?:/)
  return start < 0 ? token : `${token.slice(0, start)} `
}

/** A question how something is done, which does not speak to the model. */
const asksHow =
  /(?:^|[.!?\n] {0,2})(?:\w+ )?how (?:do|does|can|could|should|would|to)\b(?![^.!?\n]*\b(?:you|your)\b)[^.!?\n]{0,60}$/i

/** Reduces the weight of mentions: quotations count little where attacks, examples or meanings are the subject. */
export const damped = (text: string, start: number, end: number): number => {
  const around =
    `${text.slice(Math.max(0, start - surroundings), start)} | ${text.slice(end, end + surroundings)}`.replace(
      /\S+/g,
      withoutAddress
    )
  let isAbout = false
  let isAttack = false
  for (const { mask } of InjectionWords.words(InjectionText.fold(around), lexicon())) {
    if ((mask & bits.about) !== 0) isAbout = true
    if ((mask & bits.attack) !== 0) isAttack = true
  }
  if (isAbout && isQuoted(text, start, end)) return 0.2
  if (asksHow.test(text.slice(Math.max(0, start - 80), start))) return 0.5
  return isAttack ? 0.6 : 1
}
