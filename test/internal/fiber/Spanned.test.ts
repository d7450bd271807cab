import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as Spanned from "../../../src/internal/fiber/Spanned.js"

class Thing extends Context.Tag("Thing")<Thing, string>() {}

/** What a tracer gets to see of a span. */
const shape = (span: Tracer.Span) => ({
  name: span.name,
  kind: span.kind,
  parent: Option.map(span.parent, (parent) => parent.spanId).pipe(Option.getOrUndefined) !== undefined,
  attributes: Array.from(span.attributes),
  links: span.links.length,
  status: span.status._tag
})

/** The span that an effect of either form is run in. */
const seen = <A, E>(
  make: (name: string, options: Spanned.Options, effect: Effect.Effect<Tracer.AnySpan, E>) => Effect.Effect<A, E>
) => make("work", { kind: "client", attributes: { a: 1, b: "two" } }, Effect.orDie(Tracer.ParentSpan as never) as never)

const ours = (name: string, options: Spanned.Options, effect: Effect.Effect<Tracer.AnySpan, never>) =>
  Spanned.run(name, options, effect, () => {})
const theirs = (name: string, options: Spanned.Options, effect: Effect.Effect<Tracer.AnySpan, never>) =>
  Effect.withSpan(effect, name, { ...options, captureStackTrace: false })

describe("Spanned", () => {
  const around: Readonly<Record<string, <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, any>>> = {
    "on its own": (effect) => effect,
    "inside another span": (effect) => Effect.withSpan(effect, "outer"),
    "under annotations": (effect) => Effect.annotateSpans(effect, "all", true),
    "with links": (effect) => Effect.flatMap(Effect.makeSpan("linked"), (span) => Effect.linkSpans(effect, span)),
    "without timing": (effect) => Effect.withTracerTiming(effect, false),
    "with tracing off": (effect) => Effect.withTracerEnabled(effect, false),
    "below a span made with tracing off": (effect) =>
      Effect.withTracerEnabled(Effect.withSpan(Effect.withTracerEnabled(effect, true), "hidden"), false)
  }
  for (const [where, within] of Object.entries(around)) {
    it.effect(`makes the span that Effect makes: ${where}`, () =>
      Effect.gen(function* () {
        const own = (yield* within(seen(ours))) as Tracer.Span
        const effects = (yield* within(seen(theirs))) as Tracer.Span
        assert.deepStrictEqual(shape(own), shape(effects))
        assert.deepStrictEqual(
          own.status._tag === "Ended" ? own.status.endTime : undefined,
          effects.status._tag === "Ended" ? effects.status.endTime : undefined
        )
      })
    )
  }

  it.effect("gives the context back as it was, and only inside what it was given", () =>
    Effect.gen(function* () {
      const before = yield* Effect.context<never>()
      const inside = yield* Spanned.run(
        "work",
        { attributes: {} },
        Effect.serviceOption(Thing),
        () => {},
        (services) => void services.set(Thing.key, "here")
      )
      assert.deepStrictEqual(inside, Option.some("here"))
      assert.isTrue((yield* Effect.context<never>()) === before)
      yield* Effect.exit(Spanned.run("work", { attributes: {} }, Effect.die("bug"), () => {}))
      assert.isTrue((yield* Effect.context<never>()) === before)
    })
  )

  it.effect("shows every exit before the span ends", () =>
    Effect.gen(function* () {
      const exits: Array<string> = []
      const watched = <A, E>(effect: Effect.Effect<A, E>) =>
        Spanned.run("work", { attributes: {} }, effect, (exit, span) => {
          exits.push(`${Exit.isInterrupted(exit) ? "Interrupted" : exit._tag} ${span.status._tag}`)
        })
      yield* watched(Effect.succeed(1))
      yield* Effect.exit(watched(Effect.fail("no")))
      const fiber = yield* Effect.fork(watched(Effect.never))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(exits, ["Success Started", "Failure Started", "Interrupted Started"])
    })
  )
})

interface Given<A> {
  readonly effect: () => Effect.Effect<A, string>
  readonly settle?: (exit: Exit.Exit<A, string>, isInterrupted: () => boolean) => Effect.Effect<unknown, string>
  readonly limit?: number
}

const call = <A>({ effect, limit, settle }: Given<A>, ends: Array<Exit.Exit<unknown, string>> = []) =>
  Spanned.call<A, string, unknown, string, never>(() => ({
    span: { name: "call", attributes: {} },
    deadline: limit === undefined ? undefined : { whole: limit, onTimeout: () => "late" },
    begin: effect,
    settle: settle ?? ((exit) => exit),
    onExit: (exit) => void ends.push(exit)
  }))

describe("Spanned.call", () => {
  it.effect("what its parts throw is a defect of the call, seen at its end", () =>
    Effect.gen(function* () {
      const ends: Array<Exit.Exit<unknown, string>> = []
      const thrown = (): never => {
        throw new Error("bug")
      }
      yield* Effect.exit(call({ effect: thrown }, ends))
      yield* Effect.exit(call({ effect: () => Effect.succeed(1), settle: thrown }, ends))
      assert.deepStrictEqual(
        ends.map((exit) => (Exit.isFailure(exit) ? Array.from(Cause.defects(exit.cause)).map(String) : [])),
        [["Error: bug"], ["Error: bug"]]
      )
    })
  )

  it.effect("a deadline fails it in time, and what follows may still answer", () =>
    Effect.gen(function* () {
      const answering = { effect: () => Effect.never, limit: 10 }
      const fibers = [
        yield* Effect.fork(Effect.exit(call(answering))),
        yield* Effect.fork(
          Effect.exit(
            call({
              ...answering,
              settle: (exit) => Effect.delay(Effect.succeed(Exit.isFailure(exit) ? "instead" : ""), 5)
            })
          )
        )
      ] as const
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(yield* Fiber.join(fibers[0]), Exit.fail("late"))
      assert.isNull(fibers[1].unsafePoll())
      yield* TestClock.adjust(5)
      assert.deepStrictEqual(yield* Fiber.join(fibers[1]), Exit.succeed("instead"))
    })
  )

  it.effect("what follows can be interrupted, and is not begun by a fiber that was", () =>
    Effect.gen(function* () {
      const reached: Array<boolean> = []
      const latch = yield* Deferred.make<void>()
      const following = yield* Effect.fork(
        call({
          effect: () => Effect.succeed(1),
          settle: () => Effect.zipRight(Deferred.succeed(latch, undefined), Effect.never)
        })
      )
      yield* Deferred.await(latch)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(following)))

      const fiber = yield* Effect.fork(
        call({
          effect: () => Effect.never,
          settle: (_exit, isInterrupted) => {
            reached.push(isInterrupted())
            return Effect.sync(() => reached.push(false))
          }
        })
      )
      yield* Effect.yieldNow()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.deepStrictEqual(reached, [true])
    })
  )
})
