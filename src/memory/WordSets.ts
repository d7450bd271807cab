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

const bits = (value: number): number => {
  value -= (value >>> 1) & 0x55555555
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333)
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/**
 * Looks at texts one after the other. Each is given the number of an earlier one that was kept and shares at least so much with it, as
 * |A ∩ B| / |A ∪ B| (Jaccard), or -1 and is kept itself. Texts without words are always kept.
 *
 * Exact: two sets that are similar enough share one of their rarest words (prefix filter; Bayardo, Ma and Srikant 2007), have sizes near to
 * each other, have enough words left behind the first one they share (positional filter; Xiao et al. 2008), and differ in few bits of a
 * small picture of them. Only pairs that pass all of it are compared.
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
  // From here on a word is its rank, rarest first.
  const rank = new Int32Array(frequency.length)
  Array.from(frequency.keys())
    .sort((a, b) => (frequency[a] as number) - (frequency[b] as number) || a - b)
    .forEach((word, place) => {
      rank[word] = place
    })
  const sorted = sets.map((set) => Int32Array.from(set, (word) => rank[word] as number).sort())
  const low = new Int32Array(texts.length)
  const high = new Int32Array(texts.length)
  sorted.forEach((set, text) => {
    for (const word of set) {
      // Words of neighbouring ranks are spread over all bits.
      const bit = Math.imul(word, 0x9e3779b1) >>> 26
      if (bit < 32) low[text] = (low[text] as number) | (1 << bit)
      else high[text] = (high[text] as number) | (1 << (bit - 32))
    }
  })
  /** By word: the texts that have it among their rarest, and where. */
  const found: Array<Array<number>> = Array.from(rank, () => [])
  const places: Array<Array<number>> = Array.from(rank, () => [])
  /** The text that was compared with this one last. */
  const metBy = new Int32Array(texts.length).fill(-1)

  const shared = (a: Int32Array, b: Int32Array, atA: number, atB: number, needed: number): number => {
    let count = 1
    let i = atA + 1
    let j = atB + 1
    while (i < a.length && j < b.length && count + Math.min(a.length - i, b.length - j) >= needed) {
      const left = a[i] as number
      const right = b[j] as number
      if (left === right) count++
      if (left <= right) i++
      if (right <= left) j++
    }
    return count
  }

  return (text) => {
    const set = sorted[text] as Int32Array
    const size = set.length
    const prefix = Math.min(size, size - Math.ceil(threshold * size - slack) + 1)
    const shortest = threshold * size - slack
    const longest = size / threshold + slack
    for (let at = 0; at < prefix; at++) {
      const others = found[set[at] as number] as Array<number>
      const ats = places[set[at] as number] as Array<number>
      for (let index = 0; index < others.length; index++) {
        const other = others[index] as number
        if (metBy[other] === text) continue
        metBy[other] = text
        const otherSet = sorted[other] as Int32Array
        const both = size + otherSet.length
        if (otherSet.length < shortest || otherSet.length > longest) continue
        const needed = Math.ceil((threshold / (1 + threshold)) * both - slack)
        const atOther = ats[index] as number
        if (Math.min(size - at, otherSet.length - atOther) < needed) continue
        const difference =
          bits((low[text] as number) ^ (low[other] as number)) + bits((high[text] as number) ^ (high[other] as number))
        if (difference > both - 2 * needed) continue
        const count = shared(set, otherSet, at, atOther, needed)
        if (count / (both - count) >= threshold) return other
      }
    }
    for (let at = 0; at < prefix; at++) {
      found[set[at] as number]?.push(text)
      places[set[at] as number]?.push(at)
    }
    return -1
  }
}
