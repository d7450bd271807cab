import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as EventStream from "../../../src/http/api/EventStream.js"
import * as SseLines from "../../../src/provider/exchange/SseLines.js"

const textOf = (bytes: Chunk.Chunk<Uint8Array>): string =>
  Chunk.toReadonlyArray(bytes)
    .map((some) => new TextDecoder().decode(some))
    .join("")

describe("EventStream", () => {
  it("writes fields of one line, and data of several", () => {
    assert.strictEqual(EventStream.encode({ data: "a" }), "data: a\n\n")
    assert.strictEqual(
      EventStream.encode({ id: "1\nevent: evil", event: "x\r\ndata: y", data: "a\nb\r\nc\rd" }),
      "id: 1event: evil\nevent: xdata: y\ndata: a\ndata: b\ndata: c\ndata: d\n\n"
    )
  })

  it("is read as it was written", () => {
    const lines = SseLines.make({ maxEventLength: 1000 })
    const events: Array<SseLines.SseEvent> = []
    const text = `${EventStream.encode({ data: "a\nb", event: "one", id: 3 })}:\n\n${EventStream.encode({ data: "c" })}`
    assert.isTrue(lines.push(new TextEncoder().encode(text), events))
    assert.deepStrictEqual(events, [
      { event: "one", data: ["a", "b"] },
      { event: "message", data: ["c"] }
    ])
  })

  it.scoped("makes whoever sends wait for a reader that reads nothing", () =>
    Effect.gen(function* () {
      let sent = 0
      const bytes = yield* EventStream.make((send) =>
        Effect.forEach(
          Array.from({ length: 100 }, (_, at) => at),
          (at) =>
            Effect.zipLeft(
              send([{ data: String(at) }]),
              Effect.sync(() => void sent++)
            ),
          { discard: true }
        )
      )
      yield* TestClock.adjust("1 hour")
      assert.isAtMost(sent, 4)
      const text = textOf(yield* Stream.runCollect(bytes))
      assert.strictEqual(sent, 100)
      assert.strictEqual(text.match(/^data: /gm)?.length, 100)
    })
  )

  it.scoped("shows that it lives when nothing comes, and tells a browser when to connect again", () =>
    Effect.gen(function* () {
      const bytes = yield* EventStream.make(
        (send) => Effect.zipRight(Effect.sleep("1 minute"), send([{ data: "late" }])),
        { heartbeat: "20 seconds", retry: "3 seconds" }
      )
      const reading = yield* Effect.fork(Stream.runCollect(bytes))
      yield* TestClock.adjust("1 minute")
      assert.match(textOf(yield* Fiber.join(reading)), /^retry: 3000\n\n(?::\n\n){2,3}data: late\n\n$/)
    })
  )

  it.effect("interrupts whoever sends when its scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const interrupted = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const bytes = yield* Scope.extend(
        EventStream.make(() =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(interrupted, undefined)
          )
        ),
        scope
      )
      yield* Deferred.await(begun)
      yield* Scope.close(scope, Exit.void)
      yield* Deferred.await(interrupted)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Stream.runDrain(bytes))))
    })
  )
})
