/**
 * A model inside the process, for demos and tests without a network. It is not a language model: it matches words. It
 * reads the conversation and the tools' schemas, picks tools that share words with the request, takes their arguments
 * from the text, calls them, and reports their results. It invents no facts: it asks for what the conversation does not
 * say. The same request always gets the same answer.
 *
 * @since 0.1.0
 */
export * as OfflineModel from "./OfflineModel.js"
