/**
 * Runs scripts of skills in child processes.
 *
 * A script gets a clean environment (`PATH`, `LANG`, `HOME` and `TMPDIR` in a folder that is removed afterwards,
 * `LEX_SKILL_NAME`, `LEX_SKILL_DIR`, `LEX_SCRIPT_NAME`, and `env`), its parameters as JSON on standard input, and its
 * skill's folder as working directory. When it ends, fails, exceeds a limit or is interrupted, everything it started is
 * killed.
 *
 * It runs as the user of this process, with that user's rights on files and the network. On Linux, where the kernel
 * allows process namespaces, it sees no other process; elsewhere (`isolation`) it can read what the user can read of
 * other processes, and only the kernel stops a fork bomb, for users other than root.
 *
 * @since 0.1.0
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Permits from "../../internal/fiber/Permits.js"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as ScriptRunner from "../../skill/folder/ScriptRunner.js"
import type { Isolation } from "./ProcessLaunch.js"
import type * as ProcessRequest from "./ProcessRequest.js"
import * as ProcessRun from "./ProcessRun.js"

/**
 * Script types, by file extension.
 *
 * @since 0.1.0
 * @category models
 */
export type ScriptType = "py" | "sh" | "js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default: all three. */
  readonly allowedTypes?: ReadonlyArray<ScriptType> | undefined
  /** Default time limit of a request: 30 seconds, without the wait for its turn. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Maximum bytes of standard output. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined
  /** Bytes kept from the end of standard error. Default 64 KiB. */
  readonly maxErrorBytes?: number | undefined
  /** Maximum memory of all processes of a script. Default 256 MiB; checked every 50 ms. */
  readonly maxMemoryBytes?: number | undefined
  /** Maximum size of a script file. Default 1 MiB. */
  readonly maxScriptBytes?: number | undefined
  /** Maximum concurrent processes of a script. Default 64; checked every 50 ms. */
  readonly maxProcesses?: number | undefined
  /**
   * Absolute paths, or names searched in the system folders and then in `PATH`. Default `python3`, `sh` and, for `js`,
   * the program that runs this process.
   */
  readonly interpreters?: { readonly [Type in ScriptType]?: string | undefined } | undefined
  /** Additional variables for all scripts. Redacted values are removed from standard error. */
  readonly env?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
  /** Concurrent scripts; others wait. Default 8. */
  readonly concurrency?: number | undefined
  /**
   * How the processes of a script are tracked. `namespace` runs nothing where the system forbids namespaces, `scan`
   * uses none, `auto` uses namespaces where they work.
   */
  readonly isolation?: Isolation | undefined
}

const allTypes: ReadonlyArray<ScriptType> = ["py", "sh", "js"]

/** The kernel's limit per process is a backstop between two checks: libraries reserve more than they use. */
const addressBytes = (maxMemoryBytes: number): number => 4 * maxMemoryBytes + 1024 ** 3

/** A heap that leaves room for the rest of node. Without a limit V8 lets garbage grow beyond it. */
const heapMegabytes = (maxMemoryBytes: number): number =>
  Math.max(16, Math.floor(Math.max(maxMemoryBytes / 2, maxMemoryBytes - 64 * 1024 ** 2) / 1024 ** 2))

/** Lines by which interpreters report that memory ran out. */
const outOfMemory = /JavaScript heap out of memory|^MemoryError\b/m

const readOutput = (stdout: string): unknown => Either.getOrElse(JsonRepair.decode(stdout), () => stdout)

const typeOf = (path: string): ScriptType | undefined =>
  allTypes.find((type) => path.endsWith(`.${type}`) && !path.endsWith(`/.${type}`))

/** Services and settings for every script. */
interface Host {
  readonly fs: FileSystem.FileSystem
  readonly path: Path.Path
  readonly processes: ProcessRun.Service
  readonly withPermit: Permits.WithPermit
  readonly options: Options
  readonly allowed: ReadonlyArray<ScriptType>
  readonly maxScriptBytes: number
  readonly maxMemoryBytes: number
  readonly interpreters: { readonly [Type in ScriptType]: string }
}

type Fail = (
  reason: ScriptRunner.ScriptError["reason"],
  message: string,
  more?: Partial<Pick<ScriptRunner.ScriptError, "hint" | "exitCode" | "signal" | "stderr">>
) => ScriptRunner.ScriptError

const failing = ({ script: given, skillName }: ScriptRunner.ScriptRequest): Fail => {
  const script = SecretText.excerpt(given, { maxLength: 200 })
  return (reason, message, more) =>
    new ScriptRunner.ScriptError({ skillName, script, reason, message: `Script ${script}: ${message}`, ...more })
}

/** Resolves links, and accepts only a regular file inside the skill's folder. */
const locate = ({ allowed, fs, maxScriptBytes, path }: Host, request: ScriptRunner.ScriptRequest, fail: Fail) =>
  Effect.gen(function* () {
    const { directory, script, skillName } = request
    if (`${script}${directory}${skillName}`.includes("\0")) {
      return yield* fail("NotAllowed", "names must not contain a NUL character")
    }
    if (!path.isAbsolute(directory)) return yield* fail("NotAllowed", "the folder of the skill is not absolute")
    if (path.isAbsolute(script) || script.split(/[\\/]/).includes("..")) {
      return yield* fail("NotAllowed", "it is outside the folder of its skill")
    }
    const type = typeOf(script)
    if (type === undefined || !allowed.includes(type)) {
      return yield* fail("NotAllowed", `only ${allowed.join(", ") || "no"} scripts are allowed`)
    }
    const onFile = (error: PlatformError) =>
      error._tag === "SystemError" && error.reason === "NotFound"
        ? fail("NotFound", "there is no such file")
        : fail("NotAllowed", "the file cannot be read")
    const root = yield* Effect.mapError(fs.realPath(directory), onFile)
    const file = yield* Effect.mapError(fs.realPath(path.join(root, script)), onFile)
    if (!file.startsWith(root.endsWith(path.sep) ? root : `${root}${path.sep}`)) {
      return yield* fail("NotAllowed", "it is outside the folder of its skill")
    }
    // A link must not change the type that was allowed.
    if (typeOf(file) !== type) return yield* fail("NotAllowed", "it is a link to a file of another type")
    const info = yield* Effect.mapError(fs.stat(file), onFile)
    if (info.type !== "File") return yield* fail("NotAllowed", "it is not a regular file")
    if (Number(info.size) > maxScriptBytes) {
      return yield* fail("TooLarge", `it has ${info.size} bytes, more than the allowed ${maxScriptBytes}`)
    }
    return { root, file, type }
  })

const findInterpreter = ({ interpreters, processes }: Host, type: ScriptType, fail: Fail) =>
  Effect.flatMap(processes.find(interpreters[type]), (command) =>
    command === undefined
      ? fail("Unavailable", `there is no ${SecretText.excerpt(interpreters[type], { maxLength: 100 })}`, {
          hint: `Install it, or give its absolute path as interpreters.${type}`
        })
      : Effect.succeed(command)
  )

const conclude = ({ durationMs, exitCode, signal, stderr, stdout }: ProcessRequest.Result, fail: Fail) => {
  if (exitCode === 0) return Effect.succeed({ stdout, stderr, output: readOutput(stdout), durationMs })
  const details = { exitCode, stderr, ...(signal === undefined ? {} : { signal }) }
  if (outOfMemory.test(stderr)) return fail("MemoryLimit", "it ran out of memory", details)
  return fail("Failed", signal === undefined ? `exit code ${exitCode}` : `ended by ${signal}`, details)
}

const run = (host: Host, request: ScriptRunner.ScriptRequest) =>
  Effect.gen(function* () {
    const { maxMemoryBytes, options, processes, withPermit } = host
    const fail = failing(request)
    const { file, root, type } = yield* locate(host, request, fail)
    const stdin = yield* Effect.try({
      try: () => JSON.stringify(request.params) ?? "null",
      catch: () => fail("Failed", "its parameters cannot be written as JSON")
    })
    const command = yield* findInterpreter(host, type, fail)
    const isV8 = type === "js" && /(?:^|\/)node[^/]*$/.test(command)
    const execution = processes.run({
      command,
      args: isV8 ? [`--max-old-space-size=${heapMegabytes(maxMemoryBytes)}`, file] : [file],
      stdin,
      cwd: root,
      env: {
        ...options.env,
        LEX_SKILL_NAME: request.skillName,
        LEX_SKILL_DIR: root,
        LEX_SCRIPT_NAME: request.script
      },
      limits: {
        timeout: request.timeout ?? options.timeout,
        maxOutputBytes: options.maxOutputBytes,
        maxErrorBytes: options.maxErrorBytes,
        maxMemoryBytes,
        maxProcesses: options.maxProcesses,
        maxAddressBytes: type === "js" ? undefined : addressBytes(maxMemoryBytes)
      }
    })
    const result = yield* execution.pipe(
      withPermit,
      Effect.mapError(({ hint, message, reason, stderr }) =>
        fail(reason, message, { ...(hint === undefined ? {} : { hint }), ...(stderr === undefined ? {} : { stderr }) })
      )
    )
    return yield* conclude(result, fail)
  })

/**
 * Decides once how processes are tracked; interpreters are looked up when a script needs them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<ScriptRunner.Service, never, CommandExecutor.CommandExecutor | FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const host: Host = {
      fs: yield* FileSystem.FileSystem,
      path: yield* Path.Path,
      processes: yield* ProcessRun.make({ isolation: options.isolation }),
      withPermit: Permits.make(Math.max(1, options.concurrency ?? 8)),
      options,
      allowed: options.allowedTypes ?? allTypes,
      maxScriptBytes: options.maxScriptBytes ?? 1024 ** 2,
      maxMemoryBytes: options.maxMemoryBytes ?? 256 * 1024 ** 2,
      interpreters: {
        py: options.interpreters?.py ?? "python3",
        sh: options.interpreters?.sh ?? "sh",
        js: options.interpreters?.js ?? process.execPath
      }
    }
    return { run: (request) => run(host, request) }
  })

/**
 * `NodeContext.layer` of `@effect/platform-node` provides the requirements. Nothing runs on Windows, where leftover
 * processes could not be killed.
 *
 * @example
 * ```ts
 * import * as NodeContext from "@effect/platform-node/NodeContext"
 * import { ChildScripts } from "effect-lexigram/builtin"
 * import * as Layer from "effect/Layer"
 *
 * const scripts = ChildScripts.layer({ allowedTypes: ["py"], timeout: "10 seconds", isolation: "namespace" }).pipe(
 *   Layer.provide(NodeContext.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options
): Layer.Layer<ScriptRunner.ScriptRunner, never, CommandExecutor.CommandExecutor | FileSystem.FileSystem | Path.Path> =>
  Layer.effect(ScriptRunner.ScriptRunner, make(options))
