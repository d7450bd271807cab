import { setMaxListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { z } from "zod"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmConfigurationError } from "../../src/llm/model/LlmError.js"
import {
  AgentClosedError,
  type AgentOptions,
  createAgent,
  createRuntime,
  type Model,
  tool
} from "../../src/promise/index.js"
import { MaxIterationsExceededError, OutputValidationError } from "../../src/strategy/definition/StrategyError.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"

const script = (...turns: ReadonlyArray<TestModel.ScriptItem>): Model => TestModel.layer(turns)
const always = (text: string): Model => TestModel.layer(() => text)

const failureOf = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error) => error
  )

const readAll = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
}

/** Lets everything run that needs no time. */
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A model that never answers, and counts the calls that begin and end. */
const hanging = () => {
  const counts = { begun: 0, ended: 0 }
  const client: LlmClient.Service = {
    provider: "test",
    model: "test",
    complete: () =>
      Effect.acquireUseRelease(
        Effect.sync(() => counts.begun++),
        () => Effect.never,
        () => Effect.sync(() => counts.ended++)
      )
  }
  const asked = async (calls: number) => {
    while (counts.begun < calls) await turns(1)
  }
  return { counts, asked, model: Layer.succeed(LlmClient.LlmClient, client) }
}

/** A signal that counts its listeners. */
const countedSignal = () => {
  const controller = new AbortController()
  const { signal } = controller
  setMaxListeners(0, signal)
  const counts = { added: 0, removed: 0 }
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    counts.added++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    counts.removed++
    remove(...args)
  }
  return { controller, signal, counts }
}

const adder = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => a + b
})
const addition = { calls: [{ name: "add", params: { a: 1, b: 2 } }] }

describe("run", () => {
  it("answers with tools that are plain functions", async () => {
    await using agent = createAgent({
      name: "a",
      instructions: "You add.",
      tools: [adder],
      model: script({ ...addition, expect: ({ messages }) => JSON.stringify(messages).includes("You add.") }, "3")
    })
    const result = await agent.run("1 + 2?")
    assert.strictEqual(result.message, "3")
    assert.strictEqual(result.output, "3")
    assert.deepInclude(result.toolCalls[0], { name: "add", result: 3 })
  })

  it("gives the output of its schema", async () => {
    await using agent = createAgent({
      name: "a",
      output: z.object({ n: z.string().transform(Number) }),
      model: script(`{"n":"4"}`)
    })
    const { output } = await agent.run("n?")
    assert.strictEqual(output.n + 1, 5)
  })

  it("rejects with the failure itself", async () => {
    const output = Schema.Struct({ n: Schema.Number })
    await using agent = createAgent({ name: "a", output, outputRetries: 0, model: script("none") })
    const error = await failureOf(agent.run("n?"))
    assert.instanceOf(error, OutputValidationError)
    assert.strictEqual(error._tag, "OutputValidationError")
  })

  it("rejects with the defect that was thrown", async () => {
    const defect = new TypeError("broken")
    const model = TestModel.layer(() => {
      throw defect
    })
    await using agent = createAgent({ name: "a", model })
    assert.strictEqual(await failureOf(agent.run("hi")), defect)
  })

  it("ends after maxSteps", async () => {
    let asked = 0
    const model = TestModel.layer(() => ({ calls: [{ name: "add", params: { a: asked++, b: 2 } }] }))
    await using agent = createAgent({ name: "a", tools: [adder], maxSteps: 3, model })
    assert.instanceOf(await failureOf(agent.run("hi")), MaxIterationsExceededError)
    assert.strictEqual(asked, 3)
  })

  it("runs many at once", async () => {
    await using agent = createAgent({ name: "a", model: always("ok") })
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => agent.run(`${i}`)))
    assert.strictEqual(new Set(results.map(({ runId }) => runId)).size, 50)
  })

  it("continues a session", async () => {
    const seen: Array<number> = []
    const model = TestModel.layer((request) => {
      seen.push(request.messages.filter(({ role }) => role === "user").length)
      return "ok"
    })
    await using agent = createAgent({ name: "a", model, sessions: true })
    await agent.run("one", { sessionId: "s", userId: "u" })
    await agent.run("two", { sessionId: "s", userId: "u" })
    assert.deepStrictEqual(seen, [1, 2])
  })

  it("fails for a provider that is not configured, and says what to do", async () => {
    await using agent = createAgent({ name: "a", model: { provider: "groq", apiKey: "", model: "m" } })
    const error = await failureOf(agent.run("hi"))
    assert.instanceOf(error, LlmConfigurationError)
    assert.include(error.hint, "GROQ_API_KEY")
  })
})

describe("an aborted signal", () => {
  it("rejects with its reason after the run has stopped", async () => {
    const { asked, counts, model } = hanging()
    await using agent = createAgent({ name: "a", model })
    const controller = new AbortController()
    const run = failureOf(agent.run("hi", { signal: controller.signal }))
    await asked(1)
    controller.abort()
    const error = await run
    assert.strictEqual(error.name, "AbortError")
    assert.strictEqual(error, controller.signal.reason)
    assert.deepStrictEqual(counts, { begun: 1, ended: 1 })
  })

  it("rejects with a reason of its own, and starts nothing if it is aborted before", async () => {
    const { counts, model } = hanging()
    await using agent = createAgent({ name: "a", model })
    const reason = new Error("mine")
    const signal = AbortSignal.abort(reason)
    assert.strictEqual(await failureOf(agent.run("hi", { signal })), reason)
    assert.strictEqual(await failureOf(readAll(agent.stream("hi", { signal }))), reason)
    assert.strictEqual(counts.begun, 0)
  })

  it("leaves no listener and no call behind after 1,000 runs", async () => {
    const { asked, counts, model } = hanging()
    await using agent = createAgent({ name: "a", model })
    const { controller, counts: listeners, signal } = countedSignal()
    const runs = Array.from({ length: 500 }, () => failureOf(agent.run("hi", { signal })))
    const streams = Array.from({ length: 500 }, () => failureOf(readAll(agent.stream("hi", { signal }))))
    await asked(1000)
    controller.abort()
    const errors = await Promise.all([...runs, ...streams])
    assert.isTrue(errors.every((error) => error === signal.reason))
    assert.deepStrictEqual(counts, { begun: 1000, ended: 1000 })
    assert.deepStrictEqual(listeners, { added: 1000, removed: 1000 })
  })

  it("leaves no listener behind after a run that answered", async () => {
    await using agent = createAgent({ name: "a", model: always("ok") })
    const { counts, signal } = countedSignal()
    await agent.run("hi", { signal })
    await readAll(agent.stream("hi", { signal }))
    assert.deepStrictEqual(counts, { added: 2, removed: 2 })
  })
})

describe("close", () => {
  class Db extends Context.Tag("test/promise/Db")<Db, { readonly name: string }>() {}
  const counted = () => {
    const counts = { opened: 0, closed: 0 }
    const open = Effect.sync(() => {
      counts.opened++
      return { name: "db" }
    })
    const layer = Layer.scoped(
      Db,
      Effect.acquireRelease(open, () => Effect.sync(() => counts.closed++))
    )
    return { counts, layer }
  }
  const lookup = Tool.make("lookup", { description: "Looks it up", handler: () => Effect.map(Db, ({ name }) => name) })

  it("releases the services that tools require, once", async () => {
    const { counts, layer } = counted()
    const model = script({ calls: [{ name: "lookup" }] }, "done")
    const agent = createAgent({ name: "a", tools: [lookup], layer, model })
    assert.strictEqual((await agent.run("hi")).toolCalls[0]?.result, "db")
    assert.deepStrictEqual(counts, { opened: 1, closed: 0 })
    await Promise.all([agent.close(), agent.close()])
    await agent.close()
    assert.deepStrictEqual(counts, { opened: 1, closed: 1 })
  })

  it("stops what runs, and refuses what comes after", async () => {
    const { asked, counts, model } = hanging()
    const agent = createAgent({ name: "a", model })
    const run = failureOf(agent.run("hi"))
    await asked(1)
    await agent.close()
    assert.deepStrictEqual(counts, { begun: 1, ended: 1 })
    for (const error of [await run, await failureOf(agent.run("hi")), await failureOf(agent.stream("hi").result)]) {
      assert.instanceOf(error, AgentClosedError)
      assert.strictEqual(error._tag, "AgentClosedError")
      assert.include(error.message, `The agent "a" is closed`)
    }
  })

  it("of an agent leaves its runtime open; that of a runtime ends all agents", async () => {
    const { counts, layer } = counted()
    const runtime = createRuntime({ model: always("ok"), layer })
    const first = createAgent({ name: "first", tools: [lookup], runtime })
    const second = createAgent({ name: "second", runtime })
    await first.run("hi")
    await first.close()
    assert.instanceOf(await failureOf(first.run("hi")), AgentClosedError)
    assert.strictEqual((await second.run("hi")).message, "ok")
    assert.strictEqual(await runtime.runPromise(Effect.map(Db, ({ name }) => name)), "db")
    assert.deepStrictEqual(counts, { opened: 1, closed: 0 })
    await runtime.close()
    assert.deepStrictEqual(counts, { opened: 1, closed: 1 })
    assert.instanceOf(await failureOf(second.run("hi")), AgentClosedError)
    assert.instanceOf(await failureOf(runtime.runPromise(Effect.void)), AgentClosedError)
  })
})

describe("tool", () => {
  const asked = async (options: Partial<AgentOptions>, ...turns: ReadonlyArray<TestModel.ScriptItem>) => {
    await using agent = createAgent({ name: "a", model: script(...turns), ...options } as AgentOptions)
    return await agent.run("hi")
  }

  it("that throws or rejects fails the call, and the model reads the message", async () => {
    const thrower = tool({
      name: "t",
      description: "d",
      execute: () => {
        throw new RangeError("no such row")
      }
    })
    const rejecter = tool({ name: "r", description: "d", execute: () => Promise.reject("out of stock") })
    const tools = [thrower, rejecter]
    const { message, toolCalls } = await asked({ tools }, { calls: [{ name: "t" }, { name: "r" }] }, "sorry")
    assert.strictEqual(message, "sorry")
    assert.isTrue(toolCalls.every(({ isFailure }) => isFailure))
    assert.include(toolCalls[0]?.observation ?? "", "no such row")
    assert.include(toolCalls[1]?.observation ?? "", "out of stock")
  })

  it("knows its run, its call and its attempt, and is tried again as it says", async () => {
    const contexts: Array<unknown> = []
    const flaky = tool({
      name: "t",
      description: "d",
      idempotent: true,
      retries: 1,
      retryable: (error) => error === "once more",
      execute: (_, { attempt, runId, toolCallId }) => {
        contexts.push({ attempt, runId, toolCallId })
        if (attempt === 1) throw "once more"
        return "done"
      }
    })
    const { runId, toolCalls } = await asked({ tools: [flaky] }, { calls: [{ id: "c7", name: "t" }] }, "ok")
    assert.strictEqual(toolCalls[0]?.result, "done")
    assert.deepStrictEqual(
      contexts,
      [1, 2].map((attempt) => ({ attempt, runId, toolCallId: "c7" }))
    )
  })

  it("has a signal that fires when the run is aborted", async () => {
    const controller = new AbortController()
    let isAborted = false
    const slow = tool({
      name: "t",
      description: "d",
      execute: (_, { signal }) =>
        new Promise<string>(() => {
          signal.addEventListener("abort", () => {
            isAborted = true
          })
          controller.abort()
        })
    })
    await using agent = createAgent({ name: "a", tools: [slow], model: script({ calls: [{ name: "t" }] }) })
    assert.strictEqual((await failureOf(agent.run("hi", { signal: controller.signal }))).name, "AbortError")
    assert.isTrue(isAborted)
  })

  it("validates its result", async () => {
    const typed = tool({
      name: "t",
      description: "d",
      success: z.object({ n: z.number().transform((n) => n * 2) }),
      execute: () => ({ n: 2, secret: 1 })
    })
    const { toolCalls } = await asked({ tools: [typed] }, { calls: [{ name: "t" }] }, "ok")
    assert.deepStrictEqual(toolCalls[0]?.result, { n: 4 })
  })

  it("that requires approval is denied without one", async () => {
    const guarded = tool({ name: "t", description: "d", requiresApproval: true, execute: () => "done" })
    const { toolCalls } = await asked({ tools: [guarded] }, { calls: [{ name: "t" }] }, "ok")
    assert.strictEqual(toolCalls[0]?.error?.tag, "ToolApprovalDeniedError")
  })
})
