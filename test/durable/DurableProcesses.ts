/** Durable runs as of several processes: each with a scope of its own, on one database. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as Durable from "../../src/durable/Durable.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import type { WorkflowJournal } from "../../src/durable/engine/WorkflowJournal.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"

export type Services = Runs.Runs | Durable.Ports | WorkflowJournal

export interface Process {
  readonly within: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.Effect<A, E>
  /** Ends it as a signal would. */
  readonly end: Effect.Effect<void>
}

export type Ports = Layer.Layer<Durable.Ports, unknown, SqlClient>

const onSql: Ports = Durable.layerSql({ lease: "1 minute", poll: "10 millis" })

export const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

export const say = (text: string): LlmClient.LlmResponse => ({
  content: [{ type: "text", text }],
  finishReason: "stop",
  usage
})

export const call = (...calls: ReadonlyArray<readonly [string, object]>): LlmClient.LlmResponse => ({
  content: calls.map(([name, params], index) => ({
    type: "tool-call",
    id: `c${index}`,
    name,
    params: params as never
  })),
  finishReason: "tool-calls",
  usage
})

/** A process with an executor over the ports of its runs. One that a test leaves ends with the test. */
export const start = (
  client: Layer.Layer<SqlClient>,
  options: DurableRuns.Options<ReadonlyArray<any>>,
  model: LlmClient.Service,
  executor: (ports: Ports) => Layer.Layer<AgentExecutor.AgentExecutor, any, any> = (ports) =>
    Agents.layerWith({ log: ports, steering: ports, approvals: ports }),
  ports: Ports = onSql
): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const app = DurableRuns.layer({ poll: "10 millis", ...options }).pipe(
      Layer.provide(executor(ports)),
      Layer.provideMerge(ports),
      Layer.provide(Layer.succeed(LlmClient.LlmClient, model)),
      Layer.provide(client)
    ) as Layer.Layer<Services>
    const context = yield* Layer.buildWithScope(app, scope)
    return {
      within: (effect) => Effect.provide(effect, context),
      end: Scope.close(scope, Exit.void)
    }
  })

export const ann = { userId: "ann" }

/** The first request that waits for Ann. */
export const asked = Effect.gen(function* () {
  const pending = yield* PendingApprovals.PendingApprovals
  for (;;) {
    const [first] = yield* pending.list(ann)
    if (first !== undefined) return first.request
    yield* Effect.sleep("5 millis")
  }
})

export const untilAsleep = (runId: string) =>
  Effect.gen(function* () {
    for (;;) {
      const found = yield* Runs.poll(runId, ann)
      if (Option.isSome(found) && found.value.record.state === "waiting") return
      yield* Effect.sleep("5 millis")
    }
  })
