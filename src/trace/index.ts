/**
 * Traces: what runs did, as a model, as text, as a diagram and as a page.
 *
 * @since 0.1.0
 */
export * as Trace from "./Trace.js"
