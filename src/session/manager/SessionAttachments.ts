/**
 * What a session manager does with files.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { ResolvedFile } from "../../content/Content.js"
import type { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import type { TurnFile } from "../turn/Session.js"
import { SessionNotFoundError, type SessionStorageError } from "../turn/SessionError.js"

/**
 * The caller, as in `SessionManager.Access`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: UserId | undefined
}

/**
 * A fork gets the files of its source. Deleting a session removes its files, and erasing its owner too.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Whether `attach` keeps files: the layer has a `BlobStore` in context. */
  readonly keepsFiles: boolean
  /**
   * Keeps the bytes of a file with the session, once for each content, and gives the reference for `files` of a turn. A
   * URL is kept as it is. Without a `BlobStore` in the layer's context, it fails with `BlobStoreError` (`refused`).
   */
  readonly attach: (
    id: SessionId,
    file: ResolvedFile,
    options?: Access
  ) => Effect.Effect<TurnFile, SessionNotFoundError | SessionStorageError | BlobStoreError>
  /** The bytes of a file of the session, by the hash of its reference. */
  readonly file: (
    id: SessionId,
    hash: string,
    options?: Access
  ) => Effect.Effect<Uint8Array, SessionNotFoundError | SessionStorageError | BlobNotFoundError | BlobStoreError>
}

const notStored = (sessionId: SessionId): SessionNotFoundError =>
  new SessionNotFoundError({ sessionId, message: "Sessions are not stored", hint: "Provide a layer that stores them" })

/**
 * For managers that store nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Service = { keepsFiles: false, attach: (id) => notStored(id), file: (id) => notStored(id) }
