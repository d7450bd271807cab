import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillToolkit from "../../../src/skill/execute/SkillToolkit.js"
import { named, namesOf } from "./SkillRegistrySuite.js"

class Db extends Context.Tag("test/Db")<Db, string>() {}

const query = Skill.make("query", { description: "asks", handler: () => Db })
const [a, b, c] = [named("a"), named("b"), named("c")]
const letters = SkillToolkit.make("letters", { description: "Letters" }, a, b, c, a)

const names = (toolkit: SkillToolkit.Any) => toolkit.skills.map(({ definition }) => definition.name)

describe("a toolkit", () => {
  it("has a name, a description and each skill once", () => {
    assert.deepStrictEqual([letters.name, letters.description], ["letters", "Letters"])
    assert.deepStrictEqual(letters.skills, [a, b, c])
    assert.isTrue(SkillToolkit.isSkillToolkit(letters))
    for (const other of [a, [], null, undefined, "letters", { skills: [] }])
      assert.isFalse(SkillToolkit.isSkillToolkit(other))
  })

  it("can prefix the names of its skills", () => {
    const sql = SkillToolkit.make("sql", { description: "Data", prefix: "sql_" }, query, a)
    assert.deepStrictEqual(names(sql), ["sql_query", "sql_a"])
    assert.strictEqual(query.definition.name, "query")
    assert.strictEqual(sql.skills[0]?.definition.description, "asks")
  })

  it("can be filtered and combined", () => {
    assert.deepStrictEqual(names(SkillToolkit.pick(letters, ["c", "a", "constructor"])), ["a", "c"])
    assert.deepStrictEqual(names(letters.pipe(SkillToolkit.omit(["b", "z"]))), ["a", "c"])
    const both = SkillToolkit.merge(
      "both",
      { description: "Both" },
      SkillToolkit.pick(letters, ["c", "b"]),
      SkillToolkit.make("q", { description: "q" }, query, b)
    )
    assert.deepStrictEqual([both.name, both.description, names(both)], ["both", "Both", ["b", "c", "query"]])
  })

  it.effect("makes a registry with the requirements of its skills", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* namesOf(), ["query", "a", "b", "c"])
    }).pipe(
      Effect.provide(SkillToolkit.layer(SkillToolkit.make("q", { description: "q" }, query), letters)),
      Effect.provideService(Db, "db")
    )
  )

  it.effect("is added to a registry while its layer or its scope is open", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.provide(namesOf(), SkillToolkit.add(letters)), ["z", "a", "b", "c"])
      assert.deepStrictEqual(
        yield* Effect.scoped(Effect.zipRight(SkillToolkit.register(SkillToolkit.pick(letters, ["b"])), namesOf())),
        ["z", "b"]
      )
      assert.deepStrictEqual(yield* namesOf(), ["z"])
    }).pipe(Effect.provide(DefaultSkillRegistry.layer(named("z"))))
  )

  it.effect("makes no registry with two skills of one name", () =>
    Effect.gen(function* () {
      const twice = SkillToolkit.merge(
        "twice",
        { description: "d" },
        letters,
        SkillToolkit.make("o", { description: "o" }, named("b"))
      )
      const error = yield* Effect.flip(Layer.build(SkillToolkit.layer(twice)))
      assert.deepStrictEqual([error._tag, error.skillName], ["SkillAlreadyRegisteredError", "b"])
    }).pipe(Effect.scoped)
  )
})
