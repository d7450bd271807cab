/**
 * Suites of ports as data: the contract of a port as cases that any test runner can register.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"

/**
 * One promise of a port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export interface Case<out Port> {
  /** The promise in words, unique within the suite. */
  readonly name: string
  readonly test: Effect.Effect<void, unknown, Port>
}

/**
 * The outcome of a case.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly name: string
  /** Absent if the promise was kept. */
  readonly failure?: Cause.Cause<unknown> | undefined
}

/**
 * Runs one case on a backend of its own: the layer is built for it under a `TestClock` and released afterwards.
 *
 * @since 0.1.0
 * @category models
 */
export type Check<Port> = <E>(one: Case<Port>, layer: Layer.Layer<Port, E>) => Effect.Effect<void, unknown>

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category models
 */
export type Run<Port> = <E>(layer: Layer.Layer<Port, E>) => Effect.Effect<ReadonlyArray<Outcome>>

/**
 * The checks of a port whose cases begin at `epoch`, in milliseconds.
 *
 * @example
 * ```ts
 * import { PortSuite } from "effect-lexigram/testing"
 * import * as Context from "effect/Context"
 * import * as Effect from "effect/Effect"
 * import * as Ref from "effect/Ref"
 *
 * class Counter extends Context.Tag("desk/Counter")<Counter, Ref.Ref<number>>() {}
 *
 * const begins = Effect.filterOrFail(Effect.flatMap(Counter, Ref.get), (n) => n === 0, (n) => `It begins at ${n}.`)
 *
 * const { check, run } = PortSuite.make([{ name: "begins at 0", test: begins }], { epoch: 1_760_000_000_000 })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Port>(
  cases: ReadonlyArray<Case<Port>>,
  options: { readonly epoch: number }
): { readonly check: Check<Port>; readonly run: Run<Port> } => {
  const check: Check<Port> = (one, layer) =>
    // Sets the clock before the layer can wait for it.
    TestClock.setTime(options.epoch).pipe(
      Effect.zipRight(Effect.provide(one.test, layer)),
      Effect.provide(TestContext.TestContext)
    )
  return {
    check,
    run: (layer) =>
      Effect.forEach(cases, (one) =>
        Effect.flatMap(Effect.exit(check(one, layer)), (exit): Effect.Effect<Outcome> => {
          if (Exit.isSuccess(exit)) return Effect.succeed({ name: one.name })
          if (Cause.isInterruptedOnly(exit.cause)) return Effect.interrupt
          return Effect.succeed({ name: one.name, failure: exit.cause })
        })
      )
  }
}
