import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as Run from "../../../src/observability/Run.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillRegisteredHook } from "../../../src/skill/definition/SkillHooks.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as MergedSkillRegistry from "../../../src/skill/execute/MergedSkillRegistry.js"
import * as SkillRegistration from "../../../src/skill/execute/SkillRegistration.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import { collect, named, namesOf, suite } from "./SkillRegistrySuite.js"

class Word extends Context.Tag("test/Word")<Word, string>() {}

const speak = Skill.make("speak", {
  description: "says the word",
  handler: () => Effect.map(Word, (word) => `the word is ${word}`)
})

const speaks = (registry: SkillRegistry.Service) =>
  Effect.flatMap(registry.get("speak"), (skill) =>
    Option.getOrThrow(skill).erased.handle({}, { id: "c1", skillName: "speak", attempt: 1 }, () =>
      Effect.die("no composite")
    )
  )

suite("empty", DefaultSkillRegistry.layerEmpty)
suite("merged from one", MergedSkillRegistry.layer(DefaultSkillRegistry.layerEmpty))
suite(
  "merged from two empty ones",
  MergedSkillRegistry.layer(DefaultSkillRegistry.layerEmpty, DefaultSkillRegistry.layer())
)

describe("a registry of skills", () => {
  it.effect("keeps skills in order, with their requirements", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      assert.deepStrictEqual(yield* namesOf(), ["a", "speak"])
      assert.strictEqual(yield* speaks(registry), "the word is captured")
      assert.strictEqual(yield* Effect.provideService(speaks(registry), Word, "current"), "the word is current")
    }).pipe(
      Effect.provide(DefaultSkillRegistry.layer(named("a"), speak).pipe(Layer.provide(Layer.succeed(Word, "captured"))))
    )
  )

  it.effect("fails to build with a clash or an unusable skill", () =>
    Effect.gen(function* () {
      const clash = yield* Effect.flip(Layer.build(DefaultSkillRegistry.layer(named("a"), named("b"), named("a"))))
      assert.deepStrictEqual([clash._tag, clash.skillName], ["SkillAlreadyRegisteredError", "a"])
      const broken = yield* Effect.flip(Layer.build(DefaultSkillRegistry.layer(named("a", { maxRetries: -1 }))))
      assert.strictEqual(broken._tag, "SkillValidationError")
    }).pipe(Effect.scoped)
  )

  it.effect("is new wherever its layer is built", () =>
    Effect.gen(function* () {
      const build = Effect.provide(SkillRegistry.SkillRegistry, DefaultSkillRegistry.layer(named("a")))
      assert.notStrictEqual(yield* build, yield* build)
      // In one build too: two layers are two registries.
      const seen = yield* Effect.all([
        namesOf(),
        Effect.provide(namesOf(), DefaultSkillRegistry.layer(named("b")))
      ]).pipe(
        Effect.provide(Layer.merge(DefaultSkillRegistry.layer(named("c")), DefaultSkillRegistry.layer(named("a"))))
      )
      assert.deepStrictEqual(seen, [["a"], ["b"]])
    })
  )

  it.effect("ends its changes and holds nothing when its scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const registry = yield* Scope.extend(DefaultSkillRegistry.make, scope)
      yield* registry.register(named("a"))
      const fiber = yield* Effect.fork(Stream.runCount(registry.changes))
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
      yield* registry.register(named("b"))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Fiber.join(fiber), 1)
      assert.strictEqual(yield* Stream.runCount(registry.changes), 0)
      assert.deepStrictEqual(yield* registry.list(), [])
    })
  )

  it.effect("drops the oldest changes for a slow subscriber, and nobody waits for it", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const come = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const fiber = yield* Effect.fork(
        Stream.runForEach(Stream.take(registry.changes, DefaultSkillRegistry.CHANGES_CAPACITY + 1), ({ skillName }) =>
          Effect.zipRight(
            Deferred.await(come),
            Effect.sync(() => void seen.push(skillName))
          )
        )
      )
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
      yield* registry.register(named("first"))
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
      const count = DefaultSkillRegistry.CHANGES_CAPACITY + 10
      for (let i = 0; i < count; i++) yield* registry.register(named(`n${i}`))
      yield* Deferred.succeed(come, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([seen[0], seen[1], seen.at(-1)], ["first", "n10", `n${count - 1}`])
    }).pipe(Effect.provide(DefaultSkillRegistry.layerEmpty))
  )
})

describe("skills that are added to a registry", () => {
  it.effect("stay as long as their layer", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const changes = yield* collect(4)
      const added = SkillRegistration.layer(named("b"), speak).pipe(Layer.provide(Layer.succeed(Word, "added")))
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* namesOf(), ["a", "b", "speak"])
        assert.strictEqual(yield* speaks(registry), "the word is added")
      }).pipe(Effect.provide(added))
      assert.deepStrictEqual(yield* namesOf(), ["a"])
      assert.deepStrictEqual(yield* changes, ["Registered b", "Registered speak", "Removed b", "Removed speak"])
    }).pipe(Effect.provide(DefaultSkillRegistry.layer(named("a"))))
  )

  it.effect("are removed without their replacements", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const other = named("a", { category: "other" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* SkillRegistration.register(named("a"), named("b"))
          yield* registry.replace(other)
        })
      )
      assert.deepStrictEqual(yield* namesOf(), ["a"])
      assert.strictEqual(Option.getOrThrow(yield* registry.get("a")), other)
    }).pipe(Effect.provide(DefaultSkillRegistry.layerEmpty))
  )

  it.effect("are added all or none", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(SkillRegistration.register(named("b"), named("c"), named("a"), named("d")))
      assert.strictEqual(error.skillName, "a")
      assert.deepStrictEqual(yield* namesOf(), ["a"])
    }).pipe(Effect.scoped, Effect.provide(DefaultSkillRegistry.layer(named("a"))))
  )

  it.effect("leave nothing when adding them is interrupted", () =>
    Effect.gen(function* () {
      yield* Hooks.on(SkillRegisteredHook, ({ skillName }) => (skillName === "b" ? Effect.never : Effect.void))
      const registry = yield* DefaultSkillRegistry.make
      const fiber = yield* Effect.fork(
        Effect.scoped(SkillRegistration.register(named("a"), named("b"), named("c"))).pipe(
          Effect.provideService(SkillRegistry.SkillRegistry, registry)
        )
      )
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow()
      assert.lengthOf(yield* registry.list(), 2)
      yield* Fiber.interrupt(fiber)
      assert.lengthOf(yield* registry.list(), 0)
    }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
  )
})

describe("registries that are merged", () => {
  const both = MergedSkillRegistry.layer(
    DefaultSkillRegistry.layer(named("a"), speak),
    DefaultSkillRegistry.layer(named("b", { category: "other" }))
  ).pipe(Layer.provide(Layer.succeed(Word, "merged")))

  it.effect("act as one", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      assert.deepStrictEqual(yield* namesOf(), ["a", "speak", "b"])
      assert.deepStrictEqual(yield* namesOf({ category: "other" }), ["b"])
      assert.strictEqual(yield* registry.list(), yield* registry.list())
      assert.strictEqual(yield* registry.schemas(), yield* registry.schemas())
      assert.strictEqual(yield* speaks(registry), "the word is merged")
      const error = yield* Effect.flip(registry.register(named("b")))
      assert.strictEqual(error._tag, "SkillAlreadyRegisteredError")
      yield* registry.replace(named("b"))
      assert.deepStrictEqual(yield* namesOf({ category: "other" }), [])
      assert.isTrue(yield* registry.unregister("b"))
      assert.deepStrictEqual(yield* namesOf(), ["a", "speak"])
    }).pipe(Effect.provide(both))
  )

  it.effect("fail for a name that two of them have", () =>
    Effect.gen(function* () {
      const clash = MergedSkillRegistry.layer(
        DefaultSkillRegistry.layer(named("a")),
        DefaultSkillRegistry.layer(named("b"), named("a"))
      )
      const error = yield* Effect.flip(Layer.build(clash))
      assert.deepStrictEqual([error._tag, error.skillName], ["SkillAlreadyRegisteredError", "a"])
    }).pipe(Effect.scoped)
  )

  it.effect("follow the changes of each, and share what is shared", () =>
    Effect.gen(function* () {
      let built = 0
      const inner = yield* DefaultSkillRegistry.make
      const one = Layer.effect(
        SkillRegistry.SkillRegistry,
        Effect.sync(() => {
          built++
          return inner
        })
      )
      const merged = MergedSkillRegistry.layer(DefaultSkillRegistry.layer(named("a")), one, one)
      yield* Effect.gen(function* () {
        assert.strictEqual(built, 1)
        const changes = yield* collect(2)
        const before = yield* (yield* SkillRegistry.SkillRegistry).schemas()
        yield* inner.register(named("b"))
        assert.deepStrictEqual(yield* namesOf(), ["a", "b"])
        // Of a clash that comes later, the first is seen, by every filter.
        yield* inner.register(named("a", { category: "late" }))
        assert.deepStrictEqual(yield* namesOf(), ["a", "b"])
        assert.deepStrictEqual(yield* namesOf({ category: "late" }), [])
        assert.strictEqual((yield* (yield* SkillRegistry.SkillRegistry).schemas())[0], before[0])
        assert.deepStrictEqual(yield* changes, ["Registered b", "Registered a"])
      }).pipe(Effect.provide(merged))
    }).pipe(Effect.scoped)
  )
})

describe("the hook of registered skills", () => {
  it.effect("is called for each, in the hooks around the registry", () =>
    Effect.gen(function* () {
      const called: Array<string> = []
      yield* Hooks.on(SkillRegisteredHook, ({ skillName }) => Effect.sync(() => void called.push(skillName)))
      const hooks = yield* Hooks.Hooks
      yield* Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        yield* Effect.ignore(registry.register(named("a")))
        yield* registry.replace(named("a"))
        yield* registry.unregister("a")
      }).pipe(
        Effect.provide(
          DefaultSkillRegistry.layer(named("a"), named("b")).pipe(Layer.provide(Layer.succeed(Hooks.Hooks, hooks)))
        )
      )
      assert.deepStrictEqual(called, ["a", "b", "a"])
    }).pipe(Effect.scoped, Effect.provide(Hooks.layer))
  )

  it.effect("is called in the hooks of the registering run", () =>
    Effect.gen(function* () {
      const called: Array<string> = []
      const hooks = yield* Hooks.make
      yield* hooks.on(SkillRegisteredHook, ({ skillName }) => Effect.sync(() => void called.push(skillName)))
      const run = { ...(yield* Run.Run), hooks }
      const registry = yield* DefaultSkillRegistry.make
      yield* registry.register(named("outside"))
      yield* Effect.provideService(registry.register(named("inside")), Run.Run, run)
      assert.deepStrictEqual(called, ["inside"])
    }).pipe(Effect.scoped)
  )
})

describe("the registry of nothing", () => {
  it.effect("stores nothing", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      yield* SkillRegistration.register(named("a"), named("a"))
      yield* registry.replace(named("a"))
      assert.isFalse(yield* registry.unregister("a"))
      assert.isTrue(Option.isNone(yield* registry.get("a")))
      assert.deepStrictEqual([yield* registry.list(), yield* registry.schemas()], [[], []])
      assert.strictEqual(yield* Stream.runCount(registry.changes), 0)
    }).pipe(Effect.scoped, Effect.provide(SkillRegistry.layerNoop))
  )
})
