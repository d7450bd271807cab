import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as Hooks from "../../src/observability/Hooks.js"

const Said = Hooks.action<string>("said")
const Text = Hooks.filter<string, { readonly by: string }>("text")

class Word extends Context.Tag("test/Word")<Word, string>() {}

const call = (payload: string) => Effect.flatMap(Hooks.Hooks, (hooks) => hooks.call(Said, payload))
const apply = (value: string) => Effect.flatMap(Hooks.Hooks, (hooks) => hooks.apply(Text, value, { by: "a" }))

/** What is logged, as one text a line. */
const logged = <A, E, R>(effect: (lines: Array<string>) => Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  return Effect.provide(
    effect(lines),
    Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, message }) => {
        lines.push(`${String(message)} ${JSON.stringify([...annotations])}`)
      })
    )
  )
}

const scoped = <A, E>(name: string, effect: Effect.Effect<A, E, Hooks.Hooks | Scope.Scope>) =>
  it.scoped(name, () => Effect.provide(effect, Hooks.layer))

describe("actions", () => {
  scoped(
    "run by priority, then in the order of registration",
    Effect.gen(function* () {
      const order: Array<string> = []
      const on = (name: string, priority?: number) =>
        Hooks.on(Said, (payload) => Effect.sync(() => order.push(`${name} ${payload}`)), { priority })
      yield* on("normal")
      yield* on("last", Hooks.priority.LATEST)
      yield* on("also normal", Hooks.priority.NORMAL)
      yield* on("first", Hooks.priority.EARLIEST)
      yield* on("odd", 99)
      yield* call("hi")
      assert.deepStrictEqual(order, ["first hi", "odd hi", "normal hi", "also normal hi", "last hi"])
    })
  )

  it("run by priority, then by age for any registrations", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.array(FastCheck.integer({ min: -3, max: 3 })), (priorities) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const called: Array<number> = []
            for (const [index, priority] of priorities.entries()) {
              yield* Hooks.on(Said, () => Effect.sync(() => called.push(index)), { priority })
            }
            yield* call("")
            const expected = Array.from(priorities.keys()).sort((a, b) => priorities[a]! - priorities[b]! || a - b)
            assert.deepStrictEqual(called, expected)
          }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
        )
      )
    ))

  scoped(
    "a handler that fails, throws, dies or interrupts itself is logged, and the next is called",
    logged((lines) =>
      Effect.gen(function* () {
        const called: Array<string> = []
        yield* Hooks.on(Said, () => Effect.fail({ _tag: "NoLuck", message: "no luck, key sk-abcdefghijklmnop" }))
        yield* Hooks.on(Said, () => Effect.die("a bug"))
        yield* Hooks.on(Said, () => {
          throw new Error("thrown")
        })
        yield* Hooks.on(Said, () => undefined as never)
        yield* Hooks.on(Said, () => Effect.interrupt)
        yield* Hooks.on(Said, (payload) => Effect.sync(() => called.push(payload)))
        yield* call("hi")
        assert.deepStrictEqual(called, ["hi"])
        assert.strictEqual(lines.length, 5)
        assert.match(lines[0]!, /a handler failed: no luck, key \[REDACTED\].*"said"/)
        assert.match(lines[2]!, /thrown/)
        assert.notMatch(lines.join(), /hi/)
      })
    )
  )

  scoped(
    "interrupting the caller interrupts the handler, and no other is called",
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const seen: Array<string> = []
      yield* Hooks.on(Said, () =>
        Effect.onInterrupt(Effect.zipRight(Deferred.succeed(started, undefined), Effect.never), () =>
          Effect.sync(() => seen.push("interrupted"))
        )
      )
      yield* Hooks.on(Said, () => Effect.sync(() => seen.push("called")))
      const fiber = yield* Effect.fork(
        Effect.zipRight(
          call("hi"),
          Effect.sync(() => seen.push("went on"))
        )
      )
      yield* Deferred.await(started)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(seen, ["interrupted"])
    })
  )

  scoped(
    "an interruption inside an uninterruptible caller is not treated as a handler's failure",
    logged((lines) =>
      Effect.gen(function* () {
        const started = yield* Deferred.make<void>()
        const seen: Array<string> = []
        yield* Hooks.on(Said, () =>
          Effect.interruptible(Effect.zipRight(Deferred.succeed(started, undefined), Effect.never))
        )
        yield* Hooks.on(Said, () => Effect.sync(() => seen.push("called")))
        const fiber = yield* Effect.fork(Effect.uninterruptible(call("hi")))
        yield* Deferred.await(started)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
        assert.deepStrictEqual([seen, lines], [[], []])
      })
    )
  )

  scoped(
    "run once with `once`, even when called concurrently and when they fail",
    logged(() =>
      Effect.gen(function* () {
        let times = 0
        let failing = 0
        yield* Hooks.on(
          Said,
          () =>
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => times++)
            ),
          { once: true }
        )
        yield* Hooks.on(
          Said,
          () =>
            Effect.zipRight(
              Effect.sync(() => failing++),
              Effect.fail("x")
            ),
          { once: true }
        )
        yield* Hooks.on(Said, () => Effect.yieldNow(), { priority: Hooks.priority.EARLIEST })
        yield* Effect.forEach(Array.from({ length: 50 }), () => call("hi"), { concurrency: "unbounded" })
        assert.deepStrictEqual([times, failing], [1, 1])
      })
    )
  )

  scoped(
    "are gone when their scope closes, and the point is empty again",
    Effect.gen(function* () {
      const hooks = yield* Hooks.Hooks
      const scope = yield* Scope.make()
      const other = yield* Scope.make()
      let called = 0
      const on = (options?: Hooks.Options) => Hooks.on(Said, () => Effect.sync(() => called++), options)
      assert.isFalse(hooks.has(Said))
      yield* Scope.extend(on(), scope)
      yield* Scope.extend(on({ once: true }), scope)
      yield* Scope.extend(on(), other)
      assert.isTrue(hooks.has(Said))
      assert.isFalse(hooks.has(Hooks.filter("said")))
      yield* call("")
      assert.strictEqual(called, 3)
      yield* Scope.close(scope, Exit.void)
      yield* call("")
      assert.strictEqual(called, 4)
      yield* Scope.close(other, Exit.void)
      assert.isFalse(hooks.has(Said))
      yield* call("")
      assert.strictEqual(called, 4)
    })
  )

  scoped(
    "are separate for each name",
    Effect.gen(function* () {
      const hooks = yield* Hooks.Hooks
      const seen: Array<string> = []
      for (const name of ["__proto__", "constructor", ""]) {
        assert.isFalse(hooks.has(Hooks.action(name)))
        yield* Hooks.on(Hooks.action<string>(name), (payload) => Effect.sync(() => seen.push(`${name}:${payload}`)))
        yield* hooks.call(Hooks.action<string>(name), "x")
      }
      assert.deepStrictEqual(seen, ["__proto__:x", "constructor:x", ":x"])
    })
  )

  scoped(
    "a handler may register and remove others while it runs",
    Effect.gen(function* () {
      const seen: Array<string> = []
      const mark = (name: string) => () => Effect.sync(() => seen.push(name))
      const doomed = yield* Scope.make()
      yield* Hooks.on(Said, () =>
        Effect.zipRight(
          Effect.sync(() => seen.push("first")),
          Effect.zipRight(Scope.close(doomed, Exit.void), Hooks.on(Said, mark("new")))
        )
      )
      yield* Scope.extend(Hooks.on(Said, mark("doomed")), doomed)
      yield* Hooks.on(Said, mark("last"))
      yield* call("")
      assert.deepStrictEqual(seen, ["first", "last"])
      yield* call("")
      assert.deepStrictEqual(seen, ["first", "last", "first", "last", "new"])
    })
  )

  scoped(
    "a handler may call its own point",
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* Hooks.on(Said, (payload) =>
        Effect.zipRight(
          Effect.sync(() => seen.push(payload)),
          payload.length < 3 ? call(`${payload}!`) : Effect.void
        )
      )
      yield* call("!")
      assert.deepStrictEqual(seen, ["!", "!!", "!!!"])
    })
  )

  scoped(
    "a thousand handlers of one place do not grow the stack",
    Effect.gen(function* () {
      let called = 0
      yield* Effect.forEach(Array.from({ length: 1000 }), () => Hooks.on(Said, () => Effect.sync(() => called++)))
      yield* call("")
      assert.strictEqual(called, 1000)
    })
  )
})

describe("filters", () => {
  scoped(
    "each get the value of the one before, and its info",
    Effect.gen(function* () {
      yield* Hooks.onFilter(Text, (value, { by }) => Effect.succeed(`${value}, said ${by}`), {
        priority: Hooks.priority.LATE
      })
      yield* Hooks.onFilter(Text, (value) => Effect.succeed(value.toUpperCase()))
      assert.strictEqual(yield* apply("hi"), "HI, said a")
    })
  )

  scoped(
    "return the value itself without handlers, and ignore actions of the same name",
    Effect.gen(function* () {
      const hooks = yield* Hooks.Hooks
      yield* Hooks.on(Hooks.action<string>("text"), () => Effect.die("called"))
      const value = { a: 1 }
      assert.strictEqual(yield* hooks.apply(Hooks.filter<object, void>("text"), value, undefined), value)
    })
  )

  scoped(
    "end the call if one dies or throws",
    Effect.gen(function* () {
      yield* Hooks.onFilter(Text, () => {
        throw new Error("thrown")
      })
      yield* Hooks.onFilter(Text, () => Effect.succeed("never reached"))
      const exit = yield* Effect.exit(apply("hi"))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
    })
  )

  scoped(
    "run once with `once`, and skip removed ones",
    Effect.gen(function* () {
      const doomed = yield* Scope.make()
      yield* Hooks.onFilter(Text, (value) => Effect.as(Effect.yieldNow(), `${value}1`), { once: true })
      yield* Hooks.onFilter(Text, (value) => Effect.as(Scope.close(doomed, Exit.void), `${value}2`))
      yield* Scope.extend(
        Hooks.onFilter(Text, (value) => Effect.succeed(`${value}3`)),
        doomed
      )
      const both = yield* Effect.all([apply("a"), apply("b")], { concurrency: "unbounded" })
      assert.deepStrictEqual(both, ["a12", "b2"])
    })
  )
})

describe("requirements of handlers", () => {
  it.effect("come from the registration; a service at the call wins", () =>
    Effect.gen(function* () {
      const words: Array<string> = []
      const handler = () => Effect.map(Word, (word) => words.push(word))
      yield* Hooks.on(Said, handler).pipe(Effect.provideService(Word, "registered"))
      yield* call("")
      yield* call("").pipe(Effect.provideService(Word, "calling"))
      assert.deepStrictEqual(words, ["registered", "calling"])
      yield* Hooks.onFilter(Text, (value) => Effect.map(Word, (word) => `${value} ${word}`)).pipe(
        Effect.provideService(Word, "registered")
      )
      assert.strictEqual(yield* apply("a"), "a registered")
      assert.strictEqual(yield* apply("a").pipe(Effect.provideService(Word, "calling")), "a calling")
    }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
  )

  it.effect("put spans of a handler under the call, never under the registration", () =>
    Effect.gen(function* () {
      const parents: Array<string | undefined> = []
      const parent = Effect.matchEffect(Effect.currentSpan, {
        onFailure: () => Effect.sync(() => parents.push(undefined)),
        onSuccess: (span) => Effect.sync(() => parents.push(span.name))
      })
      yield* Hooks.on(Said, () => parent).pipe(Effect.withSpan("registration"))
      yield* call("")
      yield* call("").pipe(Effect.withSpan("call"))
      assert.deepStrictEqual(parents, [undefined, "call"])
    }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
  )

  it.effect("let layers of handlers share their registry, and end with it", () =>
    Effect.gen(function* () {
      const words: Array<string> = []
      const handlers = Layer.mergeAll(
        Hooks.handler(Said, (payload) => Effect.map(Word, (word) => words.push(`${payload} ${word}`))),
        Hooks.filterHandler(Text, (value) => Effect.map(Word, (word) => `${value} ${word}`))
      )
      const live = handlers.pipe(Layer.provideMerge(Hooks.layer), Layer.provide(Layer.succeed(Word, "world")))
      const hooks = yield* Effect.provide(
        Effect.gen(function* () {
          yield* call("hello")
          assert.strictEqual(yield* apply("good"), "good world")
          return yield* Hooks.Hooks
        }),
        live
      )
      assert.deepStrictEqual(words, ["hello world"])
      assert.deepStrictEqual([hooks.has(Said), hooks.has(Text)], [false, false])
    })
  )
})

it.scoped("a no-op registry calls nothing", () =>
  Effect.gen(function* () {
    yield* Hooks.on(Said, () => Effect.die("called"))
    yield* Hooks.onFilter(Text, () => Effect.die("called"))
    yield* call("")
    assert.strictEqual(yield* apply("a"), "a")
    assert.isFalse((yield* Hooks.Hooks).has(Said))
  }).pipe(Effect.provide(Hooks.layerNoop))
)
