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
const MANY = STREAMS < 500 ? 40 : DELTAS
const FRUGAL = ["--max-old-space-size=180", "--max-semi-space-size=2"]
/** Later versions of Node take more for themselves, and so do processes that wait for others. */
const BOUND = STREAMS >= 500 && process.versions.node.startsWith("20.") ? 250 : 320

interface Used {
  readonly rss: number
  readonly peak: number
  readonly cpu: number
}

const starting = (input: Input, node: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const server = yield* Programs.start(yield* Bundle.make("StreamingServer"), input, { node })
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

/** Reads so many streams at once; none may lack an event. */
const streamAll = (input: Input, node?: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { deltas, streams } = input
    const { url, used } = yield* starting(input, node)
    const before = yield* used
    const all = yield* Effect.all(
      Array.from({ length: streams }, () => numbersOf(url)),
      { concurrency: "unbounded" }
    )
    const { cpu, peak } = yield* used
    const first = all[0] ?? []
    assert.isAbove(first.length, deltas)
    // Events that are not shown have numbers too.
    assert.isTrue(first.every((number, at) => at === 0 || number > (first[at - 1] ?? number)))
    for (const numbers of all) assert.deepStrictEqual(numbers, first)
    yield* Effect.log(
      `${streams} streams: peak ${Math.round(peak / MB)} MB, before ${Math.round(before.rss / MB)} MB, ` +
        `${Math.round(((cpu - before.cpu) * 1000) / streams / deltas)} us CPU a delta`
    )
    return peak / MB
  })

const text = "a piece of text"

describe("a server of agents", () => {
  it.scopedLive(`streams ${STREAMS} runs of ${DELTAS} deltas at once, and loses no event`, () =>
    streamAll({ deltas: DELTAS, text, pause: 5, streams: STREAMS })
  )

  it.scopedLive(`holds 500 streams of ${MANY} deltas within ${BOUND} MB where Node is told what it may take`, () =>
    Effect.map(streamAll({ deltas: MANY, text, pause: 100, streams: 500 }, FRUGAL), (peak) =>
      assert.isAtMost(peak, BOUND)
    )
  )
})
