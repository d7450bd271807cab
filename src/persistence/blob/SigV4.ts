/**
 * Signs HTTP requests by AWS Signature Version 4, with the hash of the payload.
 *
 * Source: AWS General Reference, "Signature Version 4 signing process"; S3 encodes paths once and does not normalize
 * them.
 *
 * @private
 * @since 0.1.0
 */
import { createHash, createHmac } from "node:crypto"
import * as DateTime from "effect/DateTime"

/**
 * @category models
 */
export interface Request {
  readonly method: string
  /** The path and the query are encoded already; the host is the one that is sent. */
  readonly url: URL
  /** Headers to sign besides `host` and `x-amz-date`. Names are in lower case. */
  readonly headers: { readonly [name: string]: string }
  /** Hexadecimal SHA-256 of the body. */
  readonly payloadHash: string
}

/**
 * @category models
 */
export interface Signer {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
  readonly service: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/**
 * @category models
 */
export interface Signed {
  readonly canonicalRequest: string
  readonly stringToSign: string
  readonly signature: string
  /** The headers to send with those of the request. */
  readonly headers: { readonly "x-amz-date": string; readonly authorization: string }
}

/**
 * Hexadecimal SHA-256.
 *
 * @category conversions
 */
export const hashOf = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex")

const hmac = (key: string | Uint8Array, text: string): Buffer => createHmac("sha256", key).update(text).digest()

/**
 * Encodes every byte of UTF-8 that is not unreserved in RFC 3986.
 *
 * @category encoding
 */
export const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/** Encodes each segment once, whatever of it the URL encodes. */
const canonicalPath = (url: URL): string =>
  url.pathname
    .split("/")
    .map((segment) => encode(decodeURIComponent(segment)))
    .join("/")

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const canonicalQuery = (url: URL): string =>
  Array.from(url.searchParams, ([name, value]) => [encode(name), encode(value)] as const)
    .sort((a, b) => byText(a[0], b[0]) || byText(a[1], b[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&")

/** `20150830T123600Z` */
const stampOf = (at: number): string => DateTime.formatIso(DateTime.unsafeMake(at)).replace(/[-:]|\.\d{3}/g, "")

/**
 * @category constructors
 */
export const sign = (request: Request, signer: Signer): Signed => {
  const stamp = stampOf(signer.at)
  const day = stamp.slice(0, 8)
  const scope = `${day}/${signer.region}/${signer.service}/aws4_request`
  const headers = Object.entries({ ...request.headers, host: request.url.host, "x-amz-date": stamp })
    .map(([name, value]) => [name, value.trim().replace(/ +/g, " ")] as const)
    .sort((a, b) => byText(a[0], b[0]))
  const names = headers.map(([name]) => name).join(";")
  const canonicalRequest = [
    request.method,
    canonicalPath(request.url),
    canonicalQuery(request.url),
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    request.payloadHash
  ].join("\n")
  const stringToSign = ["AWS4-HMAC-SHA256", stamp, scope, hashOf(canonicalRequest)].join("\n")
  const key = [day, signer.region, signer.service, "aws4_request"].reduce<string | Uint8Array>(
    hmac,
    `AWS4${signer.secretAccessKey}`
  )
  const signature = hmac(key, stringToSign).toString("hex")
  const authorization = `AWS4-HMAC-SHA256 Credential=${signer.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
  return { canonicalRequest, stringToSign, signature, headers: { "x-amz-date": stamp, authorization } }
}
