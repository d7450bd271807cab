/**
 * The `code_execute` skill: executes JavaScript in a sandbox and, on request, Python in a process.
 *
 * @since 0.1.0
 */
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Skill from "../../skill/definition/Skill.js"
import * as JavaScriptSandbox from "./JavaScriptSandbox.js"
import type { Isolation } from "./ProcessLaunch.js"
import type * as ProcessRequest from "./ProcessRequest.js"
import * as ProcessRun from "./ProcessRun.js"
import * as PythonProcess from "./PythonProcess.js"

/**
 * The code did not finish. `stdout` holds what it had printed.
 *
 * - `Threw`: it failed, with `message`
 * - `Timeout`, `MemoryLimit`, `OutputLimit`, `ProcessLimit`: it exceeded a limit and was stopped
 * - `Unavailable`: nothing here executes the language
 *
 * @since 0.1.0
 * @category errors
 */
export class CodeExecutionError extends ErrorCode.TaggedError<CodeExecutionError>(
  "effect-lexigram/builtin/CodeExecutionSkill/CodeExecutionError"
)("CodeExecutionError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_110"),
  language: Schema.String,
  reason: Schema.Literal("Threw", "Timeout", "MemoryLimit", "OutputLimit", "ProcessLimit", "Unavailable"),
  stdout: Schema.String
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Time limit of one execution, whatever the call requests. Default 10 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Memory beyond the 16 MiB with which an engine starts. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** Maximum characters printed, and maximum returned. Default 64 Ki. */
  readonly maxOutputChars?: number | undefined
  /** Concurrent executions, each with its own thread. Default 4. */
  readonly maxConcurrent?: number | undefined
}

const Code = Schema.NonEmptyString.pipe(Schema.maxLength(100_000))

const Shared = Schema.Struct({
  input: Schema.optional(Schema.Unknown.annotations({ description: "A JSON value; the code finds it in `input`" })),
  timeout: Schema.optional(
    Schema.Number.pipe(Schema.positive()).annotations({ description: "Seconds it may take, if less than usual" })
  )
})

const Parameters = Schema.Struct({
  code: Code.annotations({
    description:
      "The code. What console.log prints and the value of the last expression come back. There are no files, no network, no timers and no modules"
  }),
  language: Schema.optionalWith(Schema.Literal("javascript").annotations({ description: "Default javascript" }), {
    default: () => "javascript" as const
  }),
  ...Shared.fields
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Parameters extends Schema.Schema.Type<typeof Parameters> {}

const ParametersWithPython = Schema.Struct({
  code: Code.annotations({
    description:
      "The code. What it prints and the value of its last expression come back. JavaScript has no files, no network, no timers and no modules"
  }),
  language: Schema.optionalWith(Schema.Literal("python", "javascript").annotations({ description: "Default python" }), {
    default: () => "python" as const
  }),
  ...Shared.fields
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ParametersWithPython extends Schema.Schema.Type<typeof ParametersWithPython> {}

const Output = Schema.Struct({ stdout: Schema.String, result: Schema.Unknown, language: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface Output extends Schema.Schema.Type<typeof Output> {}

const limitOf = {
  time: { reason: "Timeout", message: "The code took too long and was stopped" },
  memory: { reason: "MemoryLimit", message: "The code used too much memory and was stopped" },
  output: { reason: "OutputLimit", message: "The code printed or returned too much and was stopped" },
  processes: { reason: "ProcessLimit", message: "The code started too many processes and was stopped" }
} as const

const hint = "Let it do less, or print and return less"

const outputOf = (
  ended: JavaScriptSandbox.Ended | PythonProcess.Ended,
  language: string
): Effect.Effect<Output, CodeExecutionError> => {
  switch (ended._tag) {
    case "Returned":
      return Effect.succeed({ stdout: ended.stdout, result: ended.result, language })
    case "Threw":
      return new CodeExecutionError({
        language,
        reason: "Threw",
        stdout: ended.stdout,
        message: ended.error.slice(0, 2000)
      })
    case "Exceeded":
      return new CodeExecutionError({ language, stdout: ended.stdout, hint, ...limitOf[ended.limit] })
    case "Broken":
      return new CodeExecutionError({
        language,
        reason: "Unavailable",
        stdout: "",
        message: ended.isMissing
          ? "Code execution needs the package quickjs-emscripten, which is not installed"
          : "The sandbox that executes code failed",
        hint: ended.isMissing ? "npm install quickjs-emscripten" : "Try again; if it persists, inspect the cause",
        cause: ended.cause
      })
  }
}

const defaultTimeout = Duration.seconds(10)

const traits = (options: Options | undefined) => ({
  category: "code",
  permissions: ["code.execute"],
  returns: Output,
  idempotent: true,
  maxRetries: 0,
  maxConcurrent: options?.maxConcurrent ?? 4,
  // The engine's own limit ends first and reports what the code had printed.
  timeout: Duration.sum(Duration.decode(options?.timeout ?? defaultTimeout), "10 seconds")
})

const limitsOf = (options: Options | undefined, seconds: number | undefined) => {
  const most = Duration.decode(options?.timeout ?? defaultTimeout)
  return {
    timeout: seconds === undefined ? most : Duration.min(most, Duration.seconds(seconds)),
    maxOutputChars: options?.maxOutputChars ?? 64 * 1024
  }
}

const runJavaScript = (
  options: Options | undefined,
  { code, input, timeout }: Pick<Parameters, "code" | "input" | "timeout">
): Effect.Effect<Output, CodeExecutionError> =>
  Effect.flatMap(
    JavaScriptSandbox.run(code, input, {
      ...limitsOf(options, timeout),
      maxMemoryBytes: options?.maxMemoryBytes ?? 64 * 1024 * 1024
    }),
    (ended) => outputOf(ended, "javascript")
  )

/**
 * `code_execute`: JavaScript (ES2023) in a WebAssembly sandbox, with its own thread and memory. Requires the package
 * `quickjs-emscripten`. Executions share no state.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Skill.Skill<Parameters, Output, CodeExecutionError> =>
  Skill.make("code_execute", {
    ...traits(options),
    description: "Executes JavaScript in a sandbox and gives what it prints and returns",
    parameters: Parameters,
    handler: (params) => runJavaScript(options, params)
  })

/**
 * `code_execute` with the usual limits.
 *
 * @since 0.1.0
 * @category skills
 */
export const skill: Skill.Skill<Parameters, Output, CodeExecutionError> = make()

/**
 * Options of Python, in addition to the limits of every language.
 *
 * @since 0.1.0
 * @category models
 */
export interface PythonOptions {
  /** An absolute path, or a name searched in the system folders and then in `PATH`. Default `python3`. */
  readonly interpreter?: string | undefined
  /** Maximum memory of all processes of an execution, including the interpreter. Default 256 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** Maximum concurrent processes of an execution. Default 16. */
  readonly maxProcesses?: number | undefined
  /**
   * How the processes of the code are tracked. `namespace` runs nothing where the system forbids namespaces, `scan`
   * uses none, `auto` uses namespaces where they work.
   */
  readonly isolation?: Isolation | undefined
}

interface Runner {
  readonly executor: CommandExecutor.CommandExecutor
  readonly fs: FileSystem.FileSystem
  readonly processes: ProcessRun.Service
}

/** Examines the machine once, not for every execution. */
const processesOf = (isolation: Isolation | undefined) => {
  let known: Runner | undefined
  return Effect.gen(function* () {
    const executor = yield* CommandExecutor.CommandExecutor
    const fs = yield* FileSystem.FileSystem
    if (known?.executor === executor && known.fs === fs) return known.processes
    const processes = yield* ProcessRun.make({ isolation })
    known = { executor, fs, processes }
    return processes
  })
}

const unavailable = (error: ProcessRequest.ProcessError): CodeExecutionError =>
  new CodeExecutionError({
    language: "python",
    reason: "Unavailable",
    stdout: "",
    message: `Python cannot be executed: ${error.message}`,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint })
  })

/**
 * `code_execute` for Python as well as JavaScript. Use it only for code you would run yourself: each execution has its
 * own process with a clean environment, a temporary folder, and limits on time, output, memory and processes, and
 * leaves nothing running; but the process has the rights of this process's user on files and the network. JavaScript
 * stays in its sandbox.
 *
 * Python gets its `input` as a variable, and nothing on standard input. A value without a JSON form is returned as its
 * `repr`, a whole number beyond 2 ** 53 as text, a set as a list. Python that prints far too much is stopped, and its
 * output is lost.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { CodeExecutionSkill } from "effect-lexigram/builtin"
 *
 * const execute = CodeExecutionSkill.withPython({ timeout: "5 seconds", python: { maxMemoryBytes: 512 * 1024 ** 2 } })
 * ```
 */
export const withPython = (
  options?: Options & { readonly python?: PythonOptions | undefined }
): Skill.Skill<
  ParametersWithPython,
  Output,
  CodeExecutionError,
  CommandExecutor.CommandExecutor | FileSystem.FileSystem
> => {
  const {
    interpreter = "python3",
    isolation,
    maxMemoryBytes = 256 * 1024 ** 2,
    maxProcesses = 16
  } = options?.python ?? {}
  const processes = processesOf(isolation)
  const runPython = ({ code, input, timeout }: ParametersWithPython) =>
    processes.pipe(
      Effect.flatMap((processes) =>
        PythonProcess.run(processes, interpreter, code, input, {
          ...limitsOf(options, timeout),
          maxMemoryBytes,
          maxProcesses
        })
      ),
      Effect.mapError(unavailable),
      Effect.flatMap((ended) => outputOf(ended, "python"))
    )
  return Skill.make("code_execute", {
    ...traits(options),
    description: "Executes Python or JavaScript and gives what it prints and returns",
    // Effects of Python on files or elsewhere would be repeated.
    idempotent: false,
    parameters: ParametersWithPython,
    handler: (
      params
    ): Effect.Effect<Output, CodeExecutionError, CommandExecutor.CommandExecutor | FileSystem.FileSystem> =>
      params.language === "python" ? runPython(params) : runJavaScript(options, params)
  })
}
