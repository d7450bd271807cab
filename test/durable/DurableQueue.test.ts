/** A queue of durable runs, in two processes on one database. */

import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as QueueRunner from "../../src/agent/dispatch/QueueRunner.js"
import * as RunQueue from "../../src/agent/dispatch/RunQueue.js"
import type * as RunStore from "../../src/agent/record/RunStore.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlQueueStore from "../../src/persistence/run/SqlQueueStore.js"
import * as SqlDatabases from "../support/SqlDatabases.js"
import * as DurableProcesses from "./DurableProcesses.js"

const ann = { userId: "ann" }
const helper = Agent.make("helper", { system: "helper" })

SqlDatabases.suite("a queue of durable runs", (place) => {
  it.scopedLive(
    "starts each run once and keeps its limit, with two processes, one of which ends",
    () =>
      Effect.gen(function* () {
        const asked = new Map<string, number>()
        let going = 0
        let most = 0
        const model: LlmClient.Service = {
          provider: "test",
          model: "m",
          complete: (request) =>
            Effect.acquireUseRelease(
              Effect.sync(() => {
                const input = JSON.stringify(request.messages.at(-1))
                asked.set(input, (asked.get(input) ?? 0) + 1)
                most = Math.max(most, ++going)
              }),
              () => Effect.as(Effect.sleep("15 millis"), DurableProcesses.say("done")),
              () => Effect.sync(() => void going--)
            )
        }
        const context = yield* Layer.build(place.layer)
        const first = Context.get(context, SqlClient.SqlClient)
        const second = yield* Effect.provide(place.second, context)
        const open = (client: SqlClient.SqlClient) =>
          Effect.gen(function* () {
            const sql = Layer.succeed(SqlClient.SqlClient, client)
            const process = yield* DurableProcesses.start(sql, { agents: [{ agent: helper, version: "1" }] }, model)
            const services = yield* process.within(Effect.context<Runs.Runs | RunStore.RunStore>())
            const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
            const built = yield* Layer.buildWithScope(
              QueueRunner.layer({ agents: [helper], concurrency: 3, poll: "20 millis", lease: "2 seconds" }).pipe(
                Layer.provide([Layer.provide(SqlQueueStore.layer, sql), Layer.succeedContext(services)])
              ),
              scope
            )
            return {
              queue: Context.get(built, RunQueue.RunQueue),
              runs: Context.get(built, Runs.Runs),
              end: Effect.zipRight(Scope.close(scope, Exit.void), process.end)
            }
          })
        const one = yield* open(first)
        const two = yield* open(second)
        const count = 12
        for (let i = 0; i < count; i++) {
          const { queue } = i % 2 === 0 ? one : two
          yield* queue.enqueue({ agent: "helper", input: `input ${i}`, runId: `r${i}`, ...ann })
        }
        yield* one.end
        for (let i = 0; i < count; i++) {
          const { message } = yield* two.runs.await(`r${i}`, ann)
          assert.strictEqual(message, "done")
        }
        for (;;) {
          const { running, waiting } = yield* two.queue.counts(ann)
          if (running === 0 && waiting === 0) break
          yield* Effect.sleep("10 millis")
        }
        assert.isAtMost(most, 3)
        assert.strictEqual(asked.size, count)
        // A call that was under way when its process ended is asked again: there were at most three.
        const again = Array.from(asked.values()).filter((times) => times > 1)
        assert.isAtMost(again.length, 3)
        const { record } = Option.getOrThrow(yield* two.runs.poll("r0", ann))
        assert.strictEqual(record.state, "completed")
      }),
    60_000
  )

  it.scopedLive("gives runs that waited the tools of their callers and the forms of their answers", () =>
    Effect.gen(function* () {
      const model: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: ({ messages, responseFormat, toolChoice }) =>
          Effect.succeed(
            responseFormat?.type === "json"
              ? DurableProcesses.say('{"degrees":7}')
              : toolChoice === "required" && messages.every(({ role }) => role !== "tool")
                ? DurableProcesses.call(["weather", {}])
                : DurableProcesses.say("7 degrees")
          )
      }
      const sql = Layer.succeedContext(yield* Layer.build(place.layer))
      const process = yield* DurableProcesses.start(sql, { agents: [helper] }, model)
      const response = yield* process.within(
        Effect.gen(function* () {
          const queue = yield* RunQueue.RunQueue
          const request = { agent: "helper", input: "the weather?", clientTools: [{ name: "weather" }], ...ann }
          for (const runId of ["one", "two"]) {
            const output = { schema: { type: "object", properties: { degrees: { type: "integer" } } } }
            yield* queue.enqueue({ ...request, runId, output, toolChoice: "required" })
          }
          assert.deepInclude(Option.getOrThrow(yield* queue.get("two", ann)), { state: "waiting" })
          for (const runId of ["one", "two"]) {
            yield* DurableProcesses.untilAsleep(runId)
            const { id } = yield* DurableProcesses.asked
            yield* Runs.answer(id, { _tag: "Approved", params: { result: "7" } }, ann)
            yield* Runs.await(runId, ann)
          }
          return yield* Runs.await("two", ann)
        }).pipe(
          Effect.provide(
            QueueRunner.layer({ agents: [helper], concurrency: 1, poll: "20 millis" }).pipe(
              Layer.provide(Layer.provide(SqlQueueStore.layer, sql))
            )
          )
        )
      )
      assert.deepStrictEqual([response.output, response.toolCalls.length], [{ degrees: 7 }, 1])
      yield* process.end
    })
  )
})
