import { assert, describe, it } from "@effect/vitest"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import { GovernancePersistenceError } from "../../src/governance/store/GovernanceError.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"

type Config = GovernanceConfig.GovernanceConfig
type Options = GovernanceConfig.Options

const userId = UserId.make("ada")
const prices = CostEstimator.layerPrices({ m: { input: 1000, output: 1000 } })

/** A dollar. */
const call = (index: number, model = "m") => ({
  runId: RunId.make(`run-${index}`),
  agent: "a",
  provider: "p",
  model,
  userId,
  inputTokens: 400,
  maxOutputTokens: 600
})

const inside = <A, E>(
  config: Options,
  body: (governance: Governance.Service) => Effect.Effect<A, E>,
  rest: DefaultGovernance.Replaceable = {}
): Effect.Effect<A> => {
  const layer = DefaultGovernance.layerWith({ ...rest, config }) as Layer.Layer<Governance.Governance>
  return Effect.orDie(
    Effect.flatMap(Governance.Governance, body).pipe(Effect.provide(Layer.provideMerge(layer, prices)))
  ) as Effect.Effect<A>
}

const outcome = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>): Effect.Effect<string> =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "ok" })

/** What reservations come to, one after another: each of a run of its own unless told otherwise. */
const reservations = (
  config: Options,
  count: number,
  options?: { readonly sameRun?: boolean; readonly model?: string }
) =>
  inside(config, (governance) =>
    Effect.forEach(Array.from({ length: count }), (_, index) =>
      outcome(governance.reserve(call(options?.sameRun === true ? 0 : index, options?.model)))
    )
  )

const checks = (config: Options, count: number) =>
  inside(config, (governance) =>
    Effect.forEach(Array.from({ length: count }), (_, index) =>
      Effect.map(governance.checkRequest(call(index)), (decision) => (decision.allowed ? "ok" : decision.error._tag))
    )
  )

const broken = Layer.effect(
  CostLedger.CostLedger,
  Effect.map(InMemoryCostLedger.make(), (ledger) => ({
    ...ledger,
    hold: () => Effect.fail(new GovernancePersistenceError({ message: "gone" }))
  }))
)

const calls: GovernanceConfig.QuotaUnit = {
  name: "calls",
  kind: "model_calls",
  window: "1 hour",
  quotas: { "*": { limit: 2 } }
}

type Row = {
  readonly [K in keyof Config]: readonly [
    observe: (config: Options) => Effect.Effect<unknown>,
    one: readonly [Config[K], unknown],
    other: readonly [Config[K], unknown]
  ]
}

const rows: Row = {
  enabled: [(config) => checks({ ...config, monthlyBudget: 0 }, 1), [true, ["BudgetExceededError"]], [false, ["ok"]]],
  monthlyBudget: [
    (config) => reservations(config, 3),
    [1.5, ["ok", "BudgetExceededError", "BudgetExceededError"]],
    [undefined, ["ok", "ok", "ok"]]
  ],
  monthlyTokens: [
    (config) => reservations(config, 3),
    [2000, ["ok", "ok", "BudgetExceededError"]],
    [undefined, ["ok", "ok", "ok"]]
  ],
  maxRequestCost: [
    (config) => reservations(config, 3, { sameRun: true }),
    [2.5, ["ok", "ok", "BudgetExceededError"]],
    [undefined, ["ok", "ok", "ok"]]
  ],
  maxTokensPerRequest: [
    (config) => reservations(config, 2, { sameRun: true }),
    [1000, ["ok", "BudgetExceededError"]],
    [undefined, ["ok", "ok"]]
  ],
  rpmLimit: [
    (config) => checks(config, 3),
    [2, ["ok", "ok", "RateLimitExceededError"]],
    [undefined, ["ok", "ok", "ok"]]
  ],
  tpmLimit: [(config) => reservations(config, 2), [1999, ["ok", "RateLimitExceededError"]], [undefined, ["ok", "ok"]]],
  restrictedModels: [(config) => checks(config, 1), [["M*"], ["ModelAccessDeniedError"]], [["n"], ["ok"]]],
  modelAllowlist: [
    (config) => checks(config, 1),
    [{ "*": ["n"] }, ["ModelAccessDeniedError"]],
    [{ "*": ["p/m"] }, ["ok"]]
  ],
  modelDenylist: [
    (config) => checks(config, 1),
    [{ ada: ["m"] }, ["ModelAccessDeniedError"]],
    [{ bob: ["m"] }, ["ok"]]
  ],
  enforceBudget: [
    (config) => reservations({ ...config, monthlyBudget: 0.5 }, 1),
    [true, ["BudgetExceededError"]],
    [false, ["ok"]]
  ],
  softLimitPct: [
    (config) =>
      Effect.gen(function* () {
        const told: Array<unknown> = []
        const audit = Layer.succeed(AuditLog.AuditLog, {
          record: ({ eventType, metadata }) =>
            Effect.sync(() => void (eventType === "soft_limit_reached" && told.push(metadata?.["used"]))),
          read: () => Effect.succeed([])
        } satisfies AuditLog.Service)
        const spend = Effect.flatMap(Governance.Governance, (governance) =>
          Effect.replicateEffect(governance.trackCost({ cost: 1, usage: {}, userId }), 5)
        )
        const governance = DefaultGovernance.layerWith({ audit, config: { ...config, monthlyBudget: 4 } })
        yield* Effect.provide(spend, Layer.provide(governance, CostEstimator.layerPrices({})))
        return told
      }).pipe(Effect.orDie),
    [0.5, [2]],
    [undefined, []]
  ],
  unknownPrice: [
    (config) => reservations({ ...config, monthlyBudget: 1 }, 1, { model: "new" }),
    ["deny", ["BudgetExceededError"]],
    ["allow", ["ok"]]
  ],
  resourceUnits: [
    (config) => reservations(config, 3),
    [[calls], ["ok", "ok", "ResourceExhaustedError"]],
    [[{ ...calls, quotas: { bob: { limit: 2 } } }], ["ok", "ok", "ok"]]
  ],
  failOpenOnPersistenceError: [
    (config) =>
      inside({ ...config, monthlyBudget: 100 }, (governance) => outcome(governance.reserve(call(0))), {
        ledger: broken
      }),
    [true, "ok"],
    [false, "GovernancePersistenceError"]
  ]
}

const names = Object.keys(GovernanceConfig.GovernanceConfig.fields) as Array<keyof Config>

describe("GovernanceConfig", () => {
  for (const field of names) {
    it.effect(`${field} has its documented effect`, () =>
      Effect.gen(function* () {
        const [observe, one, other] = rows[field]
        for (const [value, expected] of [one, other]) {
          assert.deepStrictEqual(yield* observe({ [field]: value }), expected)
        }
        assert.notDeepEqual(one[1], other[1])
      })
    )
  }

  it("limits nothing by default", () => {
    const { enabled, enforceBudget, failOpenOnPersistenceError, softLimitPct, unknownPrice, ...limits } =
      GovernanceConfig.defaults
    assert.deepStrictEqual(
      [enabled, enforceBudget, failOpenOnPersistenceError, softLimitPct, unknownPrice],
      [true, true, false, 0.8, "deny"]
    )
    for (const limit of Object.values(limits)) assert.isTrue(limit === undefined || Object.keys(limit).length === 0)
    assert.deepStrictEqual(Either.getOrThrow(GovernanceConfig.make()), GovernanceConfig.defaults)
  })

  const bad: { readonly [K in keyof Config]: ReadonlyArray<unknown> } = {
    enabled: ["yes", null],
    monthlyBudget: [-1, Number.NaN, Number.POSITIVE_INFINITY, 9_000_001, "5"],
    monthlyTokens: [0, 1.5, Number.POSITIVE_INFINITY],
    maxRequestCost: [-0.01, Number.NaN],
    maxTokensPerRequest: [0, -1],
    rpmLimit: [0, 0.5],
    tpmLimit: [0, Number.NaN],
    restrictedModels: ["m", [""], ["x".repeat(257)], [1]],
    modelAllowlist: [["m"], { "*": "m" }, { u: [""] }, JSON.parse('{"__proto__": "m"}')],
    modelDenylist: [["m"], { "*": [1] }],
    enforceBudget: [1],
    softLimitPct: [0, 1.01, 80, Number.NaN],
    unknownPrice: ["maybe", ""],
    resourceUnits: [
      "calls",
      [calls, calls],
      [{ ...calls, kind: "calls" }],
      [{ ...calls, quotas: JSON.parse('{"__proto__":{"limit":-1}}') }]
    ],
    failOpenOnPersistenceError: ["false"]
  }

  for (const field of names) {
    it.effect(`rejects ${field} out of bounds by name, with its rule`, () =>
      Effect.gen(function* () {
        for (const value of bad[field]) {
          const error = yield* Effect.flip(Effect.scoped(Layer.build(DefaultGovernance.layer({ [field]: value }))))
          assert.strictEqual(error._tag, "GovernanceConfigurationError")
          assert.include(error.message, `${field} must be`, String(value))
        }
      })
    )
  }

  it("names all unit issues by their places", () => {
    const cases: ReadonlyArray<readonly [unit: unknown, ...says: ReadonlyArray<string>]> = [
      [{ ...calls, name: "a b" }, "1.name: 1 to 64 letters"],
      [{ ...calls, name: "first" }, "1.name: first is declared twice"],
      [{ ...calls, kind: "words", quotas: { "*": { limit: "9" } } }, "1.kind: Expected", "1.quotas.*.limit: Expected"],
      [{ ...calls, window: "soon" }, "1.window: must be a length of time"],
      [{ ...calls, window: { millis: 1 } }, "1.window: must be a length of time"],
      [{ ...calls, window: undefined }, "1.window: a sliding window needs a length"],
      [{ ...calls, window: 0 }, "1.window: a sliding window needs a length"],
      [{ ...calls, windowKind: "calendar-month" }, "1.window: a calendar month has its own"],
      [{ ...calls, windowKind: "monthly" }, "1.windowKind: Expected"],
      [
        { ...calls, quotas: { acme: { limit: -1 }, "": { limit: 1 } } },
        "1.quotas.acme.limit",
        "1.quotas..tenantId: empty"
      ],
      [{ ...calls, quotas: { acme: { limit: 1, softThresholdPct: 80 } } }, "1.quotas.acme.softThresholdPct: above 0"],
      [{ ...calls, quotas: JSON.parse('{"__proto__":{"limit":-1}}') }, "1.quotas.__proto__.limit"],
      [{ ...calls, kind: "cost", quotas: { "*": { limit: 1e7 } } }, "1.quotas.*.limit: a number from 0 to 9007199"],
      [{ ...calls, limit: 5 }, "1.limit"]
    ]
    for (const [unit, ...says] of cases) {
      const made = GovernanceConfig.make({ resourceUnits: [{ ...calls, name: "first" }, unit as typeof calls] })
      if (Either.isRight(made)) return assert.fail(`not refused: ${says}`)
      for (const text of says) assert.include(made.left.message, text)
    }
    const many = Array.from({ length: 5000 }, () => ({ ...calls, kind: "x".repeat(500) as "cost" }))
    const made = GovernanceConfig.make({ resourceUnits: many })
    if (Either.isRight(made)) return assert.fail("not refused")
    assert.isBelow(made.left.message.length, 2000)
  })

  it("names all invalid and unknown fields", () => {
    const made = GovernanceConfig.make({ monthlyBudget: -1, rpmLimit: 0, rpmLimits: 3 } as Options)
    if (Either.isRight(made)) return assert.fail("not refused")
    for (const text of ["monthlyBudget must", "rpmLimit must", "rpmLimits is not a field"]) {
      assert.include(made.left.message, text)
    }
  })
})

const read = (variables: Record<string, string>) =>
  Effect.withConfigProvider(GovernanceConfig.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

const variables: {
  readonly [K in keyof Config]: readonly [name: string, text: string, value: Config[K], bad: string]
} = {
  enabled: ["ENABLED", "false", false, "perhaps"],
  monthlyBudget: ["MONTHLY_BUDGET", "12.5", 12.5, "-1"],
  monthlyTokens: ["MONTHLY_TOKENS", "1000", 1000, "0"],
  maxRequestCost: ["MAX_REQUEST_COST", "0.5", 0.5, "much"],
  maxTokensPerRequest: ["MAX_TOKENS_PER_REQUEST", "9", 9, "1.5"],
  rpmLimit: ["RPM_LIMIT", "60", 60, "0"],
  tpmLimit: ["TPM_LIMIT", "100000", 100_000, "0"],
  restrictedModels: ["RESTRICTED_MODELS", "gpt-4o, o1-*,", ["gpt-4o", "o1-*"], "x".repeat(300)],
  modelAllowlist: ["MODEL_ALLOWLIST", '{"*":["m"],"ada":[]}', { "*": ["m"], ada: [] }, "{"],
  modelDenylist: ["MODEL_DENYLIST", '{"ada":["m*"]}', { ada: ["m*"] }, "[]x"],
  enforceBudget: ["ENFORCE_BUDGET", "false", false, "perhaps"],
  softLimitPct: ["SOFT_LIMIT_PCT", "none", undefined, "80"],
  unknownPrice: ["UNKNOWN_PRICE", "deny", "deny", "maybe"],
  resourceUnits: ["RESOURCE_UNITS", JSON.stringify([calls]), [calls], '[{"name":"calls"}]'],
  failOpenOnPersistenceError: ["FAIL_OPEN_ON_PERSISTENCE_ERROR", "true", true, "perhaps"]
}

describe("GovernanceConfig from the environment", () => {
  it.effect("gives the defaults without variables", () =>
    Effect.map(read({}), (config) => assert.deepStrictEqual(config, GovernanceConfig.defaults))
  )

  for (const field of names) {
    const [name, text, value, bad] = variables[field]
    const variable = `${GovernanceConfig.ENV_PREFIX}${name}`
    it.effect(`${variable} sets only ${field}, and is named if it cannot be used`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* read({ [variable]: text }), { ...GovernanceConfig.defaults, [field]: value })
        const error = yield* Effect.flip(read({ [variable]: bad }))
        assert.isTrue(ConfigError.isConfigError(error))
        assert.include(String(error), variable)
      })
    )
  }

  it.effect("builds governance from the environment, and rejects an invalid one", () =>
    Effect.gen(function* () {
      const decide = (variables: Record<string, string>) =>
        Effect.flatMap(Governance.Governance, (governance) => governance.checkRequest(call(0))).pipe(
          Effect.provide(DefaultGovernance.layerConfig()),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
        )
      assert.isTrue((yield* decide({})).allowed)
      assert.isFalse((yield* decide({ LEX_AI_GOVERNANCE__RESTRICTED_MODELS: "m" })).allowed)
      const error = yield* Effect.flip(decide({ LEX_AI_GOVERNANCE__RPM_LIMIT: "0", LEX_AI_GOVERNANCE__TPM_LIMIT: "0" }))
      assert.include(String(error), "LEX_AI_GOVERNANCE__RPM_LIMIT")
      assert.include(String(error), "LEX_AI_GOVERNANCE__TPM_LIMIT")
    })
  )
})
