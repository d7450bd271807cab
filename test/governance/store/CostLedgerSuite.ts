/** What every `CostLedger` must do, under `TestClock`. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"

const of = (nanoUsd: number, tokens = 0): CostLedger.Amount => ({ nanoUsd, tokens })
const nothing: CostLedger.Balance = { spent: of(0), reserved: of(0) }
const upTo = (account: string, nanoUsd: number) => ({ account, limit: { nanoUsd } })

/** The simplest book there can be, for the same operations. */
class Reference {
  readonly spent = new Map<string, CostLedger.Amount>()
  readonly open = new Map<string, CostLedger.Hold>()

  balance(account: string): CostLedger.Balance {
    let reserved = of(0)
    for (const hold of this.open.values()) {
      if (hold.accounts.some((held) => held.account === account)) {
        reserved = of(reserved.nanoUsd + hold.amount.nanoUsd, reserved.tokens + hold.amount.tokens)
      }
    }
    return { spent: this.spent.get(account) ?? of(0), reserved }
  }

  hold(hold: CostLedger.Hold): boolean {
    if (this.open.has(hold.id)) return true
    const fits = hold.accounts.every(({ account, limit }) => {
      const { reserved, spent } = this.balance(account)
      return (["nanoUsd", "tokens"] as const).every(
        (unit) => spent[unit] + reserved[unit] + hold.amount[unit] <= (limit?.[unit] ?? Number.POSITIVE_INFINITY)
      )
    })
    if (fits) this.open.set(hold.id, hold)
    return fits
  }

  book(accounts: ReadonlyArray<string>, amount: CostLedger.Amount): void {
    for (const account of accounts) {
      const { spent } = this.balance(account)
      this.spent.set(account, of(spent.nanoUsd + amount.nanoUsd, spent.tokens + amount.tokens))
    }
  }

  settle(id: string, amount: CostLedger.Amount): boolean {
    const hold = this.open.get(id)
    if (hold === undefined) return false
    this.open.delete(id)
    this.book(
      hold.accounts.map(({ account }) => account),
      amount
    )
    return true
  }

  close(account: string): number {
    let closed = 0
    for (const [id, hold] of this.open) {
      if (!hold.accounts.some((held) => held.account === account)) continue
      this.open.delete(id)
      closed++
    }
    this.spent.delete(account)
    return closed
  }
}

const accountNames = ["user:a:2026-11", "run:1", "__proto__"] as const
const anAmount = FastCheck.record({ nanoUsd: FastCheck.nat(50), tokens: FastCheck.nat(50) })
const anId = FastCheck.constantFrom("h1", "h2", "h3", "h4", "h5")
const aLimit = FastCheck.record(
  { nanoUsd: FastCheck.nat(120), tokens: FastCheck.nat(120) },
  { requiredKeys: [] }
) as FastCheck.Arbitrary<CostLedger.Limit>
const someAccounts = FastCheck.subarray([...accountNames], { minLength: 1 })

const anOperation = FastCheck.oneof(
  FastCheck.record({
    op: FastCheck.constant("hold" as const),
    id: anId,
    amount: anAmount,
    accounts: someAccounts,
    limit: aLimit
  }),
  FastCheck.record({ op: FastCheck.constant("settle" as const), id: anId, amount: anAmount }),
  FastCheck.record({ op: FastCheck.constant("release" as const), id: anId }),
  FastCheck.record({ op: FastCheck.constant("renew" as const), ids: FastCheck.array(anId, { maxLength: 4 }) }),
  FastCheck.record({ op: FastCheck.constant("book" as const), accounts: someAccounts, amount: anAmount }),
  FastCheck.record({ op: FastCheck.constant("close" as const), account: FastCheck.constantFrom(...accountNames) })
)

/** `newBook` makes its own book each time it is provided. */
export const suite = <E>(
  name: string,
  newBook: Layer.Layer<CostLedger.CostLedger, E>,
  options?: { readonly numRuns?: number | undefined }
): void => {
  const test = (fact: string, body: Effect.Effect<void, unknown, CostLedger.CostLedger>) =>
    it.effect(fact, () => Effect.provide(body, newBook))

  describe(`${name} as a CostLedger`, () => {
    test(
      "reads an account never written as empty",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        assert.deepStrictEqual(yield* ledger.read("nobody"), nothing)
        assert.notStrictEqual(ledger.backend, "")
      })
    )

    test(
      "reserves a hold in each account, and spends it when settled",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        const held = yield* ledger.hold({ id: "h", amount: of(40, 7), accounts: [upTo("a", 100), { account: "b" }] })
        assert.deepStrictEqual(held, { _tag: "Held" })
        for (const account of ["a", "b"]) {
          assert.deepStrictEqual(yield* ledger.read(account), { spent: of(0), reserved: of(40, 7) })
        }
        const after = { spent: of(30, 5), reserved: of(0) }
        assert.deepStrictEqual(yield* ledger.settle("h", of(30, 5)), [
          { account: "a", booked: of(30, 5), balance: after },
          { account: "b", booked: of(30, 5), balance: after }
        ])
        assert.deepStrictEqual(yield* ledger.read("a"), after)
        assert.deepStrictEqual(yield* ledger.read("b"), after)
      })
    )

    test(
      "refuses a hold in all accounts when one has no room, and names it with its limit and use",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.book(["b"], of(30, 3))
        yield* ledger.hold({ id: "h1", amount: of(50), accounts: [{ account: "b" }] })
        const refused = yield* ledger.hold({
          id: "h2",
          amount: of(21, 1),
          accounts: [upTo("a", 1000), upTo("b", 100), upTo("c", 1)]
        })
        assert.deepStrictEqual(refused, { _tag: "Refused", account: "b", unit: "nanoUsd", limit: 100, used: 80 })
        for (const account of ["a", "c"]) assert.deepStrictEqual(yield* ledger.read(account), nothing)
        assert.deepStrictEqual(yield* ledger.read("b"), { spent: of(30, 3), reserved: of(50) })
        assert.isFalse(yield* ledger.release("h2"))
        const tokens = yield* ledger.hold({
          id: "h2",
          amount: of(1, 8),
          accounts: [{ account: "b", limit: { nanoUsd: 81, tokens: 10 } }]
        })
        assert.deepStrictEqual(tokens, { _tag: "Refused", account: "b", unit: "tokens", limit: 10, used: 3 })
      })
    )

    test(
      "has room for exactly the limit",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        const hold = (id: string, amount: number) => ledger.hold({ id, amount: of(amount), accounts: [upTo("a", 100)] })
        assert.strictEqual((yield* hold("h1", 60))._tag, "Held")
        assert.strictEqual((yield* hold("h2", 41))._tag, "Refused")
        assert.strictEqual((yield* hold("h2", 40))._tag, "Held")
        assert.strictEqual((yield* hold("h3", 1))._tag, "Refused")
      })
    )

    test(
      "settles and releases once, and ignores ids that are not held",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        for (const id of ["s", "r", "both"]) yield* ledger.hold({ id, amount: of(10), accounts: [{ account: "a" }] })
        assert.isDefined(yield* ledger.settle("s", of(4)))
        assert.isUndefined(yield* ledger.settle("s", of(4)))
        assert.isFalse(yield* ledger.release("s"))
        assert.isTrue(yield* ledger.release("r"))
        assert.isFalse(yield* ledger.release("r"))
        assert.isUndefined(yield* ledger.settle("r", of(4)))
        assert.isUndefined(yield* ledger.settle("never", of(4)))
        assert.isFalse(yield* ledger.release("never"))
        assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(4), reserved: of(10) })
      })
    )

    test(
      "ignores a second hold with a held id",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.hold({ id: "h", amount: of(10), accounts: [{ account: "a" }] })
        const again = yield* ledger.hold({ id: "h", amount: of(99), accounts: [upTo("a", 5), { account: "b" }] })
        assert.deepStrictEqual(again, { _tag: "Held" })
        assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(0), reserved: of(10) })
        assert.deepStrictEqual(yield* ledger.read("b"), nothing)
      })
    )

    test(
      "books past the limit",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.hold({ id: "h", amount: of(100), accounts: [upTo("a", 100)] })
        yield* ledger.settle("h", of(130))
        yield* ledger.book(["a"], of(20))
        assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(150), reserved: of(0) })
        const refused = yield* ledger.hold({ id: "i", amount: of(0), accounts: [upTo("a", 100)] })
        assert.deepStrictEqual(refused, { _tag: "Refused", account: "a", unit: "nanoUsd", limit: 100, used: 150 })
      })
    )

    test(
      "returns the accounts after a booking",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.hold({ id: "h", amount: of(1, 2), accounts: [{ account: "b" }] })
        yield* ledger.book(["b"], of(5))
        assert.deepStrictEqual(yield* ledger.book(["a", "b"], of(3, 4)), [
          { account: "a", booked: of(3, 4), balance: { spent: of(3, 4), reserved: of(0) } },
          { account: "b", booked: of(3, 4), balance: { spent: of(8, 4), reserved: of(1, 2) } }
        ])
      })
    )

    test(
      "releases an expired hold, which cannot be ended afterwards",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.hold({ id: "old", amount: of(60), accounts: [upTo("a", 100)] })
        yield* TestClock.adjust("10 seconds")
        yield* ledger.hold({ id: "new", amount: of(30), accounts: [upTo("a", 100)] })
        yield* TestClock.adjust(Duration.subtract(CostLedger.HOLD_TTL, Duration.millis(10_001)))
        assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(90))
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(30))
        assert.isUndefined(yield* ledger.settle("old", of(5)))
        assert.isFalse(yield* ledger.release("old"))
        assert.isTrue(yield* ledger.release("new"))
        assert.deepStrictEqual(yield* ledger.read("a"), nothing)
      })
    )

    test(
      "keeps renewed holds, and the others until they expire",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        const almost = Duration.subtract(ledger.holdTtl, Duration.millis(1))
        yield* ledger.hold({ id: "dead", amount: of(40), accounts: [upTo("a", 100)] })
        yield* ledger.hold({ id: "live", amount: of(60), accounts: [upTo("a", 100), upTo("b", 100)] })
        yield* ledger.hold({ id: "nowhere", amount: of(60), accounts: [] })
        for (let round = 0; round < 5; round++) {
          yield* TestClock.adjust(almost)
          assert.strictEqual(yield* ledger.renew(["live", "unknown", "nowhere"]), 2)
          assert.strictEqual(yield* ledger.renew([]), 0)
        }
        assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(60))
        assert.strictEqual(
          (yield* ledger.hold({ id: "other", amount: of(41), accounts: [upTo("a", 100)] }))._tag,
          "Refused"
        )
        assert.strictEqual(
          (yield* ledger.hold({ id: "fits", amount: of(40), accounts: [upTo("a", 100)] }))._tag,
          "Held"
        )
        assert.strictEqual(yield* ledger.renew(["dead"]), 0)
        yield* TestClock.adjust(almost)
        assert.deepStrictEqual((yield* ledger.read("b")).reserved, of(60))
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* ledger.renew(["live", "fits"]), 0)
        assert.isUndefined(yield* ledger.settle("live", of(1)))
        assert.deepStrictEqual(yield* ledger.read("b"), nothing)
        assert.deepStrictEqual(yield* ledger.read("a"), nothing)
      })
    )

    test(
      "deletes an account some time after its last write, regardless of reads",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.book(["a"], of(7))
        yield* TestClock.adjust("20 days")
        yield* ledger.book(["a"], of(1))
        yield* TestClock.adjust(Duration.subtract(CostLedger.SPEND_TTL, Duration.millis(1)))
        assert.deepStrictEqual((yield* ledger.read("a")).spent, of(8))
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* ledger.read("a"), nothing)
      })
    )

    test(
      "closing an account releases its holds everywhere and keeps other holds",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.hold({ id: "1", amount: of(10), accounts: [{ account: "run:1" }, { account: "user" }] })
        yield* ledger.hold({ id: "2", amount: of(20), accounts: [{ account: "run:1" }, { account: "user" }] })
        yield* ledger.hold({ id: "3", amount: of(40), accounts: [{ account: "run:2" }, { account: "user" }] })
        yield* ledger.settle("1", of(10))
        assert.strictEqual(yield* ledger.close("run:1"), 1)
        assert.strictEqual(yield* ledger.close("run:1"), 0)
        assert.strictEqual(yield* ledger.close("never"), 0)
        assert.deepStrictEqual(yield* ledger.read("run:1"), nothing)
        assert.deepStrictEqual(yield* ledger.read("user"), { spent: of(10), reserved: of(40) })
        assert.deepStrictEqual((yield* ledger.read("run:2")).reserved, of(40))
        assert.isUndefined(yield* ledger.settle("2", of(20)))
      })
    )

    test(
      "compares account names and ids exactly",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        const names = [
          "a",
          "A",
          "a ",
          "__proto__",
          "constructor",
          "a:b",
          "'; drop table x; --",
          "é",
          "e\u0301",
          "%",
          "_"
        ]
        for (const [index, account] of names.entries()) yield* ledger.book([account], of(index + 1))
        for (const [index, account] of names.entries()) {
          assert.deepStrictEqual((yield* ledger.read(account)).spent, of(index + 1))
        }
        for (const id of names) yield* ledger.hold({ id, amount: of(1), accounts: [{ account: "held" }] })
        assert.deepStrictEqual((yield* ledger.read("held")).reserved, of(names.length))
      })
    )

    test(
      "adds large amounts exactly",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        yield* ledger.book(["a"], of(4_000_000_000_000_001, 1))
        yield* ledger.book(["a"], of(4_000_000_000_000_002, 2))
        assert.deepStrictEqual((yield* ledger.read("a")).spent, of(8_000_000_000_000_003, 3))
      })
    )

    test(
      "grants no more concurrent holds than there is room for",
      Effect.gen(function* () {
        const ledger = yield* CostLedger.CostLedger
        const granted = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, index) => `h${index}`),
          (id) => ledger.hold({ id, amount: of(7), accounts: [{ account: id }, upTo("all", 100)] }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(granted.filter(({ _tag }) => _tag === "Held").length, 14)
        assert.deepStrictEqual((yield* ledger.read("all")).reserved, of(98))
      })
    )

    it.effect("agrees with a simple model for any operations", () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(FastCheck.array(anOperation, { maxLength: 40 }), (operations) =>
            Effect.gen(function* () {
              const ledger = yield* CostLedger.CostLedger
              const reference = new Reference()
              for (const operation of operations) {
                switch (operation.op) {
                  case "hold": {
                    const { amount, id } = operation
                    const accounts = operation.accounts.map((account) => ({ account, limit: operation.limit }))
                    const held = yield* ledger.hold({ id, amount, accounts })
                    assert.strictEqual(held._tag === "Held", reference.hold({ id, amount, accounts }))
                    break
                  }
                  case "settle": {
                    const settled = yield* ledger.settle(operation.id, operation.amount)
                    assert.strictEqual(settled !== undefined, reference.settle(operation.id, operation.amount))
                    break
                  }
                  case "release":
                    assert.strictEqual(yield* ledger.release(operation.id), reference.open.delete(operation.id))
                    break
                  case "renew": {
                    const ids = Array.from(new Set(operation.ids))
                    assert.strictEqual(yield* ledger.renew(ids), ids.filter((id) => reference.open.has(id)).length)
                    break
                  }
                  case "book":
                    yield* ledger.book(operation.accounts, operation.amount)
                    reference.book(operation.accounts, operation.amount)
                    break
                  case "close":
                    assert.strictEqual(yield* ledger.close(operation.account), reference.close(operation.account))
                    break
                }
                for (const account of accountNames) {
                  assert.deepStrictEqual(yield* ledger.read(account), reference.balance(account))
                }
              }
            }).pipe(Effect.provide(newBook), Effect.runPromise)
          ),
          { numRuns: options?.numRuns ?? 300 }
        )
      )
    )
  })
}
