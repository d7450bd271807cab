import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import type { Allowed, Denied } from "../../../src/governance/Governance.js"
import * as DefaultPolicyEngine from "../../../src/governance/policy/DefaultPolicyEngine.js"
import * as Policy from "../../../src/governance/policy/Policy.js"
import * as PolicyEngine from "../../../src/governance/policy/PolicyEngine.js"
import { GovernanceConfigurationError, PolicyViolationError } from "../../../src/governance/store/GovernanceError.js"
import * as WatchedRun from "../../support/WatchedRun.js"

const base: Policy.PolicyRequest = {
  scopes: ["model"],
  userId: "u1",
  agent: "writer",
  provider: "openai",
  model: "gpt-4o"
}

const decide = (
  policies: ReadonlyArray<Policy.Policy | Policy.CodePolicy>,
  request: Partial<Policy.PolicyRequest> = {}
) => Effect.flatMap(DefaultPolicyEngine.make(policies), (engine) => engine.evaluate({ ...base, ...request }))

const allows = (
  policies: ReadonlyArray<Policy.Policy | Policy.CodePolicy>,
  request: Partial<Policy.PolicyRequest> = {}
) => Effect.map(decide(policies, request), ({ allowed }) => allowed)

const deny = (id: string, more?: Partial<Policy.Policy>): Policy.Policy => ({
  id,
  scope: "model",
  effect: "deny",
  ...more
})
const allow = (id: string, more?: Partial<Policy.Policy>): Policy.Policy => ({
  ...deny(id, more),
  effect: "allow"
})

describe("DefaultPolicyEngine", () => {
  it.effect("allows requests without a matching policy", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decide([]), { allowed: true, policies: [] })
      assert.deepStrictEqual(yield* decide([deny("d", { when: { users: ["u2"] } })]), { allowed: true, policies: [] })
    })
  )

  it.effect("returns a denial as a value with the policy and its description", () =>
    Effect.gen(function* () {
      const decision = yield* decide([deny("no-4o", { description: "too dear", when: { models: ["gpt-4o*"] } })])
      assert.isFalse(decision.allowed)
      if (decision.allowed) return
      assert.instanceOf(decision.error, PolicyViolationError)
      assert.strictEqual(decision.error.policy, "no-4o")
      assert.strictEqual(decision.reason, "Denied by the policy no-4o: too dear")
      assert.deepStrictEqual(decision.policies, ["no-4o"])
    })
  )

  it.effect("applies the first denial by priority, in any given order", () =>
    Effect.gen(function* () {
      const decision = yield* decide([deny("late", { priority: 200 }), deny("normal"), deny("early", { priority: 1 })])
      assert.deepStrictEqual(decision.policies, ["early"])
      const equal = yield* decide([deny("a"), deny("b")])
      assert.deepStrictEqual(equal.policies, ["a"])
      const byDefault = yield* decide([deny("behind", { priority: 101 }), deny("normal")])
      assert.deepStrictEqual(byDefault.policies, ["normal"])
    })
  )

  it.effect("treats an allow as an exception to later policies, not to earlier ones", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* decide([deny("all"), allow("u1", { priority: 10, when: { users: ["u1"] } })]), {
        allowed: true,
        policies: ["u1"]
      })
      const behind = yield* decide([deny("all"), allow("u1", { priority: 200, when: { users: ["u1"] } })])
      assert.deepStrictEqual([behind.allowed, behind.policies], [false, ["all"]])
    })
  )

  it.effect("evaluates a denial first at equal priority", () =>
    Effect.gen(function* () {
      const decision = yield* decide([allow("yes"), deny("no")])
      assert.deepStrictEqual([decision.allowed, decision.policies], [false, ["no"]])
    })
  )

  it.effect("ends only the own scope after an allow", () =>
    Effect.gen(function* () {
      const policies = [
        allow("model-ok", { priority: 1 }),
        deny("model-no"),
        deny("dear", { scope: "cost", when: { minCost: 1 } })
      ]
      const both = { scopes: ["model", "cost"] } as const
      assert.deepStrictEqual(yield* decide(policies, { ...both, cost: 0.5 }), { allowed: true, policies: ["model-ok"] })
      const dear = yield* decide(policies, { ...both, cost: 1 })
      assert.deepStrictEqual([dear.allowed, dear.policies], [false, ["model-ok", "dear"]])
    })
  )

  it.effect("supports a closed list: allows before a deny without conditions", () =>
    Effect.gen(function* () {
      const policies = [
        allow("small", { priority: 1, when: { models: ["*-mini", "local/*"] } }),
        deny("else", { priority: 1000 })
      ]
      assert.isTrue(yield* allows(policies, { model: "gpt-4.1-mini" }))
      assert.isTrue(yield* allows(policies, { provider: "local", model: "anything" }))
      assert.isFalse(yield* allows(policies, { model: "gpt-4.1" }))
      assert.isFalse(yield* allows(policies, { model: undefined }))
    })
  )

  it.effect("evaluates only policies of the requested scopes", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allows([deny("d")], { scopes: ["cost"] }))
      assert.isTrue(yield* allows([deny("d")], { scopes: [] }))
      assert.isFalse(yield* allows([deny("d")], { scopes: ["cost", "model"] }))
    })
  )

  it.effect("evaluates each condition by its own fact", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<
        [Policy.PolicyScope, Policy.PolicyConditions, Partial<Policy.PolicyRequest>, boolean]
      > = [
        ["model", { users: ["u?"] }, {}, true],
        ["model", { users: ["U1"] }, {}, false],
        ["model", { users: ["*"] }, { userId: undefined }, false],
        ["model", { tenants: ["acme*"] }, { tenantId: "acme-eu" }, true],
        ["model", { tenants: ["acme*"] }, { tenantId: "other" }, false],
        ["model", { tenants: ["acme*"] }, {}, false],
        ["model", { agents: ["w*"] }, {}, true],
        ["model", { agents: ["x*"] }, {}, false],
        ["model", { providers: ["OpenAI"] }, {}, true],
        ["model", { providers: ["anthropic"] }, {}, false],
        ["model", { models: ["GPT-4*"] }, {}, true],
        ["model", { models: ["openai/gpt-*"] }, {}, true],
        ["model", { models: ["gpt-4"] }, {}, false],
        ["cost", { minCost: 0.1 }, { cost: 0.1 }, true],
        ["cost", { minCost: 0.1 }, { cost: 0.09 }, false],
        ["data_classification", { classifications: ["pii"] }, { classifications: ["public", "PII"] }, true],
        ["data_classification", { classifications: ["pii"] }, { classifications: ["public"] }, false],
        ["data_classification", { classifications: ["*"] }, { classifications: [] }, false],
        ["guardrail", { tenants: ["acme"] }, { tenantId: "acme" }, true],
        ["guardrail", { tenants: ["acme"] }, { tenantId: "other" }, false],
        ["guardrail", { guards: ["pii*"] }, { guard: "pii-detector" }, true],
        ["guardrail", { guards: ["pii*"] }, { guard: "length" }, false],
        ["guardrail", { stages: ["output"] }, { stage: "output" }, true],
        ["guardrail", { stages: ["output"] }, { stage: "input" }, false],
        ["guardrail", { actions: ["redact"] }, { action: "redact" }, true],
        ["guardrail", { actions: ["redact"] }, { action: "warn" }, false]
      ]
      for (const [scope, when, request, holds] of cases) {
        const label = `${JSON.stringify(when)} of ${JSON.stringify(request)}`
        assert.strictEqual(yield* allows([deny("d", { scope, when })], { scopes: [scope], ...request }), !holds, label)
        const decision = yield* decide([allow("a", { scope, when })], { scopes: [scope], ...request })
        assert.deepStrictEqual(decision.policies, holds ? ["a"] : [], label)
      }
    })
  )

  it.effect("requires all conditions of a policy", () =>
    Effect.gen(function* () {
      const policy = deny("d", { when: { users: ["u1", "u2"], providers: ["openai"], models: ["gpt-4o"] } })
      assert.isFalse(yield* allows([policy]))
      assert.isTrue(yield* allows([policy], { userId: "u3" }))
      assert.isTrue(yield* allows([policy], { provider: "azure" }))
      assert.isTrue(yield* allows([policy], { model: "gpt-4.1" }))
    })
  )

  it.effect("decides an unknown cost or model against the request", () =>
    Effect.gen(function* () {
      const cost = { scopes: ["cost"] } as const
      const dear = { scope: "cost", when: { minCost: 5 } } as const
      assert.isFalse(yield* allows([deny("d", dear)], cost))
      assert.isFalse(yield* allows([deny("d", dear)], { ...cost, cost: Number.NaN }))
      assert.isFalse(yield* allows([allow("a", { ...dear, priority: 1 }), deny("d", { scope: "cost" })], cost))
      const unnamed = { model: undefined }
      assert.isFalse(yield* allows([deny("d", { when: { models: ["o3"] } })], unnamed))
      assert.isFalse(yield* allows([allow("a", { priority: 1, when: { models: ["*"] } }), deny("d")], unnamed))
    })
  )

  describe("code", () => {
    it.effect("decides where its conditions hold", () =>
      Effect.gen(function* () {
        const seen: Array<string | undefined> = []
        const policy: Policy.CodePolicy = {
          ...deny("d", { when: { agents: ["writer"] } }),
          holds: (request) =>
            Effect.sync(() => {
              seen.push(request.userId)
              return request.userId === "u1"
            })
        }
        assert.isFalse(yield* allows([policy]))
        assert.isTrue(yield* allows([policy], { userId: "u2" }))
        assert.isTrue(yield* allows([policy], { agent: "reader" }))
        assert.deepStrictEqual(seen, ["u1", "u2"])
      })
    )

    it.effect("continues with later policies", () =>
      Effect.gen(function* () {
        const no: Policy.CodePolicy = { ...deny("code", { priority: 1 }), holds: () => Effect.succeed(false) }
        const yes: Policy.CodePolicy = { ...allow("ok", { priority: 2 }), holds: () => Effect.succeed(true) }
        assert.deepStrictEqual((yield* decide([no, deny("data")])).policies, ["data"])
        assert.deepStrictEqual(yield* decide([no, yes, deny("data")]), { allowed: true, policies: ["ok"] })
      })
    )

    it.effect("denies when it fails, dies or throws, and logs no secrets", () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.replace(
          Logger.defaultLogger,
          Logger.make(({ annotations, message }) => {
            logged.push(`${String(message)} ${JSON.stringify([...annotations])}`)
          })
        )
        const broken: ReadonlyArray<Policy.CodePolicy["holds"]> = [
          () => Effect.fail({ _tag: "Down", message: "directory is down, key sk-abcdefghijklmnopqrstuvwxyz123456" }),
          () => Effect.die("bug"),
          () => {
            throw new TypeError("thrown")
          }
        ]
        for (const holds of broken) {
          for (const policy of [deny("d"), allow("a")]) {
            const decision = yield* Effect.provide(decide([{ ...policy, holds }]), logger)
            assert.deepStrictEqual([decision.allowed, decision.policies], [false, [policy.id]])
          }
        }
        assert.strictEqual(logged.length, 6)
        assert.include(logged[0], "directory is down")
        assert.include(logged[0], '["policy","d"]')
        assert.notInclude(logged.join("\n"), "sk-abcdef")
      })
    )

    it.effect("is interrupted with its caller", () =>
      Effect.gen(function* () {
        let stopped = 0
        const policy: Policy.CodePolicy = {
          ...deny("d"),
          holds: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void stopped++))
        }
        const fiber = yield* Effect.fork(decide([policy]))
        yield* Effect.yieldNow()
        yield* Effect.yieldNow()
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        assert.strictEqual(stopped, 1)
      })
    )

    it.effect("takes its requirements from the layer", () =>
      Effect.gen(function* () {
        class Blocked extends Context.Tag("test/Blocked")<Blocked, ReadonlySet<string>>() {}
        const policy: Policy.CodePolicy<Blocked> = {
          ...deny("blocked"),
          holds: (request) => Effect.map(Blocked, (blocked) => blocked.has(request.userId ?? ""))
        }
        const layer: Layer.Layer<PolicyEngine.PolicyEngine, GovernanceConfigurationError> = Layer.provide(
          DefaultPolicyEngine.layer([policy]),
          Layer.succeed(Blocked, new Set(["u1"]))
        )
        const decision = yield* Effect.provide(
          Effect.flatMap(PolicyEngine.PolicyEngine, (engine) => engine.evaluate(base)),
          layer
        )
        assert.isFalse(decision.allowed)
      })
    )
  })

  it.effect("decides the same when one evaluation runs twice", () =>
    Effect.gen(function* () {
      const engine = yield* DefaultPolicyEngine.make([allow("a", { priority: 1 }), deny("d")])
      const evaluation = engine.evaluate(base)
      assert.deepStrictEqual(yield* evaluation, { allowed: true, policies: ["a"] })
      assert.deepStrictEqual(yield* evaluation, { allowed: true, policies: ["a"] })
    })
  )

  it.effect("reports only deciding policies to hooks and events", () =>
    Effect.gen(function* () {
      const watched = yield* WatchedRun.make
      const policies = [
        allow("model-ok", { priority: 1 }),
        deny("not-asked"),
        deny("other-user", { scope: "cost", priority: 1, when: { users: ["u2"] } }),
        deny("dear", { scope: "cost", when: { minCost: 1 } })
      ]
      const request = { scopes: ["model", "cost"], cost: 2 } as const
      yield* watched.inside(decide(policies, request))
      assert.deepStrictEqual(watched.hooks, [
        { name: "GovernancePolicyEvaluated", payload: { policyName: "model-ok" } },
        { name: "GovernancePolicyEvaluated", payload: { policyName: "dear" } }
      ])
      assert.deepStrictEqual(
        watched.events.map(({ actorId, aggregateId, eventType, fields }) => [eventType, aggregateId, actorId, fields]),
        [
          ["PolicyEvaluatedEvent", "model-ok", "u1", { policyId: "model-ok", decision: "allow" }],
          ["PolicyEvaluatedEvent", "dear", "u1", { policyId: "dear", decision: "deny" }]
        ]
      )
      yield* decide(policies, request)
      assert.strictEqual(watched.hooks.length, 2)
    })
  )

  it.effect("returns decisions of governance", () =>
    Effect.gen(function* () {
      const decision: Allowed | Denied = yield* decide([deny("d")])
      assert.isFalse(decision.allowed)
    })
  )

  it.effect("is disabled without policies", () =>
    Effect.gen(function* () {
      const noop = yield* Effect.provide(PolicyEngine.PolicyEngine, PolicyEngine.layerNoop)
      assert.isFalse(noop.enabled)
      assert.deepStrictEqual(yield* noop.evaluate(base), { allowed: true, policies: [] })
      assert.isFalse((yield* DefaultPolicyEngine.make([])).enabled)
      assert.isTrue((yield* DefaultPolicyEngine.make([deny("d")])).enabled)
    })
  )

  describe("validation", () => {
    const issues = (input: unknown) => Effect.map(Effect.flip(Policy.decode(input)), ({ message }) => message)

    it.effect("reads JSON text and parsed JSON", () =>
      Effect.gen(function* () {
        const policies = [deny("d", { description: "x", priority: 1, when: { users: ["u1"] } }), allow("a")]
        assert.deepStrictEqual(yield* Policy.decode(JSON.stringify(policies)), policies)
        assert.deepStrictEqual(yield* Policy.decode(policies), policies)
        assert.deepStrictEqual(yield* Schema.encode(Schema.Array(Policy.Policy))(policies), policies)
      })
    )

    it.effect("reports all issues of the shape", () =>
      Effect.gen(function* () {
        const message = yield* issues([
          { id: "", scope: "models", effect: "deny" },
          { id: "b", scope: "model", effect: "forbid", pririty: 3 },
          { id: "c", scope: "model", effect: "deny", when: { user: ["x"], models: [], minCost: -1 } },
          { scope: "model", effect: "deny", priority: Number.NaN }
        ])
        for (const path of [
          "0.id",
          "0.scope",
          "1.effect",
          "1.pririty",
          "2.when.user",
          "2.when.models",
          "2.when.minCost",
          "3.id",
          "3.priority"
        ]) {
          assert.include(message, `${path}: `)
        }
      })
    )

    it.effect("reports duplicate ids and conditions that never hold", () =>
      Effect.gen(function* () {
        const message = yield* issues([
          deny("a", { when: { minCost: 1 } }),
          deny("b", { scope: "guardrail", when: { models: ["*"] } }),
          deny("a", { scope: "cost", when: { classifications: ["pii"] } })
        ])
        assert.include(message, "0.when.minCost: the scope model has no such condition")
        assert.include(message, "1.when.models: the scope guardrail has no such condition")
        assert.include(message, "2.when.classifications: the scope cost has no such condition")
        assert.include(message, '2.id: "a" is the id of 0 too')
      })
    )

    it.effect("does not show text that is not JSON", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Policy.decode("{ sk-secret"))
        assert.instanceOf(error, GovernanceConfigurationError)
        assert.strictEqual(error.message, "The policies are invalid: the text is not JSON")
        assert.notInclude(JSON.stringify(error), "sk-secret")
      })
    )

    it.effect("treats prototype keys as unknown fields", () =>
      Effect.gen(function* () {
        const message = yield* issues('[{"id":"a","scope":"model","effect":"deny","__proto__":{"effect":"allow"}}]')
        assert.include(message, "__proto__")
        assert.include(
          yield* issues('[{"id":"a","scope":"model","effect":"deny","when":{"constructor":["x"]}}]'),
          "constructor"
        )
      })
    )

    it.effect("keeps a message short, however many issues there are", () =>
      Effect.gen(function* () {
        const message = yield* issues(Array.from({ length: 1000 }, () => ({ id: "x".repeat(10_000) })))
        assert.isBelow(message.length, 8000)
        assert.match(message, /and \d+ more$/)
      })
    )

    it.effect("validates data and code alike", () =>
      Effect.gen(function* () {
        const code: Policy.CodePolicy = { ...deny("a"), holds: () => Effect.succeed(true) }
        const error = yield* Effect.flip(
          Effect.provide(PolicyEngine.PolicyEngine, DefaultPolicyEngine.layer([deny("a"), code]))
        )
        assert.instanceOf(error, GovernanceConfigurationError)
        assert.include(error.message, "is the id of 0 too")
        const odd = { ...code, id: "b", wen: {} } as Policy.CodePolicy
        assert.include((yield* Effect.flip(DefaultPolicyEngine.make([odd]))).message, "0.wen")
      })
    )
  })

  it.effect("agrees with a simple model of the rule", () =>
    Effect.gen(function* () {
      const scopes = ["model", "cost"] as const
      const policy = FastCheck.record({
        scope: FastCheck.constantFrom(...scopes),
        effect: FastCheck.constantFrom("allow" as const, "deny" as const),
        priority: FastCheck.integer({ min: 0, max: 3 }),
        when: FastCheck.constantFrom({}, { users: ["u1"] }, { users: ["u2"] }, { agents: ["writer"] })
      })
      const samples = FastCheck.sample(FastCheck.array(policy, { maxLength: 6 }), 300)
      for (const sample of samples) {
        const policies = sample.map((given, index): Policy.Policy => ({ id: `p${index}`, ...given }))
        const holding = policies
          .filter(({ when }) => JSON.stringify(when) !== '{"users":["u2"]}')
          .sort(
            (a, b) =>
              (a.priority ?? 0) - (b.priority ?? 0) || (a.effect === b.effect ? 0 : a.effect === "deny" ? -1 : 1)
          )
        const denied = scopes.some((scope) => holding.find((one) => one.scope === scope)?.effect === "deny")
        assert.strictEqual(yield* allows(policies, { scopes, cost: 1 }), !denied, JSON.stringify(policies))
      }
    })
  )
})
