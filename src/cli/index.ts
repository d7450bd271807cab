/**
 * Runs the command line, for programs that are one: `lexigram` of this package is `Cli.main(process.argv)`.
 *
 * @since 0.1.0
 */
export * as Cli from "./Cli.js"

/**
 * The configuration of the command line: the default export of `lexigram.config.ts`. It says which agents there are,
 * and what they run on.
 *
 * @since 0.1.0
 */
export * as CliConfig from "./config/CliConfig.js"

/**
 * What a command of the command line cannot do, and what to do about it.
 *
 * @since 0.1.0
 */
export * as CliError from "./config/CliError.js"

/**
 * Models by the names that people type: `offline`, `openai/gpt-4.1-mini`, `ollama/llama3.2`.
 *
 * @since 0.1.0
 */
export * as ModelName from "./config/ModelName.js"
