/**
 * A loopback server with the chat-completions wire format, in a process of its own. The path holds the workload:
 * `/<steps>/<deltas>/<deltas a write>/chat/completions`. Prints its address.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { delta, move, turn } from "./workload.mjs"

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const bodyOf = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const textOf = (content) => (typeof content === "string" ? content : content.map(({ text }) => text).join(""))

const messageOf = (messages, steps) => {
  const last = messages.at(-1)
  const next = move(last.role === "tool" ? Number(JSON.parse(textOf(last.content))) : 0, steps)
  if (next.text !== undefined) return { role: "assistant", content: next.text }
  const call = { id: next.id, type: "function", function: { name: next.name, arguments: next.arguments } }
  return { role: "assistant", content: null, tool_calls: [call] }
}

const event = (change, finish = null) =>
  `data: ${JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: change, finish_reason: finish }]
  })}\n\n`

const stream = async (response, count, perWrite) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(event({ role: "assistant", content: "" }))
  const one = event({ content: delta })
  for (let sent = 0; sent < count; sent += perWrite) {
    if (response.write(one.repeat(Math.min(perWrite, count - sent)))) await turn()
    else await once(response, "drain")
  }
  response.end(`${event({}, "stop")}data: [DONE]\n\n`)
}

let answers = 0

const whole = (response, message) => {
  const finish = message.content === null ? "tool_calls" : "stop"
  // Some clients take answers with one id for the same message.
  const id = `c-${answers++}`
  const choices = [{ index: 0, message, finish_reason: finish }]
  const text = JSON.stringify({ id, object: "chat.completion", created: 1, model: "m", choices, usage })
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
  response.end(text)
}

const server = createServer(async (request, response) => {
  const [steps, count, perWrite] = request.url.split("/").slice(1, 4).map(Number)
  const bytes = await bodyOf(request)
  // What is exported to OTLP, which may be compressed.
  if (!request.url.endsWith("/chat/completions")) return response.end("{}")
  const body = JSON.parse(bytes.toString())
  if (body.stream === true) return stream(response, count, perWrite)
  whole(response, messageOf(body.messages, steps))
})
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
