import * as Http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import type { Input } from "../../support/programs/StreamingServer.js"

const MB = 1024 * 1024

/** `npm run test:crash` takes more. */
const STREAMS = Number(process.env["HTTP_STREAMS"] ?? 50)
const DELTAS = 200

interface Used {
  readonly rss: number
  readonly peak: number
  readonly cpu: number
}

const starting = (input: Input) =>
  Effect.gen(function* () {
    const server = yield* Programs.start(yield* Bundle.make("StreamingServer"), input)
    const url: string = yield* server.hear
    const used: Effect.Effect<Used> = Effect.zipRight(server.say("used"), server.hear)
    return { url, used }
  })

const begin = (url: string, onResponse: (response: Http.IncomingMessage) => void): Http.ClientRequest => {
  const body = JSON.stringify({ agent: "teller", input: "tell" })
  const headers = { authorization: "Bearer token-ann", "content-type": "application/json" }
  const request = Http.request(`${url}/v1/runs/stream`, { method: "POST", agent: false, headers }, onResponse)
  request.end(body)
  return request
}

/** The numbers of the events of a stream, read as fast as they come. */
const numbersOf = (url: string): Effect.Effect<ReadonlyArray<number>> =>
  Effect.async((resume) => {
    begin(url, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () =>
        resume(
          Effect.succeed(
            Array.from(
              Buffer.concat(chunks)
                .toString("utf8")
                .matchAll(/^id: (\d+)$/gm),
              ([, id]) => Number(id)
            )
          )
        )
      )
    })
  })

describe("a server of agents", () => {
  it.scopedLive(`streams ${STREAMS} runs of ${DELTAS} deltas at once, and loses no event`, () =>
    Effect.gen(function* () {
      const { url, used } = yield* starting({ deltas: DELTAS, text: "a piece of text", pause: 5, streams: STREAMS })
      const before = yield* used
      const all = yield* Effect.all(
        Array.from({ length: STREAMS }, () => numbersOf(url)),
        { concurrency: "unbounded" }
      )
      const { cpu, peak } = yield* used
      const deltas = all.map((numbers) => numbers.length)
      assert.deepStrictEqual([...new Set(deltas)].length, 1, String(new Set(deltas)))
      assert.isAbove(deltas[0] ?? 0, DELTAS)
      for (const numbers of all)
        assert.deepStrictEqual(
          numbers,
          [...new Set(numbers)].sort((a, b) => a - b)
        )
      yield* Effect.log(
        `${STREAMS} streams: peak ${Math.round(peak / MB)} MB, before ${Math.round(before.rss / MB)} MB, ` +
          `${Math.round(((cpu - before.cpu) * 1000) / STREAMS / DELTAS)} us CPU a delta`
      )
    })
  )
})
