import { assert, describe, it } from "@effect/vitest"
import { uiMessageChunkSchema as schema7 } from "ai"
import { uiMessageChunkSchema as schema6 } from "ai-v6"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as PageTool from "../../../src/tool/client/PageTool.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as UiPages from "../../support/UiPages.js"

const sessions = Layer.orDie(Sessions.layer())
const view = { toolResults: true }

const locate = PageTool.make("locate", {
  description: "Where the user is",
  parameters: { exact: Schema.optional(Schema.Boolean), token: Schema.optional(Schema.String) },
  success: Schema.Struct({ city: Schema.String })
})
const color = PageTool.make("color", { description: "Colors the page", parameters: { name: Schema.String } })
const buy = PageTool.make("buy", { description: "Opens the wallet of the page", requiresApproval: true })
const pay = Tool.make("pay", {
  description: "Pays",
  requiresApproval: true,
  handler: () => Effect.succeed("paid")
})
const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("a tree") })

const resultsOf = ({ messages }: LlmClient.LlmRequest) =>
  messages.flatMap((message) =>
    message.role === "tool"
      ? message.content.map(({ result }) => (typeof result === "string" ? result : JSON.stringify(result)))
      : []
  )

/** An agent that makes these calls, and then says what it heard. */
const serve = (
  calls: ReadonlyArray<{ readonly name: string; readonly params?: object }>,
  options: UiChat.Options = {},
  tools: ReadonlyArray<Tool.Any> = [locate, color, buy, pay, look],
  setup: Partial<AgentServers.Setup> = {}
) =>
  AgentServers.start({
    agents: [Agent.make("clerk", { tools }) as Agent.Agent<string, never, never>],
    sessions,
    edges: [UiChat.make({ view, ...options })],
    script: (request) => {
      const results = resultsOf(request)
      return results.length === 0 ? { calls: calls as never } : results.toSorted().join(", ")
    },
    ...setup
  })

const statesOf = (page: UiPages.Page) =>
  (page.messages.at(-1)?.parts ?? []).filter(({ toolCallId }) => toolCallId).map(({ state, type }) => [type, state])
const partOf = (page: UiPages.Page, type: string) => page.messages.at(-1)?.parts.find((part) => part.type === type)
const isReady = (page: UiPages.Page, text: string) => () =>
  page.status === "error" || (page.status === "ready" && UiPages.lastText(page) === text)

for (const [name, make] of UiPages.versions) {
  describe(`tools of a page of ${name}`, () => {
    it.scopedLive("are run by the page, and the same run goes on with their outputs", () =>
      Effect.gen(function* () {
        const calls = [
          { name: "locate", params: { exact: true, token: "sk-abcdefgh12345678" } },
          { name: "color", params: { name: "red" } },
          { name: "look" }
        ]
        const { ask, url } = yield* serve(calls)
        const made: Array<unknown> = []
        let requests = 0
        const page = make({
          onRequest: () => requests++,
          url,
          agent: "clerk",
          id: "chat-1",
          onToolCall: ({ input, toolName }) => {
            if (toolName === "look") return undefined
            made.push([toolName, input])
            return toolName === "locate"
              ? { output: { city: "Delft" } }
              : { state: "output-error", errorText: "There is no such color" }
          }
        })
        const done = 'Error: "color" failed: There is no such color, a tree, {"city":"Delft"}'
        yield* Effect.promise(async () => {
          await page.sendMessage({ text: "go" })
          await UiPages.until(isReady(page, done))
        })
        assert.strictEqual(page.status, "ready", String(page.error))
        // Each is made once, with its arguments as they are.
        assert.sameDeepMembers(
          made,
          calls.slice(0, 2).map(({ name, params }) => [name, params])
        )
        assert.sameDeepMembers(statesOf(page), [
          ["tool-locate", "output-available"],
          ["tool-color", "output-error"],
          ["tool-look", "output-available"]
        ])
        assert.deepStrictEqual(partOf(page, "tool-locate").output, { city: "Delft" })
        assert.strictEqual(partOf(page, "tool-color").errorText, "There is no such color")
        assert.lengthOf(page.messages, 2)
        const { json } = yield* ask("/v1/runs")
        assert.deepStrictEqual(
          json.runs.map(({ runId, state }: any) => [runId, state]),
          [[page.messages.at(-1)?.id, "completed"]]
        )
        assert.strictEqual(requests, 2)
        // The next message begins a run of its own.
        yield* Effect.promise(() => page.sendMessage({ text: "thanks" }))
        assert.strictEqual(requests, 3)
        assert.strictEqual(page.status, "ready", String(page.error))
        assert.lengthOf((yield* ask("/v1/runs")).json.runs, 2)
      })
    )

    it.scopedLive("are run beside approvals in one step, and after approvals of their own", () =>
      Effect.gen(function* () {
        const { url } = yield* serve([{ name: "locate" }, { name: "pay" }, { name: "buy" }], { quiet: "1 hour" })
        const made: Array<string> = []
        const page = make({
          url,
          agent: "clerk",
          id: "chat-1",
          onToolCall: ({ toolName }) => {
            if (toolName !== "pay") made.push(toolName)
            return toolName === "locate"
              ? { output: { city: "Delft" } }
              : toolName === "buy"
                ? { output: "bought" }
                : undefined
          }
        })
        yield* Effect.promise(async () => {
          await page.sendMessage({ text: "go" })
          await UiPages.until(() => page.status === "ready")
        })
        // The page does not make a call before it is allowed.
        assert.deepStrictEqual(made, ["locate"])
        assert.sameDeepMembers(statesOf(page), [
          ["tool-locate", "output-available"],
          ["tool-pay", "approval-requested"],
          ["tool-buy", "approval-requested"]
        ])
        yield* Effect.promise(async () => {
          for (const type of ["tool-pay", "tool-buy"]) {
            await page.addToolApprovalResponse({ id: partOf(page, type).approval.id, approved: true })
          }
          await UiPages.until(isReady(page, 'bought, paid, {"city":"Delft"}'))
        })
        assert.strictEqual(page.status, "ready", String(page.error))
        assert.deepStrictEqual(made, ["locate", "buy"])
        assert.isTrue(statesOf(page).every(([, state]) => state === "output-available"))
      })
    )

    it.scopedLive("wait for a page that is loaded anew, which sees the call again", () =>
      Effect.gen(function* () {
        const { ask, url } = yield* serve([{ name: "locate" }], { grace: "1 millis" })
        const first = make({ url, agent: "clerk", id: "chat-1" })
        yield* Effect.promise(() => first.sendMessage({ text: "go" }))
        assert.deepStrictEqual(statesOf(first), [["tool-locate", "input-available"]])
        assert.lengthOf(first.messages.at(-1)?.metadata.waiting, 1)
        const { json } = yield* ask("/ui/chat/clerk/chat-1/messages")
        const page = make({
          url,
          agent: "clerk",
          id: "chat-1",
          messages: json.messages,
          onToolCall: () => ({ output: { city: "Delft" } })
        })
        yield* Effect.promise(async () => {
          await page.resumeStream()
          await UiPages.until(isReady(page, '{"city":"Delft"}'))
        })
        assert.strictEqual(page.status, "ready", String(page.error))
        assert.deepStrictEqual(statesOf(page), [["tool-locate", "output-available"]])
        // The output of the page that was closed comes too late, and is another one.
        yield* Effect.promise(async () => {
          const { toolCallId } = partOf(first, "tool-locate")
          await first.addToolOutput({ tool: "locate", toolCallId, output: { city: "Ghent" } })
          await UiPages.until(() => first.status === "error")
        })
        assert.include(String(first.error), "another output")
      })
    )

    it.scopedLive("stop with their run", () =>
      Effect.gen(function* () {
        const { ask, url } = yield* serve([{ name: "locate" }])
        const page = make({ url, agent: "clerk", id: "chat-1" })
        yield* Effect.promise(() => page.sendMessage({ text: "go" }))
        assert.strictEqual((yield* ask("/v1/runs")).json.runs[0].state, "waiting")
        assert.strictEqual((yield* ask("/ui/chat/clerk/chat-1/stop", { method: "POST" })).status, 204)
        assert.strictEqual((yield* ask("/v1/runs")).json.runs[0].state, "interrupted")
        yield* Effect.promise(async () => {
          const { toolCallId } = partOf(page, "tool-locate")
          await page.addToolOutput({ tool: "locate", toolCallId, output: { city: "Ghent" } })
          await UiPages.until(() => page.status !== "submitted" && page.status !== "streaming")
        })
        assert.lengthOf((yield* ask("/v1/runs")).json.runs, 1)
      })
    )

    it.scopedLive("keep the stream open until the calls of the server beside them have ended", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const slow = Tool.make("look", {
          description: "Looks",
          handler: () => Effect.as(Deferred.await(gate), "a tree")
        })
        const { url } = yield* serve([{ name: "locate" }, { name: "look" }], { quiet: "1 millis" }, [locate, slow])
        const page = make({
          url,
          agent: "clerk",
          id: "chat-1",
          onToolCall: ({ toolName }) => (toolName === "locate" ? { output: { city: "Delft" } } : undefined)
        })
        const sent = page.sendMessage({ text: "go" })
        yield* Effect.promise(() =>
          UiPages.until(() =>
            statesOf(page).some(([type, state]) => type === "tool-locate" && state === "output-available")
          )
        )
        assert.strictEqual(page.status, "streaming")
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.promise(async () => {
          await sent
          await UiPages.until(isReady(page, 'a tree, {"city":"Delft"}'))
        })
        assert.strictEqual(page.status, "ready", String(page.error))
      })
    )
  })
}

describe("outputs of a page", () => {
  const text = { type: "text", text: "go" }
  const user = { id: "u1", role: "user", parts: [text] }

  const chunksOf = (body: string): ReadonlyArray<any> =>
    body.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))

  /** What the agent says in an answer. */
  const saidIn = (body: string): string =>
    chunksOf(body)
      .map(({ delta }) => delta ?? "")
      .join("")

  const validate = (schema: typeof schema7 | typeof schema6, chunk: unknown): Promise<{ readonly success: boolean }> =>
    (schema() as any).validate(chunk)

  /** A run whose call waits, and what its page has of it. */
  const waiting = (setup: Partial<AgentServers.Setup> = {}, tools?: ReadonlyArray<Tool.Any>) =>
    Effect.gen(function* () {
      const server = yield* serve([{ name: "locate" }], {}, tools, setup)
      const first = yield* server.ask("/ui/chat/clerk", { body: { id: "chat-1", messages: [user] } })
      const chunks = chunksOf(first.text)
      const asked = chunks.find(({ type }) => type === "tool-input-available")
      const part = (state: object, fields: object = {}) => ({
        ...{
          type: "tool-locate",
          toolCallId: asked.toolCallId,
          input: {},
          callProviderMetadata: asked.providerMetadata
        },
        ...{ ...state, ...fields }
      })
      const give = (parts: ReadonlyArray<object>, options: { readonly user?: string; readonly chat?: string } = {}) =>
        server.ask("/ui/chat/clerk", {
          body: {
            id: options.chat ?? "chat-1",
            messages: [user, { id: chunks[0].messageId, role: "assistant", parts }]
          },
          ...(options.user === undefined ? {} : { user: options.user })
        })
      return { ...server, chunks, first, give, part }
    })
  const delft = { state: "output-available", output: { city: "Delft" } }

  it.scopedLive("are taken once, also when they are sent twice or at once", () =>
    Effect.gen(function* () {
      const { ask, chunks, give, part } = yield* waiting()
      for (const chunk of chunks) {
        for (const schema of [schema7, schema6]) {
          assert.isTrue((yield* Effect.promise(() => validate(schema, chunk))).success, JSON.stringify(chunk))
        }
      }
      const both = yield* Effect.all([give([part(delft)]), give([part(delft)])], { concurrency: 2 })
      for (const { status, text } of [...both, yield* give([part(delft)])]) {
        assert.strictEqual(status, 200, text)
        assert.strictEqual(saidIn(text), '{"city":"Delft"}')
        // The page has the call and its output.
        assert.notInclude(text, "tool-input")
        assert.notInclude(text, "tool-output")
      }
      assert.lengthOf((yield* ask("/v1/runs")).json.runs, 1)
      const other = yield* give([part({ ...delft, output: { city: "Ghent" } })])
      assert.strictEqual(other.status, 409)
    })
  )

  it.scopedLive("are refused where nobody asked for them", () =>
    Effect.gen(function* () {
      const { ask, give, part } = yield* waiting()
      const unknown = { callProviderMetadata: { "effect-lexigram": { requestId: "no-such" } } }
      const cases: ReadonlyArray<readonly [ReadonlyArray<object>, object, number]> = [
        [[part(delft, { callProviderMetadata: undefined })], {}, 400],
        [[part(delft, { callProviderMetadata: { "effect-lexigram": "x" } })], {}, 400],
        [[part(delft, unknown)], {}, 404],
        [[part(delft, { toolCallId: "another" })], {}, 400],
        [[part(delft)], { user: "bob" }, 404],
        [[part(delft)], { chat: "chat-2" }, 404],
        [[part(delft, { preliminary: true })], {}, 400],
        [[part({ state: "input-available" })], {}, 400],
        // An output of an earlier step was taken before.
        [[part(delft), { type: "step-start" }], {}, 400]
      ]
      for (const [parts, options, status] of cases) {
        const answer = yield* give(parts, options)
        assert.strictEqual(answer.status, status, `${JSON.stringify(parts)}: ${answer.text}`)
        assert.strictEqual(answer.headers.get("content-type"), "application/problem+json")
      }
      const long = yield* give([part(delft, { output: "x".repeat(100_001) })])
      assert.strictEqual(long.status, 400, long.text)
      const [begin, end] = JSON.stringify({
        id: "chat-1",
        messages: [user, { id: "a", role: "assistant", parts: [part(delft, { output: "deep" })] }]
      }).split('"deep"')
      const body = `${begin}${"[".repeat(100_000)}${"]".repeat(100_000)}${end}`
      assert.strictEqual((yield* ask("/ui/chat/clerk", { body })).status, 400)
      assert.strictEqual((yield* ask("/v1/runs")).json.runs[0].state, "waiting")
      // A request for approval is no call of the page, and a call of the page no request for approval.
      const id = (yield* ask("/v1/approvals")).json.approvals[0].id
      const decision = { state: "approval-responded", approval: { id, approved: true } }
      assert.strictEqual((yield* give([part(decision)])).status, 400)
      assert.strictEqual((yield* give([part(delft)])).status, 200)
    })
  )

  it.scopedLive("of inner agents are given as answers of questions", () =>
    Effect.gen(function* () {
      const inner = Agent.make("guide", { tools: [locate] })
      const tool = AgentTool.make(inner, { description: "Asks the guide" })
      const { ask, url } = yield* serve([], {}, [tool], {
        script: (request) => {
          const results = resultsOf(request)
          if (results.length > 0) return results.join(", ")
          return { calls: [{ name: (request.tools ?? [])[0]?.name ?? "", params: { message: "where?" } }] }
        }
      })
      const make = UiPages.versions[0]?.[1] as UiPages.Make
      const page = make({ url, agent: "clerk", id: "chat-1" })
      const question = () => page.messages.at(-1)?.parts.find(({ type }) => type === "data-question")?.data
      yield* Effect.promise(async () => {
        void page.sendMessage({ text: "go" })
        await UiPages.until(() => question()?.state === "asked")
      })
      assert.deepInclude(question(), { toolName: "locate", input: {} })
      const path = `/ui/chat/clerk/chat-1/answers/${encodeURIComponent(question().questionId)}`
      const answer = { decision: "approve", params: { result: '{"city":"Delft"}' } }
      assert.strictEqual((yield* ask(path, { body: answer })).status, 204)
      yield* Effect.promise(() => UiPages.until(() => page.status === "ready"))
      assert.include(UiPages.lastText(page), "Delft")
    })
  )

  it.scopedLive("that do not fit, or come too late, are failures that the model reads", () =>
    Effect.gen(function* () {
      const { give, part } = yield* waiting()
      const unfit = yield* give([part({ ...delft, output: { city: 7 } })])
      assert.include(saidIn(unfit.text), "The result does not fit")
      const soon = PageTool.make("locate", { description: "Where the user is", expiresAfter: "1 millis" })
      const late = yield* waiting({}, [soon])
      yield* Effect.repeat(Effect.delay(late.ask("/v1/approvals"), "5 millis"), {
        until: ({ json }) => json.approvals.length === 0
      })
      const told = yield* late.give([late.part(delft)])
      assert.strictEqual(told.status, 200, told.text)
      assert.include(told.text, "tool-output-error")
    })
  )
})
