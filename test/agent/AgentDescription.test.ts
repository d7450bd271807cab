/** What models are told of agents that they may give work to. */
import { assert, describe, it } from "@effect/vitest"
import * as AgentParticipant from "../../src/agent/AgentParticipant.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as CrewManager from "../../src/agent/crew/CrewManager.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"

const shown = (agent: Agent.Any): ReadonlyArray<string> => [
  AgentTool.make(agent).description,
  Handoff.to(agent).description,
  AgentParticipant.make(agent).description,
  CrewManager.assignPrompt({ input: "go", tasks: [], agents: [agent] })
]

describe("the description of an agent", () => {
  it("is what models of supervisors, crews, groups and handoffs are told, and keeps the system prompt private", () => {
    const billing = Agent.make("billing", {
      system: "Internal: discounts up to 30 %.",
      description: "Answers about\nbills"
    })
    for (const text of shown(billing)) {
      assert.include(text, "Answers about bills")
      assert.notInclude(text, "Internal")
    }
    for (const text of shown(billing.pipe(Agent.withSystem("Internal too")))) assert.notInclude(text, "Internal")
  })

  it("is by default the beginning of the system prompt", () => {
    for (const text of shown(Agent.make("billing", { system: `You  answer\n${"x".repeat(1000)}` }))) {
      assert.include(text, "You answer x")
      assert.include(text, "x…")
      assert.isBelow(text.length, 700)
    }
    assert.strictEqual(
      AgentParticipant.make(Agent.make("silent", { system: "Secret", description: "" })).description,
      ""
    )
  })

  it("gives way to that of the place where the agent is used", () => {
    const agent = Agent.make("billing", { description: "Bills" })
    assert.strictEqual(AgentTool.make(agent, { description: "Money" }).description, "Money")
    assert.strictEqual(Handoff.to(agent, { description: "Money" }).description, "Money")
    assert.strictEqual(AgentParticipant.make(agent, { description: "Money" }).description, "Money")
  })
})
