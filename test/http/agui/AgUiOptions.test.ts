import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as AgUi from "../../../src/http/agui/AgUi.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import { Page } from "../../support/AgUiClients.js"
import * as UiPages from "../../support/UiPages.js"

const sessions = Layer.orDie(Sessions.layer())
const view = { toolResults: true }

const pageOf = ({ url }: AgentServers.Server, agent: string) => new Page({ url, agent, threadId: "thread-1" })

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: () => Effect.succeed("paid")
})

describe("the options of AgUi", () => {
  it.scopedLive("quiet: how long a run that waits may go on with other calls before its stream ends", () =>
    Effect.gen(function* () {
      for (const quiet of ["20 millis", "1 hour"]) {
        const gate = yield* Deferred.make<void>()
        const slow = Tool.make("slow", {
          description: "Takes long",
          parameters: {},
          handler: () => Effect.as(Deferred.await(gate), "at last")
        })
        let asked = 0
        const calls = [
          { name: "pay", params: { amount: 5 } },
          { name: "slow", params: {} }
        ]
        const server = yield* AgentServers.start({
          agents: [Agent.make("clerk", { tools: [pay, slow] })],
          edges: [AgUi.make({ view, quiet: quiet as "1 hour" })],
          script: () => (asked++ === 0 ? { calls } : "done")
        })
        const page = pageOf(server, "clerk")
        const sent = page.send("go")
        if (quiet === "1 hour") {
          const waiting = Effect.map(server.ask("/v1/approvals"), ({ json }) => json.approvals.length)
          yield* Effect.repeat(Effect.zipRight(Effect.sleep(5), waiting), { until: (length) => length === 1 })
          assert.notInclude(page.types, "RUN_FINISHED")
          yield* Deferred.succeed(gate, undefined)
        }
        yield* Effect.promise(() => sent)
        assert.strictEqual(page.pendingInterrupts.length, 1)
        const results = () => page.messages.filter(({ role }) => role === "tool").map(({ content }) => content)
        assert.deepStrictEqual(results(), quiet === "1 hour" ? ["at last"] : [])
        const answered = page.answer({ approved: true })
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.promise(() => answered)
        assert.sameMembers(results() as Array<string>, ["at last", "paid"])
        assert.strictEqual(page.text, "done")
      }
    })
  )

  it.scopedLive("state: the variables of the session are the state of the thread", () =>
    Effect.gen(function* () {
      for (const state of [true, false]) {
        let context: Context.Context<SessionManager.SessionManager> | undefined
        const variables = { topic: "trees", seen: 1 }
        const server: AgentServers.Server & { readonly context: Context.Context<any> } = yield* AgentServers.start({
          agents: [Agent.make("helper")],
          sessions,
          edges: [AgUi.make({ state })],
          script: () =>
            Effect.suspend(() => {
              if (context === undefined) return Effect.die("no context")
              const manager = Context.get(context, SessionManager.SessionManager)
              const userId = UserId.make("ann")
              return Effect.as(Effect.orDie(manager.update(SessionId.make("thread-1"), { userId, variables })), "ok")
            })
        })
        context = server.context
        const page = pageOf(server, "helper")
        page.setState({ topic: "trees" })
        yield* Effect.promise(() => page.send("go"))
        assert.deepStrictEqual(page.state, state ? variables : { topic: "trees" })
        assert.strictEqual(page.types.includes("STATE_SNAPSHOT"), state)
        const loaded = pageOf(server, "helper")
        yield* Effect.promise(() => loaded.connectAgent())
        assert.deepStrictEqual(loaded.state, state ? variables : {})
      }
    })
  )

  it.scopedLive("state: a client's state replaces the variables, unless it is empty", () =>
    Effect.gen(function* () {
      const server = yield* AgentServers.start({
        agents: [Agent.make("helper")],
        sessions,
        edges: [AgUi.make({ state: true })]
      })
      const kept = Effect.map(server.ask("/v1/sessions/thread-1"), ({ json }) => json.variables)
      const page = pageOf(server, "helper")
      page.setState({ topic: "trees", token: "t-1" })
      yield* Effect.promise(() => page.send("go"))
      assert.deepStrictEqual(yield* kept, { topic: "trees", token: "[REDACTED]" })
      const loaded = pageOf(server, "helper")
      yield* Effect.promise(() => loaded.send("go on"))
      assert.deepStrictEqual(loaded.state, { topic: "trees", token: "[REDACTED]" })
      // What the client was not shown stays.
      loaded.setState({ ...(loaded.state as object), topic: "birds" })
      yield* Effect.promise(() => loaded.send("go on"))
      const manager = Context.get(server.context as Context.Context<any>, SessionManager.SessionManager)
      const session = yield* manager.get(SessionId.make("thread-1"), { userId: UserId.make("ann") })
      assert.deepNestedInclude(session, { "value.variables": { topic: "birds", token: "t-1" } })
    })
  )
})

describe("a run of AgUi with inner runs", () => {
  it.scopedLive("asks for what an inner run asks, and goes on with the answer", () =>
    Effect.gen(function* () {
      const payer = Agent.make("payer", { system: "payer", tools: [pay] })
      const server = yield* AgentServers.start({
        agents: [Agent.make("boss", { system: "boss", tools: [AgentTool.make(payer)] as never })],
        sessions,
        edges: [AgUi.make({ view, quiet: "20 millis" })],
        script: ({ messages }) => {
          const isBoss = JSON.stringify(messages[0]).includes("boss")
          if (messages.some(({ role }) => role === "tool")) return isBoss ? "all done" : "it is paid"
          return {
            calls: [
              isBoss
                ? { name: "delegate_to_payer", params: { message: "pay 5" } }
                : { name: "pay", params: { amount: 5 } }
            ]
          }
        }
      })
      const page = pageOf(server, "boss")
      yield* Effect.promise(() => page.send("go"))
      assert.deepInclude(page.interrupt, {
        reason: "confirmation",
        metadata: { lexigram: { agent: "payer", tool: "pay", params: { amount: 5 } } }
      })
      assert.notProperty(page.interrupt, "toolCallId")
      yield* Effect.promise(() => page.answer({ approved: true }))
      assert.strictEqual(page.text, "all done")
      assert.strictEqual(page.messages.filter(({ role }) => role === "tool").length, 1)
      // The events of the first run do not come again.
      assert.strictEqual(page.types.filter((type) => type === "TOOL_CALL_START").length, 1)
      yield* Effect.promise(() => UiPages.until(() => !page.isRunning))
    })
  )
})
