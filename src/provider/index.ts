/**
 * Anthropic's models over `/messages`.
 *
 * @since 0.1.0
 */
export * as Anthropic from "./format/Anthropic.js"

/**
 * A client for every server that speaks the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama,
 * vLLM, llama.cpp, LM Studio and their like. What they differ in is a {@link ChatCompletionsDialect.Dialect}.
 *
 * @since 0.1.0
 */
export * as ChatCompletions from "./format/ChatCompletions.js"

/**
 * What servers of the chat-completions API differ in, as plain values.
 *
 * @since 0.1.0
 */
export * as ChatCompletionsDialect from "./format/ChatCompletionsDialect.js"

/**
 * Any `@effect/ai` embedding model as an {@link Embedder.Embedder}.
 *
 * @since 0.1.0
 */
export * as EmbeddingModelClient from "./embedding/EmbeddingModelClient.js"

/**
 * An embedder by the name of its provider: in code, or from the environment (`LEX_AI_LLM__EMBEDDING__PROVIDER` and its
 * siblings).
 *
 * @since 0.1.0
 */
export * as EmbeddingProviders from "./embedding/EmbeddingProviders.js"

/**
 * An embedder for every server that speaks the embeddings API of OpenAI (`POST /embeddings`): OpenAI, Azure,
 * OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and their like.
 *
 * @since 0.1.0
 */
export * as Embeddings from "./embedding/Embeddings.js"

/**
 * Any `@effect/ai` language model as an {@link LlmClient}.
 *
 * @since 0.1.0
 */
export * as LanguageModelClient from "./LanguageModelClient.js"

/**
 * Classifies failed exchanges with a provider: status, headers and body in, a typed error out. All clients share it, so
 * that the same failure has the same class for every provider.
 *
 * @since 0.1.0
 */
export * as LlmErrorClassifier from "./exchange/LlmErrorClassifier.js"

/**
 * OpenAI's own models over `/responses`.
 *
 * @since 0.1.0
 */
export * as OpenAi from "./format/OpenAi.js"

/**
 * Model roles from the environment, each with the provider it names.
 *
 * @since 0.1.0
 */
export * as ProviderRoles from "./ProviderRoles.js"

/**
 * A provider by its name: in code, or from the environment (`LEX_AI_LLM__PROVIDER` and its siblings).
 *
 * @since 0.1.0
 */
export * as Providers from "./Providers.js"
