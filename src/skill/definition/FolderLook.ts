/**
 * Reads skill folders: which entries they have and what each entry is. Each folder is listed once and each entry is
 * examined once, however many callers ask.
 *
 * `FileSystem` lists names only, and reports by a failure that an entry is not a link, which costs as much as reading
 * the file. Node lists kinds with the names. Where both see the same folder, Node lists it.
 *
 * @private
 * @since 0.1.0
 */
import type * as NodeFs from "node:fs"
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

/**
 * Compares by code point, whatever the locale.
 *
 * @since 0.1.0
 * @category ordering
 */
export const byCodePoint = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates encode code points above all others.
    const isXHigh = x >= 0xd800 && x <= 0xdfff
    const isYHigh = y >= 0xd800 && y <= 0xdfff
    return isXHigh === isYHigh ? x - y : isXHigh ? 1 : -1
  }
  return a.length - b.length
}

/**
 * What an entry of a folder is; `path` is below the folder's real path. `Outside`: a link that leaves the root or leads
 * nowhere.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind =
  | { readonly _tag: "File"; readonly path: string }
  | { readonly _tag: "Folder"; readonly path: string }
  | {
      readonly _tag: "Link"
      readonly path: string
      readonly target: string
      readonly type: "File" | "Folder" | "Other"
    }
  | { readonly _tag: "Outside"; readonly path: string }
  | { readonly _tag: "Other"; readonly path: string }

/**
 * Whether a path is `root` or below it; both are real paths.
 *
 * @since 0.1.0
 * @category paths
 */
const isWithin = (path: Path.Path, root: string, target: string): boolean => {
  const relative = path.relative(root, target)
  return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative))
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FolderLook {
  /** Names, sorted by code point. */
  readonly list: (folder: string) => Effect.Effect<ReadonlyArray<string>, PlatformError>
  /** What an entry is, without following it out of `root`. `folder` is a real path. */
  readonly kind: (root: string, folder: string, name: string) => Effect.Effect<Kind, PlatformError>
  /** Whether listing the folder already told what the entry is. Otherwise the file system is asked. */
  readonly isKnown: (folder: string, name: string) => boolean
  /** Bytes of a file that is not a link; infinite if the file no longer exists. */
  readonly size: (file: string) => Effect.Effect<number, PlatformError>
}

/**
 * An entry as the file system reports it, independent of the root. Without a `target` it leads nowhere or is gone.
 */
interface Entry {
  /** Its path, with a link resolved. */
  readonly target: string | undefined
  readonly type: "File" | "Folder" | "Other"
}

const unresolved: ReadonlySet<string> = new Set(["NotFound", "BadResource", "Unknown"])

const reasonOf = (error: PlatformError): string => (error._tag === "SystemError" ? error.reason : error._tag)

const seen = (target: string, info: FileSystem.File.Info): Entry => ({
  target,
  type: info.type === "File" ? "File" : info.type === "Directory" ? "Folder" : "Other"
})

/** The entry at a path below a real folder; a link is resolved. */
const entryOf = (fs: FileSystem.FileSystem, at: string): Effect.Effect<Entry, PlatformError> => {
  const real = (info: FileSystem.File.Info) => Effect.map(fs.realPath(at), (target) => seen(target, info))
  return fs.stat(at).pipe(
    Effect.flatMap((info) =>
      Effect.matchEffect(fs.readLink(at), {
        onSuccess: () => real(info),
        // Reading a link that is not one fails in this way. Any other failure says nothing about the entry.
        onFailure: (error) => (reasonOf(error) === "Unknown" ? Effect.succeed(seen(at, info)) : real(info))
      })
    ),
    Effect.catchIf(
      (error) => unresolved.has(reasonOf(error)),
      () => Effect.succeed<Entry>({ target: undefined, type: "Other" })
    )
  )
}

/** What Node reports about the entries of a folder; `undefined` if it cannot list it. */
type Listing = (folder: string) => Effect.Effect<ReadonlyArray<NodeFs.Dirent> | undefined>

/** Node's listing, if Node sees the same folder as the service at this path. */
const nodeListing = (fs: FileSystem.FileSystem, root: string): Effect.Effect<Listing | undefined> =>
  Effect.suspend(() => {
    const node = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:fs")
    if (node === undefined) return Effect.succeed(undefined)
    const own = Effect.async<NodeFs.Stats | undefined>((resume) => {
      node.stat(root, (error, stats) => resume(Effect.succeed(error === null ? stats : undefined)))
    })
    const list: Listing = (folder) =>
      Effect.async((resume) => {
        node.readdir(folder, { withFileTypes: true }, (error, entries) =>
          resume(Effect.succeed(error === null ? entries : undefined))
        )
      })
    return Effect.zipWith(Effect.option(fs.stat(root)), own, (given, stats) => {
      const isSame =
        Option.isSome(given) &&
        stats !== undefined &&
        given.value.dev === stats.dev &&
        Option.contains(given.value.ino, stats.ino)
      return isSame ? list : undefined
    })
  })

/**
 * Reads what is below a root, given by its real path.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (fs: FileSystem.FileSystem, path: Path.Path, root: string): Effect.Effect<FolderLook> =>
  Effect.map(nodeListing(fs, root), (listing) => {
    const lists = new Map<string, Either.Either<ReadonlyArray<string>, PlatformError>>()
    const entries = new Map<string, Either.Either<Entry, PlatformError>>()
    const sizes = new Map<string, Either.Either<number, PlatformError>>()
    const once = <A>(
      known: Map<string, Either.Either<A, PlatformError>>,
      key: string,
      make: () => Effect.Effect<A, PlatformError>
    ): Effect.Effect<A, PlatformError> =>
      Effect.suspend(() => {
        const found = known.get(key)
        if (found !== undefined) return found
        return Effect.flatMap(Effect.either(make()), (result) => {
          known.set(key, result)
          return result
        })
      })
    const below = (folder: string, name: string): string =>
      folder.endsWith(path.sep) ? `${folder}${name}` : `${folder}${path.sep}${name}`
    const names = (folder: string): Effect.Effect<ReadonlyArray<string>, PlatformError> =>
      Effect.map(fs.readDirectory(folder), (names) => [...names].sort(byCodePoint))
    const listed = (folder: string, found: ReadonlyArray<NodeFs.Dirent>): ReadonlyArray<string> => {
      for (const entry of found) {
        const at = below(folder, entry.name)
        const type = entry.isFile() ? "File" : entry.isDirectory() ? "Folder" : undefined
        if (type !== undefined) entries.set(at, Either.right({ target: at, type }))
      }
      return found.map(({ name }) => name).sort(byCodePoint)
    }
    return {
      list: (folder) =>
        once(lists, folder, () =>
          listing === undefined
            ? names(folder)
            : Effect.flatMap(listing(folder), (found) =>
                found === undefined ? names(folder) : Effect.succeed(listed(folder, found))
              )
        ),
      kind: (root, folder, name) => {
        const at = below(folder, name)
        return Effect.map(
          once(entries, at, () => entryOf(fs, at)),
          ({ target, type }): Kind => {
            if (target === undefined) return { _tag: "Outside", path: at }
            if (target === at) return { _tag: type, path: at }
            return isWithin(path, root, target)
              ? { _tag: "Link", path: at, target, type }
              : { _tag: "Outside", path: at }
          }
        )
      },
      isKnown: (folder, name) => entries.has(below(folder, name)),
      size: (file) =>
        once(sizes, file, () =>
          // Opening a special file can block forever, so anything but a file counts as too large to read.
          Effect.map(fs.stat(file), (info) => (info.type === "File" ? Number(info.size) : Number.POSITIVE_INFINITY))
        )
    }
  })
