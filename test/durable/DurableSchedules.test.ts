/** Schedules of durable runs, in two processes on one database. */

import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RunSchedules from "../../src/agent/dispatch/RunSchedules.js"
import * as Scheduler from "../../src/agent/dispatch/Scheduler.js"
import * as ScheduleStore from "../../src/agent/record/ScheduleStore.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlScheduleStore from "../../src/persistence/run/SqlScheduleStore.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SqlDatabases from "../support/SqlDatabases.js"
import * as DurableProcesses from "./DurableProcesses.js"

const ann = { userId: "ann" }
const helper = Agent.make("helper", { system: "helper" })

SqlDatabases.suite("schedules of durable runs", (place) => {
  it.scopedLive(
    "fires once with two processes, one of which ends between the start of a run and its next write",
    () =>
      Effect.gen(function* () {
        let asked = 0
        const model = {
          provider: "test",
          model: "m",
          complete: () => Effect.sync(() => DurableProcesses.say(`${++asked}`))
        }
        const context = yield* Layer.build(place.layer)
        const first = Context.get(context, SqlClient.SqlClient)
        const second = yield* Effect.provide(place.second, context)
        let hasFailed = false
        const open = (client: SqlClient.SqlClient, change: (store: ScheduleStore.Service) => ScheduleStore.Service) =>
          Effect.gen(function* () {
            const sql = Layer.succeed(SqlClient.SqlClient, client)
            const process = yield* DurableProcesses.start(sql, { agents: [helper] }, model)
            const runs = yield* process.within(Runs.Runs)
            const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
            const store = Layer.effect(ScheduleStore.ScheduleStore, Effect.map(SqlScheduleStore.make, change))
            const built = yield* Layer.buildWithScope(
              Scheduler.layer({ agents: [helper], poll: "20 millis" }).pipe(
                Layer.provide([Layer.provide(store, sql), Layer.succeed(Runs.Runs, runs)])
              ),
              scope
            )
            return {
              runs,
              schedules: Context.get(built, RunSchedules.RunSchedules),
              end: Effect.zipRight(Scope.close(scope, Exit.void), process.end)
            }
          })
        const now = yield* Clock.currentTimeMillis
        const one = yield* open(first, (store) => ({
          ...store,
          replace: (schedule) =>
            Effect.suspend(() => {
              if (schedule.pending.length > 0 || schedule.lastFiredAt === undefined) return store.replace(schedule)
              hasFailed = true
              return Effect.never
            })
        }))
        yield* one.schedules.create({
          id: "a",
          agent: "helper",
          input: "hello",
          every: "1 second",
          startsAt: now + 200,
          endsAt: now + 2300,
          ...ann
        })
        for (; !hasFailed; ) yield* Effect.sleep("5 millis")
        yield* one.end
        const two = yield* open(second, (store) => store)
        const three = yield* open(second, (store) => store)
        for (;;) {
          const schedule = Option.getOrThrow(yield* three.schedules.get("a", ann))
          if (schedule.state === "ended" && schedule.pending.length === 0) break
          yield* Effect.sleep("20 millis")
        }
        const { records } = yield* two.runs.list({ ...ann, labels: { schedule: "a" } })
        for (const { runId } of records) yield* two.runs.await(runId, ann)
        assert.sameMembers(
          records.map(({ runId }) => Number(runId.split("@")[1]) - now),
          [200, 1200, 2200]
        )
        assert.strictEqual(asked, 3)
      }),
    60_000
  )

  it.scopedLive(
    "gives each run the policy of its schedule",
    () =>
      Effect.gen(function* () {
        const undone: Array<string> = []
        const book = Tool.make("book", {
          description: "Books a room",
          parameters: { room: Schema.String },
          handler: ({ room }) => Effect.succeed(room),
          compensate: ({ room }) => Effect.sync(() => void undone.push(room))
        })
        const model = {
          provider: "test",
          model: "m",
          complete: ({ messages }: LlmClient.LlmRequest) => {
            const room = JSON.stringify(messages).includes("cheap") ? "cheap" : "dear"
            return Effect.succeed(DurableProcesses.call(["book", { room }]))
          }
        }
        const client = Layer.succeedContext(yield* Layer.build(place.layer))
        const agent = Agent.make("clerk", { tools: [book] })
        const process = yield* DurableProcesses.start(client, { agents: [agent] }, model)
        const runs = yield* process.within(Runs.Runs)
        const built = yield* Layer.build(
          Scheduler.layer({ agents: [agent], poll: "20 millis" }).pipe(
            Layer.provide([Layer.provide(SqlScheduleStore.layer, client), Layer.succeed(Runs.Runs, runs)])
          )
        )
        const schedules = Context.get(built, RunSchedules.RunSchedules)
        for (const [id, compensate] of [
          ["cheap", false],
          ["dear", true]
        ] as const) {
          const startsAt = (yield* Clock.currentTimeMillis) + 200
          const policy = { limits: { maxModelCalls: 2 }, compensate }
          yield* schedules.create({ id, agent: "clerk", input: id, every: "1 hour", startsAt, policy, ...ann })
          const runId = `${Option.getOrThrow(yield* schedules.get(id, ann)).key}@${startsAt}`
          while (Option.isNone(yield* runs.poll(runId, ann))) yield* Effect.sleep("5 millis")
          const failed = yield* Effect.flip(runs.await(runId, ann))
          assert.strictEqual("error" in failed ? failed.error.tag : failed._tag, "RunLimitExceededError")
        }
        assert.deepStrictEqual(undone, ["dear", "dear"])
      }),
    60_000
  )
})
