/**
 * Bounds the work of an external regular expression before it runs: the engine tries one path after another, and a
 * pattern of a few characters may have exponentially many.
 *
 * @since 0.1.0
 * @private
 */

/** Longest text that is matched, and longest pattern. */
export const maxText = 256
const maxPattern = 256
/** About a tenth of a millisecond for a text of `maxText` characters. */
const maxPaths = 70_000
const maxSize = 1000

interface Cost {
  /** Most ways to match a text of `maxText` characters from one index. */
  readonly paths: number
  /** Number of instructions of the pattern, with repetitions expanded. */
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

/** Reads a pattern once from the left, visiting each character a fixed number of times. */
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

  /** Alternatives up to a parenthesis or the end. A search starts at each index of the text unless `^` anchors it. */
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
 * True if a pattern is fast on every text of up to `maxText` characters. Depends only on the pattern; unreadable
 * patterns and references to groups are not cheap.
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
