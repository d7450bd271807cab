/**
 * Whether a text carries out an injection or only talks about one.
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

/** Whether quotation marks stand around a place of a text, within a line and not far. */
const isQuoted = (text: string, start: number, end: number): boolean => {
  for (let i = start - 1; i >= 0 && i >= start - 100; i--) {
    const char = text[i] as string
    if (char === "\n") return false
    if (!opening.includes(char)) continue
    // An apostrophe stands between letters.
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

/** How many characters around a match tell whether it is talked about. */
const surroundings = 240

/** A host may be called `security`, a mailbox `attacker`. */
const withoutAddress = (token: string): string => {
  if (token.includes("@")) return " "
  const start = token.search(/https?:/)
  return start < 0 ? token : `${token.slice(0, start)} `
}

/**
 * Talking about injections is not doing it: what is quoted where attacks, examples or meanings are the subject counts
 * little.
 */
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
  return isAttack ? 0.6 : 1
}
