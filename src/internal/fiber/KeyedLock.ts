/** A lock per key, within this process. */
import * as Effect from "effect/Effect"
import * as Permits from "./Permits.js"

export interface KeyedLock {
  /** Waits for the holder of the same key. An interrupted wait has no effect. */
  readonly withLock: (key: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The number of keys that are held or awaited. */
  readonly size: () => number
}

/** A key is kept while it is held or awaited. */
export const make = (): KeyedLock => {
  const locks = new Map<string, { readonly withPermit: Permits.WithPermit; users: number }>()
  return {
    size: () => locks.size,
    withLock: (key) => (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const lock = locks.get(key) ?? { withPermit: Permits.make(1), users: 0 }
          lock.users++
          locks.set(key, lock)
          return lock
        }),
        ({ withPermit }) => withPermit(effect),
        (lock) =>
          Effect.sync(() => {
            if (--lock.users === 0) locks.delete(key)
          })
      )
  }
}
