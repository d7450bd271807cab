/**
 * Publishes to the hooks and bus of the current run, or, outside a run, to those of the context it was built in.
 *
 * @private
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
export type Announcer = <A, E, R>(
  publish: (hooks: Hooks.Service, announce: Run.Service["announce"]) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/**
 * Outside runs, without hooks or a bus in the context, nothing is published.
 *
 * @category constructors
 */
export const make: Effect.Effect<Announcer> = Effect.gen(function* () {
  const outside = Option.getOrElse(yield* Effect.serviceOption(Hooks.Hooks), () => Hooks.noop)
  const bus = Option.getOrElse(yield* Effect.serviceOption(EventBus.EventBus), () => EventBus.noop)
  const announce: Run.Service["announce"] = (event) => {
    if (bus.enabled) bus.offer(event())
  }
  return (publish) =>
    Effect.flatMap(Run.Run, (run) =>
      Run.isCurrent(run) ? publish(run.hooks, run.announce) : publish(outside, announce)
    )
})
