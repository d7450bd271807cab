/**
 * The capability of `SystemAccess`, for modules below it. Captured contexts and code of the application never get it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Ambient from "./Ambient.js"

const GrantId: unique symbol = Symbol("effect-lexigram/domain/SystemAccess")

export interface Held {
  readonly [GrantId]: typeof GrantId
}

const value = (): Held => Object.freeze({ [GrantId]: GrantId } as const)

// Distinguished by identity alone.
export const granted = value()
export const denied = value()

export const isGrant = (held: unknown): boolean => held === granted

export class SystemAccess extends Ambient.Reference<SystemAccess>()("effect-lexigram/domain/SystemAccess", {
  defaultValue: (): Held => denied
}) {}

const isGranted = (context: Context.Context<never>): boolean => isGrant(context.unsafeMap.get(SystemAccess.key))

/** The context without the capability; the same object when it has none. */
export const without = <R>(context: Context.Context<R>): Context.Context<R> =>
  isGranted(context as Context.Context<never>)
    ? (Context.add(context, SystemAccess, denied) as Context.Context<R>)
    : context

export const grant = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, SystemAccess, granted)

/**
 * Drops the capability in a fiber with this context. Returns the effect itself when there is none, which is the usual
 * case.
 */
export const dropIn = <A, E, R>(
  current: Context.Context<never>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => (isGranted(current) ? Effect.provideService(effect, SystemAccess, denied) : effect)

export const drop = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime<A, E, R>((fiber) => dropIn(fiber.currentContext, effect))
