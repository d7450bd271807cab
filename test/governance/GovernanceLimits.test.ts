import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/TestClock"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import { GovernanceControl } from "../../src/governance/GovernanceControl.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as DefaultAuditLog from "../../src/governance/store/DefaultAuditLog.js"
import { GovernancePersistenceError } from "../../src/governance/store/GovernanceError.js"
import * as GovernanceMetrics from "../../src/governance/store/GovernanceMetrics.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"

const runId = RunId.make("run-1")
const ada = UserId.make("ada")
const bob = UserId.make("bob")

/** A dollar for a thousand tokens, in and out. */
const prices = CostEstimator.layerPrices({
  m: { input: 1000, output: 1000 },
  cheap: { input: 1, output: 1 },
  free: { input: 0, output: 0 }
})

const call = { runId, provider: "p", model: "m", userId: ada, inputTokens: 400, maxOutputTokens: 600 } as const

const governed = (config: GovernanceConfig.Options, rest: DefaultGovernance.Replaceable = {}) =>
  DefaultGovernance.layerWith({ ...rest, config }).pipe(
    Layer.provideMerge(rest.audit ?? AuditLog.layerNoop),
    Layer.provide(prices)
  ) as Layer.Layer<Governance.Governance | GovernanceControl | AuditLog.AuditLog>

const test = (
  fact: string,
  config: GovernanceConfig.Options,
  body: Effect.Effect<void, unknown, Governance.Governance | GovernanceControl | AuditLog.AuditLog>,
  rest?: DefaultGovernance.Replaceable
) => it.effect(fact, () => Effect.provide(body, governed(config, rest)))

const failing = new GovernancePersistenceError({ message: "the disk is full" })

/** A ledger and rates that cannot be reached. */
const unreachable = {
  ledger: Layer.succeed(CostLedger.CostLedger, {
    backend: "broken",
    isPersistent: true,
    holdTtl: CostLedger.HOLD_TTL,
    hold: () => Effect.fail(failing),
    renew: () => Effect.fail(failing),
    settle: () => Effect.fail(failing),
    release: () => Effect.fail(failing),
    book: () => Effect.fail(failing),
    read: () => Effect.fail(failing),
    close: () => Effect.fail(failing)
  }),
  rates: Layer.succeed(RateLimitStore.RateLimitStore, {
    take: () => Effect.fail(failing),
    adjust: () => Effect.fail(failing),
    peek: () => Effect.fail(failing)
  })
}

const counterOf = (name: string, label?: readonly [string, string]) =>
  Effect.map(
    Metric.value(
      label === undefined
        ? Metric.counter(name, { incremental: true })
        : Metric.tagged(Metric.counter(name, { incremental: true }), ...label)
    ),
    ({ count }) => count
  )

/** What the effect logged as warnings. */
const warningsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      if (logLevel.label === "WARN") warnings.push(String(message))
    })
    return Effect.as(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), warnings)
  })

describe("a decision of Governance", () => {
  test(
    "is a value: a denial is truthy, but denies",
    { restrictedModels: ["m"] },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const decision = yield* governance.checkRequest({ ...call, agent: "a" })
      assert.isOk(decision)
      assert.isFalse(decision.allowed)
      if (decision.allowed) return
      assert.strictEqual(decision.error._tag, "ModelAccessDeniedError")
      assert.strictEqual(decision.reason, decision.error.message)
      const allowed = yield* governance.checkRequest({ ...call, agent: "a", model: "other" })
      assert.deepStrictEqual(allowed, { allowed: true })
    })
  )

  test(
    "checks model access, then rate, then budget",
    { restrictedModels: ["x"], rpmLimit: 1, monthlyBudget: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const tagOf = (model: string) =>
        Effect.map(governance.checkRequest({ ...call, agent: "a", model }), (decision) =>
          decision.allowed ? "allowed" : decision.error._tag
        )
      assert.strictEqual(yield* tagOf("m"), "allowed")
      yield* governance.trackCost({ cost: 1, usage: {}, userId: ada })
      assert.strictEqual(yield* tagOf("x"), "ModelAccessDeniedError")
      assert.strictEqual(yield* tagOf("m"), "RateLimitExceededError")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* tagOf("m"), "BudgetExceededError")
    })
  )

  test(
    "reports the rest of the month, less spent and reserved amounts",
    { monthlyBudget: 10 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* governance.trackCost({ cost: 2.5, usage: {}, userId: ada })
      yield* governance.reserve(call)
      assert.deepStrictEqual(yield* governance.checkRequest({ ...call, agent: "a" }), {
        allowed: true,
        remainingBudget: 6.5
      })
      yield* governance.trackCost({ cost: 6.5, usage: {}, userId: ada })
      const denied = yield* governance.checkRequest({ ...call, agent: "a" })
      assert.isFalse(denied.allowed)
      assert.strictEqual(denied.remainingBudget, 0)
    })
  )
})

describe("a reservation", () => {
  test(
    "reserves the maximum cost of a call and settles the actual one",
    { monthlyBudget: 100 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const reservation = yield* governance.reserve(call)
      assert.strictEqual(reservation.cost, 1)
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0, reserved: 1, limit: 100, remaining: 99 })
      yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 100 })
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0.5, reserved: 0, limit: 100, remaining: 99.5 })
      yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 100 })
      yield* governance.refund(reservation)
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0.5, reserved: 0, limit: 100, remaining: 99.5 })
    })
  )

  test(
    "is refunded completely, once",
    { monthlyBudget: 100, tpmLimit: 1500 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const first = yield* governance.reserve(call)
      yield* governance.refund(first)
      const second = yield* governance.reserve(call)
      yield* governance.refund(first)
      yield* governance.settle(first, { inputTokens: 1, outputTokens: 1 })
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0, reserved: 1, limit: 100, remaining: 99 })
      assert.strictEqual((yield* Effect.flip(governance.reserve(call)))._tag, "RateLimitExceededError")
      yield* governance.refund(second)
      yield* governance.reserve(call)
    })
  )

  test(
    "is priced by the model that answered, or by the given cost",
    {},
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const spent = Effect.map(governance.getBudget(ada), (budget) => budget.spent)
      const usage = { inputTokens: 400, outputTokens: 600 }
      yield* governance.settle(yield* governance.reserve(call), usage, { model: "cheap" })
      assert.strictEqual(yield* spent, 0.001)
      yield* governance.settle(yield* governance.reserve(call), usage, { cost: 0.25 })
      assert.strictEqual(yield* spent, 0.251)
      yield* governance.settle(yield* governance.reserve(call), usage, { cost: Number.NaN })
      assert.strictEqual(yield* spent, 1.251)
      yield* governance.settle(yield* governance.reserve(call), usage, { model: "unpriced" })
      assert.strictEqual(yield* spent, 2.251)
    })
  )

  test(
    "counts as reserved if the provider reported nothing",
    { maxTokensPerRequest: 2000 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* governance.settle(yield* governance.reserve(call), {})
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 1)
      yield* governance.settle(yield* governance.reserve(call), { outputTokens: 100 })
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 1.5)
      const refused = yield* Effect.flip(governance.reserve(call))
      assert.deepInclude(refused, { _tag: "BudgetExceededError", budgetType: "tokens", limit: 2000, used: 1500 })
    })
  )

  test(
    "takes nothing from minute, run or month when it fails",
    { tpmLimit: 1000, maxRequestCost: 1, monthlyBudget: 0.5 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      for (let n = 0; n < 5; n++) {
        const refused = yield* Effect.flip(governance.reserve(call))
        assert.deepInclude(refused, { _tag: "BudgetExceededError", budgetType: "monthly", limit: 0.5, used: 0 })
      }
      yield* governance.reserve({ ...call, inputTokens: 250, maxOutputTokens: 250 })
    })
  )

  test(
    "belongs to the budget of the top run, with all nested runs",
    { maxRequestCost: 2.5 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const child = (name: string) => ({ ...call, runId: RunId.make(name), rootRunId: runId })
      yield* governance.reserve(call)
      yield* governance.reserve(child("run-2"))
      const refused = yield* Effect.flip(governance.reserve(child("run-3")))
      assert.deepInclude(refused, { _tag: "BudgetExceededError", budgetType: "request", limit: 2.5, used: 2 })
      yield* governance.reserve({ ...call, runId: RunId.make("run-4") })
    })
  )

  test(
    "is given back with its run when lost, and a new run starts from zero",
    { maxRequestCost: 1, monthlyBudget: 3 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* governance.reserve({ ...call, runId: RunId.make("child"), rootRunId: runId })
      yield* governance.reserve({ ...call, runId: RunId.make("other") })
      yield* governance.release(runId)
      yield* governance.release(runId)
      assert.strictEqual((yield* governance.getBudget(ada)).reserved, 1)
      yield* governance.reserve(call)
    })
  )

  test(
    "limits hostile amounts",
    { maxTokensPerRequest: 100, monthlyBudget: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const tokens = (inputTokens: number, maxOutputTokens: number) =>
        governance.reserve({ ...call, inputTokens, maxOutputTokens })
      for (const [input, output] of [
        [Number.POSITIVE_INFINITY, 1],
        [Number.NaN, 101],
        [-1000, 101],
        [1e300, 1e300]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(tokens(input, output)))._tag, "BudgetExceededError")
      }
      const reservation = yield* tokens(1, 1)
      yield* governance.settle(
        reservation,
        { inputTokens: Number.NaN, outputTokens: -5, totalTokens: Number.NaN },
        { cost: -9 }
      )
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0, reserved: 0, limit: 1, remaining: 1 })
    })
  )

  test(
    "counts in its own month when settled in the next",
    { monthlyBudget: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* TestClock.setTime(Date.UTC(2026, 10, 30, 23, 59, 59))
      const reservation = yield* governance.reserve(call)
      assert.strictEqual((yield* Effect.flip(governance.reserve(call)))._tag, "BudgetExceededError")
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 0, reserved: 0, limit: 1, remaining: 1 })
      yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 600 })
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 0)
      yield* governance.reserve(call)
      yield* TestClock.setTime(Date.UTC(2027, 1, 28, 23, 59, 59, 999))
      yield* governance.trackCost({ cost: 1, usage: {}, userId: ada })
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 0)
    })
  )
})

describe("limits", () => {
  test(
    "are separate per user, and shared by users without an id",
    { monthlyBudget: 1, rpmLimit: 1, tpmLimit: 1000 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const people = [ada, bob, UserId.make("shared"), UserId.make("ada:2026-11"), UserId.make("__proto__"), undefined]
      for (const userId of people) {
        const reservation = yield* governance.reserve({ ...call, runId: RunId.make(`of ${userId}`), userId })
        yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 600 })
        assert.isTrue(
          (yield* governance.checkRequest({ ...call, agent: "a", userId: UserId.make(`${userId}!`) })).allowed
        )
        assert.strictEqual((yield* governance.getBudget(userId)).spent, 1)
        assert.isFalse(yield* governance.checkBudget({ cost: 0.01, userId }))
      }
      assert.strictEqual(
        (yield* Effect.flip(governance.reserve({ ...call, userId: undefined })))._tag,
        "RateLimitExceededError"
      )
    })
  )

  test(
    "slide for requests: no minute exceeds them, and a denial says when to retry",
    { rpmLimit: 2 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const check = governance.checkRequest({ ...call, agent: "a" })
      yield* check
      yield* TestClock.adjust("59 seconds")
      yield* check
      const denied = yield* check
      assert.isFalse(denied.allowed)
      if (denied.allowed || denied.error._tag !== "RateLimitExceededError") return assert.fail("not a rate limit")
      assert.deepInclude(denied.error, { limit: 2, current: 2, limitType: "rpm", retryAfterMs: 1000 })
      yield* TestClock.adjust("1 seconds")
      assert.isTrue((yield* check).allowed)
      assert.isFalse((yield* check).allowed)
    })
  )

  test(
    "are corrected by the tokens a call used",
    { tpmLimit: 1500 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const reservation = yield* governance.reserve(call)
      const refused = yield* Effect.flip(governance.reserve(call))
      assert.deepInclude(refused, { _tag: "RateLimitExceededError", limitType: "tpm", limit: 1500, current: 1000 })
      yield* TestClock.adjust("20 seconds")
      yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 100 })
      yield* governance.reserve(call)
      const again = yield* Effect.flip(governance.reserve(call))
      assert.deepInclude(again, { current: 1500, retryAfterMs: 60_000 })
    })
  )

  test(
    "track everything and refuse no budget without enforcement",
    { enforceBudget: false, monthlyBudget: 1, monthlyTokens: 1, maxRequestCost: 0.1, maxTokensPerRequest: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      for (let n = 0; n < 3; n++) {
        assert.isTrue((yield* governance.checkRequest({ ...call, agent: "a" })).allowed)
        assert.isTrue(yield* governance.checkBudget({ cost: 100, userId: ada }))
        yield* governance.settle(yield* governance.reserve(call), { inputTokens: 400, outputTokens: 600 })
      }
      assert.deepStrictEqual(yield* governance.getBudget(ada), { spent: 3, reserved: 0, limit: 1, remaining: 0 })
    })
  )

  test(
    "count only tokens for an allowed unknown price, with one warning per model",
    { monthlyBudget: 1, monthlyTokens: 1500, unknownPrice: "allow" },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const unpriced = { ...call, model: "new", inputTokens: 100, maxOutputTokens: 100 }
      const warnings = yield* warningsOf(
        Effect.forEach(["new", "new", "newer", "m", "new"], (model) => governance.reserve({ ...unpriced, model }))
      )
      assert.strictEqual(warnings.length, 2)
      assert.strictEqual((yield* governance.getBudget(ada)).reserved, 0.2)
      const refused = yield* Effect.flip(governance.reserve({ ...unpriced, maxOutputTokens: 500 }))
      assert.deepInclude(refused, { budgetType: "monthly_tokens", used: 1000 })
    })
  )

  test(
    "refuse models without a price; zero is a price",
    { monthlyBudget: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const refused = yield* Effect.flip(governance.reserve({ ...call, model: "new" }))
      assert.deepInclude(refused, { _tag: "BudgetExceededError", budgetType: "unknown_price" })
      assert.strictEqual((yield* governance.getBudget(ada)).reserved, 0)
      yield* governance.reserve({ ...call, model: "free" })
    })
  )

  it.effect("prefer prices given when governance was built to those of the run", () =>
    Effect.gen(function* () {
      const costOf = (layer: Layer.Layer<Governance.Governance, any>) =>
        Effect.gen(function* () {
          const governance = yield* Governance.Governance
          return (yield* governance.reserve({ ...call, model: "cheap" })).cost
        }).pipe(
          Effect.provide(Layer.provideMerge(CostEstimator.layerPrices({ cheap: { input: 5, output: 5 } }), layer))
        )
      assert.strictEqual(yield* costOf(DefaultGovernance.layer({})), 0.005)
      assert.strictEqual(yield* costOf(Layer.provide(DefaultGovernance.layer({}), prices)), 0.001)
    })
  )
})

describe("a soft limit", () => {
  const spend = (times: number) =>
    Effect.flatMap(Governance.Governance, (governance) =>
      Effect.forEach(
        Array.from({ length: times }),
        () =>
          Effect.flatMap(governance.reserve(call), (reservation) =>
            Effect.zipRight(Effect.yieldNow(), governance.settle(reservation, { inputTokens: 400, outputTokens: 600 }))
          ),
        { concurrency: "unbounded", discard: true }
      )
    )

  test(
    "is reported once a month, however many calls cross it at once",
    { monthlyBudget: 1000, monthlyTokens: 2_000_000, softLimitPct: 0.1 },
    Effect.gen(function* () {
      const log = yield* AuditLog.AuditLog
      const reached = SystemAccess.grant(log.read({ eventTypes: ["soft_limit_reached"] }))
      const before = yield* counterOf(GovernanceMetrics.METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL, ["budget", "monthly"])
      assert.strictEqual((yield* warningsOf(spend(99))).length, 0)
      assert.deepStrictEqual(yield* warningsOf(spend(300)), ["a soft limit is reached", "a soft limit is reached"])
      const events = yield* reached
      assert.deepStrictEqual(
        events.map(({ metadata, userId }) => [userId, metadata!["budget"], metadata!["used"]]).sort(),
        [
          [ada, "monthly", 100],
          [ada, "monthly_tokens", 200_000]
        ]
      )
      assert.strictEqual(
        yield* counterOf(GovernanceMetrics.METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL, ["budget", "monthly"]),
        before + 1
      )
      yield* TestClock.adjust("31 days")
      assert.strictEqual((yield* warningsOf(spend(150))).length, 1)
    }),
    { audit: DefaultAuditLog.layerMemory() }
  )
})

describe("unavailable storage", () => {
  test(
    "fails when governance fails closed",
    { monthlyBudget: 1, rpmLimit: 1, tpmLimit: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const reservation = { id: "r", ...call }
      for (const operation of [
        Effect.asVoid(governance.checkRequest({ ...call, agent: "a" })),
        Effect.asVoid(governance.reserve(call)),
        governance.settle(reservation, {}),
        governance.refund(reservation),
        governance.trackCost({ cost: 1, usage: {} }),
        Effect.asVoid(governance.checkBudget({ cost: 0.1 })),
        Effect.asVoid(governance.getBudget(ada))
      ] as ReadonlyArray<Effect.Effect<void, unknown>>) {
        assert.deepInclude(yield* Effect.flip(operation), { _tag: "GovernancePersistenceError" })
      }
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(governance.release(runId))))
    }),
    unreachable
  )

  test(
    "is ignored, logged and counted when governance fails open, without inventing a budget",
    { monthlyBudget: 1, rpmLimit: 1, tpmLimit: 1, failOpenOnPersistenceError: true },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const counts = Effect.forEach(["check", "reserve", "settle", "refund", "track"], (operation) =>
        counterOf(GovernanceMetrics.METRIC_GOVERNANCE_FAIL_OPENS_TOTAL, ["operation", operation])
      )
      const before = yield* counts
      const warnings = yield* warningsOf(
        Effect.gen(function* () {
          assert.isTrue((yield* governance.checkRequest({ ...call, agent: "a" })).allowed)
          assert.isTrue(yield* governance.checkBudget({ cost: 0.1 }))
          const reservation = yield* governance.reserve(call)
          yield* governance.settle(reservation, {})
          yield* governance.refund(reservation)
          yield* governance.trackCost({ cost: 1, usage: {} })
        })
      )
      const after = yield* counts
      assert.deepStrictEqual(
        after.map((count, index) => count - before[index]!),
        [3, 2, 1, 1, 1]
      )
      assert.strictEqual(warnings.length, 8)
      assert.strictEqual((yield* Effect.flip(governance.getBudget(ada)))._tag, "GovernancePersistenceError")
    }),
    unreachable
  )

  const brokenLedger = { ledger: unreachable.ledger }

  test(
    "gives back what was taken before the failure",
    { tpmLimit: 1000, monthlyBudget: 100 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      for (let n = 0; n < 3; n++) {
        assert.strictEqual((yield* Effect.flip(governance.reserve(call)))._tag, "GovernancePersistenceError")
      }
    }),
    brokenLedger
  )
})

describe("disabled governance", () => {
  test(
    "allows everything, books nothing and says so",
    { enabled: false, monthlyBudget: 0, rpmLimit: 1, restrictedModels: ["*"] },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      assert.isFalse(governance.enabled)
      for (let n = 0; n < 3; n++) assert.isTrue((yield* governance.checkRequest({ ...call, agent: "a" })).allowed)
      const reservation = yield* governance.reserve(call)
      yield* governance.settle(reservation, {}, { cost: 5 })
      yield* governance.trackCost({ cost: 5, usage: {}, userId: ada })
      assert.strictEqual((yield* governance.getBudget(ada)).spent, 0)
      const control = yield* GovernanceControl
      yield* control.reload({ restrictedModels: ["*"] })
      assert.isTrue(governance.enabled)
      assert.isFalse((yield* governance.checkRequest({ ...call, agent: "a" })).allowed)
    })
  )
})

describe("GovernanceControl", () => {
  test(
    "applies another configuration, and keeps the old one if it is invalid",
    { monthlyBudget: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const control = yield* GovernanceControl
      yield* governance.trackCost({ cost: 1, usage: {}, userId: ada })
      assert.strictEqual((yield* Effect.flip(governance.reserve(call)))._tag, "BudgetExceededError")
      yield* control.reload({ ...(yield* control.config), monthlyBudget: 2 })
      yield* governance.reserve(call)
      const error = yield* Effect.flip(control.reload({ monthlyBudget: -1 }))
      assert.strictEqual(error._tag, "GovernanceConfigurationError")
      assert.strictEqual((yield* control.config).monthlyBudget, 2)
      const log = yield* AuditLog.AuditLog
      const reloads = yield* SystemAccess.grant(log.read({ eventTypes: ["config_reloaded"] }))
      assert.deepStrictEqual(
        reloads.map(({ metadata }) => metadata),
        [{ fields: ["monthlyBudget"] }]
      )
    }),
    { audit: DefaultAuditLog.layerMemory() }
  )
})

describe("the audit log", () => {
  test(
    "records decisions and reported activity, each refusal once",
    { restrictedModels: ["x"], rpmLimit: 2, maxRequestCost: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const log = yield* AuditLog.AuditLog
      const check = (model: string) => governance.checkRequest({ ...call, agent: "a", model })
      yield* check("x")
      yield* check("m")
      yield* check("m")
      yield* check("m")
      const reservation = yield* governance.reserve(call)
      yield* TestClock.adjust("2 seconds")
      yield* governance.settle(reservation, { inputTokens: 400, outputTokens: 100 }, { model: "cheap", provider: "q" })
      yield* Effect.flip(governance.reserve(call))
      yield* governance.audit({
        type: "tool_call",
        runId,
        agent: "a",
        status: "failure",
        latencyMs: 3,
        metadata: { tool: "t" }
      })
      yield* governance.audit({ type: "agent_execution", runId, agent: "a", status: "success", latencyMs: 9, cost: 1 })
      const events = Array.from(yield* SystemAccess.grant(log.read())).reverse()
      assert.deepStrictEqual(
        events.map(({ eventType, status }) => [eventType, status]),
        [
          ["created", "success"],
          ["model_denied", "denied"],
          ["rate_limited", "denied"],
          ["llm_call", "success"],
          ["budget_exceeded", "denied"],
          ["tool_call", "failure"],
          ["agent_execution", "success"]
        ]
      )
      assert.deepInclude(events[3], {
        provider: "q",
        model: "cheap",
        tokens: 500,
        cost: 0.0005,
        latencyMs: 2000,
        userId: ada
      })
    }),
    { audit: DefaultAuditLog.layerMemory() }
  )
})

describe("metrics of governance", () => {
  test(
    "count refusals by reason, money, tokens and open reservations",
    { restrictedModels: ["x"], maxRequestCost: 1 },
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const open = Effect.map(
        Metric.value(Metric.gauge(GovernanceMetrics.METRIC_GOVERNANCE_RESERVATIONS_OPEN)),
        ({ value }) => value
      )
      const read = Effect.all([
        counterOf(GovernanceMetrics.METRIC_GOVERNANCE_DENIALS_TOTAL, ["reason", "restricted"]),
        counterOf(GovernanceMetrics.METRIC_GOVERNANCE_DENIALS_TOTAL, ["reason", "request"]),
        counterOf(GovernanceMetrics.METRIC_GOVERNANCE_SPEND_USD),
        counterOf(GovernanceMetrics.METRIC_GOVERNANCE_TOKENS_TOTAL),
        open
      ])
      const before = yield* read
      yield* governance.checkRequest({ ...call, agent: "a", model: "x" })
      const first = yield* governance.reserve(call)
      yield* Effect.flip(governance.reserve(call))
      yield* governance.settle(first, { inputTokens: 400, outputTokens: 100 })
      yield* governance.refund(first)
      yield* governance.reserve({ ...call, runId: RunId.make("2") })
      yield* governance.refund(yield* governance.reserve({ ...call, runId: RunId.make("3") }))
      yield* governance.reserve({ ...call, runId: RunId.make("4") })
      yield* governance.release(RunId.make("4"))
      const after = yield* read
      assert.deepStrictEqual(
        after.map((value, index) => value - before[index]!),
        [1, 1, 0.5, 500, 1]
      )
      yield* governance.release(RunId.make("2"))
    })
  )
})
