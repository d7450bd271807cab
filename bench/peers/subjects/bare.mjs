/** A loop by hand over `fetch`, without spans, events, limits or checks beyond the arguments. */
import { z } from "zod"
import { countDeltas, move, deltas as parts, sleep as wait } from "../workload.mjs"

const parameters = z.object({ a: z.number(), b: z.number() })

export const make = async ({ deltas, perChunk, sleep, steps, url }) => {
  const ask = async (messages) => {
    if (url === undefined) {
      if (sleep !== undefined) await wait(sleep)
      const last = messages.at(-1)
      return move(last.role === "tool" ? last.content : 0, steps)
    }
    const response = await post(messages, false)
    const { message } = (await response.json()).choices[0]
    const call = message.tool_calls?.[0]
    return call === undefined ? { text: message.content } : { id: call.id, ...call.function, message }
  }
  const post = (messages, stream) =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages, stream })
    })
  const run = async () => {
    const messages = [{ role: "user", content: "go" }]
    for (;;) {
      const next = await ask(messages)
      if (next.text !== undefined) return next.text
      const { a, b } = parameters.parse(JSON.parse(next.arguments))
      messages.push(next.message ?? { role: "assistant" })
      messages.push({ role: "tool", tool_call_id: next.id, content: url === undefined ? a + b : String(a + b) })
    }
  }
  const stream = async () => {
    let seen = 0
    if (url === undefined) {
      for await (const text of parts(deltas, perChunk)) seen += countDeltas(text)
      return seen
    }
    const response = await post([{ role: "user", content: "go" }], true)
    let rest = ""
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n")
      rest = lines.pop()
      for (const line of lines) {
        if (!line.startsWith("data: {")) continue
        const text = JSON.parse(line.slice(6)).choices[0]?.delta?.content
        if (text) seen += countDeltas(text)
      }
    }
    return seen
  }
  return { run, stream }
}
