import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents"
import OpenAI from "openai"
import { z } from "zod"

setTracingDisabled(true)
const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b
})
const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL: process.env.URL, apiKey: "x" }), "m")
run(new Agent({ name: "bench", model, tools: [add] }), "go").then(({ finalOutput }) => console.log(finalOutput))
