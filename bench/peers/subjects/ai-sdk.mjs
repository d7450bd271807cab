/** The AI SDK, for the package and the version of its model interface. */
import { z } from "zod"
import { countDeltas, move, others, deltas as parts, sleep as wait } from "../workload.mjs"

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 }
}
const reason = (unified) => ({ unified, raw: unified })

const modelOf = (specificationVersion, { deltas, perChunk, sleep, steps }) => ({
  specificationVersion,
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    if (sleep !== undefined) await wait(sleep)
    const last = prompt.at(-1)
    const next = move(last.role === "tool" ? last.content[0].output.value : 0, steps)
    return next.text === undefined
      ? {
          content: [{ type: "tool-call", toolCallId: next.id, toolName: next.name, input: next.arguments }],
          finishReason: reason("tool-calls"),
          usage,
          warnings: []
        }
      : { content: [{ type: "text", text: next.text }], finishReason: reason("stop"), usage, warnings: [] }
  },
  doStream: async () => {
    async function* all() {
      yield { type: "stream-start", warnings: [] }
      yield { type: "text-start", id: "t" }
      for await (const text of parts(deltas, perChunk)) yield { type: "text-delta", id: "t", delta: text }
      yield { type: "text-end", id: "t" }
      yield { type: "finish", finishReason: reason("stop"), usage }
    }
    return { stream: ReadableStream.from(all()) }
  }
})

export const maker =
  ({ compatible, sdk, version }) =>
  async (options) => {
    const { generateText, stepCountIs, streamText, tool } = sdk
    const { steps, tools = 1, url } = options
    const model =
      url === undefined
        ? modelOf(version, options)
        : (await compatible()).createOpenAICompatible({ name: "bench", baseURL: url, apiKey: "x" })("m")
    const all = {
      add: tool({
        description: "Adds two numbers",
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async ({ a, b }) => a + b
      })
    }
    for (const { description, name } of others(tools)) {
      all[name] = tool({
        description,
        inputSchema: z.object({ text: z.string(), count: z.number().optional() }),
        execute: async () => "unused"
      })
    }
    const given = { model, tools: all, prompt: "go" }
    return {
      run: async () => (await generateText({ ...given, stopWhen: stepCountIs(steps + 2) })).text,
      stream: async () => {
        let seen = 0
        for await (const text of streamText(given).textStream) seen += countDeltas(text)
        return seen
      }
    }
  }
