/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
export * as CacheBackend from "./CacheBackend.js"

/**
 * Meters the requests of a model call, including cut-off ones: a request that is interrupted, times out or fails midway
 * costs its input and the streamed output, unless the provider reported its usage.
 *
 * @since 0.1.0
 */
export * as CallMeter from "./model/CallMeter.js"

/**
 * Which files models take in messages, and a wrapper that refuses a request with any other file before it is sent.
 *
 * @since 0.1.0
 */
export * as ContentSupport from "./ContentSupport.js"

/**
 * Estimates the cost of a model call. Without prices it is unknown: an unknown price never counts as zero.
 *
 * @since 0.1.0
 */
export * as CostEstimator from "./model/CostEstimator.js"

/**
 * The port that scores how well texts answer a query, by a model that reads both together. It costs a reading for each
 * text, so it orders a few that a search has found.
 *
 * @since 0.1.0
 */
export * as CrossEncoder from "./embedding/CrossEncoder.js"

/**
 * A model router with a table of roles.
 *
 * @since 0.1.0
 */
export * as DefaultModelRouter from "./DefaultModelRouter.js"

/**
 * The port that embeds texts as vectors.
 *
 * @since 0.1.0
 */
export * as Embedder from "./embedding/Embedder.js"

/**
 * Combines texts that many fibers embed at about the same time into one request.
 *
 * @since 0.1.0
 */
export * as EmbedderBatch from "./embedding/EmbedderBatch.js"

/**
 * Caches the vectors of texts: in this process, or in a shared `CacheBackend`.
 *
 * @since 0.1.0
 */
export * as EmbedderCache from "./embedding/EmbedderCache.js"

/**
 * Retries calls of an embedder that failed transiently, each attempt with a timeout.
 *
 * @since 0.1.0
 */
export * as EmbedderRetry from "./embedding/EmbedderRetry.js"

/**
 * An embedder without a model: hashes words and parts of words into a vector. It compares spelling, not meaning: typing
 * errors, inflections and shared words are close, synonyms are unrelated. Nothing is learned or loaded, and a text has
 * the same vector on every machine.
 *
 * @since 0.1.0
 */
export * as HashingEmbedder from "./embedding/HashingEmbedder.js"

/**
 * Caches answers by request, on a `CacheBackend`. Concurrent calls with equal requests share one call.
 *
 * @since 0.1.0
 */
export * as LlmCache from "./LlmCache.js"

/**
 * The port of model calls: plain, serializable requests and responses in the vocabulary of `@effect/ai` (prompt
 * messages, response parts, finish reasons), and a single method, so that every wrapper (retry, cache, fallback,
 * recording) is one Effect combinator.
 *
 * @since 0.1.0
 */
export * as LlmClient from "./model/LlmClient.js"

/**
 * Errors of model calls. Each names its provider and, where known, the model, the HTTP status and the provider's
 * request id. None ever contains a key or a header.
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
 * Limits concurrent model calls, and requests and tokens per minute.
 *
 * @since 0.1.0
 */
export * as LlmLimits from "./LlmLimits.js"

/**
 * Redacts secrets in model requests and answers, including streamed ones.
 *
 * @since 0.1.0
 */
export * as LlmRedaction from "./LlmRedaction.js"

/**
 * Wraps a client in timeouts and retries, in the right order: each attempt has its own time limits.
 *
 * @since 0.1.0
 */
export * as LlmResilience from "./LlmResilience.js"

/**
 * The schema of a complete answer, which caches, recordings and durable runs store and read back. Both sides are the
 * plain `LlmClient.LlmResponse`.
 *
 * @since 0.1.0
 */
export * as LlmResponseSchema from "./model/LlmResponseSchema.js"

/**
 * Retries model calls that failed transiently, with exponential, jittered delays and the provider's `Retry-After`.
 *
 * @since 0.1.0
 */
export * as LlmRetry from "./LlmRetry.js"

/**
 * Limits the duration of a model call: in total, to the first part, and between two parts.
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
 * The published model prices of many providers, from the installed version of the package `@pydantic/genai-prices`.
 * Nothing is fetched. If the application updates the prices itself, with the `updatePrices` of that package, the new
 * ones apply within a minute.
 *
 * @since 0.1.0
 */
export * as ModelPrices from "./ModelPrices.js"

/**
 * The port that selects client and settings for a role: `thinking` may use a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
export * as ModelRouter from "./ModelRouter.js"

/**
 * The settings of a model call. Every field that is set reaches the request body.
 *
 * @since 0.1.0
 */
export * as ModelSettings from "./model/ModelSettings.js"

/**
 * Assembles streamed parts into the complete answer, for streaming clients, history and durability.
 *
 * @since 0.1.0
 */
export * as PartAssembler from "./model/PartAssembler.js"

/**
 * Tools that a provider runs itself: web search, code execution, search in stored files, and whatever else it has.
 *
 * @since 0.1.0
 */
export * as ProviderTool from "./ProviderTool.js"

/**
 * Counts the tokens of a text or a conversation for a model: with the tokenizer of OpenAI's models, approximately for
 * all others.
 *
 * @since 0.1.0
 */
export * as TokenCounter from "./model/TokenCounter.js"

/**
 * Encodes vectors as bytes and as text: 32-bit floats, little-endian, as models, databases and caches write them.
 *
 * @since 0.1.0
 */
export * as VectorCodec from "./embedding/VectorCodec.js"
