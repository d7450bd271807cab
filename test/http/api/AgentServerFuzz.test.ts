import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as SeededRandom from "../../support/SeededRandom.js"

/** `npm run test:crash` sends more. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 2_000)

const strange = [
  "",
  "null",
  "0",
  "-1",
  "1e999",
  "[]",
  "{}",
  "true",
  '"',
  "\u0000",
  "\ud800",
  "ä".repeat(300),
  "x".repeat(300),
  "../../etc/passwd",
  "%00",
  "%ff%fe",
  "%2e%2e%2f",
  "__proto__",
  "constructor",
  "toString",
  "'; DROP TABLE runs; --",
  "\u0024{7*7}",
  "<script>alert(1)</script>",
  "a\r\nSet-Cookie: b=c"
]

const members = [
  "agent",
  "input",
  "sessionId",
  "labels",
  "startWith",
  "message",
  "step",
  "decision",
  "params",
  "reason",
  "id",
  "metadata",
  "variables",
  "status",
  "from",
  "conflict",
  "turns",
  "branchName",
  "fromCheckpoint"
]

/** A value of JSON that is nearly what an endpoint takes. */
const valueOf = (random: SeededRandom.SeededRandom, depth = 0): unknown => {
  const kind = random.below(depth > 3 ? 5 : 8)
  if (kind === 0) return random.pick(strange)
  if (kind === 1) return random.below(1000) - 500
  if (kind === 2) return random.pick([null, true, false])
  if (kind === 3) return random.pick(["helper", "approve", "deny", "run", "user", "last", "called"])
  if (kind === 4)
    return { type: random.pick(["text", "file", "image"]), text: "a", mediaType: "image/png", data: "AAAA" }
  if (kind === 5) return Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1))
  return Object.fromEntries(
    Array.from({ length: random.below(6) }, () => [random.pick([...members, ...strange]), valueOf(random, depth + 1)])
  )
}

const paths = [
  "/v1/agents",
  "/v1/agents/*",
  "/v1/runs",
  "/v1/runs/stream",
  "/v1/runs/*",
  "/v1/runs/*/events",
  "/v1/runs/*/interrupt",
  "/v1/runs/*/messages",
  "/v1/runs/*/resume",
  "/v1/runs/*/fork",
  "/v1/approvals",
  "/v1/approvals/*",
  "/v1/approvals/*/decision",
  "/v1/sessions",
  "/v1/sessions/*",
  "/v1/sessions/*/status",
  "/v1/sessions/*/turns",
  "/v1/sessions/*/tree",
  "/v1/sessions/*/checkpoints",
  "/v1/sessions/*/fork",
  "/v1/sessions/*/merge",
  "/v1/checkpoints/*/restore",
  "/v1/checkpoints/*/diff/*",
  "/v1/memory",
  "/v1/memory/*",
  "/v1/memory/search",
  "/v1/owner",
  "/v1/owner/export",
  "/v1/skills",
  "/v1/metrics",
  "/v1/health",
  "/v1/openapi.json",
  "/*"
]

const names = [
  "wait",
  "detach",
  "from",
  "limit",
  "cursor",
  "agent",
  "sessionId",
  "state",
  "createdFrom",
  "runId",
  "before",
  "query",
  "status",
  "order"
]

const requestOf = (random: SeededRandom.SeededRandom, ids: ReadonlyArray<string>): Request => {
  const text = () => random.pick([...strange, ...ids, "helper", "s"])
  const template = random.pick(paths)
  const path = template.replaceAll("*", () => encodeURIComponent(text().replace(/[\ud800-\udfff]/g, "x")))
  const url = new URL(`http://localhost${path}`)
  for (let n = random.below(3); n > 0; n--) url.searchParams.append(random.pick(names), text())
  const right = /(?:stream|interrupt|messages|resume|fork|decision|status|merge|restore)$/.test(template)
    ? "POST"
    : /(?:runs|sessions|checkpoints)$/.test(template)
      ? random.pick(["GET", "POST"])
      : random.pick(["GET", "GET", "PATCH", "DELETE"])
  const method = random.below(10) > 0 ? right : random.pick(["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "POST"])
  const headers = new Headers({ authorization: `Bearer token-${random.pick(["ann", "bob"])}` })
  for (let n = random.below(3); n > 0; n--) {
    const name = random.pick(["last-event-id", "idempotency-key", "content-type", "x-request-id", "origin", "accept"])
    try {
      headers.set(name, text())
    } catch {
      // No client can send it.
    }
  }
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers })
  if (random.below(5) > 0) headers.set("content-type", "application/json")
  const nearly = {
    agent: "helper",
    input: "go",
    message: "go",
    decision: "approve",
    step: 0,
    status: "active",
    from: "s"
  }
  const changed = { ...nearly, ...(random.below(2) === 0 ? {} : { [random.pick(members)]: valueOf(random) }) }
  const body = random.below(4) === 0 ? text() : JSON.stringify(random.below(5) === 0 ? valueOf(random) : changed)
  return new Request(url, { method, headers, body })
}

describe("a server of agents", () => {
  it.scopedLive(`answers ${REQUESTS} strange requests, and none with a failure of its own`, () =>
    Effect.gen(function* () {
      const random = SeededRandom.make(11)
      const agents = [Agent.make("helper", { system: "helper" })]
      const logged: Array<unknown> = []
      const { dispose, handler } = AgentServer.toWebHandler(
        { agents, limits: { requestsPerMinute: 10_000_000, maxStreams: 10_000 }, grace: "10 millis" },
        Layer.merge(
          AgentServers.services({
            agents,
            sessions: Layer.orDie(Sessions.layer()),
            others: Layer.orDie(DefaultMemory.layer())
          }),
          Logger.replace(
            Logger.defaultLogger,
            Logger.make(({ logLevel, message }) => {
              if (logLevel._tag === "Error" || logLevel._tag === "Fatal") logged.push(message)
            })
          )
        )
      )
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const statuses = new Map<number, number>()
      const ids: Array<string> = []
      yield* Effect.promise(async () => {
        for (let n = 0; n < REQUESTS; n++) {
          const request = requestOf(random, ids.slice(-20))
          const told = `${request.method} ${request.url}`
          const response = await handler(request)
          const text = await response.text()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          assert.isBelow(response.status, 502, `${told}: ${text}`)
          assert.notStrictEqual(response.status, 500, `${told}: ${text}`)
          if (response.status >= 400 && request.method !== "HEAD") {
            assert.strictEqual(response.headers.get("content-type"), "application/problem+json", told)
            assert.strictEqual(JSON.parse(text).status, response.status, told)
          }
          const { run } = /^\{"run":/.test(text) ? JSON.parse(text) : {}
          if (run !== undefined) ids.push(run.runId)
        }
      })
      assert.deepStrictEqual(logged, [])
      // The requests reach the endpoints, and not only their refusals.
      for (const status of [200, 202, 400, 404, 405, 409, 415, 501]) {
        assert.isAbove(statuses.get(status) ?? 0, REQUESTS / 200, JSON.stringify([...statuses]))
      }
    })
  )
})
