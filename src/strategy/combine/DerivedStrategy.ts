/**
 * What combinators share: a strategy with another program, and the failures they may recover from.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Fatality } from "../../tool/ToolRunner.js"
import * as Strategy from "../definition/Strategy.js"

/** The strategy with another program. It keeps its name and its graph, which still runs. */
export const derive = (
  strategy: Strategy.Any,
  program: (task: Strategy.Task) => Effect.Effect<Strategy.Answer, any, any>
): Strategy.Strategy<any, any> => ({
  ...Strategy.make(strategy.name, program),
  ...(strategy.graph === undefined ? {} : { graph: strategy.graph })
})

/** The typed failure of a cause without defects. */
export const failureOf = <E>(cause: Cause.Cause<E>): Option.Option<E> =>
  Option.isSome(Cause.keepDefects(cause)) ? Option.none() : Cause.failureOption(cause)

/** The error that a `Fatality` carries to the executor, or the error itself. */
export const unwrapFatality = (error: unknown): unknown => (error instanceof Fatality ? error.error : error)
