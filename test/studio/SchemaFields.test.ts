import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { DEEPEST, fieldOf, initial, memberOf, resolved, withMember } from "../../studio/lib/schema.js"

const field = (schema: unknown, root: unknown = schema) => fieldOf(resolved(root, schema))

describe("fields of a schema", () => {
  it("are texts, numbers, switches, choices, lists and objects", () => {
    assert.deepStrictEqual(field({ type: "string" }), { kind: "text", isLong: false, isSecret: false })
    assert.deepInclude(field({ type: "string", maxLength: 5000 }), { isLong: true, maxLength: 5000 })
    assert.deepInclude(field({ type: "string", format: "password" }), { isSecret: true })
    assert.deepStrictEqual(field({ type: "integer", minimum: 1 }), { kind: "number", isInteger: true, min: 1 })
    assert.deepStrictEqual(field({ type: "boolean" }), { kind: "boolean" })
    assert.deepStrictEqual(field({ enum: ["a", 1, null] }), { kind: "choice", options: ["a", 1, null] })
    assert.deepStrictEqual(field({ const: "a" }), { kind: "choice", options: ["a"] })
    assert.deepStrictEqual(field({ type: "array", items: { type: "string" } }), {
      kind: "list",
      items: { type: "string" }
    })
    assert.deepStrictEqual(field({ type: "object", properties: { a: {} }, required: ["a"] }), {
      kind: "object",
      members: [{ name: "a", schema: {}, isRequired: true }]
    })
  })

  it("see through references and through the null of an optional value", () => {
    const root = { $defs: { "a/b": { type: ["integer", "null"] } } }
    assert.deepStrictEqual(field({ $ref: "#/$defs/a~1b" }, root), { kind: "number", isInteger: true })
    assert.deepStrictEqual(field({ anyOf: [{ type: "boolean" }, { type: "null" }] }), { kind: "boolean" })
  })

  it("are JSON where a schema allows several things, anything, or nothing that is known", () => {
    const schemas: ReadonlyArray<unknown> = [
      undefined,
      null,
      true,
      7,
      [],
      {},
      { type: "null" },
      { type: ["string", "number"] },
      { anyOf: [{ type: "string" }, { type: "number" }] },
      { type: "object" },
      { type: "object", properties: { a: {} }, additionalProperties: { type: "string" } },
      { type: "array", items: [{ type: "string" }] },
      { $ref: "https://example.com/schema" },
      { $ref: "#/$defs/none" },
      { $ref: "#/constructor/prototype" },
      { $ref: "#" },
      { enum: [] },
      { enum: Array.from({ length: 501 }, (_, at) => at) },
      { type: "object", properties: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`p${at}`, {}])) }
    ]
    for (const schema of schemas) assert.deepStrictEqual(field(schema), { kind: "json" }, JSON.stringify(schema))
  })
})

describe("the value that a form begins with", () => {
  it("has defaults and what is required", () => {
    const schema = {
      type: "object",
      properties: {
        name: { type: "string" },
        age: { type: "number" },
        isNew: { type: "boolean" },
        color: { enum: ["red", "green"] },
        tags: { type: "array", items: { type: "string" } },
        size: { type: "number", default: 3 },
        note: { type: "string" }
      },
      required: ["name", "age", "isNew", "color", "tags"]
    }
    assert.deepStrictEqual(initial(schema, schema, true), { name: "", isNew: false, color: "red", tags: [], size: 3 })
  })

  it("ends where a schema requires itself", () => {
    const root = {
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, required: ["next"] } }
    }
    let [depth, value] = [0, initial(root, { $ref: "#/$defs/node" }, true)]
    while (memberOf(value, "next") !== undefined) {
      value = memberOf(value, "next")
      depth++
    }
    assert.strictEqual(depth, DEEPEST)
  })

  it("is found for any JSON as a schema", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue(), FastCheck.boolean(), (schema, isRequired) => {
        initial(schema, schema, isRequired)
        assert.isString(field(schema).kind)
      }),
      { numRuns: 500 }
    )
  })
})

describe("members of a value", () => {
  it("may have the names of inherited properties", () => {
    for (const name of ["__proto__", "constructor", "toString"]) {
      assert.isUndefined(memberOf({}, name))
      const value = withMember({ a: 1 }, name, 2)
      assert.strictEqual(memberOf(value, name), 2)
      assert.deepStrictEqual(Object.keys(value), ["a", name])
      assert.deepStrictEqual(withMember(value, name, undefined), { a: 1 })
      assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    }
  })
})
