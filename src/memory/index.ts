/**
 * What is remembered, how it is asked for and what is found. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 */
export * as MemoryEntry from "./MemoryEntry.js"

/**
 * How memory fails. Inside a run none of these breaks it: the executor passes them over and says so.
 *
 * @since 0.1.0
 */
export * as MemoryError from "./MemoryError.js"

/**
 * What an agent has in mind: recent turns, and what the long-term stores recall for a question, within a budget of tokens.
 *
 * @since 0.1.0
 */
export * as WorkingMemory from "./WorkingMemory.js"
