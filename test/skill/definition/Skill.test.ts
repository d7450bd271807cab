import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../../../src/domain/Ids.js"
import * as Run from "../../../src/observability/Run.js"
import * as BoundSkill from "../../../src/skill/definition/BoundSkill.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as Skills from "../../support/Skills.js"

class Word extends Context.Tag("test/Word")<Word, string>() {}

const speak = Skill.make("speak", {
  description: "Speaks",
  parameters: { loud: Schema.Boolean },
  handler: ({ loud }) => Effect.map(Word, (word) => (loud ? word.toUpperCase() : word))
})

describe("Skill", () => {
  it.effect("captures its requirements at binding, which those at execution override", () =>
    Effect.gen(function* () {
      const bound = yield* Effect.provideService(BoundSkill.make(speak), Word, "then")
      assert.strictEqual(yield* Skills.call(bound, { loud: true }), "THEN")
      assert.strictEqual(yield* Effect.provideService(Skills.call(bound, { loud: false }), Word, "now"), "now")
    })
  )

  it.effect("does not capture the run at binding", () =>
    Effect.gen(function* () {
      const which = Skill.make("which", {
        description: "The run it is executed in",
        handler: () => Effect.map(Run.Run, ({ runId }) => runId)
      })
      const outside = (yield* Run.Run).runId
      const inside = { ...(yield* Run.Run), runId: RunId.make("run-that-ended") }
      const bound = yield* Effect.provideService(BoundSkill.make(which), Run.Run, inside)
      const [other] = yield* Effect.provideService(BoundSkill.all([which]), Run.Run, inside)
      assert.strictEqual(yield* Skills.call(bound, {}), outside)
      assert.strictEqual(yield* Skills.call(other as typeof bound, {}), outside)
    })
  )

  it.effect("validate reports everything wrong with parameters", () =>
    Effect.gen(function* () {
      const strict = Skill.make("strict", {
        description: "Strict",
        parameters: { a: Schema.Int, b: Schema.NonEmptyString },
        handler: () => Effect.void
      })
      assert.strictEqual((yield* Skill.validate(strict, { a: 1.5, b: "" })).length, 2)
      assert.deepStrictEqual(yield* Skill.validate(strict, { a: 1, b: "x" }), [])
    })
  )

  it("reports every reason why a definition is unusable", () => {
    const wrong = Skill.make(" ", {
      description: "",
      maxRetries: -1,
      maxConcurrent: 0,
      timeout: 0,
      handler: () => Effect.void
    })
    assert.strictEqual(wrong.problem?.errors.length, 5)
    assert.strictEqual(speak.problem, undefined)
  })
  it("allows corrections of texts afterwards, but not of schemas", () => {
    const nameless = Skill.make("", { description: "Says nothing", handler: () => Effect.void })
    assert.strictEqual(nameless.problem?._tag, "SkillValidationError")
    assert.strictEqual(Skill.annotate(nameless, { name: "mute" }).problem, undefined)
    assert.strictEqual(Skill.annotate(speak, { maxRetries: -1 }).problem?.errors.length, 1)
    const shapeless = Skill.make("shapeless", {
      description: "Takes what has no JSON form",
      parameters: { of: Schema.instanceOf(Map) },
      handler: () => Effect.void
    })
    assert.strictEqual(shapeless.problem?._tag, "SkillValidationError")
    assert.strictEqual(Skill.annotate(shapeless, { name: "other" }).problem?.message, shapeless.problem?.message)
  })
})
