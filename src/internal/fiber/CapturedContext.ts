/**
 * Captures the context in which a handler is registered, for its later calls. The capability of `SystemAccess` is
 * neither captured nor passed to a handler.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import * as SystemGrant from "./SystemGrant.js"

const holds = (current: Context.Context<never>, captured: Context.Context<any>): boolean => {
  if (captured.unsafeMap === current.unsafeMap) return true
  for (const key of captured.unsafeMap.keys()) if (!current.unsafeMap.has(key)) return false
  return true
}

/** The context of the registration without its span, which has ended when the handler is called. */
export const context = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(
    Effect.context<R>(),
    (captured) => Context.omit(Tracer.ParentSpan, SystemGrant.SystemAccess)(captured as any) as Context.Context<R>
  )

/**
 * Provides the captured context below the current one, whose services win. Inside the run that captured it, the current
 * context has all of it, and looking costs less than providing.
 */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>, captured: Context.Context<R>): Effect.Effect<A, E> =>
  Effect.withFiberRuntime<A, E>(({ currentContext: current }) =>
    holds(current, captured)
      ? SystemGrant.dropIn(current, effect as Effect.Effect<A, E>)
      : Effect.provide(effect, SystemGrant.without(Context.merge(captured, current)) as Context.Context<R>)
  )
