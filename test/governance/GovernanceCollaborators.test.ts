/** What governance asks of policies and quotas, and what it tells hooks and the bus. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as Policy from "../../src/governance/policy/Policy.js"
import * as PolicyEngine from "../../src/governance/policy/PolicyEngine.js"
import * as ResourceQuotas from "../../src/governance/ResourceQuotas.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import { PolicyViolationError, ResourceExhaustedError } from "../../src/governance/store/GovernanceError.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as WatchedRun from "../support/WatchedRun.js"

const runId = RunId.make("run-1")
const userId = UserId.make("ada")
const prices = CostEstimator.layerPrices({ m: { input: 1000, output: 1000 }, bad: { input: 1000, output: 1000 } })
const call = { runId, agent: "a", provider: "p", model: "m", userId, inputTokens: 400, maxOutputTokens: 600 } as const
const usage = { inputTokens: 400, outputTokens: 100 }

const violation = new PolicyViolationError({ message: "not here", policy: "p1" })

/** Policies that write down what they are asked, and deny what `denies` says. */
const policies = (asked: Array<Policy.PolicyRequest>, denies: (request: Policy.PolicyRequest) => boolean) =>
  Layer.succeed(PolicyEngine.PolicyEngine, {
    evaluate: (request) =>
      Effect.sync((): PolicyEngine.PolicyDecision => {
        asked.push(request)
        return denies(request)
          ? { allowed: false, policies: ["p1"], reason: violation.message, error: violation }
          : { allowed: true, policies: [] }
      })
  })

const receipt: ResourceQuotas.Receipt = { tenantId: "t", entries: [{ unit: "u", at: 1, amount: 2, key: "k" }] }

const quotas = (
  decision: ResourceQuotas.QuotaDecision,
  uses: Array<unknown>
): Layer.Layer<ResourceQuotas.ResourceQuotas> =>
  Layer.succeed(ResourceQuotas.ResourceQuotas, {
    consume: () => Effect.succeed(decision),
    consumeKind: () => Effect.succeed(decision),
    consumeKinds: (request) =>
      Effect.sync(() => uses.push(["use", request.tenantId, request.amounts])).pipe(Effect.as(decision)),
    correct: (given, amounts) => Effect.sync(() => void uses.push(["correct", given === receipt, amounts])),
    snapshot: (tenantId, unit) => Effect.succeed({ tenantId, unit, current: 0 })
  })

const governed = (options: Parameters<typeof DefaultGovernance.layerWith>[0]) =>
  Layer.provide(DefaultGovernance.layerWith(options), prices) as Layer.Layer<Governance.Governance>

describe("policies", () => {
  it.effect("apply before a run, before each call with its cost, and after guards, and deny with their error", () => {
    const asked: Array<Policy.PolicyRequest> = []
    return Effect.gen(function* () {
      const governance = yield* Governance.Governance
      assert.isTrue((yield* governance.checkRequest({ ...call, classifications: ["pii"] })).allowed)
      assert.isTrue((yield* governance.checkRequest({ runId, agent: "a", provider: "p", tenantId: "t" })).allowed)
      yield* governance.reserve(call)
      assert.deepStrictEqual(yield* Effect.flip(governance.reserve({ ...call, model: "bad" })), violation)
      assert.strictEqual((yield* governance.getBudget(userId)).reserved, 1)
      const guarded = yield* governance.checkGuardrail({
        runId,
        agent: "a",
        guard: "g",
        stage: "input",
        action: "warn"
      })
      assert.isFalse(guarded.allowed)
      assert.deepStrictEqual(
        asked.map(({ classifications, cost, guard, model, scopes, tenantId }) => [
          scopes.join(),
          tenantId,
          model,
          cost,
          classifications?.join(),
          guard
        ]),
        [
          ["model,data_classification", "user:ada", "m", undefined, "pii", undefined],
          ["data_classification", "t", undefined, undefined, undefined, undefined],
          ["model,cost", "user:ada", "m", 1, undefined, undefined],
          ["model,cost", "user:ada", "bad", 1, undefined, undefined],
          ["guardrail", "shared", undefined, undefined, undefined, "g"]
        ]
      )
    }).pipe(
      Effect.provide(
        governed({
          config: { monthlyBudget: 100 },
          policies: policies(asked, ({ guard, model }) => model === "bad" || guard === "g")
        })
      )
    )
  })
})

describe("quotas", () => {
  const approved: ResourceQuotas.QuotaDecision = { status: "approved", usage: [], receipt }

  it.effect("are used by runs and calls, and corrected by actual use", () => {
    const uses: Array<unknown> = []
    return Effect.gen(function* () {
      const governance = yield* Governance.Governance
      yield* governance.checkRequest({ ...call, tenantId: "t" })
      const first = yield* governance.reserve({ ...call, tenantId: "t" })
      assert.deepStrictEqual(first.receipt, receipt)
      yield* governance.settle(first, usage)
      yield* governance.settle(first, usage)
      yield* governance.refund(yield* governance.reserve(call))
      yield* Effect.flip(governance.reserve({ ...call, inputTokens: 5000 }))
      const nothing = { model_calls: 0, tokens: 0, cost: 0 }
      assert.deepStrictEqual(uses, [
        ["use", "t", { requests: 1 }],
        ["use", "t", { model_calls: 1, tokens: 1000, cost: 1 }],
        ["correct", true, { tokens: 500, cost: 0.5 }],
        ["use", "user:ada", { model_calls: 1, tokens: 1000, cost: 1 }],
        ["correct", true, nothing],
        ["use", "user:ada", { model_calls: 1, tokens: 5600, cost: 5.6 }],
        ["correct", true, nothing]
      ])
    }).pipe(Effect.provide(governed({ quotas: quotas(approved, uses), config: { maxRequestCost: 2 } })))
  })

  it.effect("refuse run and call when exhausted", () => {
    const error = new ResourceExhaustedError({ message: "no more", tenantId: "t", unitName: "u", limit: 1, current: 1 })
    return Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const denied = yield* governance.checkRequest(call)
      assert.isTrue(!denied.allowed && denied.error === error)
      assert.strictEqual(yield* Effect.flip(governance.reserve(call)), error)
      assert.strictEqual((yield* governance.getBudget(userId)).reserved, 0)
    }).pipe(Effect.provide(governed({ quotas: quotas({ status: "exhausted", usage: [], error }, []) })))
  })

  it.effect("are reported when nearly used up", () => {
    const breach: ResourceQuotas.QuotaDecision = {
      status: "soft_threshold_breach",
      usage: [
        { tenantId: "t", unit: "u", current: 8, limit: 10 },
        { tenantId: "t", unit: "v", current: 1, limit: 10 }
      ],
      receipt,
      crossed: ["u"]
    }
    return Effect.gen(function* () {
      const watched = yield* WatchedRun.make
      const governance = yield* Governance.Governance
      yield* watched.inside(governance.checkRequest({ ...call, tenantId: "t" }))
      assert.deepStrictEqual(
        watched.events.map(({ aggregateId, eventType, fields }) => [eventType, aggregateId, fields]),
        [["SoftLimitReachedEvent", "t:u", { budget: "quota", limit: 10, used: 8 }]]
      )
    }).pipe(Effect.provide(governed({ quotas: quotas(breach, []) })))
  })
})

describe("hooks and events", () => {
  const persistent = Layer.effect(
    CostLedger.CostLedger,
    Effect.map(InMemoryCostLedger.make(), (ledger) => ({ ...ledger, backend: "disk", isPersistent: true }))
  )

  it.effect("report writes to a persistent ledger and a reached soft limit", () =>
    Effect.gen(function* () {
      const watched = yield* WatchedRun.make
      const governance = yield* Governance.Governance
      yield* watched.inside(
        Effect.gen(function* () {
          yield* governance.settle(yield* governance.reserve(call), usage)
          yield* governance.refund(yield* governance.reserve(call))
        })
      )
      const written = { name: "GovernancePersistenceWritten", payload: { backend: "disk" } }
      assert.deepStrictEqual(watched.hooks, [written, written, written, written])
      assert.deepStrictEqual(
        watched.events.map(({ actorId, aggregateId, fields }) => [aggregateId, actorId, fields]),
        [["user:ada:1970-01", "ada", { budget: "monthly", limit: 2, used: 0.5 }]]
      )
    }).pipe(Effect.provide(governed({ ledger: persistent, config: { monthlyBudget: 2, softLimitPct: 0.25 } })))
  )

  it.effect("report nothing for a memory ledger", () =>
    Effect.gen(function* () {
      const watched = yield* WatchedRun.make
      const governance = yield* Governance.Governance
      yield* watched.inside(
        Effect.flatMap(governance.reserve(call), (reservation) => governance.settle(reservation, usage))
      )
      assert.deepStrictEqual([watched.hooks, watched.events], [[], []])
    }).pipe(Effect.provide(governed({ audit: AuditLog.layerNoop })))
  )
})
