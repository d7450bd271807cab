/**
 * One at a time for each key, in this process; keys that nobody uses are forgotten.
 */
import * as Effect from "effect/Effect"

/** Whoever comes while another one holds the key waits, and can be interrupted while waiting. */
export const make = (): (<A, E, R>(key: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const locks = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()
  return (key, effect) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        let lock = locks.get(key)
        if (lock === undefined) {
          lock = { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
          locks.set(key, lock)
        }
        lock.users++
        return lock
      }),
      ({ semaphore }) => semaphore.withPermits(1)(effect),
      (lock) =>
        Effect.sync(() => {
          lock.users--
          if (lock.users === 0) locks.delete(key)
        })
    )
}
