/**
 * Tells other parts of an application what happened. Runs hand their events over and go on: a slow or failing listener never holds one up.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as DomainEvent from "./DomainEvent.js"

/**
 * What a bus has done so far: events handed over, delivered to every listener there was, and dropped because they came faster than they
 * could be delivered.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  readonly published: number
  readonly dropped: number
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
   * Hands an event over, in this very step: it never waits and never fails. False when the bus is full or closed; then the event is dropped
   * and counted. Events are delivered in the order in which they were handed over.
   */
  readonly offer: (event: DomainEvent.Body) => boolean
  /** As `offer`, but waits for room where the bus holds back-pressure. */
  readonly publish: (event: DomainEvent.Body) => Effect.Effect<boolean>
  /**
   * The events from now on, all or those of one definition. Subscribed when the stream is run, so that an event after that is never missed.
   * Each listener gets every event once, in order. The stream ends when the bus is closed.
   */
  readonly subscribe: {
    (): Stream.Stream<DomainEvent.DomainEvent>
    <D extends DomainEvent.Definition<any, any>>(definition: D): Stream.Stream<DomainEvent.EventOf<D>>
  }
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
  subscribe: () => Stream.empty,
  stats: Effect.succeed({ published: 0, dropped: 0, listeners: 0 })
}

/**
 * A bus that nobody hears.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EventBus> = Layer.succeed(EventBus, noop)
