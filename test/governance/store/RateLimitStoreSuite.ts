/** What every `RateLimitStore` must do, under `TestClock`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { RateLimitStore } from "../../../src/governance/store/RateLimitStore.js"
import * as SetClock from "../../support/SetClock.js"

const windowMs = 60_000

/** Every take that ever was, one by one. */
class Reference {
  readonly takes: Array<{ readonly key: string; readonly at: number; amount: number }> = []

  current(key: string, now: number): number {
    return this.takes
      .filter((take) => take.key === key && take.at <= now && now < take.at + windowMs)
      .reduce((total, { amount }) => total + amount, 0)
  }

  /** The first moment, millisecond by millisecond where something leaves, at which the amount fits. */
  wait(key: string, now: number, amount: number, limit: number): number | undefined {
    if (amount > limit) return undefined
    const moments = [now, ...this.takes.map(({ at }) => at + windowMs).filter((moment) => moment > now)]
    return moments.sort((a, b) => a - b).find((moment) => this.current(key, moment) + amount <= limit)! - now
  }
}

const aKey = FastCheck.constantFrom("user:a", "user:b", "__proto__")
const anOperation = FastCheck.oneof(
  {
    weight: 3,
    arbitrary: FastCheck.record({ op: FastCheck.constant("take" as const), key: aKey, amount: FastCheck.nat(12) })
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({
      op: FastCheck.constant("adjust" as const),
      which: FastCheck.nat(),
      to: FastCheck.nat(30)
    })
  },
  {
    weight: 3,
    arbitrary: FastCheck.record({
      op: FastCheck.constant("wait" as const),
      millis: FastCheck.oneof(
        FastCheck.nat(40_000),
        FastCheck.constantFrom(0, 1, 29_999, 30_000, 59_999, 60_000, 60_001)
      )
    })
  }
)

/** `newStore` makes its own store each time it is provided. */
export const suite = <E>(
  name: string,
  newStore: Layer.Layer<RateLimitStore, E>,
  options?: { readonly numRuns?: number | undefined }
): void => {
  const test = (fact: string, body: Effect.Effect<void, unknown, RateLimitStore>) =>
    it.effect(fact, () => Effect.provide(body, newStore))

  describe(`${name} as a RateLimitStore`, () => {
    test(
      "allows takes up to the limit",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const take = (amount: number) => store.take({ key: "k", amount, limit: 10, windowMs })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 0)
        const now = yield* TestClock.currentTimeMillis
        assert.deepStrictEqual(yield* take(6), { allowed: true, current: 6, at: now })
        assert.deepStrictEqual(yield* take(5), { allowed: false, current: 6, retryAfterMs: windowMs })
        assert.deepStrictEqual(yield* take(4), { allowed: true, current: 10, at: now })
        assert.deepStrictEqual(yield* take(0), { allowed: true, current: 10, at: now })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 10)
      })
    )

    test(
      "counts a take up to the last millisecond of its window",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const take = store.take({ key: "k", amount: 1, limit: 1, windowMs })
        assert.isTrue((yield* take).allowed)
        yield* TestClock.adjust(windowMs - 1)
        assert.deepStrictEqual(yield* take, { allowed: false, current: 1, retryAfterMs: 1 })
        yield* TestClock.adjust(1)
        assert.isTrue((yield* take).allowed)
      })
    )

    test(
      "prevents a burst across two minutes",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const burst = Effect.map(
          Effect.replicateEffect(store.take({ key: "k", amount: 1, limit: 10, windowMs }), 10),
          (taken) => taken.filter(({ allowed }) => allowed).length
        )
        yield* TestClock.adjust(windowMs - 1)
        assert.strictEqual(yield* burst, 10)
        yield* TestClock.adjust(2)
        assert.strictEqual(yield* burst, 0)
        yield* TestClock.adjust(windowMs - 3)
        assert.strictEqual(yield* burst, 0)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* burst, 10)
      })
    )

    test(
      "drops and adjusts takes of zero like others",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const take = (amount: number) => store.take({ key: "k", amount, limit: 10, windowMs })
        const nothing = yield* take(0)
        assert.isTrue(nothing.allowed)
        const { at } = nothing as { readonly at: number }
        yield* store.adjust({ key: "k", at, windowMs, from: 5, to: 0 })
        yield* TestClock.adjust(windowMs - 1)
        assert.isTrue((yield* take(4)).allowed)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 4)
        assert.isTrue((yield* take(6)).allowed)
      })
    )

    test(
      "keeps keys separate",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        for (const key of ["a", "A", "a ", "__proto__", "constructor"]) {
          assert.isTrue((yield* store.take({ key, amount: 1, limit: 1, windowMs })).allowed)
          assert.isFalse((yield* store.take({ key, amount: 1, limit: 1, windowMs })).allowed)
        }
      })
    )

    test(
      "never allows an amount above the limit, and suggests no wait",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        yield* store.take({ key: "k", amount: 3, limit: 10, windowMs })
        const refused = yield* store.take({ key: "k", amount: 11, limit: 10, windowMs })
        assert.deepStrictEqual(refused, { allowed: false, current: 3 })
      })
    )

    test(
      "adjusts a take in both directions while it counts",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const take = (amount: number) => store.take({ key: "k", amount, limit: 10, windowMs })
        const first = yield* take(8)
        assert.isTrue(first.allowed)
        if (!first.allowed) return
        yield* TestClock.adjust(1000)
        yield* store.adjust({ key: "k", at: first.at, windowMs, from: 8, to: 3 })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 3)
        assert.isTrue((yield* take(7)).allowed)
        yield* store.adjust({ key: "k", at: first.at, windowMs, from: 3, to: 20 })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 27)
        assert.deepStrictEqual(yield* take(1), { allowed: false, current: 27, retryAfterMs: windowMs - 1000 })
        yield* TestClock.adjust(windowMs - 1000)
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 7)
        yield* store.adjust({ key: "k", at: first.at, windowMs, from: 20, to: 50 })
        yield* store.adjust({ key: "nobody", at: first.at, windowMs, from: 20, to: 50 })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 7)
        assert.strictEqual(yield* store.peek({ key: "nobody", windowMs }), 0)
      })
    )

    test(
      "allows no more concurrent takes than fit",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const taken = yield* Effect.forEach(
          Array.from({ length: 100 }),
          () => store.take({ key: "k", amount: 3, limit: 100, windowMs }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(taken.filter(({ allowed }) => allowed).length, 33)
      })
    )

    it.effect("agrees with a model that remembers every take", () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(anOperation, { maxLength: 60 }),
            FastCheck.integer({ min: 1, max: 40 }),
            (operations, limit) => {
              const time = SetClock.make()
              return Effect.gen(function* () {
                const store = yield* RateLimitStore
                const reference = new Reference()
                for (const operation of operations) {
                  const now = time.now()
                  switch (operation.op) {
                    case "take": {
                      const { amount, key } = operation
                      const before = reference.current(key, now)
                      const taken = yield* store.take({ key, amount, limit, windowMs })
                      assert.strictEqual(taken.allowed, before + amount <= limit)
                      assert.strictEqual(taken.current, taken.allowed ? before + amount : before)
                      if (taken.allowed) reference.takes.push({ key, at: taken.at, amount })
                      else assert.strictEqual(taken.retryAfterMs, reference.wait(key, now, amount, limit))
                      break
                    }
                    case "adjust": {
                      if (reference.takes.length === 0) break
                      const take = reference.takes[operation.which % reference.takes.length]!
                      const { amount: from, at, key } = take
                      yield* store.adjust({ key, at, windowMs, from, to: operation.to })
                      if (now < at + windowMs) take.amount = operation.to
                      break
                    }
                    case "wait":
                      time.set(now + operation.millis)
                      break
                  }
                  const after = time.now()
                  for (const key of ["user:a", "user:b", "__proto__"]) {
                    assert.strictEqual(yield* store.peek({ key, windowMs }), reference.current(key, after))
                  }
                }
              }).pipe(Effect.provide(newStore), Effect.withClock(time.clock), Effect.runPromise)
            }
          ),
          { numRuns: options?.numRuns ?? 300 }
        )
      )
    )
  })
}
