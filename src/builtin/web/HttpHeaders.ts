/**
 * Headers that a model may send and see.
 *
 * @private
 * @since 0.1.0
 */
import type { IncomingHttpHeaders } from "node:http"
import * as Either from "effect/Either"

/**
 * Headers that frame a message or belong to the connection. Only the client may set them: otherwise one request could
 * be read as two.
 *
 * @since 0.1.0
 * @category constants
 */
export const refused: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via"
])

/** Headers kept across origins: none can carry a credential, under any name. */
const harmless: ReadonlySet<string> = new Set([
  "accept",
  "accept-language",
  "cache-control",
  "content-language",
  "content-type",
  "range",
  "user-agent"
])

/**
 * Headers of an answer shown by default.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultResponseHeaders: ReadonlyArray<string> = [
  "cache-control",
  "content-language",
  "content-type",
  "date",
  "etag",
  "last-modified",
  "link",
  "location",
  "retry-after"
]

const maxHeaders = 64
const maxChars = 8 * 1024

const isName = (text: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/.test(text)

const isValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

/**
 * Normalizes names to lower case. `Left` names a header that cannot be sent, without its value.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  given: { readonly [name: string]: string },
  defaults: { readonly [name: string]: string }
): Either.Either<Record<string, string>, string> => {
  const entries = Object.entries(given)
  if (entries.length > maxHeaders) return Either.left(`There are more than ${maxHeaders} headers`)
  const headers = new Map(Object.entries(defaults))
  let chars = 0
  for (const [name, value] of entries) {
    if (!isName(name)) return Either.left("The name of a header is not valid")
    const lower = name.toLowerCase()
    if (refused.has(lower)) return Either.left(`The header "${lower}" cannot be set`)
    if (!isValue(value)) return Either.left(`The value of the header "${lower}" is not valid`)
    chars += name.length + value.length
    if (chars > maxChars) return Either.left(`The headers have more than ${maxChars} characters`)
    headers.set(lower, value)
  }
  return Either.right(Object.fromEntries(headers))
}

/**
 * The headers that remain when a redirect changes the origin or drops the body.
 *
 * @since 0.1.0
 * @category combinators
 */
export const redirected = (
  headers: Record<string, string>,
  change: { readonly isOtherOrigin: boolean; readonly dropsBody: boolean }
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => (!change.isOtherOrigin || harmless.has(name)) && !(change.dropsBody && name.startsWith("content-"))
    )
  )

/**
 * Selects the headers of an answer to show.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pick = (headers: IncomingHttpHeaders, names: ReadonlyArray<string>): Record<string, string> => {
  const found: Array<[string, string]> = []
  for (const given of names) {
    const name = given.toLowerCase()
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    if (value !== undefined) found.push([name, typeof value === "string" ? value : value.join(", ")])
  }
  return Object.fromEntries(found)
}
