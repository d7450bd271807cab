import type { Tool as PageTool } from "@ag-ui/client"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as AgentsTool from "../../../src/tool/client/PageTool.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { Page } from "../../support/AgUiClients.js"

const sessions = Layer.orDie(Sessions.layer())

const color: PageTool = {
  name: "color",
  description: "Colors the page",
  parameters: { type: "object", properties: { color: { type: "string" }, token: { type: "string" } } }
}

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { token: Schema.optional(Schema.String) },
  requiresApproval: true,
  handler: () => Effect.succeed("paid")
})

const resultsOf = ({ messages }: LlmClient.LlmRequest) =>
  messages.flatMap((message) => (message.role === "tool" ? message.content.map(({ result }) => String(result)) : []))

/** A server whose agent makes these calls, and then says what it heard. */
const start = (
  calls: ReadonlyArray<{ readonly name: string; readonly params?: object }>,
  setup: Partial<AgentServers.Setup> = {},
  options: AgUi.Options = {}
) =>
  AgentServers.start({
    agents: [Agent.make("clerk", { tools: [pay] })],
    edges: [AgUi.make(options)],
    script: (request) => {
      const results = resultsOf(request)
      const last = request.messages.at(-1)
      return results.length === 0 || (last?.role === "user" && String(last.content).includes("again"))
        ? { text: "I do it.", calls: calls as never }
        : results.toSorted().join(", ")
    },
    ...setup
  })

const pageOf = ({ url }: AgentServers.Server, threadId = "thread-1") => new Page({ url, agent: "clerk", threadId })

/** The calls of a page that have no result. */
const callsOf = (page: Page) => {
  const done = new Set(page.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])))
  return page.messages
    .flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
    .filter(({ id }) => !done.has(id))
}

const give = (page: Page, toolCallId: string, content: string, error?: string) =>
  page.addMessage({
    id: crypto.randomUUID(),
    role: "tool",
    toolCallId,
    content,
    ...(error === undefined ? {} : { error })
  })

const outcome = (page: Page) => page.events.at(-1)?.["outcome"]
const both = [undefined, sessions]

describe("tools of a page", () => {
  it.scopedLive("are run by the page, whose results the run goes on with", () =>
    Effect.gen(function* () {
      for (const kept of both) {
        const calls = ["red", "blue"].map((color) => ({ name: "color", params: { color, token: "abcdefgh12345678" } }))
        const server = yield* start(calls, kept === undefined ? {} : { sessions: kept })
        const page = pageOf(server)
        const tools = [color]
        page.addMessage({ id: "m1", role: "user", content: "color it" })
        yield* Effect.promise(() => page.runAgent({ tools }))
        assert.deepStrictEqual(outcome(page), { type: "success" })
        const made = callsOf(page)
        // They are its own calls: what looks like a secret stays.
        assert.sameDeepMembers(
          made.map(({ function: { arguments: args, name } }) => [name, JSON.parse(args)]),
          calls.map(({ name, params }) => [name, params])
        )
        const runId = page.events[0]?.["metadata"].lexigram.runId
        assert.strictEqual((yield* server.ask(`/v1/runs/${runId}`)).json.run.state, "waiting")
        give(page, made[0]!.id, "done")
        give(page, made[1]!.id, "", "There is no such color")
        const seen = page.events.length
        yield* Effect.promise(() => page.runAgent({ tools }))
        assert.strictEqual(page.events[seen]?.["metadata"].lexigram.runId, runId)
        assert.match(page.text, /There is no such color.*done|done.*There is no such color/)
        assert.lengthOf(
          page.messages.filter(({ role }) => role === "tool"),
          2
        )
        // The text before the calls does not come again.
        assert.lengthOf(
          page.messages.filter(({ content }) => content === "I do it."),
          page.messages.some(({ content }) => content === "I do it.") ? 1 : 0
        )
        yield* Effect.promise(() => page.send("again"))
        assert.strictEqual((yield* server.ask(`/v1/runs/${runId}`)).json.run.state, "completed")
      }
    })
  )

  it.scopedLive("may give their results one after the other, and are given up with the next message", () =>
    Effect.gen(function* () {
      const calls = ["red", "blue"].map((color) => ({ name: "color", params: { color } }))
      const server = yield* start(calls, { sessions })
      const page = pageOf(server)
      page.addMessage({ id: "m1", role: "user", content: "color it" })
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      const first = page.events[0]?.["metadata"].lexigram.runId
      const [one, other] = callsOf(page)
      give(page, one!.id, "one")
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      assert.deepStrictEqual(
        callsOf(page).map(({ id }) => id),
        [other!.id]
      )
      page.addMessage({ id: "m2", role: "user", content: "color it again" })
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      assert.strictEqual((yield* server.ask(`/v1/runs/${first}`)).json.run.state, "interrupted")
      const late = callsOf(page).slice(-2)
      for (const { id } of late) give(page, id, "two")
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      assert.strictEqual(page.text, "two, two")
    })
  )

  it.scopedLive("take the same results again, and give the page the same answer", () =>
    Effect.gen(function* () {
      for (const kept of both) {
        const calls = ["red", "blue"].map((color) => ({ name: "color", params: { color } }))
        const server = yield* start(calls, kept === undefined ? {} : { sessions: kept })
        const page = pageOf(server)
        page.addMessage({ id: "m1", role: "user", content: "color it" })
        yield* Effect.promise(() => page.runAgent({ tools: [color] }))
        const [one, other] = callsOf(page)
        const sent = structuredClone(page.messages)
        /** A page that has what this one had before it sent the results. */
        const twin = (...results: ReadonlyArray<string>) => {
          const { url } = server
          const made = new Page({ url, agent: "clerk", threadId: "thread-1", messages: structuredClone(sent) })
          for (const [at, { id }] of [one!, other!].entries())
            if (results[at] !== undefined) give(made, id, results[at])
          return made
        }
        const answer = (made: Page) =>
          Effect.promise(async () => {
            await made.runAgent({ tools: [color] }).catch(() => {})
            return made
          })
        // One of two results again, while the run waits for the other.
        const half = (yield* answer(twin("one"))).events
        assert.deepStrictEqual(half.at(-1)?.["outcome"], { type: "success" })
        const again = (yield* answer(twin("one"))).events
        assert.deepStrictEqual(
          again.map(({ type }) => type),
          half.map(({ type }) => type)
        )
        const strange = yield* answer(twin("another"))
        assert.strictEqual(strange.events.at(-1)?.["type"], "RUN_ERROR")
        // The whole twice at once, and again when the run has ended.
        const pages = yield* Effect.all([answer(twin("one", "two")), answer(twin("one", "two"))], {
          concurrency: "unbounded"
        })
        pages.push(yield* answer(twin("one", "two")))
        for (const { text } of pages) assert.strictEqual(text, "one, two")
        const runs = pages.map(({ events }) => events[0]?.["metadata"].lexigram.runId)
        assert.strictEqual(new Set(runs).size, 1)
        const changed = yield* answer(twin("one", "three"))
        assert.strictEqual(changed.events.at(-1)?.["type"], "RUN_ERROR")
        const { url } = server
        const bob = new Page({ url, agent: "clerk", threadId: "thread-1", user: "bob", messages: sent })
        give(bob, one!.id, "one")
        assert.strictEqual((yield* answer(bob)).events.at(-1)?.["type"], "RUN_ERROR")
      }
    })
  )

  it.scopedLive("wait beside a person's decision, and are answered with it", () =>
    Effect.gen(function* () {
      const server = yield* start([{ name: "pay" }, { name: "color", params: { color: "red" } }], { sessions })
      const page = pageOf(server)
      page.addMessage({ id: "m1", role: "user", content: "do it" })
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      assert.strictEqual(outcome(page).type, "interrupt")
      assert.deepStrictEqual(
        outcome(page).interrupts.map(({ reason }: { readonly reason: string }) => reason),
        ["tool_call"]
      )
      const call = callsOf(page).find(({ function: { name } }) => name === "color")
      give(page, call!.id, "colored")
      yield* Effect.promise(() => page.answer({ approved: true }))
      assert.strictEqual(page.text, "colored, paid")
    })
  )

  it.scopedLive("show nothing more of a tool of the agent with the name of one of the page", () =>
    Effect.gen(function* () {
      const server = yield* start([{ name: "pay", params: { token: "abcdefgh12345678" } }], { sessions })
      const page = pageOf(server)
      yield* Effect.promise(() => page.send("pay"))
      const curious = pageOf(server)
      yield* Effect.promise(() => curious.connectAgent({ tools: [{ ...color, name: "pay" }] }))
      assert.include(JSON.stringify(curious.events), '"pay"')
      assert.notInclude(JSON.stringify(curious.events), "abcdefgh12345678")
      const taken = pageOf(server, "thread-2")
      taken.addMessage({ id: "m1", role: "user", content: "pay" })
      const failed = yield* Effect.promise(() =>
        taken.runAgent({ tools: [{ ...color, name: "pay" }] }).then(
          () => "",
          (error) => String(error)
        )
      )
      assert.include(failed, "400")
    })
  )

  it.scopedLive("give no results that nobody waits for, and wait as long as the server says", () =>
    Effect.gen(function* () {
      const server = yield* start([{ name: "color", params: {} }], { sessions }, { callsExpireAfter: "1 second" })
      const page = pageOf(server)
      page.addMessage({ id: "m1", role: "user", content: "color it" })
      yield* Effect.promise(() => page.runAgent({ tools: [{ ...color, parameters: {} }] }))
      const runId = page.events[0]?.["metadata"].lexigram.runId
      yield* Effect.repeat(Effect.delay(server.ask(`/v1/runs/${runId}`), "20 millis"), {
        until: ({ json }) => json.run.state === "completed"
      })
      give(page, callsOf(page)[0]!.id, "late")
      const last = yield* Effect.promise(async () => {
        await page.runAgent({ tools: [color] }).catch(() => {})
        return page.events.at(-1)
      })
      assert.strictEqual(last?.["type"], "RUN_ERROR")
      assert.include(last?.["message"], "No call of the thread waits")
    })
  )

  it.scopedLive("that the agent declares are asked for as interrupts: a page need not know them", () =>
    Effect.gen(function* () {
      const locate = AgentsTool.make("locate", { description: "Where the user is", parameters: { on: Schema.String } })
      const server = yield* start([{ name: "locate", params: { on: "map" } }], {
        agents: [Agent.make("clerk", { tools: [locate] })]
      })
      const page = pageOf(server)
      page.addMessage({ id: "m1", role: "user", content: "go" })
      yield* Effect.promise(() => page.runAgent({ tools: [color] }))
      const { interrupts, type } = outcome(page) as any
      assert.strictEqual(type, "interrupt")
      assert.deepInclude(interrupts[0], { reason: "input_required" })
      assert.deepStrictEqual(
        callsOf(page).map(({ function: { arguments: args } }) => JSON.parse(args)),
        [{ on: "map" }]
      )
      const resume = [{ interruptId: interrupts[0].id, status: "resolved" as const, payload: { result: "Delft" } }]
      yield* Effect.promise(() => page.runAgent({ tools: [color], resume }))
      assert.include(page.text, "Delft")
      // A page cannot bring a tool by that name.
      page.addMessage({ id: "m2", role: "user", content: "go" })
      const refused = yield* Effect.promise(() =>
        page.runAgent({ tools: [{ ...color, name: "locate" }] }).then(
          () => "taken",
          (error: unknown) => String(error)
        )
      )
      assert.include(refused, "400")
    })
  )
})
