/**
 * A command to run, its limits, its result, and the error of a command that did not end by itself.
 *
 * @internal
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
  /** 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Of standard output: 1 MiB. The first byte beyond kills. */
  readonly maxOutputBytes?: number | undefined
  /** Of the end of standard error, which is kept: 64 KiB. What comes before is forgotten. */
  readonly maxErrorBytes?: number | undefined
  /** Of all its processes together: 256 MiB. */
  readonly maxMemoryBytes?: number | undefined
  /** At one time: 64. */
  readonly maxProcesses?: number | undefined
  /**
   * Of the address space of each process, kept by the kernel: none. Interpreters that reserve what they never use (V8)
   * do not bear one.
   */
  readonly maxAddressBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  /** An absolute path, or a name that is looked for in the folders of the system and then in `PATH`. */
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  /** That nobody reads it is no failure. */
  readonly stdin?: string | undefined
  /** The temporary folder, unless given. */
  readonly cwd?: string | undefined
  /**
   * On top of `PATH`, `LANG`, and `HOME` and `TMPDIR`, which are the temporary folder. Redacted values are taken out of
   * standard error.
   */
  readonly env?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
  readonly limits?: Limits | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Result {
  /** Bytes that are not UTF-8 are replaced. */
  readonly stdout: string
  /** The end of it, secrets taken out. */
  readonly stderr: string
  /** 128 and the number of the signal where one ended it, as shells have it. */
  readonly exitCode: number
  /** Inside a namespace an exit code above 128 counts as the signal that it stands for. */
  readonly signal: string | undefined
  readonly durationMs: number
}

/**
 * The command was not started, or was killed at a limit.
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessError extends Data.TaggedError("ProcessError")<{
  readonly reason: "Unavailable" | "Timeout" | "OutputLimit" | "MemoryLimit" | "ProcessLimit"
  readonly message: string
  readonly hint?: string | undefined
  readonly stderr?: string | undefined
  /** What was written before a limit; nothing where that was too much. */
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
