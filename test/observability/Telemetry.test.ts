import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as FiberId from "effect/FiberId"
import * as Telemetry from "../../src/observability/Telemetry.js"
import { Fatality } from "../../src/tool/ToolRunner.js"
import * as Growth from "../support/Growth.js"

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
    llmRequest: collect((set) =>
      Telemetry.llmRequest(
        {
          model: "m",
          temperature: 0,
          maxTokens: 5,
          topP: 0.5,
          stop: ["end"],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          stream: true
        },
        set
      )
    ),
    llmResponse: collect((set) =>
      Telemetry.llmResponse(
        {
          id: "i",
          model: "m",
          finishReason: "stop",
          usage: { inputTokens: 0, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 3 }
        },
        set
      )
    ),
    llmUsage: collect((set) => Telemetry.llmUsage({ inputTokens: 4, outputTokens: 0 }, set)),
    tool: Telemetry.tool({ agent: "a", tool: "t", callId: "c" })
  }

  it("every key that is written out is one of the constants", () => {
    const others = ["ContentRedactor", "content", "errorType", "providerName"]
    const functions = Object.entries(Telemetry).filter(([, value]) => typeof value === "function")
    assert.deepStrictEqual(functions.map(([name]) => name).sort(), [...Object.keys(made), ...others].sort())
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
        [attribute.genAiAgentId]: "a",
        [attribute.genAiAgentName]: "a",
        [attribute.sessionId]: "s",
        [attribute.genAiConversationId]: "s"
      },
      llm: {
        [attribute.agentName]: "a",
        [attribute.iteration]: 2,
        [attribute.genAiOperation]: "chat",
        [attribute.genAiProvider]: "openai",
        [attribute.genAiAgentName]: "a"
      },
      llmRequest: {
        [attribute.genAiRequestModel]: "m",
        [attribute.genAiRequestTemperature]: 0,
        [attribute.genAiRequestMaxTokens]: 5,
        [attribute.genAiRequestTopP]: 0.5,
        [attribute.genAiRequestStopSequences]: ["end"],
        [attribute.genAiRequestSeed]: 7,
        [attribute.genAiRequestPresencePenalty]: 0.1,
        [attribute.genAiRequestFrequencyPenalty]: 0.2,
        [attribute.genAiRequestStream]: true
      },
      llmResponse: {
        [attribute.genAiFinishReasons]: ["stop"],
        [attribute.genAiResponseModel]: "m",
        [attribute.genAiResponseId]: "i",
        [attribute.genAiInputTokens]: 0,
        [attribute.genAiOutputTokens]: 2,
        [attribute.genAiCachedInputTokens]: 1,
        [attribute.genAiReasoningTokens]: 3
      },
      llmUsage: { [attribute.genAiInputTokens]: 4, [attribute.genAiOutputTokens]: 0 },
      tool: {
        [attribute.agentName]: "a",
        [attribute.toolName]: "t",
        [attribute.genAiOperation]: "execute_tool",
        [attribute.genAiAgentName]: "a",
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

  it.each([
    ["openai", "openai"],
    ["anthropic", "anthropic"],
    ["Bedrock", "aws.bedrock"],
    ["azure", "azure.ai.openai"],
    ["vertex", "gcp.vertex_ai"],
    ["gemini", "gcp.gemini"],
    ["mistral", "mistral_ai"],
    ["xai", "x_ai"],
    ["groq", "groq"],
    ["my-own", "my-own"]
  ])("the provider %s is called %s", (given, name) => {
    assert.strictEqual(Telemetry.providerName(given), name)
  })

  it("an end is known by the tag of its failure, carried or not", () => {
    const lost = { _tag: "Lost", id: "7" }
    assert.strictEqual(Telemetry.errorType(Cause.fail(lost)), "Lost")
    assert.strictEqual(Telemetry.errorType(Cause.fail(new Fatality({ error: lost, toolName: "t" }))), "Lost")
    assert.strictEqual(Telemetry.errorType(Cause.fail(new TypeError("x"))), "TypeError")
    assert.strictEqual(Telemetry.errorType(Cause.fail("text")), "UnknownError")
    assert.strictEqual(Telemetry.errorType(Cause.die(lost)), "Defect")
    assert.strictEqual(Telemetry.errorType(Cause.interrupt(FiberId.none)), "InterruptedError")
    assert.strictEqual(Telemetry.errorType(Cause.sequential(Cause.fail(lost), Cause.interrupt(FiberId.none))), "Lost")
  })

  describe("content", () => {
    const standard = Context.get(
      Context.empty() as Context.Context<Telemetry.ContentRedactor>,
      Telemetry.ContentRedactor
    )
    const key = "sk-live-0123456789abcdef"

    it("is kept without credentials", () => {
      assert.strictEqual(Telemetry.content(standard, "hello"), "hello")
      assert.strictEqual(Telemetry.content(standard, `use ${key} now`), "use [REDACTED] now")
    })

    it("goes through a redactor of one's own, which never sees a credential", () => {
      const seen: Array<string> = []
      const own = (text: string) => {
        seen.push(text)
        return text.replace(/\S+@\S+/g, "[MAIL]")
      }
      assert.strictEqual(Telemetry.content(own, `ada@example.org has ${key}`), "[MAIL] has [REDACTED]")
      assert.deepStrictEqual(seen, ["ada@example.org has [REDACTED]"])
    })

    it("is nothing where the redactor breaks", () => {
      const broken = () => {
        throw new Error("no")
      }
      assert.strictEqual(Telemetry.content(broken, "my secret life"), "[REDACTED]")
    })

    it("is cut to its bound", () => {
      const max = Telemetry.maxContentLength
      assert.strictEqual(Telemetry.content(standard, "a".repeat(max)).length, max)
      for (const length of [max + 1, max + 511, max + 513, 10 * max]) {
        const kept = Telemetry.content(standard, "a".repeat(length))
        assert.strictEqual(kept.length, max, String(length))
        assert.isTrue(kept.endsWith("a…"))
      }
      assert.notMatch(Telemetry.content(standard, "😀".repeat(max)), /\p{Surrogate}/u)
    })

    it("shows no half of a credential that the bound cuts", () => {
      for (const before of [0, 100, 400, 500, 511, 512, 520, 530]) {
        const filler = "x ".repeat((Telemetry.maxContentLength + before) / 2)
        for (const head of ["", `${key} `.repeat(100)]) {
          const kept = Telemetry.content(standard, `${head}${filler}${key}${"y".repeat(2000)}`)
          assert.notMatch(kept, /sk-|live|0123/, String(before))
        }
      }
    })

    it("takes no time over a huge text", () => {
      Growth.assertLinearTexts(["sk-", "bearer ", "*", "a://"], (text) => Telemetry.content(standard, text), 100_000)
    })
  })
})
