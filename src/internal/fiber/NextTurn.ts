/**
 * Lets the event loop do everything else that is due before it goes on. `Effect.yieldNow` lets other fibers run, and
 * neither sockets nor timers.
 */
import * as Effect from "effect/Effect"

export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})

/** Calls a function in the next turn of the event loop. */
export const onNextTurn = (call: () => void): void => void setImmediate(call)
