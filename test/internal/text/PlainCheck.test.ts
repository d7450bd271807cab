import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as PlainCheck from "../../../src/internal/text/PlainCheck.js"

const Data = Schema.declare((value): value is object => typeof value === "object" && value !== null)
const Entry = Schema.Struct({
  name: Schema.NonEmptyString,
  size: Schema.optional(Schema.NonNegative),
  tags: Schema.optionalWith(Schema.Array(Schema.Literal("a", "b")), { default: () => [] }),
  data: Schema.optionalWith(Data, { default: () => ({}) })
})

describe("PlainCheck", () => {
  it("accepts exactly the values whose JSON is the value itself", () => {
    const isPlain = PlainCheck.make(Entry)
    const entry = { name: "x", tags: [], data: {} }
    assert.isTrue(isPlain(entry))
    assert.isTrue(isPlain({ ...entry, size: 1, tags: ["b", "a"], data: { deep: [1] } }))
    assert.isTrue(isPlain({ ...entry, size: undefined }))
    for (const other of [
      undefined,
      [],
      { name: "x", tags: [] },
      { ...entry, name: "" },
      { ...entry, size: -1 },
      { ...entry, size: Number.POSITIVE_INFINITY },
      { ...entry, tags: ["c"] },
      { ...entry, tags: undefined },
      { ...entry, tags: new Array(1) },
      { ...entry, data: { toJSON: () => 1 } },
      { ...entry, data: new Date(0) },
      { ...entry, other: 1 },
      Object.create(entry)
    ]) {
      assert.isFalse(isPlain(other))
    }
  })

  it("checks each value of a record by texts", () => {
    const isPlain = PlainCheck.make(Schema.Record({ key: Schema.String, value: Schema.Finite }))
    assert.isTrue(isPlain({}))
    assert.isTrue(isPlain({ a: 1, b: 2 }))
    for (const other of [{ a: "1" }, { a: undefined }, { a: Number.NaN }, [1], new Map()])
      assert.isFalse(isPlain(other))
  })

  it("rejects every value of a schema that it cannot compile", () => {
    const isPlain = PlainCheck.make(Schema.Struct({ at: Schema.Date }))
    assert.isFalse(isPlain({ at: new Date(0) }))
    assert.isFalse(isPlain({ at: "1970-01-01" }))
  })
})
