/** What every cache of results must do, under `TestClock`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import { ann, bob } from "../definition/SkillRig.js"

const skillOf = (name: string, traits: SkillDefinition.Traits = {}, returns: Schema.Schema<any> = Schema.Unknown) =>
  Skill.make(name, { description: "d", ...traits, returns, handler: () => Effect.void }).definition

const open = skillOf("open", { shared: true })
const closed = skillOf("closed", { permissions: ["p"] })

const slotOf = (
  cache: SkillResultCache.Service,
  params: unknown,
  definition = open,
  userId?: SkillResultCache.Call["userId"]
): SkillResultCache.Slot => {
  const slot = cache.slot({ definition, params, userId })
  assert(slot !== undefined)
  return slot
}

export const suite = <E>(name: string, layer: Layer.Layer<SkillResultCache.SkillResultCache, E>): void => {
  const test = (
    fact: string,
    body: (cache: SkillResultCache.Service) => Effect.Effect<void, unknown, SkillResultCache.SkillResultCache>
  ) => it.effect(fact, () => Effect.provide(Effect.flatMap(SkillResultCache.SkillResultCache, body), layer))

  const keep = (cache: SkillResultCache.Service, slot: SkillResultCache.Slot, output: unknown) =>
    Effect.flatMap(cache.get(slot), (found) => cache.set(slot, output, found))
  const output = (cache: SkillResultCache.Service, slot: SkillResultCache.Slot) =>
    Effect.map(cache.get(slot), (found) => Option.getOrUndefined(found.output))

  describe(`${name} as a SkillResultCache`, () => {
    test("returns what was stored, unchanged, and nothing else", (cache) =>
      Effect.gen(function* () {
        const outputs = [null, 0, "", false, [], {}, { a: [1, { b: "ä\u0000" }] }, JSON.parse(`{"__proto__":{"x":1}}`)]
        for (const [index, given] of outputs.entries()) {
          const slot = slotOf(cache, { index })
          assert.deepStrictEqual((yield* cache.get(slot)).output, Option.none())
          yield* keep(cache, slot, given)
          assert.deepStrictEqual((yield* cache.get(slot)).output, Option.some(given))
        }
      }))

    test("does not store what is not JSON", (cache) =>
      Effect.gen(function* () {
        const cyclic: { self?: unknown } = {}
        cyclic.self = cyclic
        const outputs = [undefined, new Date(0), () => 1, Symbol("s"), 1n, Number.NaN, new Map(), { a: [1n] }, cyclic]
        for (const [index, given] of outputs.entries()) {
          const slot = slotOf(cache, { index })
          yield* keep(cache, slot, given)
          assert.deepStrictEqual((yield* cache.get(slot)).output, Option.none())
        }
      }))

    test("protects stored results from mutations", (cache) =>
      Effect.gen(function* () {
        const slot = slotOf(cache, {})
        const given = { list: [1] }
        yield* keep(cache, slot, given)
        given.list.push(2)
        const first = (yield* output(cache, slot)) as typeof given
        first.list.push(3)
        assert.deepStrictEqual(yield* output(cache, slot), { list: [1] })
      }))

    test("keeps results for one hour by default", (cache) =>
      Effect.gen(function* () {
        const usual = slotOf(cache, { a: 1 })
        const short = slotOf(cache, { a: 2 })
        const ever = slotOf(cache, { a: 3 })
        yield* keep(cache, usual, 1)
        yield* Effect.flatMap(cache.get(short), (found) => cache.set(short, 2, found, "1 minute"))
        yield* Effect.flatMap(cache.get(ever), (found) => cache.set(ever, 3, found, Number.POSITIVE_INFINITY))
        yield* TestClock.adjust("59999 millis")
        assert.strictEqual(yield* output(cache, short), 2)
        yield* TestClock.adjust(1)
        assert.isUndefined(yield* output(cache, short))
        yield* TestClock.adjust("59 minutes")
        assert.isUndefined(yield* output(cache, usual))
        yield* TestClock.adjust("1000 days")
        assert.strictEqual(yield* output(cache, ever), 3)
      }))

    test("separates results by skill, user and definition", (cache) =>
      Effect.gen(function* () {
        const slots = [
          slotOf(cache, { a: 1 }),
          slotOf(cache, { a: 1 }, skillOf("other")),
          slotOf(cache, { a: 1 }, closed, ann),
          slotOf(cache, { a: 1 }, closed, bob),
          slotOf(cache, { a: 1 }, closed)
        ]
        for (const [index, slot] of slots.entries()) {
          assert.isUndefined(yield* output(cache, slot))
          yield* keep(cache, slot, index)
        }
        for (const [index, slot] of slots.entries()) assert.strictEqual(yield* output(cache, slot), index)
        assert.strictEqual(new Set(slots.map((slot) => slot.key)).size, slots.length)
        // Only a shared result is everybody's.
        assert.strictEqual(yield* output(cache, slotOf(cache, { a: 1 }, open, bob)), 0)
        assert.isUndefined(yield* output(cache, slotOf(cache, { a: 1 }, skillOf("other"), bob)))
        assert.strictEqual(slotOf(cache, { a: 1 }, open, ann).scope, "shared")
        assert.strictEqual(slotOf(cache, { a: 1 }, skillOf("other"), ann).scope, "user")
        const renewed = slotOf(cache, { a: 1 }, skillOf("open", { shared: true }, Schema.Number))
        assert.notStrictEqual(renewed.key, slots[0]!.key)
        assert.isUndefined(yield* output(cache, renewed))
      }))

    test("forgets one result, for everybody and for the user", (cache) =>
      Effect.gen(function* () {
        const shared = slotOf(cache, { a: 1 })
        const others = [slotOf(cache, { a: 2 }), slotOf(cache, { a: 1 }, skillOf("other"))]
        const [mine, yours] = [slotOf(cache, { a: 1 }, closed, ann), slotOf(cache, { a: 1 }, closed, bob)]
        for (const slot of [shared, ...others, mine, yours]) yield* keep(cache, slot, "x")
        yield* cache.invalidate("open", { a: 1 })
        yield* cache.invalidate("closed", { a: 1 }, ann)
        yield* cache.invalidate("none", { a: 1n })
        assert.isUndefined(yield* output(cache, shared))
        assert.isUndefined(yield* output(cache, mine))
        for (const slot of [...others, yours]) assert.strictEqual(yield* output(cache, slot), "x")
        yield* keep(cache, shared, "y")
        assert.strictEqual(yield* output(cache, shared), "y")
      }))

    test("forgets all results of a skill, or all of them", (cache) =>
      Effect.gen(function* () {
        const some = [slotOf(cache, { a: 1 }), slotOf(cache, { a: 2 })]
        const other = slotOf(cache, { a: 1 }, skillOf("other"))
        for (const slot of [...some, other]) yield* keep(cache, slot, "x")
        yield* cache.invalidateSkill("open")
        for (const slot of some) assert.isUndefined(yield* output(cache, slot))
        assert.strictEqual(yield* output(cache, other), "x")
        for (const slot of some) yield* keep(cache, slot, "y")
        yield* cache.clear
        for (const slot of [...some, other]) {
          assert.isUndefined(yield* output(cache, slot))
          yield* keep(cache, slot, "z")
          assert.strictEqual(yield* output(cache, slot), "z")
        }
      }))

    test("does not store a result requested before it was forgotten", (cache) =>
      Effect.gen(function* () {
        for (const forget of [cache.invalidate("open", { a: 1 }), cache.invalidateSkill("open"), cache.clear]) {
          const slot = slotOf(cache, { a: 1 })
          const before = yield* cache.get(slot)
          yield* forget
          yield* cache.set(slot, "old", before)
          assert.isUndefined(yield* output(cache, slot))
          const after = yield* cache.get(slot)
          yield* cache.set(slot, "new", after)
          assert.strictEqual(yield* output(cache, slot), "new")
          yield* cache.clear
        }
      }))

    test("has one key for equal parameters, in any order and number notation", (cache) =>
      Effect.sync(() => {
        const key = (text: string) => slotOf(cache, JSON.parse(text)).key
        assert.strictEqual(key(`{"a":1,"b":{"c":2,"d":[1]}}`), key(`{"b":{"d":[1.0],"c":2e0},"a":1.0}`))
        assert.strictEqual(key(`{"a":-0}`), key(`{"a":0}`))
        assert.strictEqual(slotOf(cache, { a: 1, b: undefined }).key, slotOf(cache, { a: 1 }).key)
        for (const other of [`{"a":1}`, `{"a":"1"}`, `{"a":[1]}`, `{"a":null}`, `{"__proto__":{"a":1}}`, `[]`, `{}`]) {
          assert.notStrictEqual(key(other), key(`{"a":2}`))
        }
        // Texts are compared as they are.
        assert.notStrictEqual(slotOf(cache, { a: "\u00e9" }).key, slotOf(cache, { a: "e\u0301" }).key)
        assert.isBelow(slotOf(cache, { a: "x".repeat(100_000) }).key.length, 600)
      }))

    test("has equal keys exactly for equal values", (cache) =>
      Effect.sync(() => {
        const shuffled = (value: unknown): unknown => {
          if (typeof value !== "object" || value === null) return value
          if (Array.isArray(value)) return value.map(shuffled)
          const result = Object.create(null) as Record<string, unknown>
          for (const key of Object.keys(value).reverse())
            result[key] = shuffled((value as Record<string, unknown>)[key])
          return result
        }
        const text = (value: unknown) => JSON.stringify(value)
        FastCheck.assert(
          FastCheck.property(FastCheck.jsonValue(), FastCheck.jsonValue(), (a, b) => {
            const [one, two] = [JSON.parse(text(a)), JSON.parse(text(b))]
            assert.strictEqual(slotOf(cache, { v: one }).key, slotOf(cache, { v: shuffled(one) }).key)
            if (text(one) !== text(two) && text(shuffled(one)) !== text(two)) {
              const isEqual = slotOf(cache, { v: one }).key === slotOf(cache, { v: two }).key
              if (isEqual) assert.deepStrictEqual(one, two)
            }
          }),
          { numRuns: 200 }
        )
      }))

    test("does not store parameters that are not JSON", (cache) =>
      Effect.sync(() => {
        const cyclic: { self?: unknown } = {}
        cyclic.self = cyclic
        for (const params of [undefined, 1n, new Date(0), Number.NaN, cyclic]) {
          assert.isUndefined(cache.slot({ definition: open, params }))
        }
      }))
  })
}
