/**
 * An event bus within one process: an inbox, a fiber that empties it, and a queue for each listener.
 *
 * @internal
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { count } from "../internal/Count.js"
import * as Backlog from "../internal/fiber/Backlog.js"
import * as Captured from "../internal/fiber/Captured.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import type * as DomainEvent from "./DomainEvent.js"
import type { ListenerOptions, Options, Service, Strategy } from "./EventBus.js"

/** Who listens, and what waits for it. */
class Listener {
  readonly unread: Backlog.Backlog<DomainEvent.DomainEvent>
  fiber: Fiber.RuntimeFiber<void> | undefined

  constructor(
    readonly kind: DomainEvent.Kind<DomainEvent.DomainEvent>,
    /** How many events had been accepted when it came. */
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

/** Ids come from outside: of a huge one not all is kept. */
const nameOf = ({ aggregateId: id, aggregateType }: DomainEvent.Body): string =>
  id.length <= 256
    ? `${aggregateType}\u0000${id}`
    : `${aggregateType}\u0000${id.length}\u0000${id.slice(0, 128)}${id.slice(-128)}`

/** Counts for names from outside. Two generations: of those not used while `limit` others were, nothing is left. */
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

/** One after another; none of them is the end of the others. */
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

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<Service, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const listenerCapacity = count(options?.listenerCapacity, 1024, 1)
    const patience = Duration.toMillis(options?.drainTimeout ?? Duration.seconds(5))
    const inbox = new Backlog.Backlog<Stamped | Listener>(count(options?.capacity, 4096, 1), "backpressure")
    const numberOf = makeCounters(count(options?.maxAggregates, 10_000, 1))
    const listeners = new Set<Listener>()
    let accepted = 0
    // Of those accepted, how many have left the inbox, or never entered it because nobody listened.
    let passed = 0
    let dropped = 0
    let missedBefore = 0
    let isStopped = false

    const within = (effect: Effect.Effect<unknown>): Effect.Effect<void> =>
      Effect.ignore(
        Deadline.run(() => effect, { whole: patience, onTimeout: () => new Cause.TimeoutException("not drained") })
      )

    const add = (kind: DomainEvent.Kind<any>, given: ListenerOptions | undefined): Listener => {
      const capacity = count(given?.capacity, listenerCapacity, 1)
      const listener = new Listener(kind, accepted, capacity, given?.strategy ?? options?.strategy ?? "dropping")
      if (inbox.ended) listener.unread.end()
      listeners.add(listener)
      return listener
    }
    const remove = (listener: Listener): void => {
      if (!listeners.delete(listener)) return
      missedBefore += listener.unread.lost
      listener.unread.end()
    }
    /** Stops a handler and drops what it has not got to. */
    const stop = (listener: Listener): Effect.Effect<void> =>
      Effect.suspend(() => {
        listener.unread.end()
        listener.unread.clear()
        remove(listener)
        return listener.fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(listener.fiber))
      })
    /** Lets a handler come to the end of what was accepted so far. */
    const finish = (listener: Listener): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (isStopped) listener.unread.end()
        else inbox.push(listener)
        return Effect.zipRight(within(ended(listener)), stop(listener))
      })
    const ended = (listener: Listener): Effect.Effect<unknown> =>
      listener.fiber === undefined ? Effect.void : Fiber.await(listener.fiber)

    const waitFor = (slow: ReadonlyArray<Listener>, event: Stamped): Effect.Effect<void> => {
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
    const deliver = (event: Stamped, ordinal: number): Effect.Effect<void> | undefined => {
      let slow: Array<Listener> | undefined
      for (const listener of listeners) {
        if (!listener.wants(event, ordinal) || listener.unread.offer(event) || listener.unread.ended) continue
        if (slow === undefined) slow = [listener]
        else slow.push(listener)
      }
      return slow === undefined ? undefined : waitFor(slow, event)
    }
    const dispatch: Effect.Effect<void> = Effect.flatMap(inbox.take, (entry) => {
      if (entry === undefined) {
        isStopped = true
        return Effect.void
      }
      if (entry instanceof Listener) {
        entry.unread.end()
        return dispatch
      }
      const ordinal = ++passed
      return Effect.flatMap(IdGenerator.generate, (id) => {
        entry.eventId = id
        const slow = deliver(entry, ordinal)
        return slow === undefined ? dispatch : Effect.zipRight(slow, dispatch)
      })
    })
    // Without an id an event is not delivered; those behind it are.
    const dispatcher: Effect.Effect<void> = Effect.catchAllCause(dispatch, (cause) => {
      dropped++
      return Effect.zipRight(warn(`an event was dropped: ${errorInfo(Cause.squash(cause)).message}`, {}), dispatcher)
    })

    const close = (fiber: Fiber.RuntimeFiber<void>): Effect.Effect<void> =>
      Effect.gen(function* () {
        inbox.end()
        yield* within(
          Effect.zipRight(
            Fiber.await(fiber),
            Effect.suspend(() => {
              for (const listener of listeners) listener.unread.end()
              return Effect.forEach(Array.from(listeners), ended, { discard: true })
            })
          )
        )
        yield* Fiber.interrupt(fiber)
        for (const listener of listeners) listener.unread.end()
        isStopped = true
        const undelivered = accepted - passed
        dropped += undelivered
        inbox.clear()
        const unhandled = Array.from(listeners).reduce(
          (sum, { fiber, unread }) => (fiber === undefined ? sum : sum + unread.size),
          0
        )
        if (undelivered + unhandled > 0) {
          yield* warn("closed before all events were handled", { undelivered, unhandled })
        }
        yield* Effect.forEach(
          Array.from(listeners).filter(({ fiber }) => fiber !== undefined),
          stop,
          { discard: true }
        )
      })

    yield* Effect.acquireRelease(Effect.forkDaemon(Effect.interruptible(dispatcher)), close)

    const offer = (body: DomainEvent.Body): boolean => {
      if (inbox.ended) {
        dropped++
        return false
      }
      const number = numberOf(nameOf(body))
      if (inbox.isFull) {
        dropped++
        return false
      }
      accepted++
      // Nobody who came later may get it.
      if (listeners.size === 0 && inbox.size === 0) passed++
      else inbox.push(stamp(body, clock.unsafeCurrentTimeMillis(), number))
      return true
    }
    const publish = (body: DomainEvent.Body): Effect.Effect<boolean> =>
      Effect.suspend(() =>
        inbox.isFull && !inbox.ended ? Effect.flatMap(inbox.room, () => publish(body)) : Effect.succeed(offer(body))
      )
    const listen: Service["listen"] = (kind, listenerOptions) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => add(kind, listenerOptions)),
          (listener) => Effect.sync(() => remove(listener))
        ),
        (listener) => Backlog.toStream(listener.unread) as Stream.Stream<any>
      )

    return {
      enabled: true,
      offer,
      publish,
      on: <E extends DomainEvent.DomainEvent, R>(
        kind: DomainEvent.Kind<E>,
        handler: (event: E) => Effect.Effect<unknown, unknown, R>,
        listenerOptions?: ListenerOptions
      ) =>
        Effect.flatMap(Captured.context<R | Scope.Scope>(), (captured) =>
          Effect.asVoid(
            Effect.acquireRelease(
              Effect.suspend(() => {
                const listener = add(kind, listenerOptions)
                const running = Effect.mapInputContext(
                  handling(listener, handler),
                  (_: Context.Context<never>) => captured
                )
                return Effect.map(Effect.forkDaemon(Effect.interruptible(running)), (fiber) => {
                  listener.fiber = fiber
                  return listener
                })
              }),
              finish
            )
          )
        ),
      subscribe: (kind, listenerOptions) => Stream.unwrapScoped(listen(kind, listenerOptions)),
      listen,
      stats: Effect.sync(() => {
        let missed = missedBefore
        for (const listener of listeners) missed += listener.unread.lost
        return { published: accepted, dropped, missed, listeners: listeners.size }
      })
    }
  })
