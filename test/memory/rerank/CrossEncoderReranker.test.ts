import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as CrossEncoder from "../../../src/llm/embedding/CrossEncoder.js"
import { EmbeddingError } from "../../../src/llm/embedding/Embedder.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as CrossEncoderReranker from "../../../src/memory/rerank/CrossEncoderReranker.js"
import * as MemoryReranker from "../../../src/memory/rerank/MemoryReranker.js"
import * as Tiny from "../../support/TinyTransformer.js"

const result = (id: string, content: string, neighbourOf?: string): MemoryEntry.MemorySearchResult => ({
  entry: MemoryEntry.make({ id: EntryId.make(id), ownerId: "ann", role: "user", content, timestamp: 0 }),
  score: 0.5,
  relevance: 0.5,
  source: "test",
  ...(neighbourOf === undefined ? {} : { neighbourOf: EntryId.make(neighbourOf) })
})

const results = [
  result("v", "violin plays"),
  result("v+", "unknown", "v"),
  result("c", "cat"),
  result("d", "dog barks"),
  result("c2", "cat")
]

const ids = ({ results }: MemoryReranker.Reranked) => results.map(({ entry }) => entry.id as string)

const seen: Array<readonly [string, ReadonlyArray<string>]> = []
const encoder: CrossEncoder.Service = {
  model: "tiny",
  score: (query, texts) =>
    Effect.sync(() => {
      seen.push([query, texts])
      return texts.map((text) => Tiny.scoreOf(query, text))
    })
}
const scoring = (score: CrossEncoder.Service["score"]): CrossEncoder.Service => ({ model: "given", score })

describe("CrossEncoderReranker", () => {
  it.effect("puts the best score first, keeps equal ones in order and neighbors with their result", () =>
    Effect.gen(function* () {
      const reranked = yield* CrossEncoderReranker.make(encoder).rerank("dog", results)
      assert.isTrue(reranked.reranked)
      assert.deepStrictEqual(ids(reranked), ["d", "c", "c2", "v", "v+"])
      assert.sameMembers([...reranked.results], results)
    })
  )

  it.effect("scores the first results only, of each the two ends", () =>
    Effect.gen(function* () {
      seen.length = 0
      const long = result("long", `dog ${"x".repeat(500)} barks`)
      const reranker = CrossEncoderReranker.make(encoder, { maxCandidates: 2, maxChars: 20 })
      const reranked = yield* reranker.rerank("dog", [result("v", "violin"), long, result("d", "dog")])
      assert.deepStrictEqual(ids(reranked), ["long", "v", "d"])
      assert.strictEqual(seen.length, 1)
      const [, texts = []] = seen[0] ?? []
      assert.strictEqual(texts.length, 2)
      assert.isAtMost(texts[1]?.length ?? 0, 60)
      assert.match(texts[1] ?? "", /^dog .* barks$/s)
    })
  )

  it.effect("keeps the order for fewer than two results without a call", () =>
    Effect.gen(function* () {
      seen.length = 0
      const reranked = yield* CrossEncoderReranker.make(encoder).rerank("dog", results.slice(0, 2))
      assert.deepStrictEqual(reranked, { results: results.slice(0, 2), reranked: false, reason: "few" })
      assert.strictEqual(seen.length, 0)
    })
  )

  it.effect("keeps the order when the model fails, or gives too few scores or none that is a number", () =>
    Effect.gen(function* () {
      const failing = scoring(() => Effect.fail(new EmbeddingError({ message: "no" })))
      const few = scoring(() => Effect.succeed([1]))
      const rubbish = scoring((_, texts) => Effect.succeed(texts.map(() => Number.NaN)))
      for (const [service, reason] of [
        [failing, "EmbeddingError"],
        [few, "unreadable"],
        [rubbish, "unreadable"]
      ] as const) {
        const reranked = yield* CrossEncoderReranker.make(service).rerank("dog", results)
        assert.deepStrictEqual(reranked, { results, reranked: false, reason })
      }
    })
  )

  it.effect("keeps the order when the model takes too long", () =>
    Effect.gen(function* () {
      const reranker = CrossEncoderReranker.make(
        scoring(() => Effect.never),
        { timeout: "2 seconds" }
      )
      const fiber = yield* Effect.fork(reranker.rerank("dog", results))
      yield* TestClock.adjust("2 seconds")
      const reranked = yield* Fiber.join(fiber)
      assert.deepStrictEqual(reranked, { results, reranked: false, reason: "TimeoutException" })
    })
  )

  it.effect("is the reranker of a program with a cross-encoder", () =>
    Effect.gen(function* () {
      const reranker = yield* MemoryReranker.MemoryReranker
      assert.deepStrictEqual(ids(yield* reranker.rerank("dog", results)), ["d", "c", "c2", "v", "v+"])
    }).pipe(
      Effect.provide(Layer.provide(CrossEncoderReranker.layer(), Layer.succeed(CrossEncoder.CrossEncoder, encoder)))
    )
  )
})
