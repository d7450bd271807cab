import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"

it.effect("without modules every tool is visible to everybody", () =>
  Effect.gen(function* () {
    const graph = yield* ModuleGraph.ModuleGraph
    assert.isTrue(yield* graph.isVisible({}))
    assert.isTrue(yield* graph.isVisible({ caller: "billing", owner: "admin" }))
    assert.isTrue(yield* graph.isVisible({ owner: "admin" }))
  }).pipe(Effect.provide(ModuleGraph.layerNoop))
)
