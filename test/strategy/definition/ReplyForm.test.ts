import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as ReplyForm from "../../../src/strategy/definition/ReplyForm.js"
import * as Growth from "../../support/Growth.js"

const Point = Schema.Struct({ x: Schema.Number, y: Schema.NumberFromString })

const json = ReplyForm.make({ name: "point", schema: Point })

const both = ReplyForm.make({
  name: "point",
  schema: Point,
  text: (text) => {
    const found = /^POINT: (\d+) (\d+)/m.exec(text)
    return found === null
      ? Either.left("there is no POINT")
      : Either.right({ x: Number(found[1]), y: Number(found[2]) })
  }
})

const point = { x: 1, y: 2 }

const written = '{"x": 1, "y": "2"}'

describe("ReplyForm", () => {
  it.effect("reads JSON that is bare, fenced, inside a sentence, or nearly valid", () =>
    Effect.gen(function* () {
      for (const form of [json, both]) {
        for (const text of [
          written,
          ` \n${written}\n`,
          `\`\`\`json\n${written}\n\`\`\``,
          `\`\`\`\n${written}\n\`\`\``,
          `Here it is: ${written}. Is that right?`,
          "{'x': 1, 'y': '2',}",
          '{"x": 1, "y": "2"'
        ]) {
          assert.deepStrictEqual(yield* form.read(text), point, text)
        }
      }
    })
  )

  it.effect("decodes by the Schema, and says where a value is wrong", () =>
    Effect.gen(function* () {
      const issues = yield* Effect.flip(json.read('{"x": "far", "y": 2}'))
      assert.include(issues, "x: ")
      assert.include(issues, "y: ")
      assert.strictEqual(yield* Effect.flip(json.read("far away")), "the answer is not JSON")
    })
  )

  it.effect("reads a text form, and describes its issues", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* both.read("POINT: 1 2"), point)
      assert.deepStrictEqual(yield* both.read("It has {braces}.\nPOINT: 1 2"), point)
      assert.strictEqual(yield* Effect.flip(both.read("far away")), "there is no POINT")
      assert.include(yield* Effect.flip(both.read('{"x": "far", "y": "2"}')), "x: ")
      // Brackets are not always JSON.
      assert.deepStrictEqual(yield* both.read("[1] my answer\nPOINT: 1 2"), point)
    })
  )

  it.effect("reads only JSON without a text form", () =>
    Effect.gen(function* () {
      assert.isString(yield* Effect.flip(json.read("POINT: 1 2")))
    })
  )

  it.effect("wraps a value that is not an object in a field, and reads it with or without the field", () =>
    Effect.gen(function* () {
      const list = ReplyForm.make({ name: "list", schema: Schema.Array(Schema.Number) })
      assert.strictEqual(list.jsonSchema["type"], "object")
      assert.deepStrictEqual(yield* list.read("[1, 2]"), [1, 2])
      assert.deepStrictEqual(yield* list.read('{"value": [1, 2]}'), [1, 2])
    })
  )

  it.effect("drops keys that poison prototypes", () =>
    Effect.gen(function* () {
      const open = ReplyForm.make({
        name: "open",
        schema: Schema.Record({ key: Schema.String, value: Schema.Unknown })
      })
      const value = yield* open.read('{"__proto__": {"polluted": true}, "a": 1}')
      assert.deepStrictEqual(Object.keys(value), ["a"])
      assert.notProperty({}, "polluted")
    })
  )

  it("throws on a name that providers reject and on a schema without a JSON Schema", () => {
    for (const name of ["", "a b", "a.b", "é", "x".repeat(65)]) {
      assert.throws(() => ReplyForm.make({ name, schema: Point }), TypeError, "a name is 1 to 64")
    }
    assert.strictEqual(ReplyForm.make({ name: "x".repeat(64), schema: Point }).name.length, 64)
    assert.throws(() => ReplyForm.make({ name: "bad", schema: Schema.BigIntFromSelf }), TypeError, "ReplyForm bad")
  })

  it("ends quickly with a value or an issue for any text", () => {
    const piece = FastCheck.oneof(
      FastCheck.constantFrom("{", "}", "[", "]", '"', "```", "\n", "POINT:", " 1", ":", ",", "\\", "x"),
      FastCheck.string({ maxLength: 4 })
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 60 }), (pieces) => {
        for (const form of [json, both]) {
          const read = Effect.runSync(Effect.either(form.read(pieces.join(""))))
          if (Either.isLeft(read)) assert.isString(read.left)
        }
      }),
      { numRuns: 200 }
    )
    Growth.assertLinearTexts(
      ["{", "[", '{"a":', "`"],
      (text) => Effect.runSync(Effect.either(both.read(text))),
      100_000
    )
  })
})
