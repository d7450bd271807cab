import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { expectTypeOf, test } from "vitest"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { AgentConfigurationError } from "../../../src/agent/definition/AgentError.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import type * as Runs from "../../../src/agent/runs/Runs.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

class Stock extends Context.Tag("Stock")<Stock, { readonly count: Effect.Effect<number> }>() {}

const plain = Agent.make("plain", { system: "plain" })
const keeper = Agent.make("keeper", {
  system: "keeper",
  tools: [Tool.make("count", { description: "Counts", handler: () => Effect.flatMap(Stock, ({ count }) => count) })]
})

test("the layer requires the services of its agents", () => {
  expectTypeOf(LocalRuns.layer({ agents: [plain, keeper] })).toEqualTypeOf<
    Layer.Layer<Runs.Runs, AgentConfigurationError, LocalRuns.Collaborators | Stock>
  >()
  expectTypeOf(LocalRuns.layer({ agents: [plain] })).toEqualTypeOf<
    Layer.Layer<Runs.Runs, AgentConfigurationError, LocalRuns.Collaborators>
  >()
})
