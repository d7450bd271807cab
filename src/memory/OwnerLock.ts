/**
 * One at a time for each owner.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * @category models
 */
export interface OwnerLock {
  readonly withLock: (ownerId: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * Keeps a lock only while somebody has it or waits for it.
 *
 * @category constructors
 */
export const make = (): OwnerLock => {
  const locks = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()
  return {
    withLock: (ownerId) => (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const lock = locks.get(ownerId) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
          lock.users++
          locks.set(ownerId, lock)
          return lock
        }),
        ({ semaphore }) => semaphore.withPermits(1)(effect),
        (lock) =>
          Effect.sync(() => {
            if (--lock.users === 0) locks.delete(ownerId)
          })
      )
  }
}
