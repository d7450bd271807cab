/**
 * The tool whose handler the current fiber runs. Tools must not invoke skills: the skill executor rejects calls from
 * inside a handler.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Ambient from "../../internal/fiber/Ambient.js"

export class HandledTool extends Ambient.Reference<HandledTool>()("effect-lexigram/internal/HandledTool", {
  defaultValue: (): string | undefined => undefined
}) {}

/** Marks an effect as work of no tool. */
export const outside = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(effect, (context: Context.Context<R>) =>
    Context.get(context, HandledTool) === undefined ? context : Context.add(context, HandledTool, undefined)
  )
