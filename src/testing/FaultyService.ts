/**
 * Makes a service of effects fail as real ones do, by a seed: a store of sessions or memory, the handler of a tool, any
 * record of functions that return effects. The same seed gives the same faults to the same calls.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as FaultDice from "./FaultDice.js"

/**
 * How likely each fault of a call is, from 0 (the default) to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Faults {
  /** The call fails, and nothing is done. */
  readonly fail?: number | undefined
  /** The call never ends, and nothing is done. */
  readonly hang?: number | undefined
  /** The call begins late. */
  readonly delay?: number | undefined
  /** The call is done and then fails: a write took place whose answer was lost. */
  readonly late?: number | undefined
}

/**
 * A fault that was done: the number of its call, from 1, and the name of the function, `handler` for a handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface Injected {
  readonly call: number
  readonly method: string
  readonly fault: keyof Faults | "corrupt"
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions<E> extends Faults {
  readonly seed: number
  /** The failure of a call with the fault `fail` or `late`. */
  readonly error: (injected: Injected) => E
  /** The longest delay; default 1 second. */
  readonly maxDelay?: Duration.DurationInput | undefined
  /** Called with each fault when it is done. */
  readonly onFault?: ((injected: Injected) => void) | undefined
}

/**
 * The failures that a function of a service, or an effect or a stream in it, can have; `unknown` of all other members.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<Member> = Member extends (...args: never) => infer Result
  ? ErrorOf<Result>
  : Member extends Option.Option<any> | Either.Either<any, any>
    ? unknown
    : Member extends Effect.Effect<any, infer E, any>
      ? E
      : Member extends Stream.Stream<any, infer E, any>
        ? E
        : unknown

/**
 * The failures that all of these members can have.
 *
 * @since 0.1.0
 * @category models
 */
export type CommonError<Service, Name extends keyof Service> = {
  readonly [K in Name]: (error: ErrorOf<Service[K]>) => void
}[Name] extends (error: infer E) => void
  ? E
  : never

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Service, Name extends keyof Service> extends CallOptions<CommonError<Service, Name>> {
  /** The members that have faults; default all. Members that cannot fail have to be left out. */
  readonly only?: ReadonlyArray<Name> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface HandlerOptions<E> extends CallOptions<E> {
  /**
   * A part of the result is damaged: letters of texts, numbers, fields and items. What comes of it may not have the
   * type of the result.
   */
  readonly corrupt?: number | undefined
}

type Dice = FaultDice.FaultDice<Injected["fault"]>

const faults = ["fail", "hang", "delay", "late", "corrupt"] as const

/** Numbers the calls of one service. */
const counter = <E>(options: HandlerOptions<E>) => {
  FaultDice.check("FaultyService", options, faults)
  let calls = 0
  return (
    method: string
  ): { readonly dice: Dice; readonly error: (fault: "fail" | "late") => Effect.Effect<never, E> } => {
    const call = ++calls
    return {
      dice: new FaultDice.FaultDice<Injected["fault"]>(options, call, (fault) =>
        options.onFault?.({ call, method, fault })
      ),
      error: (fault) => Effect.failSync(() => options.error({ call, method, fault }))
    }
  }
}

type Calls<E> = ReturnType<typeof counter<E>>

const faultyEffect = <A, E, R>(effect: Effect.Effect<A, E, R>, method: string, calls: Calls<E>) =>
  Effect.suspend((): Effect.Effect<A, E, R> => {
    const { dice, error } = calls(method)
    if (dice.happens("hang")) return Effect.never
    if (dice.happens("fail")) return Effect.zipRight(dice.delay("delay"), error("fail"))
    const done = Effect.zipRight(dice.delay("delay"), effect)
    return Effect.flatMap(done, (value) => {
      if (dice.happens("late")) return error("late")
      return Effect.succeed(dice.happens("corrupt") ? (damaged(value, dice) as A) : value)
    })
  })

const faultyStream = <A, E, R>(stream: Stream.Stream<A, E, R>, method: string, calls: Calls<E>) =>
  Stream.suspend((): Stream.Stream<A, E, R> => {
    const { dice, error } = calls(method)
    if (dice.happens("hang")) return Stream.never
    if (dice.happens("fail")) return Stream.fromEffect(Effect.zipRight(dice.delay("delay"), error("fail")))
    const delayed = Stream.concat(Stream.drain(Stream.fromEffect(dice.delay("delay"))), stream)
    return Stream.concat(
      delayed,
      Stream.suspend(() => (dice.happens("late") ? Stream.fromEffect(error("late")) : Stream.empty))
    )
  })

const isStream = (value: unknown): value is Stream.Stream<unknown, unknown> =>
  typeof value === "object" && value !== null && Stream.StreamTypeId in value

/** A value with faults, if it is an effect or a stream. An `Option` or an `Either` is a value. */
const faultyValue = <E>(value: unknown, method: string, calls: Calls<E>): unknown => {
  if (Option.isOption(value) || Either.isEither(value)) return value
  if (Effect.isEffect(value)) return faultyEffect(value, method, calls)
  return isStream(value) ? faultyStream(value, method, calls) : value
}

const damaged = (value: unknown, dice: Dice): unknown => {
  if (typeof value === "string") return dice.pick<unknown>([FaultDice.damagedText(value, dice), "", null])
  if (typeof value === "number") return dice.pick<unknown>([Number.NaN, -value, Number.MAX_VALUE, String(value)])
  if (typeof value !== "object" || value === null) return dice.pick<unknown>([null, undefined, "", 7, []])
  if (Array.isArray(value)) {
    const at = dice.below(value.length)
    return dice.pick<() => unknown>([
      () => [],
      () => null,
      () => value.map((item, index) => (index === at ? damaged(item, dice) : item))
    ])()
  }
  const fields = Object.entries(value)
  const at = dice.below(fields.length)
  return dice.pick<() => unknown>([
    () => null,
    () => Object.fromEntries(fields.filter((_, index) => index !== at)),
    () => Object.fromEntries(fields.map(([name, field], index) => [name, index === at ? damaged(field, dice) : field]))
  ])()
}

/**
 * The service with faults in its functions, effects and streams; other members stay as they are. Calls are numbered as
 * they begin, across all members. A stream has the faults of one call each time that it runs; `late` fails it at its
 * end.
 *
 * A chance beyond 0 to 1 throws a `TypeError`, because faults are constants.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Service extends object, Name extends keyof Service = keyof Service>(
  service: Service,
  options: Options<Service, Name>
): Service => {
  // Damaged values of a store are no values of its port, even if options have more than their type says.
  const calls = counter({ ...options, corrupt: 0 })
  const only = new Set<PropertyKey>(options.only ?? Object.keys(service))
  const members = Object.entries(service).map(([name, member]: readonly [string, unknown]) => {
    if (!only.has(name)) return [name, member] as const
    return typeof member === "function"
      ? ([name, (...args: ReadonlyArray<unknown>) => faultyValue(member.apply(service, args), name, calls)] as const)
      : ([name, faultyValue(member, name, calls)] as const)
  })
  return Object.assign(Object.create(Object.getPrototypeOf(service)), service, Object.fromEntries(members))
}

/**
 * The handler of a tool, or any function that returns an effect, with faults.
 *
 * A chance beyond 0 to 1 throws a `TypeError`, because faults are constants.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Tool } from "effect-lexigram"
 * import { FaultyService } from "effect-lexigram/testing"
 * import * as Effect from "effect/Effect"
 *
 * const clock = Tool.make("clock", {
 *   description: "The time",
 *   handler: FaultyService.handler(() => Effect.succeed("12:00"), {
 *     seed: 7,
 *     fail: 0.2,
 *     corrupt: 0.1,
 *     error: () => "The clock has stopped"
 *   })
 * })
 * ```
 */
export const handler = <Args extends ReadonlyArray<any>, A, E, R, Failure = never>(
  handle: (...args: Args) => Effect.Effect<A, E, R>,
  options: HandlerOptions<Failure>
): ((...args: Args) => Effect.Effect<A, E | Failure, R>) => {
  const calls = counter<E | Failure>(options)
  return (...args) =>
    faultyEffect<A, E | Failure, R>(
      Effect.suspend(() => handle(...args)),
      "handler",
      calls
    )
}

/**
 * The service in context with faults.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { InMemorySessionStore, SessionError, SessionStore } from "effect-lexigram/session"
 * import { FaultyService } from "effect-lexigram/testing"
 * import * as Layer from "effect/Layer"
 *
 * const store = FaultyService.layer(SessionStore.SessionStore, {
 *   seed: 7,
 *   fail: 0.1,
 *   late: 0.1,
 *   error: () => new SessionError.SessionStorageError({ message: "The disk is away" })
 * }).pipe(Layer.provide(InMemorySessionStore.layer))
 * ```
 */
export const layer = <Id, Service extends object, Name extends keyof Service = keyof Service>(
  tag: Context.Tag<Id, Service>,
  options: Options<Service, Name>
): Layer.Layer<Id, never, Id> =>
  Layer.effect(
    tag,
    Effect.map(tag, (service) => make(service, options))
  )
