import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as AgentClient from "../../../src/http/api/AgentClient.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as InnerApproval from "../../support/InnerApproval.js"

const clientOf = (baseUrl: string, fetch: typeof globalThis.fetch = globalThis.fetch) =>
  AgentClient.make({ baseUrl, token: Redacted.make("token-ann") }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.Fetch, fetch)
  )

const isAsked = ({ _tag }: AgentEvent) => _tag === "ApprovalRequested" || _tag === "ApprovalResolved"

const approve = (client: AgentClient.Client, requestId: string) =>
  client.api.approvals.decideApproval({ path: { requestId }, payload: { decision: "approve" } })

for (const [how, agent] of [
  ["an agent that is called", InnerApproval.agent],
  ["an agent that took the conversation over", InnerApproval.handing]
] as const) {
  it.scopedLive(`what ${how} asks is among the events of the run, and so is its answer`, () =>
    Effect.gen(function* () {
      const { url } = yield* AgentServers.start({ agents: [agent], script: InnerApproval.script })
      const client = yield* clientOf(url)
      const events = yield* client.stream({ agent: "clerk", input: "pay" }).pipe(
        Stream.tap((event) => (event._tag === "ApprovalRequested" ? approve(client, event.id) : Effect.void)),
        Stream.runCollect
      )
      const all = Chunk.toReadonlyArray(events)
      const { runId } = all[0] as AgentEvent
      const asked = all.filter(isAsked)
      assert.deepStrictEqual(
        asked.map(({ _tag }) => _tag),
        ["ApprovalRequested", "ApprovalResolved"]
      )
      assert.deepInclude(asked[0], { name: "pay", agent: "payer", params: { amount: 5 } })
      assert.deepInclude(asked[1], { approved: true })
      for (const event of asked) assert.notStrictEqual(event.runId, runId)
      const numbers = all.filter((event) => event.runId === runId).map(({ seq }) => seq)
      assert.deepStrictEqual(
        numbers,
        Array.from(new Set(numbers)).sort((a, b) => a - b)
      )
      assert.strictEqual(all.at(-1)?._tag, "Finished")
    })
  )
}

/** A response whose bytes are heard as they come. An error of the listener breaks it. */
const heard = (response: Response, listener: (text: string) => void) =>
  new Response(
    response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) => {
          listener(Buffer.from(bytes).toString())
          controller.enqueue(bytes)
        }
      })
    ),
    response
  )

it.scopedLive("a request that is open when a stream breaks is told again on the next one, and once by the client", () =>
  Effect.gen(function* () {
    const { ask, url } = yield* AgentServers.start({ agents: [InnerApproval.agent], script: InnerApproval.script })
    const direct = yield* clientOf(url)
    const { runId } = (yield* ask("/v1/runs", { body: { agent: "clerk", input: "pay" } })).json.run
    const open = yield* Stream.runHead(Stream.filter(direct.events(runId), isAsked))
    const id = Option.match(open, {
      onNone: () => assert.fail("Nobody is asked"),
      onSome: (event) => ("id" in event ? event.id : "")
    })
    // The first stream breaks after it has told of the request; the second one goes on after the last numbered event.
    const froms: Array<string | null> = []
    const bodies: Array<string> = []
    const client = yield* clientOf(url, async (input, init) => {
      const response = await fetch(input, init)
      const address = new URL(String(input))
      if (!address.pathname.endsWith("/events")) return response
      froms.push(address.searchParams.get("from"))
      if (froms.length === 1) {
        return heard(response, (text) => {
          if (text.includes(id)) throw new Error("broken")
        })
      }
      return heard(response, (text) => {
        bodies.push(text)
        if (text.includes("ApprovalRequested")) Effect.runFork(Effect.ignore(approve(direct, id)))
      })
    })
    const events = Chunk.toReadonlyArray(yield* Stream.runCollect(client.events(runId)))
    assert.isAbove(Number(froms[1]), 0)
    assert.deepStrictEqual(
      events.filter(isAsked).map(({ _tag }) => _tag),
      ["ApprovalRequested", "ApprovalResolved"]
    )
    assert.strictEqual(events.at(-1)?._tag, "Finished")
    const frames = AgentServers.eventsOf(bodies.join(""))
    const told = frames.filter(({ event }) => event === "ApprovalRequested")
    assert.deepStrictEqual(
      told.map(({ id }) => id),
      [undefined]
    )
  })
)

it.scopedLive("others hear nothing of what a run asks", () =>
  Effect.gen(function* () {
    const { ask, url } = yield* AgentServers.start({ agents: [InnerApproval.agent], script: InnerApproval.script })
    const client = yield* clientOf(url)
    const { runId } = (yield* ask("/v1/runs", { body: { agent: "clerk", input: "pay" } })).json.run
    yield* Stream.runHead(Stream.filter(client.events(runId), isAsked))
    assert.strictEqual((yield* ask(`/v1/runs/${runId}/events`, { user: "bob" })).status, 404)
  })
)

it.effect("a client passes on all other events of nested runs, though their calls have the same ids", () =>
  Effect.gen(function* () {
    const base = { agent: "payer", seq: 0, at: 0 }
    const call = { ...base, _tag: "ToolCall", step: 1, id: "call_0", name: "pay", params: {} }
    const asked = { ...base, _tag: "ApprovalRequested", id: "approval", toolCallId: "call_0", name: "pay", params: {} }
    const sent = [
      { ...call, runId: "run-1" },
      { ...call, runId: "run-2" },
      { ...asked, runId: "run-2" },
      { ...asked, runId: "run-2" },
      { ...base, _tag: "Finished", runId: "run", reason: "completed", steps: 1, durationMs: 1 }
    ]
    const body = sent.map((event) => `event: ${event._tag}\ndata: ${JSON.stringify(event)}\n\n`).join("")
    const headers = { "content-type": "text/event-stream" }
    const client = yield* clientOf("http://127.0.0.1:1", async () => new Response(body, { headers }))
    const events = Chunk.toReadonlyArray(yield* Stream.runCollect(client.events("run")))
    assert.deepStrictEqual(
      events.map(({ _tag, runId }) => [_tag, runId]),
      [
        ["ToolCall", "run-1"],
        ["ToolCall", "run-2"],
        ["ApprovalRequested", "run-2"],
        ["Finished", "run"]
      ]
    )
  })
)
