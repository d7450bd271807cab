/**
 * Failures of HTTP requests.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A request was refused or failed. For the skill an answer with any status is a result. `host` is the target of the
 * failed request: the requested one, or that of a redirect.
 *
 * - `Configuration`: an option is invalid
 * - `InvalidUrl`: not an absolute `http` or `https` URL without credentials
 * - `NotAllowed`: the host or the port is not allowed
 * - `AddressNotAllowed`: the host is or has an address that is not public
 * - `HeaderNotAllowed`, `BodyNotAllowed`: a header or body that cannot be sent
 * - `Unresolved`, `Unreachable`: there was no connection, and nothing was sent
 * - `Tls`: there was no secure connection
 * - `Connection`: the connection broke later
 * - `Timeout`: there was no complete answer in time
 * - `TooManyRedirects`, `TooLarge`: the answer exceeded a limit
 * - `Decoding`: the body cannot be decompressed
 * - `Binary`: the body is not text
 * - `Status`: the answer is no file (only where a file is fetched)
 *
 * @since 0.1.0
 * @category errors
 */
export class HttpRequestError extends ErrorCode.TaggedError<HttpRequestError>(
  "effect-lexigram/builtin/HttpRequestError/HttpRequestError"
)("HttpRequestError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_108"),
  reason: Schema.Literal(
    "Configuration",
    "InvalidUrl",
    "NotAllowed",
    "AddressNotAllowed",
    "HeaderNotAllowed",
    "BodyNotAllowed",
    "Unresolved",
    "Unreachable",
    "Tls",
    "Connection",
    "Timeout",
    "TooManyRedirects",
    "TooLarge",
    "Decoding",
    "Binary",
    "Status"
  ),
  host: Schema.optional(Schema.String)
}) {}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const misconfigured = (option: string, value: string): HttpRequestError =>
  new HttpRequestError({
    reason: "Configuration",
    message: `The option ${option} has an invalid entry: "${value}"`,
    hint: option === "hosts" ? 'Give hosts as "api.example.org" or "*.example.org"' : 'Give networks as "10.1.0.0/16"'
  })

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const invalidUrl = (message: string): HttpRequestError =>
  new HttpRequestError({
    reason: "InvalidUrl",
    message,
    hint: "Give an absolute http or https URL without user name and password"
  })

const hints: Partial<Record<HttpRequestError["reason"], string>> = {
  AddressNotAllowed: "Addresses that are not public have to be allowed by the option allowPrivate",
  Unresolved: "Check the name of the host",
  Unreachable: "Nothing was sent: it may be tried again",
  Tls: "Check that the host speaks https with a certificate that is trusted",
  TooLarge: "Ask for less, or raise the limit by the options"
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const failureOf = (
  { message, reason }: { readonly reason: HttpRequestError["reason"]; readonly message: string },
  { hostname }: URL
): HttpRequestError => {
  const hint = hints[reason]
  return new HttpRequestError({ reason, message, host: hostname, ...(hint === undefined ? {} : { hint }) })
}
