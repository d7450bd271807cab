/**
 * How a command is started so that all it starts can be found and killed.
 *
 * @internal
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
 * - `namespace`: in a process namespace of its own (Linux, where the kernel allows it): the kernel kills all that is in
 *   it with its first process, and the command sees no process outside, this one included
 * - `scan`: the processes of the machine are searched for those it has started
 * - `auto`: `namespace` where it works, else `scan`
 *
 * @since 0.1.0
 * @category models
 */
export type Isolation = "auto" | "namespace" | "scan"

/** Where commands are looked for, and what commands find there. */
const safePath: ReadonlyArray<string> = [
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/usr/bin",
  "/bin",
  "/usr/sbin",
  "/sbin"
]

/**
 * `PATH` for a command: its own folder, then those of the system.
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
 * The path of a program: as it is where it is absolute, else from the folders of the system and then from `PATH`.
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
 * Reads one line first, which comes when this process is ready, and answers with one character on standard error. The
 * limit on the processes of the user has two names.
 */
const begin =
  'IFS= read -r _ || exit 125; ulimit -c 0; ulimit -m "$1"; test -z "$2" || ulimit -v "$2"; ' +
  'test -z "$3" || ulimit -p "$3" || ulimit -u "$3"; shift 3; '

/** Then nothing of it is left: the command takes its place. */
const plain = `{ ${begin}} 2>/dev/null; printf . >&2; exec "$@"`

/**
 * The first process of a namespace stays to collect what others leave behind. What it and `unshare` say of signals is
 * not the command's: standard error is 3 until the command has it.
 */
const keeper = 'exec "$@" 3>&2 2>/dev/null'
const kept = `${begin}printf . >&3; ( "$@" ) 2>&3 3>&-; exit $?`

const shell = "/bin/sh"

interface Namespace {
  readonly program: string
  readonly flags: ReadonlyArray<string>
}

/** From the one that hides most; the first that works is used. The last ones need to be root. */
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
  /** A limit that all its descendants inherit and that nobody else has: by it they are known. */
  readonly tag: string
  /** Whether the first process keeps a namespace: the command itself is the second one inside. */
  readonly isKept: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Launcher {
  /** Whether namespaces are in use; `undefined` where they were asked for and do not work. */
  readonly isolation: "namespace" | "scan" | undefined
  /**
   * The first line of the input and the first character on standard error are not the command's: they start it, and say
   * that it has.
   */
  readonly wrap: (
    command: string,
    args: ReadonlyArray<string>,
    limits: {
      /** Of the address space of each process by itself. */
      readonly maxAddressBytes: number | undefined
      readonly maxProcesses: number
    }
  ) => Effect.Effect<Launch>
}

/**
 * The resident set is a limit that Linux keeps, hands on and does not enforce. In kilobytes: above the memory of any
 * machine, and not from the services of a run, since two processes of one seed would kill each other's commands.
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
 * The kernel counts a user's tasks all over the machine: others of the user may start this many more before it refuses
 * the command's.
 */
const spareTasks = 512

/** Tasks of the user of this process; nobody counts those of root. */
const userTasks: Effect.Effect<number | undefined> = Effect.sync(() => {
  const uid = process.getuid?.() ?? 0
  if (uid === 0 || process.platform !== "linux") return undefined
  let tasks = 0
  for (const name of Fs.readdirSync("/proc")) {
    if (!/^\d{1,10}$/.test(name)) continue
    try {
      if (Fs.statSync(`/proc/${name}`).uid === uid) tasks += Fs.readdirSync(`/proc/${name}/task`).length
    } catch {
      // It has ended meanwhile.
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
