import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tool from "../../../src/tool/definition/Tool.js"

class DbDown extends Data.TaggedError("DbDown")<{}> {}
class NoRow extends Data.TaggedError("NoRow")<{}> {}
class Place extends Schema.Class<Place>("test/Tool/Place")({ lat: Schema.Number, lon: Schema.Number }) {}
class Tree extends Schema.Class<Tree>("test/Tool/Tree")({
  kids: Schema.Array(Schema.suspend((): Schema.Schema<Tree, any> => Tree))
}) {}

const decode = (tool: Tool.Any, args: unknown) => Effect.runSync(Effect.either(tool.erased.decode(args)))
const failing = Tool.make("db", {
  description: "d",
  handler: () => Effect.fail(new DbDown()) as Effect.Effect<number, DbDown | NoRow>
})

describe("Tool.make", () => {
  it("shows fields to the model as an object schema with descriptions", () => {
    const tool = Tool.make("weather", {
      description: "The weather of a city",
      parameters: {
        city: Schema.String.annotations({ description: "Name of the city" }),
        days: Schema.optional(Schema.Number)
      },
      handler: () => Effect.void
    })
    assert.deepStrictEqual(tool.parameters, {
      type: "object",
      required: ["city"],
      properties: { city: { type: "string", description: "Name of the city" }, days: { type: "number" } },
      additionalProperties: false
    })
    assert.isUndefined(tool.problem)
  })

  it("inlines classes as objects, and defines recursive ones", () => {
    const flat = Tool.make("go", { description: "d", parameters: Place, handler: () => Effect.void })
    assert.strictEqual(flat.parameters["type"], "object")
    assert.notProperty(flat.parameters, "$ref")
    const decoded = decode(flat, { lat: 1, lon: 2 })
    assert.isTrue(Either.isRight(decoded) && decoded.right instanceof Place)
    const nested = Tool.make("trip", {
      description: "d",
      parameters: { from: Place, to: Place },
      handler: () => Effect.void
    })
    assert.strictEqual(nested.parameters["type"], "object")
    const { from } = nested.parameters["properties"] as { readonly from: { readonly required: unknown } }
    assert.deepStrictEqual(from.required, ["lat", "lon"])
    assert.notProperty(nested.parameters, "$defs")
    const tree = Tool.make("tree", { description: "d", parameters: Tree, handler: () => Effect.void })
    assert.isUndefined(tree.problem)
    assert.strictEqual(tree.parameters["type"], "object")
    assert.property(tree.parameters, "$defs")
    // What one definition refers to must be there.
    const compiled = Tool.fromJsonSchema("tree", {
      description: "d",
      parameters: tree.parameters,
      handler: () => Effect.void
    })
    assert.isTrue(Either.isRight(compiled))
  })

  it("makes an object of a union of structs", () => {
    const tool = Tool.make("either", {
      description: "d",
      parameters: Schema.Union(Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })),
      handler: () => Effect.void
    })
    assert.isUndefined(tool.problem)
    assert.strictEqual(tool.parameters["type"], "object")
  })

  it("accepts an empty object for a tool without parameters and passes nothing else on", () => {
    for (const parameters of [undefined, {}]) {
      const tool = Tool.make("now", { description: "d", parameters, handler: () => Effect.void })
      assert.deepStrictEqual(tool.parameters, { type: "object", properties: {}, additionalProperties: false })
      for (const args of [{}, { x: 1 }, [1], "x", 5]) assert.deepStrictEqual(decode(tool, args), Either.right({}))
    }
  })

  it("drops unknown fields, including __proto__, and fills in defaults", () => {
    const tool = Tool.make("list", {
      description: "d",
      parameters: { page: Schema.optionalWith(Schema.Number, { default: () => 1 }) },
      handler: () => Effect.void
    })
    const decoded = Either.getOrThrow(decode(tool, JSON.parse('{"x": 2, "__proto__": {"admin": true}}')))
    assert.deepStrictEqual(decoded, { page: 1 })
    assert.isFalse("admin" in (decoded as object))
    assert.deepStrictEqual(tool.erased.encodeParams(decoded), { page: 1 })
  })

  it("reports all issues with their paths", () => {
    const tool = Tool.make("mail", {
      description: "d",
      parameters: { to: Schema.Array(Schema.String), subject: Schema.String },
      handler: () => Effect.void
    })
    const decoded = decode(tool, { to: ["a", 1] })
    if (Either.isRight(decoded)) return assert.fail("the arguments fit")
    assert.sameMembers(
      decoded.left.map((issue) => issue.path),
      ["to.1", "subject"]
    )
  })

  it("reports an invalid definition as a problem, not an exception", () => {
    const problem = (name: string, description: string, parameters?: Tool.Parameters) =>
      Tool.make(name, { description, parameters, handler: () => Effect.void }).problem
    assert.strictEqual(problem("", "d")?.code, "LEX_ERR_AGT_102")
    assert.include(problem(" ", "d")?.message, "empty name")
    assert.include(problem("a", " ")?.message, "no description")
    assert.include(problem("a", "d", Schema.String)?.message, "not an object")
    assert.include(problem("a", "d", { at: Schema.instanceOf(Map) })?.message, "no JSON Schema")
    assert.isUndefined(problem("a", "d", { at: Schema.Date }))
  })

  it("makes failures fatal by option or by tag, data-first and in a pipe", () => {
    const isFatal = (tool: Tool.Any, error: unknown) => tool.erased.isFatal(error)
    assert.isFalse(isFatal(failing, new DbDown()))
    const all = Tool.make("db", { description: "d", fatal: true, handler: () => Effect.fail(new DbDown()) })
    assert.isTrue(isFatal(all, new DbDown()))
    for (const tool of [Tool.failOn(failing, "DbDown"), failing.pipe(Tool.failOn("DbDown"))]) {
      assert.isTrue(isFatal(tool, new DbDown()))
      assert.isFalse(isFatal(tool, new NoRow()))
      for (const odd of [undefined, null, "DbDown", {}]) assert.isFalse(isFatal(tool, odd))
    }
    const twice = failing.pipe(Tool.failOn("DbDown"), Tool.failOn("NoRow"))
    assert.isTrue(isFatal(twice, new DbDown()) && isFatal(twice, new NoRow()))
    assert.isFalse(isFatal(failing, new NoRow()))
  })

  it("replaces annotations field by field, without changing the original", () => {
    const tool = Tool.make("t", {
      description: "d",
      timeout: "1 second",
      owner: "a",
      onUnknown: "ask",
      handler: () => Effect.void
    })
    const changed = tool.pipe(Tool.annotate({ retries: 2, owner: "b" }))
    assert.deepStrictEqual(changed.annotations, {
      timeout: "1 second",
      retries: 2,
      idempotent: undefined,
      readOnly: undefined,
      onUnknown: "ask",
      polling: undefined,
      secretParams: undefined,
      owner: "b"
    })
    assert.strictEqual(tool.annotations.owner, "a")
    assert.isTrue(Tool.isTool(changed))
    assert.strictEqual(Tool.annotate(tool, { idempotent: true }).annotations.idempotent, true)
    const harmless = Tool.annotate(tool, { readOnly: true, polling: true })
    const after = Tool.annotate(harmless, { owner: "b" }).annotations
    assert.deepInclude(after, { readOnly: true, polling: true, idempotent: true })
  })

  it("adds approval, always or by the arguments", () => {
    const tool = Tool.make("rm", { description: "d", parameters: { path: Schema.String }, handler: () => Effect.void })
    const asks = (tool: Tool.Any, path: string) => tool.erased.requiresApproval({ path })
    assert.isFalse(asks(tool, "/"))
    assert.isTrue(asks(tool.pipe(Tool.withApproval(true)), "/"))
    const careful = Tool.withApproval(tool, ({ path }) => path === "/")
    assert.isTrue(asks(careful, "/"))
    assert.isFalse(asks(careful, "/tmp"))
    assert.isFalse(asks(Tool.withApproval(careful, false), "/"))
  })
})

describe("Tool.fromJsonSchema", () => {
  const make = (parameters: unknown, name = "raw", description = "d") =>
    Tool.fromJsonSchema(name, { description, parameters, handler: (params) => Effect.succeed(params) })

  it("passes valid arguments on unchanged", () => {
    const tool = Either.getOrThrow(make({ properties: { n: { type: "integer" } }, required: ["n"] }))
    const args = { n: 1, other: [true] }
    assert.strictEqual(Either.getOrThrow(decode(tool, args)), args)
    assert.deepStrictEqual(decode(tool, {}), Either.left([{ path: "n", message: "is missing" }]))
    assert.strictEqual(tool.erased.encodeParams(args), args)
  })

  it("returns a typed error that names the tool for an unusable schema", () => {
    for (const [parameters, said] of [
      [{ properties: { a: { $ref: "https://example.com/a.json" } } }, "can't resolve"],
      [{ type: "string" }, "not"],
      [{ properties: { a: { minLength: -1 } } }, "minLength"]
    ] as const) {
      const made = make(parameters)
      if (Either.isRight(made)) return assert.fail("the schema compiled")
      assert.strictEqual(made.left._tag, "ToolDefinitionError")
      assert.strictEqual(made.left.toolName, "raw")
      assert.include(made.left.message, said)
    }
    assert.isTrue(Either.isLeft(make({}, "")))
  })

  it("uses the name as the default description", () => {
    assert.strictEqual(Either.getOrThrow(make({}, "raw", " ")).description, "raw")
  })

  it("encodes results and failures by the given schemas", () => {
    const tool = Either.getOrThrow(
      Tool.fromJsonSchema("raw", {
        description: "d",
        parameters: {},
        success: Schema.Struct({ at: Schema.Date }),
        failure: Schema.Struct({ left: Schema.Number }),
        handler: () => Effect.fail({ left: 1 }) as Effect.Effect<{ readonly at: Date }, { readonly left: number }>
      })
    )
    assert.deepStrictEqual(Effect.runSync(tool.erased.encode({ at: new Date(0) })), { at: "1970-01-01T00:00:00.000Z" })
    assert.deepStrictEqual(tool.erased.encodeFailure({ left: 1 }), { left: 1 })
    assert.isUndefined(tool.erased.encodeFailure({ other: 1 }))
  })
})

describe("Tool.isConnectionFailure", () => {
  it("recognizes connection codes in any cause, transport errors, sockets, and retryable errors", () => {
    const cut = Object.assign(new Error("x"), { code: "ECONNRESET" })
    for (const error of [
      cut,
      new TypeError("fetch failed", { cause: cut }),
      { _tag: "RequestError", reason: "Transport" },
      { _tag: "SocketError" },
      { isRetryable: true }
    ]) {
      assert.isTrue(Tool.isConnectionFailure(error))
    }
  })

  it("recognizes nothing else, and ends on circular causes", () => {
    const loop: { cause?: unknown } = {}
    loop.cause = loop
    for (const error of [
      new Error("ECONNRESET"),
      { code: "ENOENT" },
      { _tag: "RequestError", reason: "Decode" },
      { _tag: "ResponseError" },
      { _tag: "TimeoutException" },
      loop,
      null,
      "ECONNRESET"
    ]) {
      assert.isFalse(Tool.isConnectionFailure(error))
    }
  })
})
