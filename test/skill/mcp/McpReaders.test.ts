import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ToolContent from "../../../src/content/ToolContent.js"
import * as McpBridge from "../../../src/skill/mcp/McpBridge.js"
import { McpError, type Service } from "../../../src/skill/mcp/McpClient.js"
import * as McpMemory from "../../../src/skill/mcp/McpMemory.js"
import type * as McpToolPlan from "../../../src/skill/mcp/McpToolPlan.js"

const server = (more: Partial<McpMemory.Server>) =>
  Effect.map(McpMemory.make({ name: "srv", tools: [], ...more }), ({ client }) => client)

/** Calls a tool of ours as a run does. */
const call = (client: Service, name: string, params: object, options: McpToolPlan.Options = {}) =>
  Effect.gen(function* () {
    const tools = yield* McpBridge.tools(client, { resources: true, prompts: true, ...options })
    const tool = tools.find((one) => one.name === `srv__${name}`)
    assert.isDefined(tool)
    if (tool === undefined) return undefined
    const decoded = yield* tool.erased.decode(params)
    return yield* tool.erased.handle(decoded, { toolName: tool.name, id: "1" } as never) as Effect.Effect<
      unknown,
      McpError
    >
  })

const resource = (index: number, more: object = {}) => ({
  uri: `x://${index}`,
  name: `r${index}`,
  contents: [],
  ...more
})

describe("the readers of resources", () => {
  it.effect("list a page of resources and templates, bounded, in hidden characters shown", () =>
    Effect.gen(function* () {
      const client = yield* server({
        resources: [
          resource(0, { description: `a\u202e${"b".repeat(5_000)}` }),
          resource(1, { uri: `x://${"u".repeat(5_000)}` }),
          ...Array.from({ length: 120 }, (_, index) => resource(index + 2))
        ],
        resourceTemplates: [{ uriTemplate: "x://items/{id}", name: "item" }]
      })
      const first = (yield* call(client, "list_resources", {})) as {
        resources: ReadonlyArray<{ description?: string }>
        left: number
      }
      assert.strictEqual(first.resources.length, 100)
      assert.strictEqual(first.left, 22)
      assert.include(first.resources[0]?.description, "\\u{202e}")
      assert.isBelow(first.resources[0]?.description?.length ?? 0, 600)
      const rest = (yield* call(client, "list_resources", { from: 100 })) as { resources: ReadonlyArray<object> }
      assert.deepStrictEqual(rest.resources.at(-1), { uriTemplate: "x://items/{id}", name: "item" })
      assert.notProperty(rest, "left")
    })
  )

  it.effect("list the resources of a server that knows no templates", () =>
    Effect.gen(function* () {
      const client = yield* server({ resources: [resource(0)] })
      const unsupported = new McpError({ server: "srv", reason: "Unsupported", message: "no" })
      const listed = yield* call({ ...client, listResourceTemplates: Effect.fail(unsupported) }, "list_resources", {})
      assert.deepStrictEqual(listed, { resources: [{ uri: "x://0", name: "r0" }] })
    })
  )

  it.effect("read text and bytes, bounded", () =>
    Effect.gen(function* () {
      const client = yield* server({
        resources: [
          resource(0, { contents: [{ uri: "x://0", text: "t".repeat(10_000) }] }),
          resource(1, { contents: [{ uri: "x://1", mimeType: "application/pdf", blob: "JVBERi0xLjQK" }] })
        ]
      })
      const text = yield* call(client, "read_resource", { uri: "x://0" }, { maxResult: 100 })
      assert.include(text as string, "more characters")
      const bytes = yield* call(client, "read_resource", { uri: "x://1" })
      assert.isTrue(ToolContent.isToolContent(bytes))
    })
  )

  it.effect("leave the name to a tool of the server, and need approval if all do", () =>
    Effect.gen(function* () {
      const own = { name: "read_resource", inputSchema: { type: "object" }, call: () => Effect.never }
      const client = yield* server({ tools: [own], resources: [] })
      const options = { resources: true, confirm: "always" } as const
      for (const names of [
        (yield* McpBridge.tools(client, options)).map(({ erased, name }) => [name, erased.requiresApproval({})]),
        (yield* McpBridge.skills(client, options)).map(({ definition }) => [
          definition.name,
          definition.requiresConfirmation
        ])
      ]) {
        assert.deepStrictEqual(names, [
          ["srv__read_resource", true],
          ["srv__list_resources", true]
        ])
      }
    })
  )
})

describe("the readers of prompts", () => {
  const prompts = [
    {
      name: "greet",
      arguments: [{ name: "who", required: true }],
      get: ({ who = "" }: Readonly<Record<string, string>>) =>
        Effect.succeed({
          description: "A greeting",
          messages: [
            { role: "user" as const, content: { type: "text" as const, text: `Greet\u202e ${who}` } },
            { role: "assistant" as const, content: { type: "text" as const, text: "Hello" } }
          ]
        })
    }
  ]

  it.effect("list prompts with their arguments, and get one", () =>
    Effect.gen(function* () {
      const client = yield* server({ prompts })
      assert.deepStrictEqual(yield* call(client, "list_prompts", {}), {
        prompts: [{ name: "greet", arguments: [{ name: "who", required: true }] }]
      })
      const got = yield* call(client, "get_prompt", { name: "greet", arguments: { who: "Ann" } })
      assert.strictEqual(got, "A greeting\n\nuser: Greet\\u{202e} Ann\n\nassistant: Hello")
      const error = yield* Effect.flip(call(client, "get_prompt", { name: "none" }))
      assert.strictEqual((error as McpError).reason, "Protocol")
    })
  )

  it.effect("are there only if asked for", () =>
    Effect.gen(function* () {
      const client = yield* server({ prompts, resources: [] })
      assert.isEmpty(yield* McpBridge.tools(client))
      assert.lengthOf(yield* McpBridge.tools(client, { prompts: true }), 2)
      assert.lengthOf(yield* McpBridge.skills(client, { prompts: true }), 2)
    })
  )
})
