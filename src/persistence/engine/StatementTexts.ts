/**
 * Texts of statements that differ in parts, which are without line breaks: each is made once. There are as many as
 * there are forms of what is asked, which are few; should somebody ask in ever new forms, the texts begin anew.
 *
 * @internal
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
