/**
 * Finds the context words of all recognizers in one scan of a text, regardless of their number.
 *
 * @private
 * @since 0.1.0
 */

/** A start and an end. */
export type Place = readonly [number, number]

/** Longest word in a text. */
const longest = 96

const wordCharacter = /^[\p{L}\p{N}]$/u
const spaced = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u
const wideGap = /[\s_-]/

const isAsciiWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90)

/** True if a letter or digit begins at an index. */
const isWordAt = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code < 128
    ? isAsciiWord(code)
    : at < text.length && wordCharacter.test(String.fromCodePoint(text.codePointAt(at)!))
}

const isWordBefore = (text: string, at: number): boolean => {
  if (at === 0) return false
  const code = text.charCodeAt(at - 1)
  const isLow = code >= 0xdc00 && code <= 0xdfff
  return isWordAt(text, isLow && at > 1 ? at - 2 : at - 1)
}

/** A space in a word matches up to two of these. */
const isGap = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code < 128
    ? code === 32 || code === 45 || code === 95 || (code >= 9 && code <= 13)
    : wideGap.test(text[at] ?? "")
}

interface Node {
  readonly next: Map<number, Node>
  gap: Node | undefined
  /** Owners of the words that end here: where a word of the text must end, or where it may continue. */
  readonly whole: Array<number>
  readonly open: Array<number>
}

const node = (): Node => ({ next: new Map(), gap: undefined, whole: [], open: [] })

const add = (root: Node, word: string, isOpen: boolean, owner: number): void => {
  let at = root
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index)
    let next = code === 32 ? at.gap : at.next.get(code)
    if (next === undefined) {
      next = node()
      if (code === 32) at.gap = next
      else at.next.set(code, next)
    }
    at = next
  }
  const owners = isOpen ? at.open : at.whole
  if (!owners.includes(owner)) owners.push(owner)
}

/** The last place that begins and ends within a part of a text. */
export const last = (places: ReadonlyArray<Place>, from: number, to: number): Place | undefined => {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (places[middle]![0] < to) low = middle + 1
    else high = middle
  }
  let best: Place | undefined
  for (let at = low - 1; at >= 0; at--) {
    const place = places[at]!
    if (place[0] < from || (best !== undefined && best[1] >= place[0] + longest)) break
    if (place[1] <= to && (best === undefined || place[1] > best[1])) best = place
  }
  return best
}

const none: ReadonlyArray<Place> = []

/** Places of each owner's words, ordered by start. */
export type Found = (owner: number) => ReadonlyArray<Place>

/** Words by prefix and suffix: `tele*`, `*nummer`. Scripts without spaces have no word boundaries. */
export class ContextWords {
  /** Words that begin at the start of a word of the text, and words that may begin within one. */
  private readonly whole = node()
  private readonly within = node()

  add(owner: number, words: ReadonlyArray<string>): void {
    for (const word of words) {
      const bare = word.replace(/^\*|\*$/g, "").toLowerCase()
      const isSpaced = spaced.test(bare)
      const root = !isSpaced || word.startsWith("*") ? this.within : this.whole
      if (bare !== "") add(root, bare, !isSpaced || word.endsWith("*"), owner)
    }
  }

  /** Finds the words in a lower-case text. Takes time linear in its length. */
  find(text: string): Found {
    const found = new Map<number, Array<Place>>()
    let start = 0
    const put = (owners: ReadonlyArray<number>, end: number): void => {
      const place: Place = [start, end]
      for (const owner of owners) {
        const places = found.get(owner)
        if (places === undefined) found.set(owner, [place])
        else places.push(place)
      }
    }
    const walk = (from: Node, at: number): void => {
      let current: Node | undefined = from
      for (; current !== undefined; current = current.next.get(text.charCodeAt(at)), at++) {
        if (current.open.length > 0) put(current.open, at)
        if (current.whole.length > 0 && !isWordAt(text, at)) put(current.whole, at)
        if (current.gap === undefined) continue
        walk(current.gap, at)
        if (!isGap(text, at)) continue
        walk(current.gap, at + 1)
        if (isGap(text, at + 1)) walk(current.gap, at + 2)
      }
    }
    for (; start < text.length; start++) {
      const code = text.charCodeAt(start)
      const within = this.within.next.get(code)
      if (within !== undefined) walk(within, start + 1)
      const whole = this.whole.next.get(code)
      if (whole !== undefined && !isWordBefore(text, start)) walk(whole, start + 1)
    }
    return (owner) => found.get(owner) ?? none
  }
}
