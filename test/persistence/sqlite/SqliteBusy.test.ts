import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqliteBusy from "../../../src/persistence/sqlite/SqliteBusy.js"
import * as SqliteFailure from "../../../src/persistence/sqlite/SqliteFailure.js"

const failure = (code: string, isPartial = false) => new SqliteFailure.SqliteFailure(code, "no", isPartial)

describe("SqliteBusy", () => {
  it.effect("retries while another process holds a lock, on any clock of the fiber", () =>
    Effect.gen(function* () {
      let tries = 0
      const answer = yield* SqliteBusy.retry(() => {
        if (++tries < 4) throw failure("SQLITE_BUSY_RECOVERY")
        return tries
      }, 5000)
      assert.strictEqual(answer, 4)
    })
  )

  it.effect("fails at once when waiting does not help, or a part was done", () =>
    Effect.gen(function* () {
      for (const error of [failure("SQLITE_FULL"), failure("SQLITE_LOCKED"), failure("SQLITE_BUSY", true)]) {
        let tries = 0
        const failed = yield* Effect.flip(
          SqliteBusy.retry(() => {
            tries++
            throw error
          }, 5000)
        )
        assert.deepStrictEqual([failed.cause, tries], [error, 1])
      }
    })
  )

  it.effect("yields for a moment after it met another process, but not again at once", () =>
    Effect.gen(function* () {
      const courtesy = SqliteBusy.courtesy()
      assert.isFalse(courtesy.isDue())
      yield* courtesy.standBack
      courtesy.met()
      assert.isTrue(courtesy.isDue())
      yield* courtesy.standBack
      assert.isFalse(courtesy.isDue())
    })
  )
})
