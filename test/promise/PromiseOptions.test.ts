/** What each option of agents and runtimes changes. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { z } from "zod"
import { ContentError } from "../../src/content/ContentError.js"
import * as LengthGuard from "../../src/guard/LengthGuard.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import {
  type AgentOptions,
  type Approver,
  createAgent,
  createRuntime,
  type Decision,
  type Elicitor,
  pageTool,
  tool
} from "../../src/promise/index.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"

/** A model that says what the script says, and keeps what it was asked. */
const recorded = (...script: ReadonlyArray<TestModel.ScriptItem>) => {
  const requests: Array<LlmClient.LlmRequest> = []
  const turns = [...script]
  const model = TestModel.layer((request) => {
    requests.push(request)
    return (turns.shift() as string | TestModel.Turn | undefined) ?? "done"
  })
  return { model, requests }
}

const failureOf = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error) => error
  )

const asked = async (options: Partial<AgentOptions>, ...script: ReadonlyArray<TestModel.ScriptItem>) => {
  const { model, requests } = recorded(...script)
  await using agent = createAgent({ name: "a", model, ...options } as AgentOptions)
  const result = await agent.run("hi", { sessionId: "s", userId: "ada" })
  return { requests, result }
}

const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const pay = tool({
  name: "pay",
  description: "Pays",
  parameters: z.object({ amount: z.number() }),
  requiresApproval: true,
  execute: ({ amount }) => `paid ${amount}`
})
const paying = { calls: [{ name: "pay", params: { amount: 5 } }] }

describe("approve", () => {
  const decided = async (approve: Approver) => {
    const { result } = await asked({ tools: [pay], approve }, paying, "ok")
    const [call] = result.toolCalls
    return call?.isFailure === true ? call.observation : call?.result
  }

  it("decides by a value or a promise, with other arguments or a reason", async () => {
    assert.strictEqual(await decided(() => true), "paid 5")
    assert.strictEqual(await decided(async ({ params, tool }) => tool === "pay" && params !== undefined), "paid 5")
    assert.strictEqual(await decided(() => ({ approved: true, params: { amount: 3 } })), "paid 3")
    assert.include(String(await decided(async () => ({ approved: false, reason: "too dear" }))), "too dear")
    assert.include(String(await decided(() => false)), "not allowed")
  })

  it("denies what it cannot decide, and what is no decision", async () => {
    const silent = { layer: Logger.remove(Logger.defaultLogger) as Layer.Layer<never> }
    for (const approve of [
      () => {
        throw new Error("the key is sk-1")
      },
      () => Promise.reject(new Error("the key is sk-1")),
      () => "yes" as unknown as Decision,
      () => undefined as unknown as Decision,
      () => ({}) as Decision
    ]) {
      const { result } = await asked({ tools: [pay], approve, ...silent } as never, paying, "ok")
      assert.strictEqual(result.toolCalls[0]?.error?.tag, "ToolApprovalDeniedError")
      assert.notInclude(String(result.toolCalls[0]?.observation), "sk-1")
    }
  })

  it("is told by its signal that the run has ended", async () => {
    const controller = new AbortController()
    const told = new Promise<boolean>((resolve) => {
      const { model } = recorded(paying)
      const agent = createAgent({
        name: "a",
        model,
        tools: [pay],
        approve: (_, { signal }) => {
          signal.addEventListener("abort", () => resolve(signal.aborted))
          controller.abort()
          return new Promise(() => undefined)
        }
      })
      agent.run("hi", { signal: controller.signal }).catch(() => agent.close())
    })
    assert.isTrue(await told)
  })
})

describe("callClient", () => {
  const locate = pageTool({
    name: "locate",
    description: "Where the user is",
    parameters: z.object({ exact: z.boolean() }),
    success: z.object({ city: z.string() })
  })
  const color = { name: "color", parameters: { type: "object" } }
  const calling = {
    calls: [
      { name: "locate", params: { exact: true } },
      { name: "color", params: { name: "red" } }
    ]
  }
  const called = async (functions: Partial<AgentOptions>) => {
    const { model } = recorded(calling, "ok")
    await using agent = createAgent({ name: "a", model, tools: [locate], ...functions } as AgentOptions)
    const { toolCalls } = await agent.run("hi", { clientTools: [color] })
    return toolCalls.map(({ isFailure, observation, result }) => (isFailure ? observation : result))
  }

  it("makes the calls of page tools and of the tools of a request", async () => {
    const made: Array<unknown> = []
    const results = await called({
      callClient: async ({ params, tool }, { signal }) => {
        made.push([tool, params, signal.aborted])
        if (tool === "locate") return { city: "Delft", more: 1 }
        throw new Error("There is no such color")
      }
    })
    assert.sameDeepMembers(made, [
      ["locate", { exact: true }, false],
      ["color", { name: "red" }, false]
    ])
    assert.deepStrictEqual(results, [{ city: "Delft" }, 'Error: "color" failed: There is no such color'])
  })

  it("fails a call whose result is none", async () => {
    const results = await called({ callClient: ({ tool }) => (tool === "locate" ? { city: 7 } : 7n) })
    assert.include(String(results[0]), "The result does not fit")
    assert.include(String(results[1]), "BigInt")
  })

  it("leaves questions to `elicit`, which has the calls too where nothing makes them", async () => {
    const elicit: Elicitor = () => ({ action: "accept", content: { result: '{"city":"Ghent"}' } })
    assert.deepStrictEqual((await called({ elicit }))[0], { city: "Ghent" })
    assert.deepStrictEqual((await called({ elicit, callClient: () => ({ city: "Delft" }) }))[0], { city: "Delft" })
    const ask = tool({
      name: "ask",
      description: "Asks",
      execute: async (_, { ask }) => (await ask({ message: "Who?", schema: z.object({ name: z.string() }) }))._tag
    })
    const asking = { calls: [{ name: "ask" }] }
    const { result } = await asked({ tools: [ask], callClient: () => "x" }, asking, "ok")
    assert.strictEqual(result.toolCalls[0]?.result, "cancel")
    const answer: Elicitor = () => ({ action: "accept", content: { name: "Ann" } })
    const other = await asked({ tools: [ask], callClient: () => "x", elicit: answer }, asking, "ok")
    assert.strictEqual(other.result.toolCalls[0]?.result, "accept")
  })
})

describe("elicit", () => {
  const book = tool({
    name: "book",
    description: "Books a seat",
    execute: async (_, { ask }) => {
      const answer = await ask({ message: "Which row?", schema: z.object({ row: z.number().int().max(40) }) })
      return answer._tag === "accept" ? `row ${answer.content.row}` : answer._tag
    }
  })
  const booking = { calls: [{ name: "book" }] }
  const silent = { layer: Logger.remove(Logger.defaultLogger) as Layer.Layer<never> }

  const answered = async (elicit: Elicitor, options: object = {}) => {
    const { result } = await asked({ tools: [book], elicit, ...silent, ...options } as never, booking, "ok")
    const [call] = result.toolCalls
    return call?.isFailure === true ? call.observation : call?.result
  }

  it("answers by a value or a promise, in the words of MCP", async () => {
    assert.strictEqual(await answered(() => ({ action: "accept", content: { row: 3 } })), "row 3")
    assert.strictEqual(await answered(async () => ({ action: "decline", reason: "no" })), "decline")
    assert.strictEqual(await answered(async () => ({ action: "cancel" })), "cancel")
    assert.strictEqual(await answered(() => Promise.reject(new Error("lost"))), "cancel")
    assert.strictEqual(await answered(() => undefined as never), "cancel")
  })

  it("is called again with the issues of an answer that does not fit, at most twice", async () => {
    const seen: Array<unknown> = []
    const rows: Array<unknown> = ["x", 41, 4]
    const patient: Elicitor = ({ form, message, tool }, { issues }) => {
      seen.push([message, tool, Object.keys(form["properties"] as object), issues[0]?.path])
      return { action: "accept", content: { row: rows.shift() } }
    }
    assert.strictEqual(await answered(patient), "row 4")
    assert.deepStrictEqual(seen, [
      ["Which row?", "book", ["row"], undefined],
      ["Which row?", "book", ["row"], "row"],
      ["Which row?", "book", ["row"], "row"]
    ])
    let calls = 0
    const stubborn: Elicitor = () => ({ action: "accept", content: { row: `${calls++}` } })
    assert.strictEqual(await answered(stubborn), "cancel")
    assert.strictEqual(calls, 3)
  })

  it("decides no calls, and leaves them to other approvals", async () => {
    const elicit: Elicitor = () => ({ action: "accept", content: { row: 3 } })
    const denied = await asked({ tools: [pay], elicit } as never, paying, "ok")
    assert.strictEqual(denied.result.toolCalls[0]?.error?.tag, "ToolApprovalDeniedError")
    const collaborators = { approvals: ApprovalGate.layerAutoApprove }
    const paid = await asked({ tools: [pay], elicit, collaborators } as never, paying, "ok")
    assert.strictEqual(paid.result.toolCalls[0]?.result, "paid 5")
  })

  it("is missing for a tool that asks, which says so", async () => {
    assert.include(String(await answered(undefined as never)), "PendingApprovals")
  })

  it("is told by its signal that the run has ended, and the function of the tool stops waiting", async () => {
    const controller = new AbortController()
    const { model } = recorded(booking)
    let stopped: unknown
    const waiting = tool({
      name: "book",
      description: "Asks",
      execute: (_, { ask }) =>
        ask({ message: "?", schema: z.object({}) }).catch((error) => {
          stopped = error
        })
    })
    const told = new Promise<boolean>((resolve) => {
      const agent = createAgent({
        name: "a",
        model,
        tools: [waiting],
        elicit: (_, { signal }) => {
          signal.addEventListener("abort", () => resolve(signal.aborted))
          controller.abort()
          return new Promise(() => undefined)
        }
      })
      agent.run("hi", { signal: controller.signal }).catch(() => agent.close())
    })
    assert.isTrue(await told)
    await new Promise((resolve) => setImmediate(resolve))
    assert.isDefined(stopped)
  })
})

describe("an input with files", () => {
  it("gives them to the model, by bytes, base64 and URLs", async () => {
    const { model, requests } = recorded("one", "two")
    await using agent = createAgent({ name: "seer", model })
    await agent.run([
      { type: "text", text: "Look" },
      { type: "image", data: png, fileName: "a.png" },
      { type: "file", data: "JVBERi0xLjcK" },
      { type: "file", data: new URL("https://example.com/a.pdf") }
    ])
    assert.deepStrictEqual(requests[0]?.messages.at(-1)?.content, [
      { type: "text", text: "Look" },
      { type: "file", mediaType: "image/png", data: png, fileName: "a.png" },
      { type: "file", mediaType: "application/pdf", data: Uint8Array.from(Buffer.from("JVBERi0xLjcK", "base64")) },
      { type: "file", mediaType: "application/pdf", data: new URL("https://example.com/a.pdf") }
    ] as never)
    const stream = agent.stream([{ type: "image", data: png }])
    assert.strictEqual((await stream.result).message, "two")
    assert.strictEqual(requests.length, 2)
  })

  it("is refused before the model is asked", async () => {
    const { model, requests } = recorded()
    await using agent = createAgent({ name: "seer", model })
    const failure = await failureOf(agent.run([{ type: "image", data: "no base64!" }]))
    assert.instanceOf(failure, ContentError)
    assert.strictEqual(failure.reason, "base64")
    const kind = await failureOf(agent.stream([{ type: "audio", data: png }]).result)
    assert.strictEqual(kind.reason, "kind")
    const large = await failureOf(agent.run([{ type: "file", data: png, maxBytes: 4 }]))
    assert.strictEqual(large.reason, "too-large")
    for (const rubbish of [
      42,
      null,
      undefined,
      {},
      [null],
      ["text"],
      [{ type: "text" }],
      [{ type: "text", text: 1 }],
      [{ type: "video", data: png }],
      [{ type: "constructor", data: "x" }],
      [{ type: "image", data: 42 }],
      [{ type: "file" }]
    ]) {
      const failure = await failureOf(agent.run(rubbish as never))
      assert.instanceOf(failure, ContentError)
      assert.strictEqual(failure.reason, "part", JSON.stringify(rubbish))
    }
    assert.lengthOf(requests, 0)
  })

  it("is kept by sessions in this process, and shown again", async () => {
    const { model, requests } = recorded()
    await using agent = createAgent({ name: "seer", model, sessions: true })
    const session = { sessionId: "s", userId: "ada" }
    await agent.run([{ type: "image", data: png }], session)
    await agent.run("And now?", session)
    assert.deepStrictEqual(requests[1]?.messages[0]?.content, [
      { type: "file", mediaType: "image/png", data: png }
    ] as never)
    const ref = { hash: `sha256:${"0".repeat(64)}`, size: 1, mediaType: "image/png" }
    const foreign = [{ type: "file", mediaType: "image/png", data: ref }] as never
    assert.strictEqual((await failureOf(agent.run(foreign, session))).reason, "part")
  })
})

describe("progress", () => {
  it("of a function is told in the events", async () => {
    const slow = tool({
      name: "slow",
      description: "Takes its time",
      execute: async (_, { progress }) => {
        progress({ message: "half", done: 1, total: 2 })
        await Promise.resolve()
        return "done"
      }
    })
    const { model } = recorded({ calls: [{ name: "slow" }] })
    await using agent = createAgent({ name: "a", model, tools: [slow] })
    const told: Array<unknown> = []
    for await (const event of agent.stream("hi")) {
      if (event._tag === "ToolProgress") told.push([event.message, event.done, event.total])
    }
    assert.deepStrictEqual(told, [["half", 1, 2]])
  })
})

describe("options of agents", () => {
  it("instructions, settings and outputRetries", async () => {
    const { requests } = await asked({ instructions: "Be kind.", settings: { temperature: 0.1 } }, "ok")
    assert.deepInclude(requests[0]?.messages[0], { role: "system", content: "Be kind." })
    assert.strictEqual(requests[0]?.settings?.temperature, 0.1)
    const { model, requests: retried } = recorded("no", "no")
    await using agent = createAgent({ name: "a", model, output: z.object({ a: z.number() }), outputRetries: 1 })
    await failureOf(agent.run("hi"))
    assert.lengthOf(retried, 2)
  })

  it("outputJsonSchema is what the model reads", async () => {
    const outputJsonSchema = { type: "object", properties: { a: { type: "number", description: "The first" } } }
    const { requests } = await asked(
      { output: z.object({ a: z.number() }), outputJsonSchema } as never,
      { text: '{"a":1}' },
      { text: '{"a":1}' }
    )
    assert.include(JSON.stringify(requests[0]), "The first")
  })

  it("strategy and maxSteps", async () => {
    await using agent = createAgent({ name: "a", model: recorded().model, strategy: "function_calling", maxSteps: 2 })
    for await (const event of agent.stream("hi")) {
      if (event._tag === "Started") assert.strictEqual(event.strategy, "function_calling")
    }
    const unknown = await failureOf(asked({ strategy: "no_such" }))
    assert.include(unknown.message, "no_such")
    const looping = await failureOf(asked({ tools: [pay], maxSteps: 1 }, paying, paying))
    assert.strictEqual(looping._tag, "MaxIterationsExceededError")
  })

  it("limits", async () => {
    const failure = await failureOf(asked({ tools: [pay], limits: { maxToolCalls: 0 } } as never, paying, paying))
    assert.strictEqual(failure._tag, "RunLimitExceededError")
  })

  it("guards", async () => {
    const guards = [LengthGuard.make({ maxChars: 1, stages: ["input"] })]
    assert.strictEqual((await failureOf(asked({ guards }, "ok")))._tag, "InputGuardError")
  })
})

describe("options of runtimes", () => {
  it("config", async () => {
    const failure = await failureOf(asked({ config: { enabled: false } }))
    assert.include(failure.message, "disabled")
  })

  it("memory", async () => {
    const { model, requests } = recorded()
    const memory = DefaultMemory.layer()
    await using agent = createAgent({ name: "a", model, memory })
    await agent.run("I live in Ghent", { userId: "ada" })
    await agent.run("Where do I live?", { userId: "ada" })
    assert.include(JSON.stringify(requests[1]?.messages), "I live in Ghent")
    await agent.run("Where do I live?", { userId: "eve" })
    assert.notInclude(JSON.stringify(requests[2]?.messages), "Ghent")
  })

  it("collaborators", async () => {
    const logged: Array<string> = []
    const log = Layer.succeed(RunLog.RunLog, {
      ...Effect.runSync(Effect.provide(RunLog.RunLog, RunLog.layerNoop)),
      enabled: true,
      append: (events: ReadonlyArray<{ readonly _tag: string }>) =>
        Effect.sync(() => void logged.push(...events.map(({ _tag }) => _tag)))
    } as never)
    await asked({ collaborators: { log } }, "ok")
    assert.include(logged, "Finished")
  })

  it("are shared by its agents", async () => {
    const { model, requests } = recorded()
    await using runtime = createRuntime({ model, sessions: true, approve: () => true })
    const one = createAgent({ name: "one", runtime })
    const two = createAgent({ name: "two", runtime })
    await one.run("first", { sessionId: "s", userId: "ada" })
    await two.run("second", { sessionId: "s", userId: "ada" })
    assert.include(JSON.stringify(requests[1]?.messages), "first")
  })
})
