/**
 * Runs effects in spans, as `Effect.withSpan` without a stack trace, and differs in two points: a span ends with a
 * failure without data (`SpanFailure`), and a function sees the exit while the span is open.
 *
 * @private
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Tracer from "effect/Tracer"
import * as Deadline from "./Deadline.js"
import * as SpanFailure from "./SpanFailure.js"

/** How a span begins. */
export interface Options {
  readonly kind?: Tracer.SpanKind | undefined
  readonly attributes: Record<string, unknown>
}

/** Adds all services of a context to a map: entry by entry, because the constructor of `Map` makes a pair of each. */
export const copyInto = (services: Map<string, unknown>, context: Context.Context<never>): void =>
  context.unsafeMap.forEach((service, key) => void services.set(key, service))

/** The fiber that runs. For functions called inside an effect. */
export const currentFiber = (): Fiber.RuntimeFiber<any, any> => Option.getOrThrow(Fiber.getCurrentFiber())

type Provide = (services: Map<string, unknown>) => void

const match = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  f: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E2, R | R2> =>
  Effect.matchCauseEffect(effect, {
    onFailure: (cause) => f(Exit.failCause(cause)),
    onSuccess: (value) => f(Exit.succeed(value))
  })

const contextOf = (
  outer: Context.Context<never>,
  span: Tracer.Span,
  provide: Provide | undefined
): Context.Context<never> => {
  const services = new Map<string, unknown>()
  copyInto(services, outer)
  provide?.(services)
  services.set(Tracer.ParentSpan.key, span)
  return Context.unsafeMake(services)
}

const endSpan = (fiber: Fiber.RuntimeFiber<any, any>, span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): void => {
  if (span.status._tag === "Ended") return
  const time = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
    ? Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeNanos()
    : BigInt(0)
  span.end(time, SpanFailure.exit(exit))
}

/**
 * Runs the effect in a new span. `onExit` sees every exit before the span ends. Only for uninterruptible regions: there
 * the context can be set and set back.
 */
const inSpan = <A, E, R>(
  fiber: Fiber.RuntimeFiber<any, any>,
  name: string,
  options: Options,
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>, span: Tracer.Span) => void,
  provide?: Provide | undefined
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.makeSpan(name, { kind: options.kind, attributes: options.attributes, captureStackTrace: false }),
    (span) => {
      const outer = fiber.currentContext
      return Effect.zipRight(
        FiberRef.set(FiberRef.currentContext, contextOf(outer, span, provide)),
        match(effect, (exit) => {
          onExit(exit, span)
          endSpan(fiber, span, exit)
          return Effect.zipRight(FiberRef.set(FiberRef.currentContext, outer), exit)
        })
      )
    }
  )

/**
 * Runs the effect in a span. `onExit` sees every exit, interruption included, before the span ends; it must not throw.
 * `provide` adds services to the context of the effect.
 */
export const run = <A, E, R>(
  name: string,
  options: Options,
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>, span: Tracer.Span) => void,
  provide?: Provide | undefined
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => inSpan(currentFiber(), name, options, restore(effect), onExit, provide))

/** A call with a span, a deadline and an exit that is turned into its result. */
export interface Call<A, E, B, E2, R> {
  readonly span: (Options & { readonly name: string }) | undefined
  /** The effect and its limits. Called inside the span; an exception is a defect of the call. */
  readonly begin: () => {
    readonly effect: Effect.Effect<A, E, R>
    readonly deadline: Deadline.Options<E> | undefined
  }
  /** The result. An exit is final; any other effect may be interrupted. */
  readonly settle: (exit: Exit.Exit<A, E>, isInterrupted: () => boolean) => Effect.Effect<B, E2, R>
  /** Sees every exit before the span ends. Must not throw. */
  readonly onExit: (exit: Exit.Exit<B, E2>, span: Tracer.Span | undefined) => void
}

/** Runs a call in its span and under its deadline. */
export const call = <A, E, B, E2, R>(
  make: (fiber: Fiber.RuntimeFiber<any, any>) => Call<A, E, B, E2, R>
): Effect.Effect<B, E2, R> =>
  Effect.withFiberRuntime<B, E2, R>((fiber, status) => {
    const { begin, onExit, settle, span } = make(fiber)
    const isInterrupted = () =>
      RuntimeFlags.interruptible(status.runtimeFlags) && !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
    const called = Effect.suspend(() => {
      const { deadline, effect } = begin()
      return deadline === undefined ? effect : Deadline.run(() => effect, deadline)
    })
    return Effect.uninterruptibleMask((restore) => {
      const settled = match(restore(called), (exit) =>
        Effect.suspend(() => {
          const result = settle(exit, isInterrupted)
          return Exit.isExit(result) ? result : restore(result)
        })
      )
      return span === undefined
        ? match(settled, (exit) => {
            onExit(exit, undefined)
            return exit
          })
        : inSpan(fiber, span.name, span, settled, onExit)
    })
  })

/** Lets a function see the exit of the effect, without a span. `begin` is called first and returns that function. */
export const watch = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  begin: (fiber: Fiber.RuntimeFiber<any, any>) => (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const onExit = begin(currentFiber())
    return match(restore(effect), (exit) => {
      onExit(exit)
      return exit
    })
  })
