import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as EventSink from "../../../src/internal/fiber/EventSink.js"
import * as Pulls from "../../../src/internal/fiber/Pulls.js"

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

const patience = { limit: Number.POSITIVE_INFINITY, onLate: () => new Broken({ message: "late" }) }
const options = { capacity: 4, patience: () => patience }

/** Pushes numbers, and says how it ended. */
const counting = (upTo: number, ends: Array<string>, last: Effect.Effect<void, Broken> = Effect.void) =>
  EventSink.stream<number, Broken, never>(options, (sink) =>
    Effect.forEach(
      Array.from({ length: upTo }, (_, n) => n),
      (n) => {
        sink.push(n)
        return sink.settle() ?? Effect.void
      },
      { discard: true }
    ).pipe(
      Effect.zipRight(last),
      Effect.onExit((exit) => Effect.sync(() => ends.push(exit._tag)))
    )
  )

const streams = (upTo: number, ends: Array<string> = [], last: Effect.Effect<void, Broken> = Effect.void) => [
  ["direct", counting(upTo, ends, last)] as const,
  ["through a channel", Stream.map(counting(upTo, ends, last), (n) => n)] as const,
  ["unwrapped", Pulls.unwrap(Effect.succeed(counting(upTo, ends, last)))] as const
]

const taken = <E>(stream: Stream.Stream<number, E>, into: Array<number>) =>
  Pulls.forEach(stream, (values) => Effect.sync(() => void into.push(...values)))

/** Waits for some values only. */
const takenAtOnce = <E>(stream: Stream.Stream<number, E>, into: Array<number>) => {
  let turns = 0
  return Pulls.forEach(stream, (values) => {
    if (turns++ % 3 === 0)
      return Effect.zipRight(
        Effect.yieldNow(),
        Effect.sync(() => void into.push(...values))
      )
    into.push(...values)
    return undefined
  })
}

describe("Pulls", () => {
  it.live("takes what the stream has, with and without its channel, each time anew", () =>
    Effect.gen(function* () {
      const all = Array.from({ length: 1000 }, (_, n) => n)
      for (const [name, stream] of streams(1000)) {
        for (let n = 0; n < 2; n++) {
          const read: Array<number> = []
          yield* taken(stream, read)
          assert.deepStrictEqual(read, all, name)
          const atOnce: Array<number> = []
          yield* takenAtOnce(stream, atOnce)
          assert.deepStrictEqual(atOnce, all, name)
          assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(stream)), all, name)
          const pulled: Array<number> = []
          yield* Effect.scoped(
            Effect.flatMap(Pulls.open(stream), (pull) =>
              Effect.repeat(
                Effect.tap(pull, (values) => Effect.sync(() => void pulled.push(...(values ?? [])))),
                { until: (values) => values === undefined }
              )
            )
          )
          assert.deepStrictEqual(pulled, all, name)
        }
      }
    })
  )

  it.live("fails as the stream does, after its values", () =>
    Effect.gen(function* () {
      for (const [name, stream] of streams(3, [], Effect.fail(new Broken({ message: "broken" })))) {
        const read: Array<number> = []
        const error = yield* Effect.flip(taken(stream, read))
        assert.deepStrictEqual([error.message, read], ["broken", [0, 1, 2]], name)
        const pull = Effect.scoped(
          Effect.flatMap(Pulls.open(stream), (pull) => Effect.repeat(pull, { until: (values) => values === undefined }))
        )
        assert.strictEqual((yield* Effect.flip(pull)).message, "broken", name)
      }
      const missing = Pulls.unwrap<number, never, never, Broken, never>(Effect.fail(new Broken({ message: "missing" })))
      assert.strictEqual((yield* Effect.flip(taken(missing, []))).message, "missing")
    })
  )

  it.live("ends what makes the values when whoever takes them fails or leaves", () =>
    Effect.gen(function* () {
      const ends: Array<string> = []
      for (const [name, stream] of streams(1000, ends)) {
        const crash = () => {
          throw new Broken({ message: "enough" })
        }
        for (const take of [crash, () => Effect.die("enough")]) {
          const exit = yield* Effect.exit(Pulls.forEach(stream, take))
          assert.deepStrictEqual([Exit.isFailure(exit), ends.splice(0)], [true, ["Failure"]], name)
        }
        const began = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          Pulls.forEach(stream, () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never))
        )
        yield* Deferred.await(began)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ends.splice(0), ["Failure"], name)
      }
    })
  )
})
