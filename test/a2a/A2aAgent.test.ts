import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type AgentCard, Role, type Task, TaskState } from "@a2a-js/sdk"
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server"
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import express from "express"
import * as A2aAgent from "../../src/a2a/A2aAgent.js"
import type * as A2aError from "../../src/a2a/A2aError.js"
import * as A2aServer from "../../src/a2a/A2aServer.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as AgentServers from "../support/AgentServers.js"

/** A server on loopback that ends with the scope. */
const listening = (handler: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(handler)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const part = (text: string) => ({
  content: { $case: "text" as const, value: text },
  metadata: undefined,
  filename: "",
  mediaType: ""
})

const status = (state: TaskState, text?: string) => ({
  state,
  timestamp: undefined,
  message:
    text === undefined
      ? undefined
      : {
          messageId: text,
          contextId: "",
          taskId: "",
          role: Role.ROLE_AGENT,
          parts: [part(text)],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: []
        }
})

/** An agent of the SDK: it answers, asks for a city first, fails, or works for ever, as its message says. */
class Travel implements AgentExecutor {
  readonly heard: Array<string> = []
  readonly canceled: Array<string> = []
  private readonly ends: Array<() => void> = []
  readonly execute: AgentExecutor["execute"] = async ({ contextId, taskId, task, userMessage }, bus) => {
    const content = userMessage.parts[0]?.content
    const text = content?.$case === "text" ? content.value : ""
    this.heard.push(`${userMessage.messageId} ${text}`)
    const ids = { taskId, contextId, metadata: undefined }
    const begun: Task = {
      id: taskId,
      contextId,
      status: status(TaskState.TASK_STATE_WORKING),
      artifacts: [],
      history: [],
      metadata: undefined
    }
    bus.publish(AgentEvent.task(task ?? begun))
    const chunk = (text: string, append: boolean) =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: {
            artifactId: "a",
            name: "",
            description: "",
            parts: [part(text)],
            metadata: undefined,
            extensions: []
          },
          append,
          lastChunk: append
        })
      )
    const state = (state: TaskState, text?: string) =>
      bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(state, text) }))
    if (text === "fail") state(TaskState.TASK_STATE_FAILED, "no trains")
    else if (text === "train") state(TaskState.TASK_STATE_INPUT_REQUIRED, "From which city?")
    else if (text === "wait") {
      await new Promise<void>((resolve) => this.ends.push(resolve))
      return
    } else {
      chunk("a train ", false)
      chunk(`for ${text}`, true)
      state(TaskState.TASK_STATE_COMPLETED)
    }
    bus.finished()
  }
  readonly cancelTask: AgentExecutor["cancelTask"] = async (taskId, bus) => {
    this.canceled.push(taskId)
    const ids = { taskId, contextId: "", metadata: undefined }
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_CANCELED) }))
    for (const end of this.ends) end()
    bus.finished()
  }
}

const peer = (streaming: boolean) =>
  Effect.gen(function* () {
    const travel = new Travel()
    const app = express()
    const url = yield* listening(app)
    const card: AgentCard = {
      name: "travel",
      description: "",
      supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }],
      provider: undefined,
      version: "1",
      capabilities: { streaming, extensions: [] },
      securitySchemes: {},
      securityRequirements: [],
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [],
      signatures: []
    }
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), travel)
    app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }))
    app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
    return { travel, url }
  })

let calls = 0

const ask = (options: Omit<A2aAgent.Options, "description">, message: string, more: object = {}) => {
  const tool = A2aAgent.make("travel", { ...options, description: "Knows trains" })
  const info = { id: "c", idempotencyKey: `key-${calls++}`, attempt: 1 }
  return Effect.provide(tool.erased.handle({ message, ...more }, info), FetchHttpClient.layer) as Effect.Effect<
    A2aAgent.Answer,
    A2aError.A2aError
  >
}

describe("an agent elsewhere as a tool", () => {
  for (const streaming of [true, false]) {
    it.scopedLive(`answers ${streaming ? "in a stream" : "at once"}, asks back, and fails (server of the SDK)`, () =>
      Effect.gen(function* () {
        const { travel, url } = yield* peer(streaming)
        const first = yield* ask({ url }, "Rome")
        assert.strictEqual(first.answer.replace("\n", ""), "a train for Rome")
        assert.isUndefined(first.task)
        const second = yield* ask({ url }, "Oslo", { conversation: first.conversation })
        assert.strictEqual(second.conversation, first.conversation)
        const asked = yield* ask({ url }, "train")
        assert.strictEqual(asked.answer, "From which city?")
        const { conversation, task } = asked
        const told = yield* ask({ url }, "Bonn", { conversation, task })
        assert.strictEqual(told.answer.replace("\n", ""), "a train for Bonn")
        const error = yield* Effect.flip(ask({ url }, "fail"))
        assert.deepStrictEqual([error.reason, error.message.includes("no trains")], ["failed", true])
        assert.strictEqual(new Set(travel.heard).size, travel.heard.length)
      })
    )
  }

  it.scopedLive("cancels its task when the call is interrupted, as it is after its time", () =>
    Effect.gen(function* () {
      const { travel, url } = yield* peer(true)
      // The task is known here once its first update has come, at some time after the other side has heard.
      const left = (after: number): Effect.Effect<void> =>
        Effect.gen(function* () {
          const heard = travel.heard.length
          const waiting = yield* Effect.fork(ask({ url }, "wait"))
          yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => travel.heard.length > heard })
          yield* Effect.sleep(after)
          yield* Fiber.interrupt(waiting)
          if (travel.canceled.length === 0) yield* left(after * 2)
        })
      yield* left(20)
      const { annotations } = A2aAgent.make("travel", { url, description: "Knows trains", timeout: "1 hour" })
      assert.strictEqual(annotations.timeout, "1 hour")
    })
  )

  it.scopedLive("talks to an agent of this library, with its credentials", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("helper")]
      const { url } = yield* AgentServers.start({ agents, edges: [A2aServer.make({ agents })], script: () => "hello" })
      const headers = { authorization: "Bearer token-ann" }
      assert.strictEqual((yield* ask({ url, headers }, "hi")).answer, "hello")
      const refused = yield* Effect.flip(ask({ url }, "hi"))
      assert.strictEqual(refused.reason, "refused")
    })
  )

  it.scopedLive("believes nothing that another site says of it", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const elsewhere = yield* listening((request, response) => {
        seen.push(request.headers.authorization)
        response.end("{}")
      })
      let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end()
      const url = yield* listening((request, response) => answer(request, response))
      const card = (target: string, more: object = {}) =>
        JSON.stringify({
          name: "x",
          supportedInterfaces: [{ url: target, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
          ...more
        })
      const headers = { authorization: "Bearer secret" }
      const says = (given: string | ((response: ServerResponse) => void), of = card(`${url}/rpc`)) => {
        answer = (request, response) => {
          if (request.url !== "/rpc") response.end(of)
          else if (typeof given === "string") response.end(given)
          else given(response)
        }
        return Effect.flip(ask({ url, headers }, "hi"))
      }
      assert.strictEqual((yield* says("", card(`${elsewhere}/rpc`))).reason, "card")
      assert.deepStrictEqual(seen, [])
      assert.strictEqual((yield* says("", "no JSON")).reason, "answer")
      assert.strictEqual((yield* says("", card(`${url}/rpc`).replace("JSONRPC", "GRPC"))).reason, "card")
      assert.strictEqual((yield* says("", card("http://["))).reason, "card")
      assert.strictEqual((yield* says("no JSON")).reason, "answer")
      assert.strictEqual((yield* says('{"jsonrpc":"2.0","id":1,"result":{"task":{"id":1}}}')).reason, "answer")
      assert.strictEqual(
        (yield* says('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"go away"}}')).reason,
        "refused"
      )
      assert.strictEqual((yield* says((response) => response.writeHead(503).end("busy"))).reason, "refused")
      const flood = yield* says((response) => {
        response.write('{"jsonrpc":"2.0","id":1,"result":"')
        const more = () => response.write("x".repeat(1 << 20), more)
        more()
      })
      assert.deepStrictEqual([flood.reason, flood.message.includes("bytes")], ["answer", true])
      const endless = yield* says(
        (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          const update = {
            artifactUpdate: { taskId: "t", artifact: { artifactId: "a", parts: [{ text: "x".repeat(1 << 20) }] } }
          }
          const line = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: update })}\n\n`
          const more = () => response.write(line, more)
          more()
        },
        card(`${url}/rpc`, { capabilities: { streaming: true } })
      )
      assert.deepStrictEqual([endless.reason, endless.message.includes("characters")], ["answer", true])
      const bad = yield* Effect.flip(ask({ url: "file:///etc/passwd" }, "hi"))
      assert.strictEqual(bad.reason, "card")
      // An origin that the application names is trusted.
      answer = (_, response) => response.end(card(`${elsewhere}/rpc`))
      yield* Effect.flip(ask({ url, headers, origins: [elsewhere] }, "hi"))
      assert.deepStrictEqual(seen, ["Bearer secret"])
    })
  )
})
