/**
 * Runs effects concurrently until enough of them succeed, and interrupts the rest.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Step from "../../observability/Step.js"

type Settled<A, E> =
  | { readonly _tag: "Enough"; readonly results: ReadonlyArray<readonly [index: number, result: A]> }
  | { readonly _tag: "TooFew"; readonly error: E }

/**
 * The first `count` results with the indexes of their items, in the order of the items; the effects that still run are
 * interrupted. Fails with the failure that makes `count` unreachable. Defects are kept.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forEach = <T, A, E, R>(
  items: ReadonlyArray<T>,
  count: number,
  f: (item: T) => Effect.Effect<A, E, R>,
  concurrency: number | "unbounded" | undefined
): Effect.Effect<ReadonlyArray<readonly [index: number, result: A]>, E, R> =>
  Effect.suspend(() => {
    const results: Array<readonly [index: number, result: A]> = []
    let failures = 0
    return Step.forEach(
      items,
      (item, index) =>
        Effect.matchEffect(f(item), {
          onSuccess: (result): Effect.Effect<void, Settled<A, E>> => {
            results.push([index, result])
            return results.length === count
              ? Effect.fail({ _tag: "Enough", results: results.toSorted(([a], [b]) => a - b) })
              : Effect.void
          },
          onFailure: (error): Effect.Effect<void, Settled<A, E>> =>
            ++failures === items.length - count + 1 ? Effect.fail({ _tag: "TooFew", error }) : Effect.void
        }),
      { concurrency }
    ).pipe(
      Effect.matchCauseEffect({
        onSuccess: () => Effect.dieMessage("every effect has ended, and neither enough succeeded nor too many failed"),
        onFailure: (cause) => {
          const settled = Cause.failureOption(cause)
          // A defect in the finalizer of an interrupted effect is a bug and stays visible.
          const defects = Cause.keepDefects(cause)
          if (Option.isNone(settled)) return Effect.failCause(cause as Cause.Cause<never>)
          if (settled.value._tag === "Enough") {
            return Option.isSome(defects) ? Effect.failCause(defects.value) : Effect.succeed(settled.value.results)
          }
          const failure = Cause.fail(settled.value.error)
          return Effect.failCause(Option.isSome(defects) ? Cause.sequential(failure, defects.value) : failure)
        }
      })
    )
  })
