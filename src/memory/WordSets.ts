/**
 * Which texts say the same in nearly the same words, found without comparing all with all.
 *
 * @internal
 * @since 0.1.0
 */

/** The words of a text: what stands between white space, whatever the case. */
export const words = (text: string): ReadonlySet<string> => {
  const found = new Set(text.toLowerCase().split(/\s+/))
  found.delete("")
  return found
}

/** Rounding must not hide a pair that reaches the threshold exactly. */
const slack = 1e-9

interface Posting {
  readonly text: number
  /** Where the word stands among the words of the text, rarest first. */
  readonly at: number
}

/**
 * Looks at texts one after the other. Each is given the number of an earlier one that was kept and shares at least so much with it, as
 * |A ∩ B| / |A ∪ B| (Jaccard), or -1 and is kept itself. Texts without words are always kept.
 *
 * Exact: two sets that are similar enough share one of their rarest words (prefix filter; Bayardo, Ma and Srikant 2007), have sizes near to
 * each other, and have enough words left behind the first one they share (positional filter; Xiao et al. 2008). Only pairs that pass all
 * three are compared.
 */
export const make = (texts: ReadonlyArray<string>, threshold: number): ((text: number) => number) => {
  const numbers = new Map<string, number>()
  const frequency: Array<number> = []
  const sets = texts.map((text) => {
    const set: Array<number> = []
    for (const word of words(text)) {
      let number = numbers.get(word)
      if (number === undefined) {
        number = numbers.size
        numbers.set(word, number)
        frequency.push(0)
      }
      frequency[number] = (frequency[number] as number) + 1
      set.push(number)
    }
    return set
  })
  const rarer = (a: number, b: number): number => (frequency[a] as number) - (frequency[b] as number) || a - b
  const sorted = sets.map((set) => Int32Array.from(set.sort(rarer)))
  const postings = new Map<number, Array<Posting>>()
  /** The text that was compared with this one last. */
  const metBy = new Int32Array(texts.length).fill(-1)

  const isSimilar = (a: Int32Array, b: Int32Array, atA: number, atB: number): boolean => {
    const needed = Math.ceil((threshold / (1 + threshold)) * (a.length + b.length) - slack)
    let shared = 1
    let i = atA + 1
    let j = atB + 1
    while (shared + Math.min(a.length - i, b.length - j) >= needed) {
      if (i === a.length || j === b.length) return shared / (a.length + b.length - shared) >= threshold
      const left = a[i] as number
      const right = b[j] as number
      if (left === right) {
        shared++
        i++
        j++
      } else if (rarer(left, right) < 0) i++
      else j++
    }
    return false
  }

  return (text) => {
    const set = sorted[text] as Int32Array
    const prefix = Math.min(set.length, set.length - Math.ceil(threshold * set.length - slack) + 1)
    for (let at = 0; at < prefix; at++) {
      for (const posting of postings.get(set[at] as number) ?? []) {
        if (metBy[posting.text] === text) continue
        metBy[posting.text] = text
        const other = sorted[posting.text] as Int32Array
        const [small, large] = set.length < other.length ? [set.length, other.length] : [other.length, set.length]
        if (small + slack < threshold * large) continue
        if (isSimilar(set, other, at, posting.at)) return posting.text
      }
    }
    for (let at = 0; at < prefix; at++) {
      const word = set[at] as number
      const known = postings.get(word)
      if (known === undefined) postings.set(word, [{ text, at }])
      else known.push({ text, at })
    }
    return -1
  }
}
