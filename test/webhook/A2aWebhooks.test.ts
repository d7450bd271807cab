import { AgentCard, StreamResponse, type TaskPushNotificationConfig, TaskState } from "@a2a-js/sdk"
import { assert, describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { A2aPush } from "../../src/a2a/A2aPush.js"
import * as A2aServer from "../../src/a2a/A2aServer.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as InMemoryFactStore from "../../src/memory/facts/InMemoryFactStore.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as OwnerData from "../../src/persistence/OwnerData.js"
import * as SqlOwnerData from "../../src/persistence/SqlOwnerData.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import * as A2aWebhooks from "../../src/webhook/A2aWebhooks.js"
import { ann, asked, call, type Ports, say, start, untilAsleep } from "../durable/DurableProcesses.js"
import { clientOf, refused, said, send } from "../support/A2aClients.js"
import * as AgentServers from "../support/AgentServers.js"
import * as InnerApproval from "../support/InnerApproval.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as StagedModel from "../support/StagedModel.js"
import { type Got, quickly, receiver } from "../support/WebhookReceivers.js"

const here = { allowPrivate: ["127.0.0.1"], ports: "any", quiet: "1 millis" } as const

const helper = Agent.make("helper")

const serve = (options: A2aWebhooks.Options = {}, setup: Partial<AgentServers.Setup> = {}) => {
  const agents = setup.agents ?? [helper]
  return AgentServers.start({
    agents,
    edges: [A2aServer.make({ agents, quiet: "1 millis" })],
    ...setup,
    push: Layer.orDie(Layer.provide(A2aWebhooks.layer({ ...here, ...options }), WorkflowEngine.layerMemory))
  })
}

const configOf = (taskId: string, url: string, more: Partial<TaskPushNotificationConfig> = {}) => ({
  tenant: "",
  id: "",
  taskId,
  url,
  token: "",
  authentication: undefined,
  ...more
})

/** A message whose task is followed by a config. */
const saidWith = (text: string, config: TaskPushNotificationConfig, returnImmediately = true) => ({
  ...said(text),
  configuration: {
    returnImmediately,
    taskPushNotificationConfig: config,
    acceptedOutputModes: [],
    historyLength: undefined
  }
})

const taskOf = ({ body }: Got) => {
  const { payload } = StreamResponse.fromJSON(JSON.parse(body))
  if (payload?.$case !== "task") throw new Error(`not a task: ${body}`)
  return payload.value
}

const stateOf = (got: Got) => taskOf(got).status?.state

/** Answers once it may. */
const slow = Effect.map(Deferred.make<void>(), (rest) => ({
  rest: Deferred.succeed(rest, undefined),
  model: Layer.succeed(
    LlmClient.LlmClient,
    StagedModel.make(() => ({ texts: [Deferred.await(rest), "done"] }))
  )
}))

describe("push notifications of A2A, with the client of its SDK", () => {
  it.scopedLive("tell the end of a task, with the token and the authentication of their config", () =>
    Effect.gen(function* () {
      const { got, url: hook } = yield* receiver()
      const { model, rest } = yield* slow
      const { ask, url } = yield* serve({}, { model })
      const card = AgentCard.fromJSON((yield* ask("/.well-known/agent-card.json")).json)
      assert.isTrue(card.capabilities?.pushNotifications)
      const client = yield* clientOf(url, "helper")
      const task = yield* send(client, { ...said("work"), configuration: { returnImmediately: true } as never })
      const made = yield* Effect.promise(() =>
        client.createTaskPushNotificationConfig(
          configOf(task.id, hook, {
            id: "mine",
            token: "token-of-mine",
            authentication: { scheme: "Bearer", credentials: "credential-of-mine" }
          })
        )
      )
      const name = { tenant: "", taskId: task.id, id: "mine" }
      const read = yield* Effect.promise(() => client.getTaskPushNotificationConfig(name))
      const list = yield* Effect.promise(() =>
        client.listTaskPushNotificationConfig({ tenant: "", taskId: task.id, pageSize: 0, pageToken: "" })
      )
      for (const shown of [made, read, ...list.configs]) {
        assert.deepInclude(shown, { id: "mine", taskId: task.id, url: hook, token: "" })
        assert.deepStrictEqual(shown.authentication, { scheme: "Bearer", credentials: "" })
      }
      assert.strictEqual(yield* Queue.size(got), 0)
      yield* rest
      const told = yield* Queue.take(got)
      assert.strictEqual(told.headers["x-a2a-notification-token"], "token-of-mine")
      assert.strictEqual(told.headers.authorization, "Bearer credential-of-mine")
      assert.strictEqual(told.headers["content-type"], "application/a2a+json")
      const { artifacts, id, status } = taskOf(told)
      assert.strictEqual(id, task.id)
      assert.strictEqual(status?.state, TaskState.TASK_STATE_COMPLETED)
      assert.include(JSON.stringify(artifacts), "done")
    })
  )

  it.scopedLive("tell when a task waits for a person, and again when it has ended", () =>
    Effect.gen(function* () {
      for (const agent of [Agent.make("clerk", { tools: [InnerApproval.pay] }), InnerApproval.agent]) {
        const { got, url: hook } = yield* receiver()
        const { url } = yield* serve({}, { agents: [agent], script: InnerApproval.script })
        const client = yield* clientOf(url, "clerk")
        const asked = yield* send(client, saidWith("pay", configOf("", hook), false))
        assert.strictEqual(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
        const waiting = yield* Queue.take(got)
        assert.strictEqual(stateOf(waiting), TaskState.TASK_STATE_INPUT_REQUIRED)
        assert.include(waiting.body, '"tool":"pay"')
        yield* send(client, said("yes", { taskId: asked.id }))
        const ended = yield* Queue.take(got)
        assert.strictEqual(stateOf(ended), TaskState.TASK_STATE_COMPLETED)
        assert.include(ended.body, "paid 5")
      }
    })
  )

  it.scopedLive("tell once of each request of a task that asks more while it waits", () =>
    Effect.gen(function* () {
      const { got, url: hook } = yield* receiver()
      const gate = yield* Deferred.make<void>()
      const order = Tool.make("order", {
        description: "Orders",
        parameters: {},
        handler: () =>
          Effect.zipRight(
            Deferred.await(gate),
            Effect.as(Elicitation.ask({ message: "Which?", schema: Schema.Struct({ size: Schema.String }) }), "ordered")
          )
      })
      const calls = [
        { name: "pay", params: { amount: 5 } },
        { name: "order", params: {} }
      ]
      const { ask, url } = yield* serve(
        {},
        {
          agents: [Agent.make("clerk", { tools: [InnerApproval.pay, order] as never })],
          script: ({ messages }) => (messages.at(-1)?.role === "user" ? { calls } : "done")
        }
      )
      const client = yield* clientOf(url, "clerk")
      const { id } = yield* send(client, saidWith("go", configOf("", hook)))
      const first = yield* Queue.take(got)
      assert.include(first.body, '"tool":"pay"')
      yield* Deferred.succeed(gate, undefined)
      const second = yield* Queue.take(got)
      assert.include(second.body, "Which?")
      assert.include(second.body, '"tool":"pay"')
      const { json } = yield* ask(`/v1/approvals?runId=${id}`)
      for (const { id: requestId, question } of json.approvals) {
        const params = question === undefined ? {} : { params: { size: "large" } }
        yield* ask(`/v1/approvals/${encodeURIComponent(requestId)}/decision`, {
          body: { decision: "approve", ...params }
        })
      }
      assert.strictEqual(stateOf(yield* Queue.take(got)), TaskState.TASK_STATE_COMPLETED)
      assert.strictEqual(yield* Queue.size(got), 0)
    })
  )

  it.scopedLive("are those of the owner of the task alone, and at most 8", () =>
    Effect.gen(function* () {
      const { got, url: hook } = yield* receiver()
      const { model, rest } = yield* slow
      const { url } = yield* serve({}, { model })
      const client = yield* clientOf(url, "helper")
      const bob = yield* clientOf(url, "helper", "bob")
      const request = saidWith("work", configOf("", hook))
      const { id: taskId } = yield* send(client, request)
      // A message that is sent again has the config that there is.
      yield* send(client, request)
      const list = Effect.promise(() =>
        client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" })
      )
      const [first] = (yield* list).configs
      assert.lengthOf((yield* list).configs, 1)
      const name = { tenant: "", taskId, id: first?.id ?? "" }
      const calls: ReadonlyArray<() => Promise<unknown>> = [
        () => bob.createTaskPushNotificationConfig(configOf(taskId, hook)),
        () => bob.getTaskPushNotificationConfig(name),
        () => bob.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" }),
        () => bob.deleteTaskPushNotificationConfig(name),
        () => client.getTaskPushNotificationConfig({ ...name, id: "other" })
      ]
      for (const call of calls) assert.strictEqual((yield* refused(call)).name, "TaskNotFoundError")
      const create = (more: Partial<TaskPushNotificationConfig>) => () =>
        client.createTaskPushNotificationConfig(configOf(taskId, hook, more))
      // One that is created again under its id replaces the one before.
      yield* Effect.promise(create({ id: "a", token: "one" }))
      yield* Effect.promise(create({ id: "a", token: "two" }))
      yield* Effect.promise(() => client.deleteTaskPushNotificationConfig(name))
      assert.deepStrictEqual(
        (yield* list).configs.map(({ id }) => id),
        ["a"]
      )
      yield* Effect.all(
        Array.from({ length: 5 }, (_, n) => Effect.promise(create({ token: `more-${n}` }))),
        { concurrency: 5 }
      )
      assert.include((yield* refused(create({ token: "last" }))).message, "A task takes 8")
      assert.lengthOf((yield* list).configs, 6)
      yield* rest
      const tokens = new Set<unknown>()
      for (let n = 0; n < 6; n++) tokens.add((yield* Queue.take(got)).headers["x-a2a-notification-token"])
      assert.deepStrictEqual(tokens, new Set(["two", ...Array.from({ length: 5 }, (_, n) => `more-${n}`)]))
      assert.strictEqual(yield* Queue.size(got), 0)
    })
  )

  it.scopedLive("are repeated until they are taken, whatever a receiver does", () =>
    quickly(
      Effect.gen(function* () {
        const { got, url: hook } = yield* receiver("hang", 500, 302, "flood")
        const { url } = yield* serve({ delays: ["5 seconds", "5 minutes", "5 minutes"], timeout: "5 minutes" })
        const client = yield* clientOf(url, "helper")
        yield* send(client, saidWith("work", configOf("", hook)))
        for (let n = 0; n < 4; n++) {
          assert.strictEqual(stateOf(yield* Queue.take(got)), TaskState.TASK_STATE_COMPLETED)
        }
        yield* Effect.sleep("20 minutes")
        assert.strictEqual(yield* Queue.size(got), 0)
      })
    )
  )

  it.scopedLive("go to no address that a caller must not reach, and carry no headers of others", () =>
    Effect.gen(function* () {
      const { ask, url } = yield* serve({ allowPrivate: false, resolve: () => Effect.succeed(["10.0.0.7"]) })
      const client = yield* clientOf(url, "helper")
      const addresses = ["http://127.0.0.1/", "http://169.254.169.254/", "http://internal.example/", "file:///x", "x"]
      for (const hook of addresses) {
        const error = yield* refused(() => client.sendMessage(saidWith("work", configOf("", hook))))
        assert.include(error.message, "The address of the webhook", hook)
      }
      assert.isEmpty((yield* ask("/v1/runs")).json.runs)
      const strange = [
        { token: "a\r\nx-admin: 1" },
        { authentication: { scheme: "Bearer\n", credentials: "x" } },
        { authentication: { scheme: "Bearer", credentials: "x\r\ny: 1" } },
        { token: "x".repeat(1025) }
      ]
      for (const more of strange) {
        const taskPushNotificationConfig = { url: "https://a.example", ...more }
        const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "work" }] }
        const params = { message, configuration: { taskPushNotificationConfig } }
        const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params }
        assert.strictEqual((yield* ask("/a2a/helper", { body })).json.error.code, -32602)
      }
    })
  )
})

/** A process with push notifications, over the engine of workflows or over a cluster. */
const processOf = (
  client: SqlBackends.SqlBackend["layer"],
  model: LlmClient.Service,
  agents: ReadonlyArray<Agent.Any> = [helper],
  ports?: Ports
) =>
  Effect.gen(function* () {
    const { end, within } = yield* start(client, { agents }, model, undefined, ports)
    const scope = yield* Scope.make()
    const context = yield* within(Layer.buildWithScope(A2aWebhooks.layer(here), scope))
    return {
      within,
      push: Context.get(context, A2aPush),
      end: Effect.zipRight(Scope.close(scope, Exit.void), end)
    }
  })

const modelOf = (complete: LlmClient.Service["complete"]): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete
})

const task = { runId: RunId.make("run"), userId: UserId.make("ann"), agent: "helper" }

SqlBackends.suite("push notifications of a durable run", (backend) => {
  it.scopedLive("are sent by another process when that of the run has ended", () =>
    Effect.gen(function* () {
      const { got, url } = yield* receiver()
      const asked = yield* Deferred.make<void>()
      const one = yield* processOf(
        backend.layer,
        modelOf(() => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never))
      )
      yield* one.within(Runs.start({ agent: "helper", input: "hello", userId: "ann", runId: "run" }))
      yield* one.push.create(task, { url, token: "mine" })
      yield* Deferred.await(asked)
      yield* one.end
      assert.strictEqual(yield* Queue.size(got), 0)
      const two = yield* processOf(
        backend.kept,
        modelOf(() => Effect.succeed(say("hi")))
      )
      assert.lengthOf(yield* two.push.list(task), 1)
      const told = yield* Queue.take(got)
      assert.strictEqual(told.headers["x-a2a-notification-token"], "mine")
      assert.strictEqual(stateOf(told), TaskState.TASK_STATE_COMPLETED)
      // The config goes with the other data of its owner.
      yield* Effect.flatMap(OwnerData.OwnerData, (data) => data.erase(UserId.make("ann"))).pipe(
        Effect.provide(
          SqlOwnerData.layer.pipe(
            Layer.provide([InMemoryMemoryStore.layer(), InMemoryFactStore.layer(), InMemorySessionStore.layer]),
            Layer.provide(backend.kept)
          )
        )
      )
      assert.isEmpty(yield* two.push.list(task))
      yield* two.end
    })
  )

  const places: ReadonlyArray<readonly [string, Ports | undefined]> = [
    ["over the engine", undefined],
    ["in a cluster", DurableCluster.layerSingle({ shards: 1, poll: "20 millis", drain: "20 millis" })]
  ]
  for (const [place, ports] of places) {
    it.scopedLive(`go on in another process once the task has waited for a person in the first, ${place}`, () =>
      Effect.gen(function* () {
        const { got, url } = yield* receiver()
        const pay = Tool.make("pay", {
          description: "Pays",
          requiresApproval: true,
          handler: () => Effect.succeed("paid")
        })
        const agents = [Agent.make("helper", { tools: [pay] })]
        const model = modelOf(({ messages }) =>
          Effect.succeed(messages.at(-1)?.role === "user" ? call(["pay", {}]) : say("done"))
        )
        const one = yield* processOf(backend.layer, model, agents, ports)
        yield* one.within(Runs.start({ agent: "helper", input: "hello", userId: "ann", runId: "run" }))
        yield* one.push.create(task, { url, token: "mine" })
        const waiting = yield* Queue.take(got)
        assert.strictEqual(stateOf(waiting), TaskState.TASK_STATE_INPUT_REQUIRED)
        yield* one.within(untilAsleep("run"))
        yield* one.end
        const two = yield* processOf(backend.kept, model, agents, ports)
        const { id } = yield* two.within(asked)
        yield* two.within(Runs.answer(id, { _tag: "Approved" }, ann))
        // A process that ends before it keeps that a notification was taken leaves it to be sent again.
        const ended = yield* Effect.repeat(Queue.take(got), {
          until: (next) => stateOf(next) === TaskState.TASK_STATE_COMPLETED
        })
        assert.strictEqual(ended.headers["x-a2a-notification-token"], "mine")
        assert.include(ended.body, "done")
        yield* two.end
        assert.strictEqual(yield* Queue.size(got), 0)
      })
    )
  }

  it.scopedLive("are sent by another process of the cluster when that of the run has ended", () =>
    Effect.gen(function* () {
      const [, ports] = places[1] as (typeof places)[number]
      const { got, url } = yield* receiver()
      const begun = yield* Deferred.make<void>()
      const one = yield* processOf(
        backend.layer,
        modelOf(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)),
        [helper],
        ports
      )
      yield* one.within(Runs.start({ agent: "helper", input: "hello", userId: "ann", runId: "run" }))
      yield* one.push.create(task, { url, token: "mine" })
      yield* Deferred.await(begun)
      yield* one.end
      assert.strictEqual(yield* Queue.size(got), 0)
      const model = modelOf(() => Effect.succeed(say("hi")))
      const two = yield* processOf(backend.kept, model, [helper], ports)
      assert.strictEqual(stateOf(yield* Queue.take(got)), TaskState.TASK_STATE_COMPLETED)
      yield* two.end
    })
  )
})
