import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { streamText } from "ai"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type OpenAI6 from "openai"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as OpenAiServer from "../../../src/http/openai/OpenAiServer.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as InnerApproval from "../../support/InnerApproval.js"
import { failureOf, versions } from "../../support/OpenAiClients.js"
import * as StagedModel from "../../support/StagedModel.js"

const helper = Agent.make("helper", { system: "secret prompt" })
const sessions = Layer.orDie(Sessions.layer())
const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 }

const starting =
  (OpenAI: typeof OpenAI6) =>
  (setup: Partial<AgentServers.Setup>, options: Omit<OpenAiServer.Options, "agents"> = {}) =>
    Effect.map(
      AgentServers.start({
        agents: [helper],
        ...setup,
        edges: [OpenAiServer.make({ agents: setup.agents ?? [helper], ...options })]
      }),
      (server) => {
        const baseURL = `${server.url}/openai/v1`
        const clientOf = (user: string) => new OpenAI({ baseURL, apiKey: `token-${user}`, maxRetries: 0 })
        return { ...server, openai: clientOf("ann"), bob: clientOf("bob"), baseURL }
      }
    )

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`paid ${amount}`)
})
const clerk = Agent.make("clerk", { tools: [pay] })

for (const [version, OpenAI] of versions)
  describe(`responses of agents, with the client of OpenAI in version ${version}`, () => {
    const start = starting(OpenAI)
    const { BadRequestError, NotFoundError } = OpenAI

    it.scopedLive("go on with the conversation of an earlier one, and are read by their caller alone", () =>
      Effect.gen(function* () {
        const prompts: Array<string> = []
        const { bob, openai } = yield* start({
          sessions,
          script: ({ messages }) => {
            prompts.push(JSON.stringify(messages))
            return { text: `answer ${prompts.length}`, usage }
          }
        })
        const first = yield* Effect.promise(() => openai.responses.create({ model: "helper", input: "first question" }))
        assert.strictEqual(first.status, "completed")
        assert.strictEqual(first.output_text, "answer 1")
        assert.deepInclude(first.usage, { input_tokens: 7, output_tokens: 3, total_tokens: 10 })
        const second = yield* Effect.promise(() =>
          openai.responses.create({
            model: "helper",
            input: [{ role: "user", content: [{ type: "input_text", text: "second question" }] }],
            previous_response_id: first.id
          })
        )
        assert.strictEqual(second.previous_response_id, first.id)
        assert.deepStrictEqual(second.conversation, first.conversation)
        assert.include(prompts[1], "first question")
        const conversation = first.conversation?.id ?? ""
        yield* Effect.promise(() => openai.responses.create({ model: "helper", input: "third question", conversation }))
        assert.include(prompts[2], "second question")
        const again = yield* Effect.promise(() => openai.responses.retrieve(second.id))
        assert.strictEqual(again.status, "completed")
        assert.deepStrictEqual(again.output, second.output)
        assert.instanceOf(yield* failureOf(() => bob.responses.retrieve(second.id)), NotFoundError)
        const stolen = () => bob.responses.create({ model: "helper", input: "hi", previous_response_id: first.id })
        assert.instanceOf(yield* failureOf(stolen), NotFoundError)
      })
    )

    it.scopedLive("have all messages in a request where nothing is stored", () =>
      Effect.gen(function* () {
        const prompts: Array<string> = []
        const input = [
          { role: "developer" as const, content: "be kind" },
          { role: "user" as const, content: "first question" },
          { role: "assistant" as const, content: "first answer" },
          { role: "user" as const, content: "second question" }
        ]
        for (const kept of [undefined, sessions]) {
          const { openai } = yield* start({
            sessions: kept,
            script: ({ messages }) => {
              prompts.push(JSON.stringify(messages))
              return "hi"
            }
          })
          const answer = yield* Effect.promise(() => openai.responses.create({ model: "helper", input, store: false }))
          assert.isNull(answer.conversation)
          for (const { content } of input) assert.include(prompts.at(-1), content)
          const next = () =>
            openai.responses.create({ model: "helper", input: "go on", previous_response_id: answer.id })
          assert.instanceOf(yield* failureOf(next), BadRequestError)
          if (kept === undefined) continue
          assert.match((yield* failureOf(() => openai.responses.create({ model: "helper", input }))).message, /store/)
        }
      })
    )

    it.scopedLive("come as events, which the client puts together", () =>
      Effect.gen(function* () {
        const rest = yield* Deferred.make<void>()
        const { openai } = yield* start({
          model: Layer.succeed(
            LlmClient.LlmClient,
            StagedModel.make(() => ({ texts: ["Once ", Deferred.await(rest), "upon a time"] }))
          )
        })
        const stream = openai.responses.stream({ model: "helper", input: "a story" })
        const types: Array<string> = []
        const numbers: Array<number> = []
        yield* Effect.promise(async () => {
          for await (const event of stream) {
            types.push(event.type)
            numbers.push(event.sequence_number)
            // The rest is written once the first piece was seen.
            if (event.type === "response.output_text.delta") Effect.runSync(Deferred.succeed(rest, undefined))
          }
        })
        assert.deepStrictEqual(
          numbers,
          numbers.map((_, at) => at)
        )
        assert.deepStrictEqual(types, [
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.delta",
          "response.output_text.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed"
        ])
        const final = yield* Effect.promise(() => stream.finalResponse())
        assert.strictEqual(final.output_text, "Once upon a time")
        const ai = yield* start({ script: () => ({ text: ["h", "i"], usage }) })
        const provider = createOpenAI({ baseURL: ai.baseURL, apiKey: "token-ann" })
        const streamed = streamText({ model: provider.responses("helper"), prompt: "hello" })
        assert.strictEqual(yield* Effect.promise(() => streamed.text), "hi")
        assert.strictEqual((yield* Effect.promise(() => streamed.usage)).outputTokens, 3)
      })
    )

    it.scopedLive("ask for an approval, and go on with the decision", () =>
      Effect.gen(function* () {
        for (const approve of [true, false]) {
          const { bob, openai } = yield* start(
            {
              agents: [clerk],
              sessions,
              script: ({ messages }) => {
                const last = messages.at(-1)
                const said = JSON.stringify(last?.content)
                return last?.role === "user" ? { calls: [{ name: "pay", params: { amount: 5 } }] } : `Then: ${said}`
              }
            },
            { quiet: "1 millis" }
          )
          const asked = yield* Effect.promise(() => openai.responses.create({ model: "clerk", input: "pay 5" }))
          const request = asked.output[0]
          assert.strictEqual(request?.type, "mcp_approval_request")
          if (request?.type !== "mcp_approval_request") return
          assert.deepStrictEqual([request.name, JSON.parse(request.arguments)], ["pay", { amount: 5 }])
          const shown = yield* Effect.promise(() => openai.responses.retrieve(asked.id))
          assert.deepStrictEqual(shown.output, asked.output)
          const decision = {
            model: "clerk",
            previous_response_id: asked.id,
            input: [{ type: "mcp_approval_response" as const, approval_request_id: request.id, approve }]
          }
          assert.instanceOf(yield* failureOf(() => bob.responses.create(decision)), NotFoundError)
          const alone = { ...decision, previous_response_id: null }
          assert.instanceOf(yield* failureOf(() => openai.responses.create(alone)), BadRequestError)
          const stream = openai.responses.stream(decision)
          const done = yield* Effect.promise(() => stream.finalResponse())
          assert.strictEqual(done.status, "completed")
          assert.strictEqual(done.output_text.includes("paid 5"), approve)
        }
      })
    )

    it.scopedLive("ask for an approval that an agent inside waits for", () =>
      Effect.gen(function* () {
        const agents = [InnerApproval.agent]
        const { openai } = yield* start({ agents, sessions, script: InnerApproval.script }, { quiet: "1 millis" })
        const asked = yield* Effect.promise(() => openai.responses.create({ model: "clerk", input: "pay" }))
        const request = asked.output[0]
        assert.strictEqual(request?.type, "mcp_approval_request")
        if (request?.type !== "mcp_approval_request") return
        assert.deepStrictEqual([request.name, request.server_label], ["pay", "payer"])
        const done = yield* Effect.promise(() =>
          openai.responses.create({
            model: "clerk",
            previous_response_id: asked.id,
            input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }]
          })
        )
        assert.include(done.output_text, "paid 5")
        const messages = [{ role: "user" as const, content: "pay" }]
        const error = yield* failureOf(() => openai.chat.completions.create({ model: "clerk", messages }))
        assert.strictEqual(error.status, 409)
      })
    )

    it.scopedLive("go on without their caller in the background, and are canceled", () =>
      Effect.gen(function* () {
        const { openai } = yield* start({
          model: Layer.succeed(
            LlmClient.LlmClient,
            StagedModel.make(() => ({ texts: [Effect.never] }))
          )
        })
        const begun = yield* Effect.promise(() =>
          openai.responses.create({ model: "helper", input: "wait", background: true })
        )
        assert.include(["queued", "in_progress"], begun.status)
        assert.include(
          ["queued", "in_progress"],
          (yield* Effect.promise(() => openai.responses.retrieve(begun.id))).status
        )
        for (let n = 0; n < 2; n++) {
          assert.strictEqual((yield* Effect.promise(() => openai.responses.cancel(begun.id))).status, "cancelled")
        }
      })
    )

    it.scopedLive("say what they do not take, and what failed", () =>
      Effect.gen(function* () {
        const { openai } = yield* start({
          script: ({ messages }) => ({
            text: "a",
            ...(JSON.stringify(messages).includes("long") ? { finishReason: "length" as const } : {})
          })
        })
        const base = { model: "helper", input: "hi" }
        const refusals: ReadonlyArray<readonly [object, RegExp]> = [
          [{ tools: [{ type: "web_search" }] }, /function/],
          [{ instructions: "be kind" }, /instructions/],
          [{ text: { format: { type: "grammar" } } }, /./],
          [{ conversation: "c" }, /conversations/],
          [{ input: [{ role: "assistant", content: "hi" }] }, /message of the user/],
          [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] }, /no files/],
          [{ input: [{ role: "user", content: [{ type: "input_image", image_url: "file:///a.png" }] }] }, /./],
          [{ input: [{ type: "function_call_output", call_id: "x", output: "y" }] }, /./]
        ]
        for (const [more, message] of refusals) {
          const error = yield* failureOf(() => openai.responses.create({ ...base, ...more } as never))
          assert.instanceOf(error, BadRequestError, JSON.stringify(more))
          assert.match(error.message, message)
        }
        assert.instanceOf(yield* failureOf(() => openai.responses.create({ ...base, model: "x" })), NotFoundError)
        assert.instanceOf(yield* failureOf(() => openai.responses.retrieve("resp_none")), NotFoundError)
        assert.instanceOf(yield* failureOf(() => openai.responses.retrieve("none")), NotFoundError)
        const cut = yield* Effect.promise(() => openai.responses.create({ ...base, input: "long" }))
        assert.deepStrictEqual([cut.status, cut.incomplete_details?.reason], ["incomplete", "max_output_tokens"])
      })
    )
  })
