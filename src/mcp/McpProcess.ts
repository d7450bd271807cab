/**
 * Runs a server process in its own process group, so that everything it starts ends with it.
 *
 * @private
 * @since 0.1.0
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import { McpError } from "../skill/mcp/McpClient.js"

export interface Options {
  readonly server: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string | undefined
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  readonly maxMessageBytes: number
  /** Milliseconds for the server to end by itself, and again after it was told to. */
  readonly grace: number
}

/** Why the process is unusable. */
export type Ending = Partial<Pick<McpError, "exitCode" | "signal" | "stderr">> & {
  readonly reason: "Closed" | "TooLarge"
  readonly message: string
}

export interface Listener {
  readonly onLine: (line: string) => void
  /** Called once: the process ended, or can no longer be reached. */
  readonly onEnd: (ending: Ending) => void
}

export interface Process {
  readonly pid: number
  /** Fails if the process does not accept the line. */
  readonly write: (line: string) => Promise<void>
}

const isPosix = process.platform !== "win32"

/** Groups to kill when this process ends without closing its scopes. */
const groups = new Set<number>()
const killGroups = (): void => {
  for (const pid of groups) signalGroup(pid, "SIGKILL")
}

const guard = (pid: number): void => {
  if (groups.size === 0) process.on("exit", killGroups)
  groups.add(pid)
}

const release = (pid: number): void => {
  groups.delete(pid)
  if (groups.size === 0) process.off("exit", killGroups)
}

/** False if the group has no process. */
const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(isPosix ? -pid : pid, signal)
  } catch (error) {
    // The group exists but may not be signaled: it counts as gone.
    return (error as NodeJS.ErrnoException).code !== "ESRCH" && signal !== 0
  }
}

/** Splits bytes into lines, in one buffer that grows by doubling: linear in the input, however it is chunked. */
class Lines {
  private buffer = Buffer.allocUnsafe(64 * 1024)
  private length = 0

  constructor(
    private readonly maxBytes: number,
    private readonly onLine: (line: string) => void
  ) {}

  /** False when a line is longer than allowed. */
  push(chunk: Buffer): boolean {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      if (this.length + end - from > this.maxBytes) return false
      this.append(chunk, from, end)
      const line = this.buffer.toString("utf8", 0, this.length)
      this.length = 0
      from = end + 1
      if (line.trim() !== "") this.onLine(line)
    }
    if (this.length + chunk.length - from > this.maxBytes) return false
    this.append(chunk, from, chunk.length)
    return true
  }

  clear(): void {
    this.length = 0
    this.buffer = Buffer.alloc(0)
  }

  private append(chunk: Buffer, from: number, to: number): void {
    const needed = this.length + to - from
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buffer.length))
      this.buffer.copy(larger, 0, 0, this.length)
      this.buffer = larger
    }
    chunk.copy(this.buffer, this.length, from, to)
    this.length = needed
  }
}

const STDERR_BYTES = 8 * 1024
const STDERR_EXCERPT = 1000

/** Keeps the end of what was written. */
class Tail {
  private kept = Buffer.alloc(0)
  push(chunk: Buffer): void {
    this.kept = Buffer.concat([this.kept, chunk.subarray(-STDERR_BYTES)]).subarray(-STDERR_BYTES)
  }
  text(secrets: ReadonlyArray<Redacted.Redacted<string>>): string {
    const text = SecretText.excerpt(this.kept.toString("utf8"), { maxLength: STDERR_BYTES, redact: secrets })
    const all = VisibleText.visible(text)
    return all.length > STDERR_EXCERPT ? `…${all.slice(-STDERR_EXCERPT)}` : all
  }
}

const started = (options: Options): Effect.Effect<ChildProcessWithoutNullStreams, McpError> =>
  Effect.async((resume) => {
    const fail = (code: unknown) =>
      resume(
        Effect.fail(
          new McpError({
            server: options.server,
            reason: "Connection",
            message: `The process of the MCP server "${options.server}" could not be started${typeof code === "string" ? ` (${code})` : ""}`,
            hint: "Check the command, that it may be executed, and the working directory"
          })
        )
      )
    try {
      const child = spawn(options.command, [...options.args], {
        cwd: options.cwd,
        env: { ...options.env },
        stdio: ["pipe", "pipe", "pipe"],
        shell: false,
        detached: isPosix,
        windowsHide: true
      })
      child.once("error", (error: NodeJS.ErrnoException) => fail(error.code))
      child.once("spawn", () => resume(Effect.succeed(child)))
    } catch (error) {
      fail((error as NodeJS.ErrnoException).code)
    }
  })

const endingOf = (code: number | null, signal: string | null, stderr: string): Ending => ({
  reason: "Closed",
  message: signal === null ? `its process ended with exit code ${code}` : `its process was ended by ${signal}`,
  ...(code === null ? {} : { exitCode: code }),
  ...(signal === null ? {} : { signal }),
  ...(stderr === "" ? {} : { stderr })
})

/**
 * Time to wait for output still in the pipe after a process ended: a grandchild may hold the pipe open forever.
 */
const DRAIN = 250

/**
 * Starts the process. When the scope closes, its input is closed, then it gets SIGTERM, and if it does not end it is
 * killed with everything it started. The process is gone when the scope has closed.
 */
export const make = (options: Options, listener: Listener): Effect.Effect<Process, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const exited = yield* Deferred.make<void>()
    const drained = yield* Deferred.make<void>()
    const child = yield* Effect.acquireRelease(
      Effect.tap(started(options), (child) => Effect.sync(() => guard(child.pid as number))),
      (child) => terminate(child, exited, options.grace)
    )
    const pid = child.pid as number
    const lines = new Lines(options.maxMessageBytes, listener.onLine)
    const tail = new Tail()

    let ended = false
    const end = (ending: Ending): void => {
      if (ended) return
      ended = true
      lines.clear()
      listener.onEnd(ending)
    }
    const done = (deferred: Deferred.Deferred<void>): void => void Deferred.unsafeDone(deferred, Effect.void)

    child.stdout.on("data", (chunk: Buffer) => {
      if (ended || lines.push(chunk)) return
      end({ reason: "TooLarge", message: `it sent a message of more than ${options.maxMessageBytes} bytes` })
      signalGroup(pid, "SIGKILL")
    })
    child.stderr.on("data", (chunk: Buffer) => tail.push(chunk))
    // A pipe failure shows as the end of the process or as a failed write.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on("error", () => {})
    child.once("close", () => done(drained))
    child.once("exit", (code, signal) => {
      done(exited)
      const finish = Effect.sync(() => end(endingOf(code, signal, tail.text(options.secrets))))
      Runtime.runFork(runtime)(Effect.zipRight(completesWithin(Deferred.await(drained), DRAIN), finish))
    })
    child.stdout.once("end", () => {
      // A process that ends also closes its output, and its exit says more.
      const finish = Effect.map(completesWithin(Deferred.await(exited), DRAIN), (said) => {
        if (!said) end({ reason: "Closed", message: "it closed its output" })
      })
      Runtime.runFork(runtime)(finish)
    })

    return {
      pid,
      write: (line) =>
        new Promise((resolve, reject) => {
          if (child.stdin.writableLength > options.maxMessageBytes) reject(new Error("the server does not read"))
          else child.stdin.write(`${line}\n`, (error) => (error ? reject(error) : resolve()))
        })
    }
  })

/** Waits up to a limit; true if the effect completed. */
const completesWithin = (effect: Effect.Effect<unknown>, millis: number): Effect.Effect<boolean> =>
  Deadline.run(() => Effect.as(effect, true), { whole: millis, onTimeout: () => "late" as const }).pipe(
    Effect.orElseSucceed(() => false)
  )

const terminate = (
  child: ChildProcessWithoutNullStreams,
  exited: Deferred.Deferred<void>,
  grace: number
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const pid = child.pid as number
    const gone = (millis: number) => completesWithin(Deferred.await(exited), millis)
    child.stdin.end()
    if (!(yield* gone(grace))) {
      signalGroup(pid, "SIGTERM")
      if (!(yield* gone(grace))) {
        signalGroup(pid, "SIGKILL")
        yield* Deferred.await(exited)
      }
    }
    // Processes the server left behind.
    if (isPosix && signalGroup(pid, 0)) {
      signalGroup(pid, "SIGTERM")
      const empty = Effect.repeat(
        Effect.zipRight(
          Effect.sleep(10),
          Effect.sync(() => signalGroup(pid, 0))
        ),
        {
          while: (there) => there
        }
      )
      if (!(yield* completesWithin(empty, Math.min(grace, 500)))) signalGroup(pid, "SIGKILL")
    }
    release(pid)
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy()
  })
