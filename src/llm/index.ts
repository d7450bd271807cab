/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
export * as CacheBackend from "./CacheBackend.js"

/**
 * What the requests of a model call used, also where they were cut off: a request that is interrupted, times out or
 * fails midway costs its input and what was streamed of its answer, as far as the provider did not say what it used.
 *
 * @since 0.1.0
 */
export * as CallMeter from "./model/CallMeter.js"

/**
 * What a model call cost. Unknown unless prices are given: a price that is not known is never taken for zero.
 *
 * @since 0.1.0
 */
export * as CostEstimator from "./model/CostEstimator.js"

/**
 * A model router over a table of roles.
 *
 * @since 0.1.0
 */
export * as DefaultModelRouter from "./DefaultModelRouter.js"

/**
 * Texts as vectors.
 *
 * @since 0.1.0
 */
export * as Embedder from "./embedding/Embedder.js"

/**
 * Texts that many fibers embed at about the same time, in one request.
 *
 * @since 0.1.0
 */
export * as EmbedderBatch from "./embedding/EmbedderBatch.js"

/**
 * Vectors kept for texts that were embedded before: in this process, or in a `CacheBackend` that others share.
 *
 * @since 0.1.0
 */
export * as EmbedderCache from "./embedding/EmbedderCache.js"

/**
 * Repeats calls of an embedder that failed for a passing reason, each try under a time limit.
 *
 * @since 0.1.0
 */
export * as EmbedderRetry from "./embedding/EmbedderRetry.js"

/**
 * An embedder that needs no model: words and parts of words, hashed into a vector. It knows how texts are written, not
 * what they mean: typing errors, inflections and shared words are close, synonyms are as far from each other as
 * anything else. Nothing is learned or loaded, and a text has the same vector on every machine.
 *
 * @since 0.1.0
 */
export * as HashingEmbedder from "./embedding/HashingEmbedder.js"

/**
 * Answers kept for equal requests, over a `CacheBackend`. Equal requests that are under way at the same time share one
 * call.
 *
 * @since 0.1.0
 */
export * as LlmCache from "./LlmCache.js"

/**
 * The one door to models: plain, serialisable requests and responses in the vocabulary of `@effect/ai` (prompt
 * messages, response parts, finish reasons), and a single method, so that every wrapper (retry, cache, fallback,
 * recording) is one Effect combinator.
 *
 * @since 0.1.0
 */
export * as LlmClient from "./model/LlmClient.js"

/**
 * How a model call can fail. Every error names its provider and, where known, the model, the HTTP status and the
 * provider's request id. None ever holds a key or a header.
 *
 * @since 0.1.0
 */
export * as LlmError from "./model/LlmError.js"

/**
 * Model calls through the client in context, and layers of clients whose calls pass the `CallGate`.
 *
 * @since 0.1.0
 */
export * as LlmGateway from "./model/LlmGateway.js"

/**
 * How many model calls may run at once, and how many requests and tokens may go out in any minute.
 *
 * @since 0.1.0
 */
export * as LlmLimits from "./LlmLimits.js"

/**
 * Takes secrets out of what goes to the model and out of what comes back, streamed answers included.
 *
 * @since 0.1.0
 */
export * as LlmRedaction from "./LlmRedaction.js"

/**
 * The usual care around a model, in the right order: each try under its own time limits, failed ones repeated.
 *
 * @since 0.1.0
 */
export * as LlmResilience from "./LlmResilience.js"

/**
 * The schema of a whole answer: what caches, recordings and durable runs store and read back. Both sides are the plain
 * `LlmClient.LlmResponse`.
 *
 * @since 0.1.0
 */
export * as LlmResponseSchema from "./model/LlmResponseSchema.js"

/**
 * Repeats model calls that failed for a passing reason, with exponential, jittered waits and the provider's
 * `Retry-After`.
 *
 * @since 0.1.0
 */
export * as LlmRetry from "./LlmRetry.js"

/**
 * Limits on how long a model call may take: the whole, the time to the first part, the gap between two parts.
 *
 * @since 0.1.0
 */
export * as LlmTimeout from "./LlmTimeout.js"

/**
 * A chain of clients: when one fails, the next one answers.
 *
 * @since 0.1.0
 */
export * as ModelFallback from "./ModelFallback.js"

/**
 * The published prices of the models of many providers, from the data set of the package `@pydantic/genai-prices` as it
 * was installed. Nothing is fetched. An application that renews the prices itself, by the `updatePrices` of that
 * package, is served the new ones within a minute.
 *
 * @since 0.1.0
 */
export * as ModelPrices from "./ModelPrices.js"

/**
 * Which client and settings answer for a role: `thinking` may be a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
export * as ModelRouter from "./ModelRouter.js"

/**
 * What a caller may ask of a model call. Every field that is set reaches the request body.
 *
 * @since 0.1.0
 */
export * as ModelSettings from "./model/ModelSettings.js"

/**
 * Streamed parts put together into the whole answer: what every streaming client ends with, and what history and
 * durability keep.
 *
 * @since 0.1.0
 */
export * as PartAssembler from "./model/PartAssembler.js"

/**
 * How many tokens a text or a conversation is for a model: the tokenizer of OpenAI's models, an approximation for all
 * others.
 *
 * @since 0.1.0
 */
export * as TokenCounter from "./model/TokenCounter.js"

/**
 * Vectors as bytes and as text: 32-bit floats, little-endian, as models, databases and caches write them.
 *
 * @since 0.1.0
 */
export * as VectorCodec from "./embedding/VectorCodec.js"
