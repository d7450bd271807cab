/**
 * Decides whether two texts say the same. In doubt they differ: a correction looks much like what it corrects.
 *
 * @private
 * @since 0.1.0
 */

/** Words that negate a sentence. */
const denying: ReadonlySet<string> = new Set(
  (
    "no not never none nobody nothing nowhere neither nor cannot without nope hardly barely " +
    "nicht nie niemals kein keine keinen keinem keiner nein ohne ne pas non jamais aucun aucune rien sans nunca jamás ningún ninguno ninguna nada sin"
  ).split(" ")
)

/** Words that mean something else when capitalized. */
const capitonyms: ReadonlySet<string> = new Set(
  "may march august polish turkey china apple amazon mark will rose bill jordan grace hope reading nice".split(" ")
)

const isDenial = (word: string): boolean => denying.has(word) || word.endsWith("n't")

const mark = /[,.;!…"”»。、,!;]/u

interface Token {
  readonly text: string
  /** A pause follows the token. */
  readonly breaks: boolean
}

/**
 * Removes punctuation that only separates or ends sentences. Next to digits fewer marks are removable: `5'` is not
 * `5"`.
 */
const bare = (raw: string): Token => {
  const marks = /\p{N}/u.test(raw) ? /[,.;]/u : mark
  let from = 0
  let to = raw.length
  while (to > from && marks.test(raw[to - 1] as string)) to--
  while (from < to && /["“«]/.test(raw[from] as string) && marks === mark) from++
  // A sign that stands alone may be the whole point.
  return from === to && raw.length > 1
    ? { text: raw, breaks: false }
    : { text: raw.slice(from, to), breaks: to < raw.length }
}

/**
 * Keeps case where it makes another word: in identifiers, in `US` among lower-case words, in `May` inside a sentence.
 */
const folded = (text: string, isShouted: boolean, isFirst: boolean): string => {
  const lower = text.toLowerCase()
  if (text === lower || isShouted) return /\p{N}/u.test(text) && /\p{L}/u.test(text) ? text : lower
  if (/[\p{N}@/_\\]|\p{Ll}\p{Lu}/u.test(text)) return text
  if (text.length > 1 && text === text.toUpperCase()) return text
  return !isFirst && capitonyms.has(lower) ? text : lower
}

const tokens = (text: string): ReadonlyArray<string> => {
  const isShouted = !/\p{Ll}/u.test(text)
  const found: Array<string> = []
  let pause = true
  for (const raw of text.normalize("NFC").replaceAll("’", "'").split(/\s+/u)) {
    if (raw === "") continue
    const { breaks, text: word } = bare(raw)
    if (word === "") {
      pause = true
      continue
    }
    const token = folded(word, isShouted, pause)
    const before = found.at(-1)
    // `Don't stop` is not `Don't. Stop`.
    if (pause && before !== undefined && (isDenial(before) || isDenial(token))) found.push("|")
    if (before !== token || isDenial(token) || !/^\p{L}+$/u.test(token)) found.push(token)
    pause = breaks
  }
  return found
}

/**
 * Equal for texts that differ only in white space, sentence punctuation, case and immediately repeated words. Empty for
 * a text without words.
 *
 * @category getters
 */
export const key = (text: string): string => tokens(text).join(" ")

/** Words whose absence does not change a sentence. */
const hollow: ReadonlySet<string> = new Set(
  "the very really quite also indeed actually basically please kindly thanks hi hello hey oh um uh".split(" ")
)

/**
 * Like `key`, and also equal for texts that differ in small words (`the`, `very`, `please`).
 *
 * @category getters
 */
export const gist = (text: string): string => {
  const all = tokens(text)
  const telling = all.filter((token) => !hollow.has(token))
  return (telling.length === 0 ? all : telling).join(" ")
}
