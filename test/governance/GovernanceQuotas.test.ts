/** Governance with real policies, quotas and prices. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/TestClock"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as DefaultResourceQuotas from "../../src/governance/DefaultResourceQuotas.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import { GovernanceControl } from "../../src/governance/GovernanceControl.js"
import * as DefaultPolicyEngine from "../../src/governance/policy/DefaultPolicyEngine.js"
import type * as ResourceQuotas from "../../src/governance/ResourceQuotas.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as DefaultAuditLog from "../../src/governance/store/DefaultAuditLog.js"
import { GovernancePersistenceError } from "../../src/governance/store/GovernanceError.js"
import * as GovernanceMetrics from "../../src/governance/store/GovernanceMetrics.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as WatchedRun from "../support/WatchedRun.js"

const runId = RunId.make("run-1")
const userId = UserId.make("ada")

/** A dollar for a thousand tokens; reasoning, or input of a cache, is dearer where its name says so. */
const prices = CostEstimator.layerPrices({
  m: { input: 1000, output: 1000 },
  "long-thought": { input: 1000, output: 1000, reasoning: 3000 },
  "dear-cache": { input: 1000, output: 1000, cachedInput: 2000 }
})
const call = { runId, agent: "a", provider: "p", model: "m", userId, inputTokens: 400, maxOutputTokens: 600 } as const
const tool = { runId, agent: "a", userId, toolName: "search" } as const
const whole = { inputTokens: 400, outputTokens: 600 }

type Services = Governance.Governance | GovernanceControl | AuditLog.AuditLog

const test = (
  fact: string,
  options: DefaultGovernance.Replaceable & { readonly config?: GovernanceConfig.Options },
  body: (
    governance: Governance.Service,
    /** Who was refused what, by type and code. */
    audited: Effect.Effect<ReadonlyArray<unknown>>
  ) => Effect.Effect<void, unknown, Services>
) => {
  const layer = DefaultGovernance.layerWith(options).pipe(
    Layer.provideMerge(DefaultAuditLog.layerMemory()),
    Layer.provide(prices)
  ) as Layer.Layer<Services>
  return it.effect(fact, () =>
    Effect.gen(function* () {
      const log = yield* AuditLog.AuditLog
      const audited = Effect.map(Effect.orDie(SystemAccess.grant(log.read())), (events) =>
        Array.from(events)
          .reverse()
          .filter(({ status }) => status === "denied")
          .map(({ eventType, metadata }) => [eventType, metadata?.["code"]])
      )
      yield* body(yield* Governance.Governance, audited)
    }).pipe(Effect.provide(layer))
  )
}

const audit = Layer.effect(AuditLog.AuditLog, AuditLog.AuditLog)

const counting = (
  kind: ResourceQuotas.UnitKind,
  limit: number,
  more?: Partial<GovernanceConfig.QuotaUnit> & { readonly softThresholdPct?: number }
): GovernanceConfig.QuotaUnit => {
  const { softThresholdPct, ...unit } = more ?? {}
  return { name: kind, kind, window: "1 hour", quotas: { "*": { limit, softThresholdPct } }, ...unit }
}

const configured = (...resourceUnits: ReadonlyArray<GovernanceConfig.QuotaUnit>) => ({
  audit,
  config: { resourceUnits }
})

describe("policies under governance", () => {
  const policies = DefaultPolicyEngine.layer([
    { id: "no-pii", scope: "data_classification", effect: "deny", when: { classifications: ["pii"] } },
    { id: "trusted", scope: "model", effect: "allow", priority: 1, when: { users: ["ada"] } },
    { id: "small-only", scope: "model", effect: "deny", when: { models: ["m"] } },
    { id: "dear", scope: "cost", effect: "deny", when: { minCost: 1.5 } },
    { id: "strict", scope: "guardrail", effect: "deny", when: { tenants: ["acme"] } }
  ])

  test("allow and deny a run", { policies, audit }, (governance, audited) =>
    Effect.gen(function* () {
      assert.isTrue((yield* governance.checkRequest(call)).allowed)
      const pii = yield* governance.checkRequest({ ...call, classifications: ["PII"] })
      assert.isTrue(!pii.allowed && pii.error._tag === "PolicyViolationError" && pii.error.policy === "no-pii")
      const bob = yield* governance.checkRequest({ ...call, userId: UserId.make("bob") })
      assert.isTrue(!bob.allowed && bob.error._tag === "PolicyViolationError" && bob.error.policy === "small-only")
      assert.deepStrictEqual(yield* audited, [
        ["policy_denied", "LEX_ERR_GOV_003"],
        ["policy_denied", "LEX_ERR_GOV_003"]
      ])
    })
  )

  test("deny a call by its maximum cost, and leave nothing reserved", { policies, audit }, (governance) =>
    Effect.gen(function* () {
      yield* governance.refund(yield* governance.reserve(call))
      yield* governance.refund(yield* governance.reserve({ ...call, maxOutputTokens: 1099 }))
      for (const dear of [
        { ...call, maxOutputTokens: 1100 },
        // 400 of input, and 400 of output that may all be reasoning.
        { ...call, model: "long-thought", maxOutputTokens: 400 },
        // No price: it cannot be told.
        { ...call, model: "unheard-of" }
      ]) {
        const refused = yield* Effect.flip(governance.reserve(dear))
        assert.deepInclude(refused, { _tag: "PolicyViolationError", policy: "dear" })
      }
      assert.deepStrictEqual(yield* governance.getBudget(userId), { spent: 0, reserved: 0 })
    })
  )

  test("end a tenant's run after a guard's finding", { policies, audit }, (governance) =>
    Effect.gen(function* () {
      const found = { runId, agent: "a", userId, guard: "pii", stage: "output", action: "redact" } as const
      assert.isTrue((yield* governance.checkGuardrail(found)).allowed)
      const denied = yield* governance.checkGuardrail({ ...found, tenantId: "acme" })
      assert.isTrue(!denied.allowed && denied.error._tag === "PolicyViolationError" && denied.error.policy === "strict")
    })
  )
})

describe("a reservation", () => {
  test(
    "covers cached input and reasoning output where they cost more",
    { audit, config: { maxRequestCost: 2.2 } },
    (governance) =>
      Effect.gen(function* () {
        const thought = yield* governance.reserve({ ...call, model: "long-thought" })
        assert.strictEqual(thought.cost, 2.2)
        yield* governance.settle(thought, { ...whole, reasoningTokens: 600 })
        assert.strictEqual((yield* governance.getBudget(userId)).spent, 2.2)
        const other = RunId.make("run-2")
        const cached = yield* governance.reserve({ ...call, runId: other, model: "dear-cache" })
        assert.strictEqual(cached.cost, 1.4)
        yield* governance.settle(cached, { ...whole, cachedInputTokens: 100 })
        assert.strictEqual((yield* governance.getBudget(userId)).spent, 3.3)
        const refused = yield* Effect.flip(
          governance.reserve({ ...call, runId: RunId.make("run-3"), model: "long-thought", maxOutputTokens: 601 })
        )
        assert.deepInclude(refused, { _tag: "BudgetExceededError", budgetType: "request", limit: 2.2, used: 0 })
      })
  )
})

describe("quotas of the configuration", () => {
  test("refuse a run by its requests", configured(counting("requests", 2)), (governance, audited) =>
    Effect.gen(function* () {
      assert.isTrue((yield* governance.checkRequest(call)).allowed)
      yield* TestClock.adjust("30 minutes")
      assert.isTrue((yield* governance.checkRequest(call)).allowed)
      const denied = yield* governance.checkRequest(call)
      if (denied.allowed) return assert.fail("allowed")
      assert.deepInclude(denied.error, {
        _tag: "ResourceExhaustedError",
        tenantId: "user:ada",
        actorId: "ada",
        unitName: "requests",
        limit: 2,
        current: 2
      })
      assert.isTrue((yield* governance.checkRequest({ ...call, tenantId: "acme" })).allowed)
      yield* governance.reserve(call)
      yield* TestClock.adjust("30 minutes")
      assert.isTrue((yield* governance.checkRequest(call)).allowed)
      assert.deepStrictEqual(yield* audited, [["quota_exhausted", "LEX_ERR_GOV_010"]])
    })
  )

  test(
    "give model calls back on a refund, not after use",
    configured(counting("model_calls", 2)),
    (governance, audited) =>
      Effect.gen(function* () {
        const first = yield* governance.reserve(call)
        const second = yield* governance.reserve(call)
        assert.deepInclude(yield* Effect.flip(governance.reserve(call)), {
          _tag: "ResourceExhaustedError",
          unitName: "model_calls"
        })
        yield* governance.settle(first, whole)
        yield* Effect.flip(governance.reserve(call))
        yield* governance.refund(second)
        yield* governance.refund(second)
        yield* governance.reserve(call)
        yield* Effect.flip(governance.reserve(call))
        assert.strictEqual((yield* audited).length, 3)
      })
  )

  test("are corrected by the tokens a call used", configured(counting("tokens", 2000)), (governance) =>
    Effect.gen(function* () {
      const first = yield* governance.reserve(call)
      yield* governance.reserve(call)
      const refused = yield* Effect.flip(governance.reserve({ ...call, inputTokens: 1, maxOutputTokens: 0 }))
      assert.deepInclude(refused, { unitName: "tokens", limit: 2000, current: 2000 })
      yield* governance.settle(first, { inputTokens: 400, outputTokens: 100 })
      yield* governance.settle(yield* governance.reserve({ ...call, maxOutputTokens: 100 }), {
        inputTokens: 400,
        outputTokens: 900
      })
      const past = yield* Effect.flip(governance.reserve({ ...call, inputTokens: 1, maxOutputTokens: 0 }))
      assert.deepInclude(past, { unitName: "tokens", current: 2800 })
    })
  )

  test("count a call's maximum cost, then its actual cost", configured(counting("cost", 2.5)), (governance) =>
    Effect.gen(function* () {
      const first = yield* governance.reserve(call)
      const second = yield* governance.reserve(call)
      assert.deepInclude(yield* Effect.flip(governance.reserve(call)), { unitName: "cost", limit: 2.5, current: 2 })
      yield* governance.settle(first, { inputTokens: 400, outputTokens: 100 })
      yield* governance.reserve(call)
      yield* governance.refund(second)
      const third = yield* governance.reserve(call)
      assert.deepInclude(yield* Effect.flip(governance.reserve(call)), { current: 2.5 })
      yield* governance.settle(third, whole, { cost: 0 })
      yield* governance.reserve(call)
    })
  )

  test("refuse a tool call as a value, and name the unit", configured(counting("tool_calls", 2)), (governance) =>
    Effect.gen(function* () {
      const denials = Metric.tagged(
        Metric.counter(GovernanceMetrics.METRIC_GOVERNANCE_DENIALS_TOTAL, { incremental: true }),
        "reason",
        "quota"
      )
      const before = (yield* Metric.value(denials)).count
      for (let n = 0; n < 2; n++) assert.deepStrictEqual(yield* governance.checkToolCall(tool), { allowed: true })
      const denied = yield* governance.checkToolCall({ ...tool, toolName: "x".repeat(100_000) })
      if (denied.allowed) return assert.fail("allowed")
      assert.deepInclude(denied.error, { _tag: "ResourceExhaustedError", unitName: "tool_calls", limit: 2, current: 2 })
      assert.strictEqual((yield* Metric.value(denials)).count, before + 1)
      const events = yield* SystemAccess.grant((yield* AuditLog.AuditLog).read({ eventTypes: ["quota_exhausted"] }))
      assert.deepStrictEqual(
        events.map(({ agent, metadata, runId, status, userId }) => [runId, agent, userId, status, metadata]),
        [[runId, "a", userId, "denied", { reason: "quota", code: "LEX_ERR_GOV_010", tool: "x".repeat(256) }]]
      )
      assert.isTrue((yield* governance.checkToolCall({ ...tool, tenantId: "acme" })).allowed)
      assert.isTrue((yield* governance.checkRequest(call)).allowed)
      yield* governance.reserve(call)
      yield* TestClock.adjust("1 hour")
      assert.isTrue((yield* governance.checkToolCall(tool)).allowed)
    })
  )

  test(
    "are reported once when a use crosses the threshold",
    configured(
      counting("tokens", 10_000, { softThresholdPct: 0.3 }),
      counting("tool_calls", 4, { softThresholdPct: 0.5 })
    ),
    (governance) =>
      Effect.gen(function* () {
        const warnings: Array<unknown> = []
        const logger = Logger.make(({ logLevel, message }) => {
          if (logLevel.label === "WARN") warnings.push(message)
        })
        const watched = yield* WatchedRun.make
        yield* Effect.gen(function* () {
          for (let n = 0; n < 5; n++) yield* governance.settle(yield* governance.reserve(call), whole)
          for (let n = 0; n < 4; n++) yield* governance.checkToolCall({ ...tool, tenantId: "acme" })
        }).pipe(watched.inside, Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
        const told = [
          ["user:ada:tokens", { budget: "quota", limit: 10_000, used: 3000 }],
          ["acme:tool_calls", { budget: "quota", limit: 4, used: 2 }]
        ]
        assert.deepStrictEqual(
          watched.events.map(({ aggregateId, fields }) => [aggregateId, fields]),
          told
        )
        assert.strictEqual(warnings.length, 2)
        const events = yield* SystemAccess.grant(
          (yield* AuditLog.AuditLog).read({ eventTypes: ["soft_limit_reached"] })
        )
        assert.strictEqual(events.length, 2)
      })
  )

  test(
    "follow a reload: kept units keep their use, others restart, and old receipts correct nothing",
    configured(counting("tokens", 2000), counting("tool_calls", 1)),
    (governance) =>
      Effect.gen(function* () {
        const control = yield* GovernanceControl
        const first = yield* governance.reserve(call)
        assert.isTrue((yield* governance.checkToolCall(tool)).allowed)
        yield* control.reload({
          resourceUnits: [counting("tokens", 1500), counting("tool_calls", 1, { window: "2 hours" })]
        })
        assert.deepInclude(yield* Effect.flip(governance.reserve(call)), {
          unitName: "tokens",
          limit: 1500,
          current: 1000
        })
        assert.isTrue((yield* governance.checkToolCall(tool)).allowed)
        assert.isFalse((yield* governance.checkToolCall(tool)).allowed)
        // The same name counts dollars now.
        yield* control.reload({ resourceUnits: [counting("cost", 1.5, { name: "tokens" })] })
        yield* governance.reserve(call)
        yield* governance.settle(first, {}, { cost: 0 })
        assert.deepInclude(yield* Effect.flip(governance.reserve(call)), { limit: 1.5, current: 1 })
        assert.isTrue((yield* governance.checkToolCall(tool)).allowed)
        const [used, ...others] = yield* control.quotas(call)
        assert.deepInclude(used, { unit: "tokens", current: 1, limit: 1.5 })
        assert.deepStrictEqual(others, [])
        const [ofAnother] = yield* control.quotas({ tenantId: "another" })
        assert.deepInclude(ofAnother, { unit: "tokens", current: 0 })
        const wrong = yield* Effect.flip(control.reload({ resourceUnits: [counting("tokens", -1)] }))
        assert.include(wrong.message, "0.quotas.*.limit")
        yield* control.reload({})
        for (let n = 0; n < 3; n++) yield* governance.reserve(call)
      })
  )

  test(
    "count by calendar if configured, and each tenant separately",
    configured({
      name: "runs",
      kind: "requests",
      windowKind: "calendar-month",
      quotas: { "*": { limit: 1 }, acme: { limit: 2 }, ["__proto__"]: { limit: 0 } }
    }),
    (governance) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2026, 10, 30, 23, 59, 59))
        const allowed = (tenantId: string) =>
          Effect.map(governance.checkRequest({ ...call, tenantId }), (decision) => decision.allowed)
        assert.deepStrictEqual(yield* Effect.forEach(["t", "t", "acme", "acme", "acme", "__proto__"], allowed), [
          true,
          false,
          true,
          true,
          false,
          false
        ])
        yield* TestClock.adjust("1 second")
        assert.isTrue(yield* allowed("t"))
      })
  )

  test(
    "are separate per tenant, user and missing id, however these are named",
    configured(counting("requests", 1, { quotas: { "*": { limit: 1 }, acme: { limit: 0 }, shared: { limit: 2 } } })),
    (governance) =>
      Effect.gen(function* () {
        const allowed = (of: { readonly userId?: string; readonly tenantId?: string }) => {
          const userId = of.userId === undefined ? undefined : UserId.make(of.userId)
          const request = { ...call, tenantId: of.tenantId, userId }
          return Effect.map(governance.checkRequest(request), (decision) => decision.allowed)
        }
        const each = [
          { userId: "ada" },
          { tenantId: "ada" },
          { tenantId: "user:ada", userId: "ada" },
          { tenantId: "tenant:user:ada" },
          { tenantId: "tenant:ada" },
          { userId: "shared" },
          { tenantId: "shared" },
          { tenantId: "tenant:shared" },
          { userId: "acme" },
          { userId: "tenant:ada" },
          { userId: "user:ada" }
        ]
        for (const of of each) assert.isTrue(yield* allowed(of), JSON.stringify(of))
        for (const of of each) assert.isFalse(yield* allowed(of), JSON.stringify(of))
        assert.isFalse(yield* allowed({ tenantId: "acme" }))
        assert.deepStrictEqual(yield* Effect.forEach([{}, {}, {}], allowed), [true, true, false])
      })
  )

  const given = Layer.provide(
    DefaultResourceQuotas.layer({
      units: [{ name: "own", kind: "tool_calls", window: "1 hour" }],
      quotas: [{ tenantId: "*", unit: "own", limit: 1 }]
    }),
    RateLimitStore.layerMemory()
  )

  test(
    "are replaced by a layer of quotas",
    { audit, quotas: given, config: { resourceUnits: [counting("requests", 0)] } },
    (governance) =>
      Effect.gen(function* () {
        assert.isTrue((yield* governance.checkRequest(call)).allowed)
        assert.isTrue((yield* governance.checkToolCall(tool)).allowed)
        assert.isFalse((yield* governance.checkToolCall(tool)).allowed)
      })
  )

  it.effect("log that they are replaced", () =>
    Effect.gen(function* () {
      const warnings: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel.label === "WARN") warnings.push(String(message))
      })
      const build = (resourceUnits: ReadonlyArray<GovernanceConfig.QuotaUnit>) =>
        Effect.scoped(Layer.build(DefaultGovernance.layerWith({ quotas: given, config: { resourceUnits } }))).pipe(
          Effect.provide(Layer.merge(CostEstimator.layerPrices({}), Logger.replace(Logger.defaultLogger, logger)))
        )
      yield* build([])
      assert.deepStrictEqual(warnings, [])
      yield* build([counting("requests", 1)])
      assert.deepStrictEqual(warnings, ["resourceUnits are not used: governance was given other quotas"])
    })
  )
})

describe("a cost quota", () => {
  const refused = (governance: Governance.Service, model: string, tenantId?: string) =>
    Effect.map(
      Effect.flip(governance.reserve({ ...call, model, ...(tenantId === undefined ? {} : { tenantId }) })),
      (error) => (error._tag === "BudgetExceededError" ? [error.budgetType, error.limit] : error._tag)
    )

  test("refuses a model without a price, like a budget", configured(counting("cost", 5)), (governance) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* refused(governance, "new"), ["unknown_price", 5])
      yield* governance.reserve(call)
    })
  )

  test(
    "refuses it only for limited tenants",
    configured(counting("cost", 5, { quotas: { acme: { limit: 5 } } })),
    (governance) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refused(governance, "new", "acme"), ["unknown_price", 5])
        yield* governance.reserve({ ...call, model: "new" })
      })
  )

  test(
    "allows it where an unknown price is allowed",
    { ...configured(), config: { resourceUnits: [counting("cost", 5)], unknownPrice: "allow" } },
    (governance) => Effect.asVoid(governance.reserve({ ...call, model: "new" }))
  )
})

describe("an unreadable quota", () => {
  const failing = new GovernancePersistenceError({ message: "the disk is full" })
  const rates = Layer.succeed(RateLimitStore.RateLimitStore, {
    take: () => Effect.fail(failing),
    adjust: () => Effect.fail(failing),
    peek: () => Effect.fail(failing)
  })
  const resourceUnits = [counting("tool_calls", 1)]

  test(
    "fails the check of a tool call where governance fails closed",
    { audit, rates, config: { resourceUnits } },
    (governance, audited) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Effect.flip(governance.checkToolCall(tool)), failing)
        assert.deepStrictEqual(yield* audited, [])
      })
  )

  test(
    "lets the tool call pass where governance fails open",
    { audit, rates, config: { resourceUnits, failOpenOnPersistenceError: true } },
    (governance) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* governance.checkToolCall(tool), { allowed: true })
      })
  )

  test(
    "is not read while governance is off",
    { audit, rates, config: { resourceUnits, enabled: false } },
    (governance) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* governance.checkToolCall(tool), { allowed: true })
      })
  )
})
