import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RemoteAgent from "../../src/agent/runs/RemoteAgent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, say, start } from "./DurableProcesses.js"

const speakers = ["writer", "critic"]

const press = Crew.make("press", {
  agents: speakers.map((name) => RemoteAgent.make(name)),
  tasks: speakers.map((agent) => Crew.task(agent, { description: "Work", agent }))
})

const agents = [...speakers.map((name) => Agent.make(name, { system: name })), Crew.asAgent(press)]

SqlBackends.suite("agents elsewhere in a durable run", (backend) => {
  it.scopedLive("go on with it in the next process, and none of their runs is doubled", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const isHeld = yield* Deferred.make<void>()
      const model = (answersCritic: boolean): LlmClient.Service => ({
        provider: "test",
        model: "m",
        complete: ({ messages }) => {
          const who = String(messages[0]?.content).slice(0, 6)
          asked.push(who)
          return who === "critic" && !answersCritic
            ? Effect.zipRight(Deferred.succeed(isHeld, undefined), Effect.never)
            : Effect.succeed(say(`by the ${who}`))
        }
      })
      const first = yield* start(backend.layer, { agents }, model(false))
      yield* first.within(Runs.start({ agent: "press", input: "Heat pumps", runId: "press", ...ann }))
      yield* Deferred.await(isHeld)
      yield* first.end

      const second = yield* start(backend.kept, { agents }, model(true))
      const { message } = yield* second.within(Runs.await("press", ann))
      assert.strictEqual(message, "by the critic")
      const { records } = yield* second.within(Runs.list(ann))
      assert.deepStrictEqual(records.map(({ agent, state }) => `${agent} ${state}`).sort(), [
        "critic completed",
        "press completed",
        "writer completed"
      ])
      assert.deepStrictEqual(asked, ["writer", "critic", "critic"])
    })
  )
})
