import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { EntryId } from "../../../src/domain/Ids.js"
import * as McpMemories from "../../../src/mcp/offer/McpMemories.js"
import { McpServerError } from "../../../src/mcp/offer/McpServerError.js"
import * as McpSkills from "../../../src/mcp/offer/McpSkills.js"
import * as McpEdge from "../../../src/mcp/server/McpEdge.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as DefaultSkillCatalog from "../../../src/skill/folder/DefaultSkillCatalog.js"
import * as ScriptRunner from "../../../src/skill/folder/ScriptRunner.js"
import * as SkillTrust from "../../../src/skill/folder/SkillTrust.js"
import { folder } from "../../skill/LoadedSkills.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as McpClients from "../../support/McpClients.js"

const start = (options: Partial<McpServer.Options>, others: Layer.Layer<never> = Layer.empty) =>
  AgentServers.start({
    agents: [Agent.make("helper")],
    others,
    edges: [McpEdge.make(McpServer.make({ name: "desk", version: "1.0.0", ...options }) as McpServer.Definition<never>)]
  })

const failureOf = (run: () => Promise<unknown>): Effect.Effect<any> =>
  Effect.promise(async () => {
    try {
      await run()
    } catch (error) {
      return error
    }
    throw new Error("It did not fail")
  })

const shownBy = (read: () => Promise<{ readonly contents: ReadonlyArray<any> }>) =>
  Effect.map(Effect.promise(read), ({ contents }) => contents[0]?.text)

describe("prompts", () => {
  it.scopedLive("need their arguments, get no others, and complete them", () =>
    Effect.gen(function* () {
      const { url } = yield* start({
        prompts: [
          {
            name: "greet",
            description: "Greets",
            arguments: [
              {
                name: "who",
                required: true,
                complete: (value) => Effect.succeed(["ann", "anna"].filter((name) => name.startsWith(value)))
              },
              { name: "how" }
            ],
            get: (args, { caller }) => Effect.succeed(`${JSON.stringify(args)} for ${caller.userId}`)
          },
          { name: "broken", get: () => Effect.die(new Error("secret place")) },
          { name: "refused", get: () => new McpServerError({ reason: "refused", message: "Not today" }) }
        ]
      })
      const { client } = yield* McpClients.http(url)
      assert.include((yield* failureOf(() => client.getPrompt({ name: "greet" }))).message, "needs the argument who")
      assert.include((yield* failureOf(() => client.getPrompt({ name: "none" }))).message, "no such prompt")
      const { messages } = yield* Effect.promise(() =>
        client.getPrompt({ name: "greet", arguments: { who: "x", more: "y" } })
      )
      assert.deepStrictEqual(messages, [{ role: "user", content: { type: "text", text: '{"who":"x"} for ann' } }])
      const completed = yield* Effect.promise(() =>
        client.complete({ ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "ann" } })
      )
      assert.deepStrictEqual(completed.completion, { values: ["ann", "anna"], total: 2, hasMore: false })
      const failure = yield* failureOf(() => client.getPrompt({ name: "broken" }))
      assert.strictEqual(failure.code, -32603)
      assert.notInclude(failure.message, "secret")
      assert.include((yield* failureOf(() => client.getPrompt({ name: "refused" }))).message, "Not today")
    })
  )

  it.scopedLive("are listed in pages", () =>
    Effect.gen(function* () {
      const prompts = ["a", "b", "c"].map((name) => ({ name, get: () => Effect.succeed(name) }))
      const { url } = yield* start({ prompts, pageSize: 2 })
      const { client } = yield* McpClients.http(url)
      const first = yield* Effect.promise(() => client.listPrompts())
      const second = yield* Effect.promise(() => client.listPrompts({ cursor: first.nextCursor }))
      assert.deepStrictEqual(
        [first, second].map(({ prompts }) => prompts.map(({ name }) => name)),
        [["a", "b"], ["c"]]
      )
      assert.isUndefined(second.nextCursor)
      for (const cursor of ["3", "-1", "x", "__proto__"]) {
        assert.strictEqual((yield* failureOf(() => client.listPrompts({ cursor }))).code, -32602)
      }
    })
  )
})

describe("resources", () => {
  it.scopedLive("are read by their address or a template, and unknown otherwise", () =>
    Effect.gen(function* () {
      const { url } = yield* start({
        templates: [
          {
            uriTemplate: "order://{id}/{part}",
            name: "order",
            read: (variables, { caller }) => Effect.succeed(JSON.stringify([variables, caller.userId])),
            complete: { id: () => Effect.succeed(["1"]) }
          }
        ]
      })
      const { client } = yield* McpClients.http(url)
      const text = yield* shownBy(() => client.readResource({ uri: "order://7/a%20b" }))
      assert.strictEqual(text, '[{"id":"7","part":"a b"},"ann"]')
      for (const uri of ["order://7", "order://%ff/a", "x", `order://${"x".repeat(5_000)}/a`]) {
        assert.strictEqual((yield* failureOf(() => client.readResource({ uri }))).code, -32002)
      }
      const ref = { type: "ref/resource" as const, uri: "order://{id}/{part}" }
      const complete = (name: string) => Effect.promise(() => client.complete({ ref, argument: { name, value: "" } }))
      assert.deepStrictEqual((yield* complete("id")).completion.values, ["1"])
      assert.deepStrictEqual((yield* complete("constructor")).completion.values, [])
    })
  )

  it.scopedLive("tell those who subscribed that they changed, until they unsubscribe", () =>
    Effect.gen(function* () {
      const changes = yield* PubSub.unbounded<string>()
      const followers: Array<string> = []
      const watched = (uri: string) => ({
        uri,
        name: uri,
        read: () => Effect.succeed(""),
        changes: () =>
          Stream.unwrapScoped(
            Effect.gen(function* () {
              const queue = yield* PubSub.subscribe(changes)
              yield* Effect.acquireRelease(
                Effect.sync(() => followers.push(uri)),
                () => Effect.sync(() => followers.splice(followers.indexOf(uri), 1))
              )
              return Stream.filter(Stream.fromQueue(queue), (changed) => changed === uri)
            })
          )
      })
      const { url } = yield* start({ resources: [watched("test://a"), watched("test://b")], maxSubscriptions: 1 })
      const { client } = yield* McpClients.http(url)
      const told = yield* Queue.unbounded<string>()
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        Queue.unsafeOffer(told, params.uri)
      })
      yield* Effect.promise(() => client.subscribeResource({ uri: "test://a" }))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => followers.length === 1 })
      yield* PubSub.publish(changes, "test://a")
      assert.strictEqual(yield* Queue.take(told), "test://a")
      assert.include((yield* failureOf(() => client.subscribeResource({ uri: "test://b" }))).message, "at most 1")
      assert.strictEqual((yield* failureOf(() => client.subscribeResource({ uri: "test://none" }))).code, -32002)
      yield* Effect.promise(() => client.unsubscribeResource({ uri: "test://a" }))
      assert.deepStrictEqual(followers, [])
      yield* Effect.promise(() => client.subscribeResource({ uri: "test://b" }))
      yield* Effect.repeat(Effect.yieldNow(), { until: () => followers.length === 1 })
      yield* PubSub.publish(changes, "test://b")
      assert.strictEqual(yield* Queue.take(told), "test://b")
    })
  )
})

describe("McpSkills", () => {
  it.scopedLive("offers the skills of a catalog as prompts and resources, to those who may see them", () =>
    Effect.gen(function* () {
      const { skill } = yield* folder(
        "report",
        { "SKILL.md": "Write about $ARGUMENTS.", "parts/head.md": "The head" },
        { description: "Writes reports" }
      )
      const catalog = DefaultSkillCatalog.layer([skill]).pipe(
        Layer.provide([NodeContext.layer, ScriptRunner.layerNoop, SkillTrust.layerNoop])
      )
      const { url } = yield* start(
        { sources: [McpSkills.make({ only: ({ userId }) => userId === "ann" })] },
        Layer.orDie(catalog)
      )
      const { client } = yield* McpClients.http(url)
      const { prompts } = yield* Effect.promise(() => client.listPrompts())
      assert.deepStrictEqual(
        prompts.map(({ description, name }) => [name, description]),
        [["report", "Writes reports"]]
      )
      const { messages } = yield* Effect.promise(() =>
        client.getPrompt({ name: "report", arguments: { arguments: "whales" } })
      )
      assert.include(JSON.stringify(messages), "Write about whales.")
      const { resources } = yield* Effect.promise(() => client.listResources())
      assert.deepStrictEqual(
        resources.map(({ uri }) => uri),
        ["skill://report/SKILL.md", "skill://report/parts/head.md"]
      )
      assert.include(yield* shownBy(() => client.readResource({ uri: "skill://report/SKILL.md" })), "Write about")
      assert.strictEqual(yield* shownBy(() => client.readResource({ uri: "skill://report/parts/head.md" })), "The head")
      for (const uri of [
        "skill://report/../x",
        "skill://report/%2e%2e%2fx",
        "skill://report/",
        "skill://none/SKILL.md"
      ]) {
        assert.strictEqual((yield* failureOf(() => client.readResource({ uri }))).code, -32002)
      }
      const other = yield* McpClients.http(url, { user: "bob" })
      assert.deepStrictEqual((yield* Effect.promise(() => other.client.listPrompts())).prompts, [])
      assert.strictEqual(
        (yield* failureOf(() => other.client.readResource({ uri: "skill://report/SKILL.md" }))).code,
        -32002
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )
})

describe("McpMemories", () => {
  it.scopedLive("offers each caller what is remembered of it alone", () =>
    Effect.gen(function* () {
      const made = yield* Deferred.make<MemoryStore.Service>()
      const memory = Layer.tap(InMemoryMemoryStore.layer(), (context) =>
        Effect.provide(
          Effect.flatMap(MemoryStore.MemoryStore, (store) => Deferred.succeed(made, store)),
          context
        )
      )
      const { url } = yield* start({ sources: [McpMemories.make({ maxListed: 1 })] }, memory)
      const store = yield* Deferred.await(made)
      for (const [id, timestamp] of [
        ["one", 1],
        ["two", 2]
      ] as const) {
        yield* store.store(
          MemoryEntry.make({ id: EntryId.make(id), ownerId: "ann", content: `It is ${id}`, role: "user", timestamp })
        )
      }
      const { client } = yield* McpClients.http(url)
      const { resources } = yield* Effect.promise(() => client.listResources())
      assert.deepStrictEqual(
        resources.map(({ name, uri }) => [uri, name]),
        [["memory://entries/two", "It is two"]]
      )
      assert.strictEqual(yield* shownBy(() => client.readResource({ uri: "memory://entries/two" })), "It is two")
      assert.strictEqual(yield* shownBy(() => client.readResource({ uri: "memory://entries/one" })), "It is one")
      const other = yield* McpClients.http(url, { user: "bob" })
      assert.deepStrictEqual((yield* Effect.promise(() => other.client.listResources())).resources, [])
      for (const id of ["one", "two", "none", "%00"]) {
        const uri = `memory://entries/${id}`
        assert.strictEqual((yield* failureOf(() => other.client.readResource({ uri }))).code, -32002)
      }
    })
  )
})
