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
 * What happens to an event when the queue of a listener is full: `dropping` drops the event for this listener;
 * `sliding` drops its oldest unread event instead; `backpressure` makes the bus wait, so that it fills and refuses
 * events for all listeners.
 *
 * @since 0.1.0
 * @category models
 */
export type Strategy = "backpressure" | "dropping" | "sliding"

/**
 * Unset options default to those of the bus.
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
 * Counts of a bus since it started.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  /** Accepted events. */
  readonly published: number
  /** Events that were not delivered: the bus was full or closed, or it closed before delivery. */
  readonly dropped: number
  /** Events that a listener missed because it was too slow, counted once per listener. */
  readonly missed: number
  /** Current listeners. */
  readonly listeners: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** False if nobody can ever listen, so that events need not be created. */
  readonly enabled: boolean
  /**
   * Publishes an event in the same synchronous step: it never waits and never fails. False when the bus is full or
   * closed; the event is then dropped and counted, and leaves a gap in the numbers of its aggregate. Events are
   * delivered in the order of their publication.
   */
  readonly offer: (event: DomainEvent.Body) => boolean
  /** As `offer`, but waits while the bus is full. False only when it is closed. */
  readonly publish: (event: DomainEvent.Body) => Effect.Effect<boolean>
  /**
   * Calls the handler for each event from now on until the scope closes, one at a time, in a fiber of its own. A
   * handler that fails or dies is logged and gets the next event. When the scope closes, events published before are
   * still handled, within the drain timeout of the bus.
   */
  readonly on: <E extends DomainEvent.DomainEvent, R = never>(
    kind: DomainEvent.Kind<E>,
    handler: (event: E) => Effect.Effect<unknown, unknown, R>,
    options?: ListenerOptions | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /**
   * The events from the moment the stream is run. Each listener gets every event once, in order. The stream ends when
   * the bus closes.
   */
  readonly subscribe: <E extends DomainEvent.DomainEvent>(
    kind: DomainEvent.Kind<E>,
    options?: ListenerOptions | undefined
  ) => Stream.Stream<E>
  /** As `subscribe`, but the events are kept from this moment until the scope closes. The stream is run once. */
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
 * A bus without listeners.
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
 * A bus without listeners.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EventBus> = Layer.succeed(EventBus, noop)

/**
 * Publishes an event, and waits while the bus is full. False when it is closed.
 *
 * @since 0.1.0
 * @category accessors
 */
export const publish = (event: DomainEvent.Body): Effect.Effect<boolean, never, EventBus> =>
  Effect.flatMap(EventBus, (bus) => bus.publish(event))

/**
 * The events from the moment the stream is run.
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
 * import { DomainEvent, LocalEventBus } from "effect-lexigram/observability"
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
