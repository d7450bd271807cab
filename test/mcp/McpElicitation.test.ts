/** Questions of MCP servers: they wait in the inbox of the run whose call they come from. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import * as McpBridge from "../../src/skill/mcp/McpBridge.js"
import type { McpError, Service } from "../../src/skill/mcp/McpClient.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import * as McpServers from "../support/McpServers.js"
import * as Runs from "../support/Runs.js"

type Made = Effect.Effect<Service, McpError, Scope.Scope>

const stdio = (options: Partial<McpClientSdk.StdioOptions> = {}): Made =>
  McpClientSdk.makeStdio({ name: "one", ...McpServers.stdio(McpServers.program), ...options })

const http: Made = Effect.flatMap(McpServers.http(), ({ url }) =>
  McpClientSdk.makeHttp({ name: "one", url, elicitation: true })
)

const waiting = (access?: PendingApprovals.Access) =>
  Effect.flatMap(PendingApprovals.PendingApprovals, (pending) => pending.list(access))

/** The first question, once it waits. */
const question = (access?: PendingApprovals.Access) =>
  Effect.flatMap(waiting(access), ([record]) =>
    record === undefined
      ? Effect.zipRight(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          Effect.fail("none")
        )
      : Effect.succeed(record.request)
  ).pipe(Effect.retry({ while: (error) => error === "none" }))

/** The result of the call of a run that asks with these arguments. */
const asking = (client: Service, params: object = {}, userId?: string) =>
  Effect.gen(function* () {
    const tools = (yield* McpBridge.tools(client, { confirm: "never" })).filter(({ name }) => name.endsWith("ask"))
    const agent = Agent.make("clerk", { tools: tools as never })
    const request = { input: "hi", ...(userId === undefined ? {} : { userId: UserId.make(userId) }) }
    const { events } = yield* EventRecorder.record(AgentExecutor.stream(agent, request)).pipe(
      Effect.provide(Runs.layer([{ calls: [{ name: tools[0]?.name as string, params }] }, "done"], { approvals }))
    )
    return { events, text: Runs.of(events, "ToolResult")[0]?.observation ?? "" }
  })

/** The gate of the context. */
const approvals = Layer.effect(ApprovalGate.ApprovalGate, ApprovalGate.ApprovalGate)

const inbox = PendingApprovals.layerMemory()

for (const [name, made] of [
  ["stdio", stdio({ elicitation: true })],
  ["http", http]
] as const) {
  describe(`questions of an MCP server over ${name}`, () => {
    it.scoped("are answered in the inbox of the run, in hidden characters shown", () =>
      Effect.gen(function* () {
        const client = yield* made
        const run = yield* Effect.fork(asking(client, {}, "ann"))
        const { id, question: asked, tool } = yield* question({ userId: "ann" })
        assert.isTrue(tool.endsWith("ask"))
        assert.strictEqual(asked?.message, "Which row?")
        assert.notInclude(JSON.stringify(asked), "\u202e")
        // No limit of the call counts while it waits.
        yield* TestClock.adjust("3 days")
        const answer = (content: unknown) => Elicitation.accept(id, content, { userId: "ann" })
        assert.strictEqual((yield* Effect.flip(answer({ row: 41 }))).reason, "answer")
        yield* answer({ row: 3 })
        const { events, text } = yield* Fiber.join(run)
        assert.include(text, '"accept"')
        assert.include(text, '"row":3')
        assert.strictEqual(Runs.of(events, "QuestionAnswered")[0]?.action, "accept")
      }).pipe(Effect.provide(inbox))
    )
  })
}

describe("questions of an MCP server", () => {
  it.scopedLive("are declined and cancelled in its words", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ elicitation: true })
      for (const [action, settle] of [
        ["decline", Elicitation.decline],
        ["cancel", Elicitation.cancel]
      ] as const) {
        const run = yield* Effect.fork(asking(client))
        yield* settle((yield* question()).id)
        assert.include((yield* Fiber.join(run)).text, `"${action}"`)
      }
    }).pipe(Effect.provide(inbox))
  )

  it.scopedLive("are not possible for a client without an inbox", () =>
    Effect.gen(function* () {
      for (const options of [{}, { elicitation: false }]) {
        const { content } = yield* (yield* stdio(options)).callTool("ask", {})
        assert.deepStrictEqual(content, [{ type: "text", text: "cannot ask" }])
      }
    })
  )

  it.scopedLive("are possible for a client with an inbox in context, and cancelled outside of a run", () =>
    Effect.gen(function* () {
      const { content } = yield* (yield* stdio()).callTool("ask", {})
      assert.deepStrictEqual(content, [{ type: "text", text: '{"action":"cancel"}' }])
      assert.isEmpty(yield* waiting())
    }).pipe(Effect.provide(inbox))
  )

  it.scopedLive("are cancelled while calls of others are in flight, whom they may be for", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ elicitation: true })
      const first = yield* Effect.fork(asking(client, {}, "ann"))
      const { id } = yield* question({ userId: "ann" })
      const { text } = yield* asking(client, {}, "eve")
      assert.include(text, '"cancel"')
      assert.isEmpty(yield* waiting({ userId: "eve" }))
      yield* Elicitation.accept(id, { row: 1 }, { userId: "ann" })
      assert.include((yield* Fiber.join(first)).text, '"accept"')
    }).pipe(Effect.provide(inbox))
  )

  it.scopedLive("are withdrawn when the run is interrupted, and the client goes on", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ elicitation: true })
      const run = yield* Effect.fork(asking(client))
      yield* question()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(run)))
      assert.isEmpty(yield* waiting())
      yield* client.ping
      const again = yield* Effect.fork(asking(client))
      yield* Elicitation.decline((yield* question()).id)
      assert.include((yield* Fiber.join(again)).text, '"decline"')
    }).pipe(Effect.provide(inbox))
  )

  it.scopedLive("are not asked where they are no form", () =>
    Effect.gen(function* () {
      const client = yield* stdio({ elicitation: true })
      const fields = Array.from({ length: 101 }, (_, n) => [`f${n}`, { type: "string" }])
      const large = { type: "object", properties: Object.fromEntries(fields) }
      assert.include((yield* asking(client, { schema: large })).text, '"cancel"')
      const deep = { type: "object", properties: { inner: { type: "object", properties: {} } } }
      assert.notInclude((yield* asking(client, { schema: deep })).text, "accept")
      assert.isEmpty(yield* waiting())
    }).pipe(Effect.provide(inbox))
  )
})
