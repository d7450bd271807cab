import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SkillBinding from "../../../src/skill/compose/SkillBinding.js"
import * as Skill from "../../../src/skill/definition/Skill.js"

const own = (json: string): Readonly<Record<string, unknown>> => JSON.parse(json)

const keys = FastCheck.constantFrom("a", "b", "c", "__proto__", "constructor", "output")
const maps = FastCheck.dictionary(keys, FastCheck.jsonValue()).map((map) => own(JSON.stringify(map)))

class Order extends Schema.Class<Order>("Order")({ id: Schema.String }) {}

describe("SkillBinding.toParams", () => {
  it("keeps maps and names other values output", () => {
    const map = { a: 1 }
    assert.strictEqual(SkillBinding.toParams(map), map)
    const order = new Order({ id: "1" })
    assert.isTrue(Object.is(SkillBinding.toParams(order), order))
    const values = [
      "text",
      1,
      1n,
      true,
      null,
      undefined,
      [1],
      new Date(0),
      new Map(),
      new Set(),
      Option.some(1),
      Duration.zero
    ]
    for (const value of values) assert.deepStrictEqual(SkillBinding.toParams(value), { output: value })
    assert.deepStrictEqual(SkillBinding.toParams(own(`{"pipe":1}`)), { pipe: 1 })
  })

  it("renames keys all at once and passes others on", () => {
    assert.deepStrictEqual(SkillBinding.toParams({ a: 1, b: 2, c: 3 }, { a: "x" }), { b: 2, c: 3, x: 1 })
    assert.deepStrictEqual(SkillBinding.toParams({ a: 1, b: 2 }, { a: "b", b: "a" }), { a: 2, b: 1 })
    assert.deepStrictEqual(SkillBinding.toParams("text", { output: "text" }), { text: "text" })
  })

  it("lets a renamed key win over an existing one, and a later entry over an earlier one", () => {
    assert.deepStrictEqual(SkillBinding.toParams({ a: 1, b: 2 }, { a: "b" }), { b: 1 })
    assert.deepStrictEqual(SkillBinding.toParams({ a: 1, b: 2 }, { a: "c", b: "c" }), { c: 2 })
    assert.deepStrictEqual(SkillBinding.toParams({ b: 2 }, { a: "b" }), { b: 2 })
  })

  it("treats `__proto__` as a key", () => {
    const into = SkillBinding.toParams({ a: { admin: true } }, { a: "__proto__" })
    assert.strictEqual(Object.getPrototypeOf(into), Object.prototype)
    assert.deepStrictEqual(Object.keys(into), ["__proto__"])
    const from = SkillBinding.toParams(
      own(`{"__proto__":{"admin":true}}`),
      own(`{"__proto__":"a"}`) as SkillBinding.Rename
    )
    assert.deepStrictEqual(from, { a: { admin: true } })
    assert.deepStrictEqual(SkillBinding.toParams({}, { constructor: "c", toString: "t" }), {})
    assert.strictEqual(({} as { readonly admin?: unknown }).admin, undefined)
  })

  it("equals a plain map of names", () =>
    FastCheck.assert(
      FastCheck.property(maps, FastCheck.dictionary(keys, keys), (value, names) => {
        const rename = own(JSON.stringify(names)) as SkillBinding.Rename
        const model = new Map<string, unknown>()
        for (const [key, item] of Object.entries(value)) if (!Object.hasOwn(rename, key)) model.set(key, item)
        for (const [key, name] of Object.entries(rename)) if (Object.hasOwn(value, key)) model.set(name, value[key])
        const sorted = (entries: Iterable<[string, unknown]>) =>
          Array.from(entries).sort(([a], [b]) => (a < b ? -1 : 1))
        assert.deepStrictEqual(sorted(Object.entries(SkillBinding.toParams(value, rename))), sorted(model))
      })
    ))

  it("changes nothing without names or for a rename and back", () =>
    FastCheck.assert(
      FastCheck.property(maps, keys, (value, key) => {
        assert.deepStrictEqual(SkillBinding.toParams(value, {}), value)
        const there = SkillBinding.toParams(value, Object.fromEntries([[key, "fresh"]]))
        assert.deepStrictEqual(SkillBinding.toParams(there, { fresh: key }), value)
      })
    ))
})

describe("SkillBinding.copy", () => {
  it("copies the content and shares no list or plain object", () =>
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue({ maxDepth: 4 }), (json) => {
        const value: unknown = JSON.parse(JSON.stringify(json))
        const copy = SkillBinding.copy(value)
        assert.deepStrictEqual(copy, value)
        const parts = (from: unknown): ReadonlyArray<unknown> =>
          typeof from === "object" && from !== null ? [from, ...Object.values(from).flatMap(parts)] : []
        const originals = new Set(parts(value))
        assert.isFalse(parts(copy).some((part) => originals.has(part)))
      })
    ))

  it("shares class instances, keeps cycles and shared objects, at any depth", () => {
    const date = new Date(0)
    const shared = { n: 1 }
    const cycle: Record<string, unknown> = { date, order: new Order({ id: "1" }), left: shared, right: shared }
    cycle["self"] = cycle
    const copy = SkillBinding.copy(cycle)
    assert.notStrictEqual(copy, cycle)
    assert.strictEqual(copy["self"], copy)
    assert.strictEqual(copy["date"], date)
    assert.strictEqual(copy["order"], cycle["order"])
    assert.strictEqual(copy["left"], copy["right"])
    let deep: unknown = []
    for (let i = 0; i < 50_000; i++) deep = [deep]
    assert.isArray(SkillBinding.copy(deep))
  })

  it("keeps `__proto__` as a key", () => {
    const copy = SkillBinding.copy(own(`{"a":{"__proto__":{"admin":true}}}`))
    assert.deepStrictEqual(copy, own(`{"a":{"__proto__":{"admin":true}}}`))
    assert.deepStrictEqual(Object.keys(copy["a"] as object), ["__proto__"])
  })
})

describe("SkillBinding.fit", () => {
  const dated = Skill.make("dated", {
    description: "d",
    parameters: { at: Schema.Date },
    handler: ({ at }) => Effect.succeed(at)
  })

  it.effect("passes typed values unchanged and decodes others by the skill's schema", () =>
    Effect.gen(function* () {
      const at = new Date(0)
      assert.deepStrictEqual(yield* SkillBinding.fit(dated, { at }), { at })
      assert.deepStrictEqual(yield* SkillBinding.fit(dated, { at: at.toISOString() }), { at })
      assert.deepStrictEqual(yield* SkillBinding.fit(dated, { at }, "json"), { at })
      const error = yield* Effect.flip(SkillBinding.fit(dated, { at: 1 }))
      assert.strictEqual(error.skillName, "dated")
      assert.include(error.message, "at")
    })
  )

  it.effect("decodes JSON before treating a value as typed", () =>
    Effect.gen(function* () {
      const secret = Skill.make("secret", {
        description: "d",
        parameters: { text: Schema.StringFromBase64 },
        handler: () => Effect.void
      })
      assert.deepStrictEqual(yield* SkillBinding.fit(secret, { text: "aGk=" }, "json"), { text: "hi" })
      assert.deepStrictEqual(yield* SkillBinding.fit(secret, { text: "aGk=" }), { text: "aGk=" })
    })
  )

  it.effect("passes any value to a reference", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* SkillBinding.fit(Skill.ref("x"), 1), 1)
    })
  )
})
