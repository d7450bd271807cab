/**
 * The command line as an effect.
 *
 * @private
 * @since 0.1.0
 */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Cause from "effect/Cause"
import type * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Version from "../domain/Version.js"
import * as HelpText from "./HelpText.js"
import * as LexigramCommand from "./LexigramCommand.js"
import * as ExitCode from "./terminal/ExitCode.js"
import * as Report from "./terminal/Report.js"
import * as Screen from "./terminal/Screen.js"

const program = Command.run(LexigramCommand.command, {
  name: "lexigram",
  version: Version.version,
  executable: "lexigram"
})

const failed = (cause: Cause.Cause<unknown>): Effect.Effect<ExitCode.ExitCode, never, Screen.Screen | Report.Format> =>
  Effect.suspend(() => {
    const failure = Option.getOrElse(Cause.failureOption(cause), () => Cause.squash(cause))
    // It was written where it was found.
    if (ValidationError.isValidationError(failure)) return Effect.succeed(ExitCode.codes.usage)
    return Effect.as(Report.failure(failure), ExitCode.fromFailure(failure))
  })

/** Logs of the library are for those who look for a fault. */
const logs = Layer.merge(
  Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger)),
  Logger.minimumLogLevel(LogLevel.Warning)
)

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors are control characters
const colors = /\u001b\[[0-9;]*m/g

/** The console of `@effect/cli`, which writes colors in any case, and wide lists. */
const consoleOf = (screen: Screen.Service, base: Console.Console): Console.Console => {
  const line = (values: ReadonlyArray<unknown>): string => {
    const text = values.map(String).join(" ")
    const plain = text.replace(colors, "")
    if (/^COMMANDS$/m.test(plain)) return `${HelpText.compact(plain, screen.columns())}\n`
    return `${screen.hasColors ? text : plain}\n`
  }
  return {
    ...base,
    log: (...values) => Effect.sync(() => screen.write(line(values))),
    error: (...values) => Effect.sync(() => screen.note(line(values)))
  }
}

/**
 * Runs the command of the arguments on the screen in context, and returns the exit code.
 *
 * @category execution
 */
export const runOn = (
  args: ReadonlyArray<string>
): Effect.Effect<ExitCode.ExitCode, never, Screen.Screen | NodeContext.NodeContext> =>
  Effect.gen(function* () {
    const screen = yield* Screen.Screen
    const base = yield* Effect.console
    return yield* program(args).pipe(
      Effect.as(ExitCode.codes.success),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.interrupt
          : Effect.provideService(failed(cause), Report.Format, { isJson: args.includes("--json") })
      ),
      Effect.provide(CliConfig.layer({ showBuiltIns: false })),
      Effect.withConsole(consoleOf(screen, base))
    )
  })

/**
 * Runs the command of the arguments, and returns the exit code.
 *
 * @category execution
 */
export const run = (args: ReadonlyArray<string>): Effect.Effect<ExitCode.ExitCode> =>
  Effect.provide(runOn(args), Layer.mergeAll(NodeContext.layer, Screen.layer, logs))
