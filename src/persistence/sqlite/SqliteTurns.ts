/**
 * A fair mutex: turns are given in the order of the calls. Effect's semaphore lets a fiber that returns at once take
 * every turn.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * A requested turn.
 *
 * @category models
 */
export interface Turn {
  /** Completes when it is this turn. */
  readonly come: () => Effect.Effect<void>
  /** Passes the turn on, or gives up waiting for it. Only the first call counts. */
  readonly end: () => void
}

/**
 * @category models
 */
export interface Turns {
  /** Whether a turn is taken. */
  readonly isTaken: () => boolean
  readonly waiting: () => number
  /** Requests a turn, whose place in the line is that of this call. The caller must end it. */
  readonly ask: () => Turn
  /** Waits interruptibly if the caller is interruptible. */
  readonly withTurn: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * @category constructors
 */
export const make = (): Turns => {
  const line = new Map<object, (() => void) | undefined>()
  let holder: object | undefined
  const next = (): void => {
    const first = line.entries().next()
    if (first.done === true) {
      holder = undefined
      return
    }
    const [turn, wake] = first.value
    line.delete(turn)
    holder = turn
    wake?.()
  }
  const ask = (): Turn => {
    const turn: Turn = {
      come: () =>
        holder === turn
          ? Effect.void
          : Effect.async<void>((resume) => {
              if (holder === turn) return resume(Effect.void)
              line.set(turn, () => resume(Effect.void))
            }),
      end: () => {
        if (holder === turn) next()
        else line.delete(turn)
      }
    }
    if (holder === undefined) holder = turn
    else line.set(turn, undefined)
    return turn
  }
  return {
    ask,
    isTaken: () => holder !== undefined,
    waiting: () => line.size,
    withTurn: (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          const turn = ask()
          return Effect.ensuring(
            restore(Effect.zipRight(turn.come(), effect)),
            Effect.sync(() => turn.end())
          )
        })
      )
  }
}
