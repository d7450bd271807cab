import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentParticipant from "../../src/agent/AgentParticipant.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as PersonParticipant from "../../src/agent/PersonParticipant.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { SessionId } from "../../src/domain/Ids.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, asked, call, say, start, untilAsleep } from "./DurableProcesses.js"

SqlBackends.suite("a group in a durable run", (backend) => {
  it.scopedLive("waits for a person across processes, and asks no agent again", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const model: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: ({ messages }) =>
          Effect.sync(() => {
            const system = String(messages[0]?.content)
            if (system.includes("You draft")) {
              calls.push("writer")
              return say("A draft")
            }
            calls.push("desk")
            const result = messages.find(({ role }) => role === "tool")
            return result === undefined ? call(["discuss", {}]) : say(JSON.stringify(result.content))
          })
      }
      const sessions = Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false })
      const writer = Agent.make("writer", { system: "You draft" })
      const discuss = Tool.make("discuss", {
        description: "Discusses",
        success: Schema.Array(Schema.String),
        idempotent: true,
        handler: () =>
          Effect.gen(function* () {
            const manager = yield* SessionManager.SessionManager
            const id = SessionId.make("talk")
            const userId = "ann" as never
            yield* Effect.ignore(manager.create({ id, userId }))
            const group = yield* GroupSession.make({
              participants: [AgentParticipant.make(writer), PersonParticipant.make("editor")],
              maxRounds: 1
            })
            yield* GroupSession.run(group, id, "Write", { userId })
            const turns = yield* manager.turns(id, { userId, last: 10 })
            return turns.map(({ content, metadata }) => `${metadata["agent"] ?? "user"}: ${content}`)
          }).pipe(Effect.orDie)
      })
      const desk = Agent.make("desk", { tools: [discuss] })
      const begin = (client: typeof backend.layer) =>
        start(Layer.provideMerge(Layer.orDie(sessions), client), { agents: [desk] }, model, (ports) =>
          Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })
        )
      const one = yield* begin(backend.layer)
      yield* one.within(
        Effect.zipRight(Runs.start({ agent: "desk", input: "go", runId: "run", ...ann }), untilAsleep("run"))
      )
      yield* one.end
      const two = yield* begin(backend.kept)
      const { message } = yield* two.within(
        Effect.gen(function* () {
          const { id, question } = yield* asked
          assert.strictEqual(question?.message, "writer: A draft")
          yield* Runs.answer(id, { _tag: "Approved", params: { answer: "Shorter" } }, ann)
          return yield* Runs.await("run", ann)
        })
      )
      for (const line of ["user: Write", "writer: A draft", "editor: Shorter"]) {
        assert.strictEqual(message.split(line).length, 2, `${line} once in ${message}`)
      }
      assert.deepStrictEqual(calls, ["desk", "writer", "desk"])
      yield* two.end
    })
  )
})
