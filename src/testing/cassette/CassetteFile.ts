/**
 * The files of cassettes: how exchanges are written, and the forms in which they are read.
 *
 * @private
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Yaml from "yaml"
import * as SecretText from "../../internal/text/SecretText.js"

/** What was sent or answered: data where it is JSON, so that a person can read it. */
export type Body =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly form: ReadonlyArray<readonly [string, string]> }

/** A request and its answer, without secrets. */
export interface Exchange {
  readonly request: {
    readonly method: string
    /** Whole, or only its path. */
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: Body | undefined
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: Body
  }
}

const Headers = Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
  default: () => ({})
})

const BodyFields = {
  json: Schema.optional(Schema.Unknown),
  text: Schema.optional(Schema.String),
  base64: Schema.optional(Schema.String),
  form: Schema.optional(Schema.Array(Schema.Tuple(Schema.String, Schema.String)))
}

/** The form in which exchanges are written. */
const Own = Schema.Struct({
  request: Schema.Struct({ method: Schema.String, url: Schema.String, headers: Headers, ...BodyFields }),
  response: Schema.Struct({ status: Schema.Int, headers: Headers, ...BodyFields })
})

/** Exchanges as lists of them are often published: parsed bodies, and the path of the request. */
const Flat = Schema.Struct({
  path: Schema.String,
  method: Schema.optionalWith(Schema.String, { default: () => "POST" }),
  status: Schema.Int,
  content_type: Schema.optionalWith(Schema.String, { default: () => "application/json" }),
  request: Schema.Unknown,
  response: Schema.Unknown
})

const Lists = Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Array(Schema.String)) })
const VcrBody = Schema.optional(Schema.NullOr(Schema.Union(Schema.String, Schema.Struct({ string: Schema.String }))))

/** The form of VCR and of its relatives, such as vcrpy. */
const Vcr = Schema.Struct({
  request: Schema.Struct({
    method: Schema.String,
    uri: Schema.String,
    headers: Schema.optionalWith(Lists, { default: () => ({}) }),
    body: VcrBody,
    parsed_body: Schema.optional(Schema.Unknown)
  }),
  response: Schema.Struct({
    status: Schema.Struct({ code: Schema.Int }),
    headers: Schema.optionalWith(Lists, { default: () => ({}) }),
    body: VcrBody,
    parsed_body: Schema.optional(Schema.Unknown)
  })
})

const Interaction = Schema.Union(Own, Flat, Vcr)
const Interactions = Schema.Struct({ interactions: Schema.Array(Interaction) })
const Case = Schema.Struct({ id: Schema.String, ...Interactions.fields })

const QUOTE = 34
const BACKSLASH = 92

/** Whether JSON has a number that may lose digits as it is read. */
const hasLongNumber = (text: string): boolean => {
  let isString = false
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isString && code === BACKSLASH) at++
    else if (code === QUOTE) isString = !isString
    digits = !isString && code >= 48 && code <= 57 ? digits + 1 : 0
    if (digits === 16) return true
  }
  return false
}

/**
 * A body that is text. JSON is kept as data.
 *
 * @category constructors
 */
export const fromText = (text: string): Body => {
  if (!/^\s*[[{]/.test(text) || hasLongNumber(text)) return { text }
  try {
    return { json: JSON.parse(text) }
  } catch {
    return { text }
  }
}

const bodyOf = (fields: {
  readonly json?: unknown
  readonly text?: string | undefined
  readonly base64?: string | undefined
  readonly form?: ReadonlyArray<readonly [string, string]> | undefined
}): Body | undefined => {
  if (fields.json !== undefined) return { json: fields.json }
  if (fields.text !== undefined) return { text: fields.text }
  if (fields.form !== undefined) return { form: fields.form }
  return fields.base64 === undefined ? undefined : { base64: fields.base64 }
}

const parsedOr = (parsed: unknown, body: string | { readonly string: string } | null | undefined): Body | undefined => {
  if (parsed !== undefined) return typeof parsed === "string" ? { text: parsed } : { json: parsed }
  if (body === undefined || body === null) return undefined
  return fromText(typeof body === "string" ? body : body.string)
}

const headersOf = (lists: Readonly<Record<string, string | ReadonlyArray<string>>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(lists).map(([name, value]) => [
      name.toLowerCase(),
      typeof value === "string" ? value : value.join(", ")
    ])
  )

/** An answer is sent decoded, whatever its encoding was. */
const ENCODING = new Set(["content-encoding", "content-length", "transfer-encoding", "connection"])

const decoded = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ENCODING.has(name)))

const toExchange = (one: typeof Interaction.Type): Exchange => {
  if ("path" in one) {
    const { content_type: contentType, method, path: url, request, response, status } = one
    return {
      request: { method, url, headers: {}, body: request === null ? undefined : { json: request } },
      response: {
        status,
        headers: { "content-type": contentType },
        body: typeof response === "string" ? { text: response } : { json: response }
      }
    }
  }
  if ("uri" in one.request) {
    const { request, response } = one as typeof Vcr.Type
    return {
      request: {
        method: request.method,
        url: request.uri,
        headers: headersOf(request.headers),
        body: parsedOr(request.parsed_body, request.body)
      },
      response: {
        status: response.status.code,
        headers: decoded(headersOf(response.headers)),
        body: parsedOr(response.parsed_body, response.body) ?? { text: "" }
      }
    }
  }
  const { request, response } = one as typeof Own.Type
  return {
    request: { method: request.method, url: request.url, headers: request.headers, body: bodyOf(request) },
    response: { status: response.status, headers: response.headers, body: bodyOf(response) ?? { text: "" } }
  }
}

const linesOf = (text: string): ReadonlyArray<unknown> =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as unknown)

/** The interactions of lines that are each one, or each a case of several. */
const ofLines = (lines: ReadonlyArray<unknown>, id: string | undefined): unknown => {
  if (!Schema.is(Schema.Struct({ interactions: Schema.Unknown }))(lines[0])) return { interactions: lines }
  const found = lines.filter((line) => id === undefined || (line as { readonly id?: unknown }).id === id)
  if (found.length === 1) return found[0]
  const ids = lines.map((line) => JSON.stringify((line as { readonly id?: unknown }).id))
  throw new TypeError(
    `${found.length} cases ${id === undefined ? "are there: name one as `case`" : `have the id ${JSON.stringify(id)}`}; there are ${ids.slice(0, 20).join(", ")}`
  )
}

const decode = Schema.decodeUnknownEither(Schema.Union(Case, Interactions), { errors: "first" })

/**
 * Reads a file by its extension: `.jsonl` has one exchange a line, or one case of several; all others are YAML, of
 * which JSON is a part. `Left` says what is wrong.
 *
 * @category conversions
 */
export const parse = (
  text: string,
  file: string,
  id?: string | undefined
): Either.Either<ReadonlyArray<Exchange>, string> => {
  try {
    const document: unknown = file.endsWith(".jsonl") ? ofLines(linesOf(text), id) : Yaml.parse(text)
    return Either.mapBoth(decode(document), {
      onLeft: ({ message }) => message,
      onRight: ({ interactions }) => interactions.map(toExchange)
    })
  } catch (error) {
    return Either.left((error as Error).message)
  }
}

const written = ({ request, response }: Exchange): typeof Own.Encoded => ({
  request: {
    method: request.method,
    url: request.url,
    headers: request.headers,
    ...(request.body as { readonly text?: string })
  },
  response: {
    status: response.status,
    headers: response.headers,
    ...(response.body as { readonly text?: string })
  }
})

/**
 * The text of a file, in the form of its extension.
 *
 * @category conversions
 */
export const print = (exchanges: ReadonlyArray<Exchange>, file: string): string => {
  const all = exchanges.map(written)
  if (file.endsWith(".jsonl")) return all.map((one) => `${JSON.stringify(one)}\n`).join("")
  const document = { interactions: all }
  return file.endsWith(".json")
    ? `${JSON.stringify(document, null, 2)}\n`
    : Yaml.stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })
}

/**
 * The body without secrets.
 *
 * @category combinators
 */
export const scrub = (body: Body, secrets: ReadonlyArray<Redacted.Redacted<string>>): Body => {
  if ("json" in body) {
    const text = JSON.stringify(body.json)
    const clean = SecretText.redact(text, secrets)
    return clean === text ? body : fromText(clean)
  }
  if ("text" in body) return { text: SecretText.redact(body.text, secrets) }
  if ("base64" in body) return body
  return { form: body.form.map(([name, value]) => [name, SecretText.redact(value, secrets)]) }
}

/**
 * The bytes of an answer.
 *
 * @category conversions
 */
export const toBytes = (body: Body): Uint8Array => {
  if ("base64" in body) return Either.getOrElse(Encoding.decodeBase64(body.base64), () => new Uint8Array())
  if ("form" in body) return new Uint8Array()
  return new TextEncoder().encode("text" in body ? body.text : JSON.stringify(body.json))
}
