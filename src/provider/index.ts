/**
 * Adapts any embedding model of the AI SDK to {@link Embedder.Embedder}: models with version 3 (AI SDK 6) or version 4
 * (AI SDK 7) of its specification.
 *
 * @since 0.1.0
 */
export * as AiSdkEmbedder from "./embedding/AiSdkEmbedder.js"

/**
 * Adapts any language model of the AI SDK to {@link LlmClient}: models with version 3 (AI SDK 6) or version 4 (AI SDK
 * 7) of its specification, from any of its provider packages.
 *
 * @since 0.1.0
 */
export * as AiSdkModel from "./sdk/AiSdkModel.js"

/**
 * A client of Anthropic's models over `/messages`.
 *
 * @since 0.1.0
 */
export * as Anthropic from "./format/Anthropic.js"

/**
 * A client for every server with the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama, vLLM,
 * llama.cpp, LM Studio and others. A {@link ChatCompletionsDialect.Dialect} describes their differences.
 *
 * @since 0.1.0
 */
export * as ChatCompletions from "./format/ChatCompletions.js"

/**
 * The differences between servers of the chat-completions API, as plain values.
 *
 * @since 0.1.0
 */
export * as ChatCompletionsDialect from "./format/ChatCompletionsDialect.js"

/**
 * Sends requests of providers by any `HttpClient`, whatever middleware it has.
 *
 * @since 0.1.0
 */
export * as ClientTransport from "./exchange/ClientTransport.js"

/**
 * Adapts any `@effect/ai` embedding model to {@link Embedder.Embedder}.
 *
 * @since 0.1.0
 */
export * as EmbeddingModelClient from "./embedding/EmbeddingModelClient.js"

/**
 * Builds the embedder of a provider by name, in code or from the environment (`LEX_AI_LLM__EMBEDDING__PROVIDER` and its
 * siblings).
 *
 * @since 0.1.0
 */
export * as EmbeddingProviders from "./embedding/EmbeddingProviders.js"

/**
 * An embedder for every server with the embeddings API of OpenAI (`POST /embeddings`): OpenAI, Azure, OpenRouter,
 * Ollama, vLLM, llama.cpp, LM Studio and others.
 *
 * @since 0.1.0
 */
export * as Embeddings from "./embedding/Embeddings.js"

/**
 * Sends requests of providers straight by `fetch`, which costs less than half of a call over `FetchHttpClient`.
 *
 * @since 0.1.0
 */
export * as FetchTransport from "./exchange/FetchTransport.js"

/**
 * The port through which providers send requests and read answers. It needs neither a `Stream` nor a `Scope`: an answer
 * is read whole with a bound, or piece by piece, and its connection is released when its use ends.
 *
 * @since 0.1.0
 */
export * as HttpTransport from "./exchange/HttpTransport.js"

/**
 * Adapts any `@effect/ai` language model to {@link LlmClient}.
 *
 * @since 0.1.0
 */
export * as LanguageModelClient from "./LanguageModelClient.js"

/**
 * Classifies failed exchanges with a provider: from status, headers and body to a typed error. All clients share it, so
 * that the same failure has the same class for every provider.
 *
 * @since 0.1.0
 */
export * as LlmErrorClassifier from "./exchange/LlmErrorClassifier.js"

/**
 * A client of OpenAI's own models over `/responses`.
 *
 * @since 0.1.0
 */
export * as OpenAi from "./format/OpenAi.js"

/**
 * Builds the model roles of the environment, each with its own provider.
 *
 * @since 0.1.0
 */
export * as ProviderRoles from "./ProviderRoles.js"

/**
 * Builds the client of a provider by name, in code or from the environment (`LEX_AI_LLM__PROVIDER` and its siblings).
 *
 * @since 0.1.0
 */
export * as Providers from "./Providers.js"

/**
 * What is used of `@huggingface/transformers`, which runs models in this process. The program imports the package and
 * gives it; nothing here does, so that programs without it need not have it.
 *
 * @since 0.1.0
 */
export * as Transformers from "./embedding/Transformers.js"

/**
 * Scores pairs of query and text by a model that runs in this process, with `@huggingface/transformers`.
 *
 * @since 0.1.0
 */
export * as TransformersCrossEncoder from "./embedding/TransformersCrossEncoder.js"

/**
 * Embeds texts by a model that runs in this process, with `@huggingface/transformers`: no key, no request for a text.
 *
 * @since 0.1.0
 */
export * as TransformersEmbedder from "./embedding/TransformersEmbedder.js"
