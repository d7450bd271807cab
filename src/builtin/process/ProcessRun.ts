/**
 * One command in a process of its own: with a clean environment, a folder that is removed afterwards, limits on time,
 * output, memory and processes, and nothing left running behind it.
 *
 * A command runs as the user of this process: where no namespace hides it (`ProcessLaunch`), it can read what that user
 * can read.
 *
 * @internal
 * @since 0.1.0
 */
import { constants } from "node:os"
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as ProcessLaunch from "./ProcessLaunch.js"
import * as ProcessPipes from "./ProcessPipes.js"
import * as ProcessTable from "./ProcessTable.js"
import * as ProcessTree from "./ProcessTree.js"

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
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** How processes are kept together: `undefined` where the way asked for does not work, and nothing is run. */
  readonly isolation: "namespace" | "scan" | undefined
  /** Interruption kills everything it has started, removes the folder, and ends after that. Exit codes are results. */
  readonly run: (request: Request) => Effect.Effect<Result, ProcessError>
  /** The path of a program. */
  readonly find: (name: string) => Effect.Effect<string | undefined>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** `auto`. */
  readonly isolation?: ProcessLaunch.Isolation | undefined
  /** `/proc` where there is one, else `ps`. */
  readonly source?: ProcessTable.Source | undefined
  /** That of this process. Windows is refused: it has neither signals nor groups that could be killed as a whole. */
  readonly platform?: string | undefined
}

/** How far a limit can be passed before it is seen. A reading may take a tenth of the time at most. */
const watchMillis = { proc: 50, ps: 250 } as const

/** What was written before the end is in the pipe: reading it takes no longer, unless somebody else holds the pipe. */
const drainMillis = 1_000

/** What a system takes as one argument is 128 KiB, all together with the environment at least 256. */
const maxArgumentBytes = 100_000

/** Finalizers wait for processes, not for the clock of a test. */
const onMachine = Effect.withClock(Clock.make())

const signalNames: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name])
)

interface End extends Pick<Result, "exitCode" | "signal"> {
  /** Not by a signal to the process that was started. */
  readonly isOrderly: boolean
}

/** How the first process ended: the platform gives the signal in the message of a failure only. */
const endOf = (exit: Exit.Exit<number, PlatformError>, isKept: boolean): End => {
  if (Exit.isSuccess(exit)) {
    return { exitCode: exit.value, signal: isKept ? signalNames.get(exit.value - 128) : undefined, isOrderly: true }
  }
  const signal = /\bSIG[A-Z0-9]{2,10}\b/.exec(Cause.pretty(exit.cause))?.[0]
  const number = signal === undefined ? undefined : (constants.signals as Record<string, number>)[signal]
  return { exitCode: number === undefined ? 1 : 128 + number, signal, isOrderly: false }
}

const unavailable = (message: string, options?: { readonly hint?: string; readonly cause?: unknown }): ProcessError =>
  new ProcessError({ reason: "Unavailable", message, ...options })

const valueOf = (value: string | Redacted.Redacted<string>): string =>
  typeof value === "string" ? value : Redacted.value(value)

/** What would make the call of the system throw instead of fail. */
const problemOf = (texts: ReadonlyArray<string>): string | undefined => {
  if (texts.some((text) => text.includes("\0"))) return "An argument or a variable of the command holds a NUL character"
  const bytes = texts.reduce((total, text) => total + Buffer.byteLength(text) + 1, 0)
  return bytes > maxArgumentBytes
    ? `The arguments and variables of the command take ${bytes} bytes, of which ${maxArgumentBytes} are allowed`
    : undefined
}

interface Resolved {
  readonly timeout: Duration.Duration
  readonly maxOutputBytes: number
  readonly maxErrorBytes: number
  readonly maxMemoryBytes: number
  readonly maxProcesses: number
  readonly maxAddressBytes: number | undefined
}

const resolve = (limits: Limits | undefined): Resolved => ({
  timeout: Duration.decode(limits?.timeout ?? "30 seconds"),
  maxOutputBytes: limits?.maxOutputBytes ?? 1024 * 1024,
  maxErrorBytes: limits?.maxErrorBytes ?? 64 * 1024,
  maxMemoryBytes: limits?.maxMemoryBytes ?? 256 * 1024 * 1024,
  maxProcesses: limits?.maxProcesses ?? 64,
  maxAddressBytes: limits?.maxAddressBytes
})

type Reason = Exclude<ProcessError["reason"], "Unavailable">

/**
 * Looks once for the way to keep processes together, and reads the processes of the machine for all commands at once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options
): Effect.Effect<Service, never, CommandExecutor.CommandExecutor | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const executor = yield* CommandExecutor.CommandExecutor
    const fs = yield* FileSystem.FileSystem
    const platform = options?.platform ?? process.platform
    const table = yield* ProcessTable.make({ source: options?.source })
    const launcher = yield* ProcessLaunch.make(options?.isolation ?? "auto", platform)
    const find = (name: string) => Effect.provideService(ProcessLaunch.find(name), FileSystem.FileSystem, fs)

    const folder = Effect.mapError(fs.makeTempDirectory({ prefix: "lexigram-" }), (cause) =>
      unavailable("There is no temporary folder for the command", { cause })
    )

    // What the command made unreadable is made readable first. Links are not followed.
    const remove = (path: string): Effect.Effect<void> =>
      fs.remove(path, { recursive: true, force: true }).pipe(
        Effect.catchAll(() =>
          Effect.zipRight(
            executor.exitCode(
              Command.env(Command.make("/bin/chmod", "-R", "u+rwx", path), { PATH: "/bin" }, { extendEnv: false })
            ),
            fs.remove(path, { recursive: true, force: true })
          )
        ),
        Effect.catchAll((error) => Effect.logWarning("The temporary folder of a command was not removed", error))
      )

    const prepare = (request: Request, program: string, home: string, limits: Resolved) =>
      Effect.gen(function* () {
        const args = request.args ?? []
        const given = Object.entries(request.env ?? {}).map(([name, value]) => [name, valueOf(value)] as const)
        const own = { PATH: ProcessLaunch.pathFor(program), HOME: home, TMPDIR: home, LANG: "C.UTF-8" }
        const env = { ...own, ...Object.fromEntries(given) }
        const problem = problemOf([...args, ...Object.entries(env).flat(), request.cwd ?? ""])
        if (problem !== undefined) return yield* unavailable(problem)
        const launch = yield* launcher.wrap(program, args, limits)
        const command = Command.make(launch.command, ...launch.args).pipe(
          Command.env(env, { extendEnv: false }),
          Command.workingDirectory(request.cwd ?? home)
        )
        return { launch, command }
      })

    const supervise = (request: Request, program: string, home: string) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const limits = resolve(request.limits)
          const from = yield* Clock.currentTimeMillis
          const { command, launch } = yield* prepare(request, program, home, limits)
          const scope = yield* Scope.make()
          const started = yield* Effect.exit(Scope.extend(executor.start(command), scope))
          if (Exit.isFailure(started)) {
            yield* Scope.close(scope, started)
            // The platform's failure quotes the whole command, which is nobody's business.
            return yield* Effect.failCause(
              Cause.map(started.cause, (error) =>
                unavailable(`The command could not be started (${"reason" in error ? error.reason : error._tag})`)
              )
            )
          }
          const child = started.value
          const ended = yield* Deferred.make<void, Reason>()
          const exited = yield* Deferred.make<End>()
          const output = new ProcessPipes.Output(limits.maxOutputBytes)
          const tail = new ProcessPipes.Tail(limits.maxErrorBytes)
          // They end with their pipe. A failure of a pipe is its end: how the command ended is what counts.
          const readers = [
            yield* background(
              Stream.runForEachWhile(child.stdout, (chunk) => {
                output.add(chunk)
                return output.isOver ? Effect.as(Deferred.fail(ended, "OutputLimit"), false) : Effect.succeed(true)
              })
            ),
            yield* background(Stream.runForEach(child.stderr, (chunk) => Effect.sync(() => tail.add(chunk))))
          ]
          yield* background(
            Effect.flatMap(Effect.exit(child.exitCode), (exit) =>
              Effect.zipRight(Deferred.succeed(exited, endOf(exit, launch.isKept)), Deferred.succeed(ended, undefined))
            )
          )
          const tree = yield* ProcessTree.make({ table, pid: child.pid, tag: launch.tag, isKept: launch.isKept })
          const writer = yield* background(Stream.run(ProcessPipes.input(request.stdin ?? ""), child.stdin))
          const watcher = yield* background(watch(tree, limits, launch.isKept, ended))

          const exit = yield* Effect.exit(
            restore(
              Deadline.run(() => Deferred.await(ended), {
                whole: Duration.toMillis(limits.timeout),
                onTimeout: (): Reason => "Timeout"
              })
            )
          )
          const durationMs = (yield* Clock.currentTimeMillis) - from
          yield* Fiber.interrupt(watcher)
          yield* settle({ tree, exited, readers, writer, scope, isKept: launch.isKept })

          const stderr = tail.text(Object.values(request.env ?? {}).filter((value) => typeof value !== "string"))
          if (Exit.isFailure(exit)) {
            return yield* Effect.failCause(
              Cause.map(exit.cause, (reason) => limitError(reason, limits, { stderr, stdout: output.text() }))
            )
          }
          if (!tail.hasStarted) return yield* unavailable("The system did not start the command")
          if (output.isOver) return yield* limitError("OutputLimit", limits, { stderr })
          const { exitCode, signal } = yield* Deferred.await(exited)
          return { stdout: output.text(), stderr, exitCode, signal, durationMs } satisfies Result
        })
      )

    /** Ends what still runs, reads what is still in the pipes, and gives the process back to the system. */
    const settle = (run: {
      readonly tree: ProcessTree.ProcessTree
      readonly exited: Deferred.Deferred<End>
      readonly readers: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>
      readonly writer: Fiber.RuntimeFiber<unknown, unknown>
      readonly scope: Scope.CloseableScope
      readonly isKept: boolean
    }): Effect.Effect<void> =>
      Effect.gen(function* () {
        const hasExited = Deferred.isDone(run.exited)
        // A keeper ends in order only when its namespace is empty.
        const isEmpty = run.isKept && (yield* hasExited) && (yield* Deferred.await(run.exited)).isOrderly
        const isGone = isEmpty || (yield* onMachine(run.tree.kill(hasExited)))
        for (const reader of run.readers) yield* onMachine(within(drainMillis, reader))
        const closing = Scope.close(run.scope, Exit.void)
        if (yield* hasExited) {
          // Before the end the pipe could still fail, and nobody would hear it: that would be the end of this process.
          yield* Fiber.interrupt(run.writer)
          yield* closing
        } else yield* Effect.forkDaemon(closing)
        if (!isGone) yield* Effect.logWarning("Processes of a command could not be killed: the system holds them")
      })

    const watch = (
      tree: ProcessTree.ProcessTree,
      limits: Resolved,
      isKept: boolean,
      ended: Deferred.Deferred<void, Reason>
    ): Effect.Effect<void> => {
      // The keeper of a namespace and its first process.
      const own = isKept ? 2 : 0
      const look: Effect.Effect<void> = Effect.suspend(() => {
        const millis = Math.max(watchMillis[table.source], 10 * table.lastReadMillis())
        return Effect.flatMap(Effect.zipRight(Effect.sleep(millis), tree.members(millis / 2)), (members) => {
          if (members.length - own > limits.maxProcesses) return Deferred.fail(ended, "ProcessLimit")
          return table.memory(members, limits.maxMemoryBytes) > limits.maxMemoryBytes
            ? Deferred.fail(ended, "MemoryLimit")
            : look
        })
      })
      return look
    }

    const run = (request: Request): Effect.Effect<Result, ProcessError> =>
      Effect.gen(function* () {
        if (platform === "win32") {
          return yield* unavailable("Commands are not run on Windows", {
            hint: "Run it in the Windows Subsystem for Linux: what a command leaves behind cannot be killed on Windows"
          })
        }
        if (launcher.isolation === undefined) {
          return yield* unavailable("Process namespaces are not available here", {
            hint: 'They need Linux, unshare of util-linux, and a kernel that allows them; isolation "scan" works without'
          })
        }
        const program = yield* find(request.command)
        if (program === undefined) {
          return yield* unavailable(`There is no program ${SecretText.excerpt(request.command, { maxLength: 100 })}`, {
            hint: "Install it, or give its absolute path"
          })
        }
        return yield* Effect.acquireUseRelease(folder, (home) => supervise(request, program, home), remove)
      })

    return { isolation: platform === "win32" ? undefined : launcher.isolation, run, find }
  })

/** A fiber that can be stopped, whoever starts it. */
const background = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Fiber.RuntimeFiber<A, E>> =>
  Effect.forkDaemon(Effect.interruptible(effect))

/** Waits for a fiber, and stops it when that takes longer. */
const within = (millis: number, fiber: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<void> =>
  Deadline.run(() => Fiber.await(fiber), { whole: millis, onTimeout: () => undefined }).pipe(
    Effect.catchAll(() => Fiber.interrupt(fiber)),
    Effect.asVoid
  )

const limitError = (
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
