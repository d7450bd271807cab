/** What a request says of its tools and its answer, where it is large. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as DurableProcesses from "../DurableProcesses.js"
import { ann, asked, call, say, untilAsleep } from "../DurableProcesses.js"
import { blobs, blobsOf, onCluster, onEngine, report, sizeOf } from "./LargePayloads.js"

const SIZE = 20_000

const weather = {
  name: "weather",
  parameters: { type: "object", description: report(SIZE), properties: { city: { type: "string" } } }
}
const output = {
  name: "forecast",
  schema: {
    type: "object",
    description: report(SIZE, 3),
    properties: { degrees: { type: "integer" } },
    required: ["degrees"]
  }
}

SqlBackends.suite("large requests of durable runs", (backend) => {
  for (const [where, on] of Object.entries({ "an engine": onEngine, "a cluster": onCluster })) {
    it.scopedLive(`keep the tools and the form of the answer for another process, on ${where}`, () =>
      Effect.gen(function* () {
        const store = yield* blobs
        const seen: Array<readonly [ReadonlyArray<string>, unknown]> = []
        const model: LlmClient.Service = {
          provider: "test",
          model: "m",
          complete: ({ messages, responseFormat, toolChoice, tools = [] }) =>
            Effect.sync(() => {
              if (responseFormat?.type === "json") return say('{"degrees":7}')
              seen.push([tools.map(({ name }) => name), toolChoice])
              return messages.some(({ role }) => role === "tool") ? say("7 degrees") : call(["weather", {}])
            })
        }
        const begin = (client: typeof backend.layer) =>
          DurableProcesses.start(
            client,
            { agents: [Agent.make("clerk")], payloads: { above: 4096 } },
            model,
            undefined,
            on(store)
          )
        const first = yield* begin(backend.layer)
        const runId = yield* first.within(
          Effect.gen(function* () {
            const { runId } = yield* Runs.start({
              agent: "clerk",
              input: "the weather?",
              clientTools: [weather],
              output,
              toolChoice: { tool: "weather" },
              ...ann
            })
            yield* untilAsleep(runId)
            return runId
          })
        )
        assert.isBelow(yield* first.within(sizeOf(runId)), 8192)
        assert.isNotEmpty(yield* Effect.provide(blobsOf("ann"), store))
        yield* first.end
        const second = yield* begin(backend.kept)
        const response = yield* second.within(
          Effect.gen(function* () {
            yield* Runs.answer((yield* asked).id, { _tag: "Approved", params: { result: "7" } }, ann)
            return yield* Runs.await(runId, ann)
          })
        )
        assert.deepStrictEqual(response.output, { degrees: 7 })
        assert.deepStrictEqual(seen, [
          [["weather"], { tool: "weather" }],
          [["weather"], undefined]
        ])
        yield* second.end
      })
    )
  }
})
