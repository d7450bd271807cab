/**
 * Bounds the work of a regular expression from outside before it runs: the engine tries one path after the other, and a
 * pattern of a few characters may have more paths than any machine can try.
 *
 * @since 0.1.0
 * @private
 */

/** The longest text that is matched, and the longest pattern. */
export const maxText = 256
const maxPattern = 256
/** About a tenth of a millisecond for a text of `maxText` characters. */
const maxPaths = 70_000
const maxSize = 1000

interface Cost {
  /** How many ways there are at most to match a text of `maxText` characters, from one place of it. */
  readonly paths: number
  /** How many instructions the pattern comes to, repetitions written out. */
  readonly size: number
}

class Unreadable extends Error {}

const one: Cost = { paths: 1, size: 1 }

const repeated = ({ paths, size }: Cost, least: number, most: number): Cost => {
  const bound = Math.min(most, maxText)
  const ways = paths <= 1 ? Math.max(1, bound - least + 1) : paths ** bound * (bound - least + 1)
  return { paths: ways, size: size * Math.max(1, least, most === Number.POSITIVE_INFINITY ? 1 : most) }
}

const classEnd = /[^\]\\]*(?:\\[\s\S][^\]\\]*)*\]/y
const escape = /\\(?:u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[pP]\{[^}]{1,80}\}|c[A-Za-z]|[^1-9k])/y
const group = /\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_$][\w$]{0,40}>))?/y
const quantifier = /(?:[*+?]|\{(\d{1,4})(,(\d{0,4}))?\})\??/y

/** One pattern, read once from the left: every character is looked at a fixed number of times. */
class Reader {
  private at = 0
  constructor(private readonly pattern: string) {}

  private take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.at
    const match = token.exec(this.pattern)
    if (match === null) return undefined
    this.at += match[0].length
    return match
  }

  /**
   * Alternatives up to a parenthesis or the end. From outside a search begins at each place of the text unless `^` says
   * otherwise.
   */
  choice(isSearch: boolean): Cost {
    let paths = 0
    let size = 0
    for (;;) {
      const starts = isSearch && this.pattern[this.at] !== "^" ? maxText : 1
      const next = this.sequence()
      paths += next.paths * starts
      size += next.size
      if (this.pattern[this.at] !== "|") return { paths, size }
      this.at++
    }
  }

  whole(): Cost {
    const cost = this.choice(true)
    if (this.at < this.pattern.length) throw new Unreadable()
    return cost
  }

  private sequence(): Cost {
    let paths = 1
    let size = 1
    while (this.at < this.pattern.length && this.pattern[this.at] !== "|" && this.pattern[this.at] !== ")") {
      const next = this.quantified(this.atom())
      paths *= next.paths
      size += next.size
    }
    return { paths, size }
  }

  private quantified(cost: Cost): Cost {
    const match = this.take(quantifier)
    if (match === undefined) return cost
    const [whole, least, more, most] = match
    if (whole.startsWith("?")) return repeated(cost, 0, 1)
    if (least === undefined) return repeated(cost, whole.startsWith("+") ? 1 : 0, Number.POSITIVE_INFINITY)
    const end = more === undefined ? least : most === "" ? Number.POSITIVE_INFINITY : most
    return repeated(cost, Number(least), Number(end))
  }

  private atom(): Cost {
    const char = this.pattern[this.at]
    if (char === "\\") {
      if (this.take(escape) === undefined) throw new Unreadable()
      return one
    }
    if (char === "[") {
      this.at++
      if (this.take(classEnd) === undefined) throw new Unreadable()
      return one
    }
    if (char !== "(") {
      this.at++
      return one
    }
    if (this.take(group) === undefined) throw new Unreadable()
    const cost = this.choice(false)
    if (this.pattern[this.at] !== ")") throw new Unreadable()
    this.at++
    return cost
  }
}

/**
 * Whether a pattern takes a short time with every text of up to `maxText` characters. Depends on the pattern alone;
 * what cannot be read, and a reference to a group, does not.
 */
export const isCheap = (pattern: string): boolean => {
  if (pattern.length > maxPattern) return false
  try {
    const { paths, size } = new Reader(pattern).whole()
    return paths <= maxPaths && size <= maxSize
  } catch (error) {
    if (error instanceof Unreadable) return false
    throw error
  }
}
