import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Elicitation from "../../../src/tool/Elicitation.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as InnerApproval from "../../support/InnerApproval.js"
import * as UiPages from "../../support/UiPages.js"

const helper = Agent.make("helper", { system: "secret prompt" })
const sessions = Layer.orDie(Sessions.layer())
const view = { reasoning: true, toolResults: true }

const pieces = Array.from({ length: 20 }, (_, n) => `word ${n} `)

const toolOf = (page: UiPages.Page) => page.messages.at(-1)?.parts.find(({ toolCallId }) => toolCallId !== undefined)

/** An agent that pays if a person allows it, and its server. */
const paying = (edge: UiChat.Options = {}) =>
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
    let calls = 0
    const server = yield* AgentServers.start({
      agents: [Agent.make("clerk", { tools: [pay] })],
      sessions,
      edges: [UiChat.make({ view, ...edge })],
      script: () => (calls++ === 0 ? { calls: [{ name: "pay", params: { amount: 5 } }] } : "done")
    })
    return { ...server, paid }
  })

for (const [name, make] of UiPages.versions) {
  describe(`a chat of ${name}`, () => {
    it.scopedLive("goes on over several messages, each with the history of the session", () =>
      Effect.gen(function* () {
        const prompts: Array<string> = []
        const { ask, url } = yield* AgentServers.start({
          agents: [helper],
          sessions,
          edges: [UiChat.make()],
          script: ({ messages }) => {
            prompts.push(JSON.stringify(messages))
            return `answer ${prompts.length}`
          }
        })
        const page = make({ url, agent: "helper", id: "chat-1" })
        yield* Effect.promise(() => page.sendMessage({ text: "first question" }))
        assert.strictEqual(page.status, "ready", String(page.error))
        assert.strictEqual(UiPages.lastText(page), "answer 1")
        yield* Effect.promise(() => page.sendMessage({ text: "second question" }))
        assert.strictEqual(UiPages.lastText(page), "answer 2")
        // Each earlier message comes once: from the session, and not from the page too.
        assert.strictEqual(prompts[1]?.split("first question").length, 2)
        assert.include(prompts[1], "answer 1")
        const { json } = yield* ask("/ui/chat/helper/chat-1/messages")
        assert.deepStrictEqual(
          json.messages.map(({ parts, role }: any) => [role, parts.at(-1).text]),
          [
            ["user", "first question"],
            ["assistant", "answer 1"],
            ["user", "second question"],
            ["assistant", "answer 2"]
          ]
        )
        assert.strictEqual(json.messages.at(-1).id, page.messages.at(-1)?.id)
        const last = yield* ask("/ui/chat/helper/chat-1/messages?limit=2")
        assert.strictEqual(last.json.messages.length, 2)
        const older = yield* ask(`/ui/chat/helper/chat-1/messages?limit=2&before=${last.json.next}`)
        assert.strictEqual(older.json.messages[0].parts[0].text, "first question")
        assert.isUndefined(older.json.next)
        assert.strictEqual((yield* ask("/ui/chat/helper/chat-1/messages", { user: "bob" })).status, 404)
      })
    )

    it.scopedLive("answers again in place of an answer", () =>
      Effect.gen(function* () {
        const prompts: Array<string> = []
        const { ask, url } = yield* AgentServers.start({
          agents: [helper],
          sessions,
          edges: [UiChat.make()],
          script: ({ messages }) => {
            prompts.push(JSON.stringify(messages))
            return `answer ${prompts.length}`
          }
        })
        const page = make({ url, agent: "helper", id: "chat-1" })
        yield* Effect.promise(() => page.sendMessage({ text: "question" }))
        yield* Effect.promise(() => page.regenerate())
        assert.strictEqual(page.messages.length, 2)
        assert.strictEqual(UiPages.lastText(page), "answer 2")
        assert.notInclude(prompts[1], "answer 1")
        const { json } = yield* ask("/ui/chat/helper/chat-1/messages")
        assert.deepStrictEqual(
          json.messages.map(({ parts }: any) => parts.at(-1).text),
          ["question", "answer 2"]
        )
      })
    )

    it.scopedLive("sends the history itself to a server without sessions", () =>
      Effect.gen(function* () {
        const prompts: Array<string> = []
        const { ask, url } = yield* AgentServers.start({
          agents: [helper],
          edges: [UiChat.make()],
          script: ({ messages }) => {
            prompts.push(JSON.stringify(messages))
            return `answer ${prompts.length}`
          }
        })
        const page = make({ url, agent: "helper", id: "chat-1" })
        yield* Effect.promise(() => page.sendMessage({ text: "first question" }))
        yield* Effect.promise(() => page.sendMessage({ text: "second question" }))
        assert.include(prompts[1], "first question")
        assert.include(prompts[1], "answer 1")
        assert.strictEqual((yield* ask("/ui/chat/helper/chat-1/messages")).status, 501)
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
          const { url } = yield* AgentServers.start({
            agents: [Agent.make("seer", { tools: [look] })],
            edges: [UiChat.make({ view: shown })],
            script: () =>
              calls++ === 0
                ? { text: "let me see", reasoning: "I must look", calls: [{ name: "look", params: { at: "hill" } }] }
                : "a tree"
          })
          const page = make({ url, agent: "seer", id: "chat-1" })
          yield* Effect.promise(() => page.sendMessage({ text: "what is there?" }))
          assert.strictEqual(page.status, "ready", String(page.error))
          const parts = page.messages.at(-1)?.parts ?? []
          const tool = toolOf(page)
          assert.deepInclude(tool, { type: "tool-look", state: "output-available", input: { at: "hill" } })
          assert.deepStrictEqual(tool.output, shown === undefined ? null : { seen: "a tree" })
          assert.strictEqual(parts.filter(({ type }) => type === "reasoning").length, shown === undefined ? 0 : 1)
          assert.strictEqual(parts.at(-1).text, "a tree")
          assert.isAbove(page.messages.at(-1)?.metadata.durationMs, -1)
        }
      })
    )

    it.scopedLive("approves a call, and goes on with the same message", () =>
      Effect.gen(function* () {
        const { ask, paid, url } = yield* paying()
        const page = make({ url, agent: "clerk", id: "chat-1" })
        yield* Effect.promise(() => page.sendMessage({ text: "pay 5" }))
        assert.strictEqual(page.status, "ready", String(page.error))
        const { approval, state } = toolOf(page)
        assert.strictEqual(state, "approval-requested")
        assert.deepStrictEqual(paid, [])
        yield* Effect.promise(async () => {
          await page.addToolApprovalResponse({ id: approval.id, approved: true })
          await UiPages.until(() => UiPages.lastText(page) === "done" && page.status === "ready")
        })
        assert.strictEqual(page.messages.length, 2)
        assert.deepInclude(toolOf(page), { state: "output-available", output: "paid" })
        assert.deepStrictEqual(paid, [{ amount: 5 }])
        assert.strictEqual((yield* ask("/ui/chat/clerk/chat-1/stream")).status, 204)
      })
    )

    it.scopedLive("denies a call, and the model reads why", () =>
      Effect.gen(function* () {
        const { paid, url } = yield* paying()
        const page = make({ url, agent: "clerk", id: "chat-1" })
        yield* Effect.promise(async () => {
          await page.sendMessage({ text: "pay 5" })
          await page.addToolApprovalResponse({ id: toolOf(page).approval.id, approved: false, reason: "too much" })
          await UiPages.until(() => UiPages.lastText(page) === "done" && page.status === "ready")
        })
        assert.strictEqual(toolOf(page).state, "output-denied")
        assert.deepStrictEqual(paid, [])
      })
    )

    it.scopedLive("shows a call that waits to a page that is loaded anew, which approves it", () =>
      Effect.gen(function* () {
        const { ask, paid, url } = yield* paying({ grace: "1 millis" })
        yield* Effect.promise(() => make({ url, agent: "clerk", id: "chat-1" }).sendMessage({ text: "pay 5" }))
        const { json } = yield* ask("/ui/chat/clerk/chat-1/messages")
        assert.deepStrictEqual(
          json.messages.map(({ parts }: any) => parts[0].text),
          ["pay 5"]
        )
        const page = make({ url, agent: "clerk", id: "chat-1", messages: json.messages })
        yield* Effect.promise(async () => {
          await page.resumeStream()
          assert.strictEqual(toolOf(page).state, "approval-requested")
          await page.addToolApprovalResponse({ id: toolOf(page).approval.id, approved: true })
          await UiPages.until(() => UiPages.lastText(page) === "done" && page.status === "ready")
        })
        assert.deepStrictEqual(paid, [{ amount: 5 }])
        assert.deepStrictEqual(
          page.messages.map(({ role }) => role),
          ["user", "assistant"]
        )
      })
    )

    it.scopedLive("reconnects in mid-answer, and gets all of it", () =>
      Effect.gen(function* () {
        const { url } = yield* AgentServers.start({
          agents: [helper],
          sessions,
          edges: [UiChat.make()],
          script: () => ({ text: pieces, partDelay: "20 millis" })
        })
        const page = make({ url, agent: "helper", id: "chat-1" })
        const other = make({ url, agent: "helper", id: "chat-1" })
        yield* Effect.promise(async () => {
          void page.sendMessage({ text: "count" })
          await UiPages.until(() => UiPages.lastText(page).startsWith("word 0 "))
          await page.stop()
          await other.resumeStream()
        })
        assert.isBelow(UiPages.lastText(page).length, pieces.join("").length)
        assert.strictEqual(UiPages.lastText(other), pieces.join(""))
        assert.strictEqual(other.messages.length, 1)
      })
    )
  })
}

describe("UiChat", () => {
  it.scopedLive("interrupts an answer that a page has stopped, after the grace or by its path", () =>
    Effect.gen(function* () {
      const { ask, url } = yield* AgentServers.start({
        agents: [helper],
        sessions,
        edges: [UiChat.make({ grace: "20 millis" })],
        script: () => ({ text: ["begin ", "end"], partDelay: "1 hour" })
      })
      const make = UiPages.versions[0]?.[1] as UiPages.Make
      const state = Effect.map(ask("/v1/runs"), ({ json }) => json.runs[0]?.state)
      const interrupted = Effect.repeat(Effect.zipRight(Effect.sleep(5), state), {
        until: (is) => is === "interrupted"
      })
      const page = make({ url, agent: "helper", id: "chat-1" })
      yield* Effect.promise(async () => {
        void page.sendMessage({ text: "go" })
        await UiPages.until(() => page.messages.length === 2)
        await page.stop()
      })
      yield* interrupted
      const other = make({ url, agent: "helper", id: "chat-2" })
      yield* Effect.promise(async () => {
        void other.sendMessage({ text: "go" })
        await UiPages.until(() => other.messages.length === 2)
      })
      assert.strictEqual((yield* ask("/ui/chat/helper/chat-2/stop", { method: "POST", user: "bob" })).status, 204)
      assert.strictEqual(yield* state, "running")
      assert.strictEqual((yield* ask("/ui/chat/helper/chat-2/stop", { method: "POST" })).status, 204)
      yield* Effect.promise(() => UiPages.until(() => other.status === "ready"))
      assert.strictEqual(yield* state, "interrupted")
    })
  )

  it.scopedLive("ends a stream whose run waits for a person once nothing else came for the time `quiet`", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const tools = [
        Tool.make("pay", {
          description: "Pays",
          parameters: {},
          requiresApproval: true,
          handler: () => Effect.succeed("paid")
        }),
        Tool.make("look", {
          description: "Looks",
          parameters: {},
          handler: () => Effect.as(Deferred.await(gate), "a tree")
        })
      ]
      const calls = [{ name: "pay" }, { name: "look" }]
      const begun = (quiet: UiChat.Options["quiet"]) =>
        Effect.gen(function* () {
          const { url } = yield* AgentServers.start({
            agents: [Agent.make("clerk", { tools })],
            sessions,
            edges: [UiChat.make({ quiet })],
            script: () => ({ calls })
          })
          const make = UiPages.versions[0]?.[1] as UiPages.Make
          const page = make({ url, agent: "clerk", id: "chat-1" })
          const sent = page.sendMessage({ text: "go" })
          const states = () =>
            Object.fromEntries(page.messages.at(-1)?.parts.map(({ state, type }) => [type, state]) ?? [])
          yield* Effect.promise(() => UiPages.until(() => states()["tool-pay"] === "approval-requested"))
          return { page, sent, states }
        })
      const short = yield* begun("1 millis")
      yield* Effect.promise(() => short.sent)
      assert.deepInclude(short.states(), { "tool-pay": "approval-requested", "tool-look": "input-available" })
      const long = yield* begun("1 hour")
      assert.strictEqual(long.page.status, "streaming")
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.promise(() => long.sent)
      assert.deepInclude(long.states(), { "tool-pay": "approval-requested", "tool-look": "output-available" })
    })
  )

  for (const [how, agent] of [
    ["is called", InnerApproval.agent],
    ["took the conversation over", InnerApproval.handing]
  ] as const) {
    it.scopedLive(`shows what an agent asks that ${how}, and goes on with the answer`, () =>
      Effect.gen(function* () {
        const { ask, url } = yield* AgentServers.start({
          agents: [agent],
          sessions,
          edges: [UiChat.make({ quiet: "1 millis" })],
          script: InnerApproval.script
        })
        const make = UiPages.versions[0]?.[1] as UiPages.Make
        const page = make({ url, agent: "clerk", id: "chat-1" })
        const approval = () => page.messages.at(-1)?.parts.find(({ type }) => type === "data-approval")?.data
        yield* Effect.promise(() => page.sendMessage({ text: "pay" }))
        assert.strictEqual(page.status, "ready", String(page.error))
        assert.deepInclude(approval(), { toolName: "pay", input: { amount: 5 }, state: "requested" })
        const path = `/ui/chat/clerk/chat-1/answers/${encodeURIComponent(approval().approvalId)}`
        assert.strictEqual((yield* ask(path, { body: { decision: "approve" } })).status, 204)
        const answer = Effect.map(
          ask("/ui/chat/clerk/chat-1/messages"),
          ({ json }) => json.messages.at(-1).parts.at(-1).text
        )
        yield* Effect.repeat(Effect.delay(answer, "10 millis"), { until: (text) => text?.includes("paid 5") === true })
      })
    )
  }

  it.scopedLive("refuses what it does not take, as problem details", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], edges: [UiChat.make()] })
      const text = { type: "text", text: "hi" }
      const user = { id: "1", role: "user", parts: [text] }
      const call = { type: "tool-pay", toolCallId: "c", state: "approval-responded", input: {} }
      const asked = { ...call, approval: { id: "no-such", approved: true } }
      const file = { type: "file", mediaType: "image/png", url: "javascript:alert(1)" }
      const cases: ReadonlyArray<readonly [unknown, number]> = [
        ["{", 400],
        [{}, 400],
        [{ id: "c", messages: [] }, 400],
        [{ id: "c", messages: [{ ...user, parts: [{ type: "unheard-of" }] }] }, 400],
        [{ id: "c", messages: [{ ...user, role: "assistant" }] }, 400],
        [{ id: "c", messages: [{ ...user, parts: [file] }] }, 400],
        [{ id: "a\r\nb", messages: [user] }, 400],
        [{ id: "c", messages: [user, { id: "2", role: "assistant", parts: [asked] }] }, 404]
      ]
      for (const [body, status] of cases) {
        const answer = yield* ask("/ui/chat/helper", { body })
        assert.strictEqual(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`)
        assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
      }
      assert.strictEqual((yield* ask("/ui/chat/nobody", { body: { id: "c", messages: [user] } })).status, 404)
      assert.strictEqual((yield* ask("/ui/chat/helper")).status, 405)
      assert.strictEqual((yield* ask("/ui/chat/helper", { body: { id: "c", messages: [user] }, user: "" })).status, 401)
    })
  )

  it.scopedLive("asks a person a question, and takes the answer by its path", () =>
    Effect.gen(function* () {
      const order = Tool.make("order", {
        description: "Orders",
        parameters: {},
        handler: () =>
          Effect.map(
            Elicitation.ask({ message: "Which size?", schema: Schema.Struct({ size: Schema.String }) }),
            (reply) => JSON.stringify(reply)
          )
      })
      let calls = 0
      const { ask, url } = yield* AgentServers.start({
        agents: [Agent.make("shop", { tools: [order] as never })],
        sessions,
        edges: [UiChat.make({ view })],
        script: () => (calls++ === 0 ? { calls: [{ name: "order", params: {} }] } : "ordered")
      })
      const make = UiPages.versions[0]?.[1] as UiPages.Make
      const page = make({ url, agent: "shop", id: "chat-1" })
      const question = () => page.messages.at(-1)?.parts.find(({ type }) => type === "data-question")?.data
      yield* Effect.promise(async () => {
        void page.sendMessage({ text: "a shirt" })
        await UiPages.until(() => question()?.state === "asked")
      })
      assert.strictEqual(question().message, "Which size?")
      const path = `/ui/chat/shop/chat-1/answers/${encodeURIComponent(question().questionId)}`
      const body = { decision: "approve", params: { size: "L" } }
      assert.strictEqual((yield* ask(path, { body, user: "bob" })).status, 404)
      assert.strictEqual((yield* ask(path.replace("chat-1", "chat-2"), { body })).status, 404)
      assert.strictEqual((yield* ask(path, { body: { decision: "approve", params: { size: 1 } } })).status, 400)
      assert.strictEqual((yield* ask(path, { body })).status, 204)
      yield* Effect.promise(() => UiPages.until(() => page.status === "ready"))
      assert.strictEqual(question().state, "accept")
      assert.strictEqual(UiPages.lastText(page), "ordered")
    })
  )
})
