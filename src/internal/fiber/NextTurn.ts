/**
 * Waits for the next turn of the event loop, so that sockets and timers proceed. `Effect.yieldNow` only lets other
 * fibers run.
 */
import * as Effect from "effect/Effect"

export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})

/** Calls a function in the next turn of the event loop. */
export const onNextTurn = (call: () => void): void => void setImmediate(call)
