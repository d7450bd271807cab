/**
 * Files that a driver keeps open after it closed their connection, until its statements are collected as garbage:
 * nothing else finalizes the statements of `libsql` 0.5. One collection stands for all connections that were closed
 * since the last one, and collections take a small part of the time, however often connections are closed and however
 * large the heap is.
 *
 * @internal
 * @since 0.1.0
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Milliseconds from the first closing to the collection. */
const patience = 1000

/** A collection that took a time is followed by none for so many times as long. */
const rest = 20

/** So many connections are not waited with: each of them holds up to three files. */
const most = 100

/** What a process is asked for. */
export interface Machine {
  readonly now: () => number
  /** Calls later, without keeping the process alive. */
  readonly later: (millis: number, call: () => void) => void
  readonly collect: () => void
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Leftovers {
  /** A connection is closed. The value is what goes when its statements go. */
  readonly closed: (pin: object) => void
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = ({ collect, later, now }: Machine): Leftovers => {
  /** Closed and not collected. */
  let open = 0
  let sinceLast = 0
  let notBefore = Number.NEGATIVE_INFINITY
  const collected = new FinalizationRegistry<undefined>(() => {
    open--
  })
  const run = (): void => {
    if (sinceLast === 0) return
    sinceLast = 0
    if (open === 0) return
    const begun = now()
    collect()
    const ended = now()
    notBefore = ended + rest * (ended - begun)
  }
  return {
    closed: (pin) => {
      open++
      sinceLast++
      collected.register(pin, undefined)
      if (sinceLast === 1) later(Math.max(patience, notBefore - now()), run)
      else if (sinceLast === most) later(0, run)
    }
  }
}

const absent = (): void => undefined

/** The collector of the engine; does nothing where it cannot be reached. */
const collector = (): (() => void) => {
  try {
    setFlagsFromString("--expose-gc")
    const gc: unknown = runInNewContext("gc")
    return typeof gc === "function" ? () => void gc() : absent
  } catch {
    return absent
  }
}

let known: (() => void) | undefined

/** Those of this process. */
export const ofProcess: Leftovers = make({
  now: () => performance.now(),
  later: (millis, call) => void setTimeout(call, millis).unref(),
  collect: () => {
    known ??= collector()
    known()
  }
})
