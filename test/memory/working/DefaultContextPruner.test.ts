import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import type { StorageError } from "../../../src/memory/entry/MemoryError.js"
import * as ToolPairs from "../../../src/memory/entry/ToolPairs.js"
import * as ContextPruner from "../../../src/memory/working/ContextPruner.js"
import * as DefaultContextPruner from "../../../src/memory/working/DefaultContextPruner.js"
import * as Tiers from "../../support/MemoryTiers.js"

const prune = <E = never>(
  entries: ReadonlyArray<MemoryEntry>,
  options: ContextPruner.PruneOptions<E>,
  counter: TokenCounter.Service = Tiers.characters,
  strategy?: ContextPruner.Strategy
) =>
  Effect.flatMap(ContextPruner.ContextPruner, (pruner) => pruner.prune(entries, options)).pipe(
    Effect.provide(
      DefaultContextPruner.layer({ strategy }).pipe(Layer.provide(Layer.succeed(TokenCounter.TokenCounter, counter)))
    )
  )

const idsOf = ({ kept }: ContextPruner.PruningResult): ReadonlyArray<string> => kept.map(({ id }) => id)

const cost = (counter: TokenCounter.Service, entries: ReadonlyArray<MemoryEntry>): number =>
  counter.countMessages(entries.map(({ content, role }) => ({ role: role === "tool" ? "user" : role, content }))) -
  counter.countMessages([])

/** Ten characters of a user: 17 tokens. */
const ten = (id: string, timestamp: number, content = "0123456789") => Tiers.entry(id, { timestamp, content })

describe("DefaultContextPruner", () => {
  const three = [ten("old", 1, "green tea."), ten("mid", 2), ten("new", 3)]

  it.effect("keeps everything that fits", () =>
    Effect.map(prune(three, { tokenBudget: 51 }), (result) =>
      assert.deepStrictEqual(result, {
        kept: three,
        prunedCount: 0,
        originalCount: 3,
        tokenBudget: 51,
        strategy: "hybrid",
        tokens: 51,
        remainingBudget: 0
      })
    )
  )

  it.effect("keeps the newest by recency", () =>
    Effect.map(prune(three, { tokenBudget: 40, strategy: "recency", query: "tea" }), (result) => {
      assert.deepStrictEqual(idsOf(result), ["mid", "new"])
      assert.deepInclude(result, { prunedCount: 1, strategy: "recency", tokens: 34, remainingBudget: 6 })
    })
  )

  it.effect("keeps relevant entries, then the newest, by relevance", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(idsOf(yield* prune(three, { tokenBudget: 40, strategy: "relevance", query: "teas" })), [
        "old",
        "new"
      ])
      assert.deepStrictEqual(idsOf(yield* prune(three, { tokenBudget: 40, strategy: "relevance" })), ["mid", "new"])
    })
  )

  it.effect("weighs a rare query word more than the length of a text", () => {
    const entries = [
      ten("rare", 1, "the zebra sleeps"),
      ten("long", 2, "the cat and the dog and the bird sleep and sleep and sleep all day"),
      ten("other", 3, "a dog sleeps")
    ]
    return Effect.map(prune(entries, { tokenBudget: 30, strategy: "relevance", query: "sleeping zebra" }), (result) =>
      assert.deepStrictEqual(idsOf(result), ["rare"])
    )
  })

  it.effect("weighs both 6 to 4 by default with hybrid", () =>
    Effect.gen(function* () {
      const one = { tokenBudget: 20, query: "tea" }
      assert.deepStrictEqual(idsOf(yield* prune(three, one)), ["new"])
      const strategy = DefaultContextPruner.hybrid({ recency: 0.3, relevance: 0.7 })
      assert.deepStrictEqual(idsOf(yield* prune(three, { ...one, strategy })), ["old"])
      assert.deepStrictEqual(idsOf(yield* prune(three, one, Tiers.characters, strategy)), ["old"])
    })
  )

  it.effect("uses a custom scorer, which may fail", () =>
    Effect.gen(function* () {
      const byId: ContextPruner.Scorer = {
        name: "by id",
        score: (entries) => Effect.succeed(entries.map(({ id }) => (id === "mid" ? 1 : Number.NaN)))
      }
      const result = yield* prune(three, { tokenBudget: 20, strategy: byId })
      assert.deepStrictEqual([idsOf(result), result.strategy], [["mid"], "by id"])
      const failing: ContextPruner.Scorer<StorageError> = { name: "failing", score: () => Tiers.failure }
      const error = yield* Effect.flip(prune(three, { tokenBudget: 20, strategy: failing }))
      assert.strictEqual(error._tag, "StorageError")
      const short: ContextPruner.Scorer = { name: "short", score: () => Effect.succeed([]) }
      assert.deepStrictEqual(idsOf(yield* prune(three, { tokenBudget: 20, strategy: short })), ["new"])
    })
  )

  it.effect("skips an entry that does not fit, and keeps it alone only on request", () =>
    Effect.gen(function* () {
      const large = ten("large", 9, "x".repeat(100))
      assert.deepStrictEqual(idsOf(yield* prune([...three, large], { tokenBudget: 20 })), ["new"])
      const none = yield* prune([large], { tokenBudget: 20 })
      assert.deepInclude(none, { kept: [], tokens: 0, prunedCount: 1, remainingBudget: 20 })
      const forced = yield* prune([large], { tokenBudget: 20, keepAtLeastOne: true })
      assert.deepStrictEqual([idsOf(forced), forced.tokens, forced.remainingBudget], [["large"], 107, 0])
      assert.deepStrictEqual(idsOf(yield* prune([...three, large], { tokenBudget: 20, keepAtLeastOne: true })), ["new"])
      assert.deepStrictEqual((yield* prune([], { tokenBudget: 20, keepAtLeastOne: true })).kept, [])
    })
  )

  it.effect("keeps system entries, and fails if they exceed the budget alone", () =>
    Effect.gen(function* () {
      const system = Tiers.entry("system", { role: "system", content: "be kind", timestamp: -1 })
      assert.deepStrictEqual(idsOf(yield* prune([...three, system], { tokenBudget: 34, strategy: "relevance" })), [
        "system",
        "new"
      ])
      const error = yield* Effect.flip(prune([...three, system], { tokenBudget: 10 }))
      assert.strictEqual(error._tag, "MemoryCapacityError")
      assert.strictEqual(error.capacity, 10)
    })
  )

  it.effect("keeps or drops a call with its results", () => {
    const call = Tiers.entry("call", {
      role: "assistant",
      timestamp: 4,
      metadata: { toolCallIds: ["1"] },
      content: "c"
    })
    const result = Tiers.entry("result", { role: "tool", timestamp: 5, metadata: { toolCallId: "1" }, content: "tea" })
    const lone = Tiers.entry("lone", { role: "tool", timestamp: 6, metadata: { toolCallId: "2" }, content: "tea" })
    return Effect.gen(function* () {
      const kept = (tokenBudget: number) =>
        Effect.map(prune([result, lone, call, ...three], { tokenBudget, strategy: "relevance", query: "tea" }), idsOf)
      assert.deepStrictEqual(yield* kept(1000), ["old", "mid", "new", "call", "result"])
      assert.deepStrictEqual(yield* kept(24), ["call", "result"])
      assert.deepStrictEqual(yield* kept(17), ["old"])
    })
  })

  it.effect("orders kept entries by time, or best first", () =>
    Effect.gen(function* () {
      const options = { tokenBudget: 100, strategy: "relevance", query: "tea" } as const
      assert.deepStrictEqual(idsOf(yield* prune(three.toReversed(), options)), ["old", "mid", "new"])
      assert.deepStrictEqual(idsOf(yield* prune(three, { ...options, order: "score" })), ["old", "new", "mid"])
    })
  )

  it.effect("keeps the budget and pairs for any entries and counter", () => {
    const entries = FastCheck.array(
      FastCheck.tuple(
        FastCheck.constantFrom("user" as const, "call" as const, "result" as const, "system" as const),
        FastCheck.oneof(FastCheck.lorem({ maxCount: 20 }), FastCheck.string({ unit: "binary", maxLength: 60 })),
        FastCheck.integer({ min: 0, max: 5 })
      ),
      { maxLength: 25 }
    )
    const counter = FastCheck.constantFrom(Tiers.characters, Tiers.superadditive, TokenCounter.approximate, {
      ...Tiers.characters,
      // Finds more in several messages than in each.
      countMessages: (messages: Parameters<TokenCounter.Service["countMessages"]>[0]) => messages.length ** 3 * 4
    })
    return Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          entries,
          counter,
          FastCheck.integer({ min: 0, max: 600 }),
          FastCheck.constantFrom("recency" as const, "relevance" as const, "hybrid" as const),
          async (given, counter, tokenBudget, strategy) => {
            const all = given.map(([kind, content, n], index) =>
              Tiers.entry(`e${index}`, {
                timestamp: n,
                content,
                role: kind === "call" ? "assistant" : kind === "result" ? "tool" : kind,
                metadata: kind === "call" ? { toolCallIds: [`${n}`] } : kind === "result" ? { toolCallId: `${n}` } : {}
              })
            )
            const result = await Effect.runPromise(
              Effect.either(prune(all, { tokenBudget, strategy, query: "lorem ipsum" }, counter))
            )
            const system = all.filter(({ role }) => role === "system")
            if (result._tag === "Left") {
              assert.isAbove(cost(counter, system), tokenBudget)
              return
            }
            const { kept, prunedCount, remainingBudget, tokens } = result.right
            assert.isAtMost(tokens, tokenBudget)
            if (kept.length > 0) assert.strictEqual(tokens, cost(counter, kept))
            assert.strictEqual(kept.length + prunedCount, all.length)
            assert.strictEqual(remainingBudget, tokenBudget - tokens)
            assert.strictEqual(kept.filter(({ role }) => role === "system").length, system.length)
            const others = kept.filter(({ role }) => role !== "system")
            assert.isTrue(ToolPairs.units(others).every(({ broken }) => !broken))
            assert.deepStrictEqual(kept, kept.toSorted(ToolPairs.chronological))
          }
        ),
        { numRuns: 200 }
      )
    )
  })
})
