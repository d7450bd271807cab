/**
 * A conversation that was handed to a run.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { RunId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { TurnToolCall } from "../../session/turn/Session.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import type { State } from "../definition/Stage.js"
import { noRoute, type Route } from "./HandoffRoute.js"

interface Handing {
  readonly runId: RunId | undefined
  readonly handoffs: number
  readonly route: Route
  /** Collects the calls for the run that keeps the conversation. */
  readonly calls: Array<TurnToolCall>
}

/**
 * The run that takes over, the number of handoffs so far, and their route.
 *
 * @category references
 */
export class HandedTo extends Ambient.Reference<HandedTo>()("effect-lexigram/agent/Handoffs/HandedTo", {
  defaultValue: (): Handing => ({ runId: undefined, handoffs: 0, route: noRoute, calls: [] })
}) {}

/**
 * A run that took over a conversation reports its calls to the run that keeps it, before those of later runs.
 */
export const handing = <E, R>(
  state: State,
  program: Effect.Effect<Answer, E, R>,
  made: Effect.Effect<ReadonlyArray<TurnToolCall>>
): Effect.Effect<Answer, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const { calls, runId } = Context.get(fiber.currentContext as Context.Context<any>, HandedTo)
    if (runId !== state.run.runId) return program
    return Effect.tap(program, () => Effect.map(made, (own) => calls.unshift(...own)))
  })
