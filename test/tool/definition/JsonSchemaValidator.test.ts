import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as JsonSchemaValidator from "../../../src/tool/definition/JsonSchemaValidator.js"
import * as Growth from "../../support/Growth.js"

const compiled = (schema: unknown): JsonSchemaValidator.Validator =>
  Either.getOrThrow(JsonSchemaValidator.compile(schema))
const reason = (schema: unknown): string => {
  const result = JsonSchemaValidator.compile(schema)
  if (Either.isRight(result)) return assert.fail("the schema compiled")
  return result.left
}
const nest = (levels: number, wrap: (inner: unknown) => unknown, core: unknown = {}): unknown => {
  let value = core
  for (let i = 0; i < levels; i++) value = wrap(value)
  return value
}

describe("JsonSchemaValidator", () => {
  it("reports the invalid field and the issue", () => {
    const { validate } = compiled({
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { enum: ["C", "F"] },
        at: { type: "array", items: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } }
      },
      required: ["city"],
      additionalProperties: false
    })
    assert.deepStrictEqual(validate({ city: "Rome", unit: "C", at: [{ n: 1 }] }), [])
    assert.deepStrictEqual(validate({ unit: "K", at: [{ n: 1 }, {}], wind: 1 }), [
      { path: "city", message: "is missing" },
      { path: "", message: 'has an unknown field "wind"' },
      { path: "unit", message: 'must be one of ["C","F"]' },
      { path: "at.1.n", message: "is missing" }
    ])
  })

  it("follows references within a schema, in draft-07 and 2020-12", () => {
    const old = compiled({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { a: { $ref: "#/definitions/id", description: "a" }, pair: { items: [{ type: "number" }] } },
      definitions: { id: { type: "integer" } }
    })
    assert.deepStrictEqual(old.validate({ a: 1, pair: [1, "x"] }), [])
    assert.strictEqual(old.validate({ a: "1" })[0]?.path, "a")
    assert.strictEqual(old.validate({ pair: ["x"] })[0]?.path, "pair.0")
    const modern = compiled({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { a: { $ref: "#/$defs/id" }, pair: { prefixItems: [{ type: "number" }] } },
      $defs: { id: { type: "integer" } }
    })
    assert.deepStrictEqual(modern.validate({ a: 1, pair: [1, "x"] }), [])
    assert.strictEqual(modern.validate({ a: "1" })[0]?.path, "a")
    assert.strictEqual(modern.validate({ pair: ["x"] })[0]?.path, "pair.0")
  })

  it("detects the draft of an undeclared schema by its keywords, and tries the other one", () => {
    assert.strictEqual(
      compiled({ properties: { a: { prefixItems: [{ type: "number" }] } } }).validate({ a: ["x"] }).length,
      1
    )
    const mixed = compiled({
      $defs: { id: { type: "integer" } },
      properties: { a: { type: "array", items: [{ $ref: "#/$defs/id" }] } }
    })
    assert.strictEqual(mixed.validate({ a: ["x"] })[0]?.path, "a.0")
  })

  it.each(["minContains", "unevaluatedItems", "$anchor"])(
    "takes an undeclared schema with %s for a modern one",
    (word) => {
      const words: Record<string, unknown> = { minContains: 2, unevaluatedItems: false, $anchor: "a" }
      const { validate } = compiled({
        properties: { a: { contains: { type: "string" }, [word]: words[word] }, b: { dependentRequired: { x: ["y"] } } }
      })
      assert.deepStrictEqual(validate({ a: ["x", "y"], b: { x: 1, y: 2 } }), [])
      assert.strictEqual(validate({ b: { x: 1 } }).length, 1)
    }
  )

  it("tells the patterns of one schema apart", () => {
    const { validate } = compiled({
      properties: {
        a: { $ref: "#/$defs/letters" },
        b: { $ref: "#/$defs/digits" },
        c: { pattern: "^x" },
        d: { pattern: "y$" }
      },
      $defs: { letters: { pattern: "^[a-z]+$" }, digits: { pattern: "^\\d+$" } }
    })
    assert.deepStrictEqual(validate({ a: "abc", b: "12", c: "xy", d: "xy" }), [])
    const wrong = validate({ a: "12", b: "abc", c: "12", d: "x" })
    assert.deepStrictEqual(wrong.map(({ path }) => path).sort(), ["a", "b", "c", "d"])
  })

  it("follows dynamic references, to definitions and in circles", () => {
    const { validate } = compiled({
      properties: { id: { $dynamicRef: "#id" }, tree: { $dynamicRef: "#tree" } },
      $defs: {
        id: { $dynamicAnchor: "id", type: "integer" },
        tree: { $dynamicAnchor: "tree", type: "object", properties: { below: { items: { $dynamicRef: "#tree" } } } }
      }
    })
    assert.deepStrictEqual(validate({ id: 1, tree: { below: [{ below: [] }] } }), [])
    assert.deepStrictEqual(
      validate({ id: "1", tree: { below: [{ below: [1] }] } }).map(({ path }) => path),
      ["id", "tree.below.0.below.0"]
    )
  })

  it("follows a recursive schema to the depth of the value", () => {
    const tree = compiled({
      properties: { root: { $ref: "#/$defs/node" } },
      $defs: {
        node: {
          type: "object",
          required: ["kids"],
          properties: { kids: { type: "array", items: { $ref: "#/$defs/node" } } }
        }
      }
    })
    assert.deepStrictEqual(tree.validate({ root: { kids: [{ kids: [] }] } }), [])
    assert.deepStrictEqual(tree.validate({ root: { kids: [{}] } }), [
      { path: "root.kids.0.kids", message: "is missing" }
    ])
  })

  it("rejects references to other documents without loading them", () => {
    for (const $ref of ["https://example.com/x.json", "other.json#/a", "http://json-schema.org/draft-07/schema#"]) {
      assert.include(reason({ properties: { a: { $ref } } }), "can't resolve reference")
    }
  })

  it("accepts nonstandard type names in any case, and anything for unknown ones", () => {
    const { schema, validate } = compiled({
      type: "Dict",
      properties: { a: { type: "float" }, b: { type: "any" }, c: { type: ["int", "null"] }, d: { type: "toString" } },
      required: true
    })
    assert.deepStrictEqual(schema, {
      type: "object",
      properties: { a: { type: "number" }, b: {}, c: { type: ["integer", "null"] }, d: {} }
    })
    assert.deepStrictEqual(validate({ a: 1.5, b: [], c: null, d: {} }), [])
    assert.deepStrictEqual(
      validate({ a: "x", c: "x" }).map((issue) => issue.path),
      ["a", "c"]
    )
  })

  it("leaves the given schema unchanged", () => {
    const given = Object.freeze({ type: "dict", properties: Object.freeze({ type: Object.freeze({ type: "str" }) }) })
    assert.deepStrictEqual(compiled(given).schema, { type: "object", properties: { type: { type: "string" } } })
    assert.deepStrictEqual(given, { type: "dict", properties: { type: { type: "str" } } })
  })

  it("makes parameters an object, and rejects what cannot be one", () => {
    for (const nothing of [undefined, null, true, "x", []]) {
      assert.deepStrictEqual(compiled(nothing).schema, { type: "object", properties: {} })
    }
    assert.strictEqual(compiled({ properties: { a: {} } }).schema["type"], "object")
    assert.strictEqual(compiled({ anyOf: [{ required: ["a"] }] }).schema["type"], "object")
    assert.strictEqual(compiled({ type: ["object", "null"] }).schema["type"], "object")
    assert.include(reason({ type: "string" }), 'not "string"')
    assert.include(reason({ type: ["string", "null"] }), "not")
  })

  it("reports the error of an invalid schema", () => {
    assert.include(reason({ properties: { a: { minimum: "x" } } }), "minimum must be number")
    assert.include(reason({ properties: { a: { enum: "x" } } }), "an enum is a list")
    assert.include(
      reason({ $schema: "https://json-schema.org/draft/2020-12/schema", properties: { a: { items: [{}] } } }),
      "items"
    )
  })

  it("keeps a property named __proto__ as data, and ignores inherited fields", () => {
    const { schema, validate } = compiled(
      JSON.parse(
        '{"properties":{"__proto__":{"type":"string"},"a":{}},"required":["toString"],"__proto__":{"type":"string"}}'
      )
    )
    assert.isTrue(Object.hasOwn(schema["properties"] as object, "__proto__"))
    assert.strictEqual(Object.getPrototypeOf(schema), Object.prototype)
    assert.deepStrictEqual(validate({ a: 1 }), [{ path: "toString", message: "is missing" }])
    assert.isUndefined(({} as { type?: unknown }).type)
  })

  it("rejects schemas and data that are too deep or too large, quickly", () => {
    const deep = nest(10_000, (inner) => ({ type: "object", properties: { a: inner } }))
    assert.include(reason(deep), "nested deeper than 64 levels")
    const deepData = nest(10_000, (inner) => [inner])
    for (const key of ["enum", "const", "default", "examples"]) {
      assert.include(reason({ properties: { a: { [key]: [deepData] } } }), "nested deeper")
    }
    const many = Array.from({ length: 100_000 }, (_, index) => `v${index}`)
    assert.include(reason({ properties: { a: { enum: many } } }), "more than 2000 parts")
    assert.include(reason({ required: many }), "more than 2000 parts")
    assert.include(reason({ properties: Object.fromEntries(many.map((name) => [name, {}])) }), "more than 2000 parts")
  })

  it("compiles a long enum without comparing every pair of values", () => {
    const values = Array.from({ length: 1500 }, (_, index) => `value ${index}`)
    const { validate } = compiled({ properties: { a: { enum: values } } })
    Growth.assertLinear({
      input: (size) => values.slice(0, size),
      size: values.length,
      run: (some) => compiled({ properties: { a: { enum: some } } })
    })
    assert.deepStrictEqual(validate({ a: "value 1499" }), [])
    assert.isBelow(validate({ a: "other" })[0]?.message.length ?? 0, 600)
  })

  it("stops validating when references make it endless or exponential", () => {
    const bomb: Record<string, unknown> = { r40: { type: "string" } }
    for (let i = 0; i < 40; i++) {
      const next = { $ref: `#/$defs/r${i + 1}` }
      bomb[`r${i}`] = { allOf: [next, next] }
    }
    const intricate = [{ path: "", message: "is too deep or too complex to be checked" }]
    assert.deepStrictEqual(
      compiled({ $defs: bomb, properties: { a: { $ref: "#/$defs/r0" } } }).validate({ a: 1 }),
      intricate
    )
    const circle = compiled({ $defs: { a: { $ref: "#/$defs/a" } }, properties: { x: { $ref: "#/$defs/a" } } })
    assert.deepStrictEqual(circle.validate({ x: 1 }), intricate)
    const list = compiled({
      $defs: { n: { properties: { next: { $ref: "#/$defs/n" } } } },
      properties: { next: { $ref: "#/$defs/n" } }
    })
    assert.deepStrictEqual(list.validate(nest(20_000, (next) => ({ next }))), intricate)
    assert.deepStrictEqual(list.validate(nest(20, (next) => ({ next }))), [])
  })

  it("checks simple patterns, and accepts text for expensive ones", () => {
    const pattern = (pattern: string) => compiled({ properties: { a: { type: "string", pattern } } })
    assert.deepStrictEqual(pattern("^[0-9]{5}(-[0-9]{4})?$").validate({ a: "12345-6789" }), [])
    assert.strictEqual(pattern("^[0-9]{5}$").validate({ a: "1234" })[0]?.path, "a")
    assert.strictEqual(pattern("^[\\w-\\.]+$").validate({ a: "!" }).length, 1)
    assert.deepStrictEqual(pattern("(").validate({ a: "!" }), [])
    for (const slow of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "a*a*a*a*b", "^((a*)b?)*$", "^(a{1,9}){1,9}c"]) {
      assert.deepStrictEqual(pattern(slow).validate({ a: "a".repeat(5000) }), [], slow)
    }
    // They have no open repetition, and exponentially many ways to match.
    for (const slow of [`${"a?".repeat(60)}b`, `${"a{0,250}".repeat(5)}b`, `${"(?:a|a)".repeat(30)}b`]) {
      assert.deepStrictEqual(pattern(slow).validate({ a: "a".repeat(250) }), [], slow)
    }
    Growth.assertLinear({
      name: "a pattern of brackets",
      size: 80_000,
      input: (size) => "[".repeat(size),
      run: (brackets) => pattern(brackets).validate({ a: "a" })
    })
  })

  it("reports at most twenty issues", () => {
    const { validate } = compiled({ required: Array.from({ length: 50 }, (_, index) => `f${index}`) })
    assert.strictEqual(validate({}).length, 20)
  })
})
