/**
 * Reads and writes files below one directory, safe against names, links and races that lead elsewhere.
 *
 * @private
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"

/**
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason:
    | "Configuration"
    | "InvalidPath"
    | "Outside"
    | "NotFound"
    | "NotAFile"
    | "TooLarge"
    | "Exists"
    | "PermissionDenied"
    | "System"
  readonly message: string
}

type Confined<A> = Effect.Effect<A, Failure, FileSystem.FileSystem | Path.Path>

const maxPathChars = 4096
const chunkBytes = 64 * 1024

const failure = (reason: Failure["reason"], message: string): Failure => ({ reason, message })

const outside = failure("Outside", "The path leads out of the base directory")
const notAFile = failure("NotAFile", "The path is no regular file")

/** The system's message names paths of the machine; its reason does not. */
const failureOf = (error: PlatformError): Failure => {
  if (error._tag === "BadArgument") return failure("InvalidPath", "The path is not valid")
  switch (error.reason) {
    case "NotFound":
      return failure("NotFound", "There is no such file or directory")
    case "PermissionDenied":
      return failure("PermissionDenied", "The system does not permit it")
    case "AlreadyExists":
      return failure("Exists", "The file exists already")
    default:
      return failure("System", `The system refused: ${error.syscall ?? error.method}`)
  }
}

const system = <A, R>(effect: Effect.Effect<A, PlatformError, R>): Effect.Effect<A, Failure, R> =>
  Effect.mapError(effect, failureOf)

const isWithin = (paths: Path.Path, root: string, path: string): boolean => {
  const relative = paths.relative(root, path)
  return relative !== ".." && !relative.startsWith(`..${paths.sep}`) && !paths.isAbsolute(relative)
}

const checkInside = (paths: Path.Path, root: string, path: string): Effect.Effect<void, Failure> =>
  isWithin(paths, root, path) ? Effect.void : Effect.fail(outside)

interface Place {
  readonly root: string
  /** The path resolved as text, without following links. */
  readonly target: string
}

/** Checked by text first: nothing outside is examined, not even for existence. */
const placeOf = (base: string, path: string): Confined<Place> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    if (path === "" || path.length > maxPathChars || path.includes("\0")) {
      return yield* Effect.fail(failure("InvalidPath", "The path is empty, too long or contains a NUL character"))
    }
    if (paths.isAbsolute(path)) {
      return yield* Effect.fail(failure("Outside", "The path is not relative to the base directory"))
    }
    const root = yield* Effect.mapError(fs.realPath(base), () =>
      failure("Configuration", "The base directory does not exist or cannot be read")
    )
    const target = paths.resolve(root, path)
    yield* checkInside(paths, root, target)
    if (target === root || path.endsWith("/") || path.endsWith(paths.sep)) return yield* Effect.fail(notAFile)
    return { root, target }
  })

/**
 * Asks an open file for its location, which reveals a link put into its path between the check and the opening. Where
 * the system cannot tell, the file at the path must be the open one.
 */
const confirm = (root: string, path: string, file: FileSystem.File): Confined<void> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const told = yield* Effect.option(fs.readLink(`/proc/self/fd/${file.fd}`))
    if (Option.isSome(told)) return yield* checkInside(paths, root, told.value)
    const [opened, found] = [yield* system(file.stat), yield* system(fs.stat(path))]
    yield* checkInside(paths, root, yield* system(fs.realPath(path)))
    if (opened.dev !== found.dev || Option.getOrNull(opened.ino) !== Option.getOrNull(found.ino)) {
      return yield* Effect.fail(outside)
    }
  })

const tooLarge = (maxBytes: number): Failure => failure("TooLarge", `The file is larger than ${maxBytes} bytes`)

/**
 * The bytes of a regular file.
 *
 * @since 0.1.0
 * @category combinators
 */
export const read = (base: string, path: string, maxBytes: number): Confined<Uint8Array> =>
  Effect.scoped(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Path.Path
      const { root, target } = yield* placeOf(base, path)
      const real = yield* system(fs.realPath(target))
      yield* checkInside(paths, root, real)
      // Checked before opening: opening a pipe would wait for its writer.
      if ((yield* system(fs.stat(real))).type !== "File") return yield* Effect.fail(notAFile)
      const file = yield* system(fs.open(real, { flag: "r" }))
      yield* confirm(root, real, file)
      const info = yield* system(file.stat)
      if (info.type !== "File") return yield* Effect.fail(notAFile)
      if (info.size > BigInt(maxBytes)) return yield* Effect.fail(tooLarge(maxBytes))
      // The size is not reliable: files grow, and system files report none.
      const parts: Array<Uint8Array> = []
      for (let size = 0; ; ) {
        // A read cannot be cancelled: the file must not be closed during it.
        const part = yield* system(Effect.uninterruptible(file.readAlloc(Math.min(chunkBytes, maxBytes - size + 1))))
        if (Option.isNone(part)) return Buffer.concat(parts)
        size += part.value.length
        if (size > maxBytes) return yield* Effect.fail(tooLarge(maxBytes))
        parts.push(part.value)
      }
    })
  )

const optional = <A, R>(effect: Effect.Effect<A, PlatformError, R>): Effect.Effect<Option.Option<A>, Failure, R> =>
  system(effect).pipe(
    Effect.asSome,
    Effect.catchIf(
      ({ reason }) => reason === "NotFound",
      () => Effect.succeedNone
    )
  )

/**
 * A path that reaches a directory through its descriptor, whatever is put into its place later, where the system
 * supports this. Valid until the scope ends.
 */
const pinned = (root: string, directory: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    // Opened through its own entry: a pipe in its place is refused, where opening it would wait.
    const handle = yield* Effect.option(fs.open(`${directory}${paths.sep}.`, { flag: "r" }))
    if (Option.isNone(handle)) return directory
    const own = `/proc/self/fd/${handle.value.fd}`
    const told = yield* Effect.option(fs.readLink(own))
    if (Option.isNone(told)) return directory
    yield* checkInside(paths, root, told.value)
    return own
  })

/** Creates a directory inside another; returns its real path. */
const makeDirectory = (root: string, parent: string, name: string): Confined<string> =>
  Effect.scoped(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Path.Path
      const path = paths.join(yield* pinned(root, parent), name)
      yield* Effect.catchIf(
        system(fs.makeDirectory(path)),
        ({ reason }) => reason === "Exists",
        () => Effect.void
      )
      const real = yield* system(fs.realPath(path))
      yield* checkInside(paths, root, real)
      return real
    })
  )

/** The directory of a file, created if necessary below the nearest existing directory, which must lie inside. */
const directoryOf = ({ root, target }: Place, makeDirectories: boolean): Confined<string> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const directory = paths.dirname(target)
    let existing = yield* optional(fs.realPath(directory))
    if (Option.isNone(existing) && makeDirectories) {
      const missing: Array<string> = []
      for (let above = directory; Option.isNone(existing); above = paths.dirname(above)) {
        missing.unshift(paths.basename(above))
        existing = yield* optional(fs.realPath(paths.dirname(above)))
      }
      yield* checkInside(paths, root, existing.value)
      existing = Option.some(
        yield* Effect.reduce(missing, existing.value, (parent, name) => makeDirectory(root, parent, name))
      )
    }
    if (Option.isNone(existing)) {
      return yield* Effect.fail(failure("NotFound", "The directory of the file does not exist"))
    }
    yield* checkInside(paths, root, existing.value)
    return existing.value
  })

/** The file to be replaced, if any: the target of a link, if it lies inside. */
const replacedBy = (root: string, path: string, overwrite: boolean) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const real = yield* optional(fs.realPath(path))
    if (Option.isNone(real)) {
      // A dangling link: a file created through it would be where it points.
      return Option.isSome(yield* Effect.option(fs.readLink(path))) ? yield* Effect.fail(outside) : undefined
    }
    yield* checkInside(paths, root, real.value)
    const { mode, type } = yield* system(fs.stat(real.value))
    if (type !== "File") return yield* Effect.fail(notAFile)
    if (!overwrite) return yield* Effect.fail(failure("Exists", "The file already exists"))
    return { path: real.value, mode: mode & 0o777 }
  })

/**
 * Writes a file atomically: readers, and a crash, see the old or the new content. A failed write leaves nothing behind.
 *
 * @since 0.1.0
 * @category combinators
 */
export const write = (
  base: string,
  path: string,
  bytes: Uint8Array,
  options: { readonly makeDirectories: boolean; readonly overwrite: boolean }
): Confined<void> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const paths = yield* Path.Path
    const place = yield* placeOf(base, path)
    const { root } = place
    const directory = yield* directoryOf(place, options.makeDirectories)
    const replaced = yield* replacedBy(root, paths.join(directory, paths.basename(place.target)), options.overwrite)
    const final = replaced?.path ?? paths.join(directory, paths.basename(place.target))
    const own = yield* pinned(root, paths.dirname(final))
    const target = paths.join(own, paths.basename(final))
    const number = yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)
    const temporary = paths.join(own, `.${number.toString(36)}.tmp`)
    let isMade = false
    const fill = Effect.scoped(
      Effect.gen(function* () {
        const mode = replaced === undefined ? {} : { mode: replaced.mode }
        // A file of that name that was not created here must stay.
        const opened = Effect.tap(fs.open(temporary, { flag: "wx", ...mode }), () => Effect.sync(() => (isMade = true)))
        const file = yield* system(Effect.uninterruptible(opened))
        yield* confirm(root, temporary, file)
        if (bytes.length > 0) yield* system(Effect.uninterruptible(file.writeAll(bytes)))
        yield* system(Effect.uninterruptible(file.sync))
      })
    )
    // Of two concurrent creations one fails: a link is refused where a rename would replace.
    const publish = options.overwrite ? fs.rename(temporary, target) : fs.link(temporary, target)
    yield* Effect.zipRight(fill, Effect.uninterruptible(system(publish))).pipe(
      Effect.onExit((exit) =>
        isMade && !(options.overwrite && Exit.isSuccess(exit)) ? Effect.ignore(fs.remove(temporary)) : Effect.void
      )
    )
  }).pipe(Effect.scoped)
