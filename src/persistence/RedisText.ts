/**
 * Names in Redis: any text as one that UTF-8 keeps exactly, and whose bytes stand in the order of the code units of the text.
 *
 * UTF-8 has no lone surrogates, and puts what is beyond U+FFFF behind U+E000 to U+FFFF, where UTF-16 puts it before. So every surrogate is
 * written as two characters, the first of which (U+D7FF) is the last one before the surrogates.
 *
 * @internal
 * @since 0.1.0
 */

const MARK = "\uD7FF"
/** Behind a mark: another mark. */
const SAME = "\u3FFF"
const FIRST_SURROGATE = 0xd800
const FIRST_SIGN = 0x4000

const escapeUnit = (unit: string): string =>
  unit === MARK ? MARK + SAME : MARK + String.fromCharCode(unit.charCodeAt(0) - FIRST_SURROGATE + FIRST_SIGN)

const unescapeUnit = (pair: string): string => {
  const sign = pair.charAt(1)
  return sign === SAME ? MARK : String.fromCharCode(sign.charCodeAt(0) - FIRST_SIGN + FIRST_SURROGATE)
}

/**
 * @category encoding
 */
export const encode = (text: string): string =>
  /[\uD7FF-\uDFFF]/.test(text) ? text.replace(/[\uD7FF-\uDFFF]/g, escapeUnit) : text

/**
 * @category encoding
 */
export const decode = (name: string): string =>
  name.includes(MARK) ? name.replace(/\uD7FF[\u3FFF-\u47FF]/g, unescapeUnit) : name

/**
 * Whether UTF-8 keeps the text as it is.
 *
 * @category guards
 */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * A name in braces: all keys that begin with it lie in one slot of a cluster, whatever comes behind.
 *
 * @category encoding
 */
export const tag = (name: string): string => {
  const inside = encode(name).replace(/[%{}]/g, percent)
  return `{${inside === "" ? "%" : inside}}`
}
