import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { Requester } from "../../../src/domain/Requester.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Elicitation from "../../../src/tool/Elicitation.js"
import * as ToolProgress from "../../../src/tool/ToolProgress.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as InnerApproval from "../../support/InnerApproval.js"
import * as McpClients from "../../support/McpClients.js"

const helper = Agent.make("helper", { system: "You help", description: "Helps with everything" })

const start = (
  options: Partial<McpServer.Options>,
  setup: Partial<AgentServers.Setup> = {},
  edge: McpEdge.Options = {}
) =>
  AgentServers.start({
    agents: [helper],
    // Some tests ask until the server has noticed something.
    limits: { requestsPerMinute: 1_000_000 },
    ...setup,
    edges: [
      McpEdge.make(McpServer.make({ name: "desk", version: "1.2.3", ...options }) as McpServer.Definition<never>, edge)
    ]
  })

const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Struct({ sum: Schema.Number }),
  readOnly: true,
  handler: ({ a, b }) => Effect.succeed({ sum: a + b })
})

const call = (
  client: { callTool: (params: any, schema?: any, options?: any) => Promise<any> },
  name: string,
  args = {}
) => Effect.promise(() => client.callTool({ name, arguments: args }))

const failureOf = (run: () => Promise<unknown>): Effect.Effect<any> =>
  Effect.promise(async () => {
    try {
      await run()
    } catch (error) {
      return error
    }
    throw new Error("It did not fail")
  })

describe("tools", () => {
  it.scopedLive("are listed with their schemas, and return structured results", () =>
    Effect.gen(function* () {
      const shout = Tool.make("shout", {
        description: "Shouts",
        parameters: { text: Schema.String },
        success: Schema.String,
        handler: ({ text }) => Effect.succeed(text.toUpperCase())
      })
      const { url } = yield* start({ tools: [add, shout], title: "Desk", instructions: "Be kind" })
      const { client } = yield* McpClients.http(url)
      assert.deepInclude(client.getServerVersion(), { name: "desk", title: "Desk", version: "1.2.3" })
      assert.strictEqual(client.getInstructions(), "Be kind")
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["add", "shout"]
      )
      assert.deepInclude(tools[0]?.inputSchema, { type: "object", required: ["a", "b"] })
      assert.deepStrictEqual(Object.keys(tools[0]?.outputSchema?.properties ?? {}), ["sum"])
      assert.deepStrictEqual(tools[0]?.annotations, { readOnlyHint: true, idempotentHint: true })
      const added = yield* call(client, "add", { a: 1, b: 2 })
      assert.deepStrictEqual(added.structuredContent, { sum: 3 })
      assert.strictEqual(McpClients.textOf(added), '{"sum":3}')
      const shouted = yield* call(client, "shout", { text: "hi" })
      assert.deepStrictEqual(shouted.structuredContent, { value: "HI" })
      assert.strictEqual(McpClients.textOf(shouted), "HI")
    })
  )

  it.scopedLive("tell the client's model what is wrong with its arguments, and what failed", () =>
    Effect.gen(function* () {
      const broken = Tool.make("broken", {
        description: "Fails",
        handler: () => Effect.fail("the key is sk-abcdefghijklmnopqrstuvwxyz123456")
      })
      const { url } = yield* start({ tools: [add, broken] })
      const { client } = yield* McpClients.http(url)
      const wrong = yield* call(client, "add", { a: "one" })
      assert.isTrue(wrong.isError)
      assert.include(McpClients.textOf(wrong), "a")
      const failed = yield* call(client, "broken")
      assert.isTrue(failed.isError)
      assert.include(McpClients.textOf(failed), "the key is")
      assert.notInclude(McpClients.textOf(failed), "sk-abc")
      assert.include((yield* failureOf(() => client.callTool({ name: "none" }))).message, "no such tool")
    })
  )

  it.scopedLive("work for the caller, and report progress", () =>
    Effect.gen(function* () {
      const who = Tool.make("who", {
        description: "Says for whom it works",
        handler: () =>
          Effect.zipRight(
            ToolProgress.report({ message: "looking", done: 1, total: 2 }),
            Effect.map(Requester, ({ userId }) => `for ${userId}`)
          )
      })
      const { url } = yield* start({ tools: [who] })
      const { client } = yield* McpClients.http(url, { user: "bob" })
      const progress: Array<unknown> = []
      const result = yield* Effect.promise(() =>
        client.callTool({ name: "who" }, undefined, { onprogress: (one) => progress.push(one) })
      )
      assert.strictEqual(McpClients.textOf(result), "for bob")
      assert.deepStrictEqual(progress, [{ progress: 1, total: 2, message: "looking" }])
    })
  )

  it.scopedLive("are interrupted when the client takes its call back", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () =>
          Effect.onInterrupt(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never), () =>
            Deferred.succeed(interrupted, undefined)
          )
      })
      const { url } = yield* start({ tools: [wait] })
      const { client } = yield* McpClients.http(url)
      const controller = new AbortController()
      const failure = yield* Effect.fork(
        failureOf(() => client.callTool({ name: "wait" }, undefined, { signal: controller.signal }))
      )
      yield* Deferred.await(begun)
      controller.abort("enough")
      yield* Deferred.await(interrupted)
      assert.include(String(yield* failure), "enough")
    })
  )

  it.scopedLive("are limited to the calls that a session makes at once", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const go = yield* Deferred.make<string>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () => Effect.zipRight(Deferred.succeed(begun, undefined), Deferred.await(go))
      })
      const { url } = yield* start({ tools: [wait, add], maxCalls: 1 })
      const { client } = yield* McpClients.http(url)
      const first = yield* Effect.fork(call(client, "wait"))
      yield* Deferred.await(begun)
      assert.include((yield* failureOf(() => client.callTool({ name: "add" }))).message, "at most 1 calls")
      yield* Deferred.succeed(go, "gone")
      assert.strictEqual(McpClients.textOf(yield* first), "gone")
    })
  )

  it.scopedLive("that a caller may not use look unknown", () =>
    Effect.gen(function* () {
      const { url } = yield* start({
        tools: [add],
        agents: [helper],
        resources: [{ uri: "test://one", name: "one", read: () => Effect.succeed("one") }],
        permits: ({ userId }, { kind, name }) => userId === "ann" || (kind === "agent" && name === "helper")
      })
      const { client } = yield* McpClients.http(url, { user: "bob" })
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["helper"]
      )
      assert.include((yield* failureOf(() => client.callTool({ name: "add" }))).message, "no such tool")
      assert.deepStrictEqual((yield* Effect.promise(() => client.listResources())).resources, [])
      assert.include((yield* failureOf(() => client.readResource({ uri: "test://one" }))).message, "no such resource")
    })
  )
})

describe("people at the client", () => {
  const pay = (done: Array<number>) =>
    Tool.make("pay", {
      description: "Pays",
      parameters: { amount: Schema.Number },
      requiresApproval: true,
      handler: ({ amount }) => {
        done.push(amount)
        return Effect.succeed(`paid ${amount}`)
      }
    })

  it.scopedLive("approve calls by elicitation, or refuse them", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const asked: Array<string> = []
      let action: "accept" | "decline" | "cancel" = "accept"
      const { url } = yield* start({ tools: [pay(done)] })
      const { client } = yield* McpClients.http(url, {
        elicit: ({ message }) => {
          asked.push(message)
          // Content must not change the arguments of the call.
          return action === "accept" ? { action, content: { amount: 1_000_000 } } : { action }
        }
      })
      assert.strictEqual(McpClients.textOf(yield* call(client, "pay", { amount: 3 })), "paid 3")
      assert.include(asked[0], 'Allow the call of pay with {"amount":3}')
      action = "decline"
      const declined = yield* call(client, "pay", { amount: 4 })
      assert.isTrue(declined.isError)
      assert.include(McpClients.textOf(declined), "refused")
      action = "cancel"
      assert.isTrue((yield* call(client, "pay", { amount: 5 })).isError)
      assert.deepStrictEqual(done, [3])
    })
  )

  it.scopedLive("ask what an agent inside of an agent asks", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const agents = [InnerApproval.agent]
      const { url } = yield* start({ agents }, { agents, script: InnerApproval.script })
      const { client } = yield* McpClients.http(url, {
        elicit: ({ message }) => {
          asked.push(message)
          return { action: "accept", content: {} }
        }
      })
      const result = yield* call(client, "clerk", { input: "pay" })
      assert.include(McpClients.textOf(result), "paid 5")
      assert.include(asked[0], "Allow the call of pay")
    })
  )

  it.scopedLive("are not asked where the client cannot: the call does nothing and says so", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const { ask, url } = yield* start({ tools: [pay(done)] })
      const { client } = yield* McpClients.http(url)
      const result = yield* call(client, "pay", { amount: 3 })
      assert.isTrue(result.isError)
      assert.include(McpClients.textOf(result), "cannot be asked")
      assert.deepStrictEqual(done, [])
      assert.deepStrictEqual((yield* ask("/v1/approvals")).json.approvals ?? [], [])
    })
  )

  it.scopedLive("answer questions of tools, again if the answer does not fit", () =>
    Effect.gen(function* () {
      const book = Tool.make("book", {
        description: "Books a seat",
        handler: () =>
          Effect.map(
            Elicitation.ask({
              message: "Which seat?",
              schema: Schema.Struct({ row: Schema.Int.pipe(Schema.between(1, 30)) })
            }),
            (answer) => (answer._tag === "accept" ? `row ${answer.content.row}` : answer._tag)
          )
      })
      let rows = [99, 7]
      const { url } = yield* start({ tools: [book] })
      const { client } = yield* McpClients.http(url, {
        elicit: ({ message }) => {
          assert.strictEqual(message, "Which seat?")
          const [row = 0, ...rest] = rows
          rows = rest
          return row === 0 ? { action: "decline" } : { action: "accept", content: { row } }
        }
      })
      assert.strictEqual(McpClients.textOf(yield* call(client, "book")), "row 7")
      assert.strictEqual(McpClients.textOf(yield* call(client, "book")), "decline")
      const other = yield* McpClients.http(url)
      assert.strictEqual(McpClients.textOf(yield* call(other.client, "book")), "cancel")
    })
  )
})

describe("agents", () => {
  it.scopedLive("are tools whose calls are runs of the caller", () =>
    Effect.gen(function* () {
      const { ask, url } = yield* start({ agents: [helper] }, { script: () => "at your service" })
      const { client } = yield* McpClients.http(url)
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ description, name }) => [name, description]),
        [
          ["helper", "Helps with everything"],
          [
            "continue_run",
            "Goes on with a run of an agent that waited for an approval or an answer, and returns its result"
          ]
        ]
      )
      const progress: Array<string | undefined> = []
      const result = yield* Effect.promise(() =>
        client.callTool({ name: "helper", arguments: { input: "help" } }, undefined, {
          onprogress: ({ message }) => progress.push(message)
        })
      )
      assert.strictEqual(McpClients.textOf(result), "at your service")
      assert.deepStrictEqual(progress, ["Step 1"])
      const runId = (result as any)._meta["effect-lexigram/run"]
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`)).json.run.state, "completed")
      assert.strictEqual((yield* ask(`/v1/runs/${runId}`, { user: "bob" })).status, 404)
      assert.include((yield* failureOf(() => client.callTool({ name: "helper" }))).message, "input")
    })
  )

  it.scopedLive("answer in the format of their output schema", () =>
    Effect.gen(function* () {
      const judge = Agent.make("judge", { output: Schema.Struct({ verdict: Schema.Literal("yes", "no") }) })
      const grader = Agent.make("grader", { output: Schema.Int })
      const { url } = yield* start(
        { agents: [judge, grader] },
        {
          agents: [judge, grader],
          script: ({ messages }) => (JSON.stringify(messages).includes("grade") ? '{"value":2}' : '{"verdict":"yes"}')
        }
      )
      const { client } = yield* McpClients.http(url)
      yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual((yield* call(client, "judge", { input: "well?" })).structuredContent, { verdict: "yes" })
      assert.deepStrictEqual((yield* call(client, "grader", { input: "grade" })).structuredContent, { value: 2 })
    })
  )

  it.scopedLive("are interrupted when the client takes its call back", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const wait = Tool.make("wait", {
        description: "Waits",
        handler: () => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      })
      const waiter = Agent.make("waiter", { tools: [wait] })
      const { ask, url } = yield* start(
        { agents: [waiter] },
        { agents: [waiter], script: () => ({ calls: [{ name: "wait" }] }) }
      )
      const { client } = yield* McpClients.http(url)
      const controller = new AbortController()
      const failure = yield* Effect.fork(
        failureOf(() =>
          client.callTool({ name: "waiter", arguments: { input: "go" } }, undefined, { signal: controller.signal })
        )
      )
      yield* Deferred.await(begun)
      controller.abort("enough")
      yield* failure
      const states = Effect.map(ask("/v1/runs"), ({ json }) => json.runs.map((run: any) => run.state))
      yield* Effect.repeat(states, { until: ([state]) => state === "interrupted" })
    })
  )

  const refund = Tool.make("refund", {
    description: "Refunds",
    parameters: { order: Schema.String },
    requiresApproval: true,
    handler: ({ order }) => Effect.succeed(`refunded ${order}`)
  })
  const clerk = Agent.make("clerk", { tools: [refund] })
  const script: AgentServers.Setup["script"] = ({ messages }) =>
    JSON.stringify(messages).includes("refunded A1")
      ? "It is refunded"
      : { calls: [{ name: "refund", params: { order: "A1" } }] }

  it.scopedLive("ask the person at the client for approvals", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { url } = yield* start({ agents: [clerk] }, { agents: [clerk], script })
      const { client } = yield* McpClients.http(url, {
        elicit: ({ message }) => {
          asked.push(message)
          return { action: "accept", content: {} }
        }
      })
      assert.strictEqual(McpClients.textOf(yield* call(client, "clerk", { input: "refund A1" })), "It is refunded")
      assert.deepStrictEqual(asked, ['Allow the call of refund with {"order":"A1"}?'])
    })
  )

  it.scopedLive("wait for those whom the client cannot ask, and are gone on with by the caller alone", () =>
    Effect.gen(function* () {
      const { ask, url } = yield* start({ agents: [clerk] }, { agents: [clerk], script })
      const { client } = yield* McpClients.http(url)
      const waiting = yield* call(client, "clerk", { input: "refund A1" })
      assert.isTrue(waiting.isError)
      assert.include(McpClients.textOf(waiting), "waits for an approval of the call of refund")
      const run = waiting._meta["effect-lexigram/run"]
      const other = yield* McpClients.http(url, { user: "bob" })
      assert.strictEqual(
        McpClients.textOf(yield* call(other.client, "continue_run", { run })),
        McpClients.textOf(yield* call(other.client, "continue_run", { run: "none" }))
      )
      const { approvals } = (yield* ask("/v1/approvals")).json
      const id = encodeURIComponent(approvals[0].id)
      assert.isBelow((yield* ask(`/v1/approvals/${id}/decision`, { body: { decision: "approve" } })).status, 300)
      assert.strictEqual(McpClients.textOf(yield* call(client, "continue_run", { run })), "It is refunded")
    })
  )
})

describe("approvals of callers who may not decide them", () => {
  it.scopedLive("wait for the inbox, or are denied to tools, whatever the client would answer", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const refund = Tool.make("refund", {
        description: "Refunds",
        requiresApproval: true,
        handler: () => Effect.sync(() => done.push("refunded"))
      })
      const clerk = Agent.make("clerk", { tools: [refund] })
      const { url } = yield* start(
        { agents: [clerk], tools: [refund], approves: ({ userId }) => userId !== "ann" },
        { agents: [clerk], script: () => ({ calls: [{ name: "refund" }] }) }
      )
      const { client } = yield* McpClients.http(url, { elicit: () => ({ action: "accept", content: {} }) })
      const asked = yield* call(client, "clerk", { input: "refund" })
      assert.include(McpClients.textOf(asked), "waits for an approval of the call of refund")
      const called = yield* call(client, "refund")
      assert.isTrue(called.isError)
      assert.include(McpClients.textOf(called), "cannot be asked")
      assert.deepStrictEqual(done, [])
    })
  )
})

describe("a definition", () => {
  it.effect("that names two tools alike is a defect when the server is built", () =>
    Effect.gen(function* () {
      const cause = yield* Effect.sandbox(Effect.scoped(start({ tools: [add, add] }))).pipe(Effect.flip)
      assert.include(String(cause), 'Two tools are named "add"')
      const both = yield* Effect.sandbox(
        Effect.scoped(
          start({ tools: [Tool.make("helper", { description: "x", handler: () => Effect.void })], agents: [helper] })
        )
      ).pipe(Effect.flip)
      assert.include(String(both), 'Two tools of the server are named "helper"')
    })
  )
})
