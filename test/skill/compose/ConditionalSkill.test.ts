import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ConditionalSkill from "../../../src/skill/compose/ConditionalSkill.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillExecutionError, SkillNotFoundError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"

const upper = Skill.make("upper", {
  description: "d",
  parameters: { text: Schema.String },
  returns: Schema.String,
  permissions: ["x"],
  handler: ({ text }) => Effect.succeed(text.toUpperCase())
})
const day = Skill.make("day", {
  description: "d",
  parameters: { at: Schema.Date },
  returns: Schema.Date,
  permissions: ["y"],
  handler: ({ at }) => Effect.succeed(at)
})

const at = new Date(0)

describe("ConditionalSkill", () => {
  const both = ConditionalSkill.make("both", {
    description: "d",
    condition: ({ text }) => text !== "",
    ifTrue: upper,
    ifFalse: day
  })

  it.effect("executes one of two skills", () =>
    Effect.gen(function* () {
      const run = SkillRuns.make()
      assert.strictEqual(yield* run(both, { text: "a", at }), "A")
      assert.deepStrictEqual(yield* run(both, { text: "", at }), at)
      assert.deepStrictEqual(both.definition.permissions, ["x", "y"])
      assert.deepStrictEqual(both.definition.parametersSchema["required"], ["text", "at"])
      assert.strictEqual(yield* SkillRuns.call(both, { text: "", at: at.toISOString() }), at.toISOString())
    })
  )

  it.effect("returns an Option without the second skill, also in JSON", () =>
    Effect.gen(function* () {
      const maybe = ConditionalSkill.make("maybe", {
        description: "d",
        condition: ({ at }) => Effect.succeed(at.getTime() === 0),
        ifTrue: day
      })
      const run = SkillRuns.make()
      assert.deepStrictEqual(yield* run(maybe, { at }), Option.some(at))
      assert.deepStrictEqual(yield* run(maybe, { at: new Date(1) }), Option.none())
      const some = yield* SkillRuns.call(maybe, { at: at.toISOString() })
      assert.deepStrictEqual(some, { _tag: "Some", value: at.toISOString() })
      assert.deepStrictEqual(yield* SkillRuns.call(maybe, { at: "1970-01-02" }), { _tag: "None" })
      assert.deepStrictEqual(yield* maybe.erased.decodeResult(some), Option.some(at))
      assert.deepStrictEqual(yield* maybe.erased.decodeResult({ _tag: "None" }), Option.none())
    })
  )

  it.effect("executes neither when the condition throws, fails or dies", () =>
    Effect.gen(function* () {
      let executed = 0
      const counted = Skill.make("counted", { description: "d", handler: () => Effect.sync(() => void executed++) })
      const of = <E>(condition: () => boolean | Effect.Effect<boolean, E>) =>
        Effect.exit(
          SkillRuns.make()(
            ConditionalSkill.make("c", { description: "d", condition, ifTrue: counted, ifFalse: counted }),
            {}
          )
        )
      const thrown = yield* of(() => {
        throw new Error("bug")
      })
      assert.isTrue(
        Exit.isFailure(thrown) && thrown.cause._tag === "Fail" && thrown.cause.error instanceof SkillExecutionError
      )
      assert.deepStrictEqual(yield* of(() => Effect.fail("no" as const)), Exit.fail("no" as const))
      assert.deepStrictEqual(yield* of(() => Effect.die("bug")), Exit.die("bug"))
      assert.strictEqual(executed, 0)
    })
  )

  it.effect("passes JSON to skills known by name", () =>
    Effect.gen(function* () {
      const named = ConditionalSkill.make("named", {
        description: "d",
        parameters: Schema.Struct({ at: Schema.Date }),
        condition: ({ at }) => at.getTime() === 0,
        ifTrue: Skill.ref("day"),
        ifFalse: Skill.ref("gone")
      })
      const run = SkillRuns.make(day)
      assert.strictEqual(yield* run(named, { at }), at.toISOString())
      assert.instanceOf(yield* Effect.flip(run(named, { at: new Date(1) })), SkillNotFoundError)
    })
  )
})
