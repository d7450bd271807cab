/** Agents of every strategy and of every way to work together, for runs whose process ends at any moment. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as AgentDefinition from "../../src/agent/definition/AgentDefinition.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"
import { call, say } from "./DurableProcesses.js"

/** Whoever counts calls, and ends the process in one of them. */
export interface World {
  readonly call: <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export interface KillScenario {
  readonly name: string
  readonly input: string
  readonly agent: (world: World) => AgentDefinition.Any
  readonly model: (world: World) => LlmClient.Service
  /** Whether a person must approve calls. */
  readonly approves?: boolean
}

const textOf = (message: LlmClient.Message | undefined): string => JSON.stringify(message?.content ?? "")

const counted = (world: World, client: LlmClient.Service): LlmClient.Service => ({
  ...client,
  complete: (request, options) => world.call(`model ${JSON.stringify(request)}`, client.complete(request, options))
})

const model = (
  answer: (request: LlmClient.LlmRequest, results: number) => LlmClient.LlmResponse
): KillScenario["model"] => {
  const client: LlmClient.Service = {
    provider: "test",
    model: "m",
    complete: (request) =>
      Effect.sync(() => answer(request, request.messages.filter(({ role }) => role === "tool").length))
  }
  return (world) => counted(world, client)
}

/** A tool that may run again. */
const look = (world: World, name: string, options: { readonly requiresApproval?: boolean } = {}) =>
  Tool.make(name, {
    description: `Looks at ${name}`,
    parameters: { at: Schema.Number },
    idempotent: true,
    ...options,
    handler: ({ at }) => world.call(`look ${name} ${at}`, Effect.succeed(`${name} ${at}`))
  })

/** A tool that must not run again. */
const pay = (world: World) =>
  Tool.make("pay", {
    description: "Pays",
    parameters: { at: Schema.Number },
    handler: ({ at }) => world.call(`pay ${at}`, Effect.succeed(`paid ${at}`))
  })

const isOf = ({ messages }: LlmClient.LlmRequest, name: string): boolean => textOf(messages[0]).includes(`I am ${name}`)

const parallel: KillScenario = {
  name: "parallel tools",
  input: "Look around",
  agent: (world) => Agent.make("sample", { tools: [look(world, "a"), look(world, "b"), look(world, "c")] }),
  model: model((_request, results) =>
    results < 6 ? call(["a", { at: results }], ["b", { at: results }], ["c", { at: results }]) : say(`seen ${results}`)
  )
}

const payments: KillScenario = {
  name: "payments",
  input: "Pay",
  agent: (world) => Agent.make("sample", { tools: [pay(world), look(world, "a")] }),
  model: model((_request, results) =>
    results < 4 ? call([results % 2 === 0 ? "pay" : "a", { at: results }]) : say(`paid ${results}`)
  )
}

const subAgents: KillScenario = {
  name: "sub-agents",
  input: "Ask the others",
  agent: (world) => {
    const low = Agent.make("low", { system: "I am low", tools: [look(world, "a")] })
    const mid = Agent.make("mid", { system: "I am mid", tools: [AgentTool.make(low), look(world, "b")] })
    return Agent.make("sample", { system: "I am top", tools: [AgentTool.make(mid), AgentTool.make(low)] })
  },
  model: model((request, results) => {
    if (results > 0) return say(`done: ${textOf(request.messages.at(-1)).slice(0, 60)}`)
    if (isOf(request, "low")) return call(["a", { at: 1 }])
    return isOf(request, "mid")
      ? call(["delegate_to_low", { message: "go on" }], ["b", { at: 2 }])
      : call(["delegate_to_mid", { message: "go" }], ["delegate_to_low", { message: "go too" }])
  })
}

const handoffs: KillScenario = {
  name: "handoffs",
  input: "Help me",
  agent: (world) => {
    const billing = Agent.make("billing", { system: "I am billing", tools: [look(world, "b")] })
    return Agent.make("sample", { system: "I am front", tools: [look(world, "a"), Handoff.to(billing)] })
  },
  model: model((request) => {
    const told = JSON.stringify(request.messages)
    if (isOf(request, "billing")) return told.includes("b 2") ? say("billing says 2") : call(["b", { at: 2 }])
    return told.includes("a 1") ? call(["transfer_to_billing", {}]) : call(["a", { at: 1 }])
  })
}

const approvals: KillScenario = {
  name: "approvals",
  input: "May I",
  approves: true,
  agent: (world) => Agent.make("sample", { tools: [look(world, "a", { requiresApproval: true }), look(world, "b")] }),
  model: model((_request, results) =>
    results < 3 ? call([results % 2 === 0 ? "a" : "b", { at: results }]) : say(`allowed ${results}`)
  )
}

const crews: KillScenario = {
  name: "crews",
  input: "Write",
  agent: (world) => {
    const finder = Agent.make("finder", { system: "I am finder", tools: [look(world, "a")] })
    const writer = Agent.make("writer", { system: "I am writer", tools: [look(world, "b")] })
    const crew = Crew.make("sample", {
      agents: [finder, writer],
      process: "parallel",
      tasks: [
        Crew.task("facts", { description: "Collect the facts", agent: "finder" }),
        Crew.task("names", { description: "Collect the names", agent: "finder" }),
        Crew.task("article", { description: "Write it up", agent: "writer", context: ["facts", "names"] })
      ]
    })
    return Crew.asAgent(crew)
  },
  model: model((request, results) => {
    if (results > 0) return say(`found ${textOf(request.messages.at(-1))}`)
    return isOf(request, "finder")
      ? call(["a", { at: textOf(request.messages.at(-1)).includes("names") ? 2 : 1 }])
      : call(["b", { at: 3 }])
  })
}

const strategies = EveryStrategy.samples.map(
  (given): KillScenario => ({
    name: given.name,
    input: given.sample.task,
    agent: () => EveryStrategy.agentOf(given),
    model: (world) =>
      counted(
        world,
        TestModel.make((request) => Effect.succeed(given.sample.model(request)))
      )
  })
)

/** Scenarios with tools that must not run again: a run that is cut off in one may end with that. */
export const paying: ReadonlySet<string> = new Set(["payments", "plan-execute"])

export const scenarios: ReadonlyArray<KillScenario> = [
  ...strategies,
  parallel,
  payments,
  subAgents,
  handoffs,
  approvals,
  crews
]
