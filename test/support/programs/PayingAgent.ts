/** Runs an agent in a session of a database. Its tool reports "paying" and ends when told to. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Layers from "../crash/Layers.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly url: string
  readonly session: string
  readonly input: string
}

Programs.main<Input>(({ hear, input: { input, session, url }, say }) => {
  const pay = Tool.make("pay", {
    description: "Pays",
    handler: () => Effect.zipRight(say("paying"), Effect.as(hear, "paid"))
  })
  const run = AgentExecutor.run(Agent.make("payer", { tools: [pay] }), { input, sessionId: session })
  const agents = Layer.unwrapEffect(
    Effect.map(SessionManager.SessionManager, (sessions) =>
      Agents.layerWith({ sessions: Layer.succeed(SessionManager.SessionManager, sessions) })
    )
  ).pipe(Layer.provide(TestModel.layer([{ calls: [{ name: "pay" }] }, { text: "Paid." }])))
  return Effect.flatMap(run, ({ message }) => say(message)).pipe(
    Effect.provide(Layer.provide(agents, Layers.make(url)))
  )
})
