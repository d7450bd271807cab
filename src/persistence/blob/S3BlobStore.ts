/**
 * A `BlobStore` in a bucket of any S3-compatible server: `<prefix><owner>/<scope>/<hash>`, with owners and scopes by
 * the SHA-256 of their ids. `scope.json` beside the blobs of a scope has the id itself. Requests are signed by AWS
 * Signature Version 4 with the hash of their bodies.
 *
 * @since 0.1.0
 */
import * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as BlobBackend from "../../content/BlobBackend.js"
import * as BlobStore from "../../content/BlobStore.js"
import type { BlobStoreError } from "../../content/ContentError.js"
import * as BlobFolders from "./BlobFolders.js"
import * as S3Client from "./S3Client.js"
import * as S3List from "./S3List.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends BlobBackend.Options {
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: Redacted.Redacted
  readonly secretAccessKey: Redacted.Redacted
  /** Of temporary credentials. Default: none. */
  readonly sessionToken?: Redacted.Redacted | undefined
  /** Default: `https://s3.<region>.amazonaws.com`. */
  readonly endpoint?: string | undefined
  /** Whether the bucket is in the path and not in the host name. Default: true if there is an `endpoint`. */
  readonly pathStyle?: boolean | undefined
  /** Before every key: letters, digits and `-_/`, at most 200 characters. Default: none. */
  readonly prefix?: string | undefined
}

const invalid = (message: string, hint: string) => BlobBackend.failure("s3", "input", message, hint)

/** Whether the path can be decoded: it is signed decoded. */
const isPath = ({ pathname }: URL): boolean => Option.isSome(Option.liftThrowable(decodeURIComponent)(pathname))

const placeOf = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<S3Client.Place, BlobStoreError> {
  const { bucket, prefix = "", region } = options
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    return yield* invalid("The bucket is not a bucket name", "Give its name alone, without an address")
  }
  if (!/^[a-z0-9-]{1,64}$/.test(region))
    return yield* invalid("The region is malformed", "Give a region like eu-west-1")
  if (!/^[\w/-]{0,200}$/.test(prefix)) return yield* invalid("The prefix is malformed", "Use letters, digits and -_/")
  const endpoint = options.endpoint ?? `https://s3.${region}.amazonaws.com`
  const base = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (
    base === undefined ||
    !/^https?:$/.test(base.protocol) ||
    base.username !== "" ||
    base.search !== "" ||
    !isPath(base)
  ) {
    return yield* invalid("The endpoint is malformed", "Give an http or https URL without credentials")
  }
  const path = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`
  const inPath = options.pathStyle ?? options.endpoint !== undefined
  base.pathname = inPath ? `${path}${bucket}/` : path
  if (!inPath) base.hostname = `${bucket}.${base.hostname}`
  const { accessKeyId, secretAccessKey, sessionToken } = options
  return { base, region, accessKeyId, secretAccessKey, sessionToken }
})

const Ids = Schema.parseJson(Schema.Struct({ scope: Schema.String }))
const readIds = Schema.decodeUnknownOption(Ids)
const writeIds = Schema.encodeSync(Ids)

const IDS = "scope.json"
const isName = /^[0-9a-f]{64}$/
const nameOf = (hash: string): string => hash.slice("sha256:".length)
/** Requests at once. */
const concurrency = 8

const isBlob = (key: string): boolean => isName.test(key.slice(key.lastIndexOf("/") + 1))

const makeKeys = (send: S3Client.Send, bucket: string, prefix: string) => {
  const ownerKey = (owner: string) => `${prefix}${BlobFolders.nameOf(owner)}/`
  const scopeKey = (owner: string, scope: string) => `${ownerKey(owner)}${BlobFolders.nameOf(scope)}/`
  const page = S3List.page(send)
  const has = (key: string) => Effect.map(send({ method: "HEAD", key }), (answer) => answer !== undefined)
  const mark = (owner: string, scope: string) =>
    send({
      method: "PUT",
      key: `${scopeKey(owner, scope)}${IDS}`,
      headers: { "content-type": "application/json" },
      body: new TextEncoder().encode(writeIds({ scope }))
    })
  const all = Effect.fnUntraced(function* (below: string) {
    const keys: Array<string> = []
    for (let after: string | undefined; ; ) {
      const found: S3List.KeyPage = yield* page(below, after, 1_000)
      keys.push(...found.keys)
      if (found.next === undefined) return keys
      after = found.next
    }
  })
  return { ownerKey, scopeKey, page, has, mark, all, source: (key: string) => `/${bucket}/${key}` }
}

const makeCopy = (send: S3Client.Send, keys: ReturnType<typeof makeKeys>): BlobBackend.Backend["copy"] =>
  Effect.fnUntraced(function* ({ from, hashes, owner, to }) {
    const source = keys.scopeKey(owner, from)
    const names = hashes?.map(nameOf) ?? (yield* keys.all(source)).filter(isBlob).map((key) => key.slice(source.length))
    const found = yield* Effect.forEach(names, (name) => keys.has(`${source}${name}`), { concurrency })
    const missing = names.filter((_, i) => found[i] !== true).map((name) => `sha256:${name}`)
    if (missing.length > 0 || from === to) return { missing, copied: missing.length > 0 ? 0 : names.length }
    if (names.length > 0) yield* keys.mark(owner, to)
    const copyOne = (name: string) =>
      send({
        method: "PUT",
        key: `${keys.scopeKey(owner, to)}${name}`,
        headers: { "x-amz-copy-source": keys.source(`${source}${name}`) },
        mayRefuseLate: true
      })
    const copied = yield* Effect.forEach(names, copyOne, { concurrency })
    // Removed since they were found.
    const gone = names.filter((_, i) => copied[i] === undefined).map((name) => `sha256:${name}`)
    return { missing: gone, copied: names.length - gone.length }
  })

const makePage = (send: S3Client.Send, keys: ReturnType<typeof makeKeys>): BlobBackend.Backend["page"] =>
  Effect.fnUntraced(function* (owner, scope, after) {
    const below = scope === undefined ? keys.ownerKey(owner) : keys.scopeKey(owner, scope)
    const found = yield* keys.page(below, after, 100)
    const scopes = new Map<string, string | undefined>()
    const scopeOf = Effect.fnUntraced(function* (folder: string) {
      if (scope !== undefined) return scope
      if (!scopes.has(folder)) {
        const answer = yield* send({ method: "GET", key: `${folder}${IDS}` })
        const ids =
          answer === undefined ? undefined : Option.getOrUndefined(readIds(new TextDecoder().decode(answer.body)))
        scopes.set(folder, ids?.scope)
      }
      return scopes.get(folder)
    })
    const items: Array<BlobStore.Listed> = []
    const blobs = found.keys.filter(isBlob)
    const heads = yield* Effect.forEach(blobs, (key) => send({ method: "HEAD", key }), { concurrency })
    for (const [i, key] of blobs.entries()) {
      const name = key.slice(key.lastIndexOf("/") + 1)
      const held = yield* scopeOf(key.slice(0, -name.length))
      const head = heads[i]
      if (held === undefined || head === undefined) continue
      const mediaType = head.headers["content-type"] ?? "application/octet-stream"
      items.push({
        scope: held,
        ref: { hash: `sha256:${name}`, size: Number(head.headers["content-length"]), mediaType }
      })
    }
    return { items, next: found.next }
  })

const backendOf = (send: S3Client.Send, keys: ReturnType<typeof makeKeys>): BlobBackend.Backend => {
  const keyOf = ({ hash, owner, scope }: BlobStore.Get) => `${keys.scopeKey(owner, scope)}${nameOf(hash)}`
  return {
    name: "s3",
    write: Effect.fnUntraced(function* (blob, { bytes, mediaType }) {
      const key = keyOf(blob)
      if (yield* keys.has(key)) return
      yield* keys.mark(blob.owner, blob.scope)
      yield* send({ method: "PUT", key, headers: { "content-type": mediaType }, body: bytes })
    }),
    read: (key, maxBytes) =>
      Effect.map(send({ method: "GET", key: keyOf(key), maxBytes: maxBytes + 1 }), (answer) => answer?.body),
    copy: makeCopy(send, keys),
    page: makePage(send, keys),
    remove: Effect.fnUntraced(function* (owner, scope) {
      const below = scope === undefined ? keys.ownerKey(owner) : keys.scopeKey(owner, scope)
      const all = yield* keys.all(below)
      // The ids of scopes go last, so that a removal that was cut off can be repeated by scope.
      const removeAll = (some: ReadonlyArray<string>) =>
        Effect.forEach(some, (key) => send({ method: "DELETE", key }), { concurrency, discard: true })
      const blobs = all.filter(isBlob)
      yield* removeAll(blobs)
      yield* removeAll(all.filter((key) => !isBlob(key)))
      return blobs.length
    })
  }
}

/**
 * Fails with `input` if an option is malformed; sends nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<BlobStore.Service, BlobStoreError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const place = yield* placeOf(options)
    const send = S3Client.make(yield* HttpClient.HttpClient, place)
    const keys = makeKeys(send, options.bucket, options.prefix ?? "")
    return BlobBackend.toStore(backendOf(send, keys), options)
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { FetchHttpClient } from "@effect/platform"
 * import { S3BlobStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // A MinIO of one's own; without `endpoint` it is Amazon's.
 * const blobs = S3BlobStore.layer({
 *   bucket: "agents",
 *   region: "us-east-1",
 *   endpoint: "http://localhost:9000",
 *   accessKeyId: Redacted.make("agents"),
 *   secretAccessKey: Redacted.make("a secret of the server")
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layer = (options: Options): Layer.Layer<BlobStore.BlobStore, BlobStoreError, HttpClient.HttpClient> =>
  Layer.effect(BlobStore.BlobStore, make(options))
