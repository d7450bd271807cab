/**
 * Sessions of requests, for `@effect/platform` servers: finds the session of a request, or creates one, and binds it to
 * the handling of the request.
 *
 * @since 0.1.0
 */
export * as SessionMiddleware from "./session/SessionMiddleware.js"

/**
 * Verifies tokens (JWT, RFC 7519) that name the user of a request and, optionally, the session. The optional package
 * `jose` is loaded when a verifier is made.
 *
 * @since 0.1.0
 */
export * as SessionToken from "./session/SessionToken.js"
