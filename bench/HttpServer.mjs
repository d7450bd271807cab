/** A chat-completions server on the loopback interface, run as a child process. It reports its port and ends with its parent. */
import { createServer } from "node:http"

const completion = (fields) => JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", ...fields })
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const whole = completion({
  choices: [{ index: 0, message: { role: "assistant", content: "done" }, finish_reason: "stop" }],
  usage
})
const chunk = (delta, finish_reason = null) =>
  `data: ${completion({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`

/** Writes deltas in pieces of eight, each in a turn of the event loop of its own. */
const stream = (response, deltas) => {
  const piece = chunk({ content: "tok " }).repeat(8)
  let sent = 0
  const write = () => {
    if (sent >= deltas) {
      response.end(`${chunk({}, "stop")}data: ${completion({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
      return
    }
    sent += 8
    if (response.write(piece)) setImmediate(write)
    else response.once("drain", write)
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  write()
}

const server = createServer((request, response) => {
  let text = ""
  request.on("data", (bytes) => {
    text += bytes
  })
  request.on("end", () => {
    if (JSON.parse(text).stream) return stream(response, Number(request.url.split("/")[1]))
    response.writeHead(200, { "content-type": "application/json" })
    response.end(whole)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, "127.0.0.1", () => process.send(server.address().port))
process.on("disconnect", () => process.exit(0))
