/** Mastra's agent. */
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"
import { countDeltas, move, others, deltas as parts, usage, sleep as wait } from "../workload.mjs"

const modelOf = ({ deltas, perChunk, sleep, steps }) => {
  const next = async (prompt) => {
    if (sleep !== undefined) await wait(sleep)
    const last = prompt.at(-1)
    return move(last.role === "tool" ? Number(last.content.at(-1).output.value) : 0, steps)
  }
  const callOf = ({ arguments: input, id, name }) => ({ type: "tool-call", toolCallId: id, toolName: name, input })
  async function* streamOf(prompt) {
    yield { type: "stream-start", warnings: [] }
    const one = deltas === undefined ? await next(prompt) : undefined
    if (one !== undefined && one.text === undefined) {
      yield callOf(one)
      yield { type: "finish", finishReason: "tool-calls", usage }
      return
    }
    yield { type: "text-start", id: "t" }
    const texts = one === undefined ? parts(deltas, perChunk) : [one.text]
    for await (const text of texts) yield { type: "text-delta", id: "t", delta: text }
    yield { type: "text-end", id: "t" }
    yield { type: "finish", finishReason: "stop", usage }
  }
  return {
    specificationVersion: "v2",
    provider: "bench",
    modelId: "bench",
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const one = await next(prompt)
      return one.text === undefined
        ? { content: [callOf(one)], finishReason: "tool-calls", usage, warnings: [] }
        : { content: [{ type: "text", text: one.text }], finishReason: "stop", usage, warnings: [] }
    },
    doStream: async ({ prompt }) => ({ stream: ReadableStream.from(streamOf(prompt)) })
  }
}

const clientModel = async (url) => {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible-2")
  return createOpenAICompatible({ name: "bench", baseURL: url, apiKey: "x" })("m")
}

export const make = async (options) => {
  const { steps, tools = 1, url } = options
  const all = {
    add: createTool({
      id: "add",
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async (given) => {
        const { a, b } = given.context ?? given
        return a + b
      }
    })
  }
  for (const { description, name } of others(tools)) {
    const inputSchema = z.object({ text: z.string(), count: z.number().optional() })
    all[name] = createTool({ id: name, description, inputSchema, execute: async () => "unused" })
  }
  const model = url === undefined ? modelOf(options) : await clientModel(url)
  const agent = new Agent({ id: "bench", name: "bench", instructions: "You add.", model, tools: all })
  return {
    run: async () => (await agent.generate("go", { maxSteps: steps + 2 })).text,
    stream: async () => {
      let seen = 0
      for await (const text of (await agent.stream("go")).textStream) seen += countDeltas(text)
      return seen
    }
  }
}
