/**
 * A model inside the process, for demos and tests without a network. It is no language model: it matches words. It
 * reads the conversation and the tools' schemas, picks tools whose words the request shares, takes their arguments from
 * the text, calls them, and reports what they return. It invents no facts: what the conversation does not say, it asks
 * for. The same request always gets the same answer.
 *
 * @since 0.1.0
 */
export * as OfflineModel from "./OfflineModel.js"
