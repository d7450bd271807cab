import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { z } from "zod"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { createAgent, tool } from "../../src/promise/index.js"
import { OutputValidationError } from "../../src/strategy/definition/StrategyError.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Programs from "../support/Programs.js"

const script = (...turns: ReadonlyArray<TestModel.ScriptItem>) => TestModel.layer(turns)

const failureOf = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => assert.fail("it did not fail"),
    (error) => error
  )

const readAll = async (events: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of events);
}

const joined = async (pieces: AsyncIterable<string>): Promise<string> => {
  let text = ""
  for await (const piece of pieces) text += piece
  return text
}

/** Lets everything run that needs no time. */
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A model of pieces of text that counts those it wrote and the calls that ended. */
const writing = (pieces: number) => {
  const counts = { written: 0, ended: 0 }
  const client: LlmClient.Service = {
    provider: "test",
    model: "test",
    complete: (_, options) =>
      Effect.gen(function* () {
        for (let i = 0; i < pieces; i++) {
          yield* options?.onParts?.([{ type: "text-delta", id: "t", delta: `${i} ` }]) ?? Effect.void
          counts.written++
        }
        return {
          content: [{ type: "text" as const, text: Array.from({ length: pieces }, (_, i) => `${i} `).join("") }],
          finishReason: "stop" as const,
          usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
        }
      }).pipe(Effect.ensuring(Effect.sync(() => counts.ended++)))
  }
  return { counts, model: Layer.succeed(LlmClient.LlmClient, client) }
}

describe("stream", () => {
  it("yields the events of the run, then its result is there", async () => {
    const add = tool({
      name: "add",
      description: "Adds two numbers",
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b
    })
    const model = script({ calls: [{ name: "add", params: { a: 1, b: 2 } }] }, "3")
    await using agent = createAgent({ name: "a", tools: [add], model })
    const stream = agent.stream("1 + 2?")
    const tags: Array<string> = []
    for await (const event of stream) tags.push(event._tag)
    assert.strictEqual(tags[0], "Started")
    assert.include(tags, "ToolResult")
    assert.strictEqual(tags.at(-1), "Finished")
    const result = await stream.result
    assert.strictEqual(result.message, "3")
    assert.deepInclude(result.toolCalls[0], { name: "add", result: 3 })
  })

  it("yields the text, and decodes the output of its result", async () => {
    const output = z.object({ n: z.string().transform(Number) })
    await using agent = createAgent({ name: "a", output, model: script({ text: [`{"n":`, `"4"}`] }) })
    const stream = agent.stream("n?")
    assert.strictEqual(await joined(stream.text), `{"n":"4"}`)
    assert.deepStrictEqual((await stream.result).output, { n: 4 })
  })

  it("gives its result without a reader, and keeps the events for one that comes late", async () => {
    await using agent = createAgent({ name: "a", model: writing(500).model })
    const stream = agent.stream("hi")
    const { message } = await stream.result
    assert.strictEqual(await joined(stream.text), message)
  })

  it("throws the failure after its Error event", async () => {
    const output = z.object({ n: z.number() })
    await using agent = createAgent({ name: "a", output, outputRetries: 0, model: script("none") })
    const tags: Array<string> = []
    const read = async () => {
      for await (const event of agent.stream("hi")) tags.push(event._tag)
    }
    assert.instanceOf(await failureOf(read()), OutputValidationError)
    assert.strictEqual(tags.at(-1), "Error")
  })

  it("is interrupted by a reader that leaves", async () => {
    const { counts, model } = writing(1_000_000)
    await using agent = createAgent({ name: "a", model })
    const stream = agent.stream("hi")
    for await (const event of stream) if (event._tag === "TextDelta") break
    assert.strictEqual(counts.ended, 1)
    assert.strictEqual((await failureOf(stream.result)).name, "AbortError")
    const broken = async () => {
      for await (const event of agent.stream("hi")) if (event._tag === "TextDelta") throw new Error("mine")
    }
    assert.strictEqual((await failureOf(broken())).message, "mine")
    for await (const _ of agent.stream("hi").text) break
    assert.strictEqual(counts.ended, 3)
  })

  it("waits for a slow reader", async () => {
    const { counts, model } = writing(100_000)
    await using agent = createAgent({ name: "a", model })
    const reader = agent.stream("hi")[Symbol.asyncIterator]()
    await reader.next()
    await turns(200)
    const before = counts.written
    assert.isBelow(before, 1000)
    await turns(200)
    assert.strictEqual(counts.written, before)
    for (let i = 0; i < 2000; i++) await reader.next()
    assert.isAbove(counts.written, 1000)
    await reader.return?.()
    assert.isBelow(counts.written, 4000)
    assert.deepStrictEqual(await reader.next(), { done: true, value: undefined })
  })

  it("serves reads that are made ahead, and ends them all", async () => {
    await using agent = createAgent({ name: "a", model: script("ok") })
    const reader = agent.stream("hi")[Symbol.asyncIterator]()
    const read = await Promise.all(Array.from({ length: 50 }, () => reader.next()))
    const tags = read.flatMap(({ value }) => (value === undefined ? [] : [value._tag]))
    assert.strictEqual(tags[0], "Started")
    assert.strictEqual(tags.at(-1), "Finished")
    assert.isTrue(read.slice(tags.length).every(({ done }) => done === true))
  })

  it("has one reader", async () => {
    await using agent = createAgent({ name: "a", model: script("ok") })
    const stream = agent.stream("hi")
    await readAll(stream)
    assert.instanceOf(await failureOf(readAll(stream.text)), TypeError)
  })

  it("starts nothing before it is read", async () => {
    const { counts, model } = writing(1)
    await using agent = createAgent({ name: "a", model })
    const stream = agent.stream("hi")
    await turns(20)
    assert.strictEqual(counts.written, 0)
    await readAll(stream)
    assert.strictEqual(counts.written, 1)
  })

  it.scoped("leaves no rejection unhandled, whoever reads", () =>
    Effect.gen(function* () {
      const program = yield* Programs.start("UnreadStreams", {})
      assert.strictEqual(yield* program.hear, "read")
      assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
    })
  )
})
