/**
 * Files that `libsql` 0.5 keeps open after their connection was closed, until garbage collection finalizes its
 * statements. One collection serves all connections closed since the last one, and collections take a small share of
 * the time, however many connections are closed and however large the heap is.
 *
 * @private
 * @since 0.1.0
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Milliseconds from the first close to the collection. */
const patience = 1000

/** After a collection, the next one waits at least this many times its duration. */
const rest = 20

/** This many closed connections trigger a collection: each holds up to three files. */
const most = 100

/** What is needed of the process. */
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
  /** Records that a connection was closed. The value is garbage when its statements are. */
  readonly closed: (pin: object) => void
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = ({ collect, later, now }: Machine): Leftovers => {
  /** Closed connections that are not collected yet. */
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

/** The garbage collector of the engine; does nothing if it is not accessible. */
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

/** The leftovers of this process. */
export const ofProcess: Leftovers = make({
  now: () => performance.now(),
  later: (millis, call) => void setTimeout(call, millis).unref(),
  collect: () => {
    known ??= collector()
    known()
  }
})
