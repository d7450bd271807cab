/**
 * Runs effects under time limits: on the whole, until the first part and between parts. Reads like
 * `Effect.timeoutFail`, and differs in three points: time spent waiting for people and readers does not count, the
 * limits hold in uninterruptible callers too, and a defect of a finalizer stays visible.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as CallTimer from "./CallTimer.js"
import * as Services from "./Services.js"
import { Enclosing, type Options, type Pulse, Watch } from "./Watch.js"

export type { Options, Phase, Pulse } from "./Watch.js"

const noPulse: Pulse = { beat: () => {}, hold: () => {} }

/** Makes what it surrounds as interruptible as the caller. */
type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** What the child has of its own: its interruptibility, and the watch in its context. */
const isOwn = (ref: FiberRef.FiberRef<any>): boolean =>
  ref === FiberRef.currentRuntimeFlags || ref === FiberRef.currentContext

/** Joining fiber refs costs more than seeing that there is nothing to join. */
const sameRefs = (before: FiberRefs.FiberRefs, after: FiberRefs.FiberRefs): boolean => {
  if (before.locals.size !== after.locals.size) return false
  let same = true
  after.locals.forEach((stack, ref) => {
    if (!isOwn(ref) && before.locals.get(ref)?.[0][1] !== stack[0][1]) same = false
  })
  return same
}

/** The failure of a call that ran out of time, whatever its effect returned after that. */
const expired = <E, E2>(
  ended: NonNullable<Watch["ended"]>,
  exit: Exit.Exit<unknown, E>,
  options: Options<E2>
): Exit.Exit<never, E2> => {
  const cause = Cause.fail("error" in ended ? (ended.error as E2) : options.onTimeout(ended.phase, ended.limit))
  const defects = Exit.isFailure(exit) ? Cause.keepDefects(exit.cause) : Option.none()
  return Exit.failCause(Option.isSome(defects) ? Cause.sequential(cause, defects.value) : cause)
}

/** The exit of a child. `onEnd` is called at its end, before the caller continues. */
const exitOf = <A, E>(child: Fiber.RuntimeFiber<A, E>, onEnd: () => void): Effect.Effect<Exit.Exit<A, E>> =>
  Effect.async((resume) =>
    child.addObserver((exit) => {
      onEnd()
      resume(Exit.succeed(exit))
    })
  )

/** Starts what ends a running child early: the timer, and the caller's `ending`. Returns how to stop both. */
const guard = <E2>(
  child: Fiber.RuntimeFiber<unknown, unknown>,
  parent: Fiber.RuntimeFiber<unknown, unknown>,
  runtime: Runtime.Runtime<never>,
  watch: Watch,
  options: Options<E2>
): (() => void) => {
  const interrupt = () => child.unsafeInterruptAsFork(parent.id())
  const unsubscribe = options.ending?.((error) => {
    if (watch.ended !== undefined) return
    watch.ended = { error }
    interrupt()
  })
  if (watch.isEndless) return () => unsubscribe?.()
  const timer = CallTimer.of(parent, watch.clock)
  const call = timer.add({ watch, interrupt, runtime })
  return () => {
    unsubscribe?.()
    timer.remove(call)
  }
}

const isEndless = ({ ending, first, gap, whole }: Options<unknown>): boolean =>
  whole === undefined && first === undefined && gap === undefined && ending === undefined

/** The context of the child: that of the caller with what the options add. */
const contextOf = <E>(
  context: Context.Context<never>,
  { pausable, provide }: Options<E>,
  watch: Watch
): Context.Context<never> =>
  pausable !== true && provide === undefined
    ? context
    : Services.extend(context, (services) => {
        provide?.(services)
        if (pausable === true) services.set(Enclosing.key, watch)
      })

/**
 * `run` for a caller that is uninterruptible: `restore` surrounds the wait for the effect. Masked, because the effect
 * may interrupt its caller before the caller waits for it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const runMasked = <A, E, R, E2>(
  effect: (pulse: Pulse) => Effect.Effect<A, E, R>,
  options: Options<E2>,
  parent: Fiber.RuntimeFiber<any, any>,
  flags: RuntimeFlags.RuntimeFlags,
  restore: Restore
): Effect.Effect<A, E | E2, R> => {
  const watch = new Watch(Context.get(parent.currentDefaultServices, Clock.Clock), options, parent)
  const refs = parent.getFiberRefs()
  const runtime = Runtime.make<never>({
    context: contextOf(parent.currentContext, options, watch),
    fiberRefs: refs,
    runtimeFlags: RuntimeFlags.enable(flags, RuntimeFlags.Interruption)
  })
  const child = Runtime.runFork(
    runtime as Runtime.Runtime<R>,
    Effect.suspend(() => effect(watch))
  )
  const settle = (exit: Exit.Exit<A, E>): Effect.Effect<A, E | E2> => {
    if (watch.ended !== undefined) return expired(watch.ended, exit, options)
    const left = child.getFiberRefs()
    return sameRefs(refs, left)
      ? exit
      : Effect.zipRight(Effect.inheritFiberRefs(FiberRefs.delete(left, FiberRef.currentContext)), exit)
  }
  // An effect that does not wait for anything has ended by now, and needs no timer.
  const ended = child.unsafePoll()
  if (ended !== null) return settle(ended)
  const stop = guard(child, parent, runtime, watch, options)
  return Effect.matchCauseEffect(restore(exitOf(child, stop)), {
    onSuccess: settle,
    onFailure: (cause) => {
      stop()
      return Effect.zipRight(Fiber.interruptAs(child, parent.id()), Effect.failCause(cause))
    }
  })
}

/**
 * Runs the effect under the limits. When one passes, the effect is interrupted, its finalizers are awaited, and the
 * result is `onTimeout`'s error, whatever the effect returned after that. Otherwise success, failure, defect,
 * interruption and changes of fiber refs pass through. Interrupting the caller interrupts the effect and waits for it.
 *
 * The effect runs in a child fiber, as with `Effect.timeoutFail`: fibers it forks end with it. The limits hold where
 * the caller is uninterruptible (in a finalizer, say): the effect then sees only the interruption by its deadline. A
 * region that the effect itself makes uninterruptible is awaited.
 *
 * Without any limit the effect runs in the fiber of the caller.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <A, E, R, E2>(
  effect: (pulse: Pulse) => Effect.Effect<A, E, R>,
  options: Options<E2>
): Effect.Effect<A, E | E2, R> => {
  const { provide } = options
  if (isEndless(options)) {
    const endless = Effect.suspend(() => effect(noPulse))
    return provide === undefined
      ? endless
      : Effect.mapInputContext(endless, (context: Context.Context<R>) => Services.extend(context, provide))
  }
  return Effect.withFiberRuntime<A, E | E2, R>((parent, status) =>
    Effect.uninterruptibleMask((restore) => runMasked(effect, options, parent, status.runtimeFlags, restore))
  )
}
