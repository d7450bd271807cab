/**
 * A `BlobStore` in folders: `<root>/<owner>/<scope>/<hash>`, with owners and scopes by the SHA-256 of their ids, so
 * that no id is a path. `scope.json` in a folder has the ids themselves. A file of a blob begins with a line of JSON
 * that has its media type; its bytes follow.
 *
 * Files are written under temporary names and renamed. Removed folders are renamed before their files are deleted, so
 * that nobody reads half of them; a removal that was cut off is finished by the next one. No symbolic link below the
 * root is followed. Several processes can share a root.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BlobBackend from "../../content/BlobBackend.js"
import * as BlobStore from "../../content/BlobStore.js"
import type { BlobStoreError } from "../../content/ContentError.js"
import * as BlobFiles from "./BlobFiles.js"
import * as BlobFolders from "./BlobFolders.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends BlobBackend.Options {
  /** The folder of all blobs. It is created if it is absent. */
  readonly root: string
}

const failed = (error: PlatformError): BlobStoreError => {
  const reason = error._tag === "SystemError" ? error.reason : "InvalidData"
  return reason === "PermissionDenied"
    ? BlobBackend.failure("files", "refused", "The folder of blobs cannot be used", "Give this process its rights")
    : BlobBackend.failure(
        "files",
        "storage",
        `The folder of blobs failed (${reason})`,
        "See to its disk, then try again"
      )
}

const makeCopy = (files: BlobFiles.BlobFiles) =>
  Effect.fnUntraced(function* ({ from, hashes, owner, to }: BlobStore.Copy) {
    const names = new Set(yield* files.names(owner, from))
    const wanted = hashes?.map(BlobFiles.nameOf) ?? Array.from(names)
    const missing = (hashes ?? []).filter((hash) => !names.has(BlobFiles.nameOf(hash)))
    if (missing.length > 0) return { missing, copied: 0 }
    if (from === to) return { missing, copied: wanted.length }
    for (const name of wanted) {
      const content = yield* files.read(owner, from, name)
      if (content === undefined) return { missing: [`sha256:${name}`], copied: 0 }
      yield* files.write(owner, to, name, content)
    }
    return { missing, copied: wanted.length }
  })

const makePage = (files: BlobFiles.BlobFiles) =>
  Effect.fnUntraced(function* (owner: string, scope: string | undefined, after: string | undefined) {
    const scopes = scope === undefined ? yield* files.scopes(owner) : [scope]
    const at = after === undefined ? 0 : scopes.findIndex((name) => BlobFolders.nameOf(name) > after)
    const current = at === -1 ? undefined : scopes[at]
    if (current === undefined) return { items: [], next: undefined }
    const items: Array<BlobStore.Listed> = []
    for (const name of yield* files.names(owner, current)) {
      const ref = yield* files.describe(owner, current, name)
      if (ref !== undefined) items.push({ scope: current, ref })
    }
    return { items, next: at + 1 < scopes.length ? BlobFolders.nameOf(current) : undefined }
  })

const backendOf = (files: BlobFiles.BlobFiles): BlobBackend.Backend => {
  const copy = makeCopy(files)
  const page = makePage(files)
  return {
    name: "files",
    write: ({ hash, owner, scope }, { bytes, mediaType }) =>
      Effect.mapError(
        files.write(owner, scope, BlobFiles.nameOf(hash), BlobFiles.encode({ bytes, mediaType })),
        failed
      ),
    read: ({ hash, owner, scope }, maxBytes) =>
      Effect.mapBoth(files.read(owner, scope, BlobFiles.nameOf(hash), maxBytes), {
        onFailure: failed,
        onSuccess: (content) => (content === undefined ? undefined : BlobFiles.bytesOf(content))
      }),
    copy: (blobs) => Effect.mapError(copy(blobs), failed),
    page: (owner, scope, after) => Effect.mapError(page(owner, scope, after), failed),
    remove: (owner, scope) => Effect.mapError(files.remove(owner, scope), failed)
  }
}

/**
 * Fails if the root cannot be created.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<BlobStore.Service, BlobStoreError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* Effect.mapError(
      Effect.zipRight(fs.makeDirectory(options.root, { recursive: true }), fs.realPath(options.root)),
      failed
    )
    const files = BlobFiles.make(BlobFolders.make(fs, path, root))
    return BlobBackend.toStore(backendOf(files), options)
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { NodeContext } from "@effect/platform-node"
 * import { BlobStore } from "effect-lexigram/content"
 * import { FileBlobStore } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* BlobStore.BlobStore
 *   const place = { owner: "ada", scope: "session-1" }
 *   const { hash } = yield* store.put({ ...place, bytes: new TextEncoder().encode("a,b\n1,2"), mediaType: "text/csv" })
 *   return yield* store.get({ ...place, hash })
 * }).pipe(Effect.provide(FileBlobStore.layer({ root: "data/blobs" })), Effect.provide(NodeContext.layer))
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<BlobStore.BlobStore, BlobStoreError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(BlobStore.BlobStore, make(options))
