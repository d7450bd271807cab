/** An agent that asks another one, whose tool waits for the approval of a person. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Tool from "../../src/tool/definition/Tool.js"

export const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

const payer = Agent.make("payer", { description: "Pays", tools: [pay] })

export const agent = Agent.make("clerk", { tools: [AgentTool.make(payer)] })

/** Hands the conversation over to the other agent. */
export const handing = Agent.make("clerk", { tools: [Handoff.to(payer)] })

/** Pays 5, by the other agent, and tells what came of it. */
export const script = ({ messages, tools = [] }: LlmClient.LlmRequest) => {
  const last = messages.at(-1)
  if (last?.role !== "user") return `Then: ${JSON.stringify(last?.content)}`
  const name = tools[0]?.name ?? ""
  return { calls: [{ name, params: name === "pay" ? { amount: 5 } : { message: "pay 5" } }] }
}
