import { createServer } from "node:http"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as RpcClient from "@effect/rpc/RpcClient"
import * as RpcSerialization from "@effect/rpc/RpcSerialization"
import * as RpcServer from "@effect/rpc/RpcServer"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/agent/definition/Agent.js"
import { ApiError } from "../../src/http/api/ApiError.js"
import * as GracefulServer from "../../src/http/request/GracefulServer.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as AgentRpc from "../../src/rpc/AgentRpc.js"
import * as AgentRpcServer from "../../src/rpc/AgentRpcServer.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as AgentServers from "../support/AgentServers.js"
import * as InnerApproval from "../support/InnerApproval.js"

const helper = Agent.make("helper", { system: "secret prompt", description: "Helps" })

type Protocol = "http" | "websocket"

interface Setup extends Omit<AgentServers.Setup, "agents" | "permits"> {
  readonly agents?: AgentServers.Setup["agents"]
  readonly permits?: AgentRpcServer.Options["permits"]
}

const asUser = (name: string) => RpcClient.withHeaders({ authorization: `Bearer token-${name}` })

/** A server on loopback, and a client of it. */
const connect = (protocol: Protocol, { agents = [helper], limits, permits, ...setup }: Setup = {}) =>
  Effect.gen(function* () {
    const http = NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })
    const transport =
      protocol === "http"
        ? RpcServer.layerProtocolHttp({ path: "/rpc" })
        : RpcServer.layerProtocolWebsocket({ path: "/rpc" })
    const server = RpcServer.layer(AgentRpc.AgentRpc).pipe(
      Layer.provide(
        AgentRpcServer.layer({
          agents,
          grace: "10 millis",
          ...(limits === undefined ? {} : { limits }),
          ...(permits === undefined ? {} : { permits })
        })
      ),
      Layer.provide(AgentServers.services({ agents, ...setup }))
    )
    const context = yield* Layer.build(
      Layer.mergeAll(HttpRouter.Default.serve(), server).pipe(
        Layer.provide(transport),
        Layer.provide(RpcSerialization.layerNdjson),
        Layer.provideMerge(http),
        Layer.orDie
      )
    )
    const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
    const clientProtocol =
      protocol === "http"
        ? Layer.provide(RpcClient.layerProtocolHttp({ url: `${url}/rpc` }), FetchHttpClient.layer)
        : Layer.provide(RpcClient.layerProtocolSocket(), NodeSocket.layerWebSocket(`${url.replace("http", "ws")}/rpc`))
    const client = yield* Layer.build(Layer.provide(clientProtocol, RpcSerialization.layerNdjson))
    return yield* Effect.provide(RpcClient.make(AgentRpc.AgentRpc), client)
  })

const start = { agent: "helper", input: "hello" }

const reason = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ApiError ? error.reason : error))

for (const protocol of ["http", "websocket"] as const) {
  describe(`AgentRpc over ${protocol}`, () => {
    it.scopedLive("starts, follows and lists runs of their caller alone", () =>
      Effect.gen(function* () {
        const client = yield* connect(protocol)
        yield* asUser("ann")(
          Effect.gen(function* () {
            const [info] = yield* client.listAgents()
            assert.deepStrictEqual(info, { name: "helper", description: "Helps", tools: [] })
            const run = yield* client.startRun({ ...start, key: "once" })
            const again = yield* client.startRun({ ...start, key: "once" })
            assert.strictEqual(again.runId, run.runId)
            assert.strictEqual(yield* reason(client.startRun({ ...start, input: "other", key: "once" })), "conflict")
            const { answer } = yield* client.awaitRun({ runId: run.runId })
            assert.strictEqual(answer?.message, "hi")
            const events = Chunk.toReadonlyArray(yield* Stream.runCollect(client.streamRun(start)))
            assert.strictEqual(events[0]?._tag, "Started")
            assert.strictEqual(events.at(-1)?._tag, "Finished")
            assert.notInclude(JSON.stringify(events), "secret prompt")
            const rest = yield* Stream.runCollect(client.runEvents({ runId: events[0]?.runId ?? "", from: 1 }))
            assert.isAbove(Chunk.size(rest), 0)
            const { next, runs } = yield* client.listRuns({ limit: 1 })
            assert.lengthOf(runs, 1)
            assert.isDefined(next)
            assert.strictEqual(yield* reason(asUser("bob")(client.getRun({ runId: run.runId }))), "unknown")
            const stolen = Stream.runDrain(client.runEvents({ runId: run.runId }))
            assert.strictEqual(yield* reason(asUser("bob")(stolen)), "unknown")
            assert.strictEqual(yield* reason(client.startRun({ agent: "nobody", input: "x" })), "unknown")
          })
        )
        assert.strictEqual(yield* reason(client.listAgents()), "unauthenticated")
      })
    )

    it.scopedLive("tells what an agent inside of a run asks", () =>
      Effect.gen(function* () {
        const client = yield* connect(protocol, { agents: [InnerApproval.agent], script: InnerApproval.script })
        const asked = yield* asUser("ann")(
          client.streamRun({ agent: "clerk", input: "pay" }).pipe(
            Stream.tap((event) =>
              event._tag === "ApprovalRequested"
                ? client.decideApproval({ requestId: event.id, decision: "approve" })
                : Effect.void
            ),
            Stream.filter(({ _tag }) => _tag.startsWith("Approval")),
            Stream.runCollect
          )
        )
        assert.deepStrictEqual(
          Array.from(asked, ({ _tag, agent }) => [_tag, agent]),
          [
            ["ApprovalRequested", "payer"],
            ["ApprovalResolved", "payer"]
          ]
        )
      })
    )

    it.scopedLive("asks a person, and takes the answer", () =>
      Effect.gen(function* () {
        const paid = yield* Deferred.make<unknown>()
        const pay = Tool.make("pay", {
          description: "Pays",
          parameters: { amount: Schema.Number },
          requiresApproval: true,
          handler: (params) => Effect.as(Deferred.succeed(paid, params), "paid")
        })
        let calls = 0
        const client = yield* connect(protocol, {
          agents: [Agent.make("clerk", { tools: [pay] })],
          script: () => (calls++ === 0 ? { calls: [{ name: "pay", params: { amount: 5 } }] } : "done")
        })
        yield* asUser("ann")(
          Effect.gen(function* () {
            yield* Stream.runForEach(client.streamRun({ agent: "clerk", input: "pay" }), (event) =>
              Effect.gen(function* () {
                if (event._tag !== "ApprovalRequested") return
                const [waiting] = yield* client.listApprovals({ runId: event.runId })
                assert.deepStrictEqual(waiting?.params, { amount: 5 })
                const decision = { requestId: event.id, decision: "approve" as const, params: { amount: 3 } }
                assert.strictEqual(yield* reason(asUser("bob")(client.decideApproval(decision))), "unknown")
                yield* client.decideApproval(decision)
              })
            )
            assert.deepStrictEqual(yield* Deferred.await(paid), { amount: 3 })
          })
        )
      })
    )

    it.scopedLive("interrupts the run of a caller that leaves, unless it is detached", () =>
      Effect.gen(function* () {
        const ended: Array<string> = []
        const model = Layer.succeed(LlmClient.LlmClient, {
          provider: "test",
          model: "m",
          complete: ({ messages }) =>
            Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ended.push(String(messages.at(-1)?.content))))
        })
        const client = yield* connect(protocol, { model })
        yield* asUser("ann")(
          Effect.gen(function* () {
            const leave = (detach: boolean) =>
              Effect.gen(function* () {
                const begun = yield* Deferred.make<string>()
                const fiber = yield* Effect.fork(
                  Stream.runForEach(client.streamRun({ ...start, input: `detached: ${detach}`, detach }), ({ runId }) =>
                    Deferred.succeed(begun, runId)
                  )
                )
                const runId = yield* Deferred.await(begun)
                yield* Fiber.interrupt(fiber)
                return runId
              })
            const kept = yield* leave(true)
            const left = yield* leave(false)
            const { run } = yield* client.awaitRun({ runId: left })
            assert.strictEqual(run.state, "interrupted")
            assert.strictEqual((yield* client.getRun({ runId: kept })).run.state, "running")
            assert.deepStrictEqual(ended, ["detached: false"])
            yield* client.steerRun({ runId: kept, message: "hurry" })
            assert.strictEqual((yield* client.interruptRun({ runId: kept })).state, "interrupted")
          })
        )
      })
    )

    it.scopedLive("refuses what a caller may not use, and too many requests", () =>
      Effect.gen(function* () {
        const client = yield* connect(protocol, {
          limits: { requestsPerMinute: 20 },
          permits: ({ userId }, procedure) => userId === "ann" || procedure === "listAgents"
        })
        assert.strictEqual(yield* reason(asUser("bob")(client.startRun(start))), "forbidden")
        yield* asUser("bob")(client.listAgents())
        const refused = yield* Effect.forEach(Array.from({ length: 5 }), () =>
          Effect.either(asUser("ann")(client.listAgents()))
        )
        const error = refused.findLast(({ _tag }) => _tag === "Left")
        assert.strictEqual(error?._tag === "Left" && error.left instanceof ApiError && error.left.reason, "rate")
      })
    )
  })
}
