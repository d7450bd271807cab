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
import * as Services from "./Services.js"
import * as SpanFailure from "./SpanFailure.js"

/** How a span begins. */
export interface Options {
  readonly kind?: Tracer.SpanKind | undefined
  readonly attributes: Record<string, unknown>
}

/** The fiber that runs. For functions called inside an effect. */
export const currentFiber = (): Fiber.RuntimeFiber<any, any> => Option.getOrThrow(Fiber.getCurrentFiber())

const match = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  f: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E2, R | R2> =>
  Effect.matchCauseEffect(effect, {
    onFailure: (cause) => f(Exit.failCause(cause)),
    onSuccess: (value) => f(Exit.succeed(value))
  })

const endSpan = (fiber: Fiber.RuntimeFiber<any, any>, span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): void => {
  if (span.status._tag === "Ended") return
  const time = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
    ? Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeNanos()
    : BigInt(0)
  span.end(time, SpanFailure.exit(exit))
}

const makeSpan = (name: string, { attributes, kind }: Options): Effect.Effect<Tracer.Span> =>
  Effect.makeSpan(name, { kind, attributes, captureStackTrace: false })

/** Runs an uninterruptible effect with more services: there the context can be set and set back. */
const provided = <A, E, R>(
  fiber: Fiber.RuntimeFiber<any, any>,
  add: Services.Add,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const outer = fiber.currentContext
  return Effect.zipRight(
    FiberRef.set(FiberRef.currentContext, Services.extend(outer, add)),
    match(effect, (exit) => Effect.zipRight(FiberRef.set(FiberRef.currentContext, outer), exit))
  )
}

/**
 * Runs the effect in a span. `onExit` sees every exit, interruption included, before the span ends; it must not throw.
 * `provide` adds services to the context of the effect.
 */
export const run = <A, E, R>(
  name: string,
  options: Options,
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>, span: Tracer.Span) => void,
  provide?: Services.Add | undefined
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const fiber = currentFiber()
    return Effect.flatMap(makeSpan(name, options), (span) => {
      const add: Services.Add = (services) => {
        provide?.(services)
        services.set(Tracer.ParentSpan.key, span)
      }
      return match(provided(fiber, add, restore(effect)), (exit) => {
        onExit(exit, span)
        endSpan(fiber, span, exit)
        return exit
      })
    })
  })

/** A call with a span, a deadline and an exit that is turned into its result. */
export interface Call<A, E, B, E2, R> {
  readonly span: (Options & { readonly name: string }) | undefined
  /** The limits of the effect. Under limits it runs in a child fiber, with what the options provide. */
  readonly deadline: Deadline.Options<E> | undefined
  /** The effect. Called once; an exception is a defect of the call. */
  readonly begin: () => Effect.Effect<A, E, R>
  /** The result. An exit is final; any other effect may be interrupted. */
  readonly settle: (exit: Exit.Exit<A, E>, isInterrupted: () => boolean) => Effect.Effect<B, E2, R>
  /** Sees every exit before the span ends. Must not throw. */
  readonly onExit: (exit: Exit.Exit<B, E2>, span: Tracer.Span | undefined) => void
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The effect of a call in its span and under its deadline. The child fiber of a deadline gets the span at no cost. */
const work = <A, E, R>(
  fiber: Fiber.RuntimeFiber<any, any>,
  flags: RuntimeFlags.RuntimeFlags,
  { begin, deadline }: Call<A, E, any, any, R>,
  span: Tracer.Span | undefined,
  restore: Restore
): Effect.Effect<A, E, R> => {
  const addSpan: Services.Add = (services) => services.set(Tracer.ParentSpan.key, span)
  if (deadline === undefined) {
    const begun = restore(Effect.suspend(begin))
    return span === undefined ? begun : provided(fiber, addSpan, begun)
  }
  const { provide } = deadline
  const limits: Deadline.Options<E> =
    span === undefined
      ? deadline
      : {
          ...deadline,
          provide: (services) => {
            provide?.(services)
            addSpan(services)
          }
        }
  return Deadline.runMasked(begin, limits, fiber, flags, restore)
}

const isEnded = <A, E, R>(effect: Effect.Effect<A, E, R> | Exit.Exit<A, E>): effect is Exit.Exit<A, E> =>
  Exit.isExit(effect)

/** The result of a call; an exception is a defect. */
const settled = <A, E, B, E2, R>(
  { settle }: Call<A, E, B, E2, R>,
  exit: Exit.Exit<A, E>,
  isInterrupted: () => boolean
): Effect.Effect<B, E2, R> => {
  try {
    return settle(exit, isInterrupted)
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** Runs a call in its span and under its deadline. */
export const call = <A, E, B, E2, R>(
  make: (fiber: Fiber.RuntimeFiber<any, any>) => Call<A, E, B, E2, R>
): Effect.Effect<B, E2, R> =>
  Effect.withFiberRuntime<B, E2, R>((fiber, { runtimeFlags: flags }) => {
    const one = make(fiber)
    const isInterrupted = () =>
      RuntimeFlags.interruptible(flags) && !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
    return Effect.uninterruptibleMask((restore) => {
      const inside = (span: Tracer.Span | undefined): Effect.Effect<B, E2, R> => {
        const end = (exit: Exit.Exit<B, E2>): Effect.Effect<B, E2> => {
          one.onExit(exit, span)
          if (span !== undefined) endSpan(fiber, span, exit)
          return exit
        }
        return match(work(fiber, flags, one, span, restore), (exit) => {
          const result = settled(one, exit, isInterrupted)
          return isEnded(result) ? end(result) : match(restore(result), end)
        })
      }
      return one.span === undefined ? inside(undefined) : Effect.flatMap(makeSpan(one.span.name, one.span), inside)
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
