import * as A2a from "@a2a-js/sdk"
import type { Client } from "@a2a-js/sdk/client"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as A2aServer from "../../src/a2a/A2aServer.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import { all, answerOf, clientOf, collected, dataPart, refused, said, send, textOf } from "../support/A2aClients.js"
import * as AgentServers from "../support/AgentServers.js"
import * as InnerApproval from "../support/InnerApproval.js"
import * as StagedModel from "../support/StagedModel.js"

const sessions = Layer.orDie(Sessions.layer())
const { TaskState } = A2a

const staged = (answers: StagedModel.Answers) => Layer.succeed(LlmClient.LlmClient, StagedModel.make(answers))

const helper = Agent.make("helper", { description: "Helps", system: "secret prompt" })

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

/** Pays if a person allows it, and tells what came of it. */
const paying = AgentServers.start({
  agents: [Agent.make("clerk", { tools: [pay] })],
  edges: [A2aServer.make({ agents: [Agent.make("clerk", { tools: [pay] })], quiet: "1 millis" })],
  sessions,
  script: ({ messages }) => {
    const last = JSON.stringify(messages.at(-1)?.content)
    return messages.at(-1)?.role === "user" ? { calls: [{ name: "pay", params: { amount: 5 } }] } : `Then: ${last}`
  }
})

describe("agents by A2A, with the client of its SDK", () => {
  it.scopedLive("have cards without their prompts, and answer messages of a context with what was said before", () =>
    Effect.gen(function* () {
      const prompts: Array<string> = []
      const { ask, url } = yield* AgentServers.start({
        agents: [helper],
        sessions,
        edges: [A2aServer.make({ agents: [helper] })],
        script: ({ messages }) => {
          prompts.push(JSON.stringify(messages))
          return `answer ${prompts.length}`
        }
      })
      const card = yield* ask("/.well-known/agent-card.json", { user: "" })
      assert.strictEqual(card.status, 200)
      assert.deepStrictEqual(card.json, (yield* ask("/a2a/helper/.well-known/agent-card.json", { user: "" })).json)
      assert.deepInclude(card.json, { name: "helper", description: "Helps" })
      assert.notInclude(card.text, "secret")
      assert.strictEqual((yield* ask("/a2a/nobody/.well-known/agent-card.json", { user: "" })).status, 404)
      const client = yield* clientOf(url, "helper")
      const first = yield* send(client, said("first question"))
      assert.strictEqual(first.status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.strictEqual(answerOf(first), "answer 1")
      const second = yield* send(client, said("second question", { contextId: first.contextId }))
      assert.strictEqual(answerOf(second), "answer 2")
      assert.strictEqual(second.contextId, first.contextId)
      assert.notStrictEqual(second.id, first.id)
      assert.include(prompts[1], "first question")
      // A message that is sent again is the same task.
      const request = said("third question")
      const [one, other] = yield* Effect.all([send(client, request), send(client, request)])
      assert.strictEqual(one.id, other.id)
      assert.strictEqual(prompts.length, 3)
    })
  )

  it.scopedLive("stream an answer as it is written, and show all of it to who subscribes later", () =>
    Effect.gen(function* () {
      const rest = yield* Deferred.make<void>()
      const { url } = yield* AgentServers.start({
        agents: [helper],
        edges: [A2aServer.make({ agents: [helper] })],
        model: staged(() => ({ texts: ["Once ", Deferred.await(rest), "upon a time"] }))
      })
      const client = yield* clientOf(url, "helper")
      const stream = client.sendMessageStream(said("a story"))
      const [head, first] = yield* Effect.promise(async () => [await stream.next(), await stream.next()])
      const taskId = head?.value?.payload?.$case === "task" ? head.value.payload.value.id : ""
      assert.strictEqual(collected([first?.value]).text, "Once ")
      const later = yield* Effect.fork(all(client.resubscribeTask({ tenant: "", id: taskId })))
      assert.strictEqual(
        (yield* Effect.promise(() => client.getTask({ tenant: "", id: taskId }))).status?.state,
        TaskState.TASK_STATE_WORKING
      )
      yield* Deferred.succeed(rest, undefined)
      const updates = [head?.value, first?.value, ...(yield* all(stream))]
      for (const seen of [collected(updates), collected(yield* later)]) {
        assert.strictEqual(seen.text, "Once upon a time")
        assert.deepStrictEqual(seen.states, [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED])
      }
    })
  )

  it.scopedLive("take a text back that is not the answer, and give data where the agent has a schema", () =>
    Effect.gen(function* () {
      const agent = Agent.make("helper", {
        tools: [Tool.make("look", { description: "Looks", parameters: {}, handler: () => Effect.succeed("a tree") })],
        output: Schema.Struct({ seen: Schema.String })
      })
      const { url } = yield* AgentServers.start({
        agents: [agent],
        edges: [A2aServer.make({ agents: [agent] })],
        model: staged(({ messages }) =>
          messages.at(-1)?.role === "user"
            ? { texts: ["Let me look"], call: { name: "look", params: {} } }
            : { texts: ['{"seen":', '"a tree"}'] }
        )
      })
      const client = yield* clientOf(url, "helper")
      const seen = collected(yield* all(client.sendMessageStream(said("what is there?"))))
      assert.notInclude(seen.text, "Let me look")
      assert.deepStrictEqual(
        seen.parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value] : [])),
        [{ seen: "a tree" }]
      )
      const task = yield* send(client, said("what is there?"))
      const contents = task.artifacts[0]?.parts.map(({ content }) => content) ?? []
      assert.deepInclude(contents, { $case: "data", value: { seen: "a tree" } })
    })
  )

  it.scopedLive("need input where a person must approve, and go on with the decision", () =>
    Effect.gen(function* () {
      const { url } = yield* paying
      const client = yield* clientOf(url, "clerk")
      const asked = yield* send(client, said("pay"))
      assert.strictEqual(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      const [question, data] = asked.status?.message?.parts ?? []
      assert.include(textOf([question as A2a.Part]), '"pay" waits for approval')
      const request = data?.content?.$case === "data" ? data.content.value : undefined
      assert.deepInclude(request, { kind: "approval", tool: "pay", params: { amount: 5 } })
      const go = { taskId: asked.id, contextId: asked.contextId }
      const error = yield* refused(() => client.sendMessage(said("maybe", go)))
      assert.include(error.message, "The task asks for a decision")
      const stranger = yield* refused(() =>
        client.sendMessage(said([dataPart({ requestId: "other", decision: "approve" })], go))
      )
      assert.include(stranger.message, "No request of this task")
      const edited = dataPart({ requestId: request.requestId, decision: "approve", params: { amount: 3 } })
      const paid = yield* send(client, said([edited], go))
      assert.strictEqual(paid.status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.include(answerOf(paid), "paid 3")
      // By a word, and as a stream.
      const again = yield* all(client.sendMessageStream(said("pay")))
      assert.strictEqual(collected(again).states.at(-1), TaskState.TASK_STATE_INPUT_REQUIRED)
      const id = again[0]?.payload?.$case === "task" ? again[0].payload.value.id : ""
      const denied = collected(yield* all(client.sendMessageStream(said("Deny", { taskId: id }))))
      assert.strictEqual(denied.states.at(-1), TaskState.TASK_STATE_COMPLETED)
      assert.notInclude(denied.text, "paid 5")
      const over = yield* refused(() => client.sendMessage(said("more", { taskId: id })))
      assert.strictEqual(over.name, "UnsupportedOperationError")
    })
  )

  it.scopedLive("need input once nothing else goes on in them for so long (quiet)", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("clerk", { tools: [pay] })]
      for (const quiet of ["1 millis", "1 hour"] as const) {
        const { ask, url } = yield* AgentServers.start({
          agents,
          edges: [A2aServer.make({ agents, quiet })],
          script: InnerApproval.script
        })
        const client = yield* clientOf(url, "clerk")
        const sent = yield* Effect.fork(send(client, said("pay")))
        const { json } = yield* Effect.repeat(Effect.delay(ask("/v1/approvals"), "5 millis"), {
          until: ({ json }) => json.approvals.length > 0
        })
        if (quiet === "1 hour") {
          yield* ask(`/v1/approvals/${json.approvals[0].id}/decision`, { body: { decision: "approve" } })
        }
        const { status } = yield* Fiber.join(sent)
        const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState
        assert.strictEqual(status?.state, quiet === "1 hour" ? TASK_STATE_COMPLETED : TASK_STATE_INPUT_REQUIRED)
      }
    })
  )

  it.scopedLive("need input where an agent inside of them asks a person", () =>
    Effect.gen(function* () {
      const agents = [InnerApproval.agent]
      const { url } = yield* AgentServers.start({
        agents,
        edges: [A2aServer.make({ agents, quiet: "1 millis" })],
        script: InnerApproval.script
      })
      const client = yield* clientOf(url, "clerk")
      const asked = yield* send(client, said("pay"))
      assert.strictEqual(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      assert.include(textOf(asked.status?.message?.parts), '"pay" waits for approval')
      const paid = yield* send(client, said("yes", { taskId: asked.id }))
      assert.include(answerOf(paid), "paid 5")
    })
  )

  it.scopedLive("ask the questions of their tools", () =>
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
      const agent = Agent.make("shop", { tools: [order] as never })
      const { url } = yield* AgentServers.start({
        agents: [agent],
        edges: [A2aServer.make({ agents: [agent], quiet: "1 millis" })],
        script: ({ messages }) =>
          messages.at(-1)?.role === "user"
            ? { calls: [{ name: "order", params: {} }] }
            : JSON.stringify(messages.at(-1)?.content)
      })
      const client = yield* clientOf(url, "shop")
      const asked = yield* send(client, said("order"))
      assert.include(textOf(asked.status?.message?.parts), "Which size?")
      const done = yield* send(client, said("large", { taskId: asked.id }))
      assert.include(answerOf(done), "large")
    })
  )

  it.scopedLive("are listed, read and canceled by their owner alone", () =>
    Effect.gen(function* () {
      const agents = [helper]
      const { url } = yield* AgentServers.start({
        agents,
        edges: [A2aServer.make({ agents })],
        model: staged(() => ({ texts: [Effect.never] }))
      })
      const client = yield* clientOf(url, "helper")
      const immediate = { ...said("wait"), configuration: { returnImmediately: true } as never }
      const task = yield* send(client, immediate)
      assert.strictEqual(task.status?.state, TaskState.TASK_STATE_WORKING)
      const filter = {
        tenant: "",
        contextId: task.contextId,
        status: 0,
        pageToken: "",
        statusTimestampAfter: undefined
      }
      const list = (who: Client, more = {}) => Effect.promise(() => who.listTasks({ ...filter, ...more }))
      assert.deepStrictEqual(
        (yield* list(client)).tasks.map(({ id }) => id),
        [task.id]
      )
      assert.lengthOf((yield* list(client, { status: TaskState.TASK_STATE_COMPLETED })).tasks, 0)
      const bob = yield* clientOf(url, "helper", "bob")
      assert.lengthOf((yield* list(bob)).tasks, 0)
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => bob.getTask({ tenant: "", id: task.id }),
        () => bob.cancelTask({ tenant: "", id: task.id, metadata: undefined }),
        () => bob.sendMessage(said("hi", { taskId: task.id })),
        () => bob.resubscribeTask({ tenant: "", id: task.id }).next()
      ]
      for (const call of calls) {
        const error = yield* refused(call)
        assert.include(`${error.name} ${error.message}`, "No task of yours")
      }
      const canceled = yield* Effect.promise(() => client.cancelTask({ tenant: "", id: task.id, metadata: undefined }))
      assert.strictEqual(canceled.status?.state, TaskState.TASK_STATE_CANCELED)
      const twice = yield* refused(() => client.cancelTask({ tenant: "", id: task.id, metadata: undefined }))
      assert.strictEqual(twice.name, "TaskNotCancelableError")
    })
  )

  it.scopedLive("say what they do not take", () =>
    Effect.gen(function* () {
      const agents = [helper]
      const { ask } = yield* AgentServers.start({
        agents,
        edges: [A2aServer.make({ agents, url: "https://agents.example/" })]
      })
      const card = yield* ask("/.well-known/agent-card.json")
      assert.strictEqual(card.json.supportedInterfaces[0].url, "https://agents.example/a2a/helper")
      const codeOf = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
        Effect.map(ask("/a2a/helper", { body, headers }), ({ json, status }) => [status, json.error?.code, json.id])
      const call = (method: string, params?: unknown) => ({ jsonrpc: "2.0", id: 7, method, params })
      const message = (parts: unknown, more = {}) => ({
        message: { messageId: "m", role: "ROLE_USER", parts, ...more }
      })
      assert.deepStrictEqual(yield* codeOf("{"), [400, -32700, null])
      assert.deepStrictEqual(yield* codeOf([]), [200, -32600, null])
      assert.deepStrictEqual(yield* codeOf({ method: "GetTask" }), [200, -32600, null])
      assert.deepStrictEqual(yield* codeOf(call("message/send")), [200, -32601, 7])
      assert.deepStrictEqual(yield* codeOf(call("__proto__")), [200, -32601, 7])
      assert.deepStrictEqual(yield* codeOf(call("SendMessage", message([]))), [200, -32602, 7])
      const agentSays = message([{ text: "hi" }], { role: "ROLE_AGENT" })
      assert.deepStrictEqual(yield* codeOf(call("SendMessage", agentSays)), [200, -32602, 7])
      for (const contextId of ["a\r\nb", "\u0000"]) {
        const strange = message([{ text: "hi" }], { contextId })
        assert.deepStrictEqual(yield* codeOf(call("SendMessage", strange)), [200, -32602, 7])
      }
      const file = message([{ url: "file:///etc/passwd" }])
      assert.deepStrictEqual(yield* codeOf(call("SendMessage", file)), [200, -32005, 7])
      const push = {
        ...message([{ text: "hi" }]),
        configuration: { taskPushNotificationConfig: { url: "http://a.b" } }
      }
      assert.deepStrictEqual(yield* codeOf(call("SendMessage", push)), [200, -32003, 7])
      assert.deepStrictEqual(yield* codeOf(call("GetTask", { id: "none" })), [200, -32001, 7])
      assert.deepStrictEqual(yield* codeOf(call("GetExtendedAgentCard")), [200, -32007, 7])
      assert.deepStrictEqual(yield* codeOf(call("GetTask", { id: "x" }), { "a2a-version": "0.3" }), [200, -32009, 7])
      assert.strictEqual((yield* ask("/a2a/helper", { body: call("GetTask"), user: "" })).status, 401)
      assert.strictEqual((yield* ask("/a2a/nobody", { body: call("GetTask") })).json.error.code, -32001)
    })
  )
})
