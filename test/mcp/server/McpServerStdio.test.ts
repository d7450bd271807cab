import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { UserId } from "../../../src/domain/Ids.js"
import { Requester } from "../../../src/domain/Requester.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Elicitation from "../../../src/tool/Elicitation.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as McpClients from "../../support/McpClients.js"

const services = Layer.orDie(AgentServers.services({ agents: [Agent.make("helper")], script: () => "at your service" }))

const root = fileURLToPath(new URL("../../..", import.meta.url))

describe("a server on standard streams", () => {
  it.scopedLive("serves tools and agents for the user that its program names", () =>
    Effect.gen(function* () {
      const who = Tool.make("who", {
        description: "Says for whom it works, and where",
        handler: () =>
          Effect.zipWith(
            Requester,
            Elicitation.ask({ message: "Where?", schema: Schema.Struct({ place: Schema.String }) }),
            ({ userId }, answer) => `for ${userId} in ${answer._tag === "accept" ? answer.content.place : "?"}`
          )
      })
      const streams = McpClients.streams()
      const definition = McpServer.make({
        name: "desk",
        version: "1.0.0",
        tools: [who],
        agents: [Agent.make("helper")]
      })
      yield* Layer.build(
        McpServer.layerStdio(definition, { ...streams, identity: { userId: UserId.make("ann") } }).pipe(
          Layer.provide(services)
        )
      )
      const client = yield* McpClients.stdio(streams, {
        elicit: () => ({ action: "accept", content: { place: "Oslo" } })
      })
      const call = (name: string, args = {}) => Effect.promise(() => client.callTool({ name, arguments: args }))
      assert.strictEqual(McpClients.textOf(yield* call("who")), "for ann in Oslo")
      assert.strictEqual(McpClients.textOf(yield* call("helper", { input: "hello" })), "at your service")
    })
  )

  it.scopedLive("ends with its input, and interrupts what it does", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(interrupted, undefined)
          )
      })
      const streams = McpClients.streams()
      const running = yield* Effect.fork(
        Effect.provide(
          McpServer.runStdio(McpServer.make({ name: "desk", version: "1.0.0", tools: [wait] }), streams),
          services
        )
      )
      const client = yield* McpClients.stdio(streams)
      yield* Effect.fork(Effect.promise(() => client.callTool({ name: "wait" }).catch(() => undefined)))
      yield* Deferred.await(begun)
      streams.input.end()
      yield* Fiber.join(running)
      yield* Deferred.await(interrupted)
    })
  )

  it.scopedLive("ends when a message is longer than allowed, and goes on after one that is none", () =>
    Effect.gen(function* () {
      const streams = McpClients.streams()
      const definition = McpServer.make({ name: "desk", version: "1.0.0" })
      const running = yield* Effect.fork(
        Effect.provide(McpServer.runStdio(definition, { ...streams, maxMessageBytes: 1_000 }), services)
      )
      const client = yield* McpClients.stdio(streams)
      streams.input.write('not JSON\n{"jsonrpc":"2.0"}\n[]\n')
      yield* Effect.promise(() => client.ping())
      streams.input.write("x".repeat(2_000))
      yield* Fiber.join(running)
    })
  )

  it.scopedLive("keeps its standard output for the protocol, and ends with its client", () =>
    Effect.gen(function* () {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: ["--import", "tsx", "test/support/programs/McpDesk.ts"],
        cwd: root,
        stderr: "pipe"
      })
      let logged = ""
      transport.stderr?.on("data", (chunk: Buffer) => {
        logged += chunk.toString()
      })
      const problems: Array<Error> = []
      const client = new Client({ name: "test", version: "1.0.0" })
      client.onerror = (error) => problems.push(error)
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport)),
        () => Effect.promise(() => client.close())
      )
      const result = yield* Effect.promise(() => client.callTool({ name: "chatty" }))
      assert.strictEqual(McpClients.textOf(result), "worked")
      assert.include(logged, "working")
      assert.deepStrictEqual(problems, [])
      const { pid } = transport
      yield* Effect.promise(() => client.close())
      assert.throws(() => process.kill(pid ?? -1, 0))
    })
  )
})
