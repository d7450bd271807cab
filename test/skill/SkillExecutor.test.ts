import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SkillDefinition, SkillParameter, SkillResult } from "../../src/skill/SkillDefinition.js"
import * as SkillExecutor from "../../src/skill/SkillExecutor.js"
import * as SkillRegistry from "../../src/skill/SkillRegistry.js"

const definition = SkillDefinition.make({ name: "math", description: "Computes" })

describe("skills that are not enabled", () => {
  it.effect("the executor knows no name", () =>
    Effect.gen(function* () {
      const executor = yield* SkillExecutor.SkillExecutor
      for (const name of ["math", "", "__proto__"]) {
        const error = yield* Effect.flip(executor.execute({ name, params: {} }))
        assert.strictEqual(error._tag, "SkillNotFoundError")
        assert.strictEqual(error._tag === "SkillNotFoundError" ? error.skillName : undefined, name)
        assert.strictEqual(error.code, "LEX_ERR_SKILL_002")
      }
    }).pipe(Effect.provide(SkillExecutor.layerNoop))
  )

  it.effect("the registry stays empty", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const skill: SkillRegistry.RegisteredSkill = {
        definition,
        validate: () => [],
        execute: () => Effect.succeed(SkillResult.make({ skillName: "math", success: true }))
      }
      yield* registry.register(skill)
      yield* registry.register(skill)
      assert.isTrue(Option.isNone(yield* registry.get("math")))
      assert.deepStrictEqual(yield* registry.list(), [])
      assert.deepStrictEqual(yield* registry.schemas(), [])
    }).pipe(Effect.provide(SkillRegistry.layerNoop))
  )
})

describe("SkillDefinition", () => {
  it("has its defaults, and leaves retries and timeout to the configuration", () => {
    assert.deepStrictEqual(definition, {
      name: "math",
      description: "Computes",
      parametersSchema: {},
      returnsSchema: {},
      category: "general",
      requiresConfirmation: false,
      cacheable: false,
      permissions: [],
      metadata: {}
    })
    assert.deepStrictEqual(
      Schema.decodeUnknownSync(SkillDefinition)({ name: "math", description: "Computes" }),
      definition
    )
  })

  it("a parameter is required unless it says otherwise", () => {
    assert.isTrue(SkillParameter.make({ name: "x", type: "number", description: "" }).required)
  })

  it("a result was not cached and took no time unless it says otherwise", () => {
    assert.deepStrictEqual(SkillResult.make({ skillName: "math", success: true, output: 4 }), {
      skillName: "math",
      success: true,
      output: 4,
      durationMs: 0,
      cached: false,
      metadata: {}
    })
  })
})
