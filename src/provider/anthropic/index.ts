/**
 * A client of Anthropic's models over `/messages`.
 *
 * @since 0.1.0
 */
export * as Anthropic from "../format/Anthropic.js"
