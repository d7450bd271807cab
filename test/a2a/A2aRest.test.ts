import * as A2a from "@a2a-js/sdk"
import { assert, describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as A2aServer from "../../src/a2a/A2aServer.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as A2aWebhooks from "../../src/webhook/A2aWebhooks.js"
import { all, answerOf, clientOf, collected, refused, said, send } from "../support/A2aClients.js"
import * as AgentServers from "../support/AgentServers.js"
import * as InnerApproval from "../support/InnerApproval.js"
import * as StagedModel from "../support/StagedModel.js"
import { receiver } from "../support/WebhookReceivers.js"

const { TaskState } = A2a

const helper = Agent.make("helper", { description: "Helps" })

const serve = (setup: Partial<AgentServers.Setup> = {}) => {
  const agents = setup.agents ?? [helper]
  return AgentServers.start({ agents, edges: [A2aServer.make({ agents, quiet: "1 millis" })], ...setup })
}

const restOf = (url: string, agent: string, user?: string) => clientOf(url, agent, user, "HTTP+JSON")

describe("agents by A2A over HTTP+JSON, with the client of its SDK", () => {
  it.scopedLive("answer, stream, and ask for input", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("clerk", { tools: [InnerApproval.pay] })]
      const { ask, url } = yield* serve({ agents, script: InnerApproval.script })
      const card = A2a.AgentCard.fromJSON((yield* ask("/.well-known/agent-card.json")).json)
      assert.deepStrictEqual(
        card.supportedInterfaces.map(({ protocolBinding, url }) => [protocolBinding, url]),
        ["JSONRPC", "HTTP+JSON"].map((binding) => [binding, `${url}/a2a/clerk`])
      )
      const client = yield* restOf(url, "clerk")
      const asked = yield* send(client, said("pay"))
      assert.strictEqual(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
      const paid = yield* send(client, said("yes", { taskId: asked.id }))
      assert.include(answerOf(paid), "paid 5")
      const streamed = yield* all(client.sendMessageStream(said("pay")))
      assert.strictEqual(collected(streamed).states.at(-1), TaskState.TASK_STATE_INPUT_REQUIRED)
      const id = streamed[0]?.payload?.$case === "task" ? streamed[0].payload.value.id : ""
      const denied = collected(yield* all(client.sendMessageStream(said("no", { taskId: id }))))
      assert.strictEqual(denied.states.at(-1), TaskState.TASK_STATE_COMPLETED)
    })
  )

  it.scopedLive("are listed, read, followed and canceled by their owner alone", () =>
    Effect.gen(function* () {
      const rest = yield* Deferred.make<void>()
      const model = Layer.succeed(
        LlmClient.LlmClient,
        StagedModel.make(() => ({ texts: ["Once ", Deferred.await(rest), "more"] }))
      )
      const { ask, url } = yield* serve({ model })
      const client = yield* restOf(url, "helper")
      const immediate = () => ({ ...said("wait"), configuration: { returnImmediately: true } as never })
      const task = yield* send(client, immediate())
      const other = yield* send(client, immediate())
      const filter = { tenant: "", contextId: "", status: 0, pageToken: "", statusTimestampAfter: undefined }
      const list = (more = {}) => Effect.promise(() => client.listTasks({ ...filter, ...more }))
      assert.lengthOf((yield* list()).tasks, 2)
      assert.lengthOf((yield* list({ pageSize: 1 })).tasks, 1)
      assert.deepStrictEqual(
        (yield* list({ contextId: other.contextId })).tasks.map(({ id }) => id),
        [other.id]
      )
      const bob = yield* restOf(url, "helper", "bob")
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => bob.getTask({ tenant: "", id: task.id }),
        () => bob.cancelTask({ tenant: "", id: task.id, metadata: undefined }),
        () => bob.sendMessage(said("hi", { taskId: task.id })),
        () => bob.resubscribeTask({ tenant: "", id: task.id }).next()
      ]
      for (const call of calls) assert.strictEqual((yield* refused(call)).name, "TaskNotFoundError")
      const canceled = yield* Effect.promise(() => client.cancelTask({ tenant: "", id: other.id, metadata: undefined }))
      assert.strictEqual(canceled.status?.state, TaskState.TASK_STATE_CANCELED)
      const twice = yield* refused(() => client.cancelTask({ tenant: "", id: other.id, metadata: undefined }))
      assert.strictEqual(twice.name, "TaskNotCancelableError")
      assert.propertyVal(twice, "transport", "rest")
      const [, followed] = yield* Effect.all(
        [Deferred.succeed(rest, undefined), all(client.resubscribeTask({ tenant: "", id: task.id }))],
        { concurrency: 2 }
      )
      assert.strictEqual(collected(followed).text, "Once more")
      const read = yield* Effect.promise(() => client.getTask({ tenant: "", id: task.id }))
      assert.strictEqual(answerOf(read), "Once more")
      // The specification follows a task by GET, the SDK by POST.
      const { text } = yield* ask(`/a2a/helper/tasks/${task.id}:subscribe`)
      assert.include(text, "TASK_STATE_COMPLETED")
    })
  )

  it.scopedLive("take push notification configs", () =>
    Effect.gen(function* () {
      const { got, url: hook } = yield* receiver()
      const options = { allowPrivate: ["127.0.0.1"], ports: "any" } as const
      const push = Layer.orDie(Layer.provide(A2aWebhooks.layer(options), WorkflowEngine.layerMemory))
      const { url } = yield* serve({ push })
      const client = yield* restOf(url, "helper")
      const { id: taskId } = yield* send(client, said("work"))
      const config = { tenant: "", id: "mine", taskId, url: hook, token: "secret", authentication: undefined }
      const made = yield* Effect.promise(() => client.createTaskPushNotificationConfig(config))
      assert.deepStrictEqual(made, { ...config, token: "" })
      assert.strictEqual((yield* Queue.take(got)).headers["x-a2a-notification-token"], "secret")
      const name = { tenant: "", taskId, id: "mine" }
      assert.deepStrictEqual(yield* Effect.promise(() => client.getTaskPushNotificationConfig(name)), made)
      yield* Effect.promise(() => client.deleteTaskPushNotificationConfig(name))
      const { configs } = yield* Effect.promise(() =>
        client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" })
      )
      assert.isEmpty(configs)
    })
  )

  it.scopedLive("say what they do not take, as AIP-193 has it", () =>
    Effect.gen(function* () {
      const { ask } = yield* serve()
      const errorOf = (path: string, options: AgentServers.Asked = {}) =>
        Effect.map(ask(`/a2a/helper${path}`, options), ({ json, status }) => {
          assert.strictEqual(json.error.code, status)
          assert.isString(json.error.message)
          return [status, json.error.status, json.error.details[0]?.reason]
        })
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] }
      const invalid = [400, "INVALID_ARGUMENT", undefined]
      assert.deepStrictEqual(yield* errorOf("/message:send", { body: "{" }), invalid)
      assert.deepStrictEqual(yield* errorOf("/message:send", { body: { message: { ...message, parts: [] } } }), invalid)
      assert.deepStrictEqual(yield* errorOf("/tasks?pageSize=many"), invalid)
      assert.deepStrictEqual(yield* errorOf("/tasks?pageSize=1000"), invalid)
      const file = { message: { ...message, parts: [{ url: "file:///etc/passwd" }] } }
      assert.deepStrictEqual(yield* errorOf("/message:send", { body: file }), [
        400,
        "INVALID_ARGUMENT",
        "CONTENT_TYPE_NOT_SUPPORTED"
      ])
      const unknown = [404, "NOT_FOUND", undefined]
      assert.deepStrictEqual(yield* errorOf("/message:shout", { body: { message } }), unknown)
      assert.deepStrictEqual(yield* errorOf("/toString", { body: { message } }), unknown)
      assert.deepStrictEqual(yield* errorOf("/tasks/none:toString", { body: {} }), unknown)
      assert.deepStrictEqual(yield* errorOf("/nothing/here", { body: {} }), unknown)
      const none = [404, "NOT_FOUND", "TASK_NOT_FOUND"]
      assert.deepStrictEqual(yield* errorOf("/tasks/none"), none)
      assert.deepStrictEqual(yield* errorOf("/tasks/none:cancel", { method: "POST" }), none)
      assert.deepStrictEqual(yield* errorOf("/tasks/none/pushNotificationConfigs"), [
        400,
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED"
      ])
      assert.deepStrictEqual(yield* errorOf("/extendedAgentCard"), [
        400,
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
      ])
      assert.deepStrictEqual(yield* errorOf("/tasks", { headers: { "a2a-version": "0.3" } }), [
        400,
        "FAILED_PRECONDITION",
        "VERSION_NOT_SUPPORTED"
      ])
      assert.deepStrictEqual(yield* errorOf("/tasks", { user: "" }), [401, "UNAUTHENTICATED", undefined])
      assert.strictEqual((yield* ask("/a2a/nobody/tasks")).json.error.status, "NOT_FOUND")
      assert.deepStrictEqual((yield* errorOf("/tasks", { method: "DELETE" })).slice(0, 2), [405, "UNIMPLEMENTED"])
    })
  )

  it.scopedLive("refuse streams above the limit with 429", () =>
    Effect.gen(function* () {
      const model = Layer.succeed(
        LlmClient.LlmClient,
        StagedModel.make(() => ({ texts: ["a", Effect.never] }))
      )
      const { ask, url } = yield* serve({ limits: { maxStreams: 1 }, model })
      const client = yield* restOf(url, "helper")
      const stream = client.sendMessageStream(said("wait"))
      yield* Effect.promise(() => stream.next())
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] }
      const { json, status } = yield* ask("/a2a/helper/message:send", { body: { message } })
      assert.deepStrictEqual([status, json.error.status], [429, "RESOURCE_EXHAUSTED"])
      yield* Effect.promise(() => stream.return(undefined))
    })
  )
})
