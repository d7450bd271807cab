import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent } from "effect-lexigram"
import { CliConfig } from "effect-lexigram/cli"
import { EntryId } from "../../src/domain/Ids.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as FactStore from "../../src/memory/facts/FactStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Commands from "../support/Commands.js"

const helper = Agent.make("helper", { system: "You help." })

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

const DAY = 86_400_000

const filled = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.orDie(DefaultMemory.layer()))
  const store = Context.get(context, MemoryStore.MemoryStore)
  const facts = Context.get(context, FactStore.FactStore)
  const now = yield* Clock.currentTimeMillis
  const entry = (id: string, content: string, age = 0, ownerId = "ann") => ({
    id: EntryId.make(id),
    ownerId,
    content,
    role: "user" as const,
    timestamp: now - age,
    importance: 0.5,
    accessCount: 0,
    lastAccessed: now - age,
    metadata: {}
  })
  yield* store.storeMany([
    entry("tea", "I drink green tea every morning"),
    entry("cat", "My cat is called Momo\u001b[2J\u202e"),
    entry("old", "I live in Lisbon by the river", 20 * DAY),
    entry("twice", "I live in Lisbon by the river", 20 * DAY - 1)
  ])
  yield* store.store(entry("hers", "I drink black tea", 0, "bob"))
  yield* facts.assert("ann", [
    { subject: "Ann", predicate: "drinks", object: "green tea", sources: [EntryId.make("tea")] },
    { subject: "Momo", predicate: "is", object: "a cat\u001b[2J", confidence: 0.5 },
    { subject: "Ann", predicate: "lived in", object: "Rome", validFrom: now - 9 * DAY, validTo: now - DAY }
  ])
  yield* facts.assert("bob", [{ subject: "Bob", predicate: "drinks", object: "black tea" }])
  const services = (user?: string) =>
    CliConfig.make({
      agents: [helper],
      ...(user === undefined ? {} : { userId: user }),
      layer: Layer.provideMerge(
        AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>,
        Layer.succeedContext(context)
      )
    })
  return {
    context,
    store,
    run: (...args: ReadonlyArray<string>) => Commands.runWith(services("ann"), ["memory", ...args]),
    nobody: (...args: ReadonlyArray<string>) => Commands.runWith(services(), ["memory", ...args])
  }
})

describe("lexigram memory", () => {
  it.scopedLive("finds what fits, and says how each score comes about", () =>
    Effect.gen(function* () {
      const { run } = yield* filled
      const text = yield* run("search", "green tea")
      assert.strictEqual(text.code, 0, text.err)
      assert.match(text.out, /^0\.\d{3} /)
      assert.match(text.out, /= [\d.]+ × relevance [\d.]+ \+ [\d.]+ × recency [\d.]+ \+ [\d.]+ × importance 0\.500/)
      assert.include(text.out, "I drink green tea")
      assert.notInclude(text.out, "black tea")
      const { json } = yield* run("search", "green tea", "--limit", "1", "--json")
      assert.lengthOf(json.results, 1)
      const { explanation, score } = json.results[0]
      const { importance, recency, relevance, weights } = explanation
      assert.closeTo(
        weights.relevance * relevance + weights.recency * recency + weights.importance * importance,
        score,
        1e-9
      )
      const hostile = yield* run("search", "cat Momo")
      assert.include(hostile.out, "\\u{001b}")
      assert.notMatch(hostile.out, obeyed)
      assert.strictEqual((yield* run("search", "tea", "--session", "none")).out, "Nothing is remembered that fits.\n")
      assert.strictEqual((yield* run("search", "")).code, 2)
      assert.strictEqual((yield* run("search", "tea", "--limit", "101")).code, 2)
    })
  )

  it.scopedLive("lists what is remembered of the user", () =>
    Effect.gen(function* () {
      const { run } = yield* filled
      const text = yield* run("list")
      assert.match(text.out, /^ENTRY +TIME/)
      assert.notInclude(text.out, "black tea")
      assert.notMatch(text.out, obeyed)
      const { json } = yield* run("list", "--limit", "3", "--json")
      assert.lengthOf(json.entries, 3)
      assert.strictEqual((yield* run("list", "--user", "none")).out, "Nothing is remembered.\n")
      assert.include((yield* run("list", "--user", "bob")).out, "black tea")
    })
  )

  it.scopedLive("shows facts by subject, and those that have ended on request", () =>
    Effect.gen(function* () {
      const { run } = yield* filled
      const text = yield* run("facts")
      assert.include(text.out, "green tea")
      assert.notInclude(text.out, "black tea")
      assert.notInclude(text.out, "Rome")
      assert.notMatch(text.out, obeyed)
      const about = (yield* run("facts", "--subject", "mo", "--json")).json.facts
      assert.deepStrictEqual(
        about.map(({ subject }: { subject: string }) => subject),
        ["Momo"]
      )
      assert.include((yield* run("facts", "--closed")).out, "Rome")
      assert.lengthOf((yield* run("facts", "--closed", "--limit", "2", "--json")).json.facts, 2)
      assert.strictEqual((yield* run("facts", "--user", "none")).out, "No facts.\n")
    })
  )

  it.scopedLive("forgets an entry of the user with its facts, when it is confirmed", () =>
    Effect.gen(function* () {
      const { run, store } = yield* filled
      assert.strictEqual((yield* run("forget", "tea")).code, 2)
      assert.strictEqual(yield* store.count("ann"), 4)
      const ended = yield* run("forget", "tea", "--yes")
      assert.strictEqual(ended.out, "Forgot 1 text and 1 fact\n")
      for (const id of ["tea", "hers", "none", "__proto__"]) {
        assert.strictEqual((yield* run("forget", id, "--yes")).code, 4, id)
      }
      assert.strictEqual(yield* store.count("bob"), 1)
    })
  )

  it.scopedLive("says what a consolidation would do, and changes nothing; then does it", () =>
    Effect.gen(function* () {
      const { run, store } = yield* filled
      const dry = yield* run("consolidate", "--dry-run")
      assert.strictEqual(dry.code, 0, dry.err)
      assert.include(dry.out, "1 text would be removed")
      assert.include(dry.out, "Nothing was changed.")
      assert.strictEqual(yield* store.count("ann"), 4)
      const { json } = yield* run("consolidate", "--json")
      assert.deepInclude(json, { dryRun: false, entriesPruned: 1 })
      assert.strictEqual(yield* store.count("ann"), 3)
      assert.strictEqual(yield* store.count("bob"), 1)
    })
  )

  it.scopedLive("needs a user, and an application that has memory", () =>
    Effect.gen(function* () {
      const { nobody } = yield* filled
      for (const args of [["list"], ["search", "x"], ["facts"], ["forget", "x", "--yes"], ["consolidate"]]) {
        const ended = yield* nobody(...args)
        assert.strictEqual(ended.code, 2, args[0])
        assert.include(ended.err, "--user")
        assert.strictEqual((yield* nobody(...args, "--user", "a\u001b")).code, 2)
        const without = yield* Commands.runWith(
          CliConfig.make({
            agents: [helper],
            userId: "ann",
            layer: AgentServers.services({ agents: [helper] }) as Layer.Layer<CliConfig.Services>
          }),
          ["memory", ...args]
        )
        assert.strictEqual(without.code, 3, without.err)
        assert.include(without.err, "memory")
      }
    })
  )

  it.scopedLive("talks to a server, which has no facts to show", () =>
    Effect.gen(function* () {
      const { context } = yield* filled
      const { url } = yield* AgentServers.start({
        agents: [helper],
        others: Layer.succeedContext(context) as Layer.Layer<never>
      })
      const run = (...args: ReadonlyArray<string>) =>
        Commands.run(["memory", ...args, "--url", url], { env: { LEXIGRAM_TOKEN: "token-ann" } })
      const found = yield* run("search", "green tea")
      assert.include(found.out, "× relevance")
      assert.include((yield* run("list")).out, "Momo")
      const facts = yield* run("facts", "--user", "ann")
      assert.strictEqual(facts.code, 3)
      assert.include(facts.err, "without --url")
    })
  )
})
