/**
 * A client of OpenAI's own models over `/responses`.
 *
 * @since 0.1.0
 */
export * as OpenAi from "../format/OpenAi.js"
