import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import { LlmRateLimitError } from "../../../src/llm/model/LlmError.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Elicitation from "../../../src/tool/Elicitation.js"
import * as AgentServers from "../../support/AgentServers.js"
import { Page } from "../../support/AgUiClients.js"
import * as UiPages from "../../support/UiPages.js"

const helper = Agent.make("helper", { system: "secret prompt" })
const sessions = Layer.orDie(Sessions.layer())
const view = { reasoning: true, toolResults: true }
const pieces = Array.from({ length: 20 }, (_, n) => `word ${n} `)

const contents = ({ messages }: Page) => messages.map(({ content, role }) => [role, content])
const outcome = (page: Page) => page.events.at(-1)?.["outcome"]

/** A server whose agent answers `answer <n>`, and what its model was asked. */
const answering = (setup: Partial<AgentServers.Setup> = {}) =>
  Effect.gen(function* () {
    const prompts: Array<string> = []
    const server = yield* AgentServers.start({
      agents: [helper],
      edges: [AgUi.make()],
      script: ({ messages }) => {
        prompts.push(JSON.stringify(messages))
        return `answer ${prompts.length}`
      },
      ...setup
    })
    return { ...server, prompts }
  })

/** An agent that pays if a person allows it, and its server. */
const paying = (edge: AgUi.Options = {}, calls = [{ name: "pay", params: { amount: 5 } }]) =>
  Effect.gen(function* () {
    const paid: Array<unknown> = []
    const pay = Tool.make("pay", {
      description: "Pays",
      parameters: { amount: Schema.Number },
      requiresApproval: true,
      handler: (params) =>
        Effect.as(
          Effect.sync(() => paid.push(params)),
          "paid"
        )
    })
    let asked = 0
    const server = yield* AgentServers.start({
      agents: [Agent.make("clerk", { tools: [pay] })],
      sessions,
      edges: [AgUi.make({ view, ...edge })],
      script: () => (asked++ === 0 ? { text: "I pay.", calls } : "done")
    })
    return { ...server, paid }
  })

const pageOf = (server: AgentServers.Server, agent: string, threadId = "thread-1", user = "ann") =>
  new Page({ url: server.url, agent, threadId, user })

describe("AgUi", () => {
  it.scopedLive("goes on over several messages, each with the history of the session", () =>
    Effect.gen(function* () {
      const server = yield* answering({ sessions })
      const page = pageOf(server, "helper")
      yield* Effect.promise(() => page.send("first question"))
      assert.deepStrictEqual(page.types, [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED"
      ])
      assert.deepStrictEqual(outcome(page), { type: "success" })
      assert.strictEqual(page.events[0]?.["protocolVersion"], "1.0")
      yield* Effect.promise(() => page.send("second question"))
      assert.strictEqual(page.text, "answer 2")
      // Each earlier message comes once: from the session, and not from the page too.
      assert.strictEqual(server.prompts[1]?.split("first question").length, 2)
      assert.include(server.prompts[1], "answer 1")
      const loaded = pageOf(server, "helper")
      yield* Effect.promise(() => loaded.connectAgent())
      assert.deepStrictEqual(contents(loaded), [
        ["user", "first question"],
        ["assistant", "answer 1"],
        ["user", "second question"],
        ["assistant", "answer 2"]
      ])
    })
  )

  it.scopedLive("answers again in place of an answer", () =>
    Effect.gen(function* () {
      const server = yield* answering({ sessions })
      const page = pageOf(server, "helper")
      yield* Effect.promise(async () => {
        await page.send("question", "m1")
        page.setMessages([])
        await page.send("question", "m1")
      })
      assert.deepStrictEqual(contents(page), [
        ["user", "question"],
        ["assistant", "answer 2"]
      ])
      assert.notInclude(server.prompts[1], "answer 1")
    })
  )

  it.scopedLive("takes the history from a client of a server without sessions", () =>
    Effect.gen(function* () {
      const server = yield* answering()
      const page = pageOf(server, "helper")
      yield* Effect.promise(() => page.send("first question"))
      yield* Effect.promise(() => page.send("second question"))
      assert.include(server.prompts[1], "first question")
      assert.include(server.prompts[1], "answer 1")
      assert.strictEqual(page.text, "answer 2")
    })
  )

  it.scopedLive("starts one run for a request that comes again, and none for another one with its id", () =>
    Effect.gen(function* () {
      const server = yield* answering({ sessions })
      const message = { id: "m1", role: "user", content: "question" }
      const body = { threadId: "thread-1", runId: "run-1", messages: [message] }
      const send = (body: unknown, user = "ann") => server.ask("/agui/helper", { body, user })
      const both = yield* Effect.all([send(body), send(body)], { concurrency: 2 })
      const third = yield* send(body)
      const ids = [...both, third].map(({ headers }) => headers.get("lexigram-run-id"))
      assert.strictEqual(new Set(ids).size, 1, String(ids))
      assert.strictEqual(server.prompts.length, 1)
      assert.include(third.text, "answer 1")
      assert.strictEqual((yield* send({ ...body, messages: [{ ...message, content: "other" }] })).status, 409)
      const other = yield* send({ ...body, threadId: "thread-2" }, "bob")
      assert.notStrictEqual(other.headers.get("lexigram-run-id"), ids[0])
    })
  )

  it.scopedLive("shows calls of tools, reasoning and results, as far as the view allows", () =>
    Effect.gen(function* () {
      const look = Tool.make("look", {
        description: "Looks",
        parameters: { at: Schema.String },
        handler: () => Effect.succeed({ seen: "a tree" })
      })
      for (const shown of [view, undefined]) {
        let calls = 0
        const server = yield* AgentServers.start({
          agents: [Agent.make("seer", { tools: [look] })],
          edges: [AgUi.make({ view: shown })],
          script: () =>
            calls++ === 0
              ? { text: "let me see", reasoning: "I must look", calls: [{ name: "look", params: { at: "hill" } }] }
              : "a tree"
        })
        const page = pageOf(server, "seer")
        yield* Effect.promise(() => page.send("what is there?"))
        assert.deepStrictEqual(contents(page), [
          ["user", "what is there?"],
          ...(shown === undefined ? [] : [["reasoning", "I must look"]]),
          ["assistant", "let me see"],
          ["tool", shown === undefined ? "" : '{"seen":"a tree"}'],
          ["assistant", "a tree"]
        ])
        const call = page.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
        assert.deepInclude(call[0]?.function, { name: "look", arguments: '{"at":"hill"}' })
      }
    })
  )

  it.scopedLive("approves a call by the next run of the thread", () =>
    Effect.gen(function* () {
      const server = yield* paying()
      const page = pageOf(server, "clerk")
      yield* Effect.promise(() => page.send("pay 5"))
      const { interrupt } = page
      const call = page.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
      assert.deepInclude(interrupt, { reason: "tool_call", toolCallId: call[0]?.id })
      assert.deepStrictEqual(server.paid, [])
      yield* Effect.promise(() => page.answer({ approved: true }))
      assert.deepStrictEqual(server.paid, [{ amount: 5 }])
      assert.deepStrictEqual(contents(page), [
        ["user", "pay 5"],
        ["assistant", "I pay."],
        ["tool", "paid"],
        ["assistant", "done"]
      ])
      assert.deepStrictEqual(page.pendingInterrupts, [])
      assert.deepStrictEqual(outcome(page), { type: "success" })
    })
  )

  it.scopedLive("denies a call, changes its arguments, or puts the request aside", () =>
    Effect.gen(function* () {
      const cases = [
        [{ approved: false, reason: "too much" }, "resolved", []],
        [{ approved: true, editedArgs: { amount: 3 } }, "resolved", [{ amount: 3 }]],
        [undefined, "cancelled", []]
      ] as const
      for (const [payload, status, paid] of cases) {
        const server = yield* paying()
        const page = pageOf(server, "clerk")
        yield* Effect.promise(() => page.send("pay 5"))
        const waiting = page.pendingInterrupts
        yield* Effect.promise(() => page.answer(payload, status))
        assert.strictEqual(page.text, "done")
        // A client that has missed the end answers again.
        const again = new Page({ ...server, agent: "clerk", threadId: "thread-1", messages: page.messages.slice(0, 2) })
        again.pendingInterrupts = waiting
        yield* Effect.promise(() => again.answer(payload, status))
        assert.deepStrictEqual(contents(again), contents(page))
        assert.deepStrictEqual(server.paid, [...paid])
      }
    })
  )

  it.scopedLive("takes the answers to all that a run waits for, again too, and no others", () =>
    Effect.gen(function* () {
      const calls = [1, 2].map((amount) => ({ name: "pay", params: { amount } }))
      const server = yield* paying({}, calls)
      const page = pageOf(server, "clerk")
      yield* Effect.promise(() => page.send("pay both"))
      const [one, two] = page.pendingInterrupts.map(({ id: interruptId }) => ({
        interruptId,
        status: "resolved",
        payload: { approved: true }
      }))
      const send = (resume: ReadonlyArray<unknown>, more: object = {}, user = "ann") =>
        server.ask("/agui/clerk", {
          body: { threadId: "thread-1", runId: "run-2", messages: page.messages, resume, ...more },
          user
        })
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [yield* send([one]), "conflict"],
        [yield* send([one, one, two]), "invalid"],
        [yield* send([one, { ...two, payload: "yes" }]), "invalid"],
        [yield* send([one, { ...two, interruptId: "no-such" }]), "unknown"],
        [yield* send([one, two], {}, "bob"), "unknown"],
        [yield* send([one, two], { threadId: "thread-2" }), "unknown"],
        [yield* send([], { messages: [{ id: "m9", role: "user", content: "never mind" }] }), "conflict"]
      ]
      for (const [answer, reason] of cases) {
        const { headers, text } = answer as AgentServers.Answered
        const [event] = AgentServers.eventsOf(text)
        assert.strictEqual(headers.get("content-type"), "text/event-stream")
        assert.strictEqual(event?.data.type, "RUN_ERROR", text)
        assert.strictEqual(event?.data.code, reason, text)
      }
      assert.deepStrictEqual(server.paid, [])
      const done = yield* send([one, two])
      assert.include(done.text, '"delta":"done"')
      const again = yield* send([two, one])
      assert.include(again.text, '"delta":"done"')
      assert.strictEqual(server.paid.length, 2)
      const otherwise = yield* send([one, { ...two, payload: { approved: false } }])
      assert.include(otherwise.text, "RUN_ERROR")
    })
  )

  it.scopedLive("lets a client put aside what is decided elsewhere, or what nobody waits for", () =>
    Effect.gen(function* () {
      const server = yield* paying()
      const page = pageOf(server, "clerk")
      yield* Effect.promise(() => page.send("pay 5"))
      const path = `/v1/approvals/${encodeURIComponent(page.interrupt.id)}/decision`
      yield* server.ask(path, { body: { decision: "deny" } })
      const waiting = page.pendingInterrupts
      yield* Effect.promise(() => page.answer({ approved: true }))
      assert.deepInclude(page.events.at(-1) ?? {}, { type: "RUN_ERROR", code: "conflict" })
      page.pendingInterrupts = waiting
      yield* Effect.promise(() => page.answer(undefined, "cancelled"))
      assert.strictEqual(page.text, "done")
      page.pendingInterrupts = [{ id: "no-such", reason: "tool_call" }]
      yield* Effect.promise(() => page.answer(undefined, "cancelled"))
      assert.deepStrictEqual(page.types.slice(-2), ["RUN_STARTED", "RUN_FINISHED"])
      page.pendingInterrupts = [{ id: "no-such", reason: "tool_call" }]
      page.addMessage({ id: "m2", role: "user", content: "go on" })
      yield* Effect.promise(() => page.answer(undefined, "cancelled"))
      assert.strictEqual(page.text, "done")
      assert.strictEqual(page.messages.at(-2)?.id, "m2")
      assert.deepStrictEqual(server.paid, [])
    })
  )

  it.scopedLive("shows what a thread waits for to a page that is loaded anew", () =>
    Effect.gen(function* () {
      const server = yield* paying({ grace: "1 millis" })
      yield* Effect.promise(() => pageOf(server, "clerk").send("pay 5"))
      const page = pageOf(server, "clerk")
      yield* Effect.promise(() => page.connectAgent())
      assert.deepStrictEqual(contents(page), [
        ["user", "pay 5"],
        ["assistant", "I pay."]
      ])
      yield* Effect.promise(() => page.answer({ approved: true }))
      assert.deepStrictEqual(server.paid, [{ amount: 5 }])
      assert.strictEqual(page.text, "done")
    })
  )

  it.scopedLive("asks a person a question of a tool", () =>
    Effect.gen(function* () {
      const order = Tool.make("order", {
        description: "Orders",
        parameters: {},
        handler: () =>
          Effect.map(
            Elicitation.ask({
              message: "Which size?",
              schema: Schema.Struct({ size: Schema.String }),
              expiresAfter: "1 hour"
            }),
            (reply) => JSON.stringify(reply)
          )
      })
      let calls = 0
      const server = yield* AgentServers.start({
        agents: [Agent.make("shop", { tools: [order] as never })],
        edges: [AgUi.make({ view })],
        script: () => (calls++ === 0 ? { calls: [{ name: "order", params: {} }] } : "ordered")
      })
      const page = pageOf(server, "shop")
      yield* Effect.promise(() => page.send("a shirt"))
      assert.deepInclude(page.interrupt, { reason: "input_required", message: "Which size?" })
      assert.deepNestedInclude(page.interrupt.responseSchema, { "properties.size.type": "string" })
      assert.match(page.interrupt.expiresAt, /^\d{4}-.*Z$/)
      const waiting = page.pendingInterrupts
      yield* Effect.promise(() => page.answer({ size: 1 }))
      assert.strictEqual(page.types.at(-1), "RUN_ERROR")
      page.pendingInterrupts = waiting
      yield* Effect.promise(() => page.answer({ size: "L" }))
      assert.strictEqual(page.text, "ordered")
      assert.include(JSON.stringify(page.messages), "accept")
    })
  )

  it.scopedLive("ends a run that fails, and tells no more than its public view", () =>
    Effect.gen(function* () {
      const server = yield* answering({
        script: () => ({ fail: new LlmRateLimitError({ provider: "test", message: "the account of secret prompt" }) })
      })
      const page = pageOf(server, "helper")
      yield* Effect.promise(() => page.send("hi"))
      assert.deepInclude(page.events.at(-1) ?? {}, {
        type: "RUN_ERROR",
        message: "The model is busy",
        code: "LEX_ERR_LLM_101"
      })
      assert.notInclude(JSON.stringify(page.events), "secret prompt")
    })
  )

  it.scopedLive("reconnects in mid-answer, and gets all of it once", () =>
    Effect.gen(function* () {
      for (const kept of [sessions, undefined]) {
        const server = yield* AgentServers.start({
          agents: [helper],
          ...(kept === undefined ? {} : { sessions: kept }),
          edges: [AgUi.make()],
          script: () => ({ text: pieces, partDelay: "10 millis" })
        })
        const page = pageOf(server, "helper")
        yield* Effect.promise(async () => {
          const sent = page.send("count")
          await UiPages.until(() => page.text.startsWith("word 0 "))
          page.abortRun()
          await sent
          assert.isBelow(page.text.length, pieces.join("").length)
          await page.connectAgent()
        })
        assert.deepStrictEqual(contents(page), [
          ["user", "count"],
          ["assistant", pieces.join("")]
        ])
      }
    })
  )

  it.scopedLive("interrupts an answer that nobody follows, after the grace and unless it is detached", () =>
    Effect.gen(function* () {
      for (const detach of [false, true]) {
        const server = yield* AgentServers.start({
          agents: [helper],
          edges: [AgUi.make({ grace: "20 millis", detach })],
          script: () => ({ text: ["begin ", "end"], partDelay: detach ? "100 millis" : "1 hour" })
        })
        const page = pageOf(server, "helper")
        yield* Effect.promise(async () => {
          const sent = page.send("go")
          await UiPages.until(() => page.types.includes("STEP_STARTED"))
          page.abortRun()
          await sent
        })
        const state = Effect.map(server.ask("/v1/runs"), ({ json }) => json.runs[0]?.state)
        const ended = yield* Effect.repeat(Effect.zipRight(Effect.sleep(5), state), { until: (is) => is !== "running" })
        assert.strictEqual(ended, detach ? "completed" : "interrupted")
      }
    })
  )

  it.scopedLive("stops an answer for a new message of the thread, and tells its reader", () =>
    Effect.gen(function* () {
      let asked = 0
      const server = yield* answering({
        sessions,
        script: () => (asked++ === 0 ? { text: ["begin ", "end"], partDelay: "1 hour" } : "answer")
      })
      const page = pageOf(server, "helper")
      const other = pageOf(server, "helper")
      const sent = page.send("go")
      yield* Effect.promise(async () => {
        await UiPages.until(() => page.types.includes("STEP_STARTED"))
        await other.send("stop")
        await sent
      })
      assert.deepStrictEqual(outcome(page), { type: "cancelled" })
      assert.strictEqual(other.text, "answer")
    })
  )

  it.scopedLive("tells readers that a run was interrupted, and that it goes on until then", () =>
    Effect.gen(function* () {
      const server = yield* AgentServers.start({
        agents: [helper],
        edges: [AgUi.make({ heartbeat: "1 millis", retry: "1 second" })],
        script: () => ({ text: ["begin ", "end"], partDelay: "1 hour" })
      })
      const page = pageOf(server, "helper")
      const sent = page.send("go")
      yield* Effect.promise(() => UiPages.until(() => page.types.includes("STEP_STARTED")))
      const { json } = yield* server.ask("/v1/runs")
      yield* server.ask(`/v1/runs/${json.runs[0].runId}/interrupt`, { method: "POST" })
      yield* Effect.promise(() => sent)
      assert.deepStrictEqual(outcome(page), { type: "cancelled" })
    })
  )
})
