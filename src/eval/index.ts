/**
 * Scorers: what says how good an output is.
 *
 * @since 0.1.0
 */
export * as Scorer from "./scorer/Scorer.js"
