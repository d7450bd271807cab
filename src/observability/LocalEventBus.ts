/**
 * The event bus of one process: an inbox, a fiber that empties it, and a queue for each listener.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { count } from "../internal/Count.js"
import * as Backlog from "../internal/fiber/Backlog.js"
import * as CapturedContext from "../internal/fiber/CapturedContext.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import type * as DomainEvent from "./DomainEvent.js"
import { EventBus, type ListenerOptions, type Service, type Strategy } from "./EventBus.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Events that wait for delivery; default 4,096. Further events are dropped while the bus is full. */
  readonly capacity?: number | undefined
  /** Default `dropping`. */
  readonly strategy?: Strategy | undefined
  /** Events that wait to be read by one listener; default 1,024. */
  readonly listenerCapacity?: number | undefined
  /**
   * How long closing waits for accepted events to be delivered, and a removed handler for its own events; default 5 s.
   */
  readonly drainTimeout?: Duration.DurationInput | undefined
  /**
   * Aggregates whose events are counted; default 10,000. An aggregate restarts at 1 when it had no event while so many
   * others had.
   */
  readonly maxAggregates?: number | undefined
}

/** A listener and its unread events. */
class Listener {
  readonly unread: Backlog.Backlog<DomainEvent.DomainEvent>
  fiber: Fiber.RuntimeFiber<void> | undefined

  constructor(
    readonly kind: DomainEvent.Kind<DomainEvent.DomainEvent>,
    /** How many events had been accepted when it registered. */
    readonly since: number,
    capacity: number,
    strategy: Strategy
  ) {
    this.unread = new Backlog.Backlog(capacity, strategy)
  }

  wants(event: DomainEvent.DomainEvent, ordinal: number): boolean {
    if (ordinal <= this.since) return false
    try {
      return this.kind.is(event)
    } catch {
      this.unread.lost++
      return false
    }
  }
}

type Stamped = { -readonly [K in keyof DomainEvent.DomainEvent]: DomainEvent.DomainEvent[K] }

const stamp = (
  { actorId, aggregateId, aggregateType, eventType, fields }: DomainEvent.Body,
  occurredAt: number,
  sequenceNumber: number
): Stamped =>
  actorId === undefined
    ? { eventId: "", occurredAt, eventType, aggregateId, aggregateType, sequenceNumber, schemaVersion: 1, ...fields }
    : {
        eventId: "",
        occurredAt,
        eventType,
        aggregateId,
        aggregateType,
        sequenceNumber,
        actorId,
        schemaVersion: 1,
        ...fields
      }

/** Ids come from outside, so only parts of a huge one are kept. */
const nameOf = ({ aggregateId: id, aggregateType }: DomainEvent.Body): string =>
  id.length <= 256
    ? `${aggregateType}\u0000${id}`
    : `${aggregateType}\u0000${id.length}\u0000${id.slice(0, 128)}${id.slice(-128)}`

/** Counters for names from outside, in two generations: a name is forgotten when `limit` others were used since. */
const makeCounters = (limit: number): ((name: string) => number) => {
  let young = new Map<string, number>()
  let old = young
  return (name) => {
    const number = (young.get(name) ?? old.get(name) ?? 0) + 1
    young.set(name, number)
    if (young.size >= limit) {
      old = young
      young = new Map()
    }
    return number
  }
}

/** Handles events one at a time; a failure of one does not end the handler. */
const handling = <E, R>(
  listener: Listener,
  handler: (event: E) => Effect.Effect<unknown, unknown, R>
): Effect.Effect<void, never, R> => {
  const next: Effect.Effect<void, never, R> = Effect.flatMap(listener.unread.take, (event) => {
    if (event === undefined) return Effect.void
    const handled = Effect.catchAllCause(
      Effect.suspend(() => handler(event as E)),
      (cause) => warn(`a handler failed: ${errorInfo(Cause.squash(cause)).message}`, { event: event.eventType })
    )
    return Effect.zipRight(handled, next)
  })
  return next
}

const warn = (message: string, annotations: Record<string, unknown>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "EventBus", ...annotations })

/** A bus and its listeners. Everything happens in synchronous steps; the only fiber of the bus runs `dispatch`. */
class Bus {
  private readonly inbox: Backlog.Backlog<Stamped | Listener>
  private readonly numberOf: (name: string) => number
  private readonly listeners = new Set<Listener>()
  private readonly listenerCapacity: number
  private readonly strategy: Strategy
  private readonly patience: number
  private accepted = 0
  /** Accepted events that left the inbox, or never entered it because nobody listened. */
  private passed = 0
  private dropped = 0
  /** Events missed by listeners that are gone. */
  private missed = 0
  private isStopped = false

  constructor(
    private readonly clock: Clock.Clock,
    options: Options = {}
  ) {
    this.inbox = new Backlog.Backlog(count(options.capacity, 4096, 1), "backpressure")
    this.numberOf = makeCounters(count(options.maxAggregates, 10_000, 1))
    this.listenerCapacity = count(options.listenerCapacity, 1024, 1)
    this.strategy = options.strategy ?? "dropping"
    this.patience = Duration.toMillis(options.drainTimeout ?? Duration.seconds(5))
  }

  readonly offer = (body: DomainEvent.Body): boolean => {
    if (this.inbox.ended) {
      this.dropped++
      return false
    }
    const number = this.numberOf(nameOf(body))
    if (this.inbox.isFull) {
      this.dropped++
      return false
    }
    this.accepted++
    // Listeners that register later must not get it.
    if (this.listeners.size === 0 && this.inbox.size === 0) this.passed++
    else this.inbox.push(stamp(body, this.clock.unsafeCurrentTimeMillis(), number))
    return true
  }

  readonly publish = (body: DomainEvent.Body): Effect.Effect<boolean> =>
    Effect.suspend(() =>
      this.inbox.isFull && !this.inbox.ended
        ? Effect.flatMap(this.inbox.room, () => this.publish(body))
        : Effect.succeed(this.offer(body))
    )

  readonly listen: Service["listen"] = (kind, options) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => this.add(kind, options)),
        (listener) => Effect.sync(() => this.remove(listener))
      ),
      (listener) => Backlog.toStream(listener.unread) as Stream.Stream<any>
    )

  /** Runs a handler in a fiber of its own, in the context of the caller. */
  readonly on = <E extends DomainEvent.DomainEvent, R>(
    kind: DomainEvent.Kind<E>,
    handler: (event: E) => Effect.Effect<unknown, unknown, R>,
    options?: ListenerOptions
  ): Effect.Effect<void, never, R | Scope.Scope> =>
    Effect.flatMap(CapturedContext.context<R | Scope.Scope>(), (captured) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.suspend(() => {
            const listener = this.add(kind, options)
            const running = Effect.mapInputContext(handling(listener, handler), (_: Context.Context<never>) => captured)
            return Effect.map(Effect.forkDaemon(Effect.interruptible(running)), (fiber) => {
              listener.fiber = fiber
              return listener
            })
          }),
          (listener) => this.finish(listener)
        )
      )
    )

  readonly stats = Effect.sync(() => {
    let missed = this.missed
    for (const listener of this.listeners) missed += listener.unread.lost
    return { published: this.accepted, dropped: this.dropped, missed, listeners: this.listeners.size }
  })

  /** Delivers events until the bus closes. An event without an id is dropped; those after it are delivered. */
  readonly run: Effect.Effect<void> = Effect.catchAllCause(
    Effect.suspend(() => this.dispatch),
    (cause) => {
      this.dropped++
      return Effect.zipRight(warn(`an event was dropped: ${errorInfo(Cause.squash(cause)).message}`, {}), this.run)
    }
  )

  /** Takes no more events, delivers what was accepted within the drain timeout, and ends all listeners. */
  close(dispatcher: Fiber.RuntimeFiber<void>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.inbox.end()
      yield* this.within(
        Effect.zipRight(
          Fiber.await(dispatcher),
          Effect.suspend(() => {
            this.endAll()
            return Effect.forEach(Array.from(this.listeners), awaitHandler, { discard: true })
          })
        )
      )
      yield* Fiber.interrupt(dispatcher)
      this.endAll()
      this.isStopped = true
      const undelivered = this.accepted - this.passed
      this.dropped += undelivered
      this.inbox.clear()
      const handlers = Array.from(this.listeners).filter(({ fiber }) => fiber !== undefined)
      const unhandled = handlers.reduce((sum, { unread }) => sum + unread.size, 0)
      if (undelivered + unhandled > 0) {
        yield* warn("closed before all events were handled", { undelivered, unhandled })
      }
      yield* Effect.forEach(handlers, (listener) => this.stop(listener), { discard: true })
    })
  }

  private readonly dispatch: Effect.Effect<void> = Effect.suspend(() =>
    Effect.flatMap(this.inbox.take, (entry) => {
      if (entry === undefined) {
        this.isStopped = true
        return Effect.void
      }
      if (entry instanceof Listener) {
        entry.unread.end()
        return this.dispatch
      }
      const ordinal = ++this.passed
      return Effect.flatMap(IdGenerator.generate, (id) => {
        entry.eventId = id
        const slow = this.deliver(entry, ordinal)
        return slow === undefined ? this.dispatch : Effect.zipRight(slow, this.dispatch)
      })
    })
  )

  private deliver(event: Stamped, ordinal: number): Effect.Effect<void> | undefined {
    let slow: Array<Listener> | undefined
    for (const listener of this.listeners) {
      if (!listener.wants(event, ordinal) || listener.unread.offer(event) || listener.unread.ended) continue
      if (slow === undefined) slow = [listener]
      else slow.push(listener)
    }
    return slow === undefined ? undefined : offerWhenFree(slow, event)
  }

  private within(effect: Effect.Effect<unknown>): Effect.Effect<void> {
    return Effect.ignore(
      Deadline.run(() => effect, { whole: this.patience, onTimeout: () => new Cause.TimeoutException("not drained") })
    )
  }

  private add(kind: DomainEvent.Kind<any>, options: ListenerOptions | undefined): Listener {
    const capacity = count(options?.capacity, this.listenerCapacity, 1)
    const listener = new Listener(kind, this.accepted, capacity, options?.strategy ?? this.strategy)
    if (this.inbox.ended) listener.unread.end()
    this.listeners.add(listener)
    return listener
  }

  private remove(listener: Listener): void {
    if (!this.listeners.delete(listener)) return
    this.missed += listener.unread.lost
    listener.unread.end()
  }

  private endAll(): void {
    for (const { unread } of this.listeners) unread.end()
  }

  /** Stops a handler and drops the events it has not handled. */
  private stop(listener: Listener): Effect.Effect<void> {
    return Effect.suspend(() => {
      listener.unread.end()
      listener.unread.clear()
      this.remove(listener)
      return listener.fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(listener.fiber))
    })
  }

  /** Lets a handler finish what was accepted so far. */
  private finish(listener: Listener): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isStopped) listener.unread.end()
      else this.inbox.push(listener)
      return Effect.zipRight(this.within(awaitHandler(listener)), this.stop(listener))
    })
  }
}

const awaitHandler = ({ fiber }: Listener): Effect.Effect<unknown> =>
  fiber === undefined ? Effect.void : Fiber.await(fiber)

/** Waits until each of the listeners has room. On interruption, the remaining ones have missed the event. */
const offerWhenFree = (slow: ReadonlyArray<Listener>, event: Stamped): Effect.Effect<void> => {
  let left = slow.length
  const giveUp = Effect.sync(() => {
    for (const { unread } of slow.slice(slow.length - left)) unread.lost++
  })
  const each = Effect.forEach(
    slow,
    ({ unread }) => {
      const again: Effect.Effect<void> = Effect.flatMap(unread.room, () => {
        if (!unread.offer(event) && !unread.ended) return again
        left--
        return Effect.void
      })
      return again
    },
    { discard: true }
  )
  return Effect.onInterrupt(each, () => giveUp)
}

/**
 * A bus in this process. When the scope closes, it takes no more events, delivers what it has, and then ends the
 * streams of its listeners and waits for handlers. What is not done within `drainTimeout` is dropped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const bus = new Bus(yield* Effect.clock, options)
    yield* Effect.acquireRelease(Effect.forkDaemon(Effect.interruptible(bus.run)), (fiber) => bus.close(fiber))
    return {
      enabled: true,
      offer: bus.offer,
      publish: bus.publish,
      on: bus.on,
      subscribe: (kind, options) => Stream.unwrapScoped(bus.listen(kind, options)),
      listen: bus.listen,
      stats: bus.stats
    }
  })

/**
 * A bus in this process, closed with the layer.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { LocalEventBus } from "effect-lexigram/observability"
 * import * as Layer from "effect/Layer"
 *
 * const events = LocalEventBus.layer({ capacity: 10_000 })
 *
 * // The bus of the runs, also for listeners.
 * const agents = Agents.layerWith({ events }).pipe(Layer.provideMerge(events))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<EventBus> => Layer.scoped(EventBus, make(options))
