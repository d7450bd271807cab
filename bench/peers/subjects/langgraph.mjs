/** LangChain's agent on LangGraph. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, AIMessageChunk } from "@langchain/core/messages"
import { ChatGenerationChunk } from "@langchain/core/outputs"
import { createAgent, tool } from "langchain"
import { z } from "zod"
import { countDeltas, move, others, deltas as parts, sleep as wait } from "../workload.mjs"

class Model extends BaseChatModel {
  constructor(options) {
    super({})
    this.options = options
  }

  _llmType() {
    return "bench"
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    const { sleep, steps } = this.options
    if (sleep !== undefined) await wait(sleep)
    const last = messages.at(-1)
    const next = move(last.getType() === "tool" ? Number(last.content) : 0, steps)
    const message =
      next.text === undefined
        ? new AIMessage({
            content: "",
            tool_calls: [{ id: next.id, name: next.name, args: JSON.parse(next.arguments), type: "tool_call" }]
          })
        : new AIMessage(next.text)
    return { generations: [{ text: next.text ?? "", message }] }
  }

  async *_streamResponseChunks(_messages, _options, manager) {
    for await (const text of parts(this.options.deltas, this.options.perChunk)) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) })
      yield chunk
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

const modelOf = async (options) => {
  if (options.url === undefined) return new Model(options)
  const { ChatOpenAI } = await import("@langchain/openai")
  const configuration = { baseURL: options.url }
  return new ChatOpenAI({ model: "m", apiKey: "x", configuration, streamUsage: false, useResponsesApi: false })
}

/** Its savers, which keep a checkpoint after each node before the next one begins. */
const saverOf = async ({ file, postgres, variant }) => {
  if (variant === "durable-memory") return new (await import("@langchain/langgraph")).MemorySaver()
  if (variant === "durable-sqlite") {
    return (await import("@langchain/langgraph-checkpoint-sqlite")).SqliteSaver.fromConnString(file)
  }
  const saver = (await import("@langchain/langgraph-checkpoint-postgres")).PostgresSaver.fromConnString(postgres)
  await saver.setup()
  return saver
}

export const make = async (options) => {
  const { steps, tools = 1 } = options
  const add = tool(async ({ a, b }) => a + b, {
    name: "add",
    description: "Adds two numbers",
    schema: z.object({ a: z.number(), b: z.number() })
  })
  const rest = others(tools).map((other) =>
    tool(async () => "unused", { ...other, schema: z.object({ text: z.string(), count: z.number().optional() }) })
  )
  const isDurable = options.variant?.startsWith("durable") === true
  const saver = isDurable ? await saverOf(options) : undefined
  const agent = createAgent({
    model: await modelOf(options),
    tools: [add, ...rest],
    ...(saver === undefined ? {} : { checkpointer: saver })
  })
  let n = 0
  // A thread a run, as each of our runs has an id.
  const kept = () => (isDurable ? { durability: "sync", configurable: { thread_id: `t${process.pid}-${n++}` } } : {})
  const input = { messages: [{ role: "user", content: "go" }] }
  return {
    run: async () => (await agent.invoke(input, { recursionLimit: 3 * steps + 20, ...kept() })).messages.at(-1).content,
    stream: async () => {
      let seen = 0
      for await (const [message] of await agent.stream(input, { streamMode: "messages" })) {
        if (typeof message.content === "string") seen += countDeltas(message.content)
      }
      return seen
    }
  }
}
