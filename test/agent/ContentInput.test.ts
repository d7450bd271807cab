/** Requests with files. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agents from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import * as Content from "../../src/content/Content.js"
import * as LengthGuard from "../../src/guard/LengthGuard.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const png = bytesOf("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")

const image = Effect.runSync(Content.image(png, { fileName: "cat.png" }))
const page = Effect.runSync(Content.file("https://example.com/report.pdf"))
const filesOf = ({ messages }: LlmClient.LlmRequest) =>
  messages.flatMap(({ content }) => (typeof content === "string" ? [] : content.filter(({ type }) => type === "file")))
const asking = ({ messages }: LlmClient.LlmRequest) => messages.findLast(({ role }) => role === "user")

const parts = [
  { type: "file", mediaType: "image/png", data: png, fileName: "cat.png" },
  { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/report.pdf") }
]

const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })

const asked = (
  agent: Agent.Agent<unknown, unknown, any>,
  request: Agents.AgentRequest,
  script: ReadonlyArray<TestModel.ScriptItem>
) =>
  Effect.gen(function* () {
    const response = yield* Agents.run(agent, request)
    return { response, requests: yield* TestModel.requests }
  }).pipe(Effect.provide(Runs.layer(script))) as unknown as Effect.Effect<
    { readonly response: { readonly message: string }; readonly requests: ReadonlyArray<LlmClient.LlmRequest> },
    unknown
  >

describe("a request with files", () => {
  it.effect("gives them to the model with the message that asks, in each call", () =>
    Effect.gen(function* () {
      const agent = Agent.make("seer", { tools: [look], strategy: "function_calling" })
      const input = [Content.text("What is"), image, Content.text("and this?"), page]
      const history = [
        { role: "user" as const, content: "What is\nand this?" },
        { role: "assistant" as const, content: "Nothing" }
      ]
      const { requests } = yield* asked(agent, { input, history }, [{ calls: [{ name: "look" }] }, "A cat"])
      assert.lengthOf(requests, 2)
      for (const request of requests) {
        const message = request.messages.findLast(({ role }) => role === "user")
        assert.deepStrictEqual(message?.content, [{ type: "text", text: "What is\nand this?" }, ...parts] as never)
        assert.lengthOf(filesOf(request), 2, "only the last message that asks has them")
      }
      const [first, second] = requests
      assert.strictEqual(asking(first as LlmClient.LlmRequest), asking(second as LlmClient.LlmRequest), "counted once")
    })
  )

  it.effect("alone is a message without text, and has names elsewhere", () =>
    Effect.gen(function* () {
      const { requests, response } = yield* asked(Agent.make("seer"), { input: [image, page] }, ["A cat"])
      assert.deepStrictEqual(asking(requests[0] as LlmClient.LlmRequest)?.content, parts as never)
      assert.strictEqual(response.message, "A cat")
      const events = yield* Runs.record(Agents.stream(Agent.make("seer"), { input: [image, page] })).pipe(
        Effect.provide(Runs.layer(["A cat"]))
      )
      const [started] = Runs.of(events.events, "Started")
      assert.include(JSON.stringify(started), "[cat.png] [application/pdf]")
    })
  )

  it.effect("is guarded by its text, and keeps its files", () =>
    Effect.gen(function* () {
      const agent = Agent.make("seer", {
        guards: [LengthGuard.make({ maxChars: 4, action: "redact", stages: ["input"] })]
      })
      const { requests } = yield* asked(agent, { input: [Content.text("Look at this"), image] }, ["A cat"])
      assert.deepStrictEqual(asking(requests[0] as LlmClient.LlmRequest)?.content, [
        { type: "text", text: "Look" },
        parts[0]
      ] as never)
    })
  )

  it.effect("goes along with a handoff and to the agents of a crew, and not to delegated ones", () =>
    Effect.gen(function* () {
      const target = Agent.make("target", { system: "target" })
      const desk = Agent.make("desk", { strategy: "function_calling", tools: [Handoff.to(target)] })
      const handed = yield* asked(desk, { input: [Content.text("Look"), image] }, [
        { calls: [{ name: "transfer_to_target" }] },
        "A cat"
      ])
      assert.deepStrictEqual(
        handed.requests.map((request) => filesOf(request).length),
        [1, 1]
      )
      const boss = Agent.make("boss", { strategy: "function_calling", tools: [AgentTool.make(target)] })
      const delegated = yield* asked(boss, { input: [Content.text("Look"), image] }, [
        { calls: [{ name: "delegate_to_target", params: { message: "Say hello" } }] },
        "Hello",
        "A cat"
      ])
      assert.deepStrictEqual(
        delegated.requests.map((request) => filesOf(request).length),
        [1, 0, 1]
      )
      const crew = Crew.make("crew", {
        agents: [target],
        tasks: [Crew.task("describe", { description: "Describe it", agent: "target" })]
      })
      const requests = yield* Effect.gen(function* () {
        yield* Crew.run(crew, { input: [Content.text("Look"), image] })
        return yield* TestModel.requests
      }).pipe(Effect.provide(Runs.layer(["A cat"])))
      assert.lengthOf(filesOf(requests[0] as LlmClient.LlmRequest), 1)
    })
  )

  it.effect("fails before the model is asked if a file is no file, or there is nothing", () =>
    Effect.gen(function* () {
      const ref = { hash: `sha256:${"0".repeat(64)}`, size: 1, mediaType: "image/png" }
      const file = { type: "file", mediaType: "image/png", data: ref }
      for (const input of [[file], [], [null], [{ type: "text" }], [{ type: "video" }], {}, 5, null, undefined]) {
        const run = asked(Agent.make("seer"), { input: input as never }, ["A cat"])
        const error = yield* Effect.flip(run)
        assert.strictEqual((error as { readonly _tag: string })._tag, "AgentConfigurationError")
        assert.include(String((error as { readonly hint?: string }).hint), "Content")
      }
    })
  )
})
