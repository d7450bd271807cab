import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"

export const named = (
  name: string,
  traits: SkillDefinition.Traits & SkillDefinition.Confirmation<unknown> = {}
): Skill.Bound => Skill.make(name, { ...traits, description: `does ${name}`, handler: () => Effect.succeed(name) })

export const namesOf = (options?: SkillRegistry.ListOptions) =>
  Effect.flatMap(SkillRegistry.SkillRegistry, (registry) =>
    Effect.map(registry.list(options), (all) => all.map(({ name }) => name))
  )

/** Begins to collect changes; they are there once as many have come. */
export const collect = (count: number) =>
  Effect.gen(function* () {
    const registry = yield* SkillRegistry.SkillRegistry
    const fiber = yield* Effect.fork(
      Stream.runCollect(
        Stream.takeUntil(registry.changes, ({ skillName }) => skillName === "the end").pipe(Stream.take(count))
      )
    )
    for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
    return Effect.map(Fiber.join(fiber), (changes) =>
      Chunk.toReadonlyArray(changes).map(({ _tag, skillName }) => `${_tag} ${skillName}`)
    )
  })

/** What every registry that can be written to does. */
export const suite = (name: string, layer: Layer.Layer<SkillRegistry.SkillRegistry, unknown>): void => {
  const check = <A, E>(fact: string, effect: Effect.Effect<A, E, SkillRegistry.SkillRegistry>) =>
    it.effect(fact, () => Effect.provide(effect, layer))

  describe(`SkillRegistry: ${name}`, () => {
    check(
      "finds skills by exactly their name, whatever it is",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const odd = ["__proto__", "constructor", "toString", "a.b/c d", "日本"]
        for (const name of odd) yield* registry.register(named(name))
        assert.deepStrictEqual(yield* namesOf(), odd)
        for (const name of odd) assert.strictEqual(Option.getOrThrow(yield* registry.get(name)).definition.name, name)
        for (const name of ["hasOwnProperty", "Constructor", "a", ""])
          assert.isTrue(Option.isNone(yield* registry.get(name)))
      })
    )

    check(
      "keeps the first of two skills of a name",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const first = named("a")
        yield* registry.register(first)
        const error = yield* Effect.flip(registry.register(named("a")))
        assert.deepStrictEqual(
          [error._tag, error.code, error.skillName],
          ["SkillAlreadyRegisteredError", "LEX_ERR_SKILL_003", "a"]
        )
        assert.strictEqual(Option.getOrThrow(yield* registry.get("a")), first)
      })
    )

    check(
      "takes no skill that cannot be used",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const broken = Skill.make("broken", { description: " ", handler: () => Effect.void })
        assert.strictEqual(yield* Effect.flip(registry.register(broken)), broken.problem)
        assert.strictEqual(yield* Effect.flip(registry.replace(broken)), broken.problem)
        const names = [
          " a",
          "a\n",
          "a\u200bb",
          "\u202ea",
          "\ud800",
          "n".repeat(DefaultSkillRegistry.MAX_NAME_LENGTH + 1)
        ]
        for (const name of names) {
          const error = yield* Effect.flip(registry.register(named(name)))
          assert.strictEqual(error._tag, "SkillValidationError")
          assert.isAtMost(error.message.length, 500)
          assert.notMatch(error.message, /[\n\u200b\u202e]/)
        }
        const reference = yield* Effect.flip(registry.register(Skill.ref("other") as Skill.Bound))
        assert.strictEqual(reference._tag, "SkillValidationError")
        assert.deepStrictEqual(yield* namesOf(), [])
        yield* registry.register(named("n".repeat(DefaultSkillRegistry.MAX_NAME_LENGTH)))
      })
    )

    check(
      "replaces a skill at its place, or adds it",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        for (const name of ["a", "b"]) yield* registry.register(named(name))
        const other = named("a", { category: "other" })
        yield* registry.replace(other)
        yield* registry.replace(named("c"))
        assert.strictEqual(Option.getOrThrow(yield* registry.get("a")), other)
        assert.deepStrictEqual(yield* namesOf(), ["a", "b", "c"])
        assert.deepStrictEqual(yield* namesOf({ category: "other" }), ["a"])
      })
    )

    check(
      "takes a skill away once, and only the one that is meant",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const [first, second] = [named("a"), named("a")]
        yield* registry.register(first)
        yield* registry.replace(second)
        assert.isFalse(yield* registry.unregister("a", first))
        assert.isTrue(yield* registry.unregister("a", second))
        assert.isFalse(yield* registry.unregister("a"))
        yield* registry.register(first)
        assert.isTrue(yield* registry.unregister("a"))
        assert.isTrue(Option.isNone(yield* registry.get("a")))
      })
    )

    check(
      "lists by category and by permissions, wildcards included",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        yield* registry.register(named("open"))
        yield* registry.register(named("read", { category: "files", permissions: ["files.read"] }))
        yield* registry.register(named("copy", { category: "files", permissions: ["files.read", "files.write"] }))
        assert.deepStrictEqual(yield* namesOf(), ["open", "read", "copy"])
        assert.deepStrictEqual(yield* namesOf({ category: "files" }), ["read", "copy"])
        assert.deepStrictEqual(yield* namesOf({ category: "none" }), [])
        assert.deepStrictEqual(yield* namesOf({ permissions: [] }), ["open"])
        assert.deepStrictEqual(yield* namesOf({ permissions: ["files.read"] }), ["open", "read"])
        assert.deepStrictEqual(yield* namesOf({ permissions: ["files.*"] }), ["open", "read", "copy"])
        assert.deepStrictEqual(yield* namesOf({ category: "files", permissions: ["files.read", "other"] }), ["read"])
        const schemas = yield* registry.schemas({ category: "files" })
        assert.deepStrictEqual(
          schemas.map(({ name }) => name),
          ["read", "copy"]
        )
        assert.deepStrictEqual(schemas[0], {
          name: "read",
          description: "does read",
          parameters: { type: "object", properties: {}, additionalProperties: false }
        })
      })
    )

    check(
      "gives the same objects until something changes, and those of a skill as long as it stays",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        yield* registry.register(named("a", { permissions: ["x", "y"] }))
        const filters: ReadonlyArray<SkillRegistry.ListOptions | undefined> = [
          undefined,
          { category: "general" },
          { permissions: ["y", "x", "x"] }
        ]
        for (const filter of filters) {
          assert.strictEqual(yield* registry.list(filter), yield* registry.list(filter && { ...filter }))
          assert.strictEqual(yield* registry.schemas(filter), yield* registry.schemas(filter && { ...filter }))
        }
        assert.strictEqual(
          yield* registry.list({ permissions: ["x", "y"] }),
          yield* registry.list({ permissions: ["y", "x"] })
        )
        const before = yield* registry.schemas()
        yield* registry.register(named("b"))
        const after = yield* registry.schemas()
        assert.notStrictEqual(after, before)
        assert.strictEqual(after[0], before[0])
        assert.lengthOf(before, 1)
        yield* registry.replace(named("a"))
        assert.notStrictEqual((yield* registry.schemas())[0], before[0])
        // However many filters are asked with, the answers are right.
        for (let i = 0; i < 200; i++) assert.lengthOf(yield* registry.list({ category: `c${i}` }), 0)
        assert.deepStrictEqual(yield* namesOf({ category: "general" }), ["a", "b"])
      })
    )

    check(
      "tells every subscriber what happens from then on",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        yield* registry.register(named("before"))
        const first = yield* collect(4)
        const second = yield* collect(4)
        yield* registry.register(named("a"))
        yield* registry.replace(named("a"))
        yield* Effect.ignore(registry.register(named("a")))
        yield* registry.unregister("nothing")
        yield* registry.replace(named("b"))
        yield* registry.unregister("a")
        const expected = ["Registered a", "Replaced a", "Registered b", "Removed a"]
        assert.deepStrictEqual(yield* first, expected)
        assert.deepStrictEqual(yield* second, expected)
      })
    )

    check(
      "takes one of many skills of a name that come at once, and all of different names",
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const start = yield* Deferred.make<void>()
        const tries = yield* Effect.forEach(Array.from({ length: 100 }), (_, i) =>
          Effect.fork(
            Deferred.await(start).pipe(
              Effect.zipRight(registry.register(named("same"))),
              Effect.zipLeft(registry.register(named(`own-${i}`))),
              Effect.isSuccess
            )
          )
        )
        yield* Deferred.succeed(start, undefined)
        const won = yield* Effect.forEach(tries, Fiber.join)
        assert.strictEqual(won.filter((isWon) => isWon).length, 1)
        for (let i = 0; i < 100; i++) yield* Effect.ignore(registry.register(named(`own-${i}`)))
        assert.lengthOf(yield* namesOf(), 101)
      })
    )
  })
}
