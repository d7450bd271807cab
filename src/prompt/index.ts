/**
 * What a model is told about the ReAct protocol.
 *
 * @since 0.1.0
 */
export * as ReActPrompt from "./ReActPrompt.js"
