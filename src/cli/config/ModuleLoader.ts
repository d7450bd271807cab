/**
 * Loads modules of the application, in JavaScript or TypeScript.
 *
 * @private
 * @since 0.1.0
 */
import * as NodeModule from "node:module"
import * as NodePath from "node:path"
import * as NodeUrl from "node:url"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as ErrorInfo from "../../domain/ErrorInfo.js"
import { CliError } from "./CliError.js"

type Loaded = Readonly<Record<string, unknown>>

const shown = (path: string): string => NodePath.relative("", path) || path

/** Where a package of the application is, or the one beside this library. */
const resolve = (specifier: string, path: string): Option.Option<string> =>
  Option.firstSomeOf(
    [path, NodeUrl.fileURLToPath(import.meta.url)].map(
      Option.liftThrowable((from) => NodeModule.createRequire(from).resolve(specifier))
    )
  )

const importFile = (path: string): Promise<Loaded> =>
  import(/* @vite-ignore */ NodeUrl.pathToFileURL(path).href) as Promise<Loaded>

const reasonOf = (error: unknown, path: string): CliError => {
  const { code, message } = ErrorInfo.errorInfo(error)
  const missing = code === "ERR_MODULE_NOT_FOUND" ? /Cannot find package '([^']{1,214})'/.exec(message)?.[1] : undefined
  return new CliError({
    reason: missing === undefined ? "config" : "package",
    message: `${shown(path)} cannot be loaded: ${message}`,
    ...(missing !== undefined
      ? { hint: `Install it: npm install ${missing}` }
      : code === "ERR_REQUIRE_CYCLE_MODULE"
        ? { hint: 'Let it be an ES module: add "type": "module" to package.json, or name the file *.mts' }
        : {}),
    cause: error
  })
}

/**
 * Lets this process import TypeScript with `tsx`, which leaves packages as they are: there is one `effect`. `file` is
 * what `require` finds; what `import` finds stands beside it.
 */
const registerTsx = (file: string): Effect.Effect<void, CliError> =>
  Effect.tryPromise({
    try: async () => {
      const { register } = await importFile(file.replace(/\.cjs$/, ".mjs"))
      if (Predicate.isFunction(register)) register()
    },
    catch: (error) => reasonOf(error, file)
  })

/** Whether `node --import tsx` began this process. */
const hasTsx = process.execArgv.some((argument) => /(?:^|[\\/=])tsx\b/.test(argument))

const loadWithJiti = (jiti: string, path: string): Effect.Effect<Loaded, CliError> =>
  Effect.tryPromise({
    try: async () => {
      const { createJiti } = await importFile(jiti)
      if (!Predicate.isFunction(createJiti)) throw new TypeError("jiti 2 is needed")
      const loader: unknown = createJiti(path, { interopDefault: false })
      return (await Reflect.get(Object(loader), "import").call(loader, path)) as Loaded
    },
    catch: (error) => reasonOf(error, path)
  })

const isTypeScript = (path: string): boolean => /\.[cm]?tsx?$/.test(path)

/**
 * The exports of a module of the application. TypeScript goes through `tsx` or, without it, `jiti`, whichever the
 * application has; without both through Node itself, where it strips types.
 */
const load = (path: string): Effect.Effect<Loaded, CliError> => {
  const plain = Effect.tryPromise({ try: () => importFile(path), catch: (error) => reasonOf(error, path) })
  if (!isTypeScript(path) || hasTsx) return plain
  const tsx = resolve("tsx/esm/api", path)
  if (Option.isSome(tsx)) return Effect.zipRight(registerTsx(tsx.value), plain)
  const jiti = resolve("jiti", path)
  if (Option.isSome(jiti)) return loadWithJiti(jiti.value, path)
  if (Reflect.get(process.features, "typescript")) return plain
  return new CliError({
    reason: "package",
    message: `${shown(path)} is TypeScript, and nothing here can load it`,
    hint: "Install tsx: npm install --save-dev tsx"
  })
}

/**
 * Loads a module by its absolute path.
 *
 * @category references
 */
export class ModuleLoader extends Context.Reference<ModuleLoader>()("effect-lexigram/cli/ModuleLoader", {
  defaultValue: () => load
}) {}
