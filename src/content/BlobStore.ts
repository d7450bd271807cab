/**
 * Stores bytes once for each scope of an owner, by their SHA-256 hash. Owners share nothing: nobody learns whether
 * another owner has the same file, and erasing an owner needs no collection of garbage.
 *
 * An owner is the id of a user, a scope the id of what holds the bytes, such as a session or a run. Both are 1 to 256
 * characters without control characters; anything else fails with a `BlobStoreError` (`input`).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { BlobRef } from "./BlobRef.js"
import type { BlobNotFoundError, BlobStoreError } from "./ContentError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Put {
  readonly owner: string
  readonly scope: string
  /** Not changed until the effect is done. */
  readonly bytes: Uint8Array
  readonly mediaType: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Get {
  readonly owner: string
  readonly scope: string
  readonly hash: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Copy {
  readonly owner: string
  /** The scope that has the blobs. */
  readonly from: string
  /** The scope that is given them. */
  readonly to: string
  /** Default: all blobs of `from`. */
  readonly hashes?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Listed {
  readonly scope: string
  readonly ref: BlobRef
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The backend: `memory`, `sqlite`, `postgres`, `files`, `s3`. */
  readonly name: string
  /**
   * Stores bytes. The same bytes again change nothing, and the media type of the first time stays in `list`. A put that
   * fails or is interrupted leaves the blob as a whole or not at all. Fails with `too-large` above the store's bound.
   */
  readonly put: (blob: Put) => Effect.Effect<BlobRef, BlobStoreError>
  /** The bytes, checked against their hash: fails with `corrupt` if they differ. */
  readonly get: (key: Get) => Effect.Effect<Uint8Array, BlobNotFoundError | BlobStoreError>
  /**
   * Gives the blobs of one scope to another scope of the same owner. If a given hash is missing, it fails and copies
   * nothing. Succeeds with the number of blobs.
   */
  readonly copy: (blobs: Copy) => Effect.Effect<number, BlobNotFoundError | BlobStoreError>
  /** The blobs of a scope, or of all scopes of the owner, read page by page in the order of the backend. */
  readonly list: (of: {
    readonly owner: string
    readonly scope?: string | undefined
  }) => Stream.Stream<Listed, BlobStoreError>
  /** Removes all blobs of a scope. Succeeds with their number; a removal that failed can be repeated. */
  readonly removeScope: (of: {
    readonly owner: string
    readonly scope: string
  }) => Effect.Effect<number, BlobStoreError>
  /** Removes all blobs of an owner. Succeeds with their number; a removal that failed can be repeated. */
  readonly removeOwner: (of: { readonly owner: string }) => Effect.Effect<number, BlobStoreError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class BlobStore extends Context.Tag("effect-lexigram/content/BlobStore")<BlobStore, Service>() {}
