/**
 * Runs long synchronous work step by step, so that the event loop turns in between and the work can be interrupted.
 */
import * as Effect from "effect/Effect"
import * as NextTurn from "./NextTurn.js"

/** Pauses at each value that it yields. */
export type Steps<A> = Generator<void, A, void>

/** Characters per step: a few milliseconds of work at most. */
export const perStep = 8192

/** Runs all steps at once. */
export const finish = <A>(steps: Steps<A>): A => {
  for (;;) {
    const next = steps.next()
    if (next.done === true) return next.value
  }
}

/** Lets the event loop turn between steps. Work of one step does not wait for it. */
export const turning = <A>(steps: Steps<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const next = steps.next()
    return next.done === true ? Effect.succeed(next.value) : Effect.zipRight(NextTurn.nextTurn, turning(steps))
  })

/** Continues after the work: immediately when it has one step, otherwise after its last step. */
export const before = <A>(
  steps: Steps<A>,
  next: (value: A) => Effect.Effect<void> | undefined
): Effect.Effect<void> | undefined => {
  const first = steps.next()
  return first.done === true
    ? next(first.value)
    : Effect.flatMap(Effect.zipRight(NextTurn.nextTurn, turning(steps)), (value) => next(value) ?? Effect.void)
}

/** Counts the characters processed. */
export class Pace {
  constructor(private spent = 0) {}

  /** True if a step is full and the work should pause. */
  isDue(characters: number): boolean {
    this.spent += characters
    if (this.spent < perStep) return false
    this.spent = 0
    return true
  }
}
