/** A run whose hooks and domain events are recorded. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { RunId } from "../../src/domain/Ids.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Run from "../../src/observability/Run.js"

export interface Watched {
  readonly hooks: Array<{ readonly name: string; readonly payload: unknown }>
  readonly events: Array<DomainEvent.Body>
  readonly inside: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make: Effect.Effect<Watched> = Effect.map(Clock.clockWith(Effect.succeed), (clock) => {
  const hooks: Watched["hooks"] = []
  const events: Watched["events"] = []
  const run = Run.make({
    runId: RunId.make("run-1"),
    agent: "watched",
    clock,
    sink: { push: () => {}, settle: () => undefined, live: false },
    hooks: {
      ...Hooks.noop,
      has: () => true,
      call: (place, payload) => Effect.sync(() => void hooks.push({ name: place.name, payload }))
    },
    bus: { ...EventBus.noop, enabled: true, offer: (event) => events.push(event) > 0 }
  })
  return { hooks, events, inside: Effect.provideService(Run.Run, run) }
})
