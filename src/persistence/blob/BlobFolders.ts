/**
 * Folders of owners and scopes below a root, which are used only where no symbolic link leads away from them.
 *
 * @private
 * @since 0.1.0
 */
import * as Platform from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Sha256 from "../../internal/text/Sha256.js"

/**
 * The name of the folder of an id. Hashes code units, so that ids with lone surrogates differ.
 *
 * @category conversions
 */
export const nameOf = (id: string): string => Sha256.hex(Sha256.utf16(id))

/** Between the name of a removed folder and a random number. */
const REMOVED = ".removed-"

const isAbsent = (error: Platform.PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

/**
 * `undefined` where a file or folder is absent.
 *
 * @category combinators
 */
export const orAbsent = <A>(
  effect: Effect.Effect<A, Platform.PlatformError>
): Effect.Effect<A | undefined, Platform.PlatformError> =>
  Effect.catchIf(effect, isAbsent, () => Effect.succeed(undefined))

const link = () =>
  new Platform.SystemError({
    module: "FileSystem",
    method: "realPath",
    reason: "PermissionDenied",
    description: "A symbolic link leads away"
  })

/** A random name part. */
const randomName = Effect.map(
  Effect.all([Random.nextIntBetween(0, 2 ** 48), Random.nextIntBetween(0, 2 ** 48)]),
  (parts) => parts.map((part) => part.toString(36)).join("")
)

/**
 * @category models
 */
export interface BlobFolders {
  readonly fs: FileSystem.FileSystem
  readonly join: Path.Path["join"]
  readonly ofOwner: (owner: string) => string
  readonly ofScope: (owner: string, scope: string) => string
  /** A name for a temporary file or folder that no other process uses. */
  readonly temporary: Effect.Effect<string>
  /** Succeeds with whether a file or folder exists; fails if a symbolic link leads away from it. */
  readonly check: (place: string) => Effect.Effect<boolean, Platform.PlatformError>
  /** The names in a folder in order; none if it is absent. */
  readonly namesIn: (place: string) => Effect.Effect<ReadonlyArray<string>, Platform.PlatformError>
  /** Removes a folder, and what is left of earlier removals of it. */
  readonly remove: (parent: string, name: string) => Effect.Effect<void, Platform.PlatformError>
  readonly root: string
}

/**
 * `root` must be a real path.
 *
 * @category constructors
 */
export const make = (fs: FileSystem.FileSystem, path: Path.Path, root: string): BlobFolders => {
  const check = Effect.fnUntraced(function* (place: string) {
    const real = yield* orAbsent(fs.realPath(place))
    if (real === undefined) return false
    return real === place ? true : yield* link()
  })
  const namesIn = Effect.fnUntraced(function* (place: string) {
    if (!(yield* check(place))) return []
    return ((yield* orAbsent(fs.readDirectory(place))) ?? []).sort()
  })
  const removeNow = (place: string) => fs.remove(place, { recursive: true, force: true })
  const remove = Effect.fnUntraced(function* (parent: string, name: string) {
    const place = path.join(parent, name)
    if (yield* check(place)) {
      yield* orAbsent(fs.rename(place, path.join(parent, `${name}${REMOVED}${yield* randomName}`)))
    }
    for (const left of yield* namesIn(parent)) {
      if (left.startsWith(`${name}${REMOVED}`)) yield* removeNow(path.join(parent, left))
    }
  })
  return {
    fs,
    root,
    join: path.join,
    ofOwner: (owner) => path.join(root, nameOf(owner)),
    ofScope: (owner, scope) => path.join(root, nameOf(owner), nameOf(scope)),
    temporary: Effect.map(randomName, (name) => `.new-${name}`),
    check,
    namesIn,
    // A removal that began is finished.
    remove: (parent, name) => Effect.uninterruptible(remove(parent, name))
  }
}
