/**
 * Strategies from other packages. A package declares them in its `package.json`, and a program that depends on it finds
 * them by name.
 *
 * ```json
 * { "effect-lexigram": { "strategies": { "my-strategy": "./dist/MyStrategy.js#make" } } }
 * ```
 *
 * Each entry is a file of the package, optionally followed by `#` and the name of its export (default `default`). The
 * export is a strategy, or a function from options to one.
 *
 * @since 0.1.0
 */

import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as BuiltInStrategies from "./BuiltInStrategies.js"
import type { Strategy } from "./definition/Strategy.js"
import { isStrategy } from "./definition/Strategy.js"
import type * as StrategyRegistry from "./definition/StrategyRegistry.js"

/**
 * The field in `package.json`.
 *
 * @since 0.1.0
 * @category constants
 */
export const FIELD = "effect-lexigram"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The folder of the program: the location of its `package.json`, and the start of package resolution, as in Node. */
  readonly directory: string
  /** Restricts discovery to these packages. Default: `dependencies` and `optionalDependencies` of the program. */
  readonly packages?: ReadonlyArray<string> | undefined
  /** Built-in names that plugins may override: all, or these; default none. */
  readonly override?: boolean | ReadonlyArray<string> | undefined
  /** Timeout for loading a module; default 10 s. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * A discovered strategy.
 *
 * @since 0.1.0
 * @category models
 */
export interface Plugin {
  readonly name: string
  readonly packageName: string
  /** The file and export, as the package declares them. */
  readonly entry: string
  readonly factory: StrategyRegistry.Factory
}

/**
 * Why a declaration was not loaded.
 *
 * `manifest`: a `package.json` that is missing, too big (1 MiB) or not a JSON object. `declaration`: a field of another
 * form. `name`: an invalid strategy name. `path`: a file outside the package. `import`: a module that is missing, fails
 * or takes too long. `export`: neither a function nor a strategy. `duplicate`: the name is taken by another plugin or,
 * without `override`, by the library.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly packageName: string
  readonly strategy?: string | undefined
  readonly reason: "manifest" | "declaration" | "name" | "path" | "import" | "export" | "duplicate"
  readonly message: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /** In the order of the packages. */
  readonly plugins: ReadonlyArray<Plugin>
  readonly problems: ReadonlyArray<Problem>
}

const maxManifest = 1024 * 1024

const packagePattern = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i
const namePattern = /^[a-z0-9][\w.-]{0,63}$/i

const quote = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** Only own fields: a manifest does not declare what it inherits. */
const own = (record: { readonly [key: string]: unknown }, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined

type Fault = Omit<Problem, "packageName" | "strategy">

const fault = (reason: Problem["reason"], message: string): Effect.Effect<never, Fault> =>
  Effect.fail({ reason, message })

const readManifest = (file: string): Effect.Effect<{ readonly [key: string]: unknown }, Fault, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const unreadable = (error: { readonly message: string }): Fault => ({
      reason: "manifest",
      message: `its package.json cannot be read: ${errorInfo(error).message}`
    })
    const { size } = yield* Effect.mapError(fs.stat(file), unreadable)
    if (size > BigInt(maxManifest)) return yield* fault("manifest", "its package.json is bigger than 1 MiB")
    const text = yield* Effect.mapError(fs.readFileString(file), unreadable)
    const parsed = yield* Effect.try({
      try: (): unknown => JSON.parse(text.replace(/^\uFEFF/, "")),
      catch: (): Fault => ({ reason: "manifest", message: "its package.json is not JSON" })
    })
    return Predicate.isReadonlyRecord(parsed) ? parsed : yield* fault("manifest", "its package.json is not an object")
  })

/**
 * The real folder of a package: the nearest `node_modules` that contains it, from the program's folder upward;
 * `undefined` if there is none.
 */
const locate = (
  directory: string,
  packageName: string
): Effect.Effect<string | undefined, Fault, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    for (let at = path.resolve(directory); ; at = path.dirname(at)) {
      const folder = path.join(at, "node_modules", packageName)
      if (yield* Effect.orElseSucceed(fs.exists(path.join(folder, "package.json")), () => false)) {
        return yield* Effect.mapError(
          fs.realPath(folder),
          (error): Fault => ({ reason: "manifest", message: `its folder cannot be read: ${errorInfo(error).message}` })
        )
      }
      if (path.dirname(at) === at) return undefined
    }
  })

/** The file of an entry. It must be inside the package after links are resolved. */
const resolveFile = (root: string, file: string): Effect.Effect<string, Fault, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const parts = file.split(/[\\/]/)
    if (!file.startsWith("./") || file.includes("\0") || file.includes("\\") || parts.includes("..")) {
      return yield* fault("path", `${quote(file)} is not a file of the package: write it as "./file.js"`)
    }
    const real = yield* Effect.mapError(
      fs.realPath(path.join(root, file)),
      (): Fault => ({ reason: "import", message: `${quote(file)} does not exist` })
    )
    if (!real.startsWith(root.endsWith(path.sep) ? root : `${root}${path.sep}`)) {
      return yield* fault("path", `${quote(file)} leads out of the package`)
    }
    const info = yield* Effect.mapError(
      fs.stat(real),
      (error): Fault => ({ reason: "import", message: `${quote(file)} cannot be read: ${errorInfo(error).message}` })
    )
    return info.type === "File" ? real : yield* fault("import", `${quote(file)} is not a file`)
  })

const load = (
  file: string,
  exportName: string,
  timeout: number
): Effect.Effect<StrategyRegistry.Factory, Fault, Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const url = yield* Effect.mapError(
      path.toFileUrl(file),
      (error): Fault => ({ reason: "path", message: errorInfo(error).message })
    )
    const module: unknown = yield* Deadline.run(
      () =>
        Effect.tryPromise({
          try: (): Promise<unknown> => import(/* @vite-ignore */ url.href),
          catch: (error): Fault => ({ reason: "import", message: `it cannot be loaded: ${errorInfo(error).message}` })
        }),
      {
        whole: timeout,
        onTimeout: (_phase, limit): Fault => ({ reason: "import", message: `it did not load within ${limit} ms` })
      }
    )
    const value = isModule(module) && Object.hasOwn(module, exportName) ? module[exportName] : undefined
    if (isStrategy(value)) return () => value as Strategy<never, never>
    if (typeof value === "function") return value as StrategyRegistry.Factory
    return yield* fault(
      "export",
      value === undefined
        ? `it has no export ${quote(exportName)}`
        : `its export ${quote(exportName)} is neither a strategy nor a function that makes one`
    )
  })

const isModule = (u: unknown): u is { readonly [name: string]: unknown } => typeof u === "object" && u !== null

const warn = (problem: Problem): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logWarning(
      problem.strategy === undefined
        ? `the plugins of "${problem.packageName}" are skipped: ${problem.message}`
        : `the strategy ${quote(problem.strategy)} of "${problem.packageName}" is skipped: ${problem.message}`
    ),
    { module: "StrategyPlugins", reason: problem.reason }
  )

/** Names of the program's dependencies, in the order of declaration. */
const dependencies = (
  directory: string
): Effect.Effect<ReadonlyArray<string>, Fault, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    const manifest = yield* readManifest(path.join(directory, "package.json"))
    const names = new Set<string>()
    for (const field of ["dependencies", "optionalDependencies"]) {
      const given = own(manifest, field)
      if (Predicate.isReadonlyRecord(given)) for (const name of Object.keys(given)) names.add(name)
    }
    return Array.from(names)
  })

/** The declarations of a package. A package without any has no plugins and no problem. */
const declared = (
  directory: string,
  packageName: string,
  required: boolean
): Effect.Effect<
  { readonly root: string; readonly entries: ReadonlyArray<readonly [string, unknown]> },
  Fault,
  FileSystem.FileSystem | Path.Path
> =>
  Effect.gen(function* () {
    const path = yield* Path.Path
    if (!packagePattern.test(packageName)) return yield* fault("manifest", "that is no name of a package")
    const root = yield* locate(directory, packageName)
    if (root === undefined) {
      // An optional dependency may be missing. A package that was named explicitly must not.
      return required ? yield* fault("manifest", "it is not installed") : { root: "", entries: [] }
    }
    const manifest = yield* readManifest(path.join(root, "package.json"))
    const field = own(manifest, FIELD)
    if (field === undefined) return { root, entries: [] }
    const strategies = Predicate.isReadonlyRecord(field) ? own(field, "strategies") : field
    if (strategies === undefined) return { root, entries: [] }
    if (!Predicate.isReadonlyRecord(strategies)) {
      return yield* fault("declaration", `its "${FIELD}" field is not { "strategies": { "name": "./file.js#export" } }`)
    }
    return { root, entries: Object.entries(strategies) }
  })

const plugin = (
  packageName: string,
  root: string,
  name: string,
  entry: unknown,
  timeout: number
): Effect.Effect<Plugin, Fault, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    if (!namePattern.test(name)) {
      return yield* fault(
        "name",
        "names are of letters, digits, `_`, `.` and `-`, at most 64, and begin with a letter or digit"
      )
    }
    if (typeof entry !== "string" || entry.length > 1000) {
      return yield* fault("declaration", 'what stands there is no text like "./file.js#export"')
    }
    const hash = entry.indexOf("#")
    const exportName = hash < 0 ? "default" : entry.slice(hash + 1)
    const file = yield* resolveFile(root, hash < 0 ? entry : entry.slice(0, hash))
    return { name, packageName, entry, factory: yield* load(file, exportName, timeout) }
  })

/**
 * Finds the declared strategies and loads them. A faulty plugin breaks nothing: it is omitted with a warning in the
 * log, and listed in the report.
 *
 * If two plugins share a name, the first one wins, in the order of `packages` or of the dependencies. A built-in
 * strategy is replaced only if `override` allows it. Modules are loaded one at a time. Loading a module runs it: use
 * only packages you would import yourself.
 *
 * @since 0.1.0
 * @category constructors
 */
export const discover = (options: Options): Effect.Effect<Report, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const { directory, override = false } = options
    const timeout = Duration.toMillis(options.timeout ?? "10 seconds")
    const mayReplace = (name: string) => (typeof override === "boolean" ? override : override.includes(name))
    const found = new Map<string, Plugin>()
    const problems: Array<Problem> = []
    const note = (packageName: string, problem: Fault, strategy?: string) =>
      Effect.suspend(() => {
        const whole: Problem = { packageName, ...problem, ...(strategy === undefined ? {} : { strategy }) }
        problems.push(whole)
        return warn(whole)
      })
    const packages =
      options.packages ??
      (yield* Effect.catchAll(dependencies(directory), (problem) => Effect.as(note(".", problem), [])))
    for (const packageName of new Set(packages)) {
      const declaration = yield* Effect.either(declared(directory, packageName, options.packages !== undefined))
      if (declaration._tag === "Left") {
        yield* note(packageName, declaration.left)
        continue
      }
      const { entries, root } = declaration.right
      for (const [name, entry] of entries) {
        const other = found.get(name)
        if (other !== undefined) {
          yield* note(
            packageName,
            { reason: "duplicate", message: `"${other.packageName}" has one with that name` },
            name
          )
          continue
        }
        if (Object.hasOwn(BuiltInStrategies.loaders, name) && !mayReplace(name)) {
          yield* note(
            packageName,
            { reason: "duplicate", message: "the library has one with that name, and `override` does not allow it" },
            name
          )
          continue
        }
        const made = yield* Effect.either(plugin(packageName, root, name, entry, timeout))
        if (made._tag === "Left") yield* note(packageName, made.left, name)
        else found.set(name, made.right)
      }
    }
    return { plugins: Array.from(found.values()), problems }
  })

/**
 * The built-in strategies, those of plugins, and the given ones, which override both.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { Agents } from "effect-lexigram"
 * import { StrategyPlugins } from "effect-lexigram/strategy"
 * import * as Layer from "effect/Layer"
 *
 * const strategies = StrategyPlugins.layer({ directory: "/srv/desk", packages: ["desk-strategies"] }).pipe(
 *   Layer.provide(NodeContext.layer)
 * )
 * const layer = Agents.layerWith({ strategies })
 * ```
 */
export const layer = (
  options: Options & { readonly strategies?: { readonly [name: string]: StrategyRegistry.Factory } | undefined }
): Layer.Layer<StrategyRegistry.StrategyRegistry, never, FileSystem.FileSystem | Path.Path> =>
  Layer.unwrapEffect(
    Effect.map(discover(options), ({ plugins }) =>
      BuiltInStrategies.layer({
        ...Object.fromEntries(plugins.map(({ factory, name }) => [name, factory])),
        ...options.strategies
      })
    )
  )
