/**
 * Limits how long synchronous statements block the event loop: after a millisecond the next one waits for a turn of
 * timers and sockets, and waiting fibers continue in order.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as NextTurn from "../../internal/fiber/NextTurn.js"

/**
 * @category models
 */
export interface Stretch {
  /**
   * Whether the next statement must wait. Also true while others wait, unless `isAhead`: the caller holds what they
   * wait for.
   */
  readonly isOver: (isAhead: boolean) => boolean
  /** Waits for a turn of the event loop. */
  readonly pause: (isAhead: boolean) => Effect.Effect<void>
}

/**
 * Milliseconds. A timer of 10 ms is late by a twentieth on average at most, and a turn of the loop costs a hundredth of
 * this.
 */
const LONGEST = 1

/** Fibers that continue in one turn of the event loop, with one statement each. */
const TOGETHER = 8

/**
 * @category constructors
 */
export const make = (now: () => number): Stretch => {
  const line: Array<() => void> = []
  let since: number | undefined
  let isScheduled = false

  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    NextTurn.onNextTurn(() => {
      isScheduled = false
      since = undefined
      for (const wake of line.splice(0, TOGETHER)) wake()
      if (line.length > 0) schedule()
    })
  }

  return {
    isOver: (isAhead) => {
      if (line.length > 0 && !isAhead) return true
      if (since !== undefined) return now() - since >= LONGEST
      since = now()
      schedule()
      return false
    },
    pause: (isAhead) =>
      Effect.async<void>((resume) => {
        const wake = () => resume(Effect.void)
        if (isAhead) line.unshift(wake)
        else line.push(wake)
        schedule()
        return Effect.sync(() => {
          const at = line.indexOf(wake)
          if (at !== -1) line.splice(at, 1)
        })
      })
  }
}
