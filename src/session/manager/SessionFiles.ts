/**
 * The files of sessions, in the `BlobStore` in context: a scope for each session, under the user of the session.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as BlobStore from "../../content/BlobStore.js"
import type { ResolvedFile } from "../../content/Content.js"
import { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Session, TurnFile } from "../turn/Session.js"
import { SessionStorageError } from "../turn/SessionError.js"
import * as SessionMemory from "./SessionMemory.js"

type Place = Pick<Session, "id" | "userId" | "rootSessionId">

/** An id of at most 256 characters: the scope of a session. */
const scopeOf = (id: SessionId): string => `session:${id.length <= 248 ? id : CanonicalJson.hash(id)}`

/** The user; without one the tree, hashed: a user with such an id knew the session already. */
const ownerOf = (session: Place): string =>
  session.userId ?? `session:${CanonicalJson.hash(SessionMemory.treeOf(session))}`

const warn = (message: string) => (error: BlobStoreError | BlobNotFoundError) =>
  Effect.annotateLogs(Effect.logWarning(`${message}: ${error.message}`), {
    module: "SessionManager",
    error: error._tag
  })

const notRemoved = ({ hint, message }: BlobStoreError): SessionStorageError =>
  new SessionStorageError({
    message: `The files of the session could not be moved or removed: ${message}`,
    hint: hint ?? "Resolve the cause and repeat the call"
  })

const notKept = new BlobStoreError({
  store: "none",
  reason: "refused",
  message: "Sessions keep no files: there is no store of blobs",
  hint: "Provide a layer of `BlobStore` to the sessions"
})

const unknownHash = (hash: string): BlobNotFoundError =>
  new BlobNotFoundError({ hash, message: "The session has no such file", hint: "Give a hash of a file of its turns" })

const make = (blobs: BlobStore.Service) => {
  /** Its own scope, then those of the sessions it was forked from: a copy may have failed. */
  const read = (session: Session, hash: string): Effect.Effect<Uint8Array, BlobNotFoundError | BlobStoreError> => {
    const owner = ownerOf(session)
    const ids = [session.id, ...session.lineage.toReversed().map(({ sessionId }) => sessionId)]
    return Array.from(new Set(ids)).reduce<Effect.Effect<Uint8Array, BlobNotFoundError | BlobStoreError>>(
      (found, id) => Effect.catchTag(found, "BlobNotFoundError", () => blobs.get({ owner, scope: scopeOf(id), hash })),
      Effect.fail(unknownHash(hash))
    )
  }

  return {
    isEnabled: true,
    attach: (
      session: Session,
      { data, fileName, mediaType }: ResolvedFile
    ): Effect.Effect<TurnFile, BlobStoreError> => {
      const named = { mediaType, ...(fileName === undefined ? {} : { fileName }) }
      return data instanceof URL
        ? Effect.succeed({ ...named, data: { url: data.href } })
        : Effect.map(
            blobs.put({ owner: ownerOf(session), scope: scopeOf(session.id), bytes: data, mediaType }),
            (data) => ({ ...named, data })
          )
    },
    read,
    /** Gives files of a session to another one of its tree, all of them by default. */
    copy: (from: SessionId, to: Session, hashes?: ReadonlyArray<string>): Effect.Effect<void> =>
      blobs
        .copy({ owner: ownerOf(to), from: scopeOf(from), to: scopeOf(to.id), hashes })
        .pipe(Effect.catchAll(warn("Files of a session were not copied to its branch")), Effect.asVoid),
    remove: (session: Place): Effect.Effect<void, SessionStorageError> =>
      blobs
        .removeScope({ owner: ownerOf(session), scope: scopeOf(session.id) })
        .pipe(Effect.mapError(notRemoved), Effect.asVoid),
    /** Copies the files of a session without a user to a user. */
    give: (session: Place, userId: UserId): Effect.Effect<void, SessionStorageError> => {
      const scope = scopeOf(session.id)
      const owner = ownerOf(session)
      return blobs.list({ owner, scope }).pipe(
        Stream.runForEach(({ ref: { hash, mediaType } }) =>
          Effect.flatMap(blobs.get({ owner, scope, hash }), (bytes) =>
            blobs.put({ owner: userId, scope, bytes, mediaType })
          )
        ),
        // A session that is deleted meanwhile is not claimed either.
        Effect.catchTag("BlobNotFoundError", () => Effect.void),
        Effect.mapError(notRemoved)
      )
    }
  }
}

/**
 * @category models
 */
export interface Files extends ReturnType<typeof make> {}

/** Without a store nothing is kept. */
const none: Files = {
  isEnabled: false,
  attach: () => Effect.fail(notKept),
  read: () => Effect.fail(notKept),
  copy: () => Effect.void,
  remove: () => Effect.void,
  give: () => Effect.void
}

/**
 * The files that turns refer to by their bytes.
 *
 * @category getters
 */
export const hashesOf = (turns: ReadonlyArray<{ readonly files?: ReadonlyArray<TurnFile> | undefined }>) =>
  turns.flatMap(({ files = [] }) => files.flatMap(({ data }) => ("hash" in data ? [data.hash] : [])))

/**
 * Over the `BlobStore` in context.
 *
 * @category constructors
 */
export const fromContext: Effect.Effect<Files> = Effect.map(
  Effect.serviceOption(BlobStore.BlobStore),
  Option.match({ onNone: () => none, onSome: make })
)
