import { assert, describe, it } from "@effect/vitest"
import * as ToolArguments from "../../../src/tool/definition/ToolArguments.js"

const one = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
const two = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city", "days"]
}
const none = { type: "object", properties: {} }

describe("ToolArguments", () => {
  it("reads missing input as an empty object", () => {
    for (const raw of [undefined, null, "", "  \n"]) {
      for (const schema of [one, two, none]) assert.deepStrictEqual(ToolArguments.normalise(raw, schema), {})
    }
  })

  it("leaves an object unchanged", () => {
    const given = { city: 5 }
    assert.strictEqual(ToolArguments.normalise(given, one), given)
  })

  it("reads a bare text or number as the one string parameter", () => {
    assert.deepStrictEqual(ToolArguments.normalise("Rome", one), { city: "Rome" })
    assert.deepStrictEqual(ToolArguments.normalise('"Rome"', one), { city: "Rome" })
    assert.deepStrictEqual(ToolArguments.normalise("12", one), { city: "12" })
    assert.deepStrictEqual(ToolArguments.normalise(12, one), { city: "12" })
    assert.deepStrictEqual(ToolArguments.normalise("[not, a list", one), { city: "[not, a list" })
    const optional = { ...two, required: ["city"] }
    assert.deepStrictEqual(ToolArguments.normalise("Rome", optional), { city: "Rome" })
  })

  it("leaves a bare text for other parameters to validation", () => {
    assert.strictEqual(ToolArguments.normalise("Rome", two), "Rome")
    assert.strictEqual(ToolArguments.normalise(12, two), 12)
    assert.strictEqual(ToolArguments.normalise(12, { type: "object", properties: { n: { type: "integer" } } }), 12)
  })

  it("repairs broken JSON, in fences and when encoded twice", () => {
    for (const text of [
      '{"city": "Rome"}',
      "{city: 'Rome',}",
      '```json\n{"city": "Rome"}\n```',
      '{"city": "Rome"',
      '"{\\"city\\": \\"Rome\\"}"'
    ]) {
      assert.deepStrictEqual(ToolArguments.normalise(text, one), { city: "Rome" }, text)
      assert.deepStrictEqual(ToolArguments.normalise(text, two), { city: "Rome" }, text)
    }
  })

  it("reads text that only begins like an object as the one string parameter", () => {
    const hostile = `{${"{[".repeat(400)}`
    assert.deepStrictEqual(ToolArguments.normalise(hostile, one), { city: hostile })
    assert.strictEqual(ToolArguments.normalise(hostile, two), hostile)
  })

  it("leaves lists to validation", () => {
    const list = ["Rome"]
    assert.strictEqual(ToolArguments.normalise(list, one), list)
    assert.deepStrictEqual(ToolArguments.normalise('["Rome"]', two), ["Rome"])
  })

  it("drops keys that poison prototypes", () => {
    const read = ToolArguments.normalise('{"__proto__": {"admin": true}, "city": "Rome"}', two)
    assert.deepStrictEqual(read, { city: "Rome" })
    assert.isFalse("admin" in (read as object))
  })

  it("drops null for an optional parameter that does not accept it, at any depth", () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "string" },
        kept: { type: ["string", "null"] },
        also: { anyOf: [{ type: "string" }, { const: null }] },
        must: { type: "string" },
        free: {},
        choice: { enum: ["x"] },
        ref: { $ref: "#/$defs/point" },
        all: { allOf: [{ $ref: "#/$defs/point" }] },
        inner: { $ref: "#/$defs/point" },
        list: { type: "array", items: { $ref: "#/$defs/point" } },
        pair: {
          prefixItems: [{ $ref: "#/$defs/point" }],
          items: { type: "object", properties: { z: { type: "number" } } }
        },
        either: { anyOf: [{ $ref: "#/$defs/point" }, { type: "null" }] },
        more: { type: "object", additionalProperties: { $ref: "#/$defs/point" } }
      },
      required: ["must"],
      $defs: {
        point: { type: "object", properties: { x: { type: "number" }, y: { type: "number" } }, required: ["x"] }
      }
    }
    const point = { x: 1, y: null }
    assert.deepStrictEqual(
      ToolArguments.withoutNulls(
        {
          a: null,
          kept: null,
          also: null,
          must: null,
          free: null,
          choice: null,
          ref: null,
          all: null,
          inner: point,
          list: [point, { x: null }],
          pair: [point, { z: null }],
          either: point,
          more: { k: point },
          unknown: null
        },
        schema
      ),
      {
        kept: null,
        also: null,
        must: null,
        free: null,
        inner: { x: 1 },
        list: [{ x: 1 }, { x: null }],
        pair: [{ x: 1 }, {}],
        either: { x: 1 },
        more: { k: { x: 1 } },
        unknown: null
      }
    )
  })

  it("returns the input itself when nothing is dropped", () => {
    const given = { city: "Rome", nested: { list: [null] } }
    assert.strictEqual(ToolArguments.withoutNulls(given, one), given)
    for (const odd of [null, 5, "x", [null]]) assert.strictEqual(ToolArguments.withoutNulls(odd, one), odd)
    assert.strictEqual(ToolArguments.withoutNulls(given, true), given)
  })

  it("keeps a null where the schema is reached by a name", () => {
    for (const target of [{ $anchor: "maybe" }, { $id: "#maybe" }]) {
      const schema = {
        type: "object",
        properties: { a: { $ref: "#maybe" } },
        $defs: { maybe: { ...target, type: ["string", "null"] } }
      }
      assert.deepStrictEqual(ToolArguments.withoutNulls({ a: null }, schema), { a: null })
    }
  })

  it("ends on circular references in a schema", () => {
    const schema = {
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
      properties: { x: { $ref: "#/$defs/a" } }
    }
    assert.deepStrictEqual(ToolArguments.withoutNulls({ x: { y: null } }, schema), { x: { y: null } })
    const self = { properties: { next: { $ref: "#" }, v: { type: "string" } }, anyOf: [{ $ref: "#" }] }
    assert.deepStrictEqual(ToolArguments.withoutNulls({ next: { v: null }, v: null }, self), { next: {} })
  })

  it("keeps a field named __proto__ as data", () => {
    const given = JSON.parse('{"__proto__": {"admin": true}, "city": null}')
    const stripped = ToolArguments.withoutNulls(given, { properties: { city: { type: "string" } } }) as object
    assert.deepStrictEqual(Object.keys(stripped), ["__proto__"])
    assert.isFalse("admin" in stripped)
  })
})
