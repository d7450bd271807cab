/**
 * Executes code.
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
 * The code did not run to its end. `stdout` is what it had printed.
 *
 * - `Threw`: it failed, with `message`
 * - `Timeout`, `MemoryLimit`, `OutputLimit`, `ProcessLimit`: it went beyond a limit and was stopped
 * - `Unavailable`: there is nothing here that executes the language
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
  /** For one execution, whatever the call asks for. Default 10 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Beyond the 16 MiB that an engine begins with. Default 64 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** Characters that are printed, and characters that are returned, at most. Default 64 Ki. */
  readonly maxOutputChars?: number | undefined
  /** Executions at a time: each has a thread. Default 4. */
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
          ? "Code is executed by the package quickjs-emscripten, which is not installed"
          : "The sandbox that executes code failed",
        hint: ended.isMissing ? "npm install quickjs-emscripten" : "Try again; should it stay so, look at the cause",
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
  // What executes ends first, and says what the code had printed.
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
 * `code_execute`: JavaScript (ES2023) in a sandbox of WebAssembly, with a thread and a memory of its own. It needs the
 * package `quickjs-emscripten`. Each execution begins anew; nothing of one is left for the next.
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
 * With the usual limits.
 *
 * @since 0.1.0
 * @category skills
 */
export const skill: Skill.Skill<Parameters, Output, CodeExecutionError> = make()

/**
 * How Python is run, beside the limits that hold for every language.
 *
 * @since 0.1.0
 * @category models
 */
export interface PythonOptions {
  /**
   * An absolute path, or a name that is looked for in the folders of the system and then in `PATH`. Default `python3`.
   */
  readonly interpreter?: string | undefined
  /** Of all processes of an execution together, the interpreter included. Default 256 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** Of an execution, at one time. Default 16. */
  readonly maxProcesses?: number | undefined
  /**
   * How what the code has started is kept together. `namespace` runs nothing where the system does not allow
   * namespaces, `scan` uses none, `auto` is `namespace` where it works, else `scan`.
   */
  readonly isolation?: Isolation | undefined
}

interface Runner {
  readonly executor: CommandExecutor.CommandExecutor
  readonly fs: FileSystem.FileSystem
  readonly processes: ProcessRun.Service
}

/** Looks at the machine once, not for every execution. */
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
 * `code_execute` for Python as well as for JavaScript. Python is for code that you would run yourself: each execution
 * has a process of its own with a clean environment and a folder that is removed afterwards, is bounded in time,
 * output, memory and processes, and leaves nothing running; but the process has the rights of the user of this one on
 * files and the network. JavaScript stays in its sandbox.
 *
 * Python has its `input` as a variable, and nothing on standard input. A value that JSON does not have is returned as
 * its `repr`, a whole number beyond 2 ** 53 as text, a set as a list. Python that prints far too much is stopped
 * without what it had printed.
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
    // What Python has done to files or elsewhere would be done twice.
    idempotent: false,
    parameters: ParametersWithPython,
    handler: (
      params
    ): Effect.Effect<Output, CodeExecutionError, CommandExecutor.CommandExecutor | FileSystem.FileSystem> =>
      params.language === "python" ? runPython(params) : runJavaScript(options, params)
  })
}
