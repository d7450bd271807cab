/**
 * Distinguishes keys and passwords from words, fillers and placeholders.
 *
 * @since 0.1.0
 */

/**
 * Entropy in bits per character.
 *
 * @since 0.1.0
 * @category measures
 */
export const entropyOf = (text: string): number => {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let entropy = 0
  for (const count of counts.values()) entropy -= (count / text.length) * Math.log2(count / text.length)
  return entropy
}

/**
 * True for characters of some variety, unlike `xxxxxxxx`.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isVaried = (value: string): boolean =>
  !/x{5}|\*{3}|\.{3}|0{8}|(?:^|[-_])(?:your|example|placeholder|redacted|dummy|sample)(?:[-_]|$)/i.test(value) &&
  entropyOf(value) >= Math.min(3, 0.5 * Math.log2(value.length))

/**
 * True for random characters, unlike `your-key-here`.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isRandom = (value: string): boolean =>
  isVaried(value) && !/1234567890|your|example|placeholder|redacted|dummy|sample/i.test(value)

/**
 * Decodes base64 or base64url; `undefined` for other text.
 *
 * @since 0.1.0
 * @category encoding
 */
export const decoded = (base64: string): string | undefined => {
  try {
    return atob(base64.replace(/-/g, "+").replace(/_/g, "/"))
  } catch {
    return undefined
  }
}
