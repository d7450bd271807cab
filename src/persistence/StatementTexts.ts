/**
 * Texts of statements that differ in a part: each is made once. There are as many as there are forms of what is asked, which are few; should
 * somebody ask in ever new forms, the texts begin anew.
 *
 * @internal
 * @since 0.1.0
 */

const MAX_TEXTS = 256

/**
 * @category constructors
 */
export const make = (text: (part: string) => string): ((part: string) => string) => {
  const texts = new Map<string, string>()
  return (part) => {
    let made = texts.get(part)
    if (made === undefined) {
      if (texts.size >= MAX_TEXTS) texts.clear()
      made = text(part)
      texts.set(part, made)
    }
    return made
  }
}
