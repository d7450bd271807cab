/**
 * The address and credentials of a server, shared by the clients of OpenAI's dialect.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Redacted from "effect/Redacted"

/**
 * @since 0.1.0
 * @category models
 */
export interface Endpoint {
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  readonly auth?: "bearer" | "api-key" | undefined
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  readonly query?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
}

const reveal = (value: string | Redacted.Redacted<string>): string =>
  typeof value === "string" ? value : Redacted.value(value)

const credential = /auth|key|token|secret|cookie|password|signature/i

/**
 * All secrets of the endpoint, including those given as plain strings.
 *
 * @since 0.1.0
 * @category getters
 */
export const secretsOf = (options: Endpoint): ReadonlyArray<Redacted.Redacted<string>> => {
  const secrets: Array<Redacted.Redacted<string>> = []
  const add = (value: string) => {
    const trimmed = value.trim()
    if (trimmed !== "") secrets.push(Redacted.make(trimmed))
  }
  if (options.apiKey !== undefined) add(Redacted.value(options.apiKey))
  for (const [name, value] of [...Object.entries(options.headers ?? {}), ...Object.entries(options.query ?? {})]) {
    if (typeof value !== "string") add(Redacted.value(value))
    else if (credential.test(name)) add(value.replace(/^(?:bearer|basic)\s+/i, ""))
  }
  return secrets
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * A request to this path below the base URL, without its body; or what is wrong with the options. The base URL may
 * already end in the path.
 *
 * @since 0.1.0
 * @category constructors
 */
export const post = (options: Endpoint, path: string): HttpClientRequest.HttpClientRequest | string => {
  let url: URL
  try {
    url = new URL(options.baseUrl)
  } catch {
    return "The base URL is not a valid URL"
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return "The base URL must begin with http or https"
  if (url.username !== "" || url.password !== "")
    return "The base URL contains credentials: pass them as apiKey or headers"
  const base = url.pathname.replace(/(?<!\/)\/+$/, "")
  url.pathname = base.endsWith(path) ? base : `${base}${path}`
  url.hash = ""
  for (const [name, value] of Object.entries(options.query ?? {})) url.searchParams.set(name, reveal(value))
  const headers: Record<string, string> = {}
  if (options.apiKey !== undefined) {
    const key = Redacted.value(options.apiKey).trim()
    if (options.auth === "api-key") headers["api-key"] = key
    else headers.authorization = `Bearer ${key}`
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = reveal(value).trim()
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name)) return "The name of a header contains characters that are invalid in a header"
    if (!headerValue.test(value)) return `The header ${name} contains characters that are invalid in a header`
  }
  return HttpClientRequest.post(url, { headers })
}
