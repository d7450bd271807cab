/**
 * Classifies requests that got no readable answer. `LlmErrorClassifier` exports the constructor.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpClientError from "@effect/platform/HttpClientError"
import type * as Redacted from "effect/Redacted"
import * as SameOriginHttp from "../../internal/SameOriginHttp.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as LlmError from "../../llm/model/LlmError.js"

/** The maximum length of a cause, in characters. */
const maxCauseLength = 500

const refused = (host: string) => `${host} refused the connection`
const cut = (host: string) => `The connection to ${host} was closed`
const notFound = (host: string) => `The host was not found: ${host}`
const timedOut = (host: string) => `The connection to ${host} timed out`
const unreachable = (host: string) => `${host} cannot be reached`

const causeTexts: { readonly [code: string]: (host: string) => string } = {
  ECONNREFUSED: refused,
  ECONNRESET: cut,
  EPIPE: cut,
  UND_ERR_SOCKET: cut,
  ENOTFOUND: notFound,
  EAI_AGAIN: notFound,
  ETIMEDOUT: timedOut,
  UND_ERR_CONNECT_TIMEOUT: timedOut,
  UND_ERR_HEADERS_TIMEOUT: timedOut,
  UND_ERR_BODY_TIMEOUT: timedOut,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable
}

/** The connection existed, so it broke after the request was sent. */
const broken = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"])

/** Host and port of the failed request; never its path, query or credentials. */
const hostOf = (error: unknown): string => {
  const url = HttpClientError.isHttpClientError(error) ? error.request.url : ""
  return URL.canParse(url) ? new URL(url).host.slice(0, 253) : "the server"
}

interface Link {
  readonly text: string
  readonly code: string | undefined
}

/**
 * Names, messages and codes of the chain of causes: never the error of the HTTP client, which contains the request and
 * its headers.
 */
const chain = (error: unknown): ReadonlyArray<Link> => {
  const links: Array<Link> = []
  let current: unknown = error
  for (let depth = 0; depth < 6 && current !== undefined && current !== null; depth++) {
    if (HttpClientError.isHttpClientError(current)) {
      const description = current.description
      if (description !== undefined) links.push({ text: description, code: undefined })
      current = current.cause
      continue
    }
    if (typeof current !== "object") {
      links.push({ text: String(current), code: undefined })
      break
    }
    const { cause, code, errors, message, name } = current as { readonly [key: string]: unknown }
    const words = [typeof name === "string" ? name : "", typeof message === "string" ? message : ""]
    links.push({
      text: words.filter((word) => word !== "").join(": "),
      code: typeof code === "string" && /^[A-Z0-9_]{2,40}$/.test(code) ? code : undefined
    })
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return links
}

/**
 * The error of a request without a readable answer: refused, reset, unresolvable, aborted. A request that could not be
 * built is an invalid request. The cause is kept as text, without the client's error around it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromTransport = (options: {
  readonly provider: string
  readonly model?: string | undefined
  readonly error: unknown
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}): LlmError.LlmError => {
  const links = chain(options.error)
  const code = links.find((link) => link.code !== undefined)?.code
  const cause = SecretText.excerpt(
    links
      .map((link) =>
        link.code === undefined || link.text.includes(link.code) ? link.text : `${link.text} (${link.code})`
      )
      .filter((text) => text !== "")
      .join(", caused by "),
    { maxLength: maxCauseLength, redact: options.redact }
  )
  const fields = {
    provider: options.provider,
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.status === undefined ? {} : { status: options.status }),
    ...(options.requestId === undefined ? {} : { requestId: options.requestId }),
    ...(cause === "" ? {} : { cause })
  }
  if (
    HttpClientError.isHttpClientError(options.error) &&
    (options.error.reason === "InvalidUrl" || options.error.reason === "Encode")
  ) {
    return new LlmError.LlmInvalidRequestError({
      ...fields,
      message: "The request could not be built",
      hint: "Check the base URL and the headers of the client."
    })
  }
  if (SameOriginHttp.isRefusedRedirect(options.error)) {
    return new LlmError.LlmInvalidRequestError({
      ...fields,
      status: options.error.response.status,
      message: options.error.description ?? "The server redirects, and redirects are not followed",
      hint: "If you trust the address it names with the key, set it as the base URL."
    })
  }
  const host = hostOf(options.error)
  const text =
    code !== undefined && Object.hasOwn(causeTexts, code) ? causeTexts[code]!(host) : `The connection to ${host} failed`
  return new LlmError.LlmConnectionError({
    ...fields,
    message: text,
    ...(options.status !== undefined || (code !== undefined && broken.has(code)) ? { sent: true } : {}),
    ...(code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN"
      ? { hint: "Check the base URL, and that the server is running." }
      : {})
  })
}
