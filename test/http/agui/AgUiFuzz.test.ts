import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import type { AgUiEvent } from "../../../src/http/agui/AgUiEvent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as AgUiClients from "../../support/AgUiClients.js"
import * as SeededRandom from "../../support/SeededRandom.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 1_000)

const names = ["", "null", "\u0000", "x".repeat(3000), "__proto__", "../..", "a\r\nb: c", "data:,", "%00"]
const strange = [...names, "\ud800"]
const members = [
  "threadId",
  "runId",
  "messages",
  "state",
  "resume",
  "tools",
  "context",
  "role",
  "content",
  "toolCalls",
  "toolCallId",
  "source",
  "payload"
]

const valueOf = (random: SeededRandom.SeededRandom, depth = 0): unknown => {
  const kind = random.below(depth > 3 ? 4 : 7)
  if (kind === 0) return random.pick(strange)
  if (kind === 1) return random.below(1000) - 500
  if (kind === 2) return random.pick([null, true, false])
  if (kind === 3) return random.pick(["user", "assistant", "tool", "text", "image", "resolved", "cancelled", "t1"])
  if (kind === 4) return Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1))
  return Object.fromEntries(
    Array.from({ length: random.below(5) }, () => [random.pick([...members, ...strange]), valueOf(random, depth + 1)])
  )
}

const messageOf = (random: SeededRandom.SeededRandom): unknown => ({
  id: random.pick(["1", "2", "3", ...strange]),
  role: random.pick(["user", "user", "assistant", "tool", "system", "reasoning", "activity", "?"]),
  content: random.pick(["hi", "pay", ...strange, valueOf(random)]),
  toolCallId: random.pick(["call_1", ...strange]),
  toolCalls: random.pick([undefined, valueOf(random), [{ id: "call_1", type: "function", function: { name: "pay" } }]])
})

/** `waiting` are ids of requests that were seen. */
const requestOf = (random: SeededRandom.SeededRandom, waiting: ReadonlyArray<string>): Request => {
  const agent = random.below(8) === 0 ? encodeURIComponent(random.pick(names)) : "helper"
  const url = `http://localhost/agui/${agent}${random.below(4) === 0 ? "/connect" : ""}`
  const headers = new Headers({
    authorization: `Bearer token-${random.pick(["ann", "bob"])}`,
    "content-type": random.below(20) === 0 ? "text/plain" : "application/json"
  })
  if (random.below(20) === 0) return new Request(url, { method: random.pick(["GET", "DELETE", "PUT"]), headers })
  const resume = Array.from({ length: random.below(3) }, () => ({
    interruptId: random.pick([...waiting, ...strange]),
    status: random.pick(["resolved", "cancelled"]),
    payload: random.pick([{ approved: true }, { approved: true, editedArgs: valueOf(random) }, valueOf(random)])
  }))
  const nearly = {
    threadId: random.pick(["t1", "t2", "t3"]),
    runId: random.pick(["r1", "r2", String(random.next())]),
    messages: [
      ...Array.from({ length: random.below(2) }, () => messageOf(random)),
      { id: random.pick(["1", "2", "3"]), role: "user", content: random.pick(["hi", "pay", "hi", valueOf(random)]) }
    ],
    state: valueOf(random),
    ...(random.below(3) === 0 ? { resume } : {})
  }
  const changed = random.below(3) > 0 ? nearly : { ...nearly, [random.pick(members)]: valueOf(random) }
  const body =
    random.below(10) === 0 ? random.pick(strange) : JSON.stringify(random.below(10) === 0 ? valueOf(random) : changed)
  return new Request(url, { method: "POST", headers, body })
}

describe("AgUi", () => {
  it.scopedLive(`answers ${REQUESTS} strange requests with events of the protocol, and none with a failure`, () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(21)
      const pay = Tool.make("pay", {
        description: "Pays",
        parameters: { amount: Schema.Number },
        requiresApproval: true,
        handler: () => Effect.succeed("paid")
      })
      const agents = [Agent.make("helper", { system: "helper", tools: [pay] })]
      const { dispose, handler } = AgentServer.toWebHandler(
        {
          agents,
          edges: [AgUi.make({ grace: "10 millis", state: true, view: { reasoning: true, toolResults: true } })],
          limits: { requestsPerMinute: 10_000_000, maxStreams: 10_000 }
        },
        AgentServers.services({
          agents,
          sessions: Layer.orDie(Sessions.layer()),
          script: ({ messages }) =>
            messages.at(-1)?.role === "user" && JSON.stringify(messages.at(-1)).includes("pay")
              ? { text: "I pay", calls: [{ name: "pay", params: { amount: 1 } }] }
              : "hi"
        })
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const outcomes = new Map<string, number>()
      const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      const waiting: Array<string> = []
      yield* Effect.promise(async () => {
        for (let n = 0; n < REQUESTS; n++) {
          const response = await handler(requestOf(random, waiting.slice(-4)))
          const text = await response.text()
          assert.isBelow(response.status, 500, text)
          count(String(response.status))
          if (response.status !== 200) continue
          const events: ReadonlyArray<AgUiEvent> = AgentServers.eventsOf(text).map(({ data }) => data)
          if (n % 4 === 0) await AgUiClients.read(events)
          const last = events.at(-1)
          count(last?.type === "RUN_FINISHED" ? last.outcome.type : (last?.type ?? "nothing"))
          if (last?.type === "RUN_FINISHED" && last.outcome.type === "interrupt") {
            waiting.push(...last.outcome.interrupts.map(({ id }) => id))
          }
        }
      })
      for (const outcome of ["200", "400", "404", "405", "409", "415", "success", "interrupt", "RUN_ERROR"]) {
        assert.isAbove(outcomes.get(outcome) ?? 0, REQUESTS / 200, JSON.stringify([...outcomes]))
      }
      assert.notInclude([...outcomes.keys()], "nothing")
    })
  )
})
