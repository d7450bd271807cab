/**
 * Reads the machine's process table from the kernel or from `ps`.
 *
 * @private
 * @since 0.1.0
 */
import * as Fs from "node:fs"
import * as Command from "@effect/platform/Command"
import * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * One process. Numbers are reused: only number and `start` together identify a process.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly start: string
  /** Ended but not yet reaped: it runs nothing and holds nothing. */
  readonly isZombie: boolean
  readonly residentBytes: number
}

/**
 * @since 0.1.0
 * @category models
 */
export type Table = ReadonlyMap<number, Entry>

/**
 * Source of the table: `/proc` on Linux, otherwise `ps`.
 *
 * @since 0.1.0
 * @category models
 */
export type Source = "proc" | "ps"

/**
 * @since 0.1.0
 * @category models
 */
export interface ProcessTable {
  readonly source: Source
  /** All processes, read at most `maxAgeMillis` ago. */
  readonly read: (maxAgeMillis: number) => Effect.Effect<Table>
  /** The current entry of one process. */
  readonly find: (pid: number) => Effect.Effect<Entry | undefined>
  /** Duration of the last reading. */
  readonly lastReadMillis: () => number
  /** Whether the process of an entry carries the tag of `ProcessLaunch`. */
  readonly isTagged: (entry: Entry, tag: string) => boolean
  /**
   * Private memory of these processes: without program files, and with shared pages counted once where it matters.
   */
  readonly memory: (entries: ReadonlyArray<Entry>, limit: number) => number
  /** Sends a signal if the process is still that of the entry. */
  readonly signal: (entry: Entry, signal: Signal) => void
  /**
   * Kills the group that the process leads or led, in one step that no `fork` escapes. A number is not reused while a
   * group has it: unless another process has the number now, it is the same group.
   */
  readonly killGroup: (leader: Entry) => void
}

type Signal = "SIGSTOP" | "SIGCONT" | "SIGKILL"

type Backend = Pick<ProcessTable, "find" | "isTagged" | "memory" | "signal" | "killGroup"> & {
  readonly list: Effect.Effect<Table>
}

/** The machine's clock: processes do not wait for a test's clock. */
const machine = Clock.make()

/** Far larger than any file read here. */
const buffer = Buffer.allocUnsafe(16 * 1024)

/**
 * Files of `/proc` vanish with their processes, and those of other users may be unreadable: both count as no answer.
 * `readFileSync` costs twice as much and an asynchronous read ten times: the kernel generates these files without
 * waiting.
 */
const readText = (path: string): string | undefined => {
  let file: number | undefined
  try {
    file = Fs.openSync(path, "r")
    return buffer.toString("latin1", 0, Fs.readSync(file, buffer, 0, buffer.length, 0))
  } catch {
    return undefined
  } finally {
    if (file !== undefined) Fs.closeSync(file)
  }
}

const readStat = (pid: number): Entry | undefined => {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // The name is in parentheses and may contain any character: only numbers follow the last one.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return {
    pid,
    parent: Number(fields[1]),
    group: Number(fields[2]),
    start: fields[19] ?? "",
    isZombie: fields[0] === "Z" || fields[0] === "X",
    residentBytes: 0
  }
}

const kilobytes = (text: string, name: string): number | undefined => {
  const value = new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(text)?.[1]
  return value === undefined ? undefined : 1024 * Number(value)
}

/** Pages shared with the parent since the fork count for both. */
const ownMemory = (pid: number): number => {
  const status = readText(`/proc/${pid}/status`) ?? ""
  const anonymous = kilobytes(status, "RssAnon")
  return anonymous === undefined ? (kilobytes(status, "VmRSS") ?? 0) : anonymous + (kilobytes(status, "RssShmem") ?? 0)
}

/** Divides each page among its sharers: exact, but the kernel walks all pages for it. */
const exactMemory = (pid: number): number => {
  const rollup = readText(`/proc/${pid}/smaps_rollup`) ?? ""
  const anonymous = kilobytes(rollup, "Pss_Anon")
  return anonymous === undefined ? ownMemory(pid) : anonymous + (kilobytes(rollup, "Pss_Shmem") ?? 0)
}

const sum = (entries: ReadonlyArray<Entry>, f: (entry: Entry) => number): number =>
  entries.reduce((total, entry) => total + f(entry), 0)

const send = (pid: number, signal: Signal): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already, as intended.
  }
}

/** Processes read before other fibers get a turn. */
const batch = 256

interface Limit {
  readonly start: string
  readonly value: string | undefined
}

const proc = (): Backend => {
  // A process inherits its limits and keeps them, so each is read once.
  let limits = new Map<number, Limit>()
  const limitOf = (entry: Entry): string | undefined => {
    const known = limits.get(entry.pid)
    if (known !== undefined && known.start === entry.start) return known.value
    const text = readText(`/proc/${entry.pid}/limits`) ?? ""
    const value = /^Max resident set {1,32}(\d{1,20}) /m.exec(text)?.[1]
    limits.set(entry.pid, { start: entry.start, value })
    return value
  }
  const list = Effect.gen(function* () {
    const table = new Map<number, Entry>()
    let read = 0
    for (const name of Fs.readdirSync("/proc")) {
      const pid = Number(name)
      if (!Number.isInteger(pid)) continue
      const entry = readStat(pid)
      if (entry !== undefined) table.set(pid, entry)
      if (++read % batch === 0) yield* Effect.yieldNow()
    }
    const kept = new Map<number, Limit>()
    for (const [pid, limit] of limits) {
      if (table.get(pid)?.start === limit.start) kept.set(pid, limit)
    }
    limits = kept
    return table as Table
  })
  return {
    list,
    find: (pid) => Effect.sync(() => readStat(pid)),
    isTagged: (entry, tag) => limitOf(entry) === tag,
    memory: (entries, limit) => {
      const most = sum(entries, (entry) => ownMemory(entry.pid))
      return most <= limit ? most : sum(entries, (entry) => exactMemory(entry.pid))
    },
    signal: (entry, signal) => {
      if (readStat(entry.pid)?.start === entry.start) send(entry.pid, signal)
    },
    killGroup: (leader) => {
      if ((readStat(leader.pid)?.start ?? leader.start) === leader.start) send(-leader.pid, "SIGKILL")
    }
  }
}

/**
 * Parses the output of `ps -A -o pid=,ppid=,pgid=,rss=,stat=,lstart=`. Other lines are ignored.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPs = (text: string): Table => {
  const table = new Map<number, Entry>()
  for (const line of text.split("\n")) {
    const match = /^ *(\d+) +(\d+) +(\d+) +(\d+) +(\S+) +(\S.*)$/.exec(line)
    if (match === null) continue
    const pid = Number(match[1])
    table.set(pid, {
      pid,
      parent: Number(match[2]),
      group: Number(match[3]),
      residentBytes: 1024 * Number(match[4]),
      isZombie: match[5]!.startsWith("Z"),
      start: match[6]!.trim()
    })
  }
  return table
}

const ps = (executor: CommandExecutor.CommandExecutor): Backend => {
  const command = Command.make("/bin/ps", "-A", "-o", "pid=,ppid=,pgid=,rss=,stat=,lstart=").pipe(
    Command.env({ LC_ALL: "C", PATH: "/usr/bin:/bin" }, { extendEnv: false })
  )
  // Without a table, nothing is found and only the group is signaled.
  const list = Effect.map(
    Effect.catchAll(executor.string(command), (error) =>
      Effect.as(Effect.logWarning("The processes of this machine cannot be listed", error), "")
    ),
    fromPs
  )
  return {
    list,
    find: (pid) => Effect.map(list, (table) => table.get(pid)),
    isTagged: () => false,
    memory: (entries) => sum(entries, (entry) => entry.residentBytes),
    signal: (entry, signal) => send(entry.pid, signal),
    killGroup: (leader) => send(-leader.pid, "SIGKILL")
  }
}

/**
 * One table for all commands, which share readings.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: {
  readonly source?: Source | undefined
}): Effect.Effect<ProcessTable, never, CommandExecutor.CommandExecutor> =>
  Effect.map(CommandExecutor.CommandExecutor, (executor) => {
    const source = options?.source ?? (readStat(process.pid) === undefined ? "ps" : "proc")
    const { list, ...rest } = source === "proc" ? proc() : ps(executor)
    let last: Table = new Map()
    let lastAt = Number.NEGATIVE_INFINITY
    let took = 0
    return {
      source,
      ...rest,
      lastReadMillis: () => took,
      read: (maxAgeMillis) =>
        Effect.suspend(() => {
          const from = machine.unsafeCurrentTimeMillis()
          if (from - lastAt < maxAgeMillis) return Effect.succeed(last)
          return Effect.map(list, (table) => {
            last = table
            lastAt = from
            took = machine.unsafeCurrentTimeMillis() - from
            return table
          })
        })
    }
  })
