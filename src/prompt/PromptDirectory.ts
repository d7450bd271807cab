/**
 * Prompts in a directory: `<Pattern>/<Step>/system.md` and `user.md`.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultPrompts from "./defaults/DefaultPrompts.js"
import type { Halves, Overrides } from "./PromptLibrary.js"
import * as PromptLibrary from "./PromptLibrary.js"
import { PromptLibraryError, type PromptTemplateError } from "./template/PromptError.js"
import type { PromptStep } from "./template/PromptStep.js"

const fileOf = (half: keyof Halves): string => `${half}.md`

const isNotFound = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

const unreadable = (where: string) => (error: { readonly message: string }) =>
  new PromptLibraryError({
    where,
    message: `The prompts of ${where} cannot be read: ${error.message}`,
    hint: "Give a directory of <Pattern>/<Step>/system.md and user.md"
  })

/** The names of the folders in a directory, sorted. */
const readFolders = (
  at: string
): Effect.Effect<ReadonlyArray<string>, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const names: Array<string> = []
    for (const name of (yield* fs.readDirectory(at)).sort()) {
      // A dangling link is not a folder: editors leave such links as locks.
      const info = yield* Effect.catchIf(
        Effect.asSome(fs.stat(path.join(at, name))),
        isNotFound,
        () => Effect.succeedNone
      )
      if (info._tag === "Some" && info.value.type === "Directory") names.push(name)
    }
    return names
  })

/** The text of a half without its byte order mark; `undefined` if there is no such file. */
const readHalf = (file: string): Effect.Effect<string | undefined, PlatformError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return (yield* fs.exists(file)) ? (yield* fs.readFileString(file)).replace(/^\uFEFF/, "") : undefined
  })

const readHalves = (step: string): Effect.Effect<Halves, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const system = yield* readHalf(path.join(step, fileOf("system")))
    const user = yield* readHalf(path.join(step, fileOf("user")))
    return { ...(system === undefined ? {} : { system }), ...(user === undefined ? {} : { user }) }
  })

/**
 * Reads the halves in a directory, each file once. Folders that belong to no known step are skipped with a warning in
 * the log.
 *
 * @since 0.1.0
 * @category constructors
 */
export const read = (
  directory: string,
  options: { readonly steps?: ReadonlyArray<PromptStep> | undefined } = {}
): Effect.Effect<Overrides, PromptLibraryError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const steps = [...DefaultPrompts.steps, ...(options.steps ?? [])]
    const known = new Set(steps.map((step) => PromptLibrary.keyOf(step.pattern, step.name)))
    // Entries instead of an object: a folder may have the name of an inherited property.
    const overrides = new Map<string, ReadonlyArray<readonly [step: string, halves: Halves]>>()
    const unknown: Array<string> = []
    for (const pattern of yield* readFolders(directory)) {
      for (const name of yield* readFolders(path.join(directory, pattern))) {
        const key = PromptLibrary.keyOf(pattern, name)
        if (!known.has(key)) {
          unknown.push(key)
          continue
        }
        const halves = yield* readHalves(path.join(directory, pattern, name))
        overrides.set(pattern, [...(overrides.get(pattern) ?? []), [name, halves]])
      }
    }
    if (unknown.length > 0) {
      yield* Effect.logWarning(
        `Prompts of ${directory} that no step uses: ${unknown.slice(0, 20).join(", ")}${unknown.length > 20 ? ", …" : ""}`
      )
    }
    return Object.fromEntries(Array.from(overrides, ([pattern, steps]) => [pattern, Object.fromEntries(steps)]))
  }).pipe(Effect.mapError(unreadable(directory)))

/**
 * The defaults, the files of a directory on top, and the options on top of both. Files are read once, when the layer is
 * built.
 *
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { PromptDirectory } from "effect-lexigram/prompt"
 * import * as Layer from "effect/Layer"
 *
 * // PromptDirectory.exportTo("prompts") writes the defaults to begin with.
 * const prompts = PromptDirectory.layer("prompts").pipe(Layer.provide(NodeContext.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  directory: string,
  options: PromptLibrary.Options = {}
): Layer.Layer<
  PromptLibrary.PromptLibrary,
  PromptTemplateError | PromptLibraryError,
  FileSystem.FileSystem | Path.Path
> =>
  Layer.effect(
    PromptLibrary.PromptLibrary,
    Effect.gen(function* () {
      const path = yield* Path.Path
      const overrides = yield* read(directory, options)
      const files = yield* PromptLibrary.make(
        DefaultPrompts.steps,
        { overrides, steps: options.steps },
        (pattern, step, half) => path.join(directory, pattern, step, fileOf(half))
      )
      return yield* files.extend(options)
    })
  )

const isFolderName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name)

/**
 * Writes the default prompts into a directory, to be edited and loaded back. An existing file is kept unless
 * `overwrite` is set. A pattern or step whose name cannot be a folder is rejected before anything is written.
 *
 * @since 0.1.0
 * @category conversions
 */
export const exportTo = (
  directory: string,
  options: {
    /** Default: the default prompts. */
    readonly steps?: ReadonlyArray<PromptStep> | undefined
    readonly overwrite?: boolean | undefined
  } = {}
): Effect.Effect<void, PromptLibraryError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const steps = options.steps ?? DefaultPrompts.steps
    const unfit = steps.find((step) => !isFolderName(step.pattern) || !isFolderName(step.name))
    if (unfit !== undefined) {
      return yield* new PromptLibraryError({
        where: directory,
        message: `The step ${PromptLibrary.quote(unfit.name)} of the pattern ${PromptLibrary.quote(unfit.pattern)} cannot be written: its name is not the name of a folder`,
        hint: "Name patterns and steps without slashes"
      })
    }
    for (const step of steps) {
      const at = path.join(directory, step.pattern, step.name)
      yield* fs.makeDirectory(at, { recursive: true })
      for (const half of ["system", "user"] as const) {
        const file = path.join(at, fileOf(half))
        if (options.overwrite !== true && (yield* fs.exists(file))) continue
        yield* fs.writeFileString(file, step[half].source)
      }
    }
  }).pipe(
    Effect.mapError((error) =>
      error._tag === "PromptLibraryError"
        ? error
        : new PromptLibraryError({
            where: directory,
            message: `The prompts cannot be written to ${directory}: ${error.message}`,
            hint: "Give a writable directory"
          })
    )
  )
