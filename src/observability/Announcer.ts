/**
 * Whom to tell of what happens: within a run its hooks and its bus, else those that were in context where the teller
 * was made.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EventBus from "./EventBus.js"
import * as Hooks from "./Hooks.js"
import * as Run from "./Run.js"

/**
 * @category models
 */
export type Told = <A, E, R>(
  tell: (hooks: Hooks.Service, announce: Run.Service["announce"]) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/**
 * Without hooks or a bus in context nobody is told outside of runs.
 *
 * @category constructors
 */
export const make: Effect.Effect<Told> = Effect.gen(function* () {
  const outside = Option.getOrElse(yield* Effect.serviceOption(Hooks.Hooks), () => Hooks.noop)
  const bus = Option.getOrElse(yield* Effect.serviceOption(EventBus.EventBus), () => EventBus.noop)
  const announce: Run.Service["announce"] = (event) => {
    if (bus.enabled) bus.offer(event())
  }
  return (tell) =>
    Effect.flatMap(Run.Run, (run) => (Run.isCurrent(run) ? tell(run.hooks, run.announce) : tell(outside, announce)))
})
