import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { EntryId } from "../../../src/domain/Ids.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import { DataTransferError } from "../../../src/persistence/engine/PersistenceError.js"
import * as OwnerData from "../../../src/persistence/OwnerData.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as AgentServers from "../../support/AgentServers.js"

const helper = Agent.make("helper")

/** Entries of two users; three of them at the same time. */
const memory = Layer.effectDiscard(
  Effect.flatMap(MemoryStore.MemoryStore, (store) =>
    store.storeMany(
      [
        ["ann", "a1", 1, "Ann likes tea"],
        ["ann", "a2", 5, "Ann lives in Rome"],
        ["ann", "a3", 5, "Ann has a dog"],
        ["ann", "a4", 5, "Ann sings"],
        ["ann", "a5", 9, "Ann works at night"],
        ["bob", "b1", 3, "Bob likes tea"]
      ].map(([ownerId, id, timestamp, content]) =>
        MemoryEntry.make({
          id: EntryId.make(id as string),
          ownerId: ownerId as never,
          role: "user",
          content: content as string,
          timestamp: timestamp as number,
          metadata: { token: "sk-1234567890abcdef1234567890" }
        })
      )
    )
  )
).pipe(Layer.provideMerge(DefaultMemory.layer()), Layer.orDie)

const idsOf = (entries: ReadonlyArray<{ id: string }>) => entries.map(({ id }) => id)

describe("memory over HTTP", () => {
  it.scopedLive("is listed page by page, also where entries have the same time", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], others: memory })
      const seen: Array<string> = []
      let cursor: string | undefined
      do {
        const { json, status, text } = yield* ask(
          `/v1/memory?limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`
        )
        assert.strictEqual(status, 200, text)
        assert.notInclude(text, "sk-1234567890abcdef")
        seen.push(...idsOf(json.entries))
        cursor = json.next
      } while (cursor !== undefined)
      assert.deepStrictEqual(seen, ["a5", "a4", "a3", "a2", "a1"])
      assert.strictEqual((yield* ask("/v1/memory?cursor=%00")).status, 400)
    })
  )

  it.scopedLive("is searched and erased by its owner alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], others: memory })
      const found = yield* ask("/v1/memory/search?query=who%20likes%20tea&limit=1")
      assert.deepStrictEqual(
        found.json.results.map(({ entry }: { entry: { content: string } }) => entry.content),
        ["Ann likes tea"]
      )
      assert.notProperty(found.json.results[0], "explanation")
      const [explained] = (yield* ask("/v1/memory/search?query=who%20likes%20tea&explain=true")).json.results
      assert.strictEqual(explained.explanation.relevance, explained.relevance)
      assert.strictEqual((yield* ask("/v1/memory/search?query=tea&explain=perhaps")).status, 400)
      assert.strictEqual((yield* ask("/v1/memory/search")).status, 400)
      const erase = (path: string, user: string) => ask(path, { method: "DELETE", user })
      assert.deepStrictEqual((yield* erase("/v1/memory/a1", "bob")).json, { entries: 0, facts: 0, procedures: 0 })
      assert.strictEqual((yield* erase("/v1/memory/a1", "ann")).json.entries, 1)
      assert.strictEqual((yield* erase("/v1/memory", "ann")).json.entries, 4)
      assert.isEmpty((yield* ask("/v1/memory")).json.entries)
      assert.deepStrictEqual(idsOf((yield* ask("/v1/memory", { user: "bob" })).json.entries), ["b1"])
    })
  )

  it.scopedLive("is that of a user: nobody else has one", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({
        agents: [helper],
        authentication: Authentication.layerAnonymous,
        others: memory
      })
      for (const [method, path] of [
        ["GET", "/v1/memory"],
        ["DELETE", "/v1/memory"]
      ] as const) {
        assert.strictEqual((yield* ask(path, { method, user: "" })).status, 403)
      }
      const { ask: without } = yield* AgentServers.start({ agents: [helper] })
      assert.strictEqual((yield* without("/v1/memory")).status, 501)
    })
  )
})

const failure = new DataTransferError({ message: "The disk is gone", part: "sessions" })

const data = (lines: Stream.Stream<string, DataTransferError>) => {
  const erased: Array<string> = []
  return {
    erased,
    layer: Layer.succeed(OwnerData.OwnerData, {
      export: (subject) => Stream.concat(Stream.make(`{"user":"${subject}"}`), lines),
      import: () => Effect.dieMessage("not over HTTP"),
      erase: (subject) =>
        subject === "bob"
          ? failure
          : Effect.as(
              Effect.sync(() => erased.push(String(subject))),
              { sessions: 2 }
            )
    })
  }
}

describe("the data of an owner over HTTP", () => {
  it.scopedLive("is exported as lines and erased, for the caller alone", () =>
    Effect.gen(function* () {
      const { erased, layer } = data(Stream.make("1", "2"))
      const { ask } = yield* AgentServers.start({ agents: [helper], others: layer })
      const exported = yield* ask("/v1/owner/export")
      assert.strictEqual(exported.text, '{"user":"ann"}\n1\n2\n')
      assert.strictEqual(exported.headers.get("content-type"), "application/x-ndjson")
      const gone = yield* ask("/v1/owner", { method: "DELETE" })
      assert.deepStrictEqual(gone.json, { erased: { sessions: 2 } })
      assert.deepStrictEqual(erased, ["ann"])
      const failed = yield* ask("/v1/owner", { method: "DELETE", user: "bob" })
      assert.strictEqual(failed.status, 503)
      assert.notInclude(failed.text, "disk")
      assert.strictEqual((yield* ask("/v1/owner", { method: "DELETE", user: "" })).status, 401)
    })
  )

  it.scopedLive("ends with a problem where it cannot be read", () =>
    Effect.gen(function* () {
      const { layer } = data(Stream.fail(failure))
      const { ask } = yield* AgentServers.start({ agents: [helper], others: layer })
      const { text } = yield* ask("/v1/owner/export")
      const [first, last] = text.trim().split("\n")
      assert.strictEqual(first, '{"user":"ann"}')
      assert.include(last, '"kind":"problem"')
      assert.notInclude(last, "disk")
    })
  )
})

describe("what a server offers over HTTP", () => {
  it.scopedLive("are its skills", () =>
    Effect.gen(function* () {
      const greet = Skill.make("greet", { description: "Greets", handler: () => Effect.succeed("hi") })
      const skills = Layer.succeed(SkillRegistry.SkillRegistry, {
        ...SkillRegistry.noop,
        list: () => Effect.succeed([greet.definition])
      })
      const { ask } = yield* AgentServers.start({ agents: [helper], others: skills })
      const { json } = yield* ask("/v1/skills")
      assert.deepInclude(json.skills, { name: "greet", description: "Greets", kind: "code" })
      const { ask: without } = yield* AgentServers.start({ agents: [helper] })
      assert.deepStrictEqual((yield* without("/v1/skills")).json, { skills: [] })
    })
  )

  it.scopedLive("are its metrics, to those who may read them", () =>
    Effect.gen(function* () {
      const { ask } = yield* AgentServers.start({ agents: [helper], metrics: ({ userId }) => userId === "ann" })
      yield* ask("/v1/runs?wait=10", { body: { agent: "helper", input: "hello" } })
      const page = yield* ask("/v1/metrics")
      assert.strictEqual(page.status, 200)
      assert.match(page.text, /^# TYPE/m)
      assert.strictEqual((yield* ask("/v1/metrics", { user: "bob" })).status, 403)
      const { ask: closed } = yield* AgentServers.start({ agents: [helper] })
      assert.strictEqual((yield* closed("/v1/metrics")).status, 403)
    })
  )
})
