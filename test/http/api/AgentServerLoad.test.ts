import * as Http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import type { Input } from "../../support/programs/StreamingServer.js"

const MB = 1024 * 1024

/** `npm run test:crash` takes more. */
const STREAMS = Number(process.env["HTTP_STREAMS"] ?? 50)
const DELTAS = 200
const FRUGAL = ["--max-old-space-size=180", "--max-semi-space-size=2"]
/** Megabytes that 500 open streams hold. */
const HELD = 110
/** What a process takes of its system, garbage included. Later versions of Node take more for themselves. */
const TAKEN = process.versions.node.startsWith("20.") ? 250 : 320

interface Used {
  readonly rss: number
  /** Bytes that are held after a collection. */
  readonly live: number
  readonly peak: number
  readonly cpu: number
}

const starting = (input: Input, node: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const server = yield* Programs.start(yield* Bundle.make("StreamingServer"), input, { node })
    const url: string = yield* server.hear
    const ask = (what: "middle" | "used"): Effect.Effect<Used> => Effect.zipRight(server.say(what), server.hear)
    return { url, ask, go: server.say("go") }
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
    const { ask, go, url } = yield* starting(input, node)
    const before = yield* ask("used")
    const reading = yield* Effect.fork(
      Effect.all(
        Array.from({ length: streams }, () => numbersOf(url)),
        { concurrency: "unbounded" }
      )
    )
    const middle = input.waits === true ? yield* ask("middle") : before
    yield* go
    const all = yield* Fiber.join(reading)
    const { cpu, peak } = yield* ask("used")
    const first = all[0] ?? []
    assert.isAbove(first.length, deltas)
    // Events that are not shown have numbers too.
    assert.isTrue(first.every((number, at) => at === 0 || number > (first[at - 1] ?? number)))
    for (const numbers of all) assert.deepStrictEqual(numbers, first)
    const used = { peak: peak / MB, held: (middle.live - before.live) / MB }
    yield* Effect.log(
      `${streams} streams: peak ${Math.round(used.peak)} MB, before ${Math.round(before.rss / MB)} MB, ` +
        `held ${Math.round(used.held)} MB, ${Math.round(((cpu - before.cpu) * 1000) / streams / deltas)} us CPU a delta`
    )
    return used
  })

const text = "a piece of text"

describe("a server of agents", () => {
  it.scopedLive(`streams ${STREAMS} runs of ${DELTAS} deltas at once, and loses no event`, () =>
    streamAll({ deltas: DELTAS, text, pause: 5, streams: STREAMS })
  )

  it.scopedLive(`holds at most ${HELD} MB for 500 streams in the middle of their answers`, () =>
    Effect.map(streamAll({ deltas: 40, text, pause: 10, streams: 500, waits: true }, ["--expose-gc"]), ({ held }) =>
      assert.isAtMost(held, HELD)
    )
  )

  // What a process takes of its system depends on what else the machine does, so only a machine that does nothing else can say it.
  it.runIf(STREAMS >= 500)(`takes at most ${TAKEN} MB for 500 streams where Node is told what it may take`, () =>
    streamAll({ deltas: DELTAS, text, pause: 100, streams: 500 }, FRUGAL).pipe(
      Effect.map(({ peak }) => assert.isAtMost(peak, TAKEN)),
      Effect.scoped,
      Effect.runPromise
    )
  )
})
