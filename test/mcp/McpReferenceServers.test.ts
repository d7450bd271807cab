import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import * as McpBridge from "../../src/skill/mcp/McpBridge.js"
import { McpClient, type McpError } from "../../src/skill/mcp/McpClient.js"
import * as McpServers from "../support/McpServers.js"
import * as Shared from "../support/Shared.js"

const everything = McpClientSdk.layerStdio({
  name: "everything",
  ...McpServers.stdio(McpServers.reference("everything"), "stdio")
})

const everythingHttp = Layer.scoped(
  McpClient,
  Effect.flatMap(McpServers.everythingHttp, ({ url }) => McpClientSdk.makeHttp({ name: "everything", url }))
)

const call = (name: string, args?: Record<string, unknown>) =>
  Effect.flatMap(McpClient, (client) => client.callTool(name, args))

const ours = (client: Layer.Layer<McpClient, McpError>, name: string): void =>
  Shared.suite(name, client, (test) => {
    test("makes skills of all tools", () =>
      Effect.gen(function* () {
        const client = yield* McpClient
        const tools = yield* client.listTools
        const skills = yield* McpBridge.skills(client)
        assert.isAbove(skills.length, 10)
        assert.deepStrictEqual(
          skills.map(({ definition }) => definition.name),
          tools.map((tool) => `everything__${tool.name}`)
        )
        for (const { problem } of skills) assert.isUndefined(problem)
      }))

    test("returns text, numbers, images, links and embedded resources", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* call("echo", { message: "hello" })).content, [
          { type: "text", text: "Echo: hello" }
        ])
        assert.include(JSON.stringify((yield* call("get-sum", { a: 2, b: 3 })).content), "5")
        const kinds = (blocks: ReadonlyArray<{ readonly type: string }>) => blocks.map(({ type }) => type)
        assert.deepStrictEqual(kinds((yield* call("get-tiny-image")).content), ["text", "image", "text"])
        const annotated = yield* call("get-annotated-message", { messageType: "error", includeImage: true })
        assert.deepStrictEqual(kinds(annotated.content), ["text", "image"])
        const links = yield* call("get-resource-links", { count: 2 })
        assert.strictEqual(links.content.filter(({ type }) => type === "resource_link").length, 2)
        const reference = yield* call("get-resource-reference", { resourceType: "Text", resourceId: 1 })
        assert.include(kinds(reference.content), "resource")
        const weather = yield* call("get-structured-content", { location: "Chicago" })
        assert.deepStrictEqual(weather.structuredContent, {
          temperature: 36,
          conditions: "Light rain / drizzle",
          humidity: 82
        })
      }))

    test("calls the tool that has to be a task, and tells of its stages", () =>
      Effect.gen(function* () {
        const client = yield* McpClient
        const tool = (yield* client.listTools).find(({ task }) => task === "required")
        const told: Array<string | undefined> = []
        const { content } = yield* client.callTool(
          tool?.name ?? "",
          { topic: "tides" },
          { task: true, onProgress: ({ message }) => Effect.sync(() => void told.push(message)) }
        )
        assert.include(JSON.stringify(content), "tides")
        assert.isAbove(told.length, 1)
      }))

    test("returns results for invalid arguments and unknown tools that say so", () =>
      Effect.gen(function* () {
        assert.isTrue((yield* call("get-sum", { a: "x" })).isError)
        assert.isTrue((yield* call("no-such-tool")).isError)
      }))

    test("reads resources and prompts", () =>
      Effect.gen(function* () {
        const client = yield* McpClient
        const [first] = yield* client.listResources
        assert.isDefined(first)
        const [contents] = yield* client.readResource(first?.uri ?? "")
        assert.isAbove(contents?.text?.length ?? 0, 10)
        assert.isAbove((yield* client.listResourceTemplates).length, 0)
        const prompts = yield* client.listPrompts
        assert.include(
          prompts.map(({ name }) => name),
          "args-prompt"
        )
        const prompt = yield* client.getPrompt("args-prompt", { city: "Paris" })
        assert.deepStrictEqual(McpBridge.messages(prompt), [
          { role: "user", content: [{ type: "text", text: "What's weather in Paris?" }] }
        ])
      }))

    test("reports progress of a long call, which can be cancelled and time out", () =>
      Effect.gen(function* () {
        const client = yield* McpClient
        const told: Array<number> = []
        const onProgress = ({ progress }: { readonly progress: number }) => Effect.sync(() => void told.push(progress))
        yield* client.callTool("trigger-long-running-operation", { duration: 0.2, steps: 4 }, { onProgress })
        assert.deepStrictEqual(told, [1, 2, 3, 4])
        const begun = yield* Deferred.make<void>()
        const long = yield* client
          .callTool(
            "trigger-long-running-operation",
            { duration: 600, steps: 6000 },
            { onProgress: () => Effect.asVoid(Deferred.succeed(begun, undefined)) }
          )
          .pipe(Effect.fork)
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(long)
        const error = yield* Effect.flip(
          client.callTool("trigger-long-running-operation", { duration: 600, steps: 2 }, { timeout: "200 millis" })
        )
        assert.strictEqual(error.reason, "Timeout")
        yield* client.ping
      }))
  })

ours(everything, "server-everything over stdio")
ours(everythingHttp, "server-everything over HTTP")

describe("server-filesystem", () => {
  it.scopedLive("writes and reads in its folder, and refuses to leave it", () =>
    Effect.gen(function* () {
      const folder = yield* McpServers.temporary
      const allowed = Path.join(folder, "allowed")
      Fs.mkdirSync(allowed)
      Fs.writeFileSync(Path.join(folder, "secret.txt"), "secret")
      const client = yield* McpClientSdk.makeStdio({
        name: "files",
        ...McpServers.stdio(McpServers.reference("filesystem"), allowed)
      })
      const path = Path.join(allowed, "note.txt")
      const written = yield* client.callTool("write_file", { path, content: "häß\n" })
      assert.isFalse(written.isError)
      assert.strictEqual(Fs.readFileSync(path, "utf8"), "häß\n")
      const read = yield* client.callTool("read_text_file", { path })
      assert.deepStrictEqual(read.content, [{ type: "text", text: "häß\n" }])
      for (const outside of [Path.join(folder, "secret.txt"), `${allowed}/../secret.txt`]) {
        const refused = yield* client.callTool("read_text_file", { path: outside })
        assert.isTrue(refused.isError)
        assert.notInclude(JSON.stringify(refused.content), '"secret"')
      }
      const skills = yield* McpBridge.skills(client)
      const confirmed = new Map(
        skills.map(({ definition }) => [definition.metadata["mcpTool"], definition.requiresConfirmation])
      )
      assert.strictEqual(confirmed.get("read_text_file"), false)
      assert.strictEqual(confirmed.get("write_file"), true)
    })
  )
})

describe("server-memory", () => {
  it.scopedLive("stores entities in its file", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* McpServers.temporary, "memory.jsonl")
      const start = McpClientSdk.makeStdio({
        name: "memory",
        ...McpServers.stdio(McpServers.reference("memory")),
        env: { MEMORY_FILE_PATH: file }
      })
      yield* Effect.scoped(
        Effect.flatMap(start, (client) =>
          client.callTool("create_entities", {
            entities: [{ name: "Ada", entityType: "person", observations: ["writes programs"] }]
          })
        )
      )
      assert.include(Fs.readFileSync(file, "utf8"), "Ada")
      const again = yield* start
      const found = yield* again.callTool("search_nodes", { query: "Ada" })
      assert.include(JSON.stringify(found.structuredContent), "writes programs")
    })
  )
})
