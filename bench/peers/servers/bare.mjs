/** A server without a library: what nobody is cheaper than. */
import { createServer } from "node:http"
import { delta, turn } from "../workload.mjs"

const bodyOf = async (request) => {
  let text = ""
  request.setEncoding("utf8")
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}

export const make = async () => {
  const server = createServer(async (request, response) => {
    const { deltas } = await bodyOf(request)
    if (deltas === undefined) {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ text: "done 0" }))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (let sent = 0; sent < deltas; sent++) {
      await turn()
      response.write(`data: ${JSON.stringify({ delta })}\n\n`)
    }
    response.end("data: [DONE]\n\n")
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${server.address().port}/`
  return {
    whole: { url, body: {} },
    stream: (deltas) => ({ url, body: { deltas } })
  }
}
