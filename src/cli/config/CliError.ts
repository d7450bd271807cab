/**
 * What a command of the command line cannot do, and what to do about it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * - `usage`: arguments or flags that do not fit
 * - `config`: the configuration module is missing, cannot be loaded, or is not one
 * - `package`: an optional package is not installed
 * - `absent`: the application has no such part, such as sessions
 * - `unknown`: there is no such thing
 * - `file`: a file cannot be read or written
 * - `gate`: a check of the results did not pass
 *
 * @since 0.1.0
 * @category schemas
 */
export const CliErrorReason = Schema.Literal("usage", "config", "package", "absent", "unknown", "file", "gate")

/**
 * @since 0.1.0
 * @category errors
 */
export class CliError extends ErrorCode.TaggedError<CliError>("effect-lexigram/cli/CliError/CliError")("CliError", {
  ...ErrorCode.fields("LEX_ERR_CLI_100"),
  reason: CliErrorReason
}) {}
