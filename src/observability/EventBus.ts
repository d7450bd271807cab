/**
 * The event bus port: publishes domain events to other parts of an application. A publishing run does not wait: a slow
 * or failing listener never delays it. `LocalEventBus` is the bus of one process.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as DomainEvent from "./DomainEvent.js"

/**
 * What happens to an event when a listener has not read those before it: `dropping` passes it over, for this listener
 * alone; `sliding` passes over the oldest unread one instead; `backpressure` makes the bus wait, so that it fills, and
 * refuses events, for all.
 *
 * @since 0.1.0
 * @category models
 */
export type Strategy = "backpressure" | "dropping" | "sliding"

/**
 * What is unset is that of the bus.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListenerOptions {
  /** Events that wait to be read. */
  readonly capacity?: number | undefined
  readonly strategy?: Strategy | undefined
}

/**
 * What a bus has done so far.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  /** Events that were accepted. */
  readonly published: number
  /**
   * Events that nobody got: they came when the bus was full or closed, or it was closed before they could be delivered.
   */
  readonly dropped: number
  /** Events that a listener did not get because it was too slow, once for each listener. */
  readonly missed: number
  /** Listeners there are now. */
  readonly listeners: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** False: nobody listens or ever will, and events need not be made. */
  readonly enabled: boolean
  /**
   * Hands an event over, in this very step: it never waits and never fails. False when the bus is full or closed; then
   * the event is dropped and counted, and leaves a gap in the numbers of its aggregate. Events are delivered in the
   * order in which they were handed over.
   */
  readonly offer: (event: DomainEvent.Body) => boolean
  /** As `offer`, but waits while the bus is full. False only when it is closed. */
  readonly publish: (event: DomainEvent.Body) => Effect.Effect<boolean>
  /**
   * Calls the handler for each event from now on until the scope closes, one after another, in a fiber of its own. A
   * handler that fails or dies is logged and gets the next event. When the scope closes, what was handed over before is
   * still handled, for as long as the bus allows.
   */
  readonly on: <E extends DomainEvent.DomainEvent, R = never>(
    kind: DomainEvent.Kind<E>,
    handler: (event: E) => Effect.Effect<unknown, unknown, R>,
    options?: ListenerOptions | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /**
   * The events from the moment on in which the stream is run. Each listener gets every event once, in order. The stream
   * ends when the bus is closed.
   */
  readonly subscribe: <E extends DomainEvent.DomainEvent>(
    kind: DomainEvent.Kind<E>,
    options?: ListenerOptions | undefined
  ) => Stream.Stream<E>
  /** The same from this moment on, until the scope closes: kept for the stream, which is run once. */
  readonly listen: <E extends DomainEvent.DomainEvent>(
    kind: DomainEvent.Kind<E>,
    options?: ListenerOptions | undefined
  ) => Effect.Effect<Stream.Stream<E>, never, Scope.Scope>
  readonly stats: Effect.Effect<Stats>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EventBus extends Context.Tag("effect-lexigram/observability/EventBus")<EventBus, Service>() {}

/**
 * A bus that nobody hears.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  enabled: false,
  offer: () => false,
  publish: () => Effect.succeed(false),
  on: () => Effect.void,
  subscribe: () => Stream.empty,
  listen: () => Effect.succeed(Stream.empty),
  stats: Effect.succeed({ published: 0, dropped: 0, missed: 0, listeners: 0 })
}

/**
 * A bus that nobody hears.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EventBus> = Layer.succeed(EventBus, noop)

/**
 * Hands an event over, and waits while the bus is full. False when it is closed.
 *
 * @since 0.1.0
 * @category accessors
 */
export const publish = (event: DomainEvent.Body): Effect.Effect<boolean, never, EventBus> =>
  Effect.flatMap(EventBus, (bus) => bus.publish(event))

/**
 * The events from the moment on in which the stream is run.
 *
 * @since 0.1.0
 * @category accessors
 */
export const subscribe = <E extends DomainEvent.DomainEvent>(
  kind: DomainEvent.Kind<E>,
  options?: ListenerOptions | undefined
): Stream.Stream<E, never, EventBus> => Stream.unwrap(Effect.map(EventBus, (bus) => bus.subscribe(kind, options)))

/**
 * Calls the handler for each event from now on until the scope closes.
 *
 * @since 0.1.0
 * @category registration
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { EventBus } from "effect-lexigram"
 * import { DomainEvent } from "effect-lexigram/observability"
 *
 * const OrderShipped = DomainEvent.define("OrderShippedEvent", {
 *   aggregateType: "Order",
 *   fields: { carrier: Schema.String }
 * })
 *
 * const program = Effect.scoped(
 *   Effect.gen(function* () {
 *     yield* EventBus.on(OrderShipped, (event) => Effect.log(`${event.aggregateId} went with ${event.carrier}`))
 *     yield* EventBus.publish(DomainEvent.make(OrderShipped, { aggregateId: "A-17", fields: { carrier: "post" } }))
 *   })
 * ).pipe(Effect.provide(LocalEventBus.layer()))
 * ```
 */
export const on = <E extends DomainEvent.DomainEvent, R = never>(
  kind: DomainEvent.Kind<E>,
  handler: (event: E) => Effect.Effect<unknown, unknown, R>,
  options?: ListenerOptions | undefined
): Effect.Effect<void, never, R | EventBus | Scope.Scope> =>
  Effect.flatMap(EventBus, (bus) => bus.on(kind, handler, options))

/**
 * `on` as a layer.
 *
 * @since 0.1.0
 * @category registration
 */
export const handler = <E extends DomainEvent.DomainEvent, R = never>(
  kind: DomainEvent.Kind<E>,
  handler: (event: E) => Effect.Effect<unknown, unknown, R>,
  options?: ListenerOptions | undefined
): Layer.Layer<never, never, EventBus | Exclude<R, Scope.Scope>> => Layer.scopedDiscard(on(kind, handler, options))
