/**
 * The headers that a model may send, and those it is shown.
 *
 * @internal
 * @since 0.1.0
 */
import type { IncomingHttpHeaders } from "node:http"
import * as Either from "effect/Either"

/**
 * Those that frame a message or belong to the connection: set by the client alone, or one request could be read as two.
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

/** What goes on to another origin: nothing that could be a credential, under whatever name. */
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
 * What is shown of an answer unless a program says otherwise.
 *
 * @since 0.1.0
 * @category constants
 */
export const shown: ReadonlyArray<string> = [
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
 * Names in lower case. `Left` says which header cannot be sent, without its value.
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
 * What is left of the headers of a request when a redirect leads it to another origin, or takes its body away.
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
 * Those of the answer that are to be shown.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pick = (headers: IncomingHttpHeaders, names: ReadonlyArray<string>): Record<string, string> => {
  const found: Array<[string, string]> = []
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    if (value !== undefined) found.push([name, typeof value === "string" ? value : value.join(", ")])
  }
  return Object.fromEntries(found)
}
