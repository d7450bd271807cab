import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Stream from "effect/Stream"
import * as EventSink from "../../../src/internal/fiber/EventSink.js"

const patience = () => ({ limit: Number.POSITIVE_INFINITY, onLate: (): never => assert.fail("nobody is late") })

const push = (sink: EventSink.EventSink<number, never>, value: number) =>
  Effect.suspend(() => {
    sink.push(value)
    return sink.settle() ?? Effect.void
  })

describe("EventSink.stream", () => {
  it.live("gives what was pushed, in order, and ends with its producer", () =>
    Effect.gen(function* () {
      const numbers = Array.from({ length: 1000 }, (_, index) => index)
      const stream = EventSink.stream<number, never, never>({ capacity: 64, patience }, (sink) =>
        Effect.forEach(numbers, (value) => push(sink, value))
      )
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(stream)), numbers)
      // It is a description: each reader has a producer of its own.
      assert.lengthOf(yield* Stream.runCollect(stream), 1000)
    })
  )

  it.live("fails as its producer does, after what was pushed", () =>
    Effect.gen(function* () {
      for (const cause of [Cause.fail("no"), Cause.die("bug"), Cause.interrupt(FiberId.none)]) {
        const seen: Array<number> = []
        const stream = EventSink.stream<number, string, never>({ capacity: 64, patience }, (sink) =>
          Effect.sync(() => sink.push(1)).pipe(Effect.zipRight(Effect.failCause(cause)))
        )
        const exit = yield* Effect.exit(Stream.runForEach(stream, (value) => Effect.sync(() => seen.push(value))))
        assert.deepStrictEqual(seen, [1])
        assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) !== undefined)
        if (Exit.isFailure(exit)) assert.strictEqual(exit.cause._tag, cause._tag)
      }
    })
  )

  it.live("keeps its producer back by the capacity", () =>
    Effect.gen(function* () {
      let pushed = 0
      const stream = EventSink.stream<number, never, never>({ capacity: 8, patience }, (sink) =>
        Effect.forever(Effect.suspend(() => push(sink, pushed++)))
      )
      const ahead: Array<number> = []
      yield* Stream.runForEach(Stream.take(stream, 100), (value) =>
        Effect.zipRight(
          Effect.sleep(0),
          Effect.sync(() => ahead.push(pushed - value))
        )
      )
      assert.isAtMost(Math.max(...ahead), 17)
    })
  )

  it.live("stopping interrupts the producer and waits for it, even where nothing may be interrupted", () =>
    Effect.gen(function* () {
      for (const region of [<A, E, R>(effect: Effect.Effect<A, E, R>) => effect, Effect.uninterruptible]) {
        const released = yield* Deferred.make<void>()
        const stream = EventSink.stream<number, never, never>({ capacity: 8, patience }, (sink) =>
          Effect.zipRight(push(sink, 1), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.zipRight(Effect.sleep("5 millis"), Deferred.succeed(released, undefined)))
          )
        )
        yield* region(Stream.runDrain(Stream.take(stream, 1)))
        assert.isTrue(yield* Deferred.isDone(released))
      }
    })
  )

  it.live("starts nothing before it is read", () =>
    Effect.gen(function* () {
      let started = 0
      const stream = EventSink.stream<number, never, never>({ capacity: 8, patience }, () =>
        Effect.sync(() => started++)
      )
      yield* Effect.sleep(0)
      assert.strictEqual(started, 0)
      yield* Stream.runDrain(stream)
      assert.strictEqual(started, 1)
    })
  )
})
