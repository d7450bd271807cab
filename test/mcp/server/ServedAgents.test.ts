import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as McpPeer from "../../../src/mcp/offer/McpPeer.js"
import * as ServedAgents from "../../../src/mcp/server/ServedAgents.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper")

/** Interrupts a call, and returns the runs that it interrupted. */
const interruptedBy = (isStopping: boolean) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(Layer.orDie(AgentServers.services({ agents: [helper] })))
    const following = yield* Deferred.make<void>()
    const interrupted: Array<string> = []
    const runs = Context.get(context, Runs.Runs)
    const tool = ServedAgents.make("helper", helper, {
      context,
      executor: Context.get(context, AgentExecutor.AgentExecutor),
      pending: Context.get(context, PendingApprovals.PendingApprovals),
      runs: {
        ...runs,
        start: (request) => runs.start(request),
        events: () => Stream.unwrap(Effect.as(Deferred.succeed(following, undefined), Stream.never)),
        interrupt: (runId, access) => {
          interrupted.push(runId)
          return runs.interrupt(runId, access)
        }
      }
    })
    const call = {
      caller: {},
      policy: undefined,
      approves: true,
      peer: McpPeer.absent,
      progress: () => Effect.void,
      isStopping: () => isStopping
    }
    const fiber = yield* Effect.fork(tool.call({ input: "hi" }, call))
    yield* Deferred.await(following)
    yield* Fiber.interrupt(fiber)
    return interrupted.length
  })

describe("a call of an agent that is interrupted", () => {
  it.scoped("interrupts its run", () => Effect.map(interruptedBy(false), (runs) => assert.strictEqual(runs, 1)))

  it.scoped("leaves its run to its process when the server ends", () =>
    Effect.map(interruptedBy(true), (runs) => assert.strictEqual(runs, 0))
  )
})
