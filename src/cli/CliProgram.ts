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
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Version from "../domain/Version.js"
import * as LexigramCommand from "./LexigramCommand.js"
import * as ExitCode from "./terminal/ExitCode.js"
import * as Report from "./terminal/Report.js"
import * as Screen from "./terminal/Screen.js"

const program = Command.run(LexigramCommand.command, {
  name: "lexigram",
  version: Version.version,
  executable: "lexigram"
})

const failed = (cause: Cause.Cause<unknown>): Effect.Effect<ExitCode.ExitCode, never, Screen.Screen> =>
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

/**
 * Runs the command of the arguments, and returns the exit code.
 *
 * @category execution
 */
export const run = (args: ReadonlyArray<string>): Effect.Effect<ExitCode.ExitCode> =>
  program(args).pipe(
    Effect.as(ExitCode.codes.success),
    Effect.catchAllCause((cause) => (Cause.isInterruptedOnly(cause) ? Effect.interrupt : failed(cause))),
    Effect.provide(Layer.mergeAll(NodeContext.layer, Screen.layer, CliConfig.layer({ showBuiltIns: false }), logs))
  )
