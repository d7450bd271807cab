/** The span of a model call says which conversation it belongs to, while the call is still going on. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentParticipant from "../../../src/agent/AgentParticipant.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { SessionId } from "../../../src/domain/Ids.js"
import * as GroupSession from "../../../src/session/group/GroupSession.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as KeptSessions from "../../support/KeptSessions.js"
import * as Runs from "../../support/Runs.js"

const recorded = () => {
  const seen: Array<readonly [span: string, conversation: unknown]> = []
  const layer = Layer.merge(
    Runs.layer(({ tools }) =>
      Effect.map(Effect.option(Effect.currentSpan), (span) => {
        seen.push([
          Option.match(span, { onNone: () => "", onSome: ({ name }) => name }),
          Option.getOrUndefined(span)?.attributes.get("gen_ai.conversation.id")
        ])
        const isFirst = seen.length === 1 && tools !== undefined && tools.length > 0
        return isFirst ? { calls: [{ name: "delegate_to_inner", params: { message: "go on" } }] } : { text: "done" }
      })
    ),
    KeptSessions.layer
  )
  return { seen, layer }
}

describe("gen_ai.conversation.id", () => {
  it.effect("is the session of the run, and of the runs inside it that have none", () => {
    const { layer, seen } = recorded()
    return Effect.gen(function* () {
      const outer = Agent.make("outer", { tools: [AgentTool.make(Agent.make("inner"))] })
      yield* AgentExecutor.run(outer, { input: "hi", sessionId: "s" })
      assert.deepStrictEqual(seen, [
        ["agent.llm.outer", "s"],
        ["agent.llm.inner", "s"],
        ["agent.llm.outer", "s"]
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is the session of the group for its agents", () => {
    const { layer, seen } = recorded()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const { id } = yield* sessions.create({ id: SessionId.make("g") })
      const group = yield* GroupSession.make({ participants: [AgentParticipant.make(Agent.make("ann"))], maxRounds: 1 })
      yield* GroupSession.run(group, id, "hello")
      assert.deepStrictEqual(seen, [["agent.llm.ann", "g"]])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is absent without a session", () => {
    const { layer, seen } = recorded()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a"), "hi")
      assert.deepStrictEqual(seen, [["agent.llm.a", undefined]])
    }).pipe(Effect.provide(layer))
  })
})
