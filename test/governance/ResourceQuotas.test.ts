import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as DefaultResourceQuotas from "../../src/governance/DefaultResourceQuotas.js"
import * as ResourceQuotas from "../../src/governance/ResourceQuotas.js"
import {
  GovernanceConfigurationError,
  GovernancePersistenceError,
  ResourceExhaustedError
} from "../../src/governance/store/GovernanceError.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"

const hour = 3_600_000
const calls: ResourceQuotas.ResourceUnit = { name: "calls-hour", kind: "model_calls", window: "1 hour" }
const tokens: ResourceQuotas.ResourceUnit = { name: "tokens-hour", kind: "tokens", window: "1 hour" }
const tokensMonth: ResourceQuotas.ResourceUnit = { name: "tokens-month", kind: "tokens", windowKind: "calendar-month" }
const cost: ResourceQuotas.ResourceUnit = { name: "cost-hour", kind: "cost", window: "1 hour" }

const making = (
  units: ReadonlyArray<ResourceQuotas.ResourceUnit>,
  quotas: ReadonlyArray<ResourceQuotas.ResourceQuota>
) => Effect.provide(DefaultResourceQuotas.make({ units, quotas }), RateLimitStore.layerMemory())

const everyone = (unit: ResourceQuotas.ResourceUnit, limit: number, softThresholdPct?: number) => ({
  tenantId: "*",
  unit: unit.name,
  limit,
  softThresholdPct
})

const receipt = (decision: ResourceQuotas.QuotaDecision): ResourceQuotas.Receipt => {
  if (decision.status === "exhausted") throw new Error("exhausted")
  return decision.receipt
}

const at = (tenantId: string, unit: ResourceQuotas.ResourceUnit) => (service: ResourceQuotas.Service) =>
  Effect.map(service.snapshot(tenantId, unit.name), ({ current }) => current)

describe("ResourceQuotas", () => {
  it.effect("approves uses up to the limit and refuses further ones as a value", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls], [everyone(calls, 3)])
      const use = (amount: number) => quotas.consume({ tenantId: "t", unit: calls.name, amount, actorId: "u1" })
      const first = yield* use(2)
      assert.strictEqual(first.status, "approved")
      assert.deepStrictEqual(first.usage, [
        { tenantId: "t", unit: calls.name, current: 2, limit: 3, windowResetsAt: hour }
      ])
      const refused = yield* use(2)
      assert.strictEqual(refused.status, "exhausted")
      if (refused.status !== "exhausted") return
      assert.instanceOf(refused.error, ResourceExhaustedError)
      assert.deepInclude(refused.error, { tenantId: "t", unitName: calls.name, limit: 3, current: 2, actorId: "u1" })
      assert.strictEqual(refused.retryAfterMs, hour)
      assert.strictEqual((yield* use(1)).status, "approved")
      assert.strictEqual((yield* use(0)).status, "approved")
      const never = yield* use(4)
      assert.isTrue(never.status === "exhausted" && never.retryAfterMs === undefined)
    })
  )

  it.effect("drops a use when it leaves the sliding window", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls], [everyone(calls, 2)])
      const use = Effect.map(quotas.consumeKind("model_calls", { tenantId: "t", amount: 1 }), ({ status }) => status)
      assert.strictEqual(yield* use, "approved")
      yield* TestClock.adjust(hour / 2)
      assert.strictEqual(yield* use, "approved")
      assert.strictEqual(yield* use, "exhausted")
      yield* TestClock.adjust(hour / 2 - 1)
      assert.strictEqual(yield* use, "exhausted")
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* use, "approved")
      assert.strictEqual(yield* use, "exhausted")
    })
  )

  it.effect("restarts a calendar month on its first day, in UTC", () =>
    Effect.gen(function* () {
      const quotas = yield* making([tokensMonth], [everyone(tokensMonth, 100)])
      const use = (amount: number) => quotas.consumeKind("tokens", { tenantId: "t", amount })
      yield* TestClock.setTime(Date.parse("2026-01-01T00:00:00Z"))
      assert.strictEqual((yield* use(60)).status, "approved")
      yield* TestClock.setTime(Date.parse("2026-01-31T23:59:59.999Z"))
      const refused = yield* use(60)
      assert.isTrue(refused.status === "exhausted" && refused.retryAfterMs === 1)
      assert.deepInclude(yield* quotas.snapshot("t", tokensMonth.name), {
        current: 60,
        windowResetsAt: Date.parse("2026-02-01T00:00:00Z")
      })
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* at("t", tokensMonth)(quotas), 0)
      assert.strictEqual((yield* use(60)).status, "approved")
      yield* TestClock.setTime(Date.parse("2026-12-31T12:00:00Z"))
      yield* use(1)
      assert.strictEqual(
        (yield* quotas.snapshot("t", tokensMonth.name)).windowResetsAt,
        Date.parse("2027-01-01T00:00:00Z")
      )
    })
  )

  it.effect("prefers a tenant's own quota, and counts each tenant separately", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls], [everyone(calls, 1), { tenantId: "big", unit: calls.name, limit: 2 }])
      const use = (tenantId: string) =>
        Effect.map(quotas.consume({ tenantId, unit: calls.name, amount: 1 }), ({ status }) => status)
      assert.deepStrictEqual(yield* Effect.all([use("big"), use("big"), use("big")]), [
        "approved",
        "approved",
        "exhausted"
      ])
      assert.deepStrictEqual(yield* Effect.all([use("a"), use("a"), use("b")]), ["approved", "exhausted", "approved"])
    })
  )

  it.effect("limits and counts nothing without a quota", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls], [{ tenantId: "t", unit: calls.name, limit: 0 }])
      const decision = yield* quotas.consume({ tenantId: "other", unit: calls.name, amount: 1e9 })
      assert.deepStrictEqual(decision, {
        status: "approved",
        usage: [],
        receipt: { tenantId: "other", entries: [] }
      })
      assert.deepStrictEqual(yield* quotas.snapshot("other", calls.name), {
        tenantId: "other",
        unit: calls.name,
        current: 0
      })
      assert.strictEqual((yield* quotas.consumeKind("custom", { tenantId: "t", amount: 5 })).status, "approved")
      assert.strictEqual((yield* quotas.consumeKind("model_calls", { tenantId: "t", amount: 1 })).status, "exhausted")
    })
  )

  it.effect("reports a soft threshold once per crossing", () =>
    Effect.gen(function* () {
      const quotas = yield* making([tokens], [everyone(tokens, 100, 0.8)])
      const use = (amount: number) => quotas.consumeKind("tokens", { tenantId: "t", amount })
      assert.strictEqual((yield* use(79)).status, "approved")
      const crossing = yield* use(1)
      assert.deepInclude(crossing, { status: "soft_threshold_breach", crossed: [tokens.name] })
      assert.strictEqual((yield* use(5)).status, "approved")
      yield* TestClock.adjust(hour)
      assert.strictEqual((yield* use(90)).status, "soft_threshold_breach")
    })
  )

  it.effect("counts US dollars in billionths, so that sums are exact", () =>
    Effect.gen(function* () {
      const quotas = yield* making([cost], [everyone(cost, 0.3)])
      const use = (amount: number) =>
        Effect.map(quotas.consumeKind("cost", { tenantId: "t", amount }), ({ status }) => status)
      assert.deepStrictEqual(yield* Effect.all([use(0.1), use(0.1), use(0.1), use(1e-9)]), [
        "approved",
        "approved",
        "approved",
        "exhausted"
      ])
      assert.strictEqual(yield* at("t", cost)(quotas), 0.3)
    })
  )

  it.effect("ignores negative and non-numeric amounts", () =>
    Effect.gen(function* () {
      const quotas = yield* making([tokens], [everyone(tokens, 10)])
      const use = (amount: number) => quotas.consumeKind("tokens", { tenantId: "t", amount })
      yield* use(9)
      for (const odd of [-5, Number.NaN, Number.NEGATIVE_INFINITY])
        assert.strictEqual((yield* use(odd)).status, "approved")
      assert.strictEqual(yield* at("t", tokens)(quotas), 9)
      assert.strictEqual((yield* use(Number.POSITIVE_INFINITY)).status, "exhausted")
      assert.strictEqual((yield* use(0.5)).status, "approved")
      assert.strictEqual(yield* at("t", tokens)(quotas), 10)
    })
  )

  it.effect("uses several units all or none", () =>
    Effect.gen(function* () {
      const quotas = yield* making(
        [calls, tokens, tokensMonth, cost],
        [everyone(calls, 10), everyone(tokens, 100), everyone(tokensMonth, 50), everyone(cost, 1)]
      )
      const use = (amounts: ResourceQuotas.Amounts) => quotas.consumeKinds({ tenantId: "t", amounts })
      const standing = Effect.all([calls, tokens, tokensMonth, cost].map((unit) => at("t", unit)(quotas)))
      const ok = yield* use({ model_calls: 1, tokens: 40, cost: 0.5 })
      assert.deepStrictEqual(
        ok.usage.map(({ unit }) => unit),
        [calls.name, tokens.name, tokensMonth.name, cost.name]
      )
      assert.deepStrictEqual(yield* standing, [1, 40, 40, 0.5])
      const refused = yield* use({ model_calls: 1, tokens: 20, cost: 0.1 })
      assert.isTrue(refused.status === "exhausted" && refused.error.unitName === tokensMonth.name)
      assert.deepStrictEqual(yield* standing, [1, 40, 40, 0.5])
      assert.strictEqual((yield* use({ tokens: 10 })).status, "approved")
      assert.deepStrictEqual(yield* standing, [1, 50, 50, 0.5])
    })
  )

  it.effect("corrects a use by its receipt, at its time and past the limit", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls, tokens], [everyone(calls, 10), everyone(tokens, 100)])
      const standing = Effect.all([at("t", calls)(quotas), at("t", tokens)(quotas)])
      const made = receipt(yield* quotas.consumeKinds({ tenantId: "t", amounts: { model_calls: 1, tokens: 90 } }))
      // It may have been to another process.
      const wire = JSON.parse(JSON.stringify(yield* Schema.encode(ResourceQuotas.Receipt)(made)))
      yield* TestClock.adjust(hour / 2)
      yield* quotas.correct(yield* Schema.decodeUnknown(ResourceQuotas.Receipt)(wire), { tokens: 20 })
      assert.deepStrictEqual(yield* standing, [1, 20])
      const second = receipt(yield* quotas.consumeKinds({ tenantId: "t", amounts: { model_calls: 1, tokens: 80 } }))
      yield* quotas.correct(second, { model_calls: 0, tokens: 200 })
      assert.deepStrictEqual(yield* standing, [1, 220])
      yield* TestClock.adjust(hour / 2)
      assert.deepStrictEqual(yield* standing, [0, 200])
      yield* quotas.correct(made, { tokens: 1000 })
      assert.deepStrictEqual(yield* standing, [0, 200])
    })
  )

  it.effect("never exceeds the limit with concurrent uses", () =>
    Effect.gen(function* () {
      const memory = yield* RateLimitStore.makeMemory()
      const slow: RateLimitStore.Service = {
        ...memory,
        take: (request) => Effect.zipRight(Effect.yieldNow(), memory.take(request)),
        adjust: (request) => Effect.zipRight(Effect.yieldNow(), memory.adjust(request))
      }
      const quotas = yield* Effect.provideService(
        DefaultResourceQuotas.make({ units: [calls, tokens], quotas: [everyone(calls, 50), everyone(tokens, 100)] }),
        RateLimitStore.RateLimitStore,
        slow
      )
      const all = yield* Effect.forEach(
        Array.from({ length: 80 }),
        () => quotas.consumeKinds({ tenantId: "t", amounts: { model_calls: 1, tokens: 3 } }),
        { concurrency: "unbounded" }
      )
      const approved = all.filter(({ status }) => status === "approved").length
      assert.strictEqual(approved, 33)
      assert.deepStrictEqual([yield* at("t", calls)(quotas), yield* at("t", tokens)(quotas)], [33, 99])
    })
  )

  it.effect("gives everything back and fails when the store fails midway", () =>
    Effect.gen(function* () {
      const memory = yield* RateLimitStore.makeMemory()
      let isDown = true
      const failing: RateLimitStore.Service = {
        ...memory,
        take: (request) =>
          isDown && request.key.includes("tokens")
            ? Effect.fail(new GovernancePersistenceError({ message: "down" }))
            : memory.take(request)
      }
      const quotas = yield* Effect.provideService(
        DefaultResourceQuotas.make({ units: [calls, tokens], quotas: [everyone(calls, 50), everyone(tokens, 100)] }),
        RateLimitStore.RateLimitStore,
        failing
      )
      const use = quotas.consumeKinds({ tenantId: "t", amounts: { model_calls: 1, tokens: 3 } })
      assert.instanceOf(yield* Effect.flip(use), GovernancePersistenceError)
      assert.strictEqual(yield* at("t", calls)(quotas), 0)
      isDown = false
      yield* use
      assert.strictEqual(yield* at("t", calls)(quotas), 1)
    })
  )

  it.effect("distinguishes tenants and units with ambiguous names", () =>
    Effect.gen(function* () {
      const a: ResourceQuotas.ResourceUnit = { name: "a", kind: "custom", window: "1 hour" }
      const month: ResourceQuotas.ResourceUnit = { name: "m", kind: "custom", windowKind: "calendar-month" }
      const quotas = yield* making([a, month], [everyone(a, 9), everyone(month, 9)])
      for (const [index, tenantId] of ["t", ":t", "a:t", "__proto__", "*", "1970-01:t"].entries()) {
        for (let used = 0; used <= index; used++) yield* quotas.consumeKind("custom", { tenantId, amount: 1 })
        assert.strictEqual(yield* at(tenantId, a)(quotas), index + 1)
        assert.strictEqual(yield* at(tenantId, month)(quotas), index + 1)
      }
    })
  )

  it.effect("fails for an undeclared unit", () =>
    Effect.gen(function* () {
      const quotas = yield* making([calls], [])
      for (const unit of ["nothing", "__proto__"]) {
        assert.instanceOf(
          yield* Effect.flip(quotas.consume({ tenantId: "t", unit, amount: 1 })),
          GovernanceConfigurationError
        )
        assert.instanceOf(yield* Effect.flip(quotas.snapshot("t", unit)), GovernanceConfigurationError)
      }
    })
  )

  it.effect("reports all issues of units and quotas", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        making(
          [
            { name: "a b", kind: "tokens", window: "1 hour" },
            { name: "twice", kind: "tokens", window: "1 hour" },
            { name: "twice", kind: "cost", window: "1 hour" },
            { name: "endless", kind: "tokens" },
            { name: "zero", kind: "tokens", window: 0 },
            { name: "odd", kind: "tokens", window: "a while" as "1 hour" },
            { name: "month", kind: "tokens", windowKind: "calendar-month", window: "1 day" }
          ],
          [
            { tenantId: "t", unit: "none", limit: 1 },
            { tenantId: "", unit: "twice", limit: 1 },
            { tenantId: "t", unit: "twice", limit: -1 },
            { tenantId: "t", unit: "twice", limit: 1, softThresholdPct: 80 }
          ]
        )
      )
      assert.instanceOf(error, GovernanceConfigurationError)
      for (const path of [
        "units[0].name: 1 to 64",
        "units[2].name: twice is declared twice",
        "units[3].window: a sliding",
        "units[4].window: a sliding",
        "units[5].window: a sliding",
        "units[6].window: a calendar month",
        "quotas[0].unit",
        "quotas[1].tenantId",
        "quotas[2].limit",
        "quotas[3]: the tenant has",
        "quotas[3].softThresholdPct"
      ]) {
        assert.include(error.message, path)
      }
    })
  )

  it.effect("supports limits as large as the counts", () =>
    Effect.gen(function* () {
      const quotas = yield* making([tokens], [everyone(tokens, 1e12)])
      assert.strictEqual((yield* quotas.consumeKind("tokens", { tenantId: "t", amount: 1e12 })).status, "approved")
      const error = yield* Effect.flip(making([cost], [everyone(cost, 1e12)]))
      assert.include(error.message, "quotas[0].limit")
    })
  )

  it.effect("stores the sum of the approved uses for any requests", () =>
    Effect.gen(function* () {
      const sample = FastCheck.sample(
        FastCheck.array(FastCheck.record({ calls: FastCheck.nat(3), tokens: FastCheck.nat(60) }), { maxLength: 20 }),
        50
      )
      for (const uses of sample) {
        const quotas = yield* making([calls, tokens], [everyone(calls, 10), everyone(tokens, 200)])
        let approvedCalls = 0
        let approvedTokens = 0
        for (const use of uses) {
          const { status } = yield* quotas.consumeKinds({
            tenantId: "t",
            amounts: { model_calls: use.calls, tokens: use.tokens }
          })
          const fits = approvedCalls + use.calls <= 10 && approvedTokens + use.tokens <= 200
          assert.strictEqual(status, fits ? "approved" : "exhausted")
          if (!fits) continue
          approvedCalls += use.calls
          approvedTokens += use.tokens
        }
        assert.deepStrictEqual(
          [yield* at("t", calls)(quotas), yield* at("t", tokens)(quotas)],
          [approvedCalls, approvedTokens]
        )
      }
    })
  )

  it.effect("is disabled when nothing is limited", () =>
    Effect.gen(function* () {
      const noop = yield* Effect.provide(ResourceQuotas.ResourceQuotas, ResourceQuotas.layerNoop)
      assert.isFalse(noop.enabled)
      assert.strictEqual((yield* noop.consume({ tenantId: "t", unit: "x", amount: 1 })).status, "approved")
      assert.isFalse((yield* making([calls], [])).enabled)
      const layer = DefaultResourceQuotas.layer({ units: [calls], quotas: [everyone(calls, 1)] })
      const quotas = yield* Effect.provide(
        ResourceQuotas.ResourceQuotas,
        Layer.provide(layer, RateLimitStore.layerMemory())
      )
      assert.isTrue(quotas.enabled)
    })
  )
})
