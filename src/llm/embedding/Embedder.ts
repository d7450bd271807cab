/**
 * Texts as vectors.
 *
 * Where the wrappers stand, from the outside in: `EmbedderCache`, `EmbedderBatch`, `EmbedderRetry`, then what asks the
 * model. A text that was seen before then costs nothing, texts of many fibers go out together, and each request is
 * tried and timed by itself.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A text could not be turned into a vector. `isRetryable` says whether the same call may well succeed later,
 * `retryAfterMs` how long the provider asked to wait.
 *
 * @since 0.1.0
 * @category errors
 */
export class EmbeddingError extends ErrorCode.TaggedError<EmbeddingError>(
  "effect-lexigram/llm/Embedder/EmbeddingError"
)("EmbeddingError", {
  ...ErrorCode.fields("LEX_ERR_MEM_009"),
  isRetryable: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  retryAfterMs: Schema.optional(Schema.Number)
}) {}

/**
 * All of one embedder have the same length, its `dimensions`, and are normalised: their length is 1, that of a text
 * without any feature 0. Nobody changes a vector that was handed over.
 *
 * @since 0.1.0
 * @category models
 */
export type Vector = Float32Array

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What made the vectors. Vectors of different models cannot be compared. */
  readonly model: string
  readonly dimensions: number
  readonly embed: (text: string) => Effect.Effect<Vector, EmbeddingError>
  /** One vector a text, in their order. No texts: none, and nothing is asked. */
  readonly embedMany: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Vector>, EmbeddingError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Embedder extends Context.Tag("effect-lexigram/llm/Embedder")<Embedder, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly model: string
  readonly dimensions: number
  /** Asks the model: one row of numbers a text, in their order. What it gives is checked. */
  readonly embedMany: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ArrayLike<number>>, EmbeddingError>
  /**
   * Texts of one request at most; without it all texts of a call go into one. Requests of a call follow one another.
   */
  readonly maxBatchSize?: number | undefined
  /** Characters of all texts of one request at most; a longer text goes alone. Not limited unless set. */
  readonly maxBatchCharacters?: number | undefined
  /** Of a text that is longer, only so many characters are embedded: the beginning. Not limited unless set. */
  readonly maxCharacters?: number | undefined
}

const described = (value: unknown): string =>
  Array.isArray(value) ? "a list" : value === null ? "null" : typeof value === "object" ? "an object" : typeof value

const isRow = (value: unknown): value is ArrayLike<number> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))

/**
 * The numbers as a vector of length 1; of nothing but zeros, zeros. Undefined if one is not finite.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalize = (row: ArrayLike<number>): Vector | undefined => {
  let largest = 0
  for (let i = 0; i < row.length; i++) {
    const value = row[i]
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined
    largest = Math.max(largest, Math.abs(value))
  }
  const vector = new Float32Array(row.length)
  if (largest === 0) return vector
  // By the largest first, so that no square is too large or too small for a number.
  let sum = 0
  for (let i = 0; i < row.length; i++) {
    const share = (row[i] as number) / largest
    sum += share * share
  }
  const length = Math.sqrt(sum)
  for (let i = 0; i < row.length; i++) vector[i] = (row[i] as number) / largest / length
  return vector
}

/** The first so many characters, without half of a surrogate pair at the end. */
const cut = (text: string, max: number): string => {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max)
}

const batches = (texts: ReadonlyArray<string>, options: Options): ReadonlyArray<ReadonlyArray<string>> => {
  const size = Math.max(1, options.maxBatchSize ?? Number.POSITIVE_INFINITY)
  const characters = options.maxBatchCharacters ?? Number.POSITIVE_INFINITY
  const found: Array<Array<string>> = []
  let current: Array<string> = []
  let length = 0
  for (const text of texts) {
    if (current.length > 0 && (current.length >= size || length + text.length > characters)) {
      found.push(current)
      current = []
      length = 0
    }
    current.push(text)
    length += text.length
  }
  if (current.length > 0) found.push(current)
  return found
}

/**
 * An embedder out of a call of a model. What the model gives is checked: another number of rows than texts, a row of
 * another length, a number that is not finite are an `EmbeddingError` each, which says what was wrong. Vectors are
 * normalised.
 *
 * A text that stands several times in a call is asked for once, and one without anything but white space not at all:
 * its vector is zero (many models refuse such a text, and the whole request with it).
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Service => {
  const { dimensions, model } = options
  const maxCharacters = Math.max(1, options.maxCharacters ?? Number.POSITIVE_INFINITY)
  const wrong = (what: string) => new EmbeddingError({ message: `The embedding model ${model} gave ${what}` })

  /** The rows as vectors, or what is wrong with them. */
  const check = (rows: unknown, count: number): ReadonlyArray<Vector> | EmbeddingError => {
    if (!Array.isArray(rows)) return wrong(`${described(rows)} instead of a list of vectors`)
    if (rows.length !== count) return wrong(`${rows.length} vectors for ${count} texts`)
    const vectors: Array<Vector> = []
    // By index, because holes of a list are passed over by its methods.
    for (let i = 0; i < count; i++) {
      const row: unknown = rows[i]
      if (!isRow(row)) return wrong(`${described(row)} instead of vector ${i}`)
      if (row.length !== dimensions) {
        return new EmbeddingError({
          message: `The embedding model ${model} gave vectors of length ${row.length} instead of ${dimensions}`,
          hint: "Set the dimensions of the embedder to what the model gives."
        })
      }
      const vector = normalize(row)
      if (vector === undefined) return wrong(`a vector with something that is no finite number (vector ${i})`)
      vectors.push(vector)
    }
    return vectors
  }

  const ask = (texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Vector>, EmbeddingError> =>
    Effect.flatMap(options.embedMany(texts), (rows) => {
      const checked = check(rows, texts.length)
      return checked instanceof EmbeddingError ? Effect.fail(checked) : Effect.succeed(checked)
    })

  const embedMany = (texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Vector>, EmbeddingError> =>
    Effect.suspend(() => {
      const asked = texts.map((text) => cut(text, maxCharacters))
      const vectors = new Map<string, Vector | undefined>()
      for (const text of asked) if (text.trim() !== "") vectors.set(text, undefined)
      const groups = batches(Array.from(vectors.keys()), options)
      const requests = Effect.forEach(
        groups,
        (group) =>
          Effect.map(ask(group), (rows) => {
            for (const [i, text] of group.entries()) vectors.set(text, rows[i])
          }),
        { discard: true }
      )
      return Effect.map(requests, () => asked.map((text) => vectors.get(text) ?? new Float32Array(dimensions)))
    })

  return {
    model,
    dimensions,
    embed: (text) => Effect.map(embedMany([text]), (vectors) => vectors[0] as Vector),
    embedMany
  }
}

/**
 * A layer of a ready embedder.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (service: Service): Layer.Layer<Embedder> => Layer.succeed(Embedder, service)

/**
 * Wraps the embedder below: what the wrappers of this folder are made of.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWrapped = <R = never>(
  wrap: (inner: Service) => Effect.Effect<Service, never, R>
): Layer.Layer<Embedder, never, Embedder | R> => Layer.effect(Embedder, Effect.flatMap(Embedder, wrap))

/**
 * @since 0.1.0
 * @category accessors
 */
export const embed = (text: string): Effect.Effect<Vector, EmbeddingError, Embedder> =>
  Effect.flatMap(Embedder, (embedder) => embedder.embed(text))

/**
 * @since 0.1.0
 * @category accessors
 */
export const embedMany = (
  texts: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Vector>, EmbeddingError, Embedder> =>
  Effect.flatMap(Embedder, (embedder) => embedder.embedMany(texts))
