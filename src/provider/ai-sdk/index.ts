/**
 * Adapts any embedding model of the AI SDK to {@link Embedder.Embedder}: models with version 3 (AI SDK 6) or version 4
 * (AI SDK 7) of its specification.
 *
 * @since 0.1.0
 */
export * as AiSdkEmbedder from "../embedding/AiSdkEmbedder.js"

/**
 * Adapts any language model of the AI SDK to {@link LlmClient}: models with version 3 (AI SDK 6) or version 4 (AI SDK
 * 7) of its specification, from any of its provider packages.
 *
 * @since 0.1.0
 */
export * as AiSdkModel from "../sdk/AiSdkModel.js"
