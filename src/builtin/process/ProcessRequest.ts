/**
 * A command to run, its limits, its result, and the error of a command that did not end by itself.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Maximum bytes of standard output. Default 1 MiB; the first byte beyond kills the command. */
  readonly maxOutputBytes?: number | undefined
  /** Bytes kept from the end of standard error. Default 64 KiB. */
  readonly maxErrorBytes?: number | undefined
  /** Maximum memory of all its processes. Default 256 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** Maximum concurrent processes. Default 64. */
  readonly maxProcesses?: number | undefined
  /**
   * Limit on the address space of each process, enforced by the kernel. Default: none, because interpreters that
   * reserve memory they never use (V8) fail under one.
   */
  readonly maxAddressBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  /** An absolute path, or a name searched in the system folders and then in `PATH`. */
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  /** Input that is not read is not a failure. */
  readonly stdin?: string | undefined
  /** Default: the temporary folder. */
  readonly cwd?: string | undefined
  /**
   * Added to `PATH` and `LANG`, and to `HOME` and `TMPDIR`, which are the temporary folder. Redacted values are removed
   * from standard error.
   */
  readonly env?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
  readonly limits?: Limits | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Result {
  /** Invalid UTF-8 is replaced. */
  readonly stdout: string
  /** The end of standard error, without secrets. */
  readonly stderr: string
  /** If a signal ended it, 128 plus the signal's number, as in shells. */
  readonly exitCode: number
  /** In a namespace, an exit code above 128 counts as the corresponding signal. */
  readonly signal: string | undefined
  readonly durationMs: number
}

/**
 * The command was not started, or exceeded a limit and was killed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessError extends Data.TaggedError("ProcessError")<{
  readonly reason: "Unavailable" | "Timeout" | "OutputLimit" | "MemoryLimit" | "ProcessLimit"
  readonly message: string
  readonly hint?: string | undefined
  readonly stderr?: string | undefined
  /** Output before the limit; absent if the output itself was too large. */
  readonly stdout?: string | undefined
  readonly cause?: unknown
}> {}

/**
 * @category internals
 * @internal
 */
export const unavailable = (
  message: string,
  options?: { readonly hint?: string; readonly cause?: unknown }
): ProcessError => new ProcessError({ reason: "Unavailable", message, ...options })

/**
 * @category internals
 * @internal
 */
export interface Resolved {
  readonly timeout: Duration.Duration
  readonly maxOutputBytes: number
  readonly maxErrorBytes: number
  readonly maxMemoryBytes: number
  readonly maxProcesses: number
  readonly maxAddressBytes: number | undefined
}

/**
 * @category internals
 * @internal
 */
export const resolve = (limits: Limits | undefined): Resolved => ({
  timeout: Duration.decode(limits?.timeout ?? "30 seconds"),
  maxOutputBytes: limits?.maxOutputBytes ?? 1024 * 1024,
  maxErrorBytes: limits?.maxErrorBytes ?? 64 * 1024,
  maxMemoryBytes: limits?.maxMemoryBytes ?? 256 * 1024 * 1024,
  maxProcesses: limits?.maxProcesses ?? 64,
  maxAddressBytes: limits?.maxAddressBytes
})

/**
 * @category internals
 * @internal
 */
export type Reason = Exclude<ProcessError["reason"], "Unavailable">

/**
 * @category internals
 * @internal
 */
export const limitError = (
  reason: Reason,
  limits: Resolved,
  written: Pick<ProcessError, "stderr" | "stdout">
): ProcessError => {
  switch (reason) {
    case "Timeout":
      return new ProcessError({
        reason,
        ...written,
        message: `It did not end within ${Duration.format(limits.timeout)}`
      })
    case "OutputLimit":
      return new ProcessError({ reason, ...written, message: `It wrote more than ${limits.maxOutputBytes} bytes` })
    case "MemoryLimit":
      return new ProcessError({
        reason,
        ...written,
        message: `It took more than ${limits.maxMemoryBytes} bytes of memory`
      })
    case "ProcessLimit":
      return new ProcessError({
        reason,
        ...written,
        message: `It had more than ${limits.maxProcesses} processes at once`
      })
  }
}
