import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as JsonShapeGuard from "../../src/guard/JsonShapeGuard.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Growth from "../support/Growth.js"

const shape = Schema.Struct({ score: Schema.NumberFromString, tags: Schema.Array(Schema.String) })

const check = (options: JsonShapeGuard.Options | undefined, text: string) =>
  Effect.map(JsonShapeGuard.make(options).check(text, { stage: "output" }), (result) =>
    result.action === "redact" ? result.redactedContent : [result.action, result.details.reason]
  )

describe("JsonShapeGuard", () => {
  it.effect("passes JSON that matches the encoded side of a schema", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check({ shape }, ' {"score": "1", "tags": []} '), ["pass", undefined])
      assert.deepStrictEqual(yield* check({ shape }, '{"score": 1, "tags": []}'), ["block", "does not match the shape"])
    })
  )

  it.effect("accepts any JSON without a shape", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check(undefined, "[1]"), ["pass", undefined])
      assert.deepStrictEqual(yield* check({ repair: false }, "no JSON"), ["block", "not valid JSON"])
    })
  )

  it.effect("accepts a predicate as the shape", () =>
    Effect.gen(function* () {
      const even = (value: unknown) => typeof value === "number" && value % 2 === 0
      assert.deepStrictEqual(yield* check({ shape: even }, "2"), ["pass", undefined])
      assert.deepStrictEqual(yield* check({ shape: even }, "3"), ["block", "does not match the shape"])
    })
  )

  it.effect("repairs malformed JSON unless disabled", () =>
    Effect.gen(function* () {
      const text = "```json\n{'score': '1', tags: ['a',]}\n```"
      assert.strictEqual(yield* check({ shape }, text), '{"score":"1","tags":["a"]}')
      assert.deepStrictEqual(yield* check({ shape, repair: false }, text), ["block", "not valid JSON"])
      assert.deepStrictEqual(yield* check({ shape }, "{'score': 1}"), ["block", "does not match the shape"])
    })
  )

  it.effect("can only warn", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* check({ shape, action: "warn" }, "{}"), ["warn", "does not match the shape"])
      assert.deepStrictEqual(yield* check({ action: "warn", repair: false }, "{"), ["warn", "not valid JSON"])
    })
  )

  it.effect("reports nothing of the text", () =>
    Effect.gen(function* () {
      for (const text of ['{"score": "psst", "tags": [], "psst": 1}', "psst psst {", '{"psst"']) {
        const result = yield* JsonShapeGuard.make({ shape, repair: false }).check(text, { stage: "output" })
        assert.notInclude(JSON.stringify(result), "psst")
      }
    })
  )

  it.effect("rejects hostile texts in linear time", () =>
    Growth.assertLinearTextsEffect(
      ["[", '"', '{"a":'],
      (text) => Effect.map(check({ shape }, text), ([action]) => assert.strictEqual(action, "block")),
      30_000
    )
  )

  it.effect("needs the whole answer, and runs at configured stages", () =>
    Effect.gen(function* () {
      assert.isUndefined((yield* DefaultGuardPipeline.fromGuards([JsonShapeGuard.make()])).openOutput)
      const guard = JsonShapeGuard.make({ stages: ["toolInput"], name: "parameters" })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([guard])
      assert.isDefined(pipeline.openOutput)
      const result = yield* pipeline.checkToolInput("<xml/>", { toolName: "t" })
      assert.strictEqual(result.results[0]?.guardName, "parameters")
    })
  )
})
