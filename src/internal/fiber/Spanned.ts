/**
 * A span, the context that carries it and a look at the exit, in one: what `withSpan` and `onExit` do together, at a
 * third of their price on the path of every model and tool call.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Tracer from "effect/Tracer"
import * as Deadline from "./Deadline.js"
import * as SpanFailure from "./SpanFailure.js"
import * as Watch from "./Watch.js"

/**
 * How a span begins.
 */
export interface Options {
  readonly kind?: Tracer.SpanKind | undefined
  readonly attributes: Record<string, unknown>
}

/** What `Tracer.SpanOptions` says the same way for every span here. */
class SpanOptions implements Tracer.SpanOptions {
  readonly kind: Tracer.SpanKind
  readonly captureStackTrace = false
  constructor(
    kind: Tracer.SpanKind | undefined,
    readonly attributes: Record<string, unknown>
  ) {
    this.kind = kind ?? "internal"
  }
}

const noLinks: ReadonlyArray<Tracer.SpanLink> = []
const zero = BigInt(0)

/** Puts all services of a context into a map: entry by entry, because the constructor of `Map` makes a pair of each. */
export const copyInto = (services: Map<string, unknown>, context: Context.Context<never>): void =>
  context.unsafeMap.forEach((service, key) => void services.set(key, service))

/** The fiber that runs; only for what is called from inside an effect. */
export const currentFiber = (): Fiber.RuntimeFiber<any, any> => Option.getOrThrow(Fiber.getCurrentFiber())

const isPropagated = (span: Tracer.AnySpan): boolean => !Context.get(span.context, Tracer.DisablePropagation)

/** The span `Effect.makeSpan` makes where nothing about it is out of the ordinary; `undefined` where something is. */
const plainSpan = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  name: string,
  options: SpanOptions,
  time: bigint
): Tracer.Span | undefined => {
  const parent = fiber.currentSpan
  if (
    !fiber.getFiberRef(FiberRef.currentTracerEnabled) ||
    !HashMap.isEmpty(fiber.getFiberRef(FiberRef.currentTracerSpanAnnotations)) ||
    !Chunk.isEmpty(fiber.getFiberRef(FiberRef.currentTracerSpanLinks)) ||
    (parent !== undefined && !isPropagated(parent))
  ) {
    return undefined
  }
  const { attributes } = options
  const span = fiber.currentTracer.span(
    name,
    parent === undefined ? Option.none() : Option.some(parent),
    Context.empty(),
    noLinks,
    time,
    options.kind,
    options
  )
  for (const key in attributes) span.attribute(key, attributes[key])
  return span
}

/**
 * The class of fibers sets their refs at once; their public type only by an effect, which costs as much as the span.
 */
interface Settable {
  readonly setFiberRef?: (ref: typeof FiberRef.currentContext, value: Context.Context<never>) => void
}

/** What is left to do for the context to be the current one. */
const enter = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  context: Context.Context<never>
): Effect.Effect<void> | undefined => {
  const { setFiberRef } = fiber as Settable
  if (setFiberRef === undefined) return FiberRef.set(FiberRef.currentContext, context)
  setFiberRef.call(fiber, FiberRef.currentContext, context)
  return undefined
}

const match = <A, E, R, B, E2, R2>(
  effect: Effect.Effect<A, E, R>,
  f: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E2, R | R2> =>
  Effect.matchCauseEffect(effect, {
    onFailure: (cause) => f(Exit.failCause(cause)),
    onSuccess: (value) => f(Exit.succeed(value))
  })

/** Inside a mask: `work` in a new span, which ends when `end` is called. */
const spanned = <A, E, R>(
  fiber: Fiber.RuntimeFiber<any, any>,
  name: string,
  options: Options,
  provide: ((services: Map<string, unknown>) => void) | undefined,
  work: (
    span: Tracer.Span,
    end: (exit: Exit.Exit<A, E>) => Effect.Effect<A, E>,
    services: Map<string, unknown>
  ) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const spanOptions = new SpanOptions(options.kind, options.attributes)
  const outer = fiber.currentContext
  const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
  const timed = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
  const within = (span: Tracer.Span): Effect.Effect<A, E, R> => {
    const services = new Map<string, unknown>()
    copyInto(services, outer)
    provide?.(services)
    services.set(Tracer.ParentSpan.key, span)
    const entered = enter(fiber, Context.unsafeMake(services))
    const end = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
      if (span.status._tag !== "Ended") {
        span.end(timed ? clock.unsafeCurrentTimeNanos() : zero, SpanFailure.exit(exit))
      }
      const left = enter(fiber, outer)
      return left === undefined ? exit : Effect.zipRight(left, exit)
    }
    return entered === undefined ? work(span, end, services) : Effect.flatMap(entered, () => work(span, end, services))
  }
  const span = plainSpan(fiber, name, spanOptions, timed ? clock.unsafeCurrentTimeNanos() : zero)
  return span === undefined ? Effect.flatMap(Effect.makeSpan(name, spanOptions), within) : within(span)
}

/**
 * Runs the effect in a span (without a stack trace). `onExit` sees every exit, interruption included, before the span
 * ends; it must not throw. `provide` puts services into the context beside the span.
 */
export const run = <A, E, R>(
  name: string,
  options: Options,
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>, span: Tracer.Span) => void,
  provide?: ((services: Map<string, unknown>) => void) | undefined
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    spanned<A, E, R>(currentFiber(), name, options, provide, (span, end) =>
      match(restore(effect), (exit) => {
        onExit(exit, span)
        return end(exit)
      })
    )
  )

/**
 * One guarded call and everything around it.
 */
export interface Call<A, E, B, E2, R> {
  readonly span: (Options & { readonly name: string }) | undefined
  /** What is called, with its limit. Made when the span is the current one; what it throws is a defect of the call. */
  readonly begin: () => {
    readonly effect: Effect.Effect<A, E, R>
    readonly deadline: Deadline.Options<E> | undefined
  }
  /** What comes of it: an exit at once, or an effect, which may be interrupted. */
  readonly settle: (exit: Exit.Exit<A, E>, isInterrupted: () => boolean) => Effect.Effect<B, E2, R>
  /** Sees the end, however it comes, before the span ends. Must not throw. */
  readonly onExit: (exit: Exit.Exit<B, E2>, span: Tracer.Span | undefined) => void
}

/**
 * A call in its span and under its deadline, in one uninterruptible region instead of three: what a step of a run is
 * made of.
 */
export const call = <A, E, B, E2, R>(
  make: (fiber: Fiber.RuntimeFiber<any, any>) => Call<A, E, B, E2, R>
): Effect.Effect<B, E2, R> =>
  Effect.withFiberRuntime<B, E2, R>((fiber, status) => {
    const isInterruptible = RuntimeFlags.interruptible(status.runtimeFlags)
    const given = make(fiber)
    const { onExit, settle, span } = given
    const isInterrupted = () => isInterruptible && !Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause))
    return Effect.uninterruptibleMask((restore) => {
      const settling = (exit: Exit.Exit<A, E>): Effect.Effect<B, E2, R> => {
        try {
          return settle(exit, isInterrupted)
        } catch (defect) {
          return Exit.die(defect)
        }
      }
      const work = (
        span: Tracer.Span | undefined,
        end: (exit: Exit.Exit<B, E2>) => Effect.Effect<B, E2>,
        services?: Map<string, unknown>
      ) => {
        const ended = (exit: Exit.Exit<B, E2>): Effect.Effect<B, E2> => {
          onExit(exit, span)
          return end(exit)
        }
        const settled = (exit: Exit.Exit<A, E>): Effect.Effect<B, E2, R> => {
          const result = settling(exit)
          return Exit.isExit(result) ? ended(result as Exit.Exit<B, E2>) : match(restore(result), ended)
        }
        const { deadline, effect } = begun(given)
        if (deadline === undefined) return match(restore(effect), settled)
        const armed = Deadline.arm(fiber, isInterruptible, deadline)
        if (armed === undefined) return match(restore(Deadline.run(() => effect, deadline)), settled)
        return match(restore(pausable(effect, armed.watch, deadline, services)), (exit) => {
          const late = armed.end(Exit.isFailure(exit) ? exit.cause : undefined)
          return late === undefined ? settled(exit) : match(late, settled)
        })
      }
      return span === undefined ? work(undefined, (exit) => exit) : spanned(fiber, span.name, span, undefined, work)
    })
  })

/** In a span the context is new: what pauses the watch is put into it in place. */
const pausable = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  watch: Watch.Watch,
  deadline: Deadline.Options<unknown>,
  services: Map<string, unknown> | undefined
): Effect.Effect<A, E, R> => {
  if (deadline.pausable !== true) return effect
  if (services === undefined) return Watch.within(effect, watch)
  services.set(Watch.Enclosing.key, watch)
  return effect
}

const begun = <A, E, R>({ begin }: Pick<Call<A, E, any, any, R>, "begin">): ReturnType<typeof begin> => {
  try {
    return begin()
  } catch (defect) {
    return { effect: Effect.die(defect), deadline: undefined }
  }
}

/** The same without a span: `begin` gives back what sees the exit. */
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
