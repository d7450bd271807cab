/**
 * Executes code.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as Skill from "../skill/Skill.js"
import * as JavaScriptSandbox from "./JavaScriptSandbox.js"

/**
 * The code did not run to its end. `stdout` is what it had printed.
 *
 * - `Threw`: it failed, with `message`
 * - `Timeout`, `MemoryLimit`, `OutputLimit`: it went beyond a limit and was stopped
 * - `Unavailable`: there is nothing here that executes the language
 *
 * @since 0.1.0
 * @category errors
 */
export class CodeExecutionError extends Schema.TaggedError<CodeExecutionError>(
  "effect-lexigram/builtin/CodeExecutionSkill/CodeExecutionError"
)("CodeExecutionError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_110"),
  language: Schema.String,
  reason: Schema.Literal("Threw", "Timeout", "MemoryLimit", "OutputLimit", "Unavailable"),
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

const Parameters = Schema.Struct({
  code: Schema.NonEmptyString.pipe(Schema.maxLength(100_000)).annotations({
    description:
      "The code. What console.log prints and the value of the last expression come back. There are no files, no network, no timers and no modules"
  }),
  language: Schema.optionalWith(Schema.Literal("javascript").annotations({ description: "Default javascript" }), {
    default: () => "javascript" as const
  }),
  input: Schema.optional(Schema.Unknown.annotations({ description: "A JSON value; the code finds it in `input`" })),
  timeout: Schema.optional(
    Schema.Number.pipe(Schema.positive()).annotations({ description: "Seconds it may take, if less than usual" })
  )
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Parameters extends Schema.Schema.Type<typeof Parameters> {}

const Output = Schema.Struct({ stdout: Schema.String, result: Schema.Unknown, language: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface Output extends Schema.Schema.Type<typeof Output> {}

const limitOf = {
  time: { reason: "Timeout", message: "The code took too long and was stopped" },
  memory: { reason: "MemoryLimit", message: "The code used too much memory and was stopped" },
  output: { reason: "OutputLimit", message: "The code printed or returned too much and was stopped" }
} as const

const hint = "Let it do less, or print and return less"

const outputOf = (ended: JavaScriptSandbox.Ended, language: string): Effect.Effect<Output, CodeExecutionError> => {
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

/**
 * `code_execute`: JavaScript (ES2023) in a sandbox of WebAssembly, with a thread and a memory of its own. It needs the package
 * `quickjs-emscripten`. Each execution begins anew; nothing of one is left for the next.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Skill.Skill<Parameters, Output, CodeExecutionError> => {
  const most = Duration.decode(options?.timeout ?? "10 seconds")
  return Skill.make("code_execute", {
    description: "Executes JavaScript in a sandbox and gives what it prints and returns",
    category: "code",
    permissions: ["code.execute"],
    parameters: Parameters,
    returns: Output,
    idempotent: true,
    maxRetries: 0,
    maxConcurrent: options?.maxConcurrent ?? 4,
    // The sandbox ends first, and says what the code had printed.
    timeout: Duration.sum(most, "10 seconds"),
    handler: ({ code, input, language, timeout }) =>
      Effect.flatMap(
        JavaScriptSandbox.run(code, input, {
          timeout: timeout === undefined ? most : Duration.min(most, Duration.seconds(timeout)),
          maxMemoryBytes: options?.maxMemoryBytes ?? 64 * 1024 * 1024,
          maxOutputChars: options?.maxOutputChars ?? 64 * 1024
        }),
        (ended) => outputOf(ended, language)
      )
  })
}

/**
 * With the usual limits.
 *
 * @since 0.1.0
 * @category skills
 */
export const skill: Skill.Skill<Parameters, Output, CodeExecutionError> = make()
