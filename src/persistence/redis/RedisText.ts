/**
 * Key names in Redis.
 *
 * @private
 * @since 0.1.0
 */
import * as KeyText from "../engine/KeyText.js"

/**
 * Whether UTF-8 preserves the text.
 *
 * @category guards
 */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text)

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * A name in braces: all keys that begin with it are in one slot of a cluster.
 *
 * @category encoding
 */
export const tag = (name: string): string => {
  const inside = KeyText.encode(name).replace(/[%{}]/g, percent)
  return `{${inside === "" ? "%" : inside}}`
}
