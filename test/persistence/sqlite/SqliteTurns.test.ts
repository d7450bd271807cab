import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as SqliteTurns from "../../../src/persistence/sqlite/SqliteTurns.js"

describe("SqliteTurns", () => {
  it.effect("come in order of request", () =>
    Effect.gen(function* () {
      const turns = SqliteTurns.make()
      const order: Array<number> = []
      const first = turns.ask()
      const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.fork(turns.withTurn(Effect.sync(() => order.push(n)))).pipe(Effect.zipLeft(Effect.yieldNow()))
      )
      assert.deepStrictEqual([turns.waiting(), order], [3, []])
      first.end()
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(order, [1, 2, 3])
      assert.isFalse(turns.isTaken())
    })
  )

  it.effect("are not all taken by a fiber that returns at once", () =>
    Effect.gen(function* () {
      const turns = SqliteTurns.make()
      const order: Array<string> = []
      const worker = (name: string) =>
        Effect.repeatN(
          turns.withTurn(
            Effect.zipRight(
              Effect.sync(() => order.push(name)),
              Effect.yieldNow()
            )
          ),
          49
        )
      yield* Effect.all([worker("a"), worker("b"), worker("c")], { concurrency: 3 })
      let longest = 0
      let run = 0
      order.forEach((name, at) => {
        run = name === order[at - 1] ? run + 1 : 1
        longest = Math.max(longest, run)
      })
      assert.strictEqual(order.length, 150)
      assert.isAtMost(longest, 2)
    })
  )

  it.effect("leave nothing of an interrupted wait", () =>
    Effect.gen(function* () {
      const turns = SqliteTurns.make()
      const holder = turns.ask()
      const waiting = yield* Effect.fork(turns.withTurn(Effect.void))
      const next = yield* Effect.fork(turns.withTurn(Effect.succeed("next")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(turns.waiting(), 1)
      holder.end()
      assert.strictEqual(yield* Fiber.join(next), "next")
      assert.isFalse(turns.isTaken())
    })
  )

  it.effect("are passed on when granted at the moment of an interruption", () =>
    Effect.gen(function* () {
      const turns = SqliteTurns.make()
      const holder = turns.ask()
      const waiting = yield* Effect.fork(turns.withTurn(Effect.never))
      yield* Effect.yieldNow()
      holder.end()
      yield* Fiber.interrupt(waiting)
      assert.isFalse(turns.isTaken())
      yield* turns.withTurn(Effect.void)
    })
  )

  it.effect("end with their effect in any way, and only once", () =>
    Effect.gen(function* () {
      const turns = SqliteTurns.make()
      yield* Effect.exit(turns.withTurn(Effect.fail("no")))
      yield* Effect.exit(turns.withTurn(Effect.die("no")))
      const reached = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        turns.withTurn(Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never))
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(turns.isTaken())
      const first = turns.ask()
      const second = turns.ask()
      first.end()
      first.end()
      assert.isTrue(turns.isTaken())
      second.end()
      assert.isFalse(turns.isTaken())
    })
  )
})
