import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillRegisteredHook } from "../../../src/skill/definition/SkillHooks.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as SkillSource from "../../../src/skill/folder/SkillSource.js"
import { named, namesOf } from "../execute/SkillRegistrySuite.js"

class Word extends Context.Tag("test/Word")<Word, string>() {}

const speak = Skill.make("speak", { description: "d", handler: () => Word })

/** Warnings with their event. */
const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(`${Option.getOrElse(HashMap.get(annotations, "event"), () => "")}: ${String(message)}`)
  })
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

describe("sources of skills", () => {
  it.effect("fill a registry in order, and the first of two skills with one name stays", () => {
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      const failing = SkillSource.make(
        "failing",
        Effect.fail(
          new SkillSource.SkillSourceError({ source: "failing", reason: "Unavailable", message: "It is down" })
        )
      )
      const reports = yield* SkillSource.register(
        SkillSource.fromSkills("one", [named("a"), named("b", { category: "one" })]),
        failing,
        SkillSource.fromSkills("two", [named("b", { category: "two" }), named("c"), named("d", { maxRetries: -1 })])
      )
      assert.deepStrictEqual(
        reports.map(({ problems, registered, source }) => [source, registered, problems.map(({ reason }) => reason)]),
        [
          ["one", ["a", "b"], []],
          ["failing", [], ["Unavailable"]],
          ["two", ["c"], ["NotRegistered", "NotRegistered"]]
        ]
      )
      assert.deepStrictEqual(yield* namesOf(), ["a", "b", "c"])
      assert.deepStrictEqual(yield* namesOf({ category: "two" }), [])
      assert.lengthOf(lines, 3)
      assert.strictEqual(lines[0], "skills_unavailable_source: It is down")
      assert.match(lines[1] ?? "", /^skills_not_registered: The skill "b" of two is skipped/)
    }).pipe(Effect.scoped, Effect.provide([DefaultSkillRegistry.layerEmpty, layer]))
  })

  it.effect("keep the order of chosen names, and suggest a similar one", () => {
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      const source = SkillSource.fromNames(
        "built-in",
        [named("math_calculate"), named("web_search"), named("x")],
        ["web_search", "math_calculat", "__proto__", "math_calculate", "web_search"]
      )
      const [report] = yield* SkillSource.register(source)
      assert.deepStrictEqual(report?.registered, ["web_search", "math_calculate"])
      assert.deepStrictEqual(
        report?.problems.map(({ hint, reason, subject }) => [reason, subject, hint]),
        [
          ["Unknown", "math_calculat", 'Did you mean "math_calculate"?'],
          ["Unknown", "__proto__", "Known are math_calculate, web_search, x"]
        ]
      )
      assert.deepStrictEqual(lines, [
        'skills_unknown_builtin: There is no skill "math_calculat" among those of built-in. Did you mean "math_calculate"?',
        'skills_unknown_builtin: There is no skill "__proto__" among those of built-in. Known are math_calculate, web_search, x'
      ])
    }).pipe(Effect.scoped, Effect.provide([DefaultSkillRegistry.layerEmpty, layer]))
  })

  it.effect("give skills their requirements where they are loaded", () =>
    Effect.gen(function* () {
      yield* Effect.provideService(SkillSource.register(SkillSource.fromSkills("s", [speak])), Word, "loaded")
      const registry = yield* SkillRegistry.SkillRegistry
      const skill = Option.getOrThrow(yield* registry.get("speak"))
      const call = { id: "c1", skillName: "speak", attempt: 1 }
      assert.strictEqual(yield* skill.erased.handle({}, call, () => Effect.die("no composite")), "loaded")
    }).pipe(Effect.scoped, Effect.provide(DefaultSkillRegistry.layerEmpty))
  )

  it.effect("leave nothing when interrupted, and do not remove replacements of their skills", () =>
    Effect.gen(function* () {
      yield* Hooks.on(SkillRegisteredHook, ({ skillName }) => (skillName === "b" ? Effect.never : Effect.void))
      const registry = yield* DefaultSkillRegistry.make
      const source = SkillSource.fromSkills("s", [named("a"), named("b"), named("c")])
      const fiber = yield* SkillSource.register(source).pipe(
        Effect.scoped,
        Effect.provideService(SkillRegistry.SkillRegistry, registry),
        Effect.fork
      )
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
      assert.lengthOf(yield* registry.list(), 2)
      yield* registry.replace(named("a"))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        (yield* registry.list()).map(({ name }) => name),
        ["a"]
      )
    }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
  )
})
