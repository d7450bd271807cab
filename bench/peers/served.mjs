/** Measures a server in this process, whose callers are in another one. */
import { fork } from "node:child_process"
import { once } from "node:events"
import * as Path from "node:path"
import { here } from "./places.mjs"

const cpuMicros = () => {
  const { system, user } = process.cpuUsage()
  return user + system
}

export const measure = async (subject, { atOnce, deltas, quick = false }) => {
  const { stream, whole } = await (await import(`./servers/${subject}.mjs`)).make()
  const callers = fork(Path.join(here, "serve.mjs"))
  const calls = async (given) => {
    const from = cpuMicros()
    callers.send(given)
    const [seen] = await once(callers, "message")
    if (seen.error !== undefined) throw new Error(seen.error)
    return { ...seen, cpu: cpuMicros() - from }
  }
  try {
    const scale = quick ? 0.05 : 1
    const requests = Math.ceil(4_000 * scale)
    await calls({ target: whole, count: requests, atOnce })
    globalThis.gc()
    const answered = await calls({ target: whole, count: requests, atOnce })
    const streams = Math.ceil(200 * scale)
    const target = stream(deltas)
    await calls({ target, count: streams, atOnce, deltas })
    globalThis.gc()
    const streamed = await calls({ target, count: streams, atOnce, deltas })
    // One after the other: what a caller waits for where nobody else is.
    const alone = await calls({ target: stream(20), count: streams, atOnce: 1, deltas: 20 })
    return {
      request: answered.cpu / requests,
      rate: (requests * 1000) / answered.millis,
      delta: streamed.cpu / streams / deltas,
      first: alone.first,
      crowded: streamed.first
    }
  } finally {
    callers.disconnect()
  }
}
