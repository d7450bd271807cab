/**
 * What a handler requires, kept from where it was registered for whenever it is called. The capability to act for the
 * system is no part of it, neither of what is captured nor of what a handler is given.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as SystemGrant from "./SystemGrant.js"

const holds = (current: Context.Context<never>, captured: Context.Context<any>): boolean => {
  for (const key of captured.unsafeMap.keys()) if (!current.unsafeMap.has(key)) return false
  return true
}

/** The context of the one who registers, without its span: that one has ended when the handler is called. */
export const context = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(
    Effect.context<R>(),
    (captured) => Context.omit(Tracer.ParentSpan, SystemGrant.SystemAccess)(captured as any) as Context.Context<R>
  )

/** Gives an effect what was captured, beneath what is current where it runs. */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>, captured: Context.Context<R>): Effect.Effect<A, E> =>
  Effect.withFiberRuntime<A, E>(({ currentContext: current }) =>
    holds(current, captured)
      ? SystemGrant.dropIn(current, effect as Effect.Effect<A, E>)
      : Effect.provide(effect, SystemGrant.without(Context.merge(captured, current)) as Context.Context<R>)
  )
