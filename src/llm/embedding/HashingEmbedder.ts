/**
 * An embedder without a model: hashes words and parts of words into a vector. It compares spelling, not meaning: typing
 * errors, inflections and shared words are close, synonyms are unrelated. Nothing is learned or loaded, and a text has
 * the same vector on every machine.
 *
 * Features are hashed with a sign (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning"), so
 * that collisions cancel out on average. The features are the words, and their n-grams of 3 to 5 characters with marks
 * at the ends (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information"); for scripts without spaces
 * between words, n-grams of 1 to 3 characters. The weight of a feature grows with the square root of its count.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Embedder from "./Embedder.js"
import * as LetterTable from "./LetterTable.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default 512. More dimensions mean fewer collisions. */
  readonly dimensions?: number | undefined
  /** The maximum number of characters read of a text, from the beginning; default 32,768. */
  readonly maxCharacters?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { dimensions: 512, maxCharacters: 32_768 } as const

/** Changes with every change of the vectors, so that they are never compared with older ones. */
const version = 1

const minGram = 3
const maxGram = 5
const maxUnspaced = 3
/** The maximum length of a word as a feature. */
const maxWord = 64

const wordWeight = 1
const gramWeight = 0.3
/** Weights by number of letters: short words carry less meaning, and most are function words in every language. */
const lengthWeights = [0, 0.25, 0.35, 0.6, 0.85]

const boundary = 1
const offset = 0x811c9dc5
const prime = 0x01000193

/** FNV-1a distributes its bits badly; this is the finalizer of MurmurHash3. */
const mix = (hash: number): number => {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

const step = (hash: number, unit: number): number =>
  Math.imul(Math.imul(hash ^ (unit & 0xff), prime) ^ (unit >>> 8), prime)

// Kinds of features are hashed separately: the word `cat` is not the n-gram `cat`.
const wordSeed = step(offset, 2)
const gramSeed = step(offset, 3)

/** The features of a text, with open addressing: a `Map` costs twice as much. */
class Features {
  private readonly mask: number
  private readonly hashes: Uint32Array
  private readonly counts: Uint32Array
  private readonly weights: Float64Array

  constructor(private readonly units: Uint16Array) {
    // A word of n letters has fewer than 3n n-grams: the table is never more than half full.
    const capacity = 2 ** Math.ceil(Math.log2(2 * (4 * units.length + 1)))
    this.mask = capacity - 1
    this.hashes = new Uint32Array(capacity)
    this.counts = new Uint32Array(capacity)
    this.weights = new Float64Array(capacity)
  }

  private add(raw: number, weight: number): void {
    const { counts, hashes, mask, weights } = this
    const hash = mix(raw)
    let at = hash & mask
    while (counts[at] !== 0 && hashes[at] !== hash) at = (at + 1) & mask
    hashes[at] = hash
    counts[at] = (counts[at] as number) + 1
    weights[at] = (weights[at] as number) + weight
  }

  /** Letters from `start` up to, not including, `end`. */
  word(start: number, end: number): void {
    const { units } = this
    const length = end - start
    const scale = lengthWeights[length] ?? 1
    if (length <= maxWord) {
      let hash = wordSeed
      for (let i = start; i < end; i++) hash = step(hash, units[i] as number)
      this.add(hash, wordWeight * scale)
    }
    // With a mark, which is not a letter, at either end.
    for (let from = start - 1; from <= end + 1 - minGram; from++) {
      let hash = gramSeed
      const to = Math.min(from + maxGram, end + 1)
      for (let i = from; i < to; i++) {
        hash = step(hash, i < start || i === end ? boundary : (units[i] as number))
        if (i - from + 1 >= minGram) this.add(hash, gramWeight * scale)
      }
    }
  }

  /** Characters of a script without spaces between words. */
  unspaced(start: number, end: number): void {
    for (let from = start; from < end; from++) {
      let hash = wordSeed
      const to = Math.min(from + maxUnspaced, end)
      for (let i = from; i < to; i++) {
        hash = step(hash, this.units[i] as number)
        // A single character occurs in many words.
        this.add(hash, i === from ? gramWeight : wordWeight)
      }
    }
  }

  vector(dimensions: number): Embedder.Vector {
    const sums = new Float64Array(dimensions)
    for (let at = 0; at <= this.mask; at++) {
      const count = this.counts[at] as number
      if (count === 0) continue
      const hash = this.hashes[at] as number
      // The mean weight times the square root of the count. Not its logarithm, which differs between machines.
      const weight = (this.weights[at] as number) / Math.sqrt(count)
      const bucket = (hash & 0x7fffffff) % dimensions
      sums[bucket] = (sums[bucket] as number) + (hash >>> 31 === 0 ? weight : -weight)
    }
    return Embedder.normalize(sums) as Embedder.Vector
  }
}

const dimensionsOf = (options: Options | undefined): number =>
  Math.max(1, Math.floor(options?.dimensions ?? defaults.dimensions))

/**
 * The vector of a text, computed synchronously.
 *
 * @since 0.1.0
 * @category conversions
 */
export const vectorOf = (text: string, options?: Options | undefined): Embedder.Vector => {
  const dimensions = dimensionsOf(options)
  const length = Math.min(text.length, Math.max(0, options?.maxCharacters ?? defaults.maxCharacters))
  const table = LetterTable.get()
  const units = new Uint16Array(length)
  const features = new Features(units)
  let size = 0
  let start = 0
  let isUnspaced = false
  const end = (): void => {
    if (size > start) {
      if (isUnspaced) features.unspaced(start, size)
      else features.word(start, size)
    }
    start = size
  }
  for (let i = 0; i < length; i++) {
    const unit = table[text.charCodeAt(i)] as number
    if (unit === LetterTable.skipped) continue
    if (unit === LetterTable.separator) {
      end()
      continue
    }
    const isNext = LetterTable.isUnspaced(unit)
    if (isNext !== isUnspaced) {
      end()
      isUnspaced = isNext
    }
    units[size++] = unit
  }
  end()
  return features.vector(dimensions)
}

/**
 * `model` is `hashing-v1-512`: the version and the dimensions, which together say which vectors can be compared.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Embedder.Service => {
  const dimensions = dimensionsOf(options)
  const maxCharacters = options?.maxCharacters ?? defaults.maxCharacters
  const embed = (text: string): Effect.Effect<Embedder.Vector> =>
    Effect.sync(() => vectorOf(text, { dimensions, maxCharacters }))
  return {
    model: `hashing-v${version}-${dimensions}`,
    dimensions,
    embed,
    embedMany: (texts) => Effect.forEach(texts, embed)
  }
}

/**
 * @example
 * ```ts
 * import { Embedder, HashingEmbedder } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 *
 * const vectors = Effect.gen(function* () {
 *   const embedder = yield* Embedder.Embedder
 *   return yield* embedder.embedMany(["a refund", "my money back"])
 * }).pipe(Effect.provide(HashingEmbedder.layer({ dimensions: 256 })))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Embedder.Embedder> => Embedder.layer(make(options))
