/** OpenAI Agents, its tracing off. */
import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool } from "@openai/agents"
import { z } from "zod"
import { countDeltas, move, others, deltas as parts, sleep as wait } from "../workload.mjs"

setTracingDisabled(true)

const usage = { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const textMessage = (text) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }]
})

const resultOf = ({ output }) => Number(typeof output === "string" ? output : output.text)

const modelOf = ({ deltas, perChunk, sleep, steps }) => ({
  getResponse: async ({ input }) => {
    if (sleep !== undefined) await wait(sleep)
    const last = Array.isArray(input) ? input.at(-1) : undefined
    const next = move(last?.type === "function_call_result" ? resultOf(last) : 0, steps)
    const item =
      next.text === undefined
        ? { type: "function_call", callId: next.id, name: next.name, status: "completed", arguments: next.arguments }
        : textMessage(next.text)
    return { usage, output: [item] }
  },
  async *getStreamedResponse() {
    yield { type: "response_started" }
    let text = ""
    for await (const one of parts(deltas, perChunk)) {
      text += one
      yield { type: "output_text_delta", delta: one }
    }
    yield { type: "response_done", response: { id: "r", usage, output: [textMessage(text)] } }
  }
})

const clientModel = async (url) => {
  const { default: OpenAI } = await import("openai")
  return new OpenAIChatCompletionsModel(new OpenAI({ baseURL: url, apiKey: "x" }), "m")
}

export const make = async (options) => {
  const { steps, tools = 1, url } = options
  const add = tool({
    name: "add",
    description: "Adds two numbers",
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: async ({ a, b }) => a + b
  })
  const rest = others(tools).map((other) =>
    tool({
      ...other,
      parameters: z.object({ text: z.string(), count: z.number().nullable() }),
      execute: async () => "unused"
    })
  )
  const model = url === undefined ? modelOf(options) : await clientModel(url)
  const agent = new Agent({ name: "bench", model, tools: [add, ...rest] })
  const runner = new Runner({ tracingDisabled: true })
  return {
    run: async () => (await runner.run(agent, "go", { maxTurns: steps + 3 })).finalOutput,
    stream: async () => {
      let seen = 0
      const result = await runner.run(agent, "go", { stream: true })
      for await (const { data, type } of result) {
        if (type === "raw_model_stream_event" && data.type === "output_text_delta") seen += countDeltas(data.delta)
      }
      await result.completed
      return seen
    }
  }
}
