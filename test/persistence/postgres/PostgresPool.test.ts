import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as PostgresPool from "../../../src/persistence/postgres/PostgresPool.js"
import type { Library, Settings } from "../../../src/persistence/postgres/PostgresSettings.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"

/** A pool of `pg` with one connection, which needs no server. Those who wait get it in their order. */
class OneConnection extends EventEmitter {
  readonly totalCount = 1
  readonly idleCount = 0
  readonly ending = false
  private isLent = false
  readonly closed: Array<boolean> = []
  private readonly waiting: Array<(error: undefined, client: object) => void> = []
  connect(answer: (error: undefined, client: object) => void): void {
    if (this.isLent) this.waiting.push(answer)
    else this.lend(answer)
  }
  private lend(answer: (error: undefined, client: object) => void): void {
    this.isLent = true
    const client = Object.assign(new EventEmitter(), {
      connection: { stream: { destroy: () => {} } },
      release: (error?: Error) => {
        this.closed.push(error !== undefined)
        this.isLent = false
        const next = this.waiting.shift()
        if (next !== undefined) this.lend(next)
      }
    })
    answer(undefined, client)
  }
}

const library = { Pool: OneConnection, Client: class {} } as unknown as Library
const settings = { name: "test", pool: { max: 1 }, session: "" } as unknown as Settings

type Use = (pool: PostgresPool.PostgresPool, work: Effect.Effect<void>) => Effect.Effect<void, unknown>

const leasing: Use = (pool, work) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(pool.acquire(restore), (lease) => Effect.ensuring(restore(work), Effect.sync(lease.release)))
  )

const reserving: Use = (pool, work) => Effect.scoped(Effect.zipRight(pool.reserve, work))

/** What is lent after the second of two users was interrupted at one operation. */
const interruptedAt = (use: Use, point: number) => {
  const pool = PostgresPool.make(library, settings)
  let second: Fiber.RuntimeFiber<void, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === point) second?.unsafeInterruptAsFork(second.id())
  })
  return Effect.runPromise(
    Effect.gen(function* () {
      const first = yield* Effect.fork(use(pool, Effect.repeatN(Effect.yieldNow(), 5)))
      second = yield* Effect.fork(use(pool, Effect.void))
      const exits = [yield* Fiber.await(first), yield* Fiber.await(second)]
      const { used, waiting } = pool.figures()
      return { isReached: exits.some(Exit.isInterrupted) || point <= scheduler.count(), used, waiting }
    }).pipe(Effect.withScheduler(scheduler))
  )
}

describe("PostgresPool", () => {
  it.each([
    ["acquire", leasing],
    ["reserve", reserving]
  ] as const)("%s loses no connection when it is interrupted at any operation", async (_, use) => {
    for (let point = 1; ; point++) {
      const { isReached, ...figures } = await interruptedAt(use, point)
      if (!isReached) return assert.isAbove(point, 20)
      assert.deepStrictEqual(figures, { used: 0, waiting: 0 }, `at operation ${point}`)
    }
  })

  it.effect("closes a connection that is discarded, and keeps one that is released", () =>
    Effect.gen(function* () {
      const pool = PostgresPool.make(library, settings)
      const lend = Effect.uninterruptible(pool.acquire((wait) => wait))
      ;(yield* lend).release()
      ;(yield* lend).discard()
      assert.deepStrictEqual((pool.pg as unknown as OneConnection).closed, [false, true])
      assert.strictEqual(pool.figures().used, 0)
    })
  )
})
