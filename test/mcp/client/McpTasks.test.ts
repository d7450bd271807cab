/** Tools that are called as tasks, on a server whose tasks go on as each test says. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/TestClock"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"
import * as McpBridge from "../../../src/skill/mcp/McpBridge.js"
import type { Progress } from "../../../src/skill/mcp/McpClient.js"
import * as McpToolPlan from "../../../src/skill/mcp/McpToolPlan.js"
import * as LoopbackServer from "../../support/LoopbackServer.js"
import { json } from "../../support/McpOAuthServer.js"

interface Request {
  readonly id?: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

type Answer = { readonly result: unknown } | { readonly error: unknown } | "cut"

const tool = (name: string, taskSupport: string) => ({
  name,
  inputSchema: { type: "object" },
  execution: { taskSupport }
})

const tasks = { requests: { tools: { call: {} } }, cancel: {} }

const task = (status: string, more: object = {}) => ({
  taskId: "t1",
  status,
  ttl: null,
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ...more
})

const done = { content: [{ type: "text" as const, text: "done" }] }

/** `answer` says what is answered to requests for tools and tasks, which the queue receives. */
const start = (answer: (request: Request, count: number) => Answer | undefined, capabilities: object = { tasks }) =>
  Effect.gen(function* () {
    const seen = yield* Queue.unbounded<Request>()
    let count = 0
    const { url } = yield* LoopbackServer.http(({ body, method }, response) => {
      if (method !== "POST") return void response.writeHead(405).end()
      const request = JSON.parse(body) as Request
      if (request.id === undefined) return void response.writeHead(202).end()
      const reply = (answer: object) => json(response, 200, { jsonrpc: "2.0", id: request.id, ...answer })
      if (request.method === "initialize") {
        return reply({
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {}, ...capabilities },
            serverInfo: { name: "slow", version: "1.0.0" }
          }
        })
      }
      if (request.method === "tools/list") {
        return reply({
          result: { tools: [tool("must", "required"), tool("may", "optional"), tool("no", "forbidden")] }
        })
      }
      Queue.unsafeOffer(seen, request)
      const given = answer(request, count++) ?? { result: done }
      if (given === "cut") response.destroy()
      else reply(given)
    })
    const client = yield* McpClientSdk.makeHttp({ name: "slow", url })
    /** The next request, by its method. */
    const next = Effect.map(Queue.take(seen), ({ method, params }) => [method, params] as const)
    return { client, next, seen }
  })

/** A server whose task has these states, one for each look at it. */
const states = (...all: ReadonlyArray<object>) => {
  let at = 0
  return ({ method }: Request): Answer | undefined => {
    if (method === "tools/call") return { result: { task: all[0] } }
    if (method === "tasks/get") return { result: all[Math.min(++at, all.length - 1)] }
    return undefined
  }
}

/** Options of a call as a task, and what it tells: after that it waits. */
const watched = Effect.map(Queue.unbounded<Progress>(), (queue) => ({
  told: Queue.take(queue),
  watch: { task: true, onProgress: (progress: Progress) => Effect.asVoid(Queue.offer(queue, progress)) }
}))

describe("a tool that is called as a task", () => {
  it.scoped("is polled as the server asks, and its result fetched", () =>
    Effect.gen(function* () {
      const { client, next } = yield* start(
        states(
          task("working", { pollInterval: 5_000, statusMessage: "begun" }),
          task("working", { statusMessage: "half" }),
          task("completed", { statusMessage: "all" })
        )
      )
      const { told, watch } = yield* watched
      const call = yield* Effect.fork(client.callTool("must", { a: 1 }, { ...watch, maxTotal: "1 hour" }))
      assert.deepStrictEqual(yield* next, [
        "tools/call",
        { name: "must", arguments: { a: 1 }, task: { ttl: 3_600_000 } }
      ])
      assert.deepStrictEqual(yield* told, { progress: 0, message: "begun" })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* next, ["tasks/get", { taskId: "t1" }])
      assert.deepStrictEqual(yield* told, { progress: 1, message: "half" })
      // Without an interval a second passes.
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* told, { progress: 2, message: "all" })
      const { content } = yield* Fiber.join(call)
      assert.deepStrictEqual(content, done.content)
    })
  )

  it.scopedLive("fetches the result of a task that failed or waits for a person, and says that one was cancelled", () =>
    Effect.gen(function* () {
      for (const status of ["failed", "input_required"]) {
        const { client, next } = yield* start(states(task(status)))
        yield* client.callTool("must", {}, { task: true })
        assert.strictEqual((yield* next)[0], "tools/call")
        assert.deepStrictEqual(yield* next, ["tasks/result", { taskId: "t1" }])
      }
      const { client } = yield* start(states(task("cancelled")))
      const error = yield* Effect.flip(client.callTool("must", {}, { task: true }))
      assert.strictEqual(error.reason, "Protocol")
      assert.include(error.message, "cancelled")
    })
  )

  it.scoped("is cancelled when the caller gives up, or its time is over", () =>
    Effect.gen(function* () {
      const { client, next } = yield* start(states(task("working", { pollInterval: 1e12, statusMessage: "begun" })))
      const { told, watch } = yield* watched
      const call = yield* Effect.fork(client.callTool("must", {}, watch))
      yield* Effect.zip(next, told)
      // The longest pause is a minute.
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* next)[0], "tasks/get")
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* next, ["tasks/cancel", { taskId: "t1" }])
      const late = yield* Effect.fork(Effect.flip(client.callTool("must", {}, { ...watch, maxTotal: "10 seconds" })))
      yield* Effect.zip(next, told)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* next)[0], "tasks/cancel")
      assert.strictEqual((yield* Fiber.join(late)).reason, "Timeout")
    })
  )

  it.scoped("outlives a connection that is cut", () =>
    Effect.gen(function* () {
      const { client } = yield* start(({ method }, count) =>
        method === "tools/call"
          ? { result: { task: task("working", { statusMessage: "begun" }) } }
          : method === "tasks/get"
            ? count < 3
              ? "cut"
              : { result: task("completed") }
            : undefined
      )
      const { told, watch } = yield* watched
      const call = yield* Effect.fork(client.callTool("must", {}, watch))
      yield* told
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(call)).content, done.content)
    })
  )

  it.scopedLive("may be answered at once, but not without sense", () =>
    Effect.gen(function* () {
      const { client } = yield* start(() => undefined)
      assert.deepStrictEqual((yield* client.callTool("may", {}, { task: true })).content, done.content)
      for (const created of [task("done"), task("working", { taskId: "t".repeat(2_000) }), { taskId: 1 }]) {
        const strange = yield* start(() => ({ result: { task: created } }))
        const error = yield* Effect.flip(strange.client.callTool("must", {}, { task: true }))
        assert.strictEqual(error.reason, "InvalidResponse")
      }
    })
  )

  it.scopedLive("is one that has to be, or with the option one that may be", () =>
    Effect.gen(function* () {
      const methods = (options: McpToolPlan.Options) =>
        Effect.gen(function* () {
          const { client, next } = yield* start(states(task("completed")))
          const found: Array<readonly [string, boolean]> = []
          for (const { name, task: asTask } of yield* client.listTools) {
            if (asTask === undefined && name !== "no") continue
            const plan = yield* McpToolPlan.make(client, { name, inputSchema: {}, task: asTask }, options)
            yield* Effect.ignore(plan.call({}, McpToolPlan.limitsOf(options, "keep"), false))
            const [method, params] = yield* next
            assert.strictEqual(method, "tools/call")
            found.push([name, params?.["task"] !== undefined])
            if (params?.["task"] !== undefined) yield* next
          }
          return found
        })
      assert.deepStrictEqual(yield* methods({}), [
        ["must", true],
        ["may", false],
        ["no", false]
      ])
      assert.deepStrictEqual(yield* methods({ tasks: "optional" }), [
        ["must", true],
        ["may", true],
        ["no", false]
      ])
    })
  )

  it.scopedLive("is left out where the server offers no tasks", () =>
    Effect.gen(function* () {
      const { client } = yield* start(() => undefined, {})
      assert.deepStrictEqual(
        (yield* McpBridge.tools(client)).map(({ name }) => name),
        ["slow__may", "slow__no"]
      )
    })
  )
})
