/**
 * Hook points of a run: an application observes or changes a value there while the run waits.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as CapturedContext from "../internal/fiber/CapturedContext.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as Step from "./Step.js"

/**
 * A hook point that announces something. The type of its payload is known wherever it is used. Points of the same kind
 * and name are the same point.
 *
 * @since 0.1.0
 * @category models
 */
export interface Action<in out Payload> {
  readonly _tag: "Action"
  readonly name: string
  /** Carries only the type of the payload. */
  readonly _payload?: ((payload: Payload) => Payload) | undefined
}

/**
 * A hook point that may replace a value. `Info` describes where the value comes from.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter<in out Value, in out Info> {
  readonly _tag: "Filter"
  readonly name: string
  /** Carries only the types of the value and its info. */
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
 * The order of the handlers of a point: lower numbers first, equal ones in the order of registration.
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
  /** Called only once, whatever the outcome, even by concurrent calls. */
  readonly once?: boolean | undefined
  /**
   * In a durable run the handler is a step: it is not called again when the run goes on in another process, and what a
   * filter returned is kept, as JSON. Default false: it is called again on a replay.
   */
  readonly recorded?: boolean | undefined
}

/**
 * A handler runs in the fiber that calls it, which waits for it without a limit. Its requirements are captured at
 * registration; a service in context at the call wins.
 *
 * A handler may register and remove others while it runs: registered ones are called from the next call on, removed
 * ones are not called any more.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Whether the point has handlers. Callers on a hot path need not create a payload otherwise. */
  readonly has: (place: Action<any> | Filter<any, any>) => boolean
  /** Registers a handler until the scope closes. A handler registered twice is called twice. */
  readonly on: <Payload, R = never>(
    place: Action<Payload>,
    handler: (payload: Payload) => Effect.Effect<unknown, unknown, R>,
    options?: Options | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /** Registers a filter until the scope closes. Filters have no failures; one that dies fails the run. */
  readonly onFilter: <Value, Info, R = never>(
    place: Filter<Value, Info>,
    handler: (value: Value, info: Info) => Effect.Effect<Value, never, R>,
    options?: Options | undefined
  ) => Effect.Effect<void, never, R | Scope.Scope>
  /**
   * Calls every handler of the point, one at a time, and waits. A handler that fails, dies or interrupts itself is
   * logged and the next one is called. Interruption of the caller interrupts the handler, and no other is called.
   */
  readonly call: <Payload>(place: Action<Payload>, payload: Payload) => Effect.Effect<void>
  /** Passes the value through every filter of the point in order. Without filters, returns the value. */
  readonly apply: <Value, Info>(place: Filter<Value, Info>, value: Value, info: Info) => Effect.Effect<Value>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Hooks extends Context.Tag("effect-lexigram/observability/Hooks")<Hooks, Service>() {}

interface Entry<in A extends ReadonlyArray<any>> {
  readonly handler: (...args: A) => Effect.Effect<unknown, unknown, any>
  readonly captured: Context.Context<any>
  readonly priority: number
  readonly once: boolean
  readonly recorded: boolean
  gone: boolean
}

/**
 * The handlers of one kind of point, by its name. Lists are never mutated, so an iteration over one can continue.
 */
class Table<A extends ReadonlyArray<any>> {
  readonly places = new Map<string, ReadonlyArray<Entry<A>>>()

  add(name: string, entry: Entry<A>): void {
    const before = this.places.get(name) ?? []
    const after = before.findIndex((other) => other.priority > entry.priority)
    this.places.set(name, before.toSpliced(after === -1 ? before.length : after, 0, entry))
  }

  remove(name: string, entry: Entry<A>): void {
    entry.gone = true
    const left = (this.places.get(name) ?? []).filter((other) => other !== entry)
    if (left.length === 0) this.places.delete(name)
    else this.places.set(name, left)
  }

  /** Begins a call in the same step as its handler, without a gap in between, so that `once` holds. */
  begin(name: string, entry: Entry<A>, ...args: A): Effect.Effect<unknown, unknown> | undefined {
    if (entry.gone) return undefined
    if (entry.once) this.remove(name, entry)
    return CapturedContext.provide(entry.handler(...args), entry.captured)
  }

  register<R>(
    name: string,
    handler: (...args: A) => Effect.Effect<unknown, unknown, R>,
    options: Options | undefined
  ): Effect.Effect<void, never, R | Scope.Scope> {
    return Effect.flatMap(CapturedContext.context<R | Scope.Scope>(), (captured) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const entry: Entry<A> = {
            handler,
            captured,
            priority: options?.priority ?? priority.NORMAL,
            once: options?.once ?? false,
            recorded: options?.recorded ?? false,
            gone: false
          }
          this.add(name, entry)
          return entry
        }),
        (entry) => Effect.sync(() => this.remove(name, entry))
      )
    )
  }
}

const isolate = (name: string, effect: Effect.Effect<unknown, unknown>): Effect.Effect<void> =>
  Effect.matchCauseEffect(effect, {
    onSuccess: () => Effect.void,
    onFailure: (cause) =>
      Effect.withFiberRuntime((fiber) => {
        // A handler may interrupt itself; an interruption of the caller is recorded in the fiber.
        const isInterrupted = Cause.isInterrupted(cause) && !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
        if (isInterrupted) return Effect.failCause(Cause.stripFailures(cause))
        return Effect.annotateLogs(Effect.logWarning(`a handler failed: ${errorInfo(Cause.squash(cause)).message}`), {
          module: "Hooks",
          place: name
        })
      })
  })

const steps = OnDemand.make(() => import("./journal/HookSteps.js"))

const recordedCall = (called: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.flatMap(Step.Step, (step) =>
    Step.isRecording(step) ? Effect.flatMap(steps, ({ action }) => step.run(action, called)) : called
  )

const recordedFilter = (applied: Effect.Effect<unknown>): Effect.Effect<unknown> =>
  Effect.flatMap(Step.Step, (step) =>
    Step.isRecording(step)
      ? Effect.flatMap(steps, ({ filter }) =>
          Effect.map(
            step.run(
              filter,
              Effect.map(applied, (value) => ({ value }))
            ),
            ({ value }) => value
          )
        )
      : applied
  )

/**
 * A new registry.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Service> = Effect.sync(() => {
  const actions = new Table<[payload: any]>()
  const filters = new Table<[value: any, info: any]>()

  const callFrom = (
    name: string,
    entries: ReadonlyArray<Entry<[payload: any]>>,
    index: number,
    payload: unknown
  ): Effect.Effect<void> => {
    const entry = entries[index]
    if (entry === undefined) return Effect.void
    const isolated = isolate(
      name,
      Effect.suspend(() => actions.begin(name, entry, payload) ?? Effect.void)
    )
    const called = entry.recorded ? recordedCall(isolated) : isolated
    return index === entries.length - 1
      ? called
      : Effect.flatMap(called, () => callFrom(name, entries, index + 1, payload))
  }

  const applyFrom = (
    name: string,
    entries: ReadonlyArray<Entry<[value: any, info: any]>>,
    index: number,
    value: unknown,
    info: unknown
  ): Effect.Effect<any> => {
    const entry = entries[index]
    if (entry === undefined) return Effect.succeed(value)
    const handled = Effect.suspend(
      () => (filters.begin(name, entry, value, info) as Effect.Effect<unknown> | undefined) ?? Effect.succeed(value)
    )
    const applied = entry.recorded ? recordedFilter(handled) : handled
    return Effect.flatMap(applied, (value) => applyFrom(name, entries, index + 1, value, info))
  }

  return {
    has: (place) => (place._tag === "Action" ? actions : filters).places.has(place.name),
    on: (place, handler, options) => actions.register(place.name, handler, options),
    onFilter: (place, handler, options) => filters.register(place.name, handler, options),
    call: (place, payload) =>
      Effect.suspend(() => {
        const entries = actions.places.get(place.name)
        return entries === undefined ? Effect.void : callFrom(place.name, entries, 0, payload)
      }),
    apply: (place, value, info) =>
      Effect.suspend(() => {
        const entries = filters.places.get(place.name)
        return entries === undefined ? Effect.succeed(value) : applyFrom(place.name, entries, 0, value, info)
      })
  }
})

/**
 * A registry without handlers.
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
 * A registry without handlers; registered ones are never called.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Hooks> = Layer.succeed(Hooks, noop)

/**
 * A new registry. Provide the same layer to everything that shares it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Hooks> = Layer.effect(Hooks, make)

/**
 * Calls the handler at this point until the scope closes.
 *
 * @since 0.1.0
 * @category registration
 * @example
 * ```ts
 * import { Hooks } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const Shipped = Hooks.action<{ readonly order: string }>("order_shipped")
 *
 * const program = Effect.scoped(
 *   Effect.gen(function* () {
 *     yield* Hooks.on(Shipped, ({ order }) => Effect.log(`${order} is on its way`))
 *     const hooks = yield* Hooks.Hooks
 *     yield* hooks.call(Shipped, { order: "A-17" })
 *   })
 * ).pipe(Effect.provide(Hooks.layer))
 * ```
 */
export const on = <Payload, R = never>(
  place: Action<Payload>,
  handler: (payload: Payload) => Effect.Effect<unknown, unknown, R>,
  options?: Options | undefined
): Effect.Effect<void, never, R | Hooks | Scope.Scope> =>
  Effect.flatMap(Hooks, (hooks) => hooks.on(place, handler, options))

/**
 * Passes values at this point through the handler until the scope closes.
 *
 * @since 0.1.0
 * @category registration
 */
export const onFilter = <Value, Info, R = never>(
  place: Filter<Value, Info>,
  handler: (value: Value, info: Info) => Effect.Effect<Value, never, R>,
  options?: Options | undefined
): Effect.Effect<void, never, R | Hooks | Scope.Scope> =>
  Effect.flatMap(Hooks, (hooks) => hooks.onFilter(place, handler, options))

/**
 * `on` as a layer. Merged layers register in no particular order; use priorities where it matters.
 *
 * @since 0.1.0
 * @category registration
 */
export const handler = <Payload, R = never>(
  place: Action<Payload>,
  handler: (payload: Payload) => Effect.Effect<unknown, unknown, R>,
  options?: Options | undefined
): Layer.Layer<never, never, Hooks | Exclude<R, Scope.Scope>> => Layer.scopedDiscard(on(place, handler, options))

/**
 * `onFilter` as a layer.
 *
 * @since 0.1.0
 * @category registration
 */
export const filterHandler = <Value, Info, R = never>(
  place: Filter<Value, Info>,
  handler: (value: Value, info: Info) => Effect.Effect<Value, never, R>,
  options?: Options | undefined
): Layer.Layer<never, never, Hooks | Exclude<R, Scope.Scope>> => Layer.scopedDiscard(onFilter(place, handler, options))
