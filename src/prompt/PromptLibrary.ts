/**
 * Which prompt a step really uses. Three layers, the later wins, each half on its own: the default that ships with the
 * step, the files of a directory (`<Pattern>/<Step>/system.md` and `user.md`), overrides given in code. Custom
 * instructions are appended to every system half, whichever layer it comes from, under a heading of their own.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Ambient from "../internal/fiber/Ambient.js"
import { nearest } from "../internal/text/Nearest.js"
import * as DefaultPrompts from "./defaults/DefaultPrompts.js"
import { PromptLibraryError, type PromptTemplateError } from "./template/PromptError.js"
import { OUTPUT_FORMAT, type PromptStep } from "./template/PromptStep.js"
import * as PromptTemplate from "./template/PromptTemplate.js"

/**
 * The heading of custom instructions.
 *
 * @since 0.1.0
 * @category constants
 */
export const INSTRUCTIONS_HEADING = "## Custom Instructions"

/**
 * One prompt, its places filled in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rendered {
  readonly system: string
  readonly user: string
}

/**
 * The two halves of a step; what is left out is taken from the layer below.
 *
 * @since 0.1.0
 * @category models
 */
export interface Halves {
  readonly system?: string | undefined
  readonly user?: string | undefined
}

/**
 * Halves by pattern and step: `{ ReActAgent: { ThoughtStep: { system: "…" } } }`.
 *
 * @since 0.1.0
 * @category models
 */
export type Overrides = { readonly [pattern: string]: { readonly [step: string]: Halves } }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly overrides?: Overrides | undefined
  /** For all patterns, or by pattern. Places are not looked for in it. */
  readonly instructions?: string | { readonly [pattern: string]: string } | undefined
  /** Steps of patterns of one's own, so that overrides and files may be given for them as well. */
  readonly steps?: ReadonlyArray<PromptStep> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The prompt of a step with these values. A step the library does not know has its default, with custom instructions.
   */
  readonly render: <Variable extends string>(
    step: PromptStep<Variable>,
    values: PromptTemplate.Values<Variable | typeof OUTPUT_FORMAT>
  ) => Rendered
  /**
   * What is appended to every system half of a pattern, heading included; empty where there are no custom instructions.
   */
  readonly instructions: (pattern: string) => string
  /** The same prompts with more on top: its overrides win, its instructions come after those there are. */
  readonly extend: (options: Options) => Either.Either<Service, PromptTemplateError | PromptLibraryError>
}

interface Resolved {
  readonly system: PromptTemplate.PromptTemplate
  readonly user: PromptTemplate.PromptTemplate
}

const keyOf = (pattern: string, step: string): string => `${pattern}/${step}`

const shown = (name: string): string => JSON.stringify(name.slice(0, 64))

/** The step of that name, or what to do about it. */
const find = (
  known: ReadonlyMap<string, PromptStep>,
  pattern: string,
  step: string
): Either.Either<PromptStep, PromptLibraryError> => {
  const found = known.get(keyOf(pattern, step))
  if (found !== undefined) return Either.right(found)
  const similar = nearest(keyOf(pattern, step), Array.from(known.keys()))
  return Either.left(
    new PromptLibraryError({
      where: keyOf(pattern, step).slice(0, 128),
      message: `There is no step ${shown(step)} of a pattern ${shown(pattern)}`,
      hint:
        similar === undefined
          ? "Give the steps of your own patterns as `steps`"
          : `Did you mean ${similar}? Give the steps of your own patterns as \`steps\``
    })
  )
}

/** Halves on top of what a step had before, checked together. */
const resolve = (
  step: PromptStep,
  before: Resolved,
  halves: Halves,
  where: (half: keyof Halves) => string
): Either.Either<Resolved, PromptTemplateError> => {
  const known = [...step.variables, OUTPUT_FORMAT]
  const half = (name: keyof Halves) => {
    const source = halves[name]
    return source === undefined
      ? Either.right(before[name])
      : PromptTemplate.make(source, { variables: known, where: where(name) })
  }
  return Either.flatMap(half("system"), (system) =>
    Either.flatMap(half("user"), (user) => {
      const used = new Set([...system.variables, ...user.variables])
      const missing = step.required.filter((name) => !used.has(name))
      return missing.length === 0
        ? Either.right({ system, user })
        : // Reported for the half that was written last.
          Either.map(
            PromptTemplate.make(halves.user ?? halves.system ?? "", {
              variables: known,
              required: missing,
              where: where(halves.user === undefined ? "system" : "user")
            }),
            () => ({ system, user })
          )
    })
  )
}

interface State {
  readonly known: ReadonlyMap<string, PromptStep>
  readonly resolved: ReadonlyMap<string, Resolved>
  /** In the order in which they were given; without a pattern they are for all. */
  readonly instructions: ReadonlyArray<{ readonly pattern: string | undefined; readonly text: string }>
}

const fromState = (state: State): Service => {
  const endings = new Map<string, string>()
  const ending = (pattern: string): string => {
    let text = endings.get(pattern)
    if (text === undefined) {
      const all = state.instructions.filter((one) => one.pattern === undefined || one.pattern === pattern)
      text = all.length === 0 ? "" : `${INSTRUCTIONS_HEADING}\n\n${all.map((one) => one.text).join("\n\n")}`
      endings.set(pattern, text)
    }
    return text
  }
  return {
    render: (step, values) => {
      // Whoever wrote a half, its places were checked against the variables of the step.
      const { system, user } = (state.resolved.get(keyOf(step.pattern, step.name)) ?? step) as typeof step
      const head = PromptTemplate.unsafeRender(system, values)
      const tail = ending(step.pattern)
      return {
        system: head === "" || tail === "" ? head + tail : `${head}\n\n${tail}`,
        user: PromptTemplate.unsafeRender(user, values)
      }
    },
    instructions: ending,
    extend: (options) => Either.map(extend(state, options), fromState)
  }
}

type Where = (pattern: string, step: string, half: keyof Halves) => string

const inCode: Where = (pattern, step, half) => `${keyOf(pattern, step)}/${half}`

const extend = (
  state: State,
  options: Options,
  where: Where = inCode
): Either.Either<State, PromptTemplateError | PromptLibraryError> =>
  Either.gen(function* () {
    const known = new Map(state.known)
    for (const step of options.steps ?? []) known.set(keyOf(step.pattern, step.name), step)
    const resolved = new Map(state.resolved)
    for (const [pattern, steps] of Object.entries(options.overrides ?? {})) {
      for (const [name, halves] of Object.entries(steps)) {
        const step = yield* find(known, pattern, name)
        const key = keyOf(pattern, name)
        const before = resolved.get(key) ?? step
        resolved.set(key, yield* resolve(step, before, halves, (half) => where(pattern, name, half)))
      }
    }
    const { instructions = {} } = options
    const given =
      typeof instructions === "string"
        ? [{ pattern: undefined, text: instructions.trim() }]
        : Object.entries(instructions).map(([pattern, text]) => ({ pattern, text: text.trim() }))
    const said = given.filter(({ text }) => text !== "")
    return { known, resolved, instructions: [...state.instructions, ...said] }
  })

const defaults: State = {
  known: new Map(DefaultPrompts.steps.map((step) => [keyOf(step.pattern, step.name), step])),
  resolved: new Map(),
  instructions: []
}

/**
 * The prompts of the current fiber; the defaults where nothing was provided.
 *
 * @since 0.1.0
 * @category tags
 */
export class PromptLibrary extends Ambient.Reference<PromptLibrary>()("effect-lexigram/prompt/PromptLibrary", {
  defaultValue: (): Service => fromState(defaults)
}) {}

/**
 * The defaults with these options on top. An override for a step that does not exist is a `PromptLibraryError`, a place
 * that its step does not have a `PromptTemplateError`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Either.Either<Service, PromptTemplateError | PromptLibraryError> =>
  Either.map(extend(defaults, options), fromState)

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options = {}): Layer.Layer<PromptLibrary, PromptTemplateError | PromptLibraryError> =>
  Layer.effect(
    PromptLibrary,
    Effect.suspend(() => make(options))
  )

const fileOf = (half: keyof Halves): string => `${half}.md`

const isNotFound = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

const unreadable = (where: string) => (error: { readonly message: string }) =>
  new PromptLibraryError({
    where,
    message: `The prompts of ${where} cannot be read: ${error.message}`,
    hint: "Give a directory of <Pattern>/<Step>/system.md and user.md"
  })

/**
 * The halves that a directory holds, each file read once. Folders that no known step belongs to are passed over with a
 * warning in the log.
 *
 * @since 0.1.0
 * @category constructors
 */
export const readDirectory = (
  directory: string,
  options: { readonly steps?: ReadonlyArray<PromptStep> | undefined } = {}
): Effect.Effect<Overrides, PromptLibraryError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const known = new Map<string, PromptStep>(defaults.known)
    for (const step of options.steps ?? []) known.set(keyOf(step.pattern, step.name), step)
    // A map, and objects made of entries: a folder may have a name that objects bring along.
    const overrides = new Map<string, ReadonlyArray<readonly [step: string, halves: Halves]>>()
    const unknown: Array<string> = []
    const fail = unreadable(directory)
    const folders = (at: string) =>
      Effect.gen(function* () {
        const names: Array<string> = []
        for (const name of (yield* fs.readDirectory(at)).sort()) {
          // A link to nowhere is no folder: editors leave such links as locks.
          const info = yield* Effect.catchIf(
            Effect.asSome(fs.stat(path.join(at, name))),
            isNotFound,
            () => Effect.succeedNone
          )
          if (info._tag === "Some" && info.value.type === "Directory") names.push(name)
        }
        return names
      })
    const half = (file: string) =>
      Effect.flatMap(fs.exists(file), (exists) =>
        exists ? Effect.map(fs.readFileString(file), (text) => text.replace(/^\uFEFF/, "")) : Effect.void
      )
    for (const pattern of yield* Effect.mapError(folders(directory), fail)) {
      for (const name of yield* Effect.mapError(folders(path.join(directory, pattern)), fail)) {
        if (!known.has(keyOf(pattern, name))) {
          unknown.push(keyOf(pattern, name))
          continue
        }
        const at = path.join(directory, pattern, name)
        const system = yield* Effect.mapError(half(path.join(at, fileOf("system"))), fail)
        const user = yield* Effect.mapError(half(path.join(at, fileOf("user"))), fail)
        const halves: Halves = {
          ...(typeof system === "string" ? { system } : {}),
          ...(typeof user === "string" ? { user } : {})
        }
        overrides.set(pattern, [...(overrides.get(pattern) ?? []), [name, halves]])
      }
    }
    if (unknown.length > 0) {
      yield* Effect.logWarning(
        `Prompts of ${directory} that no step uses: ${unknown.slice(0, 20).join(", ")}${unknown.length > 20 ? ", …" : ""}`
      )
    }
    return Object.fromEntries(Array.from(overrides, ([pattern, steps]) => [pattern, Object.fromEntries(steps)]))
  })

/**
 * The defaults, the files of a directory over them, and the options over those. Files are read when the layer is built,
 * never again.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDirectory = (
  directory: string,
  options: Options = {}
): Layer.Layer<PromptLibrary, PromptTemplateError | PromptLibraryError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(
    PromptLibrary,
    Effect.flatMap(Path.Path, (path) =>
      Effect.flatMap(readDirectory(directory, options), (overrides) =>
        Either.flatMap(
          extend(defaults, { overrides, steps: options.steps }, (pattern, step, half) =>
            path.join(directory, pattern, step, fileOf(half))
          ),
          (files) => Either.map(extend(files, options), fromState)
        )
      )
    )
  )

const isFolderName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name)

/**
 * Writes the default prompts into a directory, ready to be edited and loaded back. A file that is there already is left
 * as it is, unless `overwrite` is set. A pattern or step whose name is no name of a folder is refused before anything
 * is written.
 *
 * @since 0.1.0
 * @category conversions
 */
export const exportTo = (
  directory: string,
  options: {
    /** Default those of the library. */
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
        message: `The step ${shown(unfit.name)} of the pattern ${shown(unfit.pattern)} has no folder to be written to`,
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
            hint: "Give a directory that can be written to"
          })
    )
  )
