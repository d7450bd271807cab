/**
 * What every client of an MCP server does, whatever is between the two. The layer is a client named "suite" of the program in
 * test/support.
 */
import { assert } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { McpClient, type McpError, type Progress } from "../../src/skill/mcp/McpClient.js"
import * as Shared from "../support/Shared.js"

const reasonOf = <A>(effect: Effect.Effect<A, McpError>) => Effect.map(Effect.flip(effect), ({ reason }) => reason)

const cancelled = (client: McpClient["Type"]) =>
  Effect.map(client.callTool("state"), ({ structuredContent }) => structuredContent?.["cancelled"])

export const suite = (name: string, client: Layer.Layer<McpClient, McpError>): void =>
  Shared.suite(`McpClient: ${name}`, client, (sharing) => {
    const test = (fact: string, run: (client: McpClient["Type"]) => Effect.Effect<void, unknown>): void =>
      sharing(fact, () => Effect.flatMap(McpClient, run))

    test("describes the server", (client) =>
      Effect.gen(function* () {
        const info = yield* client.info
        assert.strictEqual(client.name, "suite")
        assert.strictEqual(info.name, "suite")
        assert.strictEqual(info.version, "1.2.3")
        assert.strictEqual(info.instructions, "Be kind")
        assert.deepStrictEqual(info.capabilities, { tools: true, resources: true, prompts: true })
        yield* client.ping
      }))

    test("lists the tools of all pages, unchanged", (client) =>
      Effect.gen(function* () {
        const tools = yield* client.listTools
        assert.isAbove(tools.length, 10)
        assert.deepStrictEqual(tools[0], {
          name: "echo",
          description: "Gives back the message",
          inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
          annotations: { title: "Echo", readOnlyHint: true }
        })
        assert.deepStrictEqual(tools[1]?.outputSchema?.["required"], ["sum"])
        assert.strictEqual(tools.find(({ name }) => name === "task")?.requiresTask, true)
        assert.strictEqual(new Set(tools.map(({ name }) => name)).size, tools.length)
      }))

    test("calls tools and returns their results", (client) =>
      Effect.gen(function* () {
        const echoed = yield* client.callTool("echo", { message: "häß\n{}\u2028" })
        assert.deepStrictEqual(echoed, { content: [{ type: "text", text: "häß\n{}\u2028" }], isError: false })
        const added = yield* client.callTool("add", { a: 1, b: 2 })
        assert.deepStrictEqual(added.structuredContent, { sum: 3 })
      }))

    test("returns every kind of content", (client) =>
      Effect.gen(function* () {
        const { content } = yield* client.callTool("kinds")
        assert.deepStrictEqual(content, [
          { type: "text", text: "one" },
          { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
          { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "test://text", mimeType: "text/plain", text: "inside" } },
          { type: "resource", resource: { uri: "test://blob", mimeType: "application/zip", blob: "UEsDBA==" } },
          { type: "resource_link", uri: "test://text", name: "text", mimeType: "text/plain" }
        ])
      }))

    test("returns a tool failure as a result", (client) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* client.callTool("fail")).isError, true)
      }))

    test("types errors of the server and invalid answers", (client) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(client.callTool("nothing\u202e like this"))
        assert.strictEqual(error.reason, "Protocol")
        assert.strictEqual(error.rpcCode, -32602)
        assert.strictEqual(error.toolName, "nothing\\u{202e} like this")
        assert.notInclude(error.message, "\u202e")
        assert.strictEqual(yield* reasonOf(client.callTool("broken")), "InvalidResponse")
        yield* client.ping
      }))

    test("lists and reads resources", (client) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(
          (yield* client.listResources).map(({ uri }) => uri),
          ["test://text", "test://blob", "test://third"]
        )
        assert.deepStrictEqual(yield* client.listResourceTemplates, [
          { uriTemplate: "test://items/{id}", name: "item", description: "An item" }
        ])
        assert.deepStrictEqual(yield* client.readResource("test://text"), [
          { uri: "test://text", mimeType: "text/plain", text: "the text" }
        ])
        assert.deepStrictEqual(yield* client.readResource("test://blob"), [
          { uri: "test://blob", mimeType: "application/zip", blob: "UEsDBA==" }
        ])
        assert.strictEqual(yield* reasonOf(client.readResource("test://none")), "Protocol")
      }))

    test("lists and gets prompts", (client) =>
      Effect.gen(function* () {
        const prompts = yield* client.listPrompts
        assert.deepStrictEqual(prompts[0], {
          name: "greet",
          description: "Greets",
          arguments: [{ name: "who", description: "Whom", required: true }]
        })
        assert.deepStrictEqual(prompts[1], { name: "look", arguments: [] })
        assert.deepStrictEqual(yield* client.getPrompt("greet", { who: "Ada" }), {
          description: "A greeting",
          messages: [
            { role: "user", content: { type: "text", text: "Greet Ada" } },
            { role: "assistant", content: { type: "text", text: "Hello" } }
          ]
        })
        assert.strictEqual(yield* reasonOf(client.getPrompt("greet")), "Protocol")
      }))

    test("reports progress in order, all of it before the call ends", (client) =>
      Effect.gen(function* () {
        const told: Array<Progress> = []
        const onProgress = (progress: Progress) =>
          Effect.zipRight(
            Effect.yieldNow(),
            Effect.sync(() => told.push(progress))
          )
        const { content } = yield* client.callTool(
          "progress",
          { steps: 50 },
          { onProgress: (p) => Effect.asVoid(onProgress(p)) }
        )
        assert.deepStrictEqual(content, [{ type: "text", text: "done" }])
        assert.deepStrictEqual(
          told.map(({ progress }) => progress),
          Array.from({ length: 50 }, (_, i) => i + 1)
        )
        assert.deepStrictEqual(told[0], { progress: 1, total: 50, message: "step 1" })
      }))

    test("tells the server to stop an interrupted call", (client) =>
      Effect.gen(function* () {
        const before = yield* cancelled(client)
        const begun = yield* Deferred.make<void>()
        const onProgress = () => Effect.asVoid(Deferred.succeed(begun, undefined))
        const call = yield* Effect.fork(client.callTool("hang", {}, { onProgress }))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(call)
        yield* stopped(client, before)
      }))

    test("fails a call that takes too long, and stops it", (client) =>
      Effect.gen(function* () {
        const before = yield* cancelled(client)
        assert.strictEqual(yield* reasonOf(client.callTool("hang", {}, { timeout: "200 millis" })), "Timeout")
        yield* stopped(client, before)
      }))

    test("extends the time of a call by progress, up to its total", (client) =>
      Effect.gen(function* () {
        let told = 0
        const onProgress = () => Effect.sync(() => void told++)
        const limits = { timeout: "400 millis", maxTotal: "1200 millis", onProgress } as const
        const error = yield* Effect.flip(client.callTool("beats", { every: 20 }, limits))
        assert.strictEqual(error.reason, "Timeout")
        assert.include(error.message, "1200 ms")
        assert.isAbove(told, 5)
      }))

    test("gives each of many concurrent calls its own answer", (client) =>
      Effect.gen(function* () {
        const fibers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, i) => i),
          (i) => Effect.fork(client.callTool("add", { a: i, b: i }))
        )
        const results = yield* Fiber.join(Fiber.all(fibers))
        assert.deepStrictEqual(
          results.map(({ structuredContent }) => structuredContent?.["sum"]),
          Array.from({ length: 50 }, (_, i) => 2 * i)
        )
      }))

    test("reports changed lists", (client) =>
      Effect.gen(function* () {
        const seen = yield* Deferred.make<void>()
        const changes = yield* client.changes.pipe(
          Stream.tap(({ _tag }) => (_tag === "Connected" ? Deferred.succeed(seen, undefined) : Effect.void)),
          Stream.take(4),
          Stream.runCollect,
          Effect.fork
        )
        yield* Deferred.await(seen)
        yield* client.callTool("grow", { name: "new", description: "A new tool" })
        assert.deepStrictEqual(
          Chunk.toReadonlyArray(yield* Fiber.join(changes)).map(({ _tag }) => _tag),
          ["Connected", "ToolsChanged", "ResourcesChanged", "PromptsChanged"]
        )
        assert.include(
          (yield* client.listTools).map(({ name }) => name),
          "new"
        )
      }))
  })

const stopped = (client: McpClient["Type"], before: unknown): Effect.Effect<void, McpError> =>
  Effect.flatMap(cancelled(client), (now) =>
    now === Number(before) + 1 ? Effect.void : Effect.die(new Error(`cancelled: ${before}, then ${now}`))
  ).pipe(
    Effect.sandbox,
    Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(300)))),
    Effect.unsandbox
  )
