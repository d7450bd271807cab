import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { nextTurn } from "../../../src/internal/fiber/NextTurn.js"

it.effect("what the event loop has to do is done in between", () =>
  Effect.gen(function* () {
    const done: Array<string> = []
    setImmediate(() => done.push("due"))
    yield* nextTurn
    done.push("after")
    assert.deepStrictEqual(done, ["due", "after"])
  })
)

it.effect("an interrupted one leaves nothing behind", () =>
  Effect.gen(function* () {
    let went = false
    const fiber = yield* Effect.fork(Effect.map(nextTurn, () => (went = true)))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(fiber)
    yield* nextTurn
    assert.isFalse(went)
  })
)
