/**
 * A client for every server with the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama, vLLM,
 * llama.cpp, LM Studio and others. A {@link ChatCompletionsDialect.Dialect} describes their differences.
 *
 * @since 0.1.0
 */
export * as ChatCompletions from "../format/ChatCompletions.js"

/**
 * The differences between servers of the chat-completions API, as plain values.
 *
 * @since 0.1.0
 */
export * as ChatCompletionsDialect from "../format/ChatCompletionsDialect.js"

/**
 * Sends requests of providers straight by `fetch`, which costs less than half of a call over `FetchHttpClient`.
 *
 * @since 0.1.0
 */
export * as FetchTransport from "../exchange/FetchTransport.js"
