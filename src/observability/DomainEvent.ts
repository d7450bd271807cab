/**
 * Domain events: facts that other parts of an application learn after they happened.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * Fields of every domain event besides its own. `eventType` is the name of its definition, `occurredAt` milliseconds
 * since the epoch; `sequenceNumber` counts the events of one aggregate on one bus, from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Base = {
  eventId: Schema.String,
  occurredAt: Schema.Number,
  eventType: Schema.String,
  aggregateId: Schema.String,
  aggregateType: Schema.String,
  sequenceNumber: Schema.Number,
  actorId: Schema.optional(Schema.String),
  schemaVersion: Schema.Literal(1)
} as const

/**
 * Any domain event.
 *
 * @since 0.1.0
 * @category models
 */
export interface DomainEvent {
  readonly eventId: string
  readonly occurredAt: number
  readonly eventType: string
  readonly aggregateId: string
  readonly aggregateType: string
  readonly sequenceNumber: number
  readonly actorId?: string | undefined
  readonly schemaVersion: 1
}

/**
 * One kind of event with its own fields.
 *
 * @since 0.1.0
 * @category models
 */
export type Of<Name extends string, Fields extends Schema.Struct.Fields> = DomainEvent & {
  readonly eventType: Name
} & Schema.Struct.Type<Fields>

/**
 * The events that a listener receives: a definition, `any`, or `anyOf` several.
 *
 * @since 0.1.0
 * @category models
 */
export interface Kind<out E extends DomainEvent> {
  readonly is: (event: DomainEvent) => event is E
}

/**
 * A kind of event: its name, its aggregate and its fields. `schema` encodes and decodes whole events.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition<Name extends string, Fields extends Schema.Struct.Fields> extends Kind<Of<Name, Fields>> {
  readonly name: Name
  readonly aggregateType: string
  readonly schema: Schema.Schema<Of<Name, Fields>, any>
}

/**
 * An event before a bus adds the `Base` fields.
 *
 * @since 0.1.0
 * @category models
 */
export interface Body {
  readonly eventType: string
  readonly aggregateId: string
  readonly aggregateType: string
  readonly actorId?: string | undefined
  readonly fields: { readonly [name: string]: unknown }
}

/**
 * The events of a definition or another kind.
 *
 * @since 0.1.0
 * @category models
 */
export type EventOf<K> = K extends Kind<infer E> ? E : never

/**
 * Defines a kind of event. Its name is unique in an application and ends in `Event`; its fields must not have the names
 * of `Base` fields.
 *
 * @example
 * ```ts
 * import { DomainEvent, EventBus } from "effect-lexigram/observability"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Refunded = DomainEvent.define("RefundedEvent", { aggregateType: "order", fields: { amount: Schema.Number } })
 *
 * const refunded = (aggregateId: string, amount: number) =>
 *   Effect.flatMap(EventBus.EventBus, (bus) =>
 *     bus.publish(DomainEvent.make(Refunded, { aggregateId, fields: { amount } }))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const define = <const Name extends string, const Fields extends Schema.Struct.Fields>(
  name: Name,
  options: {
    readonly aggregateType: string
    readonly fields: Fields & { readonly [K in keyof typeof Base]?: never }
  }
): Definition<Name, Fields> => ({
  name,
  aggregateType: options.aggregateType,
  schema: Schema.Struct({ ...Base, ...options.fields, eventType: Schema.Literal(name) }).annotations({
    identifier: name
  }) as unknown as Schema.Schema<Of<Name, Fields>, any>,
  is: (event): event is Of<Name, Fields> => event.eventType === name
})

/**
 * Every event.
 *
 * @since 0.1.0
 * @category constants
 */
export const any: Kind<DomainEvent> = { is: (_event): _event is DomainEvent => true }

/**
 * The events of any of these kinds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const anyOf = <const K extends ReadonlyArray<Kind<DomainEvent>>>(...kinds: K): Kind<EventOf<K[number]>> => ({
  is: (event): event is EventOf<K[number]> => kinds.some((kind) => kind.is(event))
})

/**
 * An event of this kind about one aggregate, ready to publish.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Name extends string, Fields extends Schema.Struct.Fields>(
  definition: Definition<Name, Fields>,
  options: {
    readonly aggregateId: string
    readonly actorId?: string | undefined
    readonly fields: Schema.Struct.Type<Fields>
  }
): Body => ({
  eventType: definition.name,
  aggregateType: definition.aggregateType,
  aggregateId: options.aggregateId,
  actorId: options.actorId,
  fields: options.fields as Body["fields"]
})
