/**
 * `npm run strategies`: every built-in strategy, its paper, its model roles, its cost on the sample task, and the
 * diagram of its graph. `--no-diagrams` omits the diagrams.
 */
import * as Effect from "effect/Effect"
import { sample as adaptive } from "../examples/strategies/adaptive.js"
import { sample as functionCalling } from "../examples/strategies/function-calling.js"
import { sample as lats } from "../examples/strategies/lats.js"
import { sample as llmCompiler } from "../examples/strategies/llm-compiler.js"
import { sample as planAndSolve } from "../examples/strategies/plan-and-solve.js"
import { sample as planExecute } from "../examples/strategies/plan-execute.js"
import { sample as react } from "../examples/strategies/react.js"
import { sample as reflection } from "../examples/strategies/reflection.js"
import { sample as reflexion } from "../examples/strategies/reflexion.js"
import { sample as rewoo } from "../examples/strategies/rewoo.js"
import { measure, type Sample } from "../examples/strategies/sample.js"
import { sample as selfDiscovery } from "../examples/strategies/self-discovery.js"
import { sample as storm } from "../examples/strategies/storm.js"
import { sample as supervisor } from "../examples/strategies/supervisor.js"
import * as StateGraph from "../src/graph/StateGraph.js"
import * as DefaultPrompts from "../src/prompt/defaults/DefaultPrompts.js"
import * as Adaptive from "../src/strategy/Adaptive.js"
import * as LlmCompiler from "../src/strategy/compiler/LlmCompiler.js"
import * as SelfDiscovery from "../src/strategy/discovery/SelfDiscovery.js"
import * as Lats from "../src/strategy/lats/Lats.js"
import * as FunctionCalling from "../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../src/strategy/loop/ReAct.js"
import * as PlanAndSolve from "../src/strategy/PlanAndSolve.js"
import * as PlanExecute from "../src/strategy/PlanExecute.js"
import * as Reflection from "../src/strategy/Reflection.js"
import * as ReWoo from "../src/strategy/ReWoo.js"
import * as Reflexion from "../src/strategy/reflexion/Reflexion.js"
import * as Storm from "../src/strategy/storm/Storm.js"
import * as Supervisor from "../src/strategy/supervisor/Supervisor.js"

interface About {
  readonly NAME: string
  readonly PAPER?: string
  readonly PATTERN?: string
}

const all: ReadonlyArray<readonly [About, Sample]> = [
  [FunctionCalling, functionCalling],
  [ReAct, react],
  [Reflection, reflection],
  [PlanAndSolve, planAndSolve],
  [PlanExecute, planExecute],
  [Reflexion, reflexion],
  [LlmCompiler, llmCompiler],
  [ReWoo, rewoo],
  [Lats, lats],
  [SelfDiscovery, selfDiscovery],
  [Storm, storm],
  [Supervisor, supervisor],
  [Adaptive, adaptive]
]

const rolesOf = (pattern: string | undefined): ReadonlyArray<string> => {
  const roles = DefaultPrompts.steps.filter((step) => step.pattern === pattern).map((step) => step.role)
  return roles.length === 0 ? ["the agent's own"] : Array.from(new Set(roles))
}

const diagrams = !process.argv.includes("--no-diagrams")

for (const [about, sample] of all) {
  const response = await Effect.runPromise(measure(sample))
  console.log(about.NAME)
  console.log(`  paper        ${about.PAPER ?? "none"}`)
  console.log(`  roles        ${rolesOf(about.PATTERN).join(", ")}`)
  console.log(`  model calls  ${sample.calls} = ${response.modelCalls} here, ${response.toolCalls.length} tool calls`)
  console.log(`  choose it    ${sample.why}`)
  const { graph } = sample.strategy
  if (diagrams && graph !== undefined) {
    const drawn = StateGraph.toMermaid(graph)
    console.log(`\n${drawn.trim().replace(/^/gm, "    ")}`)
  }
  console.log()
}
