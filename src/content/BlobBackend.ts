/**
 * What a store of blobs needs from below, and the store over it: checks of ids, sizes and hashes are the same for every
 * backend.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { UserId } from "../domain/Ids.js"
import { count } from "../internal/Count.js"
import * as BlobRef from "./BlobRef.js"
import type * as BlobStore from "./BlobStore.js"
import { BlobNotFoundError, BlobStoreError, type StoreReason } from "./ContentError.js"
import * as MediaType from "./MediaType.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The most bytes of one blob, at least 1. Default: 20 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultMaxBytes = 20 * 1_048_576

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly items: ReadonlyArray<BlobStore.Listed>
  /** Where the next page begins; `undefined` at the end. */
  readonly next: string | undefined
}

/**
 * Ids, hashes and sizes are checked before a backend sees them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Backend {
  readonly name: string
  /** Stores the whole blob or nothing. Keeps a blob that exists. */
  readonly write: (
    key: BlobStore.Get,
    blob: { readonly bytes: Uint8Array; readonly mediaType: string }
  ) => Effect.Effect<void, BlobStoreError>
  /** Reads at most one byte above `maxBytes`. */
  readonly read: (key: BlobStore.Get, maxBytes: number) => Effect.Effect<Uint8Array | undefined, BlobStoreError>
  /** Copies all, or nothing if hashes are missing. Succeeds with the missing hashes and the number of blobs. */
  readonly copy: (blobs: BlobStore.Copy) => Effect.Effect<
    {
      readonly missing: ReadonlyArray<string>
      readonly copied: number
    },
    BlobStoreError
  >
  readonly page: (
    owner: string,
    scope: string | undefined,
    after: string | undefined
  ) => Effect.Effect<Page, BlobStoreError>
  /** Succeeds with the number of removed blobs. `undefined` removes all scopes. */
  readonly remove: (owner: string, scope: string | undefined) => Effect.Effect<number, BlobStoreError>
}

/**
 * An error of a backend.
 *
 * @since 0.1.0
 * @category errors
 */
export const failure = (store: string, reason: StoreReason, message: string, hint?: string): BlobStoreError =>
  new BlobStoreError({ store, reason, message, ...(hint === undefined ? {} : { hint }) })

const isId = Schema.is(UserId)

const idHint = "Use an id of 1 to 256 characters without control characters"

const notFound = (hash: string): BlobNotFoundError =>
  new BlobNotFoundError({
    hash,
    message: "The scope has no blob with this hash",
    hint: "Store the bytes in this scope first, or copy them from the scope that has them"
  })

const makeChecks = (store: string) => {
  const id = (what: "owner" | "scope", value: unknown): Effect.Effect<void, BlobStoreError> =>
    isId(value) ? Effect.void : failure(store, "input", `The ${what} is not a valid id`, idHint)
  const hash = (value: unknown): Effect.Effect<void, BlobStoreError> =>
    BlobRef.isHash(value)
      ? Effect.void
      : failure(store, "input", "The hash is malformed", "Use the hash of a reference that the store returned")
  const mediaType = (value: string): Effect.Effect<string, BlobStoreError> => {
    const normal = MediaType.normalize(value)
    return normal === undefined
      ? failure(store, "input", "The media type is malformed", "Use a type like image/png")
      : Effect.succeed(normal)
  }
  return { id, hash, mediaType }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const toStore = (backend: Backend, options: Options = {}): BlobStore.Service => {
  const { name } = backend
  const maxBytes = count(options.maxBytes, defaultMaxBytes, 1)
  const check = makeChecks(name)

  const put = Effect.fnUntraced(function* ({ bytes, mediaType, owner, scope }: BlobStore.Put) {
    yield* check.id("owner", owner)
    yield* check.id("scope", scope)
    const type = yield* check.mediaType(mediaType)
    if (bytes.length > maxBytes) {
      const message = `The blob has ${bytes.length} bytes, and the store takes ${maxBytes}`
      return yield* failure(name, "too-large", message, "Store less, or raise `maxBytes` of the store")
    }
    const ref: BlobRef.BlobRef = { hash: BlobRef.hashOf(bytes), size: bytes.length, mediaType: type }
    yield* backend.write({ owner, scope, hash: ref.hash }, { bytes, mediaType: type })
    return ref
  })

  const get = Effect.fnUntraced(function* (key: BlobStore.Get) {
    yield* check.id("owner", key.owner)
    yield* check.id("scope", key.scope)
    yield* check.hash(key.hash)
    const bytes = yield* backend.read(key, maxBytes)
    if (bytes === undefined) return yield* notFound(key.hash)
    if (bytes.length > maxBytes || BlobRef.hashOf(bytes) !== key.hash) {
      const message = "The stored bytes are not those of the hash"
      return yield* failure(name, "corrupt", message, "Restore the blob from a backup, or store it again elsewhere")
    }
    return bytes
  })

  const copy = Effect.fnUntraced(function* (blobs: BlobStore.Copy) {
    yield* check.id("owner", blobs.owner)
    yield* check.id("scope", blobs.from)
    yield* check.id("scope", blobs.to)
    const hashes = blobs.hashes === undefined ? undefined : Array.from(new Set(blobs.hashes))
    for (const hash of hashes ?? []) yield* check.hash(hash)
    if (hashes?.length === 0) return 0
    const { copied, missing } = yield* backend.copy({ ...blobs, hashes })
    if (missing[0] !== undefined) return yield* notFound(missing[0])
    return copied
  })

  const pages = (owner: string, scope: string | undefined) =>
    Stream.paginateChunkEffect(undefined as string | undefined, (after) =>
      Effect.map(backend.page(owner, scope, after), ({ items, next }) => [
        Chunk.unsafeFromArray(items),
        next === undefined ? Option.none<string | undefined>() : Option.some<string | undefined>(next)
      ])
    )

  return {
    name,
    put,
    get,
    copy,
    list: ({ owner, scope }) =>
      Stream.unwrap(
        Effect.gen(function* () {
          yield* check.id("owner", owner)
          if (scope !== undefined) yield* check.id("scope", scope)
          return pages(owner, scope)
        })
      ),
    removeScope: Effect.fnUntraced(function* ({ owner, scope }) {
      yield* check.id("owner", owner)
      yield* check.id("scope", scope)
      return yield* backend.remove(owner, scope)
    }),
    removeOwner: Effect.fnUntraced(function* ({ owner }) {
      yield* check.id("owner", owner)
      return yield* backend.remove(owner, undefined)
    })
  }
}
