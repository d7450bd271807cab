/**
 * The claims of a request about its session. They are untrusted input.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Tracer from "effect/Tracer"
import { SessionId } from "../../domain/Ids.js"

/**
 * The names to read; `null`: not read.
 *
 * @category models
 */
export interface Names {
  readonly header: string | null
  readonly query: string | null
  readonly cookie: string | null
}

/**
 * The session that a request names, and the place where it does. None: the value is not an id, or it is given twice
 * with different values.
 *
 * @category models
 */
export interface Named {
  readonly by: "header" | "query" | "cookie" | "token"
  readonly id: Option.Option<SessionId>
}

/** Longer headers and URLs are not read. Servers have such bounds of their own; web handlers have none. */
const longest = 16_384

const isSessionId = Schema.is(SessionId)

const idOf = (values: ReadonlyArray<string>): Option.Option<SessionId> => {
  const [value] = values
  return value !== undefined && values.length === 1 && value.length <= 256 && isSessionId(value)
    ? Option.some(value)
    : Option.none()
}

const headerOf = (request: HttpServerRequest.HttpServerRequest, name: string): string | undefined => {
  const headers: { readonly [name: string]: unknown } = request.headers
  const value = headers[name.toLowerCase()]
  return typeof value === "string" ? value : undefined
}

const decoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The values of a cookie, each once: a neighboring domain may have added its own. */
const cookiesOf = (header: string, name: string): ReadonlyArray<string> => {
  const values = new Set<string>()
  if (header.length > longest) return []
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals === -1 || pair.slice(0, equals).trim() !== name) continue
    const value = pair.slice(equals + 1).trim()
    values.add(decoded(value.startsWith('"') && value.endsWith('"') && value.length > 1 ? value.slice(1, -1) : value))
  }
  return [...values]
}

const queryOf = (url: string, name: string): ReadonlyArray<string> => {
  const begin = url.indexOf("?")
  if (begin === -1 || url.length > longest) return []
  return [...new Set(new URLSearchParams(url.slice(begin + 1).split("#", 1)[0]).getAll(name))]
}

/**
 * The sessions named by header, query and cookie, in this order. An empty value names nothing.
 *
 * @category constructors
 */
export const named = (request: HttpServerRequest.HttpServerRequest, names: Names): ReadonlyArray<Named> => {
  const header = names.header === null ? undefined : headerOf(request, names.header)?.trim()
  const given = {
    header: header === undefined ? [] : [header],
    query: names.query === null ? [] : queryOf(request.url, names.query),
    cookie: names.cookie === null ? [] : cookiesOf(headerOf(request, "cookie") ?? "", names.cookie)
  }
  return (["header", "query", "cookie"] as const)
    .map((by) => ({ by, values: given[by].filter((value) => value !== "") }))
    .filter(({ values }) => values.length > 0)
    .map(({ by, values }) => ({ by, id: idOf(values) }))
}

/**
 * The credentials after `Bearer` in the header `Authorization`.
 *
 * @category constructors
 */
export const bearer = (request: HttpServerRequest.HttpServerRequest): string | undefined => {
  const header = headerOf(request, "authorization")
  return header !== undefined && header.slice(0, 7).toLowerCase() === "bearer " ? header.slice(7).trim() : undefined
}

/**
 * Whether the client uses TLS to this server, or to a trusted proxy.
 *
 * @category getters
 */
export const isHttps = (request: HttpServerRequest.HttpServerRequest, trustProxy: boolean): boolean => {
  if (trustProxy) {
    const forwarded = headerOf(request, "x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase()
    if (forwarded !== undefined && forwarded !== "") return forwarded === "https"
  }
  const source = request.source as { readonly socket?: { readonly encrypted?: unknown }; readonly url?: unknown }
  // In Node, the URL of a request is what the client wrote.
  return source.socket === undefined
    ? typeof source.url === "string" && source.url.startsWith("https:")
    : source.socket.encrypted === true
}

const redacted = "<redacted>"

const withoutQuery = (text: string, name: string): string => {
  const begin = text.indexOf("?") + 1
  const parameters = new URLSearchParams(text.slice(begin))
  if (!parameters.has(name)) return text
  parameters.set(name, redacted)
  return text.slice(0, begin) + parameters.toString()
}

/**
 * Hides the session in the attributes of the server's spans: its id may be enough to use it.
 *
 * @category combinators
 */
export const hide = (names: Names): Effect.Effect<void> =>
  Effect.map(Effect.option(Effect.currentSpan), (found) => {
    for (let span = Option.getOrUndefined(found); span !== undefined; ) {
      for (const key of ["url.full", "url.query"]) {
        const text = span.attributes.get(key)
        if (names.query !== null && typeof text === "string") span.attribute(key, withoutQuery(text, names.query))
      }
      const header = names.header === null ? undefined : `http.request.header.${names.header.toLowerCase()}`
      if (header !== undefined && span.attributes.has(header)) span.attribute(header, redacted)
      const parent: Option.Option<Tracer.AnySpan> = span.parent
      span = Option.isSome(parent) && parent.value._tag === "Span" ? parent.value : undefined
    }
  })
