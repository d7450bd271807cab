/**
 * A span, the context that carries it and a look at the exit, in one: what `withSpan` and `onExit` do together, at half their price on
 * the path of every model and tool call.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Tracer from "effect/Tracer"

/**
 * Runs the effect in a span (without a stack trace). `onExit` sees every exit, interruption included, before the span ends; it must not
 * throw. `services` are put into the context beside the span.
 */
export const run = <A, E, R>(
  name: string,
  options: Tracer.SpanOptions,
  effect: (span: Tracer.Span) => Effect.Effect<A, E, R>,
  onExit?: ((exit: Exit.Exit<A, E>, span: Tracer.Span) => void) | undefined,
  services?: Context.Context<any> | undefined
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.makeSpan(name, { ...options, captureStackTrace: false }), (span) =>
      Effect.withFiberRuntime<A, E, R>((fiber) => {
        const outer = fiber.currentContext
        const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
        const end = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
          onExit?.(exit, span)
          if (span.status._tag !== "Ended") span.end(clock.unsafeCurrentTimeNanos(), exit)
          return Effect.zipRight(FiberRef.set(FiberRef.currentContext, outer), exit)
        }
        return Effect.zipRight(
          FiberRef.set(
            FiberRef.currentContext,
            Context.add(services === undefined ? outer : Context.merge(outer, services), Tracer.ParentSpan, span)
          ),
          Effect.matchCauseEffect(restore(Effect.suspend(() => effect(span))), {
            onFailure: (cause) => end(Exit.failCause(cause)),
            onSuccess: (value) => end(Exit.succeed(value))
          })
        )
      })
    )
  )

/** The same without a span. */
export const watch = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.matchCauseEffect(restore(effect), {
      onFailure: (cause: Cause.Cause<E>) => {
        const exit = Exit.failCause(cause)
        onExit(exit)
        return exit
      },
      onSuccess: (value) => {
        const exit = Exit.succeed(value)
        onExit(exit)
        return exit
      }
    })
  )
