import { assert, describe, it } from "@effect/vitest"
import * as Telemetry from "../../src/observability/Telemetry.js"

const collect = (f: (set: (key: string, value: unknown) => void) => void): Record<string, unknown> => {
  const result: Record<string, unknown> = {}
  f((key, value) => {
    result[key] = value
  })
  return result
}

const { attribute } = Telemetry

describe("Telemetry", () => {
  const made = {
    execute: Telemetry.execute({ agent: "a", messageLength: 3, sessionId: "s" }),
    llm: Telemetry.llm({ agent: "a", iteration: 2, provider: "openai" }),
    llmRequest: collect((set) => Telemetry.llmRequest({ model: "m", temperature: 0, maxTokens: 5 }, set)),
    llmResponse: collect((set) =>
      Telemetry.llmResponse(
        { id: "i", model: "m", finishReason: "stop", usage: { inputTokens: 0, outputTokens: 2 } },
        set
      )
    ),
    tool: Telemetry.tool({ agent: "a", tool: "t", callId: "c" })
  }

  it("every key that is written out is one of the constants", () => {
    const functions = Object.entries(Telemetry).filter(([, value]) => typeof value === "function")
    assert.deepStrictEqual(functions.map(([name]) => name).sort(), Object.keys(made).sort())
    const known = new Set<string>(Object.values(attribute))
    for (const [name, attributes] of Object.entries(made)) {
      for (const key of Object.keys(attributes)) assert.isTrue(known.has(key), `${name}: ${key}`)
    }
  })

  it("holds the values under their names", () => {
    assert.deepStrictEqual(made, {
      execute: {
        [attribute.agentName]: "a",
        [attribute.messageLength]: 3,
        [attribute.genAiOperation]: "invoke_agent",
        [attribute.genAiAgentName]: "a",
        [attribute.sessionId]: "s",
        [attribute.genAiConversationId]: "s"
      },
      llm: {
        [attribute.agentName]: "a",
        [attribute.iteration]: 2,
        [attribute.genAiOperation]: "chat",
        [attribute.genAiProvider]: "openai"
      },
      llmRequest: {
        [attribute.genAiRequestModel]: "m",
        [attribute.genAiRequestTemperature]: 0,
        [attribute.genAiRequestMaxTokens]: 5
      },
      llmResponse: {
        [attribute.genAiFinishReasons]: ["stop"],
        [attribute.genAiResponseModel]: "m",
        [attribute.genAiResponseId]: "i",
        [attribute.genAiInputTokens]: 0,
        [attribute.genAiOutputTokens]: 2
      },
      tool: {
        [attribute.agentName]: "a",
        [attribute.toolName]: "t",
        [attribute.genAiOperation]: "execute_tool",
        [attribute.genAiToolName]: "t",
        [attribute.genAiToolCallId]: "c",
        [attribute.genAiToolType]: "function"
      }
    })
  })

  it("leaves out what is not known", () => {
    assert.notProperty(Telemetry.execute({ agent: "a", messageLength: 3 }), attribute.sessionId)
    assert.deepStrictEqual(
      collect((set) => Telemetry.llmRequest({}, set)),
      {}
    )
    assert.deepStrictEqual(
      Object.keys(collect((set) => Telemetry.llmResponse({ finishReason: "stop", usage: {} }, set))),
      [attribute.genAiFinishReasons]
    )
  })

  it("names of spans and attributes are the published ones, each once", () => {
    assert.deepStrictEqual(
      [Telemetry.SPAN_AGENT_EXECUTE, Telemetry.SPAN_AGENT_TOOL, Telemetry.SPAN_AGENT_LLM],
      ["agent.execute", "agent.tool", "agent.llm"]
    )
    const names = Object.values(attribute)
    assert.strictEqual(new Set(names).size, names.length)
    assert.includeMembers(names, [
      "agent.name",
      "agent.session_id",
      "agent.message_length",
      "agent.steps",
      "agent.tokens",
      "agent.tool_calls",
      "agent.iteration",
      "tool.name"
    ])
  })
})
