/**
 * One change at a time for each owner, in this process.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * @category models
 */
export interface OwnerLocks {
  /** Waits for whoever changes something under the same key. An interrupted wait leaves nothing behind. */
  readonly withLock: (key: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Keys that are in use. */
  readonly size: () => number
}

/**
 * A key is held as long as somebody uses it or waits for it.
 *
 * @category constructors
 */
export const make = (): OwnerLocks => {
  const locks = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()
  return {
    size: () => locks.size,
    withLock: (key) => (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const known = locks.get(key)
          const lock = known ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
          if (known === undefined) locks.set(key, lock)
          lock.users++
          return lock
        }),
        (lock) => lock.semaphore.withPermits(1)(effect),
        (lock) =>
          Effect.sync(() => {
            if (--lock.users === 0) locks.delete(key)
          })
      )
  }
}
