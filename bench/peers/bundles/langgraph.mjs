import { ChatOpenAI } from "@langchain/openai"
import { createAgent, tool } from "langchain"
import { z } from "zod"

const add = tool(async ({ a, b }) => a + b, {
  name: "add",
  description: "Adds two numbers",
  schema: z.object({ a: z.number(), b: z.number() })
})
const model = new ChatOpenAI({ model: "m", apiKey: "x", configuration: { baseURL: process.env.URL } })
createAgent({ model, tools: [add] })
  .invoke({ messages: [{ role: "user", content: "go" }] })
  .then(({ messages }) => console.log(messages.at(-1).content))
