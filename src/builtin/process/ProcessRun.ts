/**
 * Runs one command in a child process: with a clean environment, a temporary folder, limits on time, output, memory and
 * processes, and no process left over.
 *
 * A command runs as the user of this process. Unless a namespace hides it (`ProcessLaunch`), it can read what that user
 * can read.
 *
 * @private
 * @since 0.1.0
 */
import { constants } from "node:os"
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
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
import {
  limitError,
  type ProcessError,
  type Reason,
  type Request,
  type Resolved,
  type Result,
  resolve,
  unavailable
} from "./ProcessRequest.js"
import * as ProcessTable from "./ProcessTable.js"
import * as ProcessTree from "./ProcessTree.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** How processes are tracked; `undefined` if the requested way does not work, and nothing is run. */
  readonly isolation: "namespace" | "scan" | undefined
  /** Interruption kills everything the command started, removes the folder, and then ends. Exit codes are results. */
  readonly run: (request: Request) => Effect.Effect<Result, ProcessError>
  /** The path of a program. */
  readonly find: (name: string) => Effect.Effect<string | undefined>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default `auto`. */
  readonly isolation?: ProcessLaunch.Isolation | undefined
  /** Default `/proc` if it exists, otherwise `ps`. */
  readonly source?: ProcessTable.Source | undefined
  /** Default: this process's. Windows is refused: it has no signals or process groups to kill. */
  readonly platform?: string | undefined
}

/** Intervals of limit checks. A check may take at most a tenth of the time. */
const watchMillis = { proc: 50, ps: 250 } as const

/** Output written before the end is in the pipe: reading it takes no longer, unless another process holds the pipe. */
const drainMillis = 1_000

/** A system accepts 128 KiB in one argument, and at least 256 in all arguments with the environment. */
const maxArgumentBytes = 100_000

/** Finalizers wait for processes on the real clock, not a test's. */
const onMachine = Effect.withClock(Clock.make())

const signalNames: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name])
)

interface End extends Pick<Result, "exitCode" | "signal"> {
  /** Whether the first process exited, rather than being ended by a signal. */
  readonly isOrderly: boolean
}

/** How the first process ended: the platform reports the signal only in a failure's message. */
const endOf = (exit: Exit.Exit<number, PlatformError>, isKept: boolean): End => {
  if (Exit.isSuccess(exit)) {
    return { exitCode: exit.value, signal: isKept ? signalNames.get(exit.value - 128) : undefined, isOrderly: true }
  }
  const signal = /\bSIG[A-Z0-9]{2,10}\b/.exec(Cause.pretty(exit.cause))?.[0]
  const number = signal === undefined ? undefined : (constants.signals as Record<string, number>)[signal]
  return { exitCode: number === undefined ? 1 : 128 + number, signal, isOrderly: false }
}

const valueOf = (value: string | Redacted.Redacted<string>): string =>
  typeof value === "string" ? value : Redacted.value(value)

/** Input for which the system call would throw instead of fail. */
const problemOf = (texts: ReadonlyArray<string>): string | undefined => {
  if (texts.some((text) => text.includes("\0"))) return "An argument or a variable of the command holds a NUL character"
  const bytes = texts.reduce((total, text) => total + Buffer.byteLength(text) + 1, 0)
  return bytes > maxArgumentBytes
    ? `The arguments and variables of the command take ${bytes} bytes, of which ${maxArgumentBytes} are allowed`
    : undefined
}

/** Services for every command. */
interface Machine {
  readonly executor: CommandExecutor.CommandExecutor
  readonly fs: FileSystem.FileSystem
  readonly platform: string
  readonly table: ProcessTable.ProcessTable
  readonly launcher: ProcessLaunch.Launcher
}

/**
 * Decides once how processes are tracked, and reads the process table once for all commands.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options
): Effect.Effect<Service, never, CommandExecutor.CommandExecutor | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const platform = options?.platform ?? process.platform
    const machine: Machine = {
      executor: yield* CommandExecutor.CommandExecutor,
      fs: yield* FileSystem.FileSystem,
      platform,
      table: yield* ProcessTable.make({ source: options?.source }),
      launcher: yield* ProcessLaunch.make(options?.isolation ?? "auto", platform)
    }
    return {
      isolation: platform === "win32" ? undefined : machine.launcher.isolation,
      run: (request) => execute(machine, request),
      find: (name) => findProgram(machine, name)
    }
  })

const findProgram = ({ fs }: Machine, name: string): Effect.Effect<string | undefined> =>
  Effect.provideService(ProcessLaunch.find(name), FileSystem.FileSystem, fs)

const makeFolder = ({ fs }: Machine): Effect.Effect<string, ProcessError> =>
  Effect.mapError(fs.makeTempDirectory({ prefix: "lexigram-" }), (cause) =>
    unavailable("There is no temporary folder for the command", { cause })
  )

const execute = (machine: Machine, request: Request): Effect.Effect<Result, ProcessError> =>
  Effect.gen(function* () {
    if (machine.platform === "win32") {
      return yield* unavailable("Commands are not run on Windows", {
        hint: "Use the Windows Subsystem for Linux: background processes of a command cannot be killed on Windows"
      })
    }
    if (machine.launcher.isolation === undefined) {
      return yield* unavailable("Process namespaces are not available here", {
        hint: 'They need Linux, unshare of util-linux, and a kernel that allows them; isolation "scan" works without'
      })
    }
    const program = yield* findProgram(machine, request.command)
    if (program === undefined) {
      return yield* unavailable(`There is no program ${SecretText.excerpt(request.command, { maxLength: 100 })}`, {
        hint: "Install it, or give its absolute path"
      })
    }
    return yield* Effect.acquireUseRelease(
      makeFolder(machine),
      (home) => supervise(machine, request, program, home),
      (home) => remove(machine, home)
    )
  })

/** First makes readable what the command made unreadable. Does not follow links. */
const remove = ({ executor, fs }: Machine, path: string): Effect.Effect<void> =>
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

const prepare = ({ launcher }: Machine, request: Request, program: string, home: string, limits: Resolved) =>
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

/** The processes of a command, and the fibers that read and watch them. */
interface Running {
  readonly limits: Resolved
  readonly launch: ProcessLaunch.Launch
  readonly tree: ProcessTree.ProcessTree
  /** Settled when the command ends or reaches a limit. */
  readonly ended: Deferred.Deferred<void, Reason>
  readonly exited: Deferred.Deferred<End>
  readonly output: ProcessPipes.Output
  readonly tail: ProcessPipes.Tail
  readonly readers: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>>
  readonly writer: Fiber.RuntimeFiber<unknown, unknown>
  readonly watcher: Fiber.RuntimeFiber<unknown, unknown>
  readonly scope: Scope.CloseableScope
}

/** The platform's failure quotes the whole command, which may hold secrets: only its reason is passed on. */
const launchFailure = (error: PlatformError): ProcessError =>
  unavailable(`The command could not be started (${"reason" in error ? error.reason : error._tag})`)

const start = (
  { executor, table }: Machine,
  command: Command.Command,
  launch: ProcessLaunch.Launch,
  limits: Resolved,
  stdin: string
): Effect.Effect<Running, ProcessError> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const started = yield* Effect.exit(Scope.extend(executor.start(command), scope))
    if (Exit.isFailure(started)) {
      yield* Scope.close(scope, started)
      return yield* Effect.failCause(Cause.map(started.cause, launchFailure))
    }
    const child = started.value
    const ended = yield* Deferred.make<void, Reason>()
    const exited = yield* Deferred.make<End>()
    const output = new ProcessPipes.Output(limits.maxOutputBytes)
    const tail = new ProcessPipes.Tail(limits.maxErrorBytes)
    // Readers end with their pipe. A failure of a pipe is its end: the exit of the command decides the result.
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
    const writer = yield* background(Stream.run(ProcessPipes.input(stdin), child.stdin))
    const watcher = yield* background(watch(table, tree, limits, launch.isKept, ended))
    return { limits, launch, tree, ended, exited, output, tail, readers, writer, watcher, scope }
  })

const supervise = (machine: Machine, request: Request, program: string, home: string) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const limits = resolve(request.limits)
      const from = yield* Clock.currentTimeMillis
      const { command, launch } = yield* prepare(machine, request, program, home, limits)
      const running = yield* start(machine, command, launch, limits, request.stdin ?? "")
      const exit = yield* Effect.exit(restore(awaitEnd(running)))
      const durationMs = (yield* Clock.currentTimeMillis) - from
      yield* Fiber.interrupt(running.watcher)
      yield* settle(running)
      return yield* conclude(running, request, exit, durationMs)
    })
  )

const awaitEnd = ({ ended, limits }: Running): Effect.Effect<void, Reason> =>
  Deadline.run(() => Deferred.await(ended), {
    whole: Duration.toMillis(limits.timeout),
    onTimeout: (): Reason => "Timeout"
  })

/** The result of a command that has ended, or the limit that ended it. */
const conclude = (
  { exited, limits, output, tail }: Running,
  request: Request,
  exit: Exit.Exit<void, Reason>,
  durationMs: number
): Effect.Effect<Result, ProcessError> =>
  Effect.gen(function* () {
    const stderr = tail.text(Object.values(request.env ?? {}).filter((value) => typeof value !== "string"))
    if (Exit.isFailure(exit)) {
      return yield* Effect.failCause(
        Cause.map(exit.cause, (reason) => limitError(reason, limits, { stderr, stdout: output.text() }))
      )
    }
    if (!tail.hasStarted) return yield* unavailable("The system did not start the command")
    if (output.isOver) return yield* limitError("OutputLimit", limits, { stderr })
    const { exitCode, signal } = yield* Deferred.await(exited)
    return { stdout: output.text(), stderr, exitCode, signal, durationMs }
  })

/** Kills what still runs, reads what is still in the pipes, and reaps the process. */
const settle = (run: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    const hasExited = Deferred.isDone(run.exited)
    // A keeper exits in order only when its namespace is empty.
    const isEmpty = run.launch.isKept && (yield* hasExited) && (yield* Deferred.await(run.exited)).isOrderly
    const isGone = isEmpty || (yield* onMachine(run.tree.kill(hasExited)))
    for (const reader of run.readers) yield* onMachine(awaitFor(drainMillis, reader))
    const closing = Scope.close(run.scope, Exit.void)
    if (yield* hasExited) {
      // Before the exit the pipe could still fail without a listener, which would crash this process.
      yield* Fiber.interrupt(run.writer)
      yield* closing
    } else yield* Effect.forkDaemon(closing)
    if (!isGone) yield* Effect.logWarning("Processes of a command could not be killed: the system holds them")
  })

const watch = (
  table: ProcessTable.ProcessTable,
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

/** A fiber that can be interrupted, whatever region starts it. */
const background = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Fiber.RuntimeFiber<A, E>> =>
  Effect.forkDaemon(Effect.interruptible(effect))

/** Waits for a fiber, and interrupts it at the limit. */
const awaitFor = (millis: number, fiber: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<void> =>
  Deadline.run(() => Fiber.await(fiber), { whole: millis, onTimeout: () => undefined }).pipe(
    Effect.catchAll(() => Fiber.interrupt(fiber)),
    Effect.asVoid
  )
