/**
 * Recognizes failures of a connection.
 *
 * @private
 * @since 0.1.0
 */

const connectionCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENETDOWN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT"
])

/**
 * True for failures of a connection, which are retried by default. Checks `code` of the error and of its causes,
 * transport errors and sockets of `@effect/platform`, and errors whose `isRetryable` is true.
 *
 * @since 0.1.0
 * @category guards
 */
export const isConnectionFailure = (error: unknown): boolean => {
  let current: unknown = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    const fields = current as Record<string, unknown>
    if (typeof fields["code"] === "string" && connectionCodes.has(fields["code"])) return true
    if (fields["isRetryable"] === true) return true
    if (fields["_tag"] === "RequestError" && fields["reason"] === "Transport") return true
    if (fields["_tag"] === "SocketError") return true
    current = fields["cause"]
  }
  return false
}
