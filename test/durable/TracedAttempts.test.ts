import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { RunId } from "../../src/domain/Ids.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Trace from "../../src/trace/Trace.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as DurableProcesses from "./DurableProcesses.js"
import { ann, call, say } from "./DurableProcesses.js"

const add = Tool.make("add", {
  description: "Adds",
  parameters: { by: Schema.Number },
  idempotent: true,
  handler: ({ by }) => Effect.succeed(by)
})

const clerk = Agent.make("clerk", { system: "You add.", tools: [add] })

/** Calls the tool twice, then answers. The process ends at the model calls of `dieAt`, which count over all processes. */
const model = (died: Deferred.Deferred<void>, dieAt: number): LlmClient.Service => {
  let calls = 0
  return {
    provider: "test",
    model: "m",
    complete: ({ messages }) =>
      Effect.suspend(() => {
        if (++calls === dieAt) return Effect.zipRight(Deferred.succeed(died, undefined), Effect.never)
        const results = messages.filter(({ role }) => role === "tool").length
        return Effect.succeed(results < 2 ? call(["add", { by: results }]) : say("added"))
      })
  }
}

const run = { agent: "clerk", input: "add", runId: "run", userId: "ann" }

const traced = Trace.fromRun(RunId.make("run"), ann)

SqlBackends.suite("Trace.fromRun", (backend) => {
  it.scopedLive("shows both attempts of a durable run that crashed and went on, and each step once", () =>
    Effect.gen(function* () {
      const died = yield* Deferred.make<void>()
      const asked = model(died, 2)
      const first = yield* DurableProcesses.start(backend.layer, { agents: [clerk] }, asked)
      yield* first.within(Effect.zipRight(Runs.start(run), Deferred.await(died)))
      yield* first.end
      const second = yield* DurableProcesses.start(backend.kept, { agents: [clerk] }, asked)
      yield* second.within(Runs.await("run", ann))
      const trace = yield* second.within(traced)
      const events = yield* second.within(Effect.flatMap(RunLog.RunLog, (log) => log.read(RunId.make("run"), ann)))
      yield* second.end

      assert.deepStrictEqual(trace.issues, [])
      const [shown, ...others] = trace.runs
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual([shown?.state, shown?.attempts, shown?.own.modelCalls, shown?.own.toolCalls], [
        "completed",
        2,
        3,
        2
      ] as const)
      assert.deepStrictEqual(
        shown?.items.filter(({ _tag }) => ["ModelCall", "ToolCall", "Resumed"].includes(_tag)).map(({ _tag }) => _tag),
        ["ModelCall", "ToolCall", "Resumed", "ModelCall", "ToolCall", "ModelCall"]
      )
      const resumed = shown?.items.find(({ _tag }) => _tag === "Resumed")
      const at = events.findIndex(({ seq }) => seq === resumed?.seq)
      assert.isAbove(at, 0)
      assert.strictEqual(resumed?.at, events[at]?.at)

      const text = Trace.toText(trace)
      assert.match(text, /completed in .*, in 2 attempts, begun/)
      assert.match(text, /resumed +attempt 2 · after .* without events/)
      assert.match(Trace.toHtml(trace), /<small>2 attempts<\/small>[\s\S]*attempt 2/)
      assert.include(Trace.toMermaid(trace), "resumed attempt 2")
    })
  )

  it.scopedLive("shows one attempt of a run that nothing disturbed", () =>
    Effect.gen(function* () {
      const process = yield* DurableProcesses.start(
        backend.layer,
        { agents: [clerk] },
        model(yield* Deferred.make<void>(), Number.POSITIVE_INFINITY)
      )
      yield* process.within(Effect.zipRight(Runs.start(run), Runs.await("run", ann)))
      const trace = yield* process.within(traced)
      assert.deepStrictEqual([trace.runs[0]?.attempts, trace.runs[0]?.own.modelCalls], [1, 3])
      assert.notInclude(Trace.toText(trace), "attempt")
      assert.notInclude(Trace.toHtml(trace), "attempt")
      const others = yield* process.within(Trace.fromRun(RunId.make("run"), { userId: "bob" }))
      assert.deepStrictEqual(others.runs, [])
      yield* process.end
    })
  )
})
