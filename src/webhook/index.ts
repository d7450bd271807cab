/**
 * Tells an address of the end of a run: signed, repeated until it is taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
export * as SignedWebhooks from "./SignedWebhooks.js"
