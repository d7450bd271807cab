/**
 * Tracks every process started by a command and terminates them.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as ProcessTable from "./ProcessTable.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ProcessTree {
  /**
   * The living processes, including the first one and its keeper. A process once seen stays a member, wherever it
   * moves.
   */
  readonly members: (maxAgeMillis: number) => Effect.Effect<ReadonlyArray<ProcessTable.Entry>>
  /** Kills all of them; ends when none is left, after at most 2 seconds. `true` if none is left. */
  readonly kill: (hasExited: Effect.Effect<boolean>) => Effect.Effect<boolean>
}

const patience = 2_000

/** After this time the keeper of a namespace is killed, too. */
const keeperPatience = 500

/** Pause between two scans. Each scan costs a millisecond or two. */
const pause = Duration.millis(5)

/**
 * One scan can miss a process that forks and ends all the time: it must be absent from several, unless the kernel
 * guarantees it.
 */
const quietLooks = 3
const quietLooksKept = 1

/** Scans that only stop processes before any is killed: a stopped process starts no other. */
const maxStops = 40

const machine = Clock.make()

/**
 * `tag` is the command's tag from `ProcessLaunch`. With `isKept` the first process only waits for a namespace to empty.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly table: ProcessTable.ProcessTable
  readonly pid: number
  readonly tag: string
  readonly isKept: boolean
}): Effect.Effect<ProcessTree> =>
  Effect.map(options.table.find(options.pid), (root) => {
    const { isKept, pid, table, tag } = options
    const known = new Map<number, string>()
    if (root !== undefined) known.set(pid, root.start)

    const find = (entries: ProcessTable.Table): ReadonlyArray<ProcessTable.Entry> => {
      const children = new Map<number, Array<ProcessTable.Entry>>()
      const found: Array<ProcessTable.Entry> = []
      for (const entry of entries.values()) {
        const siblings = children.get(entry.parent)
        if (siblings === undefined) children.set(entry.parent, [entry])
        else siblings.push(entry)
      }
      for (const [number, start] of known) {
        const entry = entries.get(number)
        if (entry !== undefined && entry.start === start) found.push(entry)
        else known.delete(number)
      }
      // A group's number is not reused while the group has members; without the tag, only it identifies orphans.
      const isOurGroup = root !== undefined && (entries.get(pid)?.start ?? root.start) === root.start
      for (const entry of entries.values()) {
        if (known.has(entry.pid) || entry.pid <= 1 || entry.pid === process.pid) continue
        if ((isOurGroup && entry.group === pid) || table.isTagged(entry, tag)) {
          known.set(entry.pid, entry.start)
          found.push(entry)
        }
      }
      // Grows during the loop: children of children are appended.
      for (const entry of found) {
        for (const child of children.get(entry.pid) ?? []) {
          if (known.has(child.pid)) continue
          known.set(child.pid, child.start)
          found.push(child)
        }
      }
      return found.filter((entry) => !entry.isZombie)
    }

    const members = (maxAgeMillis: number) => Effect.map(table.read(maxAgeMillis), find)
    const wait = machine.sleep(pause)

    /** Stops processes until no new ones appear, so that those to be killed cannot start others. */
    const freeze = Effect.gen(function* () {
      const stopped = new Set<string>()
      for (let look = 0; look < maxStops; look++) {
        let isNew = false
        for (const entry of yield* members(0)) {
          const name = `${entry.pid}:${entry.start}`
          if (stopped.has(name)) continue
          stopped.add(name)
          isNew = true
          table.signal(entry, "SIGSTOP")
        }
        if (!isNew) return
      }
    })

    const kill = (hasExited: Effect.Effect<boolean>) =>
      Effect.gen(function* () {
        const from = machine.unsafeCurrentTimeMillis()
        const enough = isKept ? quietLooksKept : quietLooks
        let quiet = 0
        let isFrozen = false
        // Kills a fork bomb before counting it. A namespace is emptied through its first process instead.
        if (root !== undefined && !isKept) table.killGroup(root)
        for (;;) {
          let living = yield* members(0)
          if (living.length > 0 && !isFrozen) {
            isFrozen = true
            yield* freeze
            living = yield* members(0)
          }
          const spent = machine.unsafeCurrentTimeMillis() - from
          // A keeper killed before it sees the namespace empty could not report it.
          const isSpared = isKept && living.length > 1 && spent < keeperPatience
          for (const entry of living) {
            if (isSpared && entry.pid === pid) table.signal(entry, "SIGCONT")
            else table.signal(entry, "SIGKILL")
          }
          quiet = living.length === 0 ? quiet + 1 : 0
          if (quiet >= enough && (yield* hasExited)) return true
          if (spent > patience) return living.length === 0
          if (living.length > 0 || quiet >= enough) yield* wait
        }
      })

    return { members, kill }
  })
