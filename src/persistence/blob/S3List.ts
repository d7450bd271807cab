/**
 * Lists the keys of a bucket by `ListObjectsV2`.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as BlobBackend from "../../content/BlobBackend.js"
import type { BlobStoreError } from "../../content/ContentError.js"
import type * as S3Client from "./S3Client.js"

/**
 * @category models
 */
export interface KeyPage {
  readonly keys: ReadonlyArray<string>
  readonly next: string | undefined
}

const unreadable = () => BlobBackend.failure("s3", "storage", "The list of the S3 server is unreadable", "Try again")

const plain = (text: string): string =>
  text
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&apos;/g, "'")
    .replace(/&amp;/g, "&")

/** Reads the answer; documents with declarations of their own are refused. */
const read = (xml: string): KeyPage | undefined => {
  if (!xml.includes("<ListBucketResult") || xml.includes("<!") || !xml.trimEnd().endsWith("</ListBucketResult>"))
    return undefined
  const keys = Array.from(xml.matchAll(/<Key>([^<]{1,2048})<\/Key>/g), (found) => plain(found[1] ?? ""))
  const token = /<NextContinuationToken>([^<]{1,2048})<\/NextContinuationToken>/.exec(xml)?.[1]
  const isCut = xml.includes("<IsTruncated>true</IsTruncated>")
  if (isCut && token === undefined) return undefined
  return { keys, next: isCut && token !== undefined ? plain(token) : undefined }
}

/**
 * One page of keys; keys without the prefix are left out.
 *
 * @category constructors
 */
export const page = (send: S3Client.Send) =>
  Effect.fnUntraced(function* (
    prefix: string,
    after: string | undefined,
    maxKeys: number
  ): Effect.fn.Return<KeyPage, BlobStoreError> {
    const token = after === undefined ? undefined : { "continuation-token": after }
    const query = { "list-type": "2", prefix, "max-keys": String(maxKeys), ...token }
    const answer = yield* send({ method: "GET", key: "", query })
    const found = answer === undefined ? undefined : read(new TextDecoder().decode(answer.body))
    if (found === undefined) return yield* unreadable()
    return { ...found, keys: found.keys.filter((key) => key.startsWith(prefix)) }
  })
