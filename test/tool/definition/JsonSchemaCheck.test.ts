import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JsonSchemaCheck from "../../../src/tool/definition/JsonSchemaCheck.js"
import * as JsonSchemaValidator from "../../../src/tool/definition/JsonSchemaValidator.js"
import * as Parameters from "../../../src/tool/definition/Parameters.js"

const modern = "https://json-schema.org/draft/2020-12/schema"
const old = "http://json-schema.org/draft-07/schema#"
const field = (a: unknown, rest: object = {}) => ({ properties: { a }, ...rest })

/** Values that are wrong for every keyword whose value has a form. */
const wrong: Readonly<Record<string, unknown>> = {
  minimum: "1",
  exclusiveMaximum: true,
  multipleOf: 0,
  maxLength: -1,
  minItems: 1.5,
  uniqueItems: "yes",
  readOnly: 1,
  title: 7,
  pattern: {},
  format: 1,
  $ref: 1,
  enum: "x",
  examples: "x",
  allOf: [],
  anyOf: {},
  oneOf: [1],
  not: 3,
  if: "x",
  contains: [],
  propertyNames: "x",
  additionalProperties: "no",
  patternProperties: { x: 1 },
  dependencies: { x: 1 }
}

const unusable: ReadonlyArray<unknown> = [
  ...Object.entries(wrong).map(([key, value]) => field({ [key]: value })),
  { type: "string" },
  field({ enum: [] }),
  { $schema: modern, ...field({ items: [{}] }) },
  { $schema: modern, ...field({ prefixItems: {} }) },
  { $schema: modern, ...field({ $defs: { x: 1 } }) },
  { $schema: modern, dependentRequired: { a: "b" } },
  { $schema: old, ...field({ additionalItems: 1 }) },
  field({ $ref: "https://example.com/x.json" }),
  field({ $ref: "other.json#/a" }),
  field({ $ref: "#/definitions/none" }),
  field({ $ref: "#/$defs/a" }, { $defs: { a: { $ref: "#/$defs/b" } } }),
  field({ $ref: "#name" }),
  field({ $ref: "#" }),
  field({ anyOf: [{ items: { $ref: "#/x" } }] })
]

const usable: ReadonlyArray<unknown> = [
  undefined,
  {},
  field(true),
  field({ type: "any", minimum: 1, multipleOf: 0.5, maxLength: 3, enum: [1], examples: [1], default: { $ref: "no" } }),
  field({ prefixItems: 5 }),
  { $schema: old, ...field({ prefixItems: 5, $defs: 1, items: [{}, true], additionalItems: false }) },
  { $schema: modern, ...field({ items: {}, deprecated: true }) },
  field({ $ref: "#/$defs/a~1b%20c" }, { $defs: { "a/b c": { type: "integer" } } }),
  field({ $ref: "#/properties/b/items/0" }, { properties: { a: { $ref: "#/properties/b" }, b: { items: [{}] } } }),
  { $defs: { unused: { $ref: "#/none" } } },
  field({ $ref: "#/$defs/a" }, { $defs: { a: { $ref: "#/$defs/a" } } }),
  field({ $ref: "item.json" }, { $defs: { i: { $id: "item.json", type: "integer" } } }),
  { properties: { $ref: { type: "string" }, enum: { type: "array" } }, dependencies: { a: ["b"], c: { minItems: 1 } } },
  field({ unheardOf: { $ref: "#/none" }, required: true })
]

describe("JsonSchemaCheck", () => {
  it("refuses what does not compile", () => {
    for (const schema of unusable) {
      assert.isTrue(Either.isLeft(JsonSchemaValidator.compile(schema)), `compiles: ${JSON.stringify(schema)}`)
      assert.isTrue(Either.isLeft(JsonSchemaCheck.parameters(schema)), JSON.stringify(schema))
    }
  })

  it("accepts what compiles, in the same standard words", () => {
    for (const schema of usable) {
      const compiled = Either.map(JsonSchemaValidator.compile(schema), (validator) => validator.schema)
      assert.isTrue(Either.isRight(compiled), `does not compile: ${JSON.stringify(schema)}`)
      assert.deepStrictEqual(JsonSchemaCheck.parameters(schema), compiled, JSON.stringify(schema))
    }
  })

  it("says where a schema breaks which rule", () => {
    const reason = (schema: unknown) => Either.getOrThrow(Either.flip(JsonSchemaCheck.parameters(schema)))
    assert.strictEqual(
      reason(field({ anyOf: [{}, { minimum: "x" }] })),
      "schema/properties/a/anyOf/1/minimum must be number"
    )
    assert.strictEqual(reason(field({ $ref: "#/x" })), "can't resolve reference #/x")
  })

  it.effect("parameters whose references turn out to lead nowhere accept no value", () =>
    Effect.gen(function* () {
      const schema = field({ $ref: "#nowhere" }, { $defs: { i: { $anchor: "somewhere" } } })
      assert.isTrue(Either.isLeft(JsonSchemaValidator.compile(schema)))
      const { decode } = Either.getOrThrow(Parameters.fromJsonSchema(schema))
      for (const args of [{ a: 1 }, {}]) {
        const [issue] = yield* Effect.flip(decode(args))
        assert.include(issue?.message, "does not compile")
      }
    })
  )
})
