/** What the events of a run hold, under every strategy: neither prompts nor history, and no more with every step. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as NodeUpdate from "../../src/strategy/reasoning/NodeUpdate.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import { cases, succeed } from "./EveryStrategy.js"

const SYSTEM = "canary-system-prompt"
const HISTORY = "canary-history"
const ANSWERED = "canary-earlier-answer"
const MEMORY = "canary-memory"

const remembering: WorkingMemory.Service = {
  ...WorkingMemory.noop,
  assemble: () => Effect.succeed({ entries: [], facts: [MEMORY], tools: [], tokens: 3, report: [] })
}

const history: ReadonlyArray<LlmClient.Message> = [
  { role: "user", content: HISTORY },
  { role: "assistant", content: ANSWERED }
]

const bytes = (events: ReadonlyArray<AgentEvent>) => Buffer.byteLength(JSON.stringify(events))

/** The events from the beginning of each step on. */
const byStep = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<ReadonlyArray<AgentEvent>> => {
  const steps: Array<Array<AgentEvent>> = []
  for (const event of events) {
    if (event._tag === "StepStarted") steps.push([])
    steps.at(-1)?.push(event)
  }
  return steps
}

const note = Tool.make("note", {
  description: "Notes a number",
  parameters: { n: Schema.Number },
  success: Schema.String,
  handler: ({ n }) => Effect.succeed(`noted ${n}`)
})

const STEPS = 20

/** Twenty calls of the tool, each with another number, then an answer. */
const twenty = (strategy: Strategy.Strategy<any, never>, options?: { readonly debug?: boolean | undefined }) =>
  Effect.suspend(() => {
    let n = 0
    const agent = Agent.make("noter", {
      system: SYSTEM,
      strategy,
      tools: [note],
      debugNodeUpdates: options?.debug
    })
    return Effect.map(
      Stream.runCollect(AgentExecutor.stream(agent, { input: "Note them.", history })),
      (events): ReadonlyArray<AgentEvent> => Array.from(events)
    ).pipe(
      Effect.provide(
        Layer.provideMerge(
          Agents.layer({ maxIterations: STEPS + 1 }),
          TestModel.layer(() =>
            ++n > STEPS ? "All noted." : { text: "Next.", calls: [{ name: "note", params: { n } }] }
          )
        )
      )
    )
  })

describe("contents of events", () => {
  for (const given of cases) {
    it.effect(`${given.name} shows no prompt, no memory and no history`, () =>
      Effect.gen(function* () {
        const { events, requests } = yield* succeed(given, {
          history,
          userId: "ada",
          agent: (agent) => agent.pipe(Agent.withSystem(SYSTEM), Agent.withMemory(remembering))
        })
        const sent = JSON.stringify(requests)
        const emitted = JSON.stringify(events)
        for (const canary of [SYSTEM, HISTORY, ANSWERED, MEMORY]) {
          assert.include(sent, canary)
          assert.notInclude(emitted, canary)
        }
        for (const event of events) {
          if (event._tag !== "NodeFinished" || event.node === "compile_report") continue
          assert.isAtMost(Buffer.byteLength(JSON.stringify(event.update)), NodeUpdate.MAX_BYTES, event.node)
        }
      })
    )
  }

  for (const strategy of [ReAct.make(), FunctionCalling.make()]) {
    it.effect(`${strategy.name} shows no more in a later step than in the second`, () =>
      Effect.gen(function* () {
        const steps = byStep(yield* twenty(strategy))
        assert.lengthOf(steps, STEPS + 1)
        const second = bytes(steps[1]!)
        for (const step of steps.slice(2, STEPS)) assert.isAtMost(bytes(step), 1.1 * second)
      })
    )
  }

  it.effect("shows whole updates only where an agent asks for them", () =>
    Effect.gen(function* () {
      const whole = yield* twenty(ReAct.make(), { debug: true })
      const usual = yield* twenty(ReAct.make())
      assert.include(JSON.stringify(whole), SYSTEM)
      assert.notInclude(JSON.stringify(usual), SYSTEM)
      assert.isAbove(bytes(whole), bytes(usual))
    })
  )
})
