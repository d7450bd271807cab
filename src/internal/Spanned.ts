/**
 * A span, the context that carries it and a look at the exit, in one: what `withSpan` and `onExit` do together, at a third of their price
 * on the path of every model and tool call.
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

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

/** The class of fibers sets their refs at once; their public type only by an effect, which costs as much as the span. */
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

/**
 * Runs the effect in a span (without a stack trace). `onExit` sees every exit, interruption included, before the span ends; it must not
 * throw. `provide` puts services into the context beside the span.
 */
export const run = <A, E, R>(
  name: string,
  options: Options,
  effect: Effect.Effect<A, E, R>,
  onExit?: ((exit: Exit.Exit<A, E>, span: Tracer.Span) => void) | undefined,
  provide?: ((services: Map<string, unknown>) => void) | undefined
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const fiber = currentFiber()
    const spanOptions = new SpanOptions(options.kind, options.attributes)
    const outer = fiber.currentContext
    const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
    const timed = fiber.getFiberRef(FiberRef.currentTracerTimingEnabled)
    const within = (span: Tracer.Span): Effect.Effect<A, E, R> => {
      const end = (exit: Exit.Exit<A, E>): Effect.Effect<A, E> => {
        onExit?.(exit, span)
        if (span.status._tag !== "Ended") span.end(timed ? clock.unsafeCurrentTimeNanos() : zero, exit)
        const left = enter(fiber, outer)
        return left === undefined ? exit : Effect.zipRight(left, exit)
      }
      const services = new Map<string, unknown>()
      copyInto(services, outer)
      provide?.(services)
      services.set(Tracer.ParentSpan.key, span)
      const entered = enter(fiber, Context.unsafeMake(services))
      const body = restore(effect)
      return Effect.matchCauseEffect(entered === undefined ? body : Effect.zipRight(entered, body), {
        onFailure: (cause) => end(Exit.failCause(cause)),
        onSuccess: (value) => end(Exit.succeed(value))
      })
    }
    const span = plainSpan(fiber, name, spanOptions, timed ? clock.unsafeCurrentTimeNanos() : zero)
    return span === undefined ? Effect.flatMap(Effect.makeSpan(name, spanOptions), within) : within(span)
  })

/** The same without a span: `begin` gives back what sees the exit. */
export const watch = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  begin: (fiber: Fiber.RuntimeFiber<any, any>) => (exit: Exit.Exit<A, E>) => void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const onExit = begin(currentFiber())
    const end = (exit: Exit.Exit<A, E>): typeof exit => {
      onExit(exit)
      return exit
    }
    return Effect.matchCauseEffect(restore(effect), {
      onFailure: (cause) => end(Exit.failCause(cause)),
      onSuccess: (value) => end(Exit.succeed(value))
    })
  })
