import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as IdGenerator from "../../src/domain/IdGenerator.js"
import * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as LocalEventBus from "../../src/observability/LocalEventBus.js"

const Counted = DomainEvent.define("CountedEvent", { aggregateType: "Counter", fields: { n: Schema.Number } })
const Said = DomainEvent.define("SaidEvent", { aggregateType: "Talk", fields: { text: Schema.String } })

const counted = (n: number, aggregateId = "c") => DomainEvent.make(Counted, { aggregateId, fields: { n } })
const said = (text: string, aggregateId = "t") => DomainEvent.make(Said, { aggregateId, fields: { text } })

/** A bus with a scope of its own, to be closed by the test. */
const open = (options?: LocalEventBus.Options) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const bus = yield* Scope.extend(LocalEventBus.make(options), scope)
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    return { bus, close: Scope.close(scope, Exit.void) }
  })

/** Lets every fiber go as far as it comes by itself. */
const quiet = Effect.repeatN(Effect.yieldNow(), 50)

const logging = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(`${message} ${Array.from(annotations, ([key, value]) => `${key}=${value}`).sort()}`)
  })
  return { lines, provide: Effect.provide(Logger.replace(Logger.defaultLogger, logger)) }
}

const quietly = Effect.provide(Logger.remove(Logger.defaultLogger))

const numbers = <R>(stream: Stream.Stream<{ readonly n: number }, never, R>) =>
  Effect.map(Stream.runCollect(stream), (events) => Chunk.toReadonlyArray(events).map((event) => event.n))

const range = (n: number) => Array.from({ length: n }, (_, index) => index + 1)

describe("an event", () => {
  it.scoped("is stamped with an id, the time of its offer, and the number it has among those of its aggregate", () =>
    Effect.gen(function* () {
      const { bus } = yield* open()
      const events = yield* bus.listen(DomainEvent.any)
      yield* TestClock.setTime(7)
      bus.offer(counted(1, "a"))
      yield* TestClock.setTime(9)
      bus.offer(counted(2, "b"))
      bus.offer(DomainEvent.make(Said, { aggregateId: "a", actorId: "ann", fields: { text: "hi" } }))
      bus.offer(counted(3, "a"))
      const first = yield* Stream.runCollect(Stream.take(events, 4))
      const counter = { eventType: "CountedEvent", aggregateType: "Counter", schemaVersion: 1 }
      assert.deepStrictEqual(Chunk.toReadonlyArray(first), [
        { ...counter, eventId: "id-000000001", occurredAt: 7, aggregateId: "a", sequenceNumber: 1, n: 1 },
        { ...counter, eventId: "id-000000002", occurredAt: 9, aggregateId: "b", sequenceNumber: 1, n: 2 },
        {
          eventType: "SaidEvent",
          aggregateType: "Talk",
          schemaVersion: 1,
          eventId: "id-000000003",
          occurredAt: 9,
          aggregateId: "a",
          actorId: "ann",
          sequenceNumber: 1,
          text: "hi"
        },
        { ...counter, eventId: "id-000000004", occurredAt: 9, aggregateId: "a", sequenceNumber: 2, n: 3 }
      ] as never)
      const decoded = Schema.decodeUnknownSync(Counted.schema)(JSON.parse(JSON.stringify(Chunk.unsafeHead(first))))
      assert.deepStrictEqual(decoded, Chunk.unsafeHead(first) as never)
    }).pipe(Effect.provide(IdGenerator.layerSequential()))
  )

  it.scoped("is what it was when it was handed over, whatever becomes of its fields", () =>
    Effect.gen(function* () {
      const { bus } = yield* open()
      const events = yield* bus.listen(Counted)
      const fields = { n: 1 }
      bus.offer(DomainEvent.make(Counted, { aggregateId: "a", fields }))
      fields.n = 2
      assert.deepStrictEqual(yield* numbers(Stream.take(events, 1)), [1])
    })
  )

  it.scoped(
    "of an aggregate that was quiet while many others were not is counted from 1 again; of a busy one never",
    () =>
      Effect.gen(function* () {
        const { bus } = yield* open({ maxAggregates: 10, capacity: 10_000, listenerCapacity: 10_000 })
        const events = yield* bus.listen(Counted)
        const ids = ["quiet", "busy"]
        for (const n of range(200)) ids.push(`${n}`.padStart(300, "x"), "busy")
        ids.push("quiet", "__proto__", "__proto__")
        for (const id of ids) bus.offer(counted(0, id))
        const seen = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(events, ids.length)))
        const of = (id: string) => seen.filter((event) => event.aggregateId === id).map((event) => event.sequenceNumber)
        assert.deepStrictEqual(of("busy"), range(201))
        assert.deepStrictEqual(of("quiet"), [1, 1])
        assert.deepStrictEqual(of("__proto__"), [1, 2])
        assert.deepStrictEqual(of("200".padStart(300, "x")), [1])
      })
  )
})

describe("listeners", () => {
  it.scoped("get those events of the kinds they ask for, each once and in order", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open()
      const all = yield* bus.listen(DomainEvent.any)
      const some = yield* bus.listen(Counted)
      const both = yield* bus.listen(DomainEvent.anyOf(Said, Counted))
      const none = yield* bus.listen(DomainEvent.anyOf())
      for (const n of range(3)) {
        bus.offer(counted(n))
        bus.offer(said(`${n}`))
      }
      yield* close
      const types = (stream: Stream.Stream<DomainEvent.DomainEvent>) =>
        Effect.map(Stream.runCollect(stream), (events) => Chunk.toReadonlyArray(events).map((event) => event.eventType))
      const six = range(3).flatMap(() => ["CountedEvent", "SaidEvent"])
      assert.deepStrictEqual([yield* types(all), yield* types(both)], [six, six])
      assert.deepStrictEqual(yield* numbers(some), [1, 2, 3])
      assert.deepStrictEqual(yield* types(none), [])
    })
  )

  it.scoped("that come late get nothing from before, even if it was not delivered yet", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open()
      const early = yield* bus.listen(Counted)
      bus.offer(counted(1))
      const late = yield* bus.listen(Counted)
      bus.offer(counted(2))
      yield* close
      assert.deepStrictEqual([yield* numbers(early), yield* numbers(late)], [[1, 2], [2]])
    })
  )

  it.scoped("that leave get nothing more and cost nothing more", () =>
    Effect.gen(function* () {
      const { bus } = yield* open({ strategy: "backpressure", listenerCapacity: 1 })
      const taking = yield* Effect.fork(numbers(Stream.take(bus.subscribe(Counted), 2)))
      const reading = yield* Effect.fork(Stream.runDrain(bus.subscribe(Counted)))
      const scope = yield* Scope.make()
      void (yield* Scope.extend(bus.listen(Counted), scope))
      yield* quiet
      assert.strictEqual((yield* bus.stats).listeners, 3)
      for (const n of range(3)) yield* bus.publish(counted(n))
      yield* quiet
      // The one that does not read holds up all.
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Fiber.join(taking), [1, 2])
      yield* Fiber.interrupt(reading)
      assert.strictEqual((yield* bus.stats).listeners, 0)
      for (const n of range(10_000)) assert.isTrue(bus.offer(counted(n)))
    })
  )

  it.scoped("are not disturbed by a kind that throws", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open()
      void (yield* bus.listen({
        is: (_event): _event is DomainEvent.DomainEvent => {
          throw new Error("no")
        }
      }))
      const events = yield* bus.listen(Counted)
      bus.offer(counted(1))
      yield* close
      assert.deepStrictEqual(yield* numbers(events), [1])
      assert.strictEqual((yield* bus.stats).missed, 1)
    })
  )
})

describe("a listener that is too slow", () => {
  const slowAndFast = (strategy: EventBus.Strategy) =>
    Effect.gen(function* () {
      const { bus, close } = yield* open({ listenerCapacity: 3 })
      const slow = yield* bus.listen(Counted, { strategy })
      const fast = yield* bus.listen(Counted, { capacity: 100 })
      for (const n of range(10)) bus.offer(counted(n))
      yield* quiet
      const stats = yield* bus.stats
      yield* close
      return { slow: yield* numbers(slow), fast: yield* numbers(fast), stats }
    })

  it.scoped("dropping: misses what comes while it has not read", () =>
    Effect.gen(function* () {
      const { fast, slow, stats } = yield* slowAndFast("dropping")
      assert.deepStrictEqual([slow, fast], [[1, 2, 3], range(10)])
      assert.deepStrictEqual(stats, { published: 10, dropped: 0, missed: 7, listeners: 2 })
    })
  )

  it.scoped("sliding: misses the oldest it has not read", () =>
    Effect.gen(function* () {
      const { fast, slow, stats } = yield* slowAndFast("sliding")
      assert.deepStrictEqual([slow, fast], [[8, 9, 10], range(10)])
      assert.deepStrictEqual(stats, { published: 10, dropped: 0, missed: 7, listeners: 2 })
    })
  )

  it.scoped("backpressure: holds up the bus, which fills and drops, and nobody else misses what was accepted", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open({ strategy: "backpressure", listenerCapacity: 2, capacity: 3 })
      const slow = yield* bus.listen(Counted)
      const fast = yield* bus.listen(Counted, { capacity: 100 })
      // Two are unread, one is in hand, three wait.
      const accepted: Array<boolean> = []
      for (const n of range(8)) {
        accepted.push(bus.offer(counted(n)))
        yield* quiet
      }
      assert.deepStrictEqual(accepted, [true, true, true, true, true, true, false, false])
      assert.deepStrictEqual(yield* bus.stats, { published: 6, dropped: 2, missed: 0, listeners: 2 })
      const reading = yield* Effect.fork(Effect.map(Stream.runCollect(slow), Chunk.toReadonlyArray))
      yield* quiet
      bus.offer(counted(9))
      yield* close
      const events = yield* Fiber.join(reading)
      assert.deepStrictEqual(
        events.map((event) => event.n),
        [1, 2, 3, 4, 5, 6, 9]
      )
      // What was dropped leaves a gap.
      assert.deepStrictEqual(
        events.map((event) => event.sequenceNumber),
        [1, 2, 3, 4, 5, 6, 9]
      )
      assert.deepStrictEqual(yield* numbers(fast), [1, 2, 3, 4, 5, 6, 9])
    })
  )

  it.scoped("publish waits for room instead, also of many at once, and can be interrupted", () =>
    Effect.gen(function* () {
      const { bus } = yield* open({ strategy: "backpressure", listenerCapacity: 1, capacity: 2 })
      const events = yield* bus.listen(Counted)
      for (const n of range(4)) {
        yield* bus.publish(counted(n))
        yield* quiet
      }
      const waiting = yield* Effect.fork(
        Effect.forEach(range(20), (n) => bus.publish(counted(100 + n)), { concurrency: "unbounded" })
      )
      const given = yield* Effect.fork(bus.publish(counted(5)))
      yield* quiet
      yield* Fiber.interrupt(given)
      assert.strictEqual((yield* bus.stats).published, 4)
      const seen = yield* numbers(Stream.take(events, 24))
      assert.deepStrictEqual(
        yield* Fiber.join(waiting),
        range(20).map(() => true)
      )
      assert.deepStrictEqual(seen.slice(0, 4), [1, 2, 3, 4])
      assert.deepStrictEqual(
        seen.slice(4).sort((a, b) => a - b),
        range(20).map((n) => 100 + n)
      )
      assert.deepStrictEqual(yield* bus.stats, { published: 24, dropped: 0, missed: 0, listeners: 1 })
    })
  )
})

class Shelf extends Context.Tag("test/Shelf")<Shelf, Array<unknown>>() {}

describe("handlers", () => {
  it.scoped(
    "run for each event with what they require; one that fails, dies or is interrupted goes on with the next",
    () =>
      Effect.gen(function* () {
        const shelf: Array<unknown> = []
        const { lines, provide } = logging()
        const { bus, close } = yield* open()
        yield* bus
          .on(Counted, (event) =>
            Effect.flatMap(Shelf, (shelf) => {
              shelf.push(event.n)
              if (event.n === 1) return Effect.fail({ _tag: "No", message: "no, sk-abcdefghijklmnop" })
              if (event.n === 2) return Effect.die("a bug")
              if (event.n === 3) return Effect.interrupt
              return Effect.void
            })
          )
          .pipe(Effect.provideService(Shelf, shelf), provide)
        yield* bus
          .on(Said, (event) => {
            shelf.push(event.text)
            throw new Error(event.text)
          })
          .pipe(quietly)
        for (const n of range(4)) bus.offer(counted(n))
        bus.offer(said("a"))
        bus.offer(said("b"))
        yield* close
        assert.deepStrictEqual(
          shelf.filter((n) => typeof n === "number"),
          [1, 2, 3, 4]
        )
        assert.deepStrictEqual(
          shelf.filter((n) => typeof n === "string"),
          ["a", "b"]
        )
        assert.strictEqual(lines.length, 3)
        assert.strictEqual(lines[0], "a handler failed: no, [REDACTED] event=CountedEvent,module=EventBus")
      })
  )

  it.scoped("hear what is handed over right after their registration, and what was before their end, and no more", () =>
    Effect.gen(function* () {
      const { bus } = yield* open({ strategy: "backpressure", listenerCapacity: 1 })
      const seen: Array<number> = []
      const scope = yield* Scope.make()
      yield* Scope.extend(
        bus.on(Counted, ({ n }) =>
          Effect.zipRight(
            quiet,
            Effect.sync(() => seen.push(n))
          )
        ),
        scope
      )
      for (const n of range(5)) bus.offer(counted(n))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow()
      bus.offer(counted(6))
      yield* Fiber.join(closing)
      assert.deepStrictEqual(seen, range(5))
      assert.deepStrictEqual(yield* bus.stats, { published: 6, dropped: 0, missed: 0, listeners: 0 })
    })
  )

  it.scoped("that hang when they go are waited for no longer than the bus allows, then interrupted", () =>
    Effect.gen(function* () {
      const { bus } = yield* open({ drainTimeout: "3 seconds" })
      let interrupted = 0
      const scope = yield* Scope.make()
      yield* Scope.extend(
        bus.on(Counted, () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))),
        scope
      )
      for (const n of range(3)) bus.offer(counted(n))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("2999 millis")
      assert.strictEqual(interrupted, 0)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      assert.strictEqual(interrupted, 1)
      assert.deepStrictEqual(yield* bus.stats, { published: 3, dropped: 0, missed: 2, listeners: 0 })
    })
  )

  it.effect("as layers are closed before their bus, when all is handled", () =>
    Effect.gen(function* () {
      const shelf: Array<unknown> = []
      const live = EventBus.handler(Counted, ({ n }) =>
        Effect.zipRight(
          quiet,
          Effect.map(Shelf, (shelf) => shelf.push(n))
        )
      ).pipe(Layer.provideMerge(LocalEventBus.layer()), Layer.provide(Layer.succeed(Shelf, shelf)))
      const bus = yield* Effect.provide(
        Effect.gen(function* () {
          yield* EventBus.publish(counted(1))
          yield* EventBus.publish(counted(2))
          return yield* EventBus.EventBus
        }),
        live
      )
      assert.deepStrictEqual(shelf, [1, 2])
      assert.isFalse(bus.offer(counted(3)))
      assert.isFalse(yield* bus.publish(counted(3)))
      assert.deepStrictEqual(yield* bus.stats, { published: 2, dropped: 2, missed: 0, listeners: 0 })
    })
  )

  it.scoped("registered beside the bus are waited for by it", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open()
      const seen: Array<number> = []
      yield* bus.on(Counted, ({ n }) =>
        Effect.zipRight(
          quiet,
          Effect.sync(() => seen.push(n))
        )
      )
      for (const n of range(20)) bus.offer(counted(n))
      yield* close
      assert.deepStrictEqual(seen, range(20))
    })
  )
})

describe("closing", () => {
  it.scoped("ends the streams behind what was accepted, and those that come later at once", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open()
      const reading = yield* Effect.fork(numbers(bus.subscribe(Counted)))
      yield* quiet
      for (const n of range(1000)) bus.offer(counted(n))
      yield* close
      assert.strictEqual((yield* Fiber.join(reading)).length, 1000)
      assert.deepStrictEqual(yield* numbers(bus.subscribe(Counted)), [])
      yield* bus.on(Counted, () => Effect.die("called"))
      assert.isFalse(bus.offer(counted(1)))
    })
  )

  it.scoped("gives up on a listener that does not read, and says what was lost", () =>
    Effect.gen(function* () {
      const { lines, provide } = logging()
      const bounds = { listenerCapacity: 1, drainTimeout: "1 second" } as const
      const { bus, close } = yield* provide(open({ strategy: "backpressure", ...bounds }))
      const stuck = yield* bus.listen(Counted)
      const fine = yield* bus.listen(Counted, { capacity: 100 })
      for (const n of range(5)) bus.offer(counted(n))
      yield* quiet
      const waiting = yield* Effect.fork(bus.publish(counted(6)))
      const closing = yield* Effect.fork(close)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      assert.isTrue(yield* Fiber.join(waiting))
      assert.deepStrictEqual([yield* numbers(stuck), yield* numbers(fine)], [[1], [1, 2]])
      assert.deepStrictEqual(yield* bus.stats, { published: 6, dropped: 4, missed: 1, listeners: 2 })
      assert.match(lines.join(), /closed before all events were handled module=EventBus,undelivered=4,unhandled=0/)
    })
  )

  it.scoped("interrupts handlers that hang", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open({ drainTimeout: "1 second" })
      let interrupted = false
      yield* bus.on(Counted, () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            interrupted = true
          })
        )
      )
      bus.offer(counted(1))
      bus.offer(counted(2))
      const closing = yield* Effect.fork(close)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      assert.isTrue(interrupted)
      assert.deepStrictEqual(yield* bus.stats, { published: 2, dropped: 0, missed: 1, listeners: 0 })
    }).pipe(quietly)
  )

  it.scoped("makes publishers go that wait for room", () =>
    Effect.gen(function* () {
      const { bus, close } = yield* open({
        strategy: "backpressure",
        listenerCapacity: 1,
        capacity: 1,
        drainTimeout: "1 second"
      })
      void (yield* bus.listen(Counted))
      for (const n of range(3)) {
        yield* bus.publish(counted(n))
        yield* quiet
      }
      const waiting = yield* Effect.fork(bus.publish(counted(4)))
      yield* quiet
      const closing = yield* Effect.fork(close)
      yield* quiet
      assert.isFalse(yield* Fiber.join(waiting))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
    }).pipe(quietly)
  )
})

it.scoped("an id that cannot be made costs its event, not those behind it", () => {
  let asked = 0
  const next = Effect.suspend(() => (++asked === 2 ? Effect.die("no entropy") : Effect.succeed(`id-${asked}`)))
  return Effect.gen(function* () {
    const { bus, close } = yield* open()
    const events = yield* bus.listen(Counted)
    for (const n of range(3)) bus.offer(counted(n))
    yield* close
    assert.deepStrictEqual(yield* numbers(events), [1, 3])
    assert.strictEqual((yield* bus.stats).dropped, 1)
  }).pipe(Effect.provideService(IdGenerator.IdGenerator, { next }), quietly)
})

it.scoped("100,000 events reach three listeners whole and in order", () =>
  Effect.gen(function* () {
    const total = 100_000
    const { bus, close } = yield* open({ strategy: "backpressure" })
    let handled = 0
    let inOrder = true
    yield* bus.on(Counted, ({ n }) =>
      Effect.sync(() => {
        if (n !== ++handled) inOrder = false
      })
    )
    const readers = yield* Effect.forEach([1, 2], () =>
      Effect.flatMap(bus.listen(Counted), (events) =>
        Effect.fork(Stream.runFold(events, 0, (last, { n }) => (n === last + 1 ? n : -1)))
      )
    )
    for (const n of range(total)) yield* bus.publish(counted(n))
    yield* close
    assert.deepStrictEqual(yield* Effect.forEach(readers, Fiber.join), [total, total])
    assert.deepStrictEqual([handled, inOrder], [total, true])
    assert.deepStrictEqual(yield* bus.stats, { published: total, dropped: 0, missed: 0, listeners: 2 })
  })
)

it.scoped("without a bus nothing is heard and nobody waits", () =>
  Effect.gen(function* () {
    const bus = yield* EventBus.EventBus
    assert.isFalse(bus.enabled)
    yield* EventBus.on(Counted, () => Effect.die("called"))
    assert.isFalse(bus.offer(counted(1)))
    assert.isFalse(yield* EventBus.publish(counted(1)))
    assert.deepStrictEqual(yield* numbers(EventBus.subscribe(Counted)), [])
    assert.deepStrictEqual(yield* numbers(yield* bus.listen(Counted)), [])
    assert.deepStrictEqual(yield* bus.stats, { published: 0, dropped: 0, missed: 0, listeners: 0 })
  }).pipe(Effect.provide(EventBus.layerNoop))
)
