import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { StorageError } from "../../src/memory/entry/MemoryError.js"
import type * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as FaultyService from "../../src/testing/FaultyService.js"

class Away extends Schema.TaggedError<Away>()("Away", { method: Schema.String, call: Schema.Number }) {}

interface Shelf {
  readonly name: string
  readonly put: (text: string) => Effect.Effect<number, Away>
  readonly all: Stream.Stream<string, Away>
  readonly size: Effect.Effect<number, Away>
  readonly first: () => Option.Option<string>
}

const shelf = () => {
  const texts: Array<string> = []
  const service: Shelf = {
    name: "shelf",
    put: (text) => Effect.sync(() => texts.push(text)),
    all: Stream.suspend(() => Stream.fromIterable(texts)),
    size: Effect.sync(() => texts.length),
    first: () => Option.fromNullable(texts[0])
  }
  return { texts, service }
}

type Chances = FaultyService.Faults & { readonly seed?: number; readonly maxDelay?: "2 seconds" }

const faulty = (chances: Chances, only?: ReadonlyArray<keyof Shelf>) => {
  const { service, texts } = shelf()
  const injected: Array<FaultyService.Injected> = []
  const made = FaultyService.make<Shelf>(service, {
    seed: 1,
    ...chances,
    only,
    error: ({ call, method }) => new Away({ call, method }),
    onFault: (one) => void injected.push(one)
  })
  return { texts, injected, made }
}

const read = (made: Shelf) => Effect.map(Stream.runCollect(made.all), Chunk.toReadonlyArray)

describe("FaultyService", () => {
  it.effect("leaves a service alone without faults", () =>
    Effect.gen(function* () {
      const { injected, made } = faulty({})
      assert.strictEqual(yield* made.put("a"), 1)
      assert.strictEqual(yield* made.size, 1)
      assert.deepStrictEqual(yield* read(made), ["a"])
      assert.deepStrictEqual([made.name, made.first(), injected], ["shelf", Option.some("a"), []])
    })
  )

  it.effect("fails before a call with `fail` and after it with `late`, by the error that it is given", () =>
    Effect.gen(function* () {
      for (const [fault, kept] of [
        ["fail", []],
        ["late", ["a"]]
      ] as const) {
        const { injected, made, texts } = faulty({ [fault]: 1 })
        const errors = [
          yield* Effect.flip(made.put("a")),
          yield* Effect.flip(made.size),
          yield* Effect.flip(read(made))
        ]
        assert.deepStrictEqual(
          errors.map(({ call, method }) => [call, method]),
          [
            [1, "put"],
            [2, "size"],
            [3, "all"]
          ]
        )
        assert.deepStrictEqual(texts, [...kept])
        assert.deepStrictEqual(
          injected,
          ["put", "size", "all"].map((method, index) => ({ call: index + 1, method, fault }))
        )
        assert.deepStrictEqual(made.first(), Option.fromNullable(kept[0]))
      }
    })
  )

  it.effect("gives what a stream has before it fails late", () =>
    Effect.gen(function* () {
      const { made } = faulty({ late: 1 }, ["all"])
      yield* made.put("a")
      const seen: Array<string> = []
      const exit = yield* Effect.exit(Stream.runForEach(made.all, (text) => Effect.sync(() => void seen.push(text))))
      assert.deepStrictEqual([seen, Exit.isFailure(exit)], [["a"], true])
    })
  )

  it.effect("does not fail late what failed by itself", () =>
    Effect.gen(function* () {
      const handle = FaultyService.handler(() => Effect.fail("own"), { seed: 1, late: 1, error: () => "late" })
      assert.strictEqual(yield* Effect.flip(handle()), "own")
    })
  )

  it.effect("delays in virtual time, at most as long as it may, and hangs until it is interrupted", () =>
    Effect.gen(function* () {
      const slow = faulty({ delay: 1, maxDelay: "2 seconds" })
      for (const call of [slow.made.put("a"), slow.made.size, read(slow.made)] as ReadonlyArray<
        Effect.Effect<unknown, Away>
      >) {
        const fiber = yield* Effect.fork(call)
        yield* TestClock.adjust("1 millis")
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust("2 seconds")
        assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
      }
      const hung = faulty({ hang: 1 })
      for (const call of [hung.made.put("a"), read(hung.made)] as ReadonlyArray<Effect.Effect<unknown, Away>>) {
        const fiber = yield* Effect.fork(call)
        yield* TestClock.adjust("365 days")
        assert.isNull(fiber.unsafePoll())
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      }
      assert.deepStrictEqual(hung.texts, [])
    })
  )

  it.effect("has faults in the named members alone", () =>
    Effect.gen(function* () {
      const { made } = faulty({ fail: 1 }, ["put"])
      assert.strictEqual((yield* Effect.flip(made.put("a"))).method, "put")
      assert.deepStrictEqual([yield* made.size, yield* read(made)], [0, []])
    })
  )

  it.effect("does the same by the same seed, and other things by another", () =>
    Effect.gen(function* () {
      const run = (seed: number) =>
        Effect.gen(function* () {
          const { injected, made, texts } = faulty({ seed, fail: 0.2, late: 0.2 })
          yield* Effect.forEach(Array.from("abcdefghijklmnopqrstuvwxyz"), (text) => Effect.ignore(made.put(text)))
          return JSON.stringify([injected, texts])
        })
      const texts = yield* Effect.forEach([5, 5, 6, -1, 2 ** 40], run)
      assert.strictEqual(texts[0], texts[1])
      assert.strictEqual(new Set(texts).size, 4)
    })
  )

  it.effect("damages results of handlers, and never what they return from", () =>
    Effect.gen(function* () {
      const result = { city: "Oslo", degrees: [1, 2, 3], at: { hour: 12, dry: true } }
      const before = JSON.stringify(result)
      const seen = new Set<string>()
      for (let seed = 0; seed < 200; seed++) {
        const handle = FaultyService.handler((_city: string) => Effect.succeed(result), {
          seed,
          corrupt: 1,
          error: () => "away"
        })
        const came: unknown = yield* handle("Oslo")
        seen.add(JSON.stringify(came) ?? "undefined")
      }
      assert.strictEqual(JSON.stringify(result), before)
      assert.isAbove(seen.size, 20)
    })
  )

  it.effect("damages values of every kind, and those that contain themselves", () =>
    Effect.gen(function* () {
      const cyclic: { self?: unknown } = {}
      cyclic.self = cyclic
      const names = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}')
      for (const value of [undefined, null, true, 1n, Number.NaN, "", [], {}, cyclic, [[[]]], names, Symbol("x")]) {
        for (let seed = 0; seed < 20; seed++) {
          const handle = FaultyService.handler(() => Effect.succeed(value as unknown), {
            seed,
            corrupt: 1,
            error: () => ""
          })
          assert.isTrue(Exit.isSuccess(yield* Effect.exit(handle())))
        }
      }
      assert.isUndefined(({} as { readonly polluted?: unknown }).polluted)
    })
  )

  it.effect("damages no results of services", () =>
    Effect.gen(function* () {
      const options = { corrupt: 1, fail: 0 }
      const { injected, made } = faulty(options)
      assert.deepStrictEqual([yield* made.put("a"), injected], [1, []])
    })
  )

  it.effect("keeps the prototype of a service", () =>
    Effect.gen(function* () {
      class Counter {
        private count = 0
        readonly next: Effect.Effect<number, Away> = Effect.sync(() => ++this.count)
        seen(): number {
          return this.count
        }
      }
      const counter = new Counter()
      const made = FaultyService.make(counter, {
        seed: 1,
        late: 1,
        only: ["next"],
        error: ({ call, method }) => new Away({ call, method })
      })
      yield* Effect.flip(made.next)
      assert.deepStrictEqual([made instanceof Counter, counter.seen()], [true, 1])
    })
  )

  it.effect("is a layer over the service in context, and refuses chances that are none", () =>
    Effect.gen(function* () {
      const down = new SessionStorageError({ message: "The disk is away" })
      const layer = FaultyService.layer(SessionStore.SessionStore, { seed: 1, fail: 1, error: () => down })
      const store = yield* Effect.provide(SessionStore.SessionStore, Layer.provide(layer, InMemorySessionStore.layer))
      assert.strictEqual(store.name, "in_memory")
      assert.deepStrictEqual(yield* Effect.either(store.load("s" as never)), Either.left(down))
      for (const chance of [-0.1, 1.1, Number.NaN]) {
        assert.throws(() => faulty({ late: chance }), /FaultyService: late is .*, not from 0 to 1/)
      }
      const corrupt = () => FaultyService.handler(() => Effect.void, { seed: 1, corrupt: 2, error: () => "" })
      assert.throws(corrupt, /corrupt is 2/)
    })
  )

  it("takes the failures that all members can have", () => {
    expectTypeOf<FaultyService.CommonError<Shelf, keyof Shelf>>().toEqualTypeOf<Away>()
    expectTypeOf<
      FaultyService.CommonError<SessionStore.Service, keyof SessionStore.Service>
    >().toEqualTypeOf<SessionStorageError>()
    expectTypeOf<StorageError>().toExtend<FaultyService.CommonError<MemoryStore.Service, keyof MemoryStore.Service>>()
  })
})
