import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AllIssues from "../../../src/internal/text/AllIssues.js"

const Point = Schema.Struct({ x: Schema.NumberFromString, y: Schema.NumberFromString })
const paths = (issue: ParseResult.ParseIssue) =>
  ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ path }) => path.join("."))

describe("AllIssues", () => {
  it.effect("decodes valid values synchronously, and names all issues of others", () =>
    Effect.gen(function* () {
      const decode = AllIssues.decoder(Point)
      const fits = decode({ x: "1", y: "2" })
      assert.isTrue(Either.isEither(fits))
      assert.deepStrictEqual(yield* fits, { x: 1, y: 2 })
      assert.deepStrictEqual(paths(yield* Effect.flip(decode({ x: 1, y: null }))), ["x", "y"])
      const encode = AllIssues.encoder(Point)
      assert.deepStrictEqual(yield* encode({ x: 1, y: 2 }), { x: "1", y: "2" })
      assert.deepStrictEqual(paths(yield* Effect.flip(encode({ x: "1", y: "2" }))), ["x", "y"])
    })
  )

  it.effect("runs asynchronous steps of a schema once", () =>
    Effect.gen(function* () {
      let runs = 0
      const Looked = Schema.transformOrFail(Schema.String, Schema.String, {
        strict: true,
        decode: (text) =>
          Effect.as(
            Effect.zipRight(
              Effect.yieldNow(),
              Effect.sync(() => runs++)
            ),
            text
          ),
        encode: ParseResult.succeed
      })
      const effect = AllIssues.decoder(Schema.Struct({ id: Looked }))({ id: "a" })
      assert.isFalse(Either.isEither(effect))
      assert.strictEqual(runs, 0)
      assert.deepStrictEqual(yield* effect, { id: "a" })
      assert.strictEqual(runs, 1)
    })
  )
})
