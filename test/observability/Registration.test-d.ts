// @effect-diagnostics missingEffectError:off
import { expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"

const Counted = DomainEvent.define("CountedEvent", { aggregateType: "Counter", fields: { n: Schema.Number } })
const Said = DomainEvent.define("SaidEvent", { aggregateType: "Talk", fields: { text: Schema.String } })
class Shelf extends Context.Tag("test/Shelf")<Shelf, Array<unknown>>() {}

it("a handler of events knows their fields, and its requirements show", () => {
  const registered = EventBus.on(Counted, (event) => {
    expectTypeOf(event.n).toEqualTypeOf<number>()
    expectTypeOf(event.eventType).toEqualTypeOf<"CountedEvent">()
    return Effect.flatMap(Shelf, () => Effect.fail("no"))
  })
  expectTypeOf(registered).toEqualTypeOf<Effect.Effect<void, never, Shelf | EventBus.EventBus | Scope.Scope>>()
  const layer = EventBus.handler(DomainEvent.anyOf(Counted, Said), (event) => {
    expectTypeOf(event.eventType).toEqualTypeOf<"CountedEvent" | "SaidEvent">()
    return event.eventType === "CountedEvent" ? Effect.succeed(event.n) : Effect.flatMap(Shelf, () => Effect.void)
  })
  expectTypeOf(layer).toEqualTypeOf<Layer.Layer<never, never, Shelf | EventBus.EventBus>>()
  expectTypeOf(
    EventBus.handler(Counted, () => {
      throw new Error()
    })
  ).toEqualTypeOf<Layer.Layer<never, never, EventBus.EventBus>>()
  expectTypeOf(EventBus.subscribe(DomainEvent.any)).toEqualTypeOf<
    Stream.Stream<DomainEvent.DomainEvent, never, EventBus.EventBus>
  >()
})

it("an event's own fields do not take the names that every event has", () => {
  // @ts-expect-error
  DomainEvent.define("OddEvent", { aggregateType: "Odd", fields: { eventId: Schema.String } })
  // @ts-expect-error
  DomainEvent.make(Counted, { aggregateId: "a", fields: { n: "1" } })
})

it("handlers of hooks know their payload, and their requirements show", () => {
  const Started = Hooks.action<{ readonly agent: string }>("started")
  const Text = Hooks.filter<string, { readonly by: number }>("text")
  const on = Hooks.on(Started, (payload) => {
    expectTypeOf(payload).toEqualTypeOf<{ readonly agent: string }>()
    return Effect.flatMap(Shelf, () => Effect.fail("no"))
  })
  expectTypeOf(on).toEqualTypeOf<Effect.Effect<void, never, Shelf | Hooks.Hooks | Scope.Scope>>()
  const layer = Hooks.filterHandler(Text, (value, { by }) => Effect.succeed(value.repeat(by)))
  expectTypeOf(layer).toEqualTypeOf<Layer.Layer<never, never, Hooks.Hooks>>()
  // @ts-expect-error: a filter has no failures
  Hooks.filterHandler(Text, () => Effect.fail("no"))
  // @ts-expect-error: the value keeps its type
  Hooks.filterHandler(Text, () => Effect.succeed(1))
})
