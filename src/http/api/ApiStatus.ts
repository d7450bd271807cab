/**
 * The failures of endpoints, each with its status.
 *
 * @private
 * @since 0.1.0
 */
import { withStatus } from "./ApiError.js"

export const Invalid = withStatus(400)
export const Unauthenticated = withStatus(401)
export const Forbidden = withStatus(403)
export const Unknown = withStatus(404)
export const Conflict = withStatus(409)
export const TooLarge = withStatus(413)
export const Rate = withStatus(429)
export const Failed = withStatus(500)
export const Unsupported = withStatus(501)
export const Unavailable = withStatus(503)
