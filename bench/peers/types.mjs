/** The programs whose types are counted: the imports alone, and an agent with ten tools. */

const names = ["search", "read", "write", "move", "copy", "list", "count", "rename", "archive", "restore"]

const agentOf = (tool, agent) => `${names.map((name) => `const ${name} = ${tool(name)}\n`).join("")}${agent}\n`

const listed = `[${names.join(", ")}]`
const record = `{ ${names.join(", ")} }`
const zod = "z.object({ text: z.string(), size: z.number() })"

const aiSdk = (name) => ({
  imports: `import { generateText, stepCountIs, tool } from "${name}"
import type { LanguageModel } from "${name}"
import { z } from "zod"
export type Imported = [typeof generateText, typeof stepCountIs, typeof tool, typeof z.object]
`,
  agent: agentOf(
    () => `tool({
  description: "A tool",
  inputSchema: ${zod},
  execute: async ({ size, text }) => size + text.length
})`,
    `declare const model: LanguageModel
export const answer = generateText({ model, tools: ${record}, stopWhen: stepCountIs(12), prompt: "go" })`
  )
})

export const programs = {
  "effect-lexigram": {
    imports: `import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"
export type Imported = [typeof Effect.succeed, typeof Schema.String, typeof Agent.make, typeof Tool.make]
`,
    agent: agentOf(
      (name) => `Tool.make("${name}", {
  description: "A tool",
  parameters: { text: Schema.String, size: Schema.Number },
  success: Schema.Number,
  handler: ({ size, text }) => Effect.succeed(size + text.length)
})`,
      `export const agent = Agent.make("agent", { tools: ${listed} })`
    )
  },
  "ai-sdk-7": aiSdk("ai"),
  "ai-sdk-6": aiSdk("ai-6"),
  "openai-agents": {
    imports: `import { Agent, tool } from "@openai/agents"
import { z } from "zod"
export type Imported = [typeof Agent, typeof tool, typeof z.object]
`,
    agent: agentOf(
      (name) => `tool({
  name: "${name}",
  description: "A tool",
  parameters: ${zod},
  execute: async ({ size, text }) => size + text.length
})`,
      `export const agent = new Agent({ name: "agent", tools: ${listed} })`
    )
  },
  langgraph: {
    imports: `import { createAgent, tool } from "langchain"
import { z } from "zod"
export type Imported = [typeof createAgent, typeof tool, typeof z.object]
`,
    agent: agentOf(
      (name) => `tool(async ({ size, text }) => size + text.length, {
  name: "${name}",
  description: "A tool",
  schema: ${zod}
})`,
      `export const agent = createAgent({ model: "openai:m", tools: ${listed} })`
    )
  },
  mastra: {
    imports: `import { Agent } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { z } from "zod"
export type Imported = [typeof Agent, typeof createTool, typeof z.object]
`,
    agent: agentOf(
      (name) => `createTool({
  id: "${name}",
  description: "A tool",
  inputSchema: ${zod},
  execute: async ({ size, text }) => size + text.length
})`,
      `export const agent = new Agent({ id: "a", name: "a", instructions: "", model: "openai/m", tools: ${record} })`
    )
  },
  "effect-ai": {
    imports: `import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
export type Imported = [typeof Tool.make, typeof Toolkit.make, typeof Effect.succeed, typeof Schema.String]
`,
    agent: agentOf(
      (name) => `Tool.make("${name}", {
  description: "A tool",
  parameters: { text: Schema.String, size: Schema.Number },
  success: Schema.Number
})`,
      `const kit = Toolkit.make(${names.join(", ")})
const handler = ({ size, text }: { readonly size: number; readonly text: string }) => Effect.succeed(size + text.length)
export const agent = kit.toLayer({ ${names.map((name) => `${name}: handler`).join(", ")} })`
    )
  }
}
