import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { McpClient, McpError, type ToolResult } from "../../../src/skill/mcp/McpClient.js"
import * as McpMemory from "../../../src/skill/mcp/McpMemory.js"
import { suite } from "../../mcp/McpClientSuite.js"

const text = (value: string): ToolResult => ({ content: [{ type: "text", text: value }], isError: false })
const inputSchema = { type: "object" }

/** What the program of the suite is, in values. */
const server = (update: McpMemory.Memory["update"]): McpMemory.Server => {
  let cancelled = 0
  const more = ["a", "b", "c"].map((name) => ({ name, inputSchema, call: () => Effect.succeed(text(name)) }))
  const tools: ReadonlyArray<McpMemory.MemoryTool> = [
    {
      name: "echo",
      description: "Gives back the message",
      inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      annotations: { title: "Echo", readOnlyHint: true },
      call: ({ message }) => Effect.succeed(text(String(message)))
    },
    {
      name: "add",
      inputSchema,
      outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      call: ({ a, b }) => Effect.succeed({ ...text(""), structuredContent: { sum: Number(a) + Number(b) } })
    },
    {
      name: "kinds",
      inputSchema,
      call: () =>
        Effect.succeed({
          content: [
            { type: "text", text: "one" },
            { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
            { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
            { type: "resource", resource: { uri: "test://text", mimeType: "text/plain", text: "inside" } },
            { type: "resource", resource: { uri: "test://blob", mimeType: "application/zip", blob: "UEsDBA==" } },
            { type: "resource_link", uri: "test://text", name: "text", mimeType: "text/plain" }
          ],
          isError: false
        })
    },
    { name: "task", inputSchema, requiresTask: true, call: () => Effect.succeed(text("")) },
    { name: "fail", inputSchema, call: () => Effect.succeed({ ...text("no"), isError: true }) },
    {
      name: "broken",
      inputSchema,
      call: () => Effect.fail(new McpError({ server: "suite", reason: "InvalidResponse", message: "broken" }))
    },
    {
      name: "progress",
      inputSchema,
      call: ({ steps }, progress) =>
        Effect.forEach(
          Array.from({ length: Number(steps) }, (_, i) => i + 1),
          (i) => progress({ progress: i, total: Number(steps), message: `step ${i}` })
        ).pipe(Effect.as(text("done")))
    },
    {
      name: "hang",
      inputSchema,
      call: (_, progress) =>
        Effect.zipRight(progress({ progress: 1 }), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => void cancelled++))
        )
    },
    {
      name: "beats",
      inputSchema,
      call: ({ every }, progress) =>
        Effect.forever(Effect.zipRight(Effect.sleep(Number(every)), progress({ progress: 1 })))
    },
    { name: "state", inputSchema, call: () => Effect.sync(() => ({ ...text(""), structuredContent: { cancelled } })) },
    {
      name: "grow",
      inputSchema,
      call: ({ name }) =>
        update((before) => ({
          ...before,
          tools: [...(before.tools ?? []), { name: String(name), inputSchema, call: () => Effect.succeed(text("")) }],
          resources: [...(before.resources ?? [])],
          prompts: [...(before.prompts ?? [])]
        })).pipe(Effect.as(text("ok")))
    },
    ...more
  ]
  const resource = (name: string, contents: object) => {
    const uri = `test://${name}`
    return { uri, name, contents: [{ uri, ...contents }] }
  }
  return {
    name: "suite",
    version: "1.2.3",
    instructions: "Be kind",
    tools,
    resources: [
      resource("text", { mimeType: "text/plain", text: "the text" }),
      resource("blob", { mimeType: "application/zip", blob: "UEsDBA==" }),
      resource("third", { text: "" })
    ],
    resourceTemplates: [{ uriTemplate: "test://items/{id}", name: "item", description: "An item" }],
    prompts: [
      {
        name: "greet",
        description: "Greets",
        arguments: [{ name: "who", description: "Whom", required: true }],
        get: ({ who }) =>
          Effect.succeed({
            description: "A greeting",
            messages: [
              { role: "user", content: { type: "text", text: `Greet ${who}` } },
              { role: "assistant", content: { type: "text", text: "Hello" } }
            ]
          })
      },
      { name: "look", arguments: [], get: () => Effect.succeed({ messages: [] }) }
    ]
  }
}

const memory = Layer.effect(
  McpClient,
  Effect.gen(function* () {
    const made = yield* Deferred.make<McpMemory.Memory>()
    const update: McpMemory.Memory["update"] = (f) => Effect.flatMap(Deferred.await(made), (one) => one.update(f))
    const one = yield* McpMemory.make(server(update))
    yield* Deferred.succeed(made, one)
    return one.client
  })
)

suite("memory", memory)

describe("McpMemory", () => {
  it.effect("a server without tools offers none", () =>
    Effect.gen(function* () {
      const client = yield* McpClient
      assert.strictEqual(client.name, "empty")
      assert.deepStrictEqual((yield* client.info).capabilities, { tools: false, resources: false, prompts: false })
      assert.deepStrictEqual(yield* client.listTools, [])
      assert.deepStrictEqual(yield* client.listResources, [])
      assert.strictEqual((yield* Effect.flip(client.callTool("x"))).reason, "Protocol")
    }).pipe(Effect.provide(McpMemory.layer({}, { name: "empty" })))
  )
})
