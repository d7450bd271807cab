/** The tenant of a request and how its data are classified reach every run that works for it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentParticipant from "../../src/agent/AgentParticipant.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as CrewTask from "../../src/agent/crew/CrewTask.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import { SessionId } from "../../src/domain/Ids.js"
import * as Governance from "../../src/governance/Governance.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as KeptSessions from "../support/KeptSessions.js"
import * as Runs from "../support/Runs.js"

type Checked = readonly [
  agent: string,
  tenantId: string | undefined,
  classifications: ReadonlyArray<string> | undefined
]

/** What governance was asked before each run, and for whom each model call was reserved. */
const watching = () => {
  const checked: Array<Checked> = []
  const { service, told } = Collaborators.governance({
    checkRequest: ({ agent, classifications, tenantId }) =>
      Effect.sync(() => {
        checked.push([agent, tenantId, classifications])
        return Governance.allow()
      })
  })
  const tenants = () => told.flatMap((one) => (one.op === "reserve" ? [one.request.tenantId] : []))
  return { checked, service, tenants, layer: Layer.succeed(Governance.Governance, service) }
}

const calling = (name: string, params: object = { message: "go on" }) => ({ calls: [{ name, params }] })

const secret = { tenantId: "acme", classifications: ["secret"] }
const request = { input: "hi", ...secret }

const sessionId = SessionId.make("s")
const opened = Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.create({ id: sessionId }))

describe("tenant and classifications", () => {
  it.effect("pass through an agent as a tool to the agents below it", () => {
    const { checked, layer, tenants } = watching()
    return Effect.gen(function* () {
      const middle = Agent.make("middle", { tools: [AgentTool.make(Agent.make("inner"))] })
      yield* AgentExecutor.run(Agent.make("outer", { tools: [AgentTool.make(middle)] }), request)
      assert.deepStrictEqual(checked, [
        ["outer", "acme", ["secret"]],
        ["middle", "acme", ["secret"]],
        ["inner", "acme", ["secret"]]
      ])
      assert.deepStrictEqual(tenants(), ["acme", "acme", "acme", "acme", "acme"])
    }).pipe(
      Effect.provide(
        Runs.layer([calling("delegate_to_middle"), calling("delegate_to_inner"), "in", "mid", "done"], {
          governance: layer
        })
      )
    )
  })

  it.effect("pass through runs without governance to one that has its own", () => {
    const own = watching()
    return Effect.gen(function* () {
      const inner = Agent.make("inner", { governance: own.service })
      const middle = Agent.make("middle", { tools: [AgentTool.make(inner)] })
      yield* AgentExecutor.run(Agent.make("outer", { tools: [AgentTool.make(middle)] }), request)
      assert.deepStrictEqual(own.checked, [["inner", "acme", ["secret"]]])
      assert.deepStrictEqual(own.tenants(), ["acme"])
    }).pipe(
      Effect.provide(Runs.layer([calling("delegate_to_middle"), calling("delegate_to_inner"), "in", "mid", "done"]))
    )
  })

  it.effect("pass through a handoff, and back", () => {
    const { checked, layer, tenants } = watching()
    return Effect.gen(function* () {
      const desk = Agent.make("desk", { tools: [Handoff.to(Agent.make("billing"))] })
      yield* AgentExecutor.run(desk, request)
      assert.deepStrictEqual(checked, [
        ["desk", "acme", ["secret"]],
        ["billing", "acme", ["secret"]],
        ["desk", "acme", ["secret"]]
      ])
      assert.deepStrictEqual(tenants(), ["acme", "acme", "acme"])
    }).pipe(
      Effect.provide(
        Runs.layer([calling("transfer_to_billing", {}), calling("transfer_to_desk", {}), "done"], { governance: layer })
      )
    )
  })

  it.effect("pass through a group to its agents, and to the agents these ask", () => {
    const { checked, layer, tenants } = watching()
    return Effect.gen(function* () {
      yield* opened
      const ann = Agent.make("ann", { tools: [AgentTool.make(Agent.make("helper"))] })
      const group = yield* GroupSession.make({
        participants: [AgentParticipant.make(ann), AgentParticipant.make(Agent.make("bob"))],
        maxRounds: 1
      })
      yield* GroupSession.run(group, sessionId, "hello", secret)
      assert.deepStrictEqual(checked, [
        ["ann", "acme", ["secret"]],
        ["helper", "acme", ["secret"]],
        ["bob", "acme", ["secret"]]
      ])
      assert.deepStrictEqual(tenants(), ["acme", "acme", "acme", "acme"])
    }).pipe(
      Effect.provide(
        Layer.merge(
          Runs.layer([calling("delegate_to_helper"), "helped", "ann", "bob"], { governance: layer }),
          KeptSessions.layer
        )
      )
    )
  })

  it.effect("reach a group inside a run, which may add to them", () => {
    const { checked, layer } = watching()
    return Effect.gen(function* () {
      yield* opened
      const group = yield* GroupSession.make({
        participants: [AgentParticipant.make(Agent.make("ann"))],
        maxRounds: 1
      })
      const talk = Tool.make("talk", {
        description: "Has a group talk",
        handler: () =>
          Effect.map(
            Effect.orDie(GroupSession.run(group, sessionId, "hello", { classifications: ["pii"] })),
            ({ answer }) => answer ?? ""
          )
      })
      yield* AgentExecutor.run(Agent.make("outer", { tools: [talk] }), request)
      assert.deepStrictEqual(checked, [
        ["outer", "acme", ["secret"]],
        ["ann", "acme", ["secret", "pii"]]
      ])
    }).pipe(
      Effect.provide(
        Layer.merge(Runs.layer([calling("talk", {}), "ann", "done"], { governance: layer }), KeptSessions.layer)
      )
    )
  })

  it.effect("pass through a crew to its members", () => {
    const { checked, layer } = watching()
    return Effect.gen(function* () {
      const writer = Agent.make("writer")
      const crew = Crew.make("press", {
        agents: [writer],
        tasks: [CrewTask.make("draft", { agent: "writer", description: "Write" })]
      })
      yield* Crew.run(crew, request)
      assert.deepStrictEqual(
        checked.map(([agent, tenant, classes]) => [agent, tenant, classes]),
        [
          ["press", "acme", ["secret"]],
          ["writer", "acme", ["secret"]]
        ]
      )
    }).pipe(Effect.provide(Runs.layer(() => "done", { governance: layer })))
  })

  it.effect("belong to the tenant of each run, and not to a run beside it", () => {
    const { checked, layer } = watching()
    return Effect.gen(function* () {
      const inner = Agent.make("inner")
      const other = Tool.make("other", {
        description: "Works for another tenant",
        handler: () =>
          Effect.map(
            Effect.orDie(AgentExecutor.run(inner, { input: "hi", tenantId: "umbrella" })),
            ({ message }) => message
          )
      })
      yield* AgentExecutor.run(Agent.make("outer", { tools: [other] }), request)
      yield* AgentExecutor.run(inner, "hi")
      assert.deepStrictEqual(checked, [
        ["outer", "acme", ["secret"]],
        ["inner", "umbrella", ["secret"]],
        ["inner", undefined, undefined]
      ])
    }).pipe(Effect.provide(Runs.layer([calling("other", {}), "in", "done", "in"], { governance: layer })))
  })

  it.effect("fail a group with an invalid tenant id before it begins", () =>
    Effect.gen(function* () {
      yield* opened
      const group = yield* GroupSession.make({ participants: [AgentParticipant.make(Agent.make("ann"))] })
      const error = yield* Effect.flip(GroupSession.run(group, sessionId, "hello", { tenantId: "a\u0000b" }))
      assert.strictEqual(error._tag, "GroupConfigurationError")
      if (error._tag === "GroupConfigurationError") assert.strictEqual(error.reason, "tenant-id")
    }).pipe(Effect.provide(Layer.merge(Runs.layer([]), KeptSessions.layer)))
  )
})
