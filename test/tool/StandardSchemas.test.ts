import { asSchema } from "@ai-sdk/provider-utils"
import { assert, describe, it } from "@effect/vitest"
import { type } from "arktype"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { z } from "zod"
import * as Tool from "../../src/tool/definition/Tool.js"
import { orders } from "../support/StandardSchemas.js"
import { call, layer, run } from "./RecordedRun.js"

type Json = Readonly<Record<string, any>>

const decode = (tool: Tool.Any, args: unknown) => Effect.either(tool.erased.decode(args))
const issuesOf = (tool: Tool.Any, args: unknown) => Effect.flip(tool.erased.decode(args))
const card = { kind: "card", number: "1" }
const due = "2026-01-02T00:00:00.000Z"

const parsed = (text: string): unknown => JSON.parse(text)

for (const [library, { described, schema }] of Object.entries(orders)) {
  const tool = Tool.make("order", {
    description: "Places an order",
    parameters: schema,
    parametersJsonSchema: described,
    handler: (order) => Effect.succeed(order)
  })

  describe(`parameters of ${library}`, () => {
    it("shows models what they are to write, with descriptions", () => {
      assert.isUndefined(tool.problem)
      const { properties, required, type } = tool.parameters as Json
      assert.strictEqual(type, "object")
      assert.strictEqual(properties.customer.properties.name.description, "Name of the customer")
      assert.deepStrictEqual(properties.customer.required, ["name"])
      assert.sameMembers(required, ["customer", "payment", "due"])
      assert.strictEqual(properties.due.type ?? "string", "string")
      assert.lengthOf(properties.payment.oneOf ?? properties.payment.anyOf, 2)
      assert.notProperty(tool.parameters, "$schema")
    })

    it.effect("decodes nested fields, fills in defaults and transforms", () =>
      Effect.gen(function* () {
        const value = yield* decode(tool, { customer: { name: "Ada", note: "hi" }, payment: card, due })
        assert.deepStrictEqual(Either.getOrThrow(value) as Json, {
          customer: { name: "Ada", note: "hi" },
          payment: card,
          count: 1,
          due: new Date(due)
        })
        const cash = yield* decode(tool, { customer: { name: "Ada" }, payment: { kind: "cash" }, count: 3, due })
        assert.deepInclude(Either.getOrThrow(cash) as Json, { count: 3, payment: { kind: "cash" } })
      })
    )

    it.effect("reports the path of each issue, also of checks that wait", () =>
      Effect.gen(function* () {
        const wrong = yield* issuesOf(tool, { customer: { name: 1 }, payment: card, count: "x", due })
        assert.deepStrictEqual(new Set(wrong.map(({ path }) => path)), new Set(["customer.name", "count"]))
        const nobody = yield* issuesOf(tool, { customer: { name: "nobody" }, payment: card, due })
        assert.deepStrictEqual(
          nobody.map(({ path }) => path),
          ["customer.name"]
        )
        assert.include(nobody[0]?.message ?? "", "nobody of that name")
        const payment = yield* issuesOf(tool, { customer: { name: "Ada" }, payment: { kind: "gold" }, due })
        assert.isTrue(payment.every(({ path }) => path.startsWith("payment")))
      })
    )

    it.effect("refuses hostile values without a defect and leaves prototypes alone", () =>
      Effect.gen(function* () {
        const polluted = `{"__proto__":{"evil":1},"customer":{"name":"Ada","__proto__":{"evil":1}},"payment":{"kind":"cash"},"due":"${due}"}`
        const value = yield* decode(tool, parsed(polluted))
        if (Either.isRight(value)) assert.notProperty((value.right as Json)["customer"], "evil")
        assert.notProperty({}, "evil")
        const nested = parsed(`${'{"customer":'.repeat(5000)}1${"}".repeat(5000)}`)
        for (const hostile of [
          nested,
          [],
          null,
          1,
          "x".repeat(1_000_000),
          { customer: { name: ["x".repeat(1_000_000)] } }
        ])
          assert.isTrue(Either.isLeft(yield* decode(tool, hostile)))
        const long = { customer: { name: "x".repeat(1_000_000) }, payment: card, due }
        assert.isTrue(Either.isRight(yield* decode(tool, long)))
      })
    )

    it.effect("fails a call with the error of Effect Schemas", () =>
      Effect.gen(function* () {
        const given = { customer: { name: 1 }, payment: card, due }
        const outcome = yield* run(tool, call("order", given))
        assert.isTrue(outcome.isFailure)
        assert.strictEqual(outcome.error?.tag, "ToolValidationError")
        assert.include(outcome.observation, "customer.name")
      }).pipe(Effect.provide(layer()))
    )
  })
}

describe("a Standard Schema", () => {
  const describing = { description: "d" }

  it.effect("that is a function, or has no asynchronous step, decodes at once", () =>
    Effect.gen(function* () {
      const tool = Tool.make("t", {
        ...describing,
        parameters: type({ n: "string.integer.parse" }),
        handler: ({ n }) => Effect.succeed(n + 1)
      })
      assert.deepStrictEqual(Effect.runSync(tool.erased.decode({ n: "4" })), { n: 4 })
      assert.isTrue(Either.isLeft(yield* decode(tool, { n: "x" })))
    })
  )

  it("without a description of itself makes the tool unusable, and says what to do", () => {
    const tool = Tool.make("t", {
      ...describing,
      parameters: v.object({ n: v.number() }),
      handler: ({ n }) => Effect.succeed(n)
    })
    assert.deepInclude({ ...tool.problem }, { _tag: "ToolDefinitionError", toolName: "t" })
    assert.match(tool.problem?.message ?? "", /schema of valibot does not implement Standard JSON Schema/)
    assert.match(tool.problem?.hint ?? "", /parametersJsonSchema/)
  })

  it("with a part that JSON cannot express makes the tool unusable, unless its JSON Schema is given", () => {
    const parameters = z.object({ at: z.date() })
    const handler = () => Effect.void
    assert.match(
      Tool.make("t", { ...describing, parameters, handler }).problem?.message ?? "",
      /zod cannot describe it/
    )
    const parametersJsonSchema = { type: "object", properties: { at: { type: "string" } } }
    const described = Tool.make("t", { ...describing, parameters, parametersJsonSchema, handler })
    assert.isUndefined(described.problem)
    assert.deepStrictEqual(described.parameters, parametersJsonSchema)
  })

  it("that describes no object makes the tool unusable", () => {
    const tool = Tool.make("t", { ...describing, parameters: z.string(), handler: () => Effect.void })
    assert.match(tool.problem?.message ?? "", /parameters are an object, not "string"/)
  })

  it("may be a union of objects", () => {
    const parameters = z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])
    const tool = Tool.make("t", { ...describing, parameters, handler: () => Effect.void })
    assert.isUndefined(tool.problem)
    assert.strictEqual(tool.parameters["type"], "object")
  })

  it("is described by the other draft where it refuses the newer one", () => {
    const targets: Array<string> = []
    const parameters = {
      "~standard": {
        version: 1 as const,
        vendor: "own",
        validate: (value: unknown) => ({ value }),
        jsonSchema: {
          input: ({ target }: { readonly target: string }) => {
            targets.push(target)
            if (target !== "draft-07") throw new Error("no")
            return { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: {} }
          }
        }
      }
    }
    const tool = Tool.make("t", { ...describing, parameters, handler: () => Effect.void })
    assert.deepStrictEqual(targets, ["draft-2020-12", "draft-07"])
    assert.deepStrictEqual(tool.parameters, { type: "object", properties: {} })
  })

  it.effect("that throws or rejects reports an issue, and is asked once for each value", () =>
    Effect.gen(function* () {
      let asked = 0
      const toolOf = (validate: () => any) =>
        Tool.make("t", {
          ...describing,
          parameters: { "~standard": { version: 1 as const, vendor: "own", validate } },
          parametersJsonSchema: { type: "object" },
          handler: () => Effect.void
        })
      const thrower = toolOf(() => {
        asked++
        throw new Error("broken")
      })
      assert.deepStrictEqual(yield* issuesOf(thrower, {}), [{ path: "", message: "cannot be checked: broken" }])
      assert.deepStrictEqual(
        yield* issuesOf(
          toolOf(() => Promise.reject("late")),
          {}
        ),
        [{ path: "", message: "cannot be checked: late" }]
      )
      assert.isTrue(
        Either.isLeft(
          yield* decode(
            toolOf(() => undefined),
            {}
          )
        )
      )
      assert.isTrue(
        Either.isLeft(
          yield* decode(
            toolOf(() => Promise.resolve(null)),
            {}
          )
        )
      )
      assert.strictEqual(asked, 1)
      const odd = toolOf(() => ({ issues: [{ message: "m", path: [{ key: "a" }, 0, Symbol.for("s")] }] }))
      assert.deepStrictEqual(yield* issuesOf(odd, {}), [{ path: "a.0.Symbol(s)", message: "m" }])
    })
  )

  it.effect("validates a result, and the model reads its output", () =>
    Effect.gen(function* () {
      const success = z.object({ celsius: z.number().transform((n) => `${n} °C`) })
      const toolOf = (celsius: number) =>
        Tool.make("t", { ...describing, success, handler: () => Effect.succeed({ celsius, secret: 1 }) })
      assert.deepStrictEqual((yield* run(toolOf(7), call("t", {}))).result, { celsius: "7 °C" })
      const wrong = yield* run(toolOf("x" as unknown as number), call("t", {}))
      assert.isTrue(wrong.isFailure)
      assert.include(wrong.observation, "celsius: ")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("that leaves out a field accepts null for it, as models write it", () =>
    Effect.gen(function* () {
      const tool = Tool.make("t", {
        ...describing,
        parameters: z.object({ a: z.string(), b: z.string().optional() }),
        handler: (params) => Effect.succeed(params)
      })
      assert.deepStrictEqual((yield* run(tool, call("t", { a: "x", b: null }))).result, { a: "x" })
    }).pipe(Effect.provide(layer()))
  )

  it("of Zod is described as the AI SDK describes it", async () => {
    const schema = z.object({
      city: z.string().describe("Name of the city"),
      days: z.number().int().min(1).default(3),
      unit: z.enum(["c", "f"]).optional(),
      place: z.union([z.object({ lat: z.number(), lon: z.number() }), z.null()]),
      tags: z.array(z.string()).max(4)
    })
    const theirs = { ...((await asSchema(schema).jsonSchema) as Json) }
    const ours = Tool.make("t", { ...describing, parameters: schema, handler: () => Effect.void }).parameters
    assert.isString(theirs["$schema"])
    const { $schema: _, ...body } = theirs
    assert.deepStrictEqual(withoutClosing(ours), withoutClosing(body))
  })
})

/** The AI SDK closes all objects, which Zod itself leaves open in what it accepts. */
const withoutClosing = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === "additionalProperties" && value === false ? undefined : value
  )

describe("parametersJsonSchema", () => {
  it("replaces the description of an Effect Schema", () => {
    const parametersJsonSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
    const parameters = { n: Schema.Number }
    const tool = Tool.make("t", { description: "d", parameters, parametersJsonSchema, handler: () => Effect.void })
    assert.deepStrictEqual(tool.parameters, parametersJsonSchema)
  })

  it("that does not compile, or describes no parameters, makes the tool unusable", () => {
    const broken = { type: "object", properties: { n: { $ref: "#/nowhere" } } }
    const parameters = { n: Schema.Number }
    const handler = () => Effect.void
    const unusable = Tool.make("t", { description: "d", parameters, parametersJsonSchema: broken, handler })
    assert.match(unusable.problem?.message ?? "", /cannot be used/)
    const alone = Tool.make("t", { description: "d", parametersJsonSchema: { type: "object" }, handler })
    assert.match(alone.problem?.hint ?? "", /fromJsonSchema/)
  })
})
