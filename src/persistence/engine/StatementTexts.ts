/**
 * Caches statement texts that differ in some parts, which must not contain line breaks. There are few combinations; if
 * there are too many, the cache is cleared.
 *
 * @private
 * @since 0.1.0
 */

const MAX_TEXTS = 256

/**
 * @category constructors
 */
export const make = <Parts extends ReadonlyArray<string>>(
  text: (...parts: Parts) => string
): ((...parts: Parts) => string) => {
  const texts = new Map<string, string>()
  return (...parts) => {
    const key = parts.join("\n")
    let made = texts.get(key)
    if (made === undefined) {
      if (texts.size >= MAX_TEXTS) texts.clear()
      made = text(...parts)
      texts.set(key, made)
    }
    return made
  }
}
