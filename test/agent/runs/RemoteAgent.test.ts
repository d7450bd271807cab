import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentParticipant from "../../../src/agent/AgentParticipant.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Crew from "../../../src/agent/crew/Crew.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as RemoteAgent from "../../../src/agent/runs/RemoteAgent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import { UserId } from "../../../src/domain/Ids.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as GroupSession from "../../../src/session/group/GroupSession.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as Groups from "../../support/Groups.js"

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const executor = Agents.layerWith({ log, steering, approvals })

const agents = [Agent.make("writer", { system: "You write" }), Agent.make("critic", { system: "You judge" })]
const ann = UserId.make("ann")

/** Runs of the agents here, by a model that says who speaks. */
const elsewhere = (script: Parameters<typeof TestModel.layer>[0] = ({ messages }) => `by ${messages[0]?.content}`) =>
  LocalRuns.layer({ agents }).pipe(
    Layer.provideMerge(executor),
    Layer.provide([log, steering, approvals, InMemoryRunStore.layer()]),
    Layer.provide(TestModel.layer(script))
  )

const runsOf = (userId: string | undefined) =>
  Effect.map(Runs.list(userId === undefined ? {} : { userId }), ({ records }) =>
    records.map(({ agent, state }) => `${agent} ${state}`).sort()
  )

describe("RemoteAgent", () => {
  it.effect("takes part in a group by runs of the agent, for the user of the group", () =>
    Effect.gen(function* () {
      yield* Groups.opened()
      const group = yield* GroupSession.make({
        participants: ["writer", "critic"].map((name) => AgentParticipant.make(RemoteAgent.make(name))),
        maxRounds: 1
      })
      yield* GroupSession.run(group, Groups.sessionId, "Write a headline", {})
      assert.deepStrictEqual(Groups.lines(yield* Groups.kept()), [
        "user: Write a headline",
        "writer: by You write",
        "critic: by You judge"
      ])
      assert.deepStrictEqual(yield* runsOf(undefined), ["critic completed", "writer completed"])
    }).pipe(Effect.provide(Layer.merge(elsewhere(), Groups.sessions)))
  )

  it.effect("works in a crew, and its usage counts for the crew", () =>
    Effect.gen(function* () {
      const crew = Crew.make("press", {
        agents: [
          RemoteAgent.make("writer"),
          RemoteAgent.make("second", { agent: "critic", labels: { team: "press" } })
        ],
        tasks: [
          Crew.task("draft", { description: "Write", agent: "writer" }),
          Crew.task("review", { description: "Judge", agent: "second" })
        ]
      })
      const result = yield* Crew.run(crew, { input: "Heat pumps", userId: "ann" })
      assert.deepStrictEqual(
        result.tasks.map(({ output }) => output),
        ["by You write", "by You judge"]
      )
      assert.deepStrictEqual(yield* runsOf(ann), ["critic completed", "writer completed"])
      const { records } = yield* Runs.list({ userId: "ann", labels: { team: "press" } })
      assert.deepStrictEqual(
        records.map(({ agent }) => agent),
        ["critic"]
      )
      assert.strictEqual(result.usage.inputTokens, 14)
    }).pipe(
      Effect.provide(
        elsewhere(({ messages }) => ({
          text: `by ${messages[0]?.content}`,
          usage: { inputTokens: 7, outputTokens: 1, totalTokens: 8 }
        }))
      )
    )
  )

  it.effect("ends the run when the run here is interrupted", () =>
    Effect.gen(function* () {
      const isAsked = yield* Deferred.make<void>()
      const model = elsewhere(() => Effect.zipRight(Deferred.succeed(isAsked, undefined), Effect.never))
      yield* Effect.gen(function* () {
        const fiber = yield* Effect.fork(AgentExecutor.run(RemoteAgent.make("writer"), { input: "x", userId: "ann" }))
        yield* Deferred.await(isAsked)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
        assert.deepStrictEqual(yield* runsOf("ann"), ["writer interrupted"])
      }).pipe(Effect.provide(model))
    })
  )

  it.effect("fails as the run does, and for an agent that is not known", () =>
    Effect.gen(function* () {
      const unknown = yield* Effect.flip(AgentExecutor.run(RemoteAgent.make("writr"), "x"))
      assert.deepInclude(unknown, { _tag: "RunError", reason: "unknown-agent", hint: 'Did you mean "writer"?' })
      const limited = RemoteAgent.make("writer").pipe(Agent.withOutput(Schema.Struct({ title: Schema.String })))
      const misfit = yield* Effect.flip(AgentExecutor.run(limited, "x"))
      assert.deepInclude(misfit, { _tag: "OutputValidationError", text: "by You write" })
    }).pipe(Effect.provide(elsewhere()))
  )
})
