/**
 * The exit codes of the command line, by families of failures.
 *
 * @private
 * @since 0.1.0
 */
import * as ErrorInfo from "../../domain/ErrorInfo.js"

/**
 * - `success`: 0
 * - `failed`: 1, the run failed, or something else went wrong
 * - `usage`: 2, arguments or flags do not fit
 * - `configuration`: 3, the configuration, a package or a key is missing or wrong
 * - `unknown`: 4, there is no such thing
 * - `refused`: 5, the caller may not do it, or a guard or a limit refused it
 * - `unavailable`: 6, a server, a model or a database cannot be reached
 * - `gate`: 7, results did not pass a check
 * - `interrupted`: 130
 * - `terminated`: 143
 *
 * @category constants
 */
export const codes = {
  success: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  unknown: 4,
  refused: 5,
  unavailable: 6,
  gate: 7,
  interrupted: 130,
  terminated: 143
} as const

/**
 * @category models
 */
export type ExitCode = (typeof codes)[keyof typeof codes]

/** By the reason of a `CliError`, an `ApiError`, a `RunError` or an `ExperimentStoreError`. */
const reasons: Readonly<Record<string, ExitCode>> = {
  usage: codes.usage,
  invalid: codes.usage,
  config: codes.configuration,
  package: codes.configuration,
  absent: codes.configuration,
  unsupported: codes.configuration,
  unknown: codes.unknown,
  "unknown-run": codes.unknown,
  "unknown-agent": codes.unknown,
  unauthenticated: codes.refused,
  forbidden: codes.refused,
  rate: codes.unavailable,
  unavailable: codes.unavailable,
  storage: codes.unavailable,
  gate: codes.gate
}

const configuration =
  /(?:Configuration|Definition)Error$|^LlmAuthenticationError$|^MigrationError$|^(?:And|Or|MissingData|InvalidData|SourceUnavailable|Unsupported)$/
const unknown = /NotFoundError$/
const refused =
  /^(?:InputGuard|OutputGuard|PolicyViolation|ModelAccessDenied|ToolAccessDenied|ToolApprovalDenied|LlmCallRefused|BudgetExceeded|RateLimitExceeded|ResourceExhausted)Error$/
const unavailable =
  /^(?:Request|Response|Llm(?:RateLimit|Quota|Timeout|Connection|Unavailable)|Database|SessionStorage|Storage|MemoryStore)Error$/

/**
 * The code of a failure.
 *
 * @category getters
 */
export const fromFailure = (error: unknown): ExitCode => {
  const reason: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "reason") : undefined
  const tag = ErrorInfo.errorInfo(error).tag
  if (/^(?:Cli|Api|Run|ExperimentStore)Error$/.test(tag) && typeof reason === "string")
    return reasons[reason] ?? codes.failed
  if (configuration.test(tag)) return codes.configuration
  if (unknown.test(tag)) return codes.unknown
  if (refused.test(tag)) return codes.refused
  return unavailable.test(tag) ? codes.unavailable : codes.failed
}
