import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/definition/Agent.js"
import { EntryId } from "../../src/domain/Ids.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as FactStore from "../../src/memory/facts/FactStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as StudioApis from "../support/StudioApis.js"

const { dev, nobody, other } = StudioApis

const KEY = "sk-1234567890abcdef1234567890"

const day = 86_400_000

const entry = (ownerId: string, id: string, timestamp: number, content: string) =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId: ownerId as never, role: "user", content, timestamp, metadata: {} })

/** Two developers, each with entries and facts; one of the facts replaced another. */
const remembered = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const facts = yield* FactStore.FactStore
    yield* store.storeMany([
      entry(dev, "e1", day, "I live in Rome"),
      entry(dev, "e2", 2 * day, "I live in Oslo now"),
      entry(dev, "e3", 3 * day, `My key is ${KEY} and I like tea`),
      entry(other, "o1", day, "I live in Lima and like tea")
    ])
    yield* facts.assert(dev, [
      { subject: "user", predicate: "lives in", object: "Rome", validFrom: day, sources: [EntryId.make("e1")] }
    ])
    yield* facts.assert(dev, [
      {
        subject: "user",
        predicate: "lives in",
        object: "Oslo",
        validFrom: 2 * day,
        replaces: true,
        sources: [EntryId.make("e2")],
        metadata: { token: KEY }
      },
      { subject: "user", predicate: "likes", object: "tea", validFrom: 3 * day, confidence: 0.5 }
    ])
    yield* facts.assert(other, [{ subject: "user", predicate: "lives in", object: "Lima", validFrom: day }])
  })
).pipe(Layer.provideMerge(DefaultMemory.layer()), Layer.orDie)

const helper = Agent.make("helper")

const start = StudioApis.start({
  agents: [helper],
  others: remembered,
  sessions: Layer.orDie(Sessions.layer())
})

const objects = ({ facts }: { facts: ReadonlyArray<{ object: string }> }) => facts.map(({ object }) => object)

describe("facts of the studio", () => {
  it.scopedLive("have their history, and no secrets", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, status, text } = yield* ask("/studio/api/memory/facts", { user: dev })
      assert.strictEqual(status, 200, text)
      assert.sameMembers(objects(json), ["Rome", "Oslo", "tea"])
      const [rome, oslo] = ["Rome", "Oslo"].map((name) => json.facts.find((one: any) => one.object === name))
      assert.deepInclude(rome, { validFrom: day, validTo: 2 * day, closedBy: oslo.id, sources: ["e1"] })
      assert.notProperty(oslo, "validTo")
      assert.notProperty(oslo, "ownerId")
      const texts = json.entries.map(({ id, text }: any) => [id, text]).toSorted()
      assert.deepStrictEqual(texts, [
        ["e1", "I live in Rome"],
        ["e2", "I live in Oslo now"]
      ])
      assert.notInclude(text, KEY)
    })
  )

  it.scopedLive("are selected, searched and read page by page", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const read = (query: string) =>
        Effect.map(ask(`/studio/api/memory/facts?${query}`, { user: dev }), ({ json, status, text }) => {
          assert.strictEqual(status, 200, text)
          return json
        })
      assert.sameMembers(objects(yield* read("closed=false")), ["Oslo", "tea"])
      assert.sameMembers(objects(yield* read(`closed=false&at=${day}`)), ["Rome"])
      assert.sameMembers(objects(yield* read("predicate=likes")), ["tea"])
      assert.sameMembers(objects(yield* read("entity=oslo")), ["Oslo"])
      assert.sameMembers(objects(yield* read("object=Rome")), ["Rome"])
      assert.sameMembers(objects(yield* read("minConfidence=0.6")), ["Rome", "Oslo"])
      assert.sameMembers(objects(yield* read("subject=nobody")), [])
      assert.sameMembers(objects(yield* read("text=tea")), ["tea"])
      const seen: Array<string> = []
      let next: string | undefined
      do {
        const page = yield* read(`limit=1${next === undefined ? "" : `&cursor=${next}`}`)
        seen.push(...objects(page))
        next = page.next
      } while (next !== undefined)
      assert.deepStrictEqual(seen.toSorted(), ["Oslo", "Rome", "tea"])
      for (const query of ["limit=0", "limit=501", "cursor=rubbish", "at=later", "minConfidence=2", "subject="]) {
        const { status } = yield* ask(`/studio/api/memory/facts?${query}`, { user: dev })
        assert.strictEqual(status, 400, query)
      }
    })
  )

  it.scopedLive("are those of the caller", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json } = yield* ask("/studio/api/memory/facts", { user: other })
      assert.deepStrictEqual(objects(json), ["Lima"])
      assert.deepStrictEqual(json.entries, [])
    })
  )
})

describe("assembly of memory in the studio", () => {
  it.scopedLive("shows what each section takes of the budget, with the texts", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const assemble = (body: unknown, user: string = dev) => ask("/studio/api/memory/assemble", { user, body })
      const { json, status, text } = yield* assemble({ question: "Where do I live?", budget: 1000 })
      assert.strictEqual(status, 200, text)
      assert.strictEqual(json.budget, 1000)
      assert.isAbove(json.tokens, 0)
      assert.include(json.text, "Oslo")
      assert.notInclude(text, KEY)
      assert.notInclude(text, "Lima")
      const section = (name: string) => json.sections.find(({ source }: any) => source === name)
      const taken = [...section("recent_turns").taken, ...section("episodic").taken]
      const texts = (items: ReadonlyArray<any>) => items.map(({ text }) => text)
      assert.includeMembers(texts(taken), ["I live in Rome", "I live in Oslo now"])
      assert.include(texts(section("semantic").taken), "user lives in Oslo")
      for (const { leftCount, tokenBudget, tokens } of json.sections) {
        assert.isAtMost(tokens, tokenBudget)
        assert.isAtLeast(leftCount, 0)
      }
      const none = (yield* assemble({ question: "Where do I live?", budget: 0 })).json
      assert.deepStrictEqual([none.tokens, none.text], [0, ""])
      const little = (yield* assemble({ question: "Where do I live?", budget: 60 })).json
      const left = little.sections.flatMap(({ left }: any) => left)
      assert.isAbove(left.length, 0)
      assert.isTrue(left.some(({ text }: any) => typeof text === "string"))
      assert.include((yield* assemble({ question: "Where do I live?" }, other)).json.text, "Lima")
    })
  )

  it.scopedLive("is about a session of the caller, if it names one", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      yield* ask("/v1/sessions", { user: dev, body: { id: "mine" } })
      const assemble = (sessionId: string, user: string) =>
        ask("/studio/api/memory/assemble", { user, body: { question: "tea", sessionId } })
      assert.strictEqual((yield* assemble("mine", dev)).status, 200)
      assert.strictEqual((yield* assemble("mine", other)).status, 404)
      assert.strictEqual((yield* assemble("none", dev)).status, 404)
    })
  )

  it.scopedLive("refuses what is no question", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      for (const body of [
        {},
        { question: "" },
        { question: "x".repeat(5000) },
        { question: 1 },
        "{",
        { question: "a", budget: -1 }
      ]) {
        assert.strictEqual((yield* ask("/studio/api/memory/assemble", { user: dev, body })).status, 400)
      }
      for (const question of ["\u0000", "%%' OR 1=1 --", "\ud800", "</script>"]) {
        assert.strictEqual((yield* ask("/studio/api/memory/assemble", { user: dev, body: { question } })).status, 200)
      }
    })
  )
})

describe("consolidation in the studio", () => {
  it.scopedLive("changes nothing until it is applied", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const consolidate = (body: unknown) => ask("/studio/api/memory/consolidate", { user: dev, body })
      const entries = Effect.map(ask("/v1/memory", { user: dev }), ({ json }) => json.entries.length as number)
      const before = yield* entries
      const dry = yield* consolidate({})
      assert.strictEqual(dry.status, 200, dry.text)
      assert.isTrue(dry.json.dryRun)
      // All of them are years old.
      assert.strictEqual(dry.json.entriesPruned, before)
      assert.strictEqual(yield* entries, before)
      // It names each entry that would leave.
      const named = dry.json.removals as ReadonlyArray<{ how: string; item: { id: string; text: string } }>
      const known = (yield* ask("/v1/memory", { user: dev })).json.entries as ReadonlyArray<{ id: string }>
      assert.sameMembers(
        named.map(({ item }) => item.id),
        known.map(({ id }) => id)
      )
      assert.isTrue(named.every(({ how, item }) => how === "pruned" && item.text !== ""))
      const done = yield* consolidate({ apply: true })
      assert.isFalse(done.json.dryRun)
      assert.strictEqual(yield* entries, before - done.json.entriesPruned)
      assert.strictEqual((yield* ask("/v1/memory", { user: other })).json.entries.length, 1)
      assert.strictEqual((yield* consolidate({ apply: "yes" })).status, 400)
    })
  )
})

const requests = [
  ["/studio/api/memory/facts", undefined],
  ["/studio/api/memory/assemble", { question: "a" }],
  ["/studio/api/memory/consolidate", {}]
] as const

describe("memory of the studio", () => {
  it.scopedLive("is for developers alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      for (const [path, body] of requests) {
        assert.strictEqual((yield* ask(path, { user: nobody, body })).status, 403, path)
        assert.strictEqual((yield* ask(path, { user: "", body })).status, 401, path)
      }
    })
  )

  it.scopedLive("says which layer a server lacks", () =>
    Effect.gen(function* () {
      const { ask } = yield* StudioApis.start({ agents: [helper] })
      for (const [path, body] of requests) {
        const { json, status } = yield* ask(path, { user: dev, body })
        assert.strictEqual(status, 501, path)
        assert.include(json.detail, "DefaultMemory.layer()")
      }
    })
  )

  it.scopedLive("is nobody's without a user", () =>
    Effect.gen(function* () {
      const { ask } = yield* StudioApis.start({
        agents: [helper],
        others: remembered,
        authentication: Authentication.layerBearer({ verify: () => Effect.succeedSome({ scopes: ["studio"] }) })
      })
      for (const [path, body] of requests) {
        const { json, status } = yield* ask(path, { user: dev, body })
        assert.strictEqual(status, 403, path)
        assert.include(json.detail, "with a user")
      }
    })
  )
})
