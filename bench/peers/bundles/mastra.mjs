import { createOpenAICompatible } from "@ai-sdk/openai-compatible-2"
import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"

const add = createTool({
  id: "add",
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b
})
const model = createOpenAICompatible({ name: "bench", baseURL: process.env.URL, apiKey: "x" })("m")
const agent = new Agent({ id: "bench", name: "bench", instructions: "You add.", model, tools: { add } })
agent.generate("go", { maxSteps: 12 }).then(({ text }) => console.log(text))
