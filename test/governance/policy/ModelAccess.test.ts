import { assert, describe, it } from "@effect/vitest"
import * as ModelAccess from "../../../src/governance/policy/ModelAccess.js"
import * as Growth from "../../support/Growth.js"

const reasonOf = (options: ModelAccess.Options, request: ModelAccess.Request) =>
  ModelAccess.make(options).check(request)?.reason

describe("ModelAccess", () => {
  it("allows every model without lists", () => {
    const access = ModelAccess.make({ restrictedModels: [], modelAllowlist: {}, modelDenylist: {} })
    assert.isFalse(access.isLimited)
    for (const model of ["gpt-4o", "", undefined]) assert.isUndefined(access.check({ model }))
  })

  it("checks restricted, allowlist, denylist in order", () => {
    const all = { restrictedModels: ["m"], modelAllowlist: { u: ["n"] }, modelDenylist: { u: ["m", "n"] } }
    const request = { userId: "u", model: "m" }
    assert.strictEqual(reasonOf(all, request), "restricted")
    assert.strictEqual(reasonOf({ ...all, restrictedModels: [] }, request), "not_in_allowlist")
    assert.strictEqual(reasonOf({ modelDenylist: all.modelDenylist }, request), "in_denylist")
    assert.strictEqual(reasonOf(all, { userId: "u", model: "n" }), "in_denylist")
    assert.isUndefined(reasonOf({ modelAllowlist: all.modelAllowlist }, { userId: "u", model: "n" }))
  })

  it("prefers a user's own list to the one for all others", () => {
    const modelAllowlist = { "*": ["small-*"], boss: ["large-*"] }
    assert.isUndefined(reasonOf({ modelAllowlist }, { userId: "u", model: "small-1" }))
    assert.isUndefined(reasonOf({ modelAllowlist }, { model: "small-1" }))
    assert.strictEqual(reasonOf({ modelAllowlist }, { model: "large-1" }), "not_in_allowlist")
    assert.isUndefined(reasonOf({ modelAllowlist }, { userId: "boss", model: "large-1" }))
    assert.strictEqual(reasonOf({ modelAllowlist }, { userId: "boss", model: "small-1" }), "not_in_allowlist")
    const modelDenylist = { "*": ["large-*"], boss: [] }
    assert.strictEqual(reasonOf({ modelDenylist }, { userId: "u", model: "large-1" }), "in_denylist")
    assert.isUndefined(reasonOf({ modelDenylist }, { userId: "boss", model: "large-1" }))
    assert.isUndefined(reasonOf({ modelDenylist: { u: ["m"] } }, { userId: "other", model: "m" }))
  })

  it("matches a pattern with the model and with provider/model, case-insensitively", () => {
    const restrictedModels = ["openai/*", "Claude-?"]
    for (const [provider, model] of [
      ["openai", "gpt-4o"],
      ["OpenAI", "GPT-4o"],
      ["anthropic", "claude-4"],
      ["gateway", "openai/gpt-4o"]
    ] as const) {
      assert.strictEqual(reasonOf({ restrictedModels }, { provider, model }), "restricted", `${provider} ${model}`)
    }
    for (const [provider, model] of [
      ["azure", "gpt-4o"],
      ["anthropic", "claude-45"],
      ["anthropic", "my-claude-4"]
    ] as const) {
      assert.isUndefined(reasonOf({ restrictedModels }, { provider, model }), `${provider} ${model}`)
    }
  })

  it("compares user ids exactly", () => {
    const lists = JSON.parse('{"__proto__": ["m"], "constructor": ["m"], "Ada": ["m"]}')
    for (const userId of ["__proto__", "constructor", "Ada"]) {
      assert.strictEqual(reasonOf({ modelDenylist: lists }, { userId, model: "m" }), "in_denylist")
    }
    for (const userId of ["ada", "toString", "hasOwnProperty", ""]) {
      assert.isUndefined(reasonOf({ modelDenylist: lists }, { userId, model: "m" }))
    }
  })

  it("allows an unknown model only by an allowlist of everything", () => {
    const unknown = { provider: "openai" }
    assert.strictEqual(reasonOf({ restrictedModels: ["m"] }, unknown), "restricted")
    assert.strictEqual(reasonOf({ modelDenylist: { "*": ["m"] } }, unknown), "in_denylist")
    assert.strictEqual(reasonOf({ modelAllowlist: { "*": ["m*"] } }, unknown), "not_in_allowlist")
    assert.isUndefined(reasonOf({ modelAllowlist: { "*": ["*"] } }, unknown))
    assert.isUndefined(reasonOf({ modelAllowlist: { "*": ["openai/*"] } }, unknown))
  })

  it("names the model in a denial, shortened", () => {
    const access = ModelAccess.make({ restrictedModels: ["*"] })
    const denied = access.check({ model: "x".repeat(100_000) })
    assert.strictEqual(denied?.model.length, 256)
    assert.isBelow(denied!.message.length, 400)
    assert.include(access.check({ model: "gpt-4o" })?.message, "gpt-4o")
  })

  it("handles hostile names and patterns cheaply", () => {
    const hostile = `${"a*".repeat(100)}b`
    const access = ModelAccess.make({
      restrictedModels: [hostile, `*${"a?".repeat(80)}b`],
      modelAllowlist: { "*": [hostile] }
    })
    const reason = (model: string) => access.check({ provider: "p", model })?.reason
    assert.strictEqual(reason("a".repeat(100_000)), "not_in_allowlist")
    // Backtracking would not end within years.
    Growth.assertLinearTexts(["a"], reason, 100_000)
  })
})
