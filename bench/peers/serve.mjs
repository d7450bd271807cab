/**
 * The caller of a server, in a process of its own: `node serve.mjs <json>` makes requests as the messages of its parent
 * ask, and answers with what it saw.
 */
import { Agent, request as ask } from "node:http"
import { delta } from "./workload.mjs"

const agent = new Agent({ keepAlive: true, maxSockets: 1000 })

/** One request: its text, and the milliseconds until the first delta. */
const call = ({ body, url }) =>
  new Promise((resolve, reject) => {
    const from = performance.now()
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    const request = ask(url, { method: "POST", agent, headers }, (response) => {
      let all = ""
      let first
      response.setEncoding("utf8")
      response.on("data", (chunk) => {
        all += chunk
        if (first === undefined && all.includes(delta.trim())) first = performance.now() - from
      })
      response.on("end", () => {
        if (response.statusCode === 200 || response.statusCode === 201) resolve({ text: all, first })
        else reject(new Error(`${response.statusCode}: ${all.slice(0, 300)}`))
      })
      response.on("error", reject)
    })
    request.on("error", reject)
    request.end(text)
  })

/** So many requests, so many at once. */
const calls = async (target, count, atOnce, check) => {
  const firsts = []
  let left = count
  const from = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        const { first, text } = await call(target)
        check(text)
        if (first !== undefined) firsts.push(first)
      }
    })
  )
  firsts.sort((a, b) => a - b)
  return { millis: performance.now() - from, first: firsts[Math.floor(firsts.length / 2)] }
}

const isWhole = (text) => {
  if (!text.includes("done 0")) throw new Error(`wrong answer: ${text.slice(0, 300)}`)
}

const hasDeltas = (deltas) => (text) => {
  const seen = text.split(delta).length - 1
  if (seen < deltas) throw new Error(`${seen} of ${deltas} deltas: ${text.slice(0, 300)}`)
}

process.on("message", async ({ atOnce, count, deltas, target }) => {
  try {
    process.send(await calls(target, count, atOnce, deltas === undefined ? isWhole : hasDeltas(deltas)))
  } catch (error) {
    process.send({ error: String(error) })
  }
})
process.on("disconnect", () => process.exit(0))
