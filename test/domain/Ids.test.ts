import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Ids from "../../src/domain/Ids.js"

const accepts = (schema: Schema.Schema<any, string>, text: unknown) =>
  Either.isRight(Schema.decodeUnknownEither(schema)(text))

describe("Ids", () => {
  for (const [name, schema] of Object.entries(Ids)) {
    it(`${name} takes 1 to 256 characters`, () => {
      assert.isTrue(accepts(schema, "a"))
      assert.isTrue(accepts(schema, "b".repeat(256)))
      assert.isTrue(accepts(schema, "with spaces, ünïcode / and 👍"))
      assert.isFalse(accepts(schema, ""))
      assert.isFalse(accepts(schema, "b".repeat(257)))
      assert.isFalse(accepts(schema, 1))
    })

    it(`${name} takes no control characters`, () => {
      for (const code of [0, 9, 10, 13, 27, 31, 127, 128, 159]) {
        assert.isFalse(accepts(schema, `a${String.fromCharCode(code)}b`), String(code))
        assert.isFalse(accepts(schema, `a${String.fromCharCode(code)}`), String(code))
      }
      for (const code of [32, 126, 160]) assert.isTrue(accepts(schema, `a${String.fromCharCode(code)}b`), String(code))
    })
  }
})
