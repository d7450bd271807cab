/**
 * Tells addresses of the states of A2A tasks: repeated until they are taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
export * as A2aWebhooks from "./A2aWebhooks.js"

/**
 * Tells an address of the end of a run: signed, repeated until it is taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
export * as SignedWebhooks from "./SignedWebhooks.js"
