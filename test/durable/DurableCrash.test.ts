import * as Fs from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Bundle from "../support/Bundle.js"
import * as Programs from "../support/Programs.js"
import type { Input } from "../support/programs/DurableAgent.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

/** Model calls of a run with eight steps: seven with tools, one of them another agent with two calls of its own. */
const STEPS = 8

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

type Messages = ReadonlyArray<LlmClient.Message>

const call = (name: string, params: object): LlmClient.LlmResponse => ({
  content: [{ type: "tool-call", id: "c", name, params: params as never }],
  finishReason: "tool-calls",
  usage
})

const say = (text: string): LlmClient.LlmResponse => ({
  content: [{ type: "text", text }],
  finishReason: "stop",
  usage
})

const textOf = (message: LlmClient.Message | undefined): string => JSON.stringify(message?.content ?? "")

const answerOf = (messages: Messages): LlmClient.LlmResponse => {
  const tools = messages.filter(({ role }) => role === "tool").length
  const asked = messages.findLast(({ role }) => role === "user")
  const run = /run-\d+/.exec(textOf(asked))?.[0] ?? "?"
  if (textOf(messages[0]).startsWith('"helper')) {
    return tools === 0 ? call("note", { run, step: 100 }) : say(`helped ${run}`)
  }
  if (tools === STEPS - 1)
    return say(
      `done ${run} ${messages
        .filter(({ role }) => role === "tool")
        .map(textOf)
        .join("")}`
    )
  if (tools === 3) return call("delegate_to_helper", { message: `help ${run}` })
  return call(tools % 2 === 0 ? "note" : "pay", { run, step: tools })
}

/** A model on loopback that counts what it is asked. */
const server = Effect.gen(function* () {
  const asked = new Map<string, number>()
  const http = yield* Effect.acquireRelease(
    Effect.async<Http.Server>((resume) => {
      const made = Http.createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => {
          body += chunk
        })
        request.on("end", () => {
          asked.set(body, (asked.get(body) ?? 0) + 1)
          response.setHeader("content-type", "application/json")
          response.end(JSON.stringify(answerOf(JSON.parse(body))))
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.closeAllConnections()
        made.close()
      })
  )
  return { asked, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
})

const RUNS = Number(process.env["DURABLE_CRASH_RUNS"] ?? 10)

describe("a durable run whose process is killed", () => {
  it.scopedLive(
    `ends as the undisturbed one: ${RUNS} runs`,
    () =>
      Effect.gen(function* () {
        const folder = yield* SqliteDrivers.folder
        const effects = `${folder}/effects.txt`
        Fs.writeFileSync(effects, "")
        const { asked, url } = yield* server
        const random = SeededRandom.make(Number(process.env["DURABLE_CRASH_SEED"] ?? 11))
        const program = yield* Bundle.make("DurableAgent")
        const answers = new Map<string, string>()
        let kills = 0
        const hear = (said: unknown) => {
          const found = /^(run-\d+): (.*)$/s.exec(String(said))
          if (found !== null) answers.set(found[1] as string, found[2] as string)
        }
        for (let number = 0; number < RUNS; number++) {
          const runId = `run-${number}`
          const input: Input = { file: `${folder}/runs.db`, effects, model: url, runs: [runId] }
          for (let left = 1 + random.below(3); left > 0; left--) {
            yield* Effect.scoped(
              Effect.gen(function* () {
                const process = yield* Programs.start(program, input)
                for (let heard = random.below(4); heard >= 0; heard--) {
                  const said = yield* process.hear
                  hear(said)
                  if (said === "ended" || answers.has(runId)) return
                }
                yield* Effect.sleep(random.below(12))
                yield* process.kill()
                kills++
              })
            )
            if (answers.has(runId)) break
          }
          if (!answers.has(runId)) {
            const last = yield* Programs.start(program, input)
            for (const said of yield* last.rest) hear(said)
          }
        }
        const done = Fs.readFileSync(effects, "utf8")
          .split("\n")
          .filter((line) => line.startsWith("pay"))
        assert.strictEqual(new Set(done).size, done.length, "no payment twice")
        let unknown = 0
        const [undisturbed] = yield* Effect.flatMap(
          Programs.start(program, { file: `${folder}/other.db`, effects, model: url, runs: ["run-9999"] }),
          ({ rest }) => rest
        ).pipe(Effect.map((said) => said.filter((one) => String(one).startsWith("run-9999: "))))
        const expected = String(undisturbed).slice("run-9999: ".length)
        for (let number = 0; number < RUNS; number++) {
          const answer = answers.get(`run-${number}`) ?? "no answer"
          if (answer.includes("nobody knows whether")) unknown++
          else assert.strictEqual(answer, expected.replaceAll("run-9999", `run-${number}`))
        }
        const repeated = Array.from(asked.values()).reduce((sum, times) => sum + times - 1, 0)
        assert.isAtMost(repeated, kills, "a call in flight at a kill is asked at most once more")
        assert.isAbove(kills, RUNS / 2)
        yield* Effect.log(`${RUNS} runs, ${kills} kills, ${repeated} calls repeated, ${unknown} unknown outcomes`)
      }),
    3_600_000
  )
})
