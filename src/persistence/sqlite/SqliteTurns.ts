/**
 * One at a time, in the order in which they came. The semaphore of Effect lets a fiber that comes back at once take
 * every turn.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/**
 * A turn that was asked for.
 *
 * @category models
 */
export interface Turn {
  /** Succeeds when it has come. */
  readonly come: () => Effect.Effect<void>
  /** Gives it to the next one; before it has come, gives up waiting. Only the first call counts. */
  readonly end: () => void
}

/**
 * @category models
 */
export interface Turns {
  /** Somebody has the turn. */
  readonly isTaken: () => boolean
  readonly waiting: () => number
  /** The place in the line is that of this call. Whoever calls it must end it. */
  readonly ask: () => Turn
  /** Waits where its caller can be interrupted. */
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
