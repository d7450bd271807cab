import { createOpenAICompatible } from "@ai-sdk/openai-compatible-2"
import { generateText, stepCountIs, tool } from "ai-6"
import { z } from "zod"

const add = tool({
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b
})
const model = createOpenAICompatible({ name: "bench", baseURL: process.env.URL, apiKey: "x" })("m")
generateText({ model, tools: { add }, stopWhen: stepCountIs(12), prompt: "go" }).then(({ text }) => console.log(text))
