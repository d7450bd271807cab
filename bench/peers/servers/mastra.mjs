/** Mastra's server, on Hono. */
import { serve } from "@hono/node-server"
import { Agent } from "@mastra/core/agent"
import { Mastra } from "@mastra/core/mastra"
import { MastraServer } from "@mastra/hono"
import { Hono } from "hono"
import { deltas as parts, usage } from "../workload.mjs"

const textOf = (content) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join(""))

const deltasOf = (prompt) => Number(textOf(prompt.at(-1).content))

async function* streamOf(prompt) {
  yield { type: "stream-start", warnings: [] }
  yield { type: "text-start", id: "t" }
  const deltas = deltasOf(prompt)
  if (deltas > 0) for await (const delta of parts(deltas)) yield { type: "text-delta", id: "t", delta }
  else yield { type: "text-delta", id: "t", delta: "done 0" }
  yield { type: "text-end", id: "t" }
  yield { type: "finish", finishReason: "stop", usage }
}

const model = {
  specificationVersion: "v2",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: async () => ({ content: [{ type: "text", text: "done 0" }], finishReason: "stop", usage, warnings: [] }),
  doStream: async ({ prompt }) => ({ stream: ReadableStream.from(streamOf(prompt)) })
}

export const make = async () => {
  const agent = new Agent({ id: "bench", name: "bench", instructions: "You add.", model })
  const mastra = new Mastra({ agents: { bench: agent }, logger: false })
  const app = new Hono()
  await new MastraServer({ app, mastra }).init()
  const url = await new Promise((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(`http://127.0.0.1:${port}`))
  })
  const bodyOf = (content) => ({ messages: [{ role: "user", content }] })
  return {
    whole: { url: `${url}/api/agents/bench/generate`, body: bodyOf("0") },
    stream: (deltas) => ({ url: `${url}/api/agents/bench/stream`, body: bodyOf(String(deltas)) })
  }
}
