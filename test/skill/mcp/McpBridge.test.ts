import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type * as ToolContent from "../../../src/content/ToolContent.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as McpBridge from "../../../src/skill/mcp/McpBridge.js"
import {
  type ContentBlock,
  McpClient,
  McpError,
  type Service,
  type ToolResult
} from "../../../src/skill/mcp/McpClient.js"
import * as McpMemory from "../../../src/skill/mcp/McpMemory.js"
import type * as McpToolPlan from "../../../src/skill/mcp/McpToolPlan.js"

const inputSchema = { type: "object" }
const text = (value: string): ToolResult => ({ content: [{ type: "text", text: value }], isError: false })

const tool = (name: string, more: Partial<McpMemory.MemoryTool> = {}): McpMemory.MemoryTool => ({
  name,
  description: `Does ${name}`,
  inputSchema,
  call: () => Effect.succeed(text(name)),
  ...more
})

const serverOf = (...tools: ReadonlyArray<McpMemory.MemoryTool>) =>
  Effect.map(McpMemory.make({ name: "srv", tools }), ({ client }) => client)

const skillsOf = (options: McpToolPlan.Options | undefined, ...tools: ReadonlyArray<McpMemory.MemoryTool>) =>
  Effect.flatMap(serverOf(...tools), (client) => McpBridge.skills(client, options))

const definitionsOf = (options: McpToolPlan.Options | undefined, ...tools: ReadonlyArray<McpMemory.MemoryTool>) =>
  Effect.map(skillsOf(options, ...tools), (skills) => skills.map(({ definition }) => definition))

const execute = (skill: McpBridge.McpSkill | undefined, params: object = {}): Effect.Effect<unknown, unknown> => {
  if (skill === undefined) return Effect.dieMessage("There is no skill")
  const run = () => Effect.die("no composite")
  const call = { skillName: skill.definition.name, id: "1", attempt: 1 }
  return Effect.flatMap(skill.erased.decode(params), (decoded) =>
    Effect.flatMap(skill.erased.handle(decoded, call, run) as Effect.Effect<unknown, unknown>, skill.erased.encode)
  )
}

const outputOf = (result: ToolResult, options?: McpToolPlan.Options, more?: Partial<McpMemory.MemoryTool>) =>
  Effect.flatMap(skillsOf(options, tool("t", { call: () => Effect.succeed(result), ...more })), ([skill]) =>
    execute(skill)
  )

const warnings: Array<string> = []
const watched = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => void warnings.push(String(message)))
)

const blocks: ReadonlyArray<ContentBlock> = [
  { type: "text", text: "one" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
  { type: "audio", data: "AAAA", mimeType: "audio/wav" },
  { type: "resource", resource: { uri: "x://a", text: "inside" } },
  { type: "resource", resource: { uri: "x://b", mimeType: "application/zip", blob: "AAAA" } },
  { type: "resource_link", uri: "x://a", name: "a", size: 3 }
]

describe("McpBridge", () => {
  describe("skills", () => {
    it.effect("keep name, description, schemas and annotations of the tool", () =>
      Effect.gen(function* () {
        const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
        const outputSchema = { type: "object", properties: { m: { type: "integer" } }, required: ["m"] }
        const [definition] = yield* definitionsOf(
          { permissions: ["p"], timeout: "5 seconds" },
          tool("t", { inputSchema: parameters, outputSchema, annotations: { readOnlyHint: true } })
        )
        assert.deepStrictEqual(definition, {
          name: "srv__t",
          description: "Does t",
          parametersSchema: parameters,
          returnsSchema: outputSchema,
          category: "mcp",
          requiresConfirmation: false,
          cacheable: false,
          shared: false,
          idempotent: true,
          permissions: ["p"],
          timeoutSeconds: 5,
          metadata: { mcpServer: "srv", mcpTool: "t" }
        })
        const [other] = yield* definitionsOf({ category: "files", prefix: false }, tool("t"))
        assert.strictEqual(other?.category, "files")
        assert.strictEqual(other?.name, "t")
        const [named] = yield* definitionsOf({ prefix: "my" }, tool("t"))
        assert.strictEqual(named?.name, "my__t")
      })
    )

    it.effect("validate parameters and structured content by the tool's schemas", () =>
      Effect.gen(function* () {
        const outputSchema = { type: "object", properties: { m: { type: "integer" } }, required: ["m"] }
        const parameters = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
        const [skill] = yield* skillsOf(
          undefined,
          tool("t", {
            inputSchema: parameters,
            outputSchema,
            call: ({ n }) =>
              Effect.succeed({ content: [], structuredContent: { m: n === 1 ? 1 : "x" }, isError: false })
          })
        )
        assert.deepStrictEqual(yield* execute(skill, { n: 1 }), { m: 1 })
        assert.isArray(yield* Effect.flip(execute(skill, { n: "1" })))
        assert.include(yield* Effect.flip(execute(skill, { n: 2 })), "m")
      })
    )

    it.effect("fail when structured content is missing", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(outputOf(text("x"), undefined, { outputSchema: { type: "object" } }))
        assert.instanceOf(error, McpError)
        assert.strictEqual(error.reason, "InvalidResponse")
      })
    )

    it.effect("ask for confirmation as the policy says", () =>
      Effect.gen(function* () {
        const asked = (confirm: McpToolPlan.Options["confirm"]) =>
          Effect.map(
            definitionsOf(
              { confirm },
              tool("silent"),
              tool("reads", { annotations: { readOnlyHint: true } }),
              tool("adds", { annotations: { readOnlyHint: false, destructiveHint: false } }),
              tool("deletes", { annotations: { destructiveHint: true } })
            ),
            (definitions) => definitions.map(({ requiresConfirmation }) => requiresConfirmation)
          )
        assert.deepStrictEqual(yield* asked(undefined), [true, false, false, true])
        assert.deepStrictEqual(yield* asked("destructive"), [true, false, false, true])
        assert.deepStrictEqual(yield* asked("always"), [true, true, true, true])
        assert.deepStrictEqual(yield* asked("never"), [false, false, false, false])
      })
    )

    it.effect("are omitted with a warning when they cannot be made, and the others stay", () =>
      Effect.gen(function* () {
        warnings.length = 0
        let deep: object = {}
        for (let i = 0; i < 10_000; i++) deep = { properties: { x: deep } }
        const definitions = yield* definitionsOf(
          { maxSchema: 2000 },
          tool("first"),
          tool("bad", { inputSchema: { type: "object", properties: { x: { $ref: "https://example.com/x.json" } } } }),
          tool("large", { inputSchema: { type: "object", description: "x".repeat(3000) } }),
          tool("deep", { inputSchema: deep as never }),
          tool("task", { requiresTask: true }),
          tool("first"),
          tool("last")
        )
        assert.deepStrictEqual(
          definitions.map(({ name }) => name),
          ["srv__first", "srv__last"]
        )
        for (const name of ["bad", "large", "deep", "task"]) {
          assert.isTrue(
            warnings.some((warning) => warning.includes(`"${name}"`)),
            name
          )
        }
      }).pipe(Effect.provide(watched))
    )

    it.effect("have no result schema when it does not compile", () =>
      Effect.gen(function* () {
        warnings.length = 0
        const outputSchema = { type: "object", properties: { x: { $ref: "https://example.com/x.json" } } }
        const [skill] = yield* skillsOf(undefined, tool("t", { outputSchema }))
        assert.deepStrictEqual(skill?.definition.returnsSchema, {})
        assert.strictEqual(yield* execute(skill), "t")
        assert.strictEqual(warnings.length, 1)
      }).pipe(Effect.provide(watched))
    )

    it.effect("are limited to the selected ones, up to a maximum", () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 10 }, (_, i) => tool(`t${i}`))
        const named = (options: McpToolPlan.Options) =>
          Effect.map(definitionsOf(options, ...many), (definitions) => definitions.map(({ name }) => name))
        assert.deepStrictEqual(yield* named({ include: ({ name }) => name === "t3" }), ["srv__t3"])
        assert.deepStrictEqual(yield* named({ maxTools: 2 }), ["srv__t0", "srv__t1"])
      }).pipe(Effect.provide(watched))
    )

    it.effect("return text as text, structured content as data, and other kinds as blocks", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* outputOf(text("one")), "one")
        assert.deepStrictEqual(yield* outputOf({ content: blocks, isError: false }), blocks)
        const alone = { content: [], structuredContent: { a: 1 }, isError: false }
        assert.deepStrictEqual(yield* outputOf(alone), { a: 1 })
        assert.strictEqual(
          yield* outputOf({ content: [...text("a").content, ...text("b").content], isError: false }),
          "a\n\nb"
        )
      })
    )

    it.effect("describe bytes if configured", () =>
      Effect.gen(function* () {
        const output = yield* outputOf({ content: blocks, isError: false }, { binary: "describe" })
        const shown = JSON.stringify(output)
        assert.notInclude(shown, "AAAA")
        assert.include(shown, "[image image/png, 3 bytes]")
        assert.include(shown, "[resource x://b application/zip, 3 bytes]")
        assert.include(shown, "inside")
      })
    )

    it.effect("bound their results", () =>
      Effect.gen(function* () {
        const cut = yield* outputOf(text("x".repeat(1000)), { maxResult: 100 })
        assert.strictEqual(cut, `${"x".repeat(100)}… [900 more characters]`)
        const image = {
          content: [{ type: "image", data: "A".repeat(400), mimeType: "image/png" }],
          isError: false
        } as const
        assert.strictEqual(yield* outputOf(image, { maxResult: 100 }), "[image image/png, 300 bytes]")
        const many = {
          content: Array.from({ length: 1000 }, () => ({ type: "text", text: "xxxxxxxxxx" }) as const),
          isError: false
        }
        assert.isBelow(String(yield* outputOf(many, { maxResult: 100 })).length, 300)
        const large = { content: [], structuredContent: { a: "x".repeat(1000) }, isError: false }
        const error = yield* Effect.flip(outputOf(large, { maxResult: 100 }))
        assert.strictEqual((error as McpError).reason, "TooLarge")
      })
    )

    it.effect("show hidden characters in descriptions, schemas and results", () =>
      Effect.gen(function* () {
        const hidden = "a\u001b[31m\u202eb\u200b\u{e0041}c"
        const [skill] = yield* skillsOf(
          { maxDescription: 50 },
          tool("t", {
            description: `${hidden}${"x".repeat(100)}`,
            inputSchema: { type: "object", properties: { x: { type: "string", description: hidden, enum: [hidden] } } },
            call: () =>
              Effect.succeed({
                content: text(`${hidden}\n\ttab`).content,
                structuredContent: { x: hidden },
                isError: false
              })
          })
        )
        const { definition } = skill as McpBridge.McpSkill
        const shown = "a\\u{001b}[31m\\u{202e}b\\u{200b}\\u{e0041}c"
        assert.isTrue(definition.description.startsWith(shown))
        assert.isBelow(definition.description.length, 90)
        const properties = definition.parametersSchema["properties"] as { readonly x: { readonly enum: unknown } }
        assert.deepStrictEqual(properties.x, { type: "string", description: shown, enum: [hidden] } as never)
        assert.strictEqual(yield* execute(skill), `${shown}\n\ttab`)
        assert.strictEqual(yield* outputOf(text("ok 👨‍👩‍👧 ❤️ नमस्ते\r\n")), "ok 👨‍👩‍👧 ❤️ नमस्ते\r\n")
      })
    )

    it.effect("fail when a tool fails, with the beginning of its text and without secrets", () =>
      Effect.gen(function* () {
        const said = `no disk, api_key=abcdefghijkl\u202e ${"x".repeat(100_000)}`
        const error = (yield* Effect.flip(outputOf({ ...text(said), isError: true }))) as McpError
        assert.strictEqual(error.reason, "ToolFailed")
        assert.strictEqual(error.toolName, "t")
        assert.include(error.message, "no disk")
        assert.notInclude(error.message, "abcdefghijkl")
        assert.notInclude(error.message, "\u202e")
        assert.isBelow(error.message.length, 1200)
      })
    )

    it.effect("retry only when nothing can have happened, or the call is idempotent", () =>
      Effect.gen(function* () {
        const [writes, reads] = yield* skillsOf(
          undefined,
          tool("writes"),
          tool("reads", { annotations: { idempotentHint: true } })
        )
        const retried = (skill: McpBridge.McpSkill | undefined) =>
          (["Connection", "Closed", "Timeout", "ToolFailed"] as const).map((reason) =>
            skill?.erased.isRetryable?.(new McpError({ server: "srv", reason, message: "" }))
          )
        assert.deepStrictEqual(retried(writes), [true, false, false, false])
        assert.deepStrictEqual(retried(reads), [true, true, false, false])
      })
    )

    it.effect("report the progress of their calls", () =>
      Effect.gen(function* () {
        const told: Array<unknown> = []
        const onProgress = (name: string, { progress }: { readonly progress: number }) =>
          Effect.sync(() => void told.push([name, progress]))
        const [skill] = yield* skillsOf(
          { onProgress },
          tool("t", { call: (_, progress) => Effect.as(progress({ progress: 7 }), text("")) })
        )
        yield* execute(skill)
        assert.deepStrictEqual(told, [["srv__t", 7]])
      })
    )

    it.effect("read resources if configured", () =>
      Effect.gen(function* () {
        const { client } = yield* McpMemory.make({
          name: "srv",
          tools: [],
          resources: [
            { uri: "x://a", name: "a", contents: [{ uri: "x://a", text: "the text" }] },
            { uri: "x://b", name: "b", contents: [{ uri: "x://b", blob: "AAAA" }] }
          ]
        })
        const [list, skill] = yield* McpBridge.skills(client, { resources: true })
        assert.deepStrictEqual(yield* execute(list, { from: 1 }), { resources: [{ uri: "x://b", name: "b" }] })
        assert.strictEqual(skill?.definition.name, "srv__read_resource")
        assert.strictEqual(yield* execute(skill, { uri: "x://a" }), "the text")
        assert.deepStrictEqual(yield* execute(skill, { uri: "x://b" }), [
          { type: "resource", resource: { uri: "x://b", blob: "AAAA" } }
        ])
        const made = yield* McpBridge.tools(client, { resources: true })
        assert.deepStrictEqual(
          made.map(({ name }) => name),
          ["srv__list_resources", "srv__read_resource"]
        )
      })
    )

    it("have valid and distinct names for different tools", () => {
      const names = (raw: ReadonlyArray<string>) =>
        Effect.runSync(definitionsOf(undefined, ...raw.map((name) => tool(name)))).map(({ name }) => name)
      assert.deepStrictEqual(names(["plain-1.x_y"]), ["srv__plain-1.x_y"])
      FastCheck.assert(
        FastCheck.property(FastCheck.uniqueArray(FastCheck.string({ minLength: 1, maxLength: 300 })), (raw) => {
          const made = names(raw)
          assert.strictEqual(new Set(made).size, raw.length)
          for (const name of made) assert.match(name, /^[A-Za-z0-9_.-]{1,128}$/)
          // The same whatever else there is.
          for (const [i, name] of raw.entries()) assert.strictEqual(names([name])[0], made[i])
        }),
        { numRuns: 30 }
      )
    })
  })

  describe("tools", () => {
    it.effect("takes no address for the bytes of a file, whatever the server says", () =>
      Effect.gen(function* () {
        const addresses = ["http://169.254.169.254/latest", "https://a.example/?q=1", "data:image/png;base64,AAAA"]
        const content = addresses.flatMap((data) => [
          { type: "image" as const, data, mimeType: "image/png" },
          { type: "resource" as const, resource: { uri: "x://a.png", blob: data, mimeType: "image/png" } }
        ])
        const client = yield* serverOf(tool("t", { call: () => Effect.succeed({ content, isError: false }) }))
        const [only] = yield* McpBridge.tools(client)
        const shown = yield* only?.erased.handle(
          {},
          { id: "1", idempotencyKey: "key", attempt: 1 }
        ) as Effect.Effect<ToolContent.ToolContent>
        assert.deepStrictEqual(shown.files, [])
        assert.lengthOf(String(shown.value).match(/cannot be shown/g) ?? [], content.length)
        for (const address of addresses) assert.notInclude(String(shown.value), address)
      })
    )

    it.effect("show images and resources as files of the result, and describe what is none", () =>
      Effect.gen(function* () {
        const png = "iVBORw0KGgoAAAANSUhEUgAAAAE="
        const content = [
          { type: "text", text: "one" },
          { type: "image", data: png, mimeType: "image/png" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "resource", resource: { uri: "x://notes/a.txt", blob: "aGVsbG8=", mimeType: "text/plain" } }
        ] as const
        const client = yield* serverOf(
          tool("t", { call: () => Effect.succeed({ content, isError: false }) }),
          tool("s", {
            outputSchema: { type: "object" },
            call: () => Effect.succeed({ content: content.slice(0, 2), structuredContent: { a: 1 }, isError: false })
          })
        )
        const [first, second] = yield* McpBridge.tools(client)
        const handled = (given: McpBridge.McpTool | undefined) =>
          given?.erased.handle(
            {},
            { id: "1", idempotencyKey: "key", attempt: 1 }
          ) as Effect.Effect<ToolContent.ToolContent>
        const { files, value } = yield* handled(first)
        assert.deepStrictEqual(
          files.map(({ fileName, mediaType }) => [mediaType, fileName]),
          [
            ["image/png", undefined],
            ["text/plain", "a.txt"]
          ]
        )
        assert.include(value, "one\n\n[a file of the type image/png that cannot be shown: ")
        const structured = yield* handled(second)
        assert.deepStrictEqual(structured.value, { a: 1 })
        assert.lengthOf(structured.files, 1)
      }).pipe(Effect.provide(watched))
    )

    it.effect("are the server's, with bytes described if configured", () =>
      Effect.gen(function* () {
        const client = yield* serverOf(
          tool("t", { call: () => Effect.succeed({ content: blocks.slice(0, 2), isError: false }) }),
          tool("reads", { annotations: { readOnlyHint: true } }),
          tool("bad", { inputSchema: { type: "object", properties: { x: { $ref: "https://example.com/x.json" } } } })
        )
        const [first, second, ...others] = yield* McpBridge.tools(client, { timeout: "3 seconds", binary: "describe" })
        assert.deepStrictEqual(others, [])
        assert.strictEqual(first?.name, "srv__t")
        assert.isTrue(first?.erased.requiresApproval({}))
        assert.isFalse(second?.erased.requiresApproval({}))
        assert.isTrue(second?.annotations.idempotent)
        assert.strictEqual(first?.annotations.timeout, "3 seconds")
        const output = yield* first?.erased.handle(
          {},
          { id: "1", idempotencyKey: "key", attempt: 1 }
        ) as Effect.Effect<unknown>
        assert.strictEqual(output, "one\n\n[image image/png, 3 bytes]")
      }).pipe(Effect.provide(watched))
    )
  })

  describe("register", () => {
    const names = Effect.flatMap(SkillRegistry.SkillRegistry, (registry) =>
      Effect.map(registry.list(), (definitions) => definitions.map(({ name }) => name))
    )
    const skillNamed = (name: string) =>
      Effect.flatMap(SkillRegistry.SkillRegistry, (registry) => Effect.map(registry.get(name), Option.getOrUndefined))
    const settled = TestClock.adjust("1 second")

    it.effect("follows the server's additions, changes and removals", () =>
      Effect.gen(function* () {
        const memory = yield* McpMemory.make({ name: "srv", tools: [tool("a"), tool("b")] })
        yield* McpBridge.register(memory.client)
        assert.deepStrictEqual(yield* names, ["srv__a", "srv__b"])
        yield* settled
        const kept = yield* skillNamed("srv__b")
        yield* memory.update((server) => ({ ...server, tools: [tool("b"), tool("c")] }))
        yield* settled
        assert.deepStrictEqual(yield* names, ["srv__b", "srv__c"])
        assert.strictEqual(yield* skillNamed("srv__b"), kept)
        yield* memory.update((server) => ({ ...server, tools: [tool("b", { description: "New" }), tool("c")] }))
        yield* settled
        assert.strictEqual((yield* skillNamed("srv__b"))?.definition.description, "New")
      }).pipe(Effect.scoped, Effect.provide(DefaultSkillRegistry.layerEmpty))
    )

    it.effect("leaves other skills alone and removes its own at the end", () =>
      Effect.gen(function* () {
        const registry = yield* SkillRegistry.SkillRegistry
        const other = (name: string) =>
          Skill.make(name, { description: "Another", handler: () => Effect.succeed(1) }) as Skill.Bound
        yield* registry.register(other("srv__a"))
        const memory = yield* McpMemory.make({ name: "srv", tools: [tool("a"), tool("b"), tool("c")] })
        const scope = yield* Scope.make()
        yield* Scope.extend(McpBridge.register(memory.client), scope)
        assert.strictEqual((yield* skillNamed("srv__a"))?.definition.description, "Another")
        // Somebody took the place of one of them.
        yield* registry.replace(other("srv__b"))
        yield* memory.update((server) => ({ ...server, tools: [tool("c")] }))
        yield* settled
        assert.deepStrictEqual(yield* names, ["srv__a", "srv__b", "srv__c"])
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* names, ["srv__a", "srv__b"])
      }).pipe(Effect.provide(Layer.merge(DefaultSkillRegistry.layerEmpty, watched)))
    )

    it.effect("keeps the skills while the server is unreachable", () =>
      Effect.gen(function* () {
        const memory = yield* McpMemory.make({ name: "srv", tools: [tool("a")] })
        let isDown = false
        const client: Service = {
          ...memory.client,
          listTools: Effect.suspend(() =>
            isDown
              ? Effect.fail(new McpError({ server: "srv", reason: "Closed", message: "down" }))
              : memory.client.listTools
          )
        }
        yield* McpBridge.register(client)
        yield* settled
        isDown = true
        yield* memory.update((server) => ({ ...server, tools: [] }))
        yield* settled
        assert.deepStrictEqual(yield* names, ["srv__a"])
        isDown = false
        yield* memory.update((server) => ({ ...server, tools: [tool("z")] }))
        yield* settled
        assert.deepStrictEqual(yield* names, ["srv__z"])
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(DefaultSkillRegistry.layerEmpty, watched)))
    )

    it.effect("fails when a server is unreachable at first", () =>
      Effect.gen(function* () {
        const memory = yield* McpMemory.make({ name: "srv" })
        const down = new McpError({ server: "srv", reason: "Connection", message: "down" })
        const layer = McpBridge.layer().pipe(
          Layer.provide(Layer.succeed(McpClient, { ...memory.client, listTools: Effect.fail(down) })),
          Layer.provide(DefaultSkillRegistry.layerEmpty)
        )
        assert.strictEqual(yield* Effect.flip(Effect.scoped(Layer.build(layer))), down)
      })
    )

    it.effect("reads lists once when they change in quick succession", () =>
      Effect.gen(function* () {
        const memory = yield* McpMemory.make({ name: "srv", tools: [tool("a")] })
        let listed = 0
        const listTools = Effect.zipRight(
          Effect.sync(() => void listed++),
          memory.client.listTools
        )
        yield* McpBridge.register({ ...memory.client, listTools })
        yield* settled
        listed = 0
        for (let i = 0; i < 50; i++) yield* memory.update((server) => ({ ...server, tools: [tool(`t${i}`)] }))
        yield* settled
        assert.deepStrictEqual(yield* names, ["srv__t49"])
        assert.isBelow(listed, 4)
      }).pipe(Effect.scoped, Effect.provide(DefaultSkillRegistry.layerEmpty))
    )
  })

  it("converts prompts to messages", () => {
    const user = (content: ContentBlock) => ({ role: "user", content }) as const
    assert.deepStrictEqual(
      McpBridge.messages({
        messages: [...blocks.map(user), { role: "assistant", content: { type: "text", text: "yes" } }]
      }),
      [
        { role: "user", content: [{ type: "text", text: "one" }] },
        { role: "user", content: [{ type: "file", mediaType: "image/png", data: "AAAA" }] },
        { role: "user", content: [{ type: "file", mediaType: "audio/wav", data: "AAAA" }] },
        { role: "user", content: [{ type: "text", text: "inside" }] },
        { role: "user", content: [{ type: "file", mediaType: "application/zip", data: "AAAA", fileName: "x://b" }] },
        { role: "user", content: [{ type: "text", text: "a: x://a" }] },
        { role: "assistant", content: [{ type: "text", text: "yes" }] }
      ]
    )
  })

  it("converts skills to definitions that clients of the protocol understand", () => {
    const skill = Skill.make("s", {
      description: "Does",
      parameters: { n: Schema.Int },
      returns: Schema.Struct({ m: Schema.Int }),
      idempotent: true,
      requiresConfirmation: true,
      handler: ({ n }) => Effect.succeed({ m: n })
    })
    const plain = Skill.fromJsonSchema("p", {
      description: "Plain",
      returns: { type: "string" },
      handler: () => Effect.succeed("")
    })
    const [first, second] = McpBridge.toMcpDefinitions([skill as Skill.Any, plain.definition])
    assert.strictEqual(first?.inputSchema["type"], "object")
    assert.deepStrictEqual(first?.inputSchema["required"], ["n"])
    assert.strictEqual(first?.outputSchema?.["type"], "object")
    assert.deepStrictEqual(first?.annotations, { idempotentHint: true, destructiveHint: true })
    assert.strictEqual(second?.name, "p")
    assert.notProperty(second, "outputSchema")
  })

  it.effect("shows text of any kind and size in time", () =>
    Effect.gen(function* () {
      for (const unit of ["\u202e", "\r", "\ud800", "a\u0000"]) {
        const output = yield* Effect.either(outputOf(text(unit.repeat(100_000))))
        assert.isTrue(Either.isRight(output))
      }
    })
  )
})
