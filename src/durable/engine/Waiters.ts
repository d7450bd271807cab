/**
 * Callers that wait for an execution. They are told to look again when its state may have changed.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { WorkflowStorageError } from "./WorkflowStorageError.js"

/**
 * `end` waits for the end, `pause` for a suspension too.
 *
 * @category models
 */
export type Kind = "end" | "pause"

interface Waiter {
  readonly kind: Kind
  readonly latch: Effect.Latch
  failure: WorkflowStorageError | undefined
}

/**
 * @category models
 */
export interface Waiters {
  /**
   * Runs `look` until it succeeds with a value, each time after a call of `signal` with the key. Is interrupted when
   * the engine closes, and dies when `failAll` is called.
   */
  readonly wait: <A>(key: string, kind: Kind, look: Effect.Effect<A | undefined>) => Effect.Effect<A>
  readonly signal: (key: string) => void
  /** Keys with a waiter of this kind. */
  readonly keys: (kind: Kind) => ReadonlyArray<string>
  /** Lets all look again: an execution that was erased by another process has no row that says so. */
  readonly signalAll: () => void
  readonly failAll: (error: WorkflowStorageError) => void
  readonly close: () => void
}

/**
 * @category constructors
 */
export const make = (): Waiters => {
  const byKey = new Map<string, Set<Waiter>>()
  let isClosed = false

  const openAll = (failure?: WorkflowStorageError) => {
    for (const waiters of byKey.values()) {
      for (const waiter of waiters) {
        waiter.failure = failure
        waiter.latch.unsafeOpen()
      }
    }
  }
  const remove = (key: string, waiter: Waiter) => {
    const waiters = byKey.get(key)
    waiters?.delete(waiter)
    if (waiters?.size === 0) byKey.delete(key)
  }
  const add = (key: string, kind: Kind): Waiter => {
    const waiter: Waiter = { kind, latch: Effect.unsafeMakeLatch(true), failure: undefined }
    const waiters = byKey.get(key)
    if (waiters === undefined) byKey.set(key, new Set([waiter]))
    else waiters.add(waiter)
    return waiter
  }

  return {
    wait: <A>(key: string, kind: Kind, look: Effect.Effect<A | undefined>) =>
      Effect.acquireUseRelease(
        Effect.sync(() => add(key, kind)),
        (waiter) => {
          const { latch } = waiter
          const round: Effect.Effect<A> = Effect.suspend(() => {
            if (isClosed) return Effect.interrupt
            if (waiter.failure !== undefined) return Effect.die(waiter.failure)
            // Closed before the look: a signal during it opens the latch again.
            latch.unsafeClose()
            return Effect.flatMap(look, (found) =>
              found !== undefined ? Effect.succeed(found) : Effect.zipRight(latch.await, round)
            )
          })
          return round
        },
        (waiter) => Effect.sync(() => remove(key, waiter))
      ),
    signal: (key) => {
      for (const { latch } of byKey.get(key) ?? []) latch.unsafeOpen()
    },
    keys: (wanted) => {
      const keys: Array<string> = []
      for (const [key, waiters] of byKey) {
        for (const { kind } of waiters) {
          if (kind !== wanted) continue
          keys.push(key)
          break
        }
      }
      return keys
    },
    signalAll: () => openAll(),
    failAll: openAll,
    close: () => {
      isClosed = true
      openAll()
    }
  }
}
