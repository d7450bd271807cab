/**
 * Finds where words stand in a text, piece by piece and each piece once: many places of a text may ask for the words around them.
 *
 * @internal
 * @since 0.1.0
 */

/** A start and an end. */
type Place = readonly [number, number]

const pieceLength = 128
/** What a word may reach into the next piece, the character behind it included. */
const longest = 96
/** The character before a word, be it of two units. */
const before = 2

export class ContextWords {
  private readonly pieces = new Map<number, ReadonlyArray<Place>>()

  /** The expression is global and finds no empty word; its words are shorter than 95 characters. */
  constructor(
    private readonly words: RegExp,
    private readonly text: string
  ) {}

  /** Every word that begins in a piece, those within others too. */
  private piece(index: number): ReadonlyArray<Place> {
    const known = this.pieces.get(index)
    if (known !== undefined) return known
    const { text, words } = this
    const start = index * pieceLength
    const offset = Math.max(0, start - before)
    const around = text.slice(offset, start + pieceLength + longest)
    const found: Array<Place> = []
    words.lastIndex = start - offset
    for (let match = words.exec(around); match !== null; match = words.exec(around)) {
      const at = offset + match.index
      if (at >= start + pieceLength) break
      if (match[0] !== "") found.push([at, at + match[0].length])
      words.lastIndex = match.index + 1
    }
    this.pieces.set(index, found)
    return found
  }

  /** Of words that begin at one place the longest stands in the piece; this is one that ends in time. */
  private shorter(start: number, to: number): Place | undefined {
    const offset = Math.max(0, start - before)
    this.words.lastIndex = start - offset
    const match = this.words.exec(this.text.slice(offset, to + 1))
    if (match === null || offset + match.index !== start || start + match[0].length > to) return undefined
    return [start, start + match[0].length]
  }

  /** The last word to end in a part of the text that it also begins in. */
  last(from: number, to: number): Place | undefined {
    let best: Place | undefined
    const first = Math.floor(Math.max(0, from) / pieceLength)
    for (let index = Math.floor(to / pieceLength); index >= first; index--) {
      const places = this.piece(index)
      for (let at = places.length - 1; at >= 0; at--) {
        const found = places[at]!
        if (found[0] < from) break
        if (found[0] >= to) continue
        const place = found[1] <= to ? found : this.shorter(found[0], to)
        if (place !== undefined && (best === undefined || place[1] > best[1])) best = place
      }
      // What begins before this piece may still end behind the best, but in this piece or the next at most.
      if (best !== undefined && best[1] > index * pieceLength + longest) break
    }
    return best
  }
}
