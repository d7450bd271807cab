/**
 * Starts commands so that everything they start can be found and killed.
 *
 * @private
 * @since 0.1.0
 */
import { randomInt } from "node:crypto"
import * as Fs from "node:fs"
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"

/**
 * - `namespace`: a process namespace of its own (Linux, where the kernel allows it): the kernel kills everything in it
 *   with its first process, and the command sees no process outside
 * - `scan`: searches the machine's processes for those the command started
 * - `auto`: `namespace` where it works, otherwise `scan`
 *
 * @since 0.1.0
 * @category models
 */
export type Isolation = "auto" | "namespace" | "scan"

/** Search path for commands and for their own look-ups. */
const safePath: ReadonlyArray<string> = [
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/usr/bin",
  "/bin",
  "/usr/sbin",
  "/sbin"
]

/**
 * `PATH` of a command: its own folder, then the system folders.
 *
 * @since 0.1.0
 * @category constants
 */
export const pathFor = (command: string): string => {
  const folder = command.slice(0, command.lastIndexOf("/"))
  return [...(folder === "" || safePath.includes(folder) ? [] : [folder]), ...safePath].join(":")
}

const isProgram = (fs: FileSystem.FileSystem, path: string): Effect.Effect<boolean> =>
  Effect.match(fs.stat(path), {
    onFailure: () => false,
    onSuccess: (info) => info.type === "File" && (info.mode & 0o111) !== 0
  })

/**
 * The path of a program: absolute paths unchanged, names searched in the system folders and then in `PATH`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const find = (name: string): Effect.Effect<string | undefined, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    if (name.includes("/")) return name.startsWith("/") && (yield* isProgram(fs, name)) ? name : undefined
    const path = yield* Effect.orElseSucceed(Config.string("PATH"), () => "")
    for (const folder of [...safePath, ...path.split(":")]) {
      const candidate = `${folder}/${name}`
      if (folder.startsWith("/") && (yield* isProgram(fs, candidate))) return candidate
    }
    return undefined
  })

/**
 * First reads one line, which arrives when this process is ready, and answers with one character on standard error. The
 * limit on the user's processes has two names.
 */
const begin =
  'IFS= read -r _ || exit 125; ulimit -c 0; ulimit -m "$1"; test -z "$2" || ulimit -v "$2"; ' +
  'test -z "$3" || ulimit -p "$3" || ulimit -u "$3"; shift 3; '

/** The command then replaces it without a trace. */
const plain = `{ ${begin}} 2>/dev/null; printf . >&2; exec "$@"`

/**
 * The first process of a namespace stays to reap orphans. Its own messages and those of `unshare` about signals are
 * dropped: standard error is descriptor 3 until the command gets it.
 */
const keeper = 'exec "$@" 3>&2 2>/dev/null'
const kept = `${begin}printf . >&3; ( "$@" ) 2>&3 3>&-; exit $?`

const shell = "/bin/sh"

interface Namespace {
  readonly program: string
  readonly flags: ReadonlyArray<string>
}

/** Ordered from the strictest; the first that works is used. The last ones require root. */
const namespaces: ReadonlyArray<ReadonlyArray<string>> = [
  ["--user", "--map-current-user", "--pid", "--mount-proc", "--fork", "--kill-child"],
  ["--pid", "--mount-proc", "--fork", "--kill-child"],
  ["--user", "--map-current-user", "--pid", "--fork", "--kill-child"],
  ["--pid", "--fork", "--kill-child"]
]

const findNamespace: Effect.Effect<
  Namespace | undefined,
  never,
  CommandExecutor.CommandExecutor | FileSystem.FileSystem
> = Effect.gen(function* () {
  const executor = yield* CommandExecutor.CommandExecutor
  const program = yield* find("unshare")
  if (program === undefined) return undefined
  for (const flags of namespaces) {
    const probe = Command.make(program, ...flags, "--", shell, "-c", 'test "$$" = 1').pipe(
      Command.env({ PATH: pathFor(program) }, { extendEnv: false })
    )
    if (yield* Effect.match(executor.exitCode(probe), { onFailure: () => false, onSuccess: (code) => code === 0 })) {
      return { program, flags }
    }
  }
  return undefined
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Launch {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** A limit that all descendants inherit and that is unique to them: it identifies them. */
  readonly tag: string
  /** Whether the first process keeps a namespace, so that the command is the second one inside. */
  readonly isKept: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Launcher {
  /** Whether namespaces are in use; `undefined` if they were requested and do not work. */
  readonly isolation: "namespace" | "scan" | undefined
  /**
   * The first line of input and the first character on standard error belong to the launcher: they start the command
   * and report that it started.
   */
  readonly wrap: (
    command: string,
    args: ReadonlyArray<string>,
    limits: {
      /** Limit on the address space of each process. */
      readonly maxAddressBytes: number | undefined
      readonly maxProcesses: number
    }
  ) => Effect.Effect<Launch>
}

/**
 * Linux stores and inherits the resident-set limit but does not enforce it. In kilobytes: above any machine's memory.
 * Not drawn from the run's random service, because two processes with one seed would kill each other's commands.
 */
const makeTag = (): number => {
  const most = hardLimit()
  return most < 2 ** 43 ? Math.floor(most) - randomInt(2 ** 20) : 2 ** 42 + randomInt(2 ** 42)
}

const hardLimit = (): number => {
  try {
    const text = Fs.readFileSync("/proc/self/limits", "latin1")
    const value = /^Max resident set {1,32}\S{1,20} {1,32}(\d{1,20}) /m.exec(text)?.[1]
    return value === undefined ? Number.POSITIVE_INFINITY : Number(value) / 1024
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/**
 * The kernel counts a user's tasks machine-wide: the user's other tasks may grow by this many before the command's are
 * refused.
 */
const spareTasks = 512

/** Tasks of this process's user; root's are not counted. */
const userTasks: Effect.Effect<number | undefined> = Effect.sync(() => {
  const uid = process.getuid?.() ?? 0
  if (uid === 0 || process.platform !== "linux") return undefined
  let tasks = 0
  for (const name of Fs.readdirSync("/proc")) {
    if (!/^\d{1,10}$/.test(name)) continue
    try {
      if (Fs.statSync(`/proc/${name}`).uid === uid) tasks += Fs.readdirSync(`/proc/${name}/task`).length
    } catch {
      // The process has ended meanwhile.
    }
  }
  return tasks
})

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  isolation: Isolation,
  platform: string
): Effect.Effect<Launcher, never, CommandExecutor.CommandExecutor | FileSystem.FileSystem> =>
  Effect.map(isolation === "scan" || platform !== "linux" ? Effect.succeed(undefined) : findNamespace, (namespace) => ({
    isolation: namespace !== undefined ? "namespace" : isolation === "namespace" ? undefined : "scan",
    wrap: (command, args, limits) =>
      Effect.map(userTasks, (tasks) => {
        const tag = makeTag()
        const address = limits.maxAddressBytes === undefined ? "" : String(Math.ceil(limits.maxAddressBytes / 1024))
        const most = tasks === undefined ? "" : String(tasks + limits.maxProcesses + spareTasks)
        const own = [String(tag), address, most, command, ...args]
        return {
          tag: String(tag * 1024),
          isKept: namespace !== undefined,
          command: shell,
          args:
            namespace === undefined
              ? ["-c", plain, "sh", ...own]
              : ["-c", keeper, "sh", namespace.program, ...namespace.flags, "--", shell, "-c", kept, "sh", ...own]
        }
      })
  }))
