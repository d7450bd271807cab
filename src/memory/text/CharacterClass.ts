/**
 * Classifies characters by how the text analyzer reads them: spaces, letters, digits, marks, scripts without spaces,
 * Hangul and pictograms.
 *
 * @private
 * @since 0.1.0
 */

/** @category constants */
export const SPACE = 1
/** @category constants */
export const LOWER = 2
/** @category constants */
export const UPPER = 3
/** @category constants */
export const DIGIT = 4
/** @category constants */
export const MARK = 5
/** @category constants */
export const SPACELESS = 6
/** @category constants */
export const HANGUL = 7
/** @category constants */
export const PICTURE = 8

const spaceless =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}]/u

const classify = (character: string): number => {
  if (/\p{Extended_Pictographic}/u.test(character)) return PICTURE
  if (/[\p{L}\p{M}\p{N}]/u.test(character)) {
    if (/\p{Script=Hangul}/u.test(character)) return HANGUL
    // Marks shared by many scripts belong to the preceding character.
    if (spaceless.test(character) && !/[\p{Script=Inherited}\p{Nd}]/u.test(character)) return SPACELESS
    if (/\p{N}/u.test(character)) return DIGIT
    if (/\p{M}/u.test(character)) return MARK
    return /\p{Lu}/u.test(character) ? UPPER : LOWER
  }
  return SPACE
}

/** The classes of the characters of the first plane; 0 until a character is classified. */
const classes = new Uint8Array(0x10000)

const learn = (unit: number): number => {
  const kind = classify(String.fromCharCode(unit))
  classes[unit] = kind
  return kind
}

/** @category guards */
export const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

/**
 * The class of a UTF-16 code unit that is not a surrogate.
 *
 * @category getters
 */
export const classOfUnit = (unit: number): number => classes[unit] || learn(unit)

/**
 * The class of the character at an index.
 *
 * @category getters
 */
export const classAt = (text: string, at: number): number => {
  const unit = text.charCodeAt(at)
  if (!isSurrogate(unit)) return classOfUnit(unit)
  const point = text.codePointAt(at) as number
  return point > 0xffff ? classify(String.fromCodePoint(point)) : SPACE
}

/**
 * The number of code units of the character at an index.
 *
 * @category getters
 */
export const widthAt = (text: string, at: number): number =>
  isSurrogate(text.charCodeAt(at)) && (text.codePointAt(at) as number) > 0xffff ? 2 : 1

/**
 * Whether characters of this class form words.
 *
 * @category guards
 */
export const isWord = (kind: number): boolean => kind >= LOWER && kind <= MARK
