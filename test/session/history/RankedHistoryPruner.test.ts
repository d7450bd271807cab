import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as EmbeddingContextPruner from "../../../src/session/history/EmbeddingContextPruner.js"
import * as HistoryPruner from "../../../src/session/history/HistoryPruner.js"
import * as RankedHistoryPruner from "../../../src/session/history/RankedHistoryPruner.js"
import * as RecencyContextPruner from "../../../src/session/history/RecencyContextPruner.js"
import * as RelevanceContextPruner from "../../../src/session/history/RelevanceContextPruner.js"
import * as SessionMessages from "../../../src/session/history/SessionMessages.js"
import type { SessionTurn } from "../../../src/session/turn/Session.js"
import * as CountingEmbedder from "../../support/CountingEmbedder.js"
import * as Tiers from "../../support/MemoryTiers.js"
import { call, hostile, result, turn } from "../../support/SessionTurns.js"

type Pruner = Layer.Layer<HistoryPruner.HistoryPruner, never, TokenCounter.TokenCounter>

const prune = (
  turns: ReadonlyArray<SessionTurn>,
  options: HistoryPruner.PruneOptions,
  layer: Pruner = RelevanceContextPruner.layer(),
  counter: TokenCounter.Service = Tiers.characters
) =>
  Effect.flatMap(HistoryPruner.HistoryPruner, (pruner) => pruner.prune(turns, options)).pipe(
    Effect.provide(layer.pipe(Layer.provide(Layer.succeed(TokenCounter.TokenCounter, counter))))
  )

const kept = (...given: Parameters<typeof prune>) =>
  Effect.map(prune(...given), ({ kept }) => kept.map(({ id }) => id as string))

const embedding = (embedder: Embedder.Service): Pruner =>
  EmbeddingContextPruner.layer().pipe(Layer.provide(Embedder.layer(embedder)))

const layers = {
  relevance: RelevanceContextPruner.layer(),
  recency: RecencyContextPruner.layer,
  embedding: embedding(CountingEmbedder.make().embedder)
}

/** Ten characters of a user: 17 tokens of `Tiers.characters`. */
const ten = (depth: number, content = "0123456789") => turn(depth, { role: "user", content })
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => ten(from + index))

for (const [name, layer] of Object.entries(layers)) {
  describe(`HistoryPruner by ${name}`, () => {
    it.effect("keeps everything that fits, and nothing of nothing", () =>
      Effect.gen(function* () {
        const turns = range(1, 4)
        const whole = { kept: turns, dropped: 0, tokens: 68 }
        assert.deepStrictEqual(yield* prune(turns, { query: "tea", maxTurns: 4, maxTokens: 68 }, layer), whole)
        assert.deepStrictEqual(yield* prune(turns, {}, layer), whole)
        assert.deepStrictEqual(yield* prune([], { query: "tea", maxTokens: 0 }, layer), {
          kept: [],
          dropped: 0,
          tokens: 0
        })
      })
    )

    it.effect("keeps the newest turns in order without a query", () =>
      Effect.gen(function* () {
        const turns = range(1, 6)
        const newest = ["t4", "t5", "t6"]
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 3 }, layer), newest)
        assert.deepStrictEqual(yield* kept(turns.toReversed(), { maxTurns: 3, query: " " }, layer), newest)
        assert.deepStrictEqual(yield* kept(turns, { maxTokens: 3 * 17 + 16 }, layer), newest)
        assert.strictEqual((yield* prune(turns, { maxTurns: 3 }, layer)).dropped, 3)
      })
    )

    it.effect("keeps system turns and does not count them", () =>
      Effect.gen(function* () {
        const system = turn(2, { role: "system", content: "be kind" })
        assert.deepStrictEqual(yield* kept([...range(3, 6), system, ten(1)], { maxTurns: 1 }, layer), ["t2", "t6"])
      })
    )

    it.effect("keeps the newest turn at any cost, or fails", () =>
      Effect.gen(function* () {
        const system = turn(1, { role: "system", content: "be kind" })
        const turns = [system, ten(2), ten(3)]
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 0 }, layer), ["t1", "t3"])
        const systemTokens = SessionMessages.tokens(Tiers.characters, [system])
        assert.deepStrictEqual(yield* kept(turns, { maxTokens: systemTokens + 17 }, layer), ["t1", "t3"])
        for (const maxTokens of [systemTokens + 16, 0, -1, Number.NaN]) {
          const error = yield* Effect.flip(prune(turns, { maxTokens, query: "tea" }, layer))
          assert.deepStrictEqual([error._tag, error.code], ["SessionCapacityError", "LEX_ERR_SES_012"])
        }
        assert.strictEqual((yield* Effect.flip(prune([system], { maxTokens: 1 }, layer)))._tag, "SessionCapacityError")
      })
    )

    it.effect("keeps or drops a call and its results together, even when apart", () =>
      Effect.gen(function* () {
        const turns = [ten(1), call(2, "a", "b"), result(3, "a"), ten(4), result(5, "b"), ten(6), ten(7)]
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 7 }, layer), ["t1", "t2", "t3", "t4", "t5", "t6", "t7"])
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 5 }, layer), ["t2", "t3", "t5", "t6", "t7"])
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 4 }, layer), ["t1", "t4", "t6", "t7"])
      })
    )

    it.effect("drops a call without its result and a result without its call, except the newest", () =>
      Effect.gen(function* () {
        const turns = [result(1, "x"), call(2, "a"), ten(3)]
        assert.deepStrictEqual(yield* kept(turns, {}, layer), ["t3"])
        assert.deepStrictEqual(yield* kept([...turns, call(4, "b")], {}, layer), ["t3", "t4"])
        assert.deepStrictEqual(yield* kept([call(1, "a", "b"), result(2, "a")], { maxTurns: 1 }, layer), ["t1", "t2"])
        assert.deepStrictEqual(yield* kept([ten(1), result(2, "x")], {}, layer), ["t1", "t2"])
      })
    )

    it.effect("needs no result turn for a call that holds its result, and keeps an existing one with it", () =>
      Effect.gen(function* () {
        const held = turn(1, {
          role: "assistant",
          metadata: { toolCallIds: ["a"] },
          toolCalls: [{ id: "a", name: "look", params: {}, result: "tea" }]
        })
        assert.deepStrictEqual(yield* kept([held, ten(2)], {}, layer), ["t1", "t2"])
        const twice = [held, result(2, "a"), ten(3), ten(4)]
        assert.deepStrictEqual(yield* kept(twice, {}, layer), ["t1", "t2", "t3", "t4"])
        assert.deepStrictEqual(yield* kept(twice, { maxTurns: 3 }, layer), ["t3", "t4"])
        const open = turn(1, { role: "assistant", toolCalls: [{ id: "a", name: "look", params: {} }] })
        assert.deepStrictEqual(yield* kept([open, ten(2)], {}, layer), ["t1", "t2"])
        const turns = [open, result(2, "a"), ten(3), ten(4)]
        assert.deepStrictEqual(yield* kept(turns, { maxTurns: 3 }, layer), ["t3", "t4"])
        assert.deepStrictEqual(yield* kept(turns.slice(0, 3), { maxTurns: 3 }, layer), ["t1", "t2", "t3"])
      })
    )

    it.effect("keeps a call and its result together across a fork", () => {
      const far = { ...call(1, "a"), sessionId: turn(1).sessionId.concat("-parent") as SessionTurn["sessionId"] }
      return Effect.map(kept([far, result(2, "a"), ten(3)], {}, layer), (ids) =>
        assert.deepStrictEqual(ids, ["t1", "t2", "t3"])
      )
    })

    it.effect("counts the note on an unanswered question", () =>
      Effect.gen(function* () {
        const failed = { ...ten(1), unanswered: "failed" as const }
        const tokens = SessionMessages.tokens(Tiers.characters, [failed])
        assert.strictEqual(
          tokens,
          17 + Tiers.characters.countMessages([{ role: "assistant", content: "(no answer: failed)" }]) - 3
        )
        assert.deepStrictEqual(yield* kept([failed, ten(2)], { maxTokens: tokens + 17 }, layer), ["t1", "t2"])
        assert.deepStrictEqual(yield* kept([failed, ten(2)], { maxTokens: tokens + 16 }, layer), ["t2"])
      })
    )
  })
}

describe("RelevanceContextPruner", () => {
  const turns = [ten(1, "green tea."), ten(2), ten(3, "more teas!"), ten(4), ten(5), ten(6)]

  it.effect("prefers relevant turns to newer ones, after the newest two", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* kept(turns, { query: "tea?", maxTurns: 4 }), ["t1", "t3", "t5", "t6"])
      assert.deepStrictEqual(yield* kept(turns, { query: "tea?", maxTurns: 2 }), ["t5", "t6"])
      assert.deepStrictEqual(yield* kept(turns, { query: "tea?", maxTokens: 4 * 17 }), ["t1", "t3", "t5", "t6"])
    })
  )

  it.effect("prefers the configured number of newest turns", () =>
    Effect.gen(function* () {
      const options = { query: "tea?", maxTurns: 3 }
      const by = (keepRecent: number) => kept(turns, options, RelevanceContextPruner.layer({ keepRecent }))
      assert.deepStrictEqual(yield* by(0), ["t1", "t3", "t6"])
      assert.deepStrictEqual(yield* by(3), ["t4", "t5", "t6"])
      assert.deepStrictEqual(yield* by(Number.NaN), ["t3", "t5", "t6"])
    })
  )

  it.effect("weights recency as configured", () =>
    Effect.gen(function* () {
      const some = [
        ten(1, "tea, green tea, black tea, tea for two"),
        ten(2, "tea and a long talk of other things"),
        ten(3),
        ten(4)
      ]
      const by = (recencyWeight: number) =>
        kept(some, { query: "tea", maxTurns: 2 }, RelevanceContextPruner.layer({ recencyWeight, keepRecent: 0 }))
      assert.deepStrictEqual(yield* by(0), ["t1", "t4"])
      assert.deepStrictEqual(yield* by(5), ["t3", "t4"])
      for (const none of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
        assert.deepStrictEqual(yield* by(none), yield* by(0.3))
      }
    })
  )

  it.effect("spreads recency evenly from the oldest to the newest turn", () => {
    // Turn 2 of 5 has 1/4 of the weight, turn 4 has 3/4: a relevance of 0.5 outweighs that below a weight of 1.
    const relevance: RankedHistoryPruner.Options["relevance"] = (_query, turns) =>
      Effect.succeed(turns.map(({ depth }) => (depth === 2 ? 0.5 : 0)))
    const by = (recencyWeight: number) =>
      kept(
        range(1, 5),
        { query: "any", maxTurns: 2 },
        RankedHistoryPruner.layer({ relevance, recencyWeight, keepRecent: 1 })
      )
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* by(0.99), ["t2", "t5"])
      assert.deepStrictEqual(yield* by(1.01), ["t4", "t5"])
    })
  })

  it.effect("keeps a call for the text of its result", () => {
    const some = [call(1, "a"), result(2, "a", "green tea"), ten(3), ten(4), ten(5)]
    return Effect.map(kept(some, { query: "tea", maxTurns: 4 }), (ids) =>
      assert.deepStrictEqual(ids, ["t1", "t2", "t4", "t5"])
    )
  })

  it.effect("falls back to recency for missing or invalid relevance", () =>
    Effect.gen(function* () {
      for (const scores of [[], [Number.NaN], [Number.NaN, Number.NaN, Number.NaN, Number.NaN]]) {
        const layer = RankedHistoryPruner.layer({ relevance: () => Effect.succeed(scores), keepRecent: 0 })
        assert.deepStrictEqual(yield* kept(range(1, 4), { query: "any", maxTurns: 2 }, layer), ["t3", "t4"])
      }
    })
  )

  it.effect("prunes a thousand turns with hostile words and ids in one pass", () =>
    Effect.gen(function* () {
      const texts = ["__proto__", "constructor toString", "\ud800 \u0000 tea", "(a+)+$".repeat(200)]
      const turns = Array.from({ length: 1000 }, (_, index) =>
        turn(index + 1, { id: `__proto__${index}`, content: `${texts[index % 4]} tea number ${index} of the table` })
      )
      let counted = 0
      const watched = TokenCounter.make({
        model: "watched",
        exact: true,
        count: (text) => {
          counted++
          return text.length > 1000 ? 100 : text.length
        }
      })
      const pruner = yield* Effect.provideService(RelevanceContextPruner.make(), TokenCounter.TokenCounter, watched)
      const options = { query: "tea number 17", maxTurns: 20, maxTokens: 2000 }
      const first = yield* pruner.prune(turns, options)
      assert.include(
        first.kept.map(({ depth }) => depth),
        18
      )
      assert.isAtMost(first.tokens, 2000)
      // Role and content of those that are looked at, and of those that stay again.
      assert.isBelow(counted, 200)
      const few = { ...options, maxTokens: 700 }
      counted = 0
      assert.isAtMost((yield* pruner.prune(turns, few)).tokens, 700)
      assert.isBelow(counted, 2 * 1000 + 200)
      counted = 0
      yield* pruner.prune(turns, few)
      assert.isBelow(counted, 200)
    })
  )
})

describe("EmbeddingContextPruner", () => {
  const turns = [ten(1, "green tea"), ten(2), ten(3), ten(4), ten(5)]

  it.effect("keeps turns close to the query and embeds all texts in one call", () =>
    Effect.gen(function* () {
      const counting = CountingEmbedder.make()
      const layer = embedding(counting.embedder)
      assert.deepStrictEqual(yield* kept(turns, { query: "green tea", maxTurns: 3 }, layer), ["t1", "t4", "t5"])
      assert.deepStrictEqual(counting.calls, [["green tea", ...turns.map(({ content }) => content)]])
    })
  )

  it.effect("does not call the embedder when everything fits or there is no query", () =>
    Effect.gen(function* () {
      const counting = CountingEmbedder.make()
      const layer = embedding(counting.embedder)
      yield* kept(turns, { query: "green tea", maxTurns: 5, maxTokens: 1000 }, layer)
      yield* kept(turns, { maxTurns: 2 }, layer)
      assert.deepStrictEqual(counting.calls, [])
    })
  )

  it.effect("keeps the newest turns and logs no content when the embedder fails", () =>
    Effect.gen(function* () {
      const warnings: Array<string> = []
      const logger = Logger.make(({ annotations, logLevel, message }) => {
        warnings.push(`${logLevel.label} ${JSON.stringify(message)} ${JSON.stringify(Array.from(annotations))}`)
      })
      const layer = embedding(CountingEmbedder.make(() => Effect.fail(CountingEmbedder.error(false))).embedder)
      const ids = yield* kept(turns, { query: "green tea", maxTurns: 3 }, layer).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger))
      )
      assert.deepStrictEqual(ids, ["t3", "t4", "t5"])
      assert.strictEqual(warnings.length, 1)
      assert.match(warnings[0]!, /^WARN /)
      assert.include(warnings[0], "EmbeddingContextPruner")
      assert.include(warnings[0], "EmbeddingError")
      assert.notInclude(warnings[0], "tea")
    })
  )

  it.effect("tolerates an embedder that returns too few or too short vectors", () =>
    Effect.gen(function* () {
      for (const vectors of [[], [new Float32Array(4).fill(0.5)], [new Float32Array(4), new Float32Array(1)]]) {
        const { embedder } = CountingEmbedder.make()
        const layer = embedding({ ...embedder, embedMany: () => Effect.succeed(vectors) })
        assert.deepStrictEqual(yield* kept(turns, { query: "green tea", maxTurns: 3 }, layer), ["t3", "t4", "t5"])
      }
    })
  )
})

describe("RankedHistoryPruner", () => {
  const kinds = FastCheck.constantFrom("user", "plain", "call", "held", "result", "system", "unanswered")
  const given = FastCheck.array(
    FastCheck.tuple(
      kinds,
      FastCheck.oneof(FastCheck.lorem({ maxCount: 20 }), FastCheck.string({ unit: hostile, maxLength: 60 })),
      FastCheck.integer({ min: 0, max: 3 })
    ),
    { maxLength: 25 }
  )
  const counters = FastCheck.constantFrom(Tiers.characters, Tiers.superadditive, TokenCounter.approximate, {
    ...Tiers.characters,
    // Finds more in several messages than in each.
    countMessages: (messages: Parameters<TokenCounter.Service["countMessages"]>[0]) => messages.length ** 3 * 4
  })

  it.effect("keeps budgets, pairs and order for any turns and any counter, deterministically", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          given,
          counters,
          FastCheck.option(FastCheck.integer({ min: 0, max: 600 }), { nil: undefined }),
          FastCheck.option(FastCheck.integer({ min: 0, max: 12 }), { nil: undefined }),
          FastCheck.constantFrom(...Object.values(layers)),
          FastCheck.integer({ min: 0, max: 4 }),
          async (kindsOf, counter, maxTokens, maxTurns, layer, shift) => {
            const turns = kindsOf.map(([kind, content, n], index): SessionTurn => {
              const depth = index + 1
              const id = `c${n}`
              const toolCalls = [{ id, name: "look", params: {}, result: "r" }]
              switch (kind) {
                case "user":
                case "unanswered":
                  return turn(depth, { role: "user", content, ...(kind === "user" ? {} : { unanswered: "failed" }) })
                case "plain":
                  return turn(depth, { role: "assistant", content })
                case "call":
                  return turn(depth, { role: "assistant", content, metadata: { toolCallIds: [id] } })
                case "held":
                  return turn(depth, { role: "assistant", content, metadata: { toolCallIds: [id] }, toolCalls })
                case "result":
                  return turn(depth, { role: "tool", content, metadata: { toolCallId: id } })
                default:
                  return turn(depth, { role: "system", content })
              }
            })
            const options = { query: "lorem ipsum", maxTokens, maxTurns }
            const pruned = await Effect.runPromise(Effect.either(prune(turns, options, layer, counter)))
            const others = turns.filter(({ role }) => role !== "system")
            const system = turns.filter(({ role }) => role === "system")
            const limit = maxTokens ?? Number.POSITIVE_INFINITY
            if (pruned._tag === "Left") {
              // With the newest turn may come the call and the other results it belongs to.
              assert.isAbove(SessionMessages.tokens(counter, turns), limit)
              const together = others.at(-1)?.role === "tool" ? others : others.slice(-1)
              assert.isAbove(SessionMessages.tokens(counter, [...system, ...together]), limit)
              return
            }
            const { dropped, kept, tokens } = pruned.right
            assert.isAtMost(tokens, limit)
            assert.strictEqual(tokens, SessionMessages.tokens(counter, kept))
            const opening = counter.countMessages([])
            assert.isAtMost(counter.countMessages(SessionMessages.fromTurns(kept)) - opening, Math.max(0, limit))
            assert.strictEqual(kept.length + dropped, turns.length)
            assert.deepStrictEqual(
              kept.map(({ depth }) => depth),
              kept.map(({ depth }) => depth).toSorted((a, b) => a - b)
            )
            assert.deepStrictEqual(
              kept.filter(({ role }) => role === "system"),
              system
            )
            const newest = others.at(-1)
            if (newest !== undefined) assert.include(kept, newest)
            const plain = kept.filter(({ role }) => role !== "system")
            const pairedUp = plain.filter(
              (one) =>
                one !== newest && (one.role === "tool" || (one.role === "assistant" && "toolCallIds" in one.metadata))
            )
            for (const one of pairedUp) {
              if (one.toolCalls.length > 0) continue
              const id = (one.metadata.toolCallId ?? (one.metadata.toolCallIds as ReadonlyArray<string>)[0]) as string
              const partners = plain.filter((other) =>
                one.role === "tool"
                  ? other.depth < one.depth && JSON.stringify(other.metadata.toolCallIds) === JSON.stringify([id])
                  : other.depth > one.depth && other.metadata.toolCallId === id
              )
              assert.isNotEmpty(partners)
            }
            if (maxTurns !== undefined && newest?.role !== "tool") {
              assert.isAtMost(plain.length, Math.max(1, maxTurns))
            }
            const shifted = [...turns.slice(shift), ...turns.slice(0, shift)]
            assert.deepStrictEqual(await Effect.runPromise(prune(shifted, options, layer, counter)), pruned.right)
          }
        ),
        { numRuns: 300 }
      )
    )
  )
})
