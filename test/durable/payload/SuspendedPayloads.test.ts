import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../../src/agent/Agents.js"
import * as SuspendedRun from "../../../src/durable/SuspendedRun.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { blobs, blobsOf, picture, report, World } from "./LargePayloads.js"

it.scopedLive("a suspended run has large values in its state, also where there is a store of blobs", () =>
  Effect.gen(function* () {
    const store = yield* blobs
    const world = new World(report(200_000))
    const runner = SuspendedRun.make({
      agents: [world.agent],
      executor: (ports) =>
        Layer.provide(
          Agents.layerWith({
            config: { observationMaxChars: 1_000_000 },
            log: ports,
            steering: ports,
            approvals: ports
          }),
          Layer.succeed(LlmClient.LlmClient, world.model)
        )
    })
    const input = [{ type: "text" as const, text: "Sign the report" }, picture(200_000)]
    const first = yield* Effect.provide(runner.start({ agent: "clerk", input, userId: "ann" }), store)
    if (first._tag !== "Waiting") return assert.fail("The run has ended")
    assert.isAbove(first.state.length, 400_000)
    assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), store), [])
    const answers = Object.fromEntries(first.requests.map(({ request }) => [request.id, { _tag: "Approved" } as const]))
    const last = yield* runner.resume(first.state, answers)
    assert.strictEqual(last._tag === "Ended" ? last.response.message : "", "signed")
    assert.deepStrictEqual(world.done, ["model 0", "fetch", "model 1", "sign", "model 2"])
    assert.strictEqual(world.seen?.picture, 200_000)
  })
)
