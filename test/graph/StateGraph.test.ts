import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as StateGraph from "../../src/graph/StateGraph.js"

const Count = Schema.Struct({ n: Schema.Number, log: Schema.Array(Schema.String) })

const counting = StateGraph.unsafeCompile(
  StateGraph.make({
    name: "counting",
    state: Count,
    nodes: {
      add: (state) => Effect.succeed({ n: state.n + 1, log: ["add"] }),
      a: () => Effect.succeed({ log: ["a"] }),
      b: () => Effect.succeed({ log: ["b"] })
    },
    start: "add",
    edges: {
      add: { to: ["add", "a", "b"], when: (state) => (state.n < 3 ? "add" : ["b", "a"]) },
      a: "END",
      b: "END"
    },
    reducers: { log: (current, update) => [...current, ...update] }
  })
)

describe("a run", () => {
  it.effect("loops, branches and merges in the order of the nodes", () =>
    Effect.gen(function* () {
      const end = yield* StateGraph.invoke(counting, { n: 0, log: [] })
      assert.deepStrictEqual(end, { n: 3, log: ["add", "add", "add", "a", "b"] })
    })
  )
})
