import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { SkillParameter } from "../../../src/skill/definition/SkillDefinition.js"
import * as SkillParameters from "../../../src/skill/definition/SkillParameters.js"
import * as JsonSchemaValidator from "../../../src/tool/definition/JsonSchemaValidator.js"

const full: ReadonlyArray<SkillParameters.Given> = [
  { name: "city", type: "string", description: "Where", maxLength: 10 },
  { name: "days", type: "integer", description: "How many", minValue: 1, maxValue: 7, default: 3 },
  { name: "unit", type: "string", description: "", enum: ["C", "F"], required: false },
  { name: "tags", type: "array", description: "Any", required: false },
  { name: "more", type: "object", description: "Any", required: false },
  { name: "exact", type: "boolean", description: "Or not", required: false },
  { name: "level", type: "number", description: "0 to 1", minValue: 0, maxValue: 1, required: false }
]

const schema = {
  type: "object",
  properties: {
    city: { type: "string", description: "Where", maxLength: 10 },
    days: { type: "integer", description: "How many", minimum: 1, maximum: 7, default: 3 },
    unit: { type: "string", enum: ["C", "F"] },
    tags: { type: "array", description: "Any" },
    more: { type: "object", description: "Any" },
    exact: { type: "boolean", description: "Or not" },
    level: { type: "number", description: "0 to 1", minimum: 0, maximum: 1 }
  },
  required: ["city"],
  additionalProperties: false
}

const json = FastCheck.jsonValue({ maxDepth: 2 })
const optional = <A>(arbitrary: FastCheck.Arbitrary<A>) => FastCheck.option(arbitrary, { nil: undefined })
const name = FastCheck.oneof(
  FastCheck.string({ minLength: 1, maxLength: 8 }),
  FastCheck.constantFrom("__proto__", "constructor", "type", "$ref", "required")
)
const present = (fields: Record<string, unknown>): any =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
const finite = FastCheck.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0)

const parameter: FastCheck.Arbitrary<SkillParameter> = FastCheck.record({
  name,
  type: FastCheck.constantFrom("string", "integer", "number", "boolean", "array", "object"),
  description: FastCheck.string(),
  required: FastCheck.boolean(),
  default: optional(json),
  enum: optional(FastCheck.array(json, { maxLength: 3 })),
  minValue: optional(finite),
  maxValue: optional(finite),
  maxLength: optional(FastCheck.nat())
}).map(present)

const list = FastCheck.uniqueArray(parameter, { selector: (parameter) => parameter.name, maxLength: 6 })

const property = FastCheck.record({
  type: FastCheck.constantFrom("string", "integer", "number", "boolean", "array", "object"),
  description: optional(FastCheck.string({ minLength: 1 })),
  enum: optional(FastCheck.array(json, { minLength: 1, maxLength: 3 })),
  minimum: optional(finite),
  maximum: optional(finite),
  maxLength: optional(FastCheck.nat()),
  default: optional(json)
}).map(present)

const object = FastCheck.tuple(
  FastCheck.dictionary(name, property, { maxKeys: 6 }),
  FastCheck.infiniteStream(FastCheck.boolean())
).map(([properties, coins]) => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter(() => coins.next().value),
  additionalProperties: false
}))

describe("SkillParameters", () => {
  it("converts a list to a schema with everything it says", () => {
    assert.deepStrictEqual(SkillParameters.toJsonSchema(full), schema)
    assert.deepStrictEqual(SkillParameters.toJsonSchema([]), {
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false
    })
  })

  it("converts a schema to a list with everything it says", () => {
    const expected = full.map((given) => ({ ...given, required: given.name === "city" }))
    assert.deepStrictEqual(SkillParameters.fromJsonSchema(schema), Either.right(expected))
    for (const given of expected) assert.deepStrictEqual(Schema.decodeUnknownSync(SkillParameter)(given), given)
  })

  it("returns a list unchanged from its schema", () => {
    FastCheck.assert(
      FastCheck.property(list, (list) => {
        const back = SkillParameters.fromJsonSchema(SkillParameters.toJsonSchema(list))
        // JavaScript puts names that are numbers first.
        const sorted = (list: ReadonlyArray<SkillParameter>) => list.toSorted((a, b) => (a.name < b.name ? -1 : 1))
        assert.deepStrictEqual(sorted(Either.getOrThrow(back)), sorted(list))
      })
    )
  })

  it("returns a schema unchanged from its list", () => {
    FastCheck.assert(
      FastCheck.property(object, (schema) => {
        const list = Either.getOrThrow(SkillParameters.fromJsonSchema(schema))
        assert.deepStrictEqual(SkillParameters.toJsonSchema(list), schema)
      })
    )
  })

  it("does not require a parameter with a default, unless it says so", () => {
    const fields = { type: "integer", description: "", default: 1 } as const
    const required = SkillParameters.toJsonSchema([
      { ...fields, name: "a" },
      { ...fields, name: "b", required: true }
    ])["required"]
    assert.deepStrictEqual(required, ["b"])
  })

  it("enforces every constraint", () => {
    const { validate } = Either.getOrThrow(JsonSchemaValidator.compile(SkillParameters.toJsonSchema(full)))
    assert.deepStrictEqual(validate({ city: "Bonn", days: 7, unit: "C", level: 0.5 }), [])
    const bad: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
      ["city", {}],
      ["city", { city: "x".repeat(11) }],
      ["city", { city: 5 }],
      ["days", { city: "a", days: 0 }],
      ["days", { city: "a", days: 8 }],
      ["days", { city: "a", days: 1.5 }],
      ["unit", { city: "a", unit: "K" }],
      ["", { city: "a", other: 1 }]
    ]
    for (const [path, value] of bad) {
      assert.deepStrictEqual(
        validate(value).map((issue) => issue.path),
        [path],
        JSON.stringify(value)
      )
    }
  })

  const foreign: ReadonlyArray<readonly [unknown, string]> = [
    ["text", "no schema"],
    [[], "no schema"],
    [{ type: "string" }, "an object"],
    [{ oneOf: [] }, "oneOf"],
    [{ type: "object", additionalProperties: true }, "further properties"],
    [{ type: "object", patternProperties: {} }, "patternProperties"],
    [{ type: "object", required: ["a"] }, '"a": it is required'],
    [{ properties: { a: true } }, '"a"'],
    [{ properties: { a: {} } }, "the type is not one of"],
    [{ properties: { a: { type: ["string", "null"] } } }, "the type is not one of"],
    [{ properties: { a: { type: "string", pattern: "x" } } }, "pattern"],
    [{ properties: { a: { type: "array", items: {} } } }, "items"],
    [{ properties: { a: { $ref: "#/$defs/b" } }, $defs: {} }, "$ref"],
    [{ properties: { a: { type: "number", exclusiveMinimum: 0 } } }, "exclusiveMinimum"],
    [{ properties: { a: { type: "number", minimum: "0" } } }, "minimum"],
    [{ properties: { a: { type: "string", maxLength: -1 } } }, "maxLength"]
  ]
  for (const [schema, said] of foreign) {
    it(`names what a list cannot express: ${JSON.stringify(schema)}`, () => {
      assert.include(Either.getOrThrow(Either.flip(SkillParameters.fromJsonSchema(schema))).join("; "), said)
    })
  }

  it("ignores annotations, accepts common spellings of types, and reports all issues at once", () => {
    assert.deepStrictEqual(
      SkillParameters.fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        title: "T",
        properties: { a: { type: "Str", title: "A" }, b: { type: "float" } }
      }),
      Either.right([
        { name: "a", type: "string", description: "", required: false },
        { name: "b", type: "number", description: "", required: false }
      ])
    )
    const issues = Either.flip(
      SkillParameters.fromJsonSchema({ anyOf: [], properties: { a: {}, b: { type: "null" } } })
    )
    assert.lengthOf(Either.getOrThrow(issues), 3)
  })

  const contradictions: ReadonlyArray<readonly [Partial<SkillParameters.Given>, string]> = [
    [{ name: " " }, "name"],
    [{ name: "__proto__" }, "name"],
    [{ minValue: 1 }, "for numbers"],
    [{ type: "boolean", maxLength: 1 }, "for strings"],
    [{ type: "number", minValue: 2, maxValue: 1 }, "nothing fits"],
    [{ type: "number", minValue: Number.NaN }, "finite"],
    [{ maxLength: 1.5 }, "whole number"],
    [{ enum: [] }, "empty"],
    [{ enum: ["a", 1] }, "no string"],
    [{ default: 5 }, "default"],
    [{ default: "abc", maxLength: 2 }, "default"],
    [{ enum: ["a"], default: "b" }, "default"],
    [{ type: "integer", maxValue: 3, default: 4 }, "default"]
  ]
  for (const [fields, said] of contradictions) {
    it(`reports a contradiction as a problem of the skill: ${JSON.stringify(fields)}`, () => {
      const parameters: ReadonlyArray<SkillParameters.Given> = [
        { name: "a", type: "string", description: "d", ...fields }
      ]
      const issues = SkillParameters.issues(parameters)
      assert.include(issues.join("; "), said)
      const skill = SkillParameters.toSkill("s", { description: "d", parameters, handler: () => Effect.void })
      assert.isDefined(skill.problem)
    })
  }

  it("rejects two parameters with one name", () => {
    const a = { name: "a", type: "string", description: "" } as const
    assert.match(SkillParameters.issues([a, a]).join(), /two of this name/)
    assert.deepStrictEqual(SkillParameters.issues(full), [])
  })

  it.effect("passes defaults of missing parameters to the handler", () =>
    Effect.gen(function* () {
      const skill = SkillParameters.toSkill("s", {
        description: "d",
        parameters: full,
        permissions: ["weather"],
        requiresConfirmation: ({ days }) => days === 3,
        handler: (params) => Effect.succeed(params)
      })
      assert.isUndefined(skill.problem)
      assert.deepStrictEqual(skill.definition.parametersSchema, schema)
      assert.deepStrictEqual(skill.definition.permissions, ["weather"])
      assert.isTrue(skill.erased.needsConfirmation({ city: "Bonn" }))
      assert.isFalse(skill.erased.needsConfirmation({ city: "Bonn", days: 5 }))
      const call = (params: unknown) =>
        Effect.flatMap(skill.erased.decode(params), (decoded) =>
          skill.erased.handle(decoded, { id: "c1", skillName: "s", attempt: 1 }, () => Effect.die("no composite"))
        )
      assert.deepStrictEqual(yield* call({ city: "Bonn" }), { city: "Bonn", days: 3 })
      assert.deepStrictEqual(yield* call({ city: "Bonn", days: 5 }), { city: "Bonn", days: 5 })
      assert.deepStrictEqual(yield* Effect.flip(call({ city: "Bonn", days: 9 })), ["days: must be <= 7"])
      assert.deepStrictEqual(SkillParameters.withDefaults(full)({ days: 0 }), { days: 0 })
    })
  )
})
