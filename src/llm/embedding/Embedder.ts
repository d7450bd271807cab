/**
 * The port that embeds texts as vectors.
 *
 * The wrappers, from the outside in: `EmbedderCache`, `EmbedderBatch`, `EmbedderRetry`, then the model. Repeated texts
 * then cost nothing, texts of many fibers share requests, and each request has its own retries and timeout.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A text could not be embedded. `isRetryable` says whether the same call may succeed later, `retryAfterMs` how long the
 * provider asked to wait.
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
 * All vectors of one embedder have the same length, `dimensions`, and are normalized: norm 1, or 0 for a text without
 * any feature. Callers must not mutate a vector.
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
  /** The model. Vectors of different models cannot be compared. */
  readonly model: string
  readonly dimensions: number
  readonly embed: (text: string) => Effect.Effect<Vector, EmbeddingError>
  /** Returns one vector per text, in order. Without texts nothing is called. */
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
  /** Calls the model: one row of numbers per text, in order. Its output is validated. */
  readonly embedMany: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ArrayLike<number>>, EmbeddingError>
  /** The maximum number of texts per request; default all texts of a call. Requests of a call run in sequence. */
  readonly maxBatchSize?: number | undefined
  /** The maximum number of characters of all texts of a request; a longer text is sent alone. Default no limit. */
  readonly maxBatchCharacters?: number | undefined
  /** The maximum number of characters of a text; only the beginning of a longer one is embedded. Default no limit. */
  readonly maxCharacters?: number | undefined
}

const described = (value: unknown): string =>
  Array.isArray(value) ? "a list" : value === null ? "null" : typeof value === "object" ? "an object" : typeof value

const isRow = (value: unknown): value is ArrayLike<number> =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))

/**
 * Normalizes numbers to norm 1; zeros stay zeros. Undefined if one is not finite.
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
  // Scaled by the largest value, so that no square overflows or underflows.
  let sum = 0
  for (let i = 0; i < row.length; i++) {
    const share = (row[i] as number) / largest
    sum += share * share
  }
  const length = Math.sqrt(sum)
  for (let i = 0; i < row.length; i++) vector[i] = (row[i] as number) / largest / length
  return vector
}

/** The beginning of a text, without half of a surrogate pair at the end. */
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
 * Makes an embedder from a model call and validates its output: a wrong number of rows, a row of another length, or a
 * number that is not finite is an `EmbeddingError` that says what was wrong. Vectors are normalized.
 *
 * A repeated text is sent once per call. A blank text is not sent: its vector is zero, since many models reject such a
 * text and the whole request with it.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Embedder } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 *
 * const embedder = Embedder.make({
 *   model: "letters-and-digits",
 *   dimensions: 2,
 *   maxBatchSize: 100,
 *   embedMany: (texts) =>
 *     Effect.succeed(texts.map((text) => [text.replace(/[^a-z]/gi, "").length, text.replace(/\D/g, "").length]))
 * })
 * const layer = Embedder.layer(embedder)
 * ```
 */
export const make = (options: Options): Service => {
  const { dimensions, model } = options
  const maxCharacters = Math.max(1, options.maxCharacters ?? Number.POSITIVE_INFINITY)
  const wrong = (what: string) => new EmbeddingError({ message: `The embedding model ${model} returned ${what}` })

  /** The rows as vectors, or a description of what is wrong. */
  const check = (rows: unknown, count: number): ReadonlyArray<Vector> | EmbeddingError => {
    if (!Array.isArray(rows)) return wrong(`${described(rows)} instead of a list of vectors`)
    if (rows.length !== count) return wrong(`${rows.length} vectors for ${count} texts`)
    const vectors: Array<Vector> = []
    // By index, because array methods skip holes.
    for (let i = 0; i < count; i++) {
      const row: unknown = rows[i]
      if (!isRow(row)) return wrong(`${described(row)} instead of vector ${i}`)
      if (row.length !== dimensions) {
        return new EmbeddingError({
          message: `The embedding model ${model} returned vectors of length ${row.length} instead of ${dimensions}`,
          hint: "Set the dimensions of the embedder to those of the model."
        })
      }
      const vector = normalize(row)
      if (vector === undefined) return wrong(`a number that is not finite (vector ${i})`)
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
 * A layer of a given embedder.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (service: Service): Layer.Layer<Embedder> => Layer.succeed(Embedder, service)

/**
 * Wraps the embedder below; the wrappers of this folder are built on it.
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
