/**
 * Places in a run where an application may look in or change a value, while the run waits for it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/**
 * A place where something is announced. The type of its payload is known wherever it is used.
 *
 * @since 0.1.0
 * @category models
 */
export interface Action<in out Payload> {
  readonly _tag: "Action"
  readonly name: string
  /** Carries the type of the payload only. */
  readonly _payload?: ((payload: Payload) => Payload) | undefined
}

/**
 * A place where a value may be replaced. `Info` says where the value comes from.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter<in out Value, in out Info> {
  readonly _tag: "Filter"
  readonly name: string
  /** Carries the types of the value and what is known around it only. */
  readonly _value?: ((value: Value, info: Info) => [Value, Info]) | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const action = <Payload>(name: string): Action<Payload> => ({ _tag: "Action", name })

/**
 * @since 0.1.0
 * @category constructors
 */
export const filter = <Value, Info>(name: string): Filter<Value, Info> => ({ _tag: "Filter", name })

/**
 * When a handler is called among the others of its place: lower numbers first, equal ones in the order of registration.
 *
 * @since 0.1.0
 * @category constants
 */
export const priority = { EARLIEST: 0, EARLY: 50, NORMAL: 100, LATE: 200, LATEST: 300 } as const

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default `priority.NORMAL`. */
  readonly priority?: number | undefined
  /** Called for the first time only, also when calls come side by side. */
  readonly once?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Whether anybody waits at this place: callers on a hot path need not make a payload otherwise. */
  readonly has: (place: Action<any> | Filter<any, any>) => boolean
  /** Registers until the scope closes. */
  readonly on: <Payload, R>(
    place: Action<Payload>,
    handler: (payload: Payload) => Effect.Effect<unknown, unknown, R>,
    options?: Options | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /** Registers until the scope closes. A filter fails the run it belongs to by dying: it has no failures. */
  readonly onFilter: <Value, Info, R>(
    place: Filter<Value, Info>,
    handler: (value: Value, info: Info) => Effect.Effect<Value, never, R>,
    options?: Options | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /**
   * Calls every handler of the place, one after another, and waits. A handler that fails or dies is logged and the next one is called;
   * interruption of the caller interrupts the handler.
   */
  readonly call: <Payload>(place: Action<Payload>, payload: Payload) => Effect.Effect<void>
  /** Hands the value through every filter of the place. Without any, the value itself. */
  readonly apply: <Value, Info>(place: Filter<Value, Info>, value: Value, info: Info) => Effect.Effect<Value>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Hooks extends Context.Tag("effect-lexigram/observability/Hooks")<Hooks, Service>() {}

/**
 * Nobody waits anywhere.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  has: () => false,
  on: () => Effect.void,
  onFilter: () => Effect.void,
  call: () => Effect.void,
  apply: (_place, value) => Effect.succeed(value)
}

/**
 * Nobody waits anywhere; what is registered is never called.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Hooks> = Layer.succeed(Hooks, noop)
