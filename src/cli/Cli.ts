/**
 * Runs the command line, for programs that are one: `lexigram` of this package is `Cli.main(process.argv)`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as ExitCode from "./terminal/ExitCode.js"

/**
 * Runs the command of the arguments, of which the first two are skipped as in `process.argv`, and returns the exit
 * code: 0, 1 (the run failed, or something else went wrong), 2 (arguments), 3 (configuration, packages, keys), 4 (there
 * is no such thing), 5 (refused), 6 (not reachable), 7 (a gate). Failures are written to the error output.
 *
 * @example
 * ```ts
 * import { Cli } from "effect-lexigram/cli"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const code = yield* Cli.run(["node", "lexigram", "--help"])
 *   yield* Effect.log(`It ended with ${code}.`)
 * })
 * ```
 *
 * @since 0.1.0
 * @category execution
 */
export const run = (args: ReadonlyArray<string>): Effect.Effect<ExitCode.ExitCode> =>
  Effect.flatMap(
    Effect.promise(() => import("./CliProgram.js")),
    (program) => program.run(args)
  )

/**
 * Runs the command line as the program of this process, and ends it.
 *
 * @since 0.1.0
 * @category execution
 */
export const main = (args: ReadonlyArray<string>): void => {
  let signal = "SIGINT"
  process.once("SIGTERM", () => {
    signal = "SIGTERM"
  })
  const fiber = Effect.runFork(run(args))
  const stop = (): void => fiber.unsafeInterruptAsFork(fiber.id())
  process.on("SIGINT", stop)
  process.on("SIGTERM", stop)
  fiber.addObserver((exit) => {
    process.off("SIGINT", stop)
    process.off("SIGTERM", stop)
    // Output that a pipe has not taken yet is lost by `process.exit`; nothing but what the application keeps is left.
    process.exitCode = Exit.isSuccess(exit) ? exit.value : signal === "SIGINT" ? 130 : 143
    process.stdout.write("", () => process.stderr.write("", () => process.exit()))
  })
}
