/**
 * Looks for work: at once for what was woken in this process, and at an interval for the rest, by one statement that
 * reads nothing but indexes of what is due.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ActiveRuns, Entry } from "./ActiveRuns.js"
import * as EngineStatements from "./EngineStatements.js"
import type { EngineStore, Owner } from "./EngineStore.js"
import * as ResultText from "./ResultText.js"
import type { RunnerLease } from "./RunnerLease.js"
import * as StorageFailure from "./StorageFailure.js"
import type { Waiters } from "./Waiters.js"

/**
 * @category models
 */
export interface Options {
  readonly store: EngineStore
  /** `undefined` for a client, which takes no executions. */
  readonly lease: RunnerLease | undefined
  readonly runs: ActiveRuns
  readonly waiters: Waiters
  /** The workflow by its key. */
  readonly entries: ReadonlyMap<string, Entry>
  /** Milliseconds. */
  readonly poll: number
  readonly leaseMillis: number
}

/**
 * @category models
 */
export interface WorkLoop {
  /** An execution may be ready: look at it without waiting for the interval. */
  readonly woken: (key: string) => void
  /** A workflow was registered. */
  readonly look: () => void
  /** Leaves an execution to others, after a third of a lease. */
  readonly release: (owner: Owner) => Effect.Effect<void>
  readonly run: Effect.Effect<never>
}

/** What a client or a runner of no workflow does: it waits with its callers. */
const signalWaiters = ({ store, waiters }: Options): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const ends = waiters.keys("end")
    if (ends.length > 0) for (const key of yield* store.ended(ends)) waiters.signal(key)
    const pauses = waiters.keys("pause")
    if (pauses.length > 0) for (const key of yield* store.paused(pauses)) waiters.signal(key)
  })

const claim = ({ entries, runs, store }: Options, lease: RunnerLease, key: string): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const id = lease.id()
    const claimed = yield* store.claim(key, id, [...entries.keys()])
    if (claimed === undefined) return
    const entry = entries.get(claimed.workflow)
    // The registration or the lease has ended meanwhile.
    if (entry === undefined || lease.id() !== id) yield* store.release(claimed)
    else runs.start(claimed, entry)
  }).pipe(Effect.uninterruptible)

const claimReady = (options: Options, lease: RunnerLease): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    while (options.entries.size > 0) {
      const ready = yield* options.store.ready([...options.entries.keys()])
      for (const key of ready) yield* claim(options, lease, key)
      if (ready.length < EngineStatements.page) return
    }
  })

const ringDue = ({ store }: Options, woken: (key: string) => void): Effect.Effect<void, SqlError> =>
  Effect.gen(function* () {
    const result = yield* ResultText.ofExit(Exit.void, "ring")
    while (true) {
      const due = yield* store.due(yield* Clock.currentTimeMillis)
      for (const { execution_id: key, name } of due) {
        yield* store.ring({ key, name }, result)
        woken(key)
      }
      if (due.length < EngineStatements.page) return
    }
  })

/** What is to be released: `at` in milliseconds. */
interface Leaving extends Owner {
  readonly at: number
}

/**
 * @category constructors
 */
export const make = (options: Options): WorkLoop => {
  const { entries, lease, leaseMillis, poll, runs, store, waiters } = options
  const pending = new Set<string>()
  const leaving = new Set<Leaving>()
  const latch = Effect.unsafeMakeLatch(false)
  let nextLook = Number.NEGATIVE_INFINITY
  let nextSweep = Number.NEGATIVE_INFINITY
  let nextSignal = Number.NEGATIVE_INFINITY
  let lastSuccess: number | undefined

  const woken = (key: string): void => {
    if (lease === undefined) return
    pending.add(key)
    latch.unsafeOpen()
  }

  const claimPending = (lease: RunnerLease): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      for (const key of pending) {
        if (entries.size > 0) yield* claim(options, lease, key)
        pending.delete(key)
      }
    })

  const releaseLeaving = (now: number): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      for (const owner of leaving) {
        if (owner.at > now) continue
        yield* store.release(owner)
        leaving.delete(owner)
      }
    })

  /** Executions of runners that are gone become nobody's. */
  const sweep = (id: string, now: number, isExpired: boolean): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      if (isExpired) yield* store.expire(id, now)
      if (!isExpired && now < nextSweep) return
      yield* store.abandon
      nextSweep = now + leaseMillis
    })

  const lookForWork = (lease: RunnerLease, now: number): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      const id = lease.id()
      yield* releaseLeaving(now)
      const found = yield* store.look(id, [...entries.keys()], now)
      if (found.due) yield* ringDue(options, woken)
      if (found.expired || now >= nextSweep) yield* sweep(id, now, found.expired)
      if (found.interrupted) for (const key of yield* store.interrupted(id)) runs.interrupt(key)
      if (found.ready || found.expired) yield* claimReady(options, lease)
    })

  const look = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    nextLook = now + poll
    if (now >= nextSignal) {
      nextSignal = now + leaseMillis
      waiters.signalAll()
    }
    const work = lease === undefined ? Effect.void : lookForWork(lease, now)
    return Effect.zipRight(work, signalWaiters(options))
  })

  const failed = (error: SqlError): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      nextLook = now + poll
      lastSuccess ??= now
      if (now - lastSuccess < leaseMillis) return Effect.void
      lastSuccess = now
      const failure = StorageFailure.of("wait")(error)
      waiters.failAll(failure)
      return StorageFailure.warn("Workflows cannot be read from the database", failure)
    })

  const round = Effect.gen(function* () {
    latch.unsafeClose()
    if (lease !== undefined) yield* claimPending(lease)
    const now = yield* Clock.currentTimeMillis
    if (now >= nextLook) yield* look
    lastSuccess = now
  }).pipe(
    Effect.catchAll(failed),
    Effect.tapErrorCause(() =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        nextLook = now + poll
      })
    )
  )

  const pause = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.timeoutOption(latch.await, Math.max(1, nextLook - now))
  )

  return {
    woken,
    look: () => {
      nextLook = Number.NEGATIVE_INFINITY
      latch.unsafeOpen()
    },
    release: (owner) =>
      Effect.map(Clock.currentTimeMillis, (now) => void leaving.add({ ...owner, at: now + leaseMillis / 3 })),
    run: Effect.forever(Effect.zipRight(StorageFailure.survived(round), pause))
  }
}
