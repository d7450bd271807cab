import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as StormReplies from "../../../src/strategy/storm/StormReplies.js"

const read = <A>(form: { readonly read: (text: string) => Effect.Effect<A, string> }, text: string) =>
  Effect.runSync(form.read(text))

const wrong = <A>(form: { readonly read: (text: string) => Effect.Effect<A, string> }, text: string) =>
  Effect.runSync(Effect.flip(form.read(text)))

describe("StormReplies", () => {
  it("takes numbered and bulleted lists where no line has its marker", () => {
    for (const text of ["1. wind power\n2) solar power", "Here they are:\n- wind power\n* solar power\n\nEnjoy!"]) {
      assert.deepStrictEqual(read(StormReplies.queries(5), text), ["wind power", "solar power"])
      assert.deepStrictEqual(read(StormReplies.topics("Energy", 5), text), ["wind power", "solar power"])
    }
    assert.deepStrictEqual(
      read(StormReplies.perspectives([], 5), "1. **Historian**: where it comes from\n2. Engineer - how it works"),
      [
        { name: "Historian", description: "where it comes from" },
        { name: "Engineer", description: "how it works" }
      ]
    )
  })

  it("takes only marked lines where there are any", () => {
    assert.deepStrictEqual(read(StormReplies.queries(5), "- I would ask\nQUERY: wind\n1. no"), ["wind"])
  })

  it("rejects prose, and keeps its bounds", () => {
    assert.include(wrong(StormReplies.queries(5), "I would look for wind - and so on, 1. of all."), "QUERY:")
    assert.lengthOf(read(StormReplies.queries(2), "- a1\n- b2\n- c3"), 2)
  })
})
