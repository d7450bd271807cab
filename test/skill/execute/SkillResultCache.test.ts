import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillMetrics from "../../../src/skill/definition/SkillMetrics.js"
import * as SkillResultBackend from "../../../src/skill/execute/SkillResultBackend.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as SkillResultMemory from "../../../src/skill/execute/SkillResultMemory.js"
import { ann, bob } from "../definition/SkillRig.js"
import { suite } from "./SkillResultCacheSuite.js"

suite("layerMemory", SkillResultMemory.layer())
suite("layer on memory", Layer.provide(SkillResultBackend.layer(), CacheBackend.layerMemory()))
suite(
  "layer on a key-value store",
  SkillResultBackend.layer().pipe(
    Layer.provide(CacheBackend.layerKeyValueStore()),
    Layer.provide(KeyValueStore.layerMemory)
  )
)

const open = Skill.make("open", { description: "d", shared: true, handler: () => Effect.void }).definition
const closed = Skill.make("closed", { description: "d", permissions: ["p"], handler: () => Effect.void }).definition

const slotOf = (cache: SkillResultCache.Service, params: unknown = {}): SkillResultCache.Slot => {
  const slot = cache.slot({ definition: open, params })
  assert(slot !== undefined)
  return slot
}

const keep = (cache: SkillResultCache.Service, slot: SkillResultCache.Slot, output: unknown) =>
  Effect.flatMap(cache.get(slot), (found) => cache.set(slot, output, found))

const output = (cache: SkillResultCache.Service, slot: SkillResultCache.Slot) =>
  Effect.map(cache.get(slot), (found) => Option.getOrUndefined(found.output))

const failures = Effect.map(
  Metric.value(Metric.counter(SkillMetrics.METRIC_SKILL_CACHE_FAILURES, { incremental: true })),
  ({ count }) => count
)

/** A memory backend that can be taken down, made to hang, and looked into. */
const fragile = Effect.map(CacheBackend.makeMemory(), (inner) => {
  const state = { mode: "up" as "up" | "down" | "hangs" | "broken", keys: [] as Array<string> }
  const through = <A>(operation: "get" | "set" | "delete", effect: Effect.Effect<A, CacheBackend.CacheBackendError>) =>
    Effect.suspend(() => {
      switch (state.mode) {
        case "up":
          return effect
        case "down":
          return Effect.fail(new CacheBackend.CacheBackendError({ message: "down", operation }))
        case "hangs":
          return Effect.never
        case "broken":
          return Effect.die("bug")
      }
    })
  const backend: CacheBackend.Service = {
    get: (key) => through("get", inner.get(key)),
    set: (key, value, options) => {
      state.keys.push(key)
      return through("set", inner.set(key, value, options))
    },
    delete: (key) => through("delete", inner.delete(key))
  }
  return { state, backend, inner }
})

describe("SkillResultCache", () => {
  it.effect("follows its options: ttl, scope and namespace", () =>
    Effect.gen(function* () {
      const { backend, state } = yield* fragile
      const cache = SkillResultBackend.make(backend, { ttl: "10 seconds", namespace: "mine" })
      yield* keep(cache, slotOf(cache), 1)
      assert.isTrue(state.keys.every((key) => key.startsWith("mine:")))
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(yield* output(cache, slotOf(cache)))
      const memory = yield* SkillResultMemory.make({ ttl: "10 seconds" })
      yield* keep(memory, slotOf(memory), 1)
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(yield* output(memory, slotOf(memory)), 1)
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* output(memory, slotOf(memory)))
      for (const make of [
        (scope: SkillResultCache.Scope) => Effect.succeed(SkillResultBackend.make(backend, { scope })),
        (scope: SkillResultCache.Scope) => SkillResultMemory.make({ scope })
      ]) {
        const each = yield* make("user")
        const all = yield* make("shared")
        const key = (cache: SkillResultCache.Service, definition: typeof open, userId: typeof ann) =>
          cache.slot({ definition, params: {}, userId })?.key
        assert.notStrictEqual(key(each, open, ann), key(each, open, bob))
        assert.strictEqual(key(all, closed, ann), key(all, closed, bob))
      }
    })
  )

  it.effect("treats a backend that fails, breaks or hangs as empty, and counts it", () =>
    Effect.gen(function* () {
      const { backend, state } = yield* fragile
      const cache = SkillResultBackend.make(backend, { backendTimeout: 0 })
      const slot = slotOf(cache)
      for (const mode of ["down", "broken", "hangs"] as const) {
        state.mode = mode
        const before = yield* failures
        assert.deepStrictEqual(yield* cache.get(slot), { output: Option.none(), since: undefined })
        yield* cache.set(slot, 1, { output: Option.none(), since: "x" })
        assert.strictEqual((yield* failures) - before, 2)
      }
    })
  )

  it.effect("forgets an entry once the backend is back", () =>
    Effect.gen(function* () {
      const { backend, state } = yield* fragile
      const cache = SkillResultBackend.make(backend)
      const slot = slotOf(cache)
      for (const forget of [cache.clear, cache.invalidateSkill("open"), cache.invalidate("open", {})]) {
        state.mode = "up"
        yield* keep(cache, slot, "old")
        assert.strictEqual(yield* output(cache, slot), "old")
        state.mode = "down"
        yield* forget
        state.mode = "up"
        assert.isUndefined(yield* output(cache, slot))
      }
    })
  )

  it.effect("shares results and invalidations between two caches on one backend", () =>
    Effect.gen(function* () {
      const { backend } = yield* fragile
      const [one, two] = [SkillResultBackend.make(backend), SkillResultBackend.make(backend)]
      const slot = slotOf(one)
      yield* keep(one, slot, 1)
      assert.strictEqual(yield* output(two, slot), 1)
      yield* two.invalidateSkill("open")
      assert.isUndefined(yield* output(one, slot))
      yield* keep(one, slot, 2)
      yield* two.invalidate("open", {})
      assert.isUndefined(yield* output(one, slot))
    })
  )

  it.effect("does not bring back an older result when the backend drops an invalidation", () =>
    Effect.gen(function* () {
      const { backend, inner, state } = yield* fragile
      const cache = SkillResultBackend.make(backend)
      const slot = slotOf(cache)
      yield* keep(cache, slot, "old")
      yield* cache.invalidateSkill("open")
      for (const key of new Set(state.keys)) if (key !== slot.entry) yield* inner.delete(key)
      assert.isUndefined(yield* output(cache, slot))
    })
  )

  it.effect("replaces an entry that something else wrote", () =>
    Effect.gen(function* () {
      const { backend, inner } = yield* fragile
      const cache = SkillResultBackend.make(backend)
      const slot = slotOf(cache)
      for (const text of ["", "{", "[]", "null", `{"o":1}`, `{"s":1,"e":1,"o":1}`]) {
        yield* inner.set(slot.entry, text)
        assert.isUndefined(yield* output(cache, slot))
        yield* keep(cache, slot, text)
        assert.strictEqual(yield* output(cache, slot), text)
      }
    })
  )

  it.effect("evicts the least recently used result from memory", () =>
    Effect.gen(function* () {
      const cache = yield* SkillResultMemory.make({ capacity: 2 })
      for (const index of [1, 2]) yield* keep(cache, slotOf(cache, { index }), index)
      yield* cache.get(slotOf(cache, { index: 1 }))
      yield* keep(cache, slotOf(cache, { index: 3 }), 3)
      assert.deepStrictEqual(yield* Effect.forEach([1, 2, 3], (index) => output(cache, slotOf(cache, { index }))), [
        1,
        undefined,
        3
      ])
      const small = yield* SkillResultMemory.make({ maxCharacters: 200 })
      yield* keep(small, slotOf(small, { index: 1 }), "x".repeat(100))
      assert.strictEqual((yield* output(small, slotOf(small, { index: 1 }))) as string, "x".repeat(100))
      yield* keep(small, slotOf(small, { index: 2 }), "x".repeat(100))
      assert.isUndefined(yield* output(small, slotOf(small, { index: 1 })))
      yield* keep(small, slotOf(small, { index: 3 }), "x".repeat(1000))
      assert.isUndefined(yield* output(small, slotOf(small, { index: 3 })))
    })
  )

  it.effect("hashes names in a backend, so that they contain no parameter", () =>
    Effect.gen(function* () {
      const cache = SkillResultBackend.make(yield* CacheBackend.makeMemory())
      const slot = slotOf(cache, { secret: "hush" })
      assert.match(slot.key, /^[0-9a-f]{96}$/)
      assert.match(slot.entry, /^skill:[0-9a-f]{64}$/)
    })
  )

  it.effect("stores nothing without a cache", () =>
    Effect.gen(function* () {
      const cache = yield* SkillResultCache.SkillResultCache
      assert.isFalse(cache.enabled)
      assert.isUndefined(cache.slot({ definition: open, params: {} }))
      yield* cache.clear
    }).pipe(Effect.provide(SkillResultCache.layerNoop))
  )
})
