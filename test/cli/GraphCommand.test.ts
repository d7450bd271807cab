import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as BuiltInStrategies from "../../src/strategy/BuiltInStrategies.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as Commands from "../support/Commands.js"

describe("lexigram graph", () => {
  it.live("lists the strategies, and says which have no graph", () =>
    Effect.gen(function* () {
      const { json } = yield* Commands.run(["graph", "--json"])
      const names = json.strategies.map(({ name }: { name: string }) => name)
      assert.deepStrictEqual(names, Object.keys(BuiltInStrategies.loaders).sort())
      const text = yield* Commands.run(["graph"])
      assert.include(text.out, "function_calling  (no graph)\n")
      assert.include(text.out, "react\n")
    })
  )

  it.live("draws every strategy that has a graph", () =>
    Effect.gen(function* () {
      const graph = ReAct.make({}).graph
      if (graph === undefined) return assert.fail("ReAct has a graph")
      const react = yield* Commands.run(["graph", "react"])
      assert.strictEqual(react.out.trimEnd(), StateGraph.toMermaid(graph).trimEnd())
      const { json } = yield* Commands.run(["graph", "--json"])
      for (const { hasGraph, name } of json.strategies) {
        const drawn = yield* Commands.run(["graph", name, "--json"])
        assert.strictEqual(drawn.code, hasGraph ? 0 : 4, name)
        if (hasGraph) assert.match(drawn.json.mermaid, /^flowchart /)
      }
    })
  )

  it.live("knows no others", () =>
    Effect.gen(function* () {
      const near = yield* Commands.run(["graph", "reakt"])
      assert.strictEqual(near.code, 4)
      assert.include(near.err, "Did you mean react?")
      for (const name of ["__proto__", "constructor", "a\u001b[2J".repeat(100)]) {
        const ended = yield* Commands.run(["graph", name])
        assert.strictEqual(ended.code, 4)
        assert.notInclude(ended.err, "\u001b")
      }
    })
  )
})
