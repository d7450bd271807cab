/**
 * One watchdog for model calls and tool calls: a limit on the whole call, on the time to the first part and on the gap
 * between parts, with a single timer on Effect's `Clock`.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import type * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import { type Beat, type Options, Watch, within } from "./Watch.js"

export type { Beat, Options, Phase } from "./Watch.js"

/** What a timer of the platform can wait at most. */
const maxTimer = 2 ** 31 - 1

const noBeat: Beat = Object.assign(() => {}, { hold: () => {} })

const wait = (millis: number): Duration.Duration => Duration.millis(Math.min(Math.ceil(millis), maxTimer))

/** The live clock gives its timers away; any other clock (`TestClock`) is only asked to sleep. */
const schedulerOf = (clock: Clock.Clock): Effect.Effect<Clock.ClockScheduler> | undefined => {
  const scheduler = (clock as { readonly scheduler?: () => Effect.Effect<Clock.ClockScheduler> }).scheduler
  return typeof scheduler === "function" ? scheduler.call(clock) : undefined
}

/** Joining fiber refs costs more than seeing that there is nothing to join. */
const sameRefs = (before: FiberRefs.FiberRefs, after: FiberRefs.FiberRefs): boolean => {
  if (before.locals.size !== after.locals.size) return false
  for (const [ref, stack] of after.locals) {
    // The flags differ by the interruptibility the effect is given, which is not inherited.
    if (ref !== FiberRef.currentRuntimeFlags && before.locals.get(ref)?.[0][1] !== stack[0][1]) return false
  }
  return true
}

const settle = <A, E, E2>(
  child: Fiber.RuntimeFiber<A, E>,
  refs: FiberRefs.FiberRefs,
  exit: Exit.Exit<A, E>,
  watch: Watch,
  options: Options<E2>
): Effect.Effect<A, E | E2> => {
  if (watch.ended === undefined) {
    return sameRefs(refs, child.getFiberRefs()) ? exit : Effect.zipRight(child.inheritAll, exit)
  }
  return expired(watch, Exit.isFailure(exit) ? exit.cause : undefined, options)
}

/** What a call comes to whose time was up, whatever its effect still made of it. */
const expired = <E, E2>(
  watch: Watch,
  made: Cause.Cause<E> | undefined,
  options: Options<E2>
): Effect.Effect<never, E2> =>
  Effect.failCauseSync(() => {
    const ended = watch.ended as NonNullable<Watch["ended"]>
    const cause = Cause.fail("error" in ended ? (ended.error as E2) : options.onTimeout(ended.phase, ended.limit))
    // A finalizer that dies while the effect is interrupted is a bug that must stay visible.
    const defects = made === undefined ? Option.none() : Cause.keepDefects(made)
    return Option.isSome(defects) ? Cause.sequential(cause, defects.value) : cause
  })

/** Stops the timer; the Effect, where there is one, ends when the timer's fiber has. */
type Stop = () => Effect.Effect<void> | undefined

/** Looks at the watch whenever something may have passed, and not while it is paused. */
const ticking = (
  watch: Watch,
  scheduler: Clock.ClockScheduler,
  look: () => number,
  first: Duration.Duration
): (() => undefined) => {
  const tick = (): void => {
    if (watch.ended !== undefined) return
    if (watch.isPaused) {
      watch.onResume = tick
      return
    }
    const next = look()
    if (watch.ended === undefined) cancel = scheduler.unsafeSchedule(tick, wait(next))
  }
  let cancel = scheduler.unsafeSchedule(tick, first)
  return () => {
    watch.onResume = undefined
    cancel()
  }
}

const startTimer = (
  watch: Watch,
  child: Fiber.RuntimeFiber<unknown, unknown>,
  runtime: Runtime.Runtime<never>,
  scheduler: Clock.ClockScheduler | undefined,
  by: FiberId.FiberId
): Stop => {
  if (watch.isEndless) return () => undefined
  const look = (): number => {
    const next = watch.check()
    if (watch.ended !== undefined) child.unsafeInterruptAsFork(by)
    return next
  }
  if (scheduler !== undefined) {
    return ticking(watch, scheduler, look, wait(watch.initial()))
  }
  const resumed = Effect.async<void>((resume) => {
    watch.onResume = () => resume(Effect.void)
  })
  const loop = (millis: number): Effect.Effect<void> => Effect.flatMap(watch.clock.sleep(wait(millis)), again)
  const again = (): Effect.Effect<void> => {
    if (watch.ended !== undefined) return Effect.void
    if (watch.isPaused) return Effect.flatMap(resumed, again)
    const next = look()
    return watch.ended === undefined ? loop(next) : Effect.void
  }
  const timer = Runtime.runFork(runtime, loop(watch.initial()))
  return () => Fiber.interruptAs(timer, by)
}

/**
 * Runs the effect under the limits. When one passes, the effect is interrupted, its finalizers are awaited, and
 * the result is `onTimeout`'s error, whatever the effect still made of it. Otherwise success, failure, defect and
 * interruption pass through as they are, and so do changes of fiber refs. Interrupting the caller interrupts the effect
 * and waits for it.
 *
 * The limits hold even where the caller is uninterruptible (in a finalizer, say): the effect then sees no other
 * interruption than that of its deadline. Only a region the effect itself makes uninterruptible is waited for.
 *
 * Without any limit the effect runs inline.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <A, E, R, E2>(
  effect: (beat: Beat) => Effect.Effect<A, E, R>,
  options: Options<E2>
): Effect.Effect<A, E | E2, R> => {
  if (
    options.whole === undefined &&
    options.first === undefined &&
    options.gap === undefined &&
    options.ending === undefined
  ) {
    return Effect.suspend(() => effect(noBeat))
  }
  return Effect.withFiberRuntime<A, E | E2, R>((parent, status) => {
    const clock = Context.get(parent.currentDefaultServices, Clock.Clock)
    const watch = new Watch(clock, options, parent)
    const scheduler = schedulerOf(clock)
    if (scheduler !== undefined && RuntimeFlags.interruptible(status.runtimeFlags) && hasNoChildren(parent)) {
      return Exit.isExit(scheduler) && Exit.isSuccess(scheduler)
        ? inline(effect, options, watch, parent, scheduler.value as Clock.ClockScheduler)
        : Effect.flatMap(scheduler, (scheduler) => inline(effect, options, watch, parent, scheduler))
    }
    // Masked, because the effect may interrupt its own caller before the caller waits for it.
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => forked(effect, restore, options, watch, parent, status.runtimeFlags, scheduler))
    )
  })
}

const inside = <A, E, R>(
  effect: (beat: Beat) => Effect.Effect<A, E, R>,
  watch: Watch,
  options: Options<unknown>
): Effect.Effect<A, E, R> => {
  const begun = Effect.suspend(() => effect(watch.beat))
  return options.pausable === true ? within(begun, watch) : begun
}

/** An interruption reaches all children of a fiber: those it had before must not pay for this effect's deadline. */
const hasNoChildren = (fiber: Fiber.RuntimeFiber<unknown, unknown>): boolean => {
  const children = (fiber as { readonly _children?: unknown })._children
  return children === null || (children instanceof Set && children.size === 0)
}

/** The cause without the interruption by one fiber. */
const without = (cause: Cause.Cause<never>, by: FiberId.FiberId): Cause.Cause<never> => {
  switch (cause._tag) {
    case "Interrupt":
      return Equal.equals(cause.fiberId, by) ? Cause.empty : cause
    case "Sequential":
    case "Parallel": {
      const left = without(cause.left, by)
      const right = without(cause.right, by)
      if (Cause.isEmptyType(left)) return right
      if (Cause.isEmptyType(right)) return left
      return cause._tag === "Sequential" ? Cause.sequential(left, right) : Cause.parallel(left, right)
    }
    default:
      return cause
  }
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Ends what runs now: cheaper than `queueMicrotask`, which makes a resource for async hooks each time. */
const now: Promise<void> = Promise.resolve()

/**
 * Calls under one limit run out of time in the order they began: a single timer, for the oldest of them, watches them
 * all. It is set at the end of what runs now, so that a call that ends before costs no timer.
 */
class Queue {
  private first: Inline<unknown> | undefined
  private last: Inline<unknown> | undefined
  private cancel: Clock.CancelToken | undefined
  private isWaking = false

  constructor(
    private readonly scheduler: Clock.ClockScheduler,
    private readonly onEmpty: (queue: Queue) => void
  ) {}

  add(call: Inline<unknown>): void {
    call.queue = this
    call.previous = this.last
    if (this.last === undefined) this.first = call
    else this.last.next = call
    this.last = call
    if (this.cancel !== undefined || this.isWaking) return
    this.isWaking = true
    void now.then(this.wake)
  }

  private readonly wake = (): void => {
    this.isWaking = false
    if (this.cancel === undefined) this.look()
  }

  remove(call: Inline<unknown>): void {
    const { next, previous } = call
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    call.next = undefined
    call.previous = undefined
    call.queue = undefined
    if (this.first !== undefined) return
    this.cancel?.()
    this.cancel = undefined
    this.onEmpty(this)
  }

  private look(): void {
    for (let call = this.first; call !== undefined; call = this.first) {
      if (call.watch.wasPaused) {
        this.remove(call)
        call.tick(0)
        continue
      }
      const left = call.watch.check()
      if (call.watch.ended === undefined) {
        this.cancel = this.scheduler.unsafeSchedule(() => {
          this.cancel = undefined
          this.look()
        }, wait(left))
        return
      }
      this.remove(call)
      call.expire()
    }
  }
}

/** Limits come from programs and are few; where they are not, those that are not in use are forgotten. */
const keptQueues = 32
const queuesOf = new WeakMap<Clock.Clock, Map<number, Queue>>()

const queueOf = (clock: Clock.Clock, scheduler: Clock.ClockScheduler, limit: number): Queue => {
  let queues = queuesOf.get(clock)
  if (queues === undefined) {
    queues = new Map()
    queuesOf.set(clock, queues)
  }
  let queue = queues.get(limit)
  if (queue === undefined) {
    const known = queues
    queue = new Queue(scheduler, (empty) => {
      if (known.size > keptQueues && known.get(limit) === empty) known.delete(limit)
    })
    queues.set(limit, queue)
  }
  return queue
}

/**
 * A deadline in the caller's own fiber, which is a third of the price: the timer interrupts the fiber under a name of
 * its own, and that interruption is taken back at the edge of the mask, before anything else can see it. Nothing can
 * come late: the fiber takes in what was sent to it before every operation, the one that takes back included, and by
 * then nothing waits for the call any more.
 */
class Inline<out E2> {
  private by: FiberId.FiberId | undefined
  private readonly unsubscribe: (() => void) | undefined
  private stopTicking: (() => void) | undefined
  /** The queue it stands in. */
  queue: Queue | undefined
  next: Inline<unknown> | undefined
  previous: Inline<unknown> | undefined

  constructor(
    private readonly fiber: Fiber.RuntimeFiber<unknown, unknown>,
    private readonly scheduler: Clock.ClockScheduler,
    readonly watch: Watch,
    private readonly options: Options<E2>
  ) {
    this.unsubscribe = options.ending?.((error) => {
      if (watch.ended !== undefined) return
      watch.ended = { error }
      this.expire()
    })
    if (watch.isEndless) return
    if (options.first !== undefined || options.gap !== undefined) this.tick(watch.initial())
    else queueOf(watch.clock, scheduler, watch.whole).add(this)
  }

  /** Looks at the time with a timer of its own. */
  tick(first: number): void {
    const look = (): number => {
      const left = this.watch.check()
      if (this.watch.ended !== undefined) this.expire()
      return left
    }
    this.stopTicking = ticking(this.watch, this.scheduler, look, wait(first))
  }

  expire(): void {
    this.by = FiberId.unsafeMake()
    this.fiber.unsafeInterruptAsFork(this.by)
  }

  /** Stops the time. What the call comes to when it was up before; otherwise what the effect made of it stands. */
  end(cause: Cause.Cause<unknown> | undefined): Effect.Effect<never, E2> | undefined {
    this.queue?.remove(this)
    this.stopTicking?.()
    this.unsubscribe?.()
    const { by } = this
    if (by === undefined) return undefined
    return Effect.zipRight(
      FiberRef.update(FiberRef.interruptedCause, (interrupted) => without(interrupted, by)),
      expired(this.watch, cause, this.options)
    )
  }
}

const inline = <A, E, R, E2>(
  effect: (beat: Beat) => Effect.Effect<A, E, R>,
  options: Options<E2>,
  watch: Watch,
  parent: Fiber.RuntimeFiber<unknown, unknown>,
  scheduler: Clock.ClockScheduler
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) => {
    const deadline = new Inline(parent, scheduler, watch, options)
    return Effect.matchCauseEffect(restore(inside(effect, watch, options)), {
      onSuccess: (value) => deadline.end(undefined) ?? Effect.succeed(value),
      onFailure: (cause): Effect.Effect<never, E | E2> => deadline.end(cause) ?? Effect.failCause(cause)
    })
  })

/**
 * A deadline that runs from now on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Armed<E> {
  /** What the context of the effect has to hold as `Enclosing` where the deadline can be paused. */
  readonly watch: Watch
  /** Stops it; called once, when the effect has ended. What the call comes to when the time was up before. */
  readonly end: (cause: Cause.Cause<unknown> | undefined) => Effect.Effect<never, E> | undefined
}

/**
 * The deadline alone, for a caller that has masked interruption around the effect and stands in one step with it.
 * `undefined` where it cannot stand in the caller's own fiber: then `run` has to be used.
 *
 * @since 0.1.0
 * @category combinators
 */
export const arm = <E>(
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  isInterruptible: boolean,
  options: Options<E>
): Armed<E> | undefined => {
  if (!isInterruptible || !hasNoChildren(fiber)) return undefined
  const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
  const scheduler = schedulerOf(clock)
  return scheduler !== undefined && Exit.isExit(scheduler) && Exit.isSuccess(scheduler)
    ? new Inline(fiber, scheduler.value as Clock.ClockScheduler, new Watch(clock, options, fiber), options)
    : undefined
}

const forked = <A, E, R, E2>(
  effect: (beat: Beat) => Effect.Effect<A, E, R>,
  restore: Restore,
  options: Options<E2>,
  watch: Watch,
  parent: Fiber.RuntimeFiber<unknown, unknown>,
  flags: RuntimeFlags.RuntimeFlags,
  clockScheduler: Effect.Effect<Clock.ClockScheduler> | undefined
): Effect.Effect<A, E | E2, R> => {
  const refs = parent.getFiberRefs()
  const runtime = Runtime.make<never>({
    context: parent.currentContext,
    fiberRefs: refs,
    runtimeFlags: RuntimeFlags.enable(flags, RuntimeFlags.Interruption)
  })
  const child = Runtime.runFork(runtime as Runtime.Runtime<R>, inside(effect, watch, options))
  const exit = child.unsafePoll()
  if (exit !== null) return settle(child, refs, exit, watch, options)
  const awaited = Effect.async<Exit.Exit<A, E>>((resume) => child.addObserver((exit) => resume(Effect.succeed(exit))))
  const guard = (scheduler: Clock.ClockScheduler | undefined): Effect.Effect<A, E | E2> => {
    const unsubscribe = options.ending?.((error) => {
      if (watch.ended !== undefined) return
      watch.ended = { error }
      child.unsafeInterruptAsFork(parent.id())
    })
    const stopTimer = startTimer(watch, child, runtime, scheduler, parent.id())
    const stop: Stop = () => {
      unsubscribe?.()
      return stopTimer()
    }
    return Effect.matchCauseEffect(restore(awaited), {
      onSuccess: (exit) => {
        const stopped = stop()
        const result = settle(child, refs, exit, watch, options)
        return stopped === undefined ? result : Effect.zipRight(stopped, result)
      },
      onFailure: (cause) => {
        const interrupted = Effect.zipRight(Fiber.interruptAs(child, parent.id()), Effect.failCause(cause))
        const stopped = stop()
        return stopped === undefined ? interrupted : Effect.zipRight(stopped, interrupted)
      }
    })
  }
  return clockScheduler === undefined ? guard(undefined) : Effect.flatMap(clockScheduler, guard)
}
