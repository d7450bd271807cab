import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { nextTurn } from "../../../src/internal/fiber/NextTurn.js"

it.effect("lets the event loop work in between", () =>
  Effect.gen(function* () {
    const done: Array<string> = []
    setImmediate(() => done.push("due"))
    yield* nextTurn
    done.push("after")
    assert.deepStrictEqual(done, ["due", "after"])
  })
)

it.effect("leaves nothing running when interrupted", () =>
  Effect.gen(function* () {
    let went = false
    const fiber = yield* Effect.fork(Effect.map(nextTurn, () => (went = true)))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(fiber)
    yield* nextTurn
    assert.isFalse(went)
  })
)
