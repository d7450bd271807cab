import { Worker } from "node:worker_threads"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import * as RpcClient from "@effect/rpc/RpcClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ApiError } from "../../src/http/api/ApiError.js"
import * as AgentRpc from "../../src/rpc/AgentRpc.js"

const program = new URL("../support/programs/RpcWorker.ts", import.meta.url).href

/** A thread that reads TypeScript: `--import tsx` is for the first thread of a process alone. */
const thread = () =>
  new Worker(`import("tsx/esm/api").then(({ register }) => (register(), import(${JSON.stringify(program)})))`, {
    eval: true
  })

const asUser = (name: string) => RpcClient.withHeaders({ authorization: `Bearer token-${name}` })

const reason = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => (error instanceof ApiError ? error.reason : error))

describe("AgentRpc over a worker thread", () => {
  it.scopedLive("starts and follows runs of their caller alone, and ends with its client", () =>
    Effect.gen(function* () {
      const workers: Array<Worker> = []
      const spawned = NodeWorker.layerPlatform(() => {
        const worker = thread()
        workers.push(worker)
        return worker
      })
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
      const protocol = Layer.provide(RpcClient.layerProtocolWorker({ size: 1 }), spawned)
      const context = yield* Layer.buildWithScope(protocol, scope)
      const client = yield* Effect.provide(RpcClient.make(AgentRpc.AgentRpc), context).pipe(Scope.extend(scope))
      const start = { agent: "helper", input: "hello" }
      const run = yield* asUser("ann")(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* client.listAgents(), [{ name: "helper", description: "Helps", tools: [] }])
          const streamed = Chunk.toReadonlyArray(yield* Stream.runCollect(client.streamRun(start)))
          const texts = streamed.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))
          assert.strictEqual(texts.join(""), "one two three")
          assert.strictEqual(streamed.at(-1)?._tag, "Finished")
          const run = yield* client.startRun(start)
          const { answer } = yield* client.awaitRun({ runId: run.runId })
          assert.strictEqual(answer?.message, "one two three")
          assert.strictEqual(yield* reason(client.startRun({ ...start, agent: "nobody" })), "unknown")
          return run
        })
      )
      assert.strictEqual(yield* reason(asUser("bob")(client.getRun({ runId: run.runId }))), "unknown")
      assert.strictEqual(yield* reason(client.getRun({ runId: run.runId })), "unauthenticated")
      const [worker] = workers
      const ended = yield* Effect.fork(
        Effect.async<void>((resume) => void worker?.once("exit", () => resume(Effect.void)))
      )
      yield* Effect.yieldNow()
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(ended)
      assert.lengthOf(workers, 1)
    })
  )
})
