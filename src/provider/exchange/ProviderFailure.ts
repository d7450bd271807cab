/**
 * Reads error answers of providers leniently, in the many shapes servers write: OpenAI, Azure, Anthropic, Google,
 * OpenRouter, vLLM, llama.cpp, Ollama, FastAPI, gateways that answer HTML.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

/**
 * `codes` are all codes, types and statuses found, lower-cased; `status` is a status code inside the body.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProviderFailure {
  readonly message: string
  readonly codes: ReadonlySet<string>
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly headers?: { readonly [name: string]: unknown } | undefined
}

type Json = { readonly [key: string]: unknown }

const maxParsed = 262_144
const maxText = 16_384
const maxRetryAfterMs = 86_400_000

const own = (record: Json, key: string): unknown => (Object.hasOwn(record, key) ? record[key] : undefined)
const string = (u: unknown): string | undefined => (typeof u === "string" && u !== "" ? u : undefined)

const parse = (body: string): unknown => {
  const text = body.length > maxParsed ? "" : body.trim()
  if (!text.startsWith("{") && !text.startsWith("[") && !text.startsWith('"')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const decodeEntities = (text: string): string =>
  text
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, "&")

const plainText = (body: string): string => {
  const text = body.slice(0, maxText).trim()
  if (!text.startsWith("<")) return text
  const title = /<title[^<>]{0,200}>([^<]{1,300})/i.exec(text)?.[1]
  return decodeEntities(
    title ?? text.replace(/<(script|style)\b[^<]{0,4000}<\/\1>/gi, " ").replace(/<[^<>]{0,1000}>/g, " ")
  ).trim()
}

const validationText = (detail: ReadonlyArray<unknown>): string =>
  detail
    .slice(0, 5)
    .map((issue) => {
      if (!Predicate.isReadonlyRecord(issue)) return String(issue)
      const loc = own(issue, "loc")
      const path = Array.isArray(loc) ? loc.filter((key) => typeof key !== "object").join(".") : ""
      const text = string(own(issue, "msg")) ?? string(own(issue, "message")) ?? ""
      return path === "" ? text : `${path}: ${text}`
    })
    .filter((text) => text !== "")
    .join("; ")

const collectCodes = (record: Json, codes: Set<string>) => {
  for (const key of ["code", "type", "status", "error_type", "reason"]) {
    const value = own(record, key)
    if (typeof value === "string" && value.length <= 200) codes.add(value.toLowerCase())
  }
}

const statusIn = (record: Json): number | undefined => {
  for (const key of ["code", "status", "statusCode", "status_code"]) {
    const value = own(record, key)
    const number =
      typeof value === "number" ? value : typeof value === "string" && /^[1-5]\d\d$/.test(value) ? Number(value) : NaN
    if (Number.isInteger(number) && number >= 400 && number <= 599) return number
  }
  return undefined
}

const messageOf = (record: Json): string | undefined => {
  const message = own(record, "message") ?? own(record, "msg") ?? own(record, "detail") ?? own(record, "error_message")
  if (Array.isArray(message)) return string(validationText(message))
  if (Predicate.isReadonlyRecord(message)) return messageOf(message)
  return string(message)
}

/**
 * Never throws, whatever the body is.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromBody = (body: string): ProviderFailure => {
  const parsed = parse(body)
  const root = Array.isArray(parsed) ? parsed[0] : parsed
  if (typeof root === "string") return { message: root, codes: new Set() }
  if (!Predicate.isReadonlyRecord(root)) return { message: plainText(body), codes: new Set() }
  const codes = new Set<string>()
  const error = own(root, "error")
  const inner = Predicate.isReadonlyRecord(error) ? error : root
  collectCodes(root, codes)
  collectCodes(inner, codes)
  let message = (Predicate.isReadonlyRecord(error) ? messageOf(error) : string(error)) ?? messageOf(root)
  let retryAfterMs: number | undefined
  let innerError = own(inner, "innererror")
  for (let depth = 0; depth < 3 && Predicate.isReadonlyRecord(innerError); depth++) {
    collectCodes(innerError, codes)
    innerError = own(innerError, "innererror")
  }
  const details = own(inner, "details")
  for (const detail of Array.isArray(details) ? details.slice(0, 10) : []) {
    if (!Predicate.isReadonlyRecord(detail)) continue
    collectCodes(detail, codes)
    const delay = string(own(detail, "retryDelay"))
    if (delay !== undefined) retryAfterMs = duration(delay)
    const violations = own(detail, "violations")
    for (const violation of Array.isArray(violations) ? violations.slice(0, 10) : []) {
      const quota = Predicate.isReadonlyRecord(violation) ? string(own(violation, "quotaId")) : undefined
      if (quota !== undefined) codes.add(quota.slice(0, 200).toLowerCase())
    }
  }
  const metadata = own(inner, "metadata")
  let headers: Json | undefined
  if (Predicate.isReadonlyRecord(metadata)) {
    collectCodes(metadata, codes)
    if (Array.isArray(own(metadata, "reasons"))) codes.add("moderation")
    const given = own(metadata, "headers")
    if (Predicate.isReadonlyRecord(given)) {
      headers = Object.fromEntries(
        Object.entries(given)
          .slice(0, 50)
          .map(([name, value]) => [name.toLowerCase(), value])
      )
    }
    const raw = string(own(metadata, "raw"))
    if (raw !== undefined && raw.length <= maxText) {
      const upstream = fromBody(raw)
      for (const code of upstream.codes) codes.add(code)
      if (upstream.message !== "")
        message = message === undefined ? upstream.message : `${message}: ${upstream.message}`
    }
  }
  return {
    message: message ?? "",
    codes,
    status: statusIn(inner) ?? statusIn(root),
    requestId: string(own(root, "request_id")) ?? string(own(inner, "request_id")) ?? string(own(root, "requestId")),
    retryAfterMs,
    headers
  }
}

const units: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `6m0s`, `1.5s`, `20ms`; undefined for anything else. */
const duration = (text: string): number | undefined => {
  if (!/^(?:\d{1,12}(?:\.\d{1,12})?(?:ms|s|m|h|d)){1,6}$/.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d{1,12}(?:\.\d{1,12})?)(ms|s|m|h|d)/g))
    total += Number(amount) * units[unit!]!
  return total
}

const bounded = (millis: number | undefined): number | undefined =>
  millis === undefined || !Number.isFinite(millis)
    ? undefined
    : Math.min(Math.max(Math.ceil(millis), 0), maxRetryAfterMs)

const numeric = (text: string): number | undefined =>
  /^-?\d{1,16}(?:\.\d{1,12})?$/.test(text) ? Number(text) : undefined

const untilDate = (text: string, nowMs: number | undefined): number | undefined => {
  if (nowMs === undefined || !/[a-z]/i.test(text)) return undefined
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : date - nowMs
}

/** A reset header: a duration, seconds, an epoch in seconds or milliseconds, or a date. */
const reset = (text: string, nowMs: number | undefined): number | undefined => {
  const span = duration(text)
  if (span !== undefined) return span
  const number = numeric(text)
  if (number === undefined) return untilDate(text, nowMs)
  if (number < 1e9) return number * 1000
  if (nowMs === undefined) return undefined
  return (number < 1e11 ? number * 1000 : number) - nowMs
}

const resetHeaders = [
  ["x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"],
  ["x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"],
  ["x-ratelimit-reset", "x-ratelimit-remaining"],
  ["anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"],
  ["anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"],
  ["anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"],
  ["anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"]
] as const

/**
 * The delay that the provider requests, in milliseconds, between 0 and a day: `retry-after-ms`, `retry-after` (seconds
 * or a date), the body, then the reset headers (of exhausted limits, if any; else the nearest). Dates need `nowMs`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const retryAfterMs = (options: {
  readonly headers: { readonly [name: string]: unknown }
  readonly failure: ProviderFailure
  readonly nowMs?: number | undefined
}): number | undefined => {
  const { failure, nowMs } = options
  const header = (name: string): string | undefined => {
    const value = own(options.headers, name) ?? (failure.headers === undefined ? undefined : own(failure.headers, name))
    const text = typeof value === "number" ? String(value) : string(value)?.trim()
    return text === undefined || text.length > 100 ? undefined : text
  }
  const millis = header("retry-after-ms")
  const fromMillis = millis === undefined ? undefined : numeric(millis)
  if (fromMillis !== undefined) return bounded(fromMillis)
  const after = header("retry-after")
  const seconds = after === undefined ? undefined : numeric(after)
  if (seconds !== undefined) return bounded(seconds * 1000)
  const waiting = after === undefined ? undefined : (duration(after) ?? untilDate(after, nowMs))
  if (waiting !== undefined) return bounded(waiting)
  if (failure.retryAfterMs !== undefined) return bounded(failure.retryAfterMs)
  const inText =
    /(?:try again|retry) (?:in|after) (\d[\d.hmsd]{0,30}|\d{1,8}(?:\.\d{1,6})?) ?(seconds?\b|minutes?\b)?/i.exec(
      failure.message.slice(0, maxText)
    )
  if (inText !== null) {
    const amount = inText[1]!.replace(/\.$/, "")
    const number = numeric(amount)
    const said =
      number === undefined
        ? duration(amount)
        : inText[2] === undefined
          ? undefined
          : number * (inText[2].toLowerCase().startsWith("m") ? 60_000 : 1000)
    if (said !== undefined) return bounded(said)
  }
  const exhausted: Array<number> = []
  const others: Array<number> = []
  for (const [name, remaining] of resetHeaders) {
    const value = header(name)
    const wait = value === undefined ? undefined : reset(value, nowMs)
    if (wait === undefined) continue
    const left = header(remaining)
    ;(left !== undefined && Number(left) <= 0 ? exhausted : others).push(wait)
  }
  if (exhausted.length > 0) return bounded(Math.max(...exhausted))
  return others.length > 0 ? bounded(Math.min(...others)) : undefined
}
