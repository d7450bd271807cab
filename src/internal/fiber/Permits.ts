/**
 * Bounds how many effects run at a time.
 *
 * `Effect.makeSemaphore` of Effect 3 loses a permit when a fiber is interrupted between the operation that counts it
 * and the one that installs its release (Effect-TS/effect#6910, fixed in version 4): whoever waits then waits for ever.
 * `Permits.test.ts` tells when this module can go.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/** Runs an effect while it holds a permit. Those who wait are served in the order in which they came. */
export type WithPermit = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** An interrupted wait takes no permit, and an effect gives its permit back however it ends. */
export const make = (permits: number): WithPermit => {
  let free = permits
  const waiting = new Set<Deferred.Deferred<void>>()
  const release = Effect.sync(() => {
    const [next] = waiting
    if (next === undefined) {
      free++
      return
    }
    waiting.delete(next)
    Deferred.unsafeDone(next, Effect.void)
  })
  return (effect) =>
    Effect.uninterruptibleMask((restore) => {
      const held = Effect.ensuring(restore(effect), release)
      return Effect.suspend(() => {
        if (free > 0) {
          free--
          return held
        }
        const turn = Deferred.unsafeMake<void>(FiberId.none)
        waiting.add(turn)
        return Effect.onError(restore(Deferred.await(turn)), () =>
          // The permit may have been handed over while the interruption was under way.
          Effect.suspend(() => (waiting.delete(turn) ? Effect.void : release))
        ).pipe(Effect.zipRight(held))
      })
    })
}
