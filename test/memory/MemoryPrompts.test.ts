import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as HistoryCompactor from "../../src/memory/conversation/HistoryCompactor.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as EpisodicCompressor from "../../src/memory/episodic/EpisodicCompressor.js"
import * as MemoryReranker from "../../src/memory/rerank/MemoryReranker.js"
import * as ModelMemoryReranker from "../../src/memory/rerank/ModelMemoryReranker.js"
import * as DefaultEntityExtractor from "../../src/memory/semantic/DefaultEntityExtractor.js"
import * as EntityExtractor from "../../src/memory/semantic/EntityExtractor.js"
import * as ImportanceJudge from "../../src/memory/semantic/ImportanceJudge.js"
import * as ModelEntityMatcher from "../../src/memory/semantic/ModelEntityMatcher.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as TestModel from "../../src/testing/TestModel.js"
import { entry } from "../support/ConsolidatedMemory.js"

const entries = Array.from({ length: 6 }, (_, index) =>
  entry(`e${index}`, `Nora lives in Ghent, number ${index}. `.repeat(20))
)

type Services =
  | EpisodicCompressor.EpisodicCompressor
  | EntityExtractor.EntityExtractor
  | HistoryCompactor.HistoryCompactor
  | LlmClient.LlmClient
  | MemoryReranker.MemoryReranker

/** What asks each step. */
const asking: Record<string, Effect.Effect<unknown, unknown, Services>> = {
  EpisodicCompressor: Effect.flatMap(EpisodicCompressor.EpisodicCompressor, (one) => one.compress(entries)),
  EntityExtractor: Effect.flatMap(EntityExtractor.EntityExtractor, (one) => one.extract(entries)),
  EntityMatcher: Effect.flatMap(LlmClient.LlmClient, (client) =>
    ModelEntityMatcher.make(client).match([{ mention: "Bob", text: "Bob sings", candidates: ["Robert Miller"] }])
  ),
  HistoryCompactor: Effect.flatMap(HistoryCompactor.HistoryCompactor, (one) =>
    one.compact({ scope: { ownerId: "ann" }, items: entries, tokenBudget: 400 })
  ),
  ImportanceJudge: Effect.flatMap(LlmClient.LlmClient, (client) => ImportanceJudge.model().judge(entries, client)),
  MemoryReranker: Effect.flatMap(MemoryReranker.MemoryReranker, (one) =>
    one.rerank(
      "where?",
      entries.map((found) => ({ entry: found, score: 1, relevance: 1, source: "x" }))
    )
  )
}

const layer = (prompts: Layer.Layer<never>) => {
  const model = TestModel.layer(() => ({ text: "nothing" }))
  return Layer.mergeAll(
    DefaultEpisodicCompressor.layerModel(),
    DefaultEntityExtractor.layerModel(),
    DefaultHistoryCompactor.layer(),
    ModelMemoryReranker.layer()
  ).pipe(
    Layer.provide(Layer.merge(TokenCounter.layerApproximate(), DefaultModelRouter.layerDefault)),
    Layer.provideMerge(model),
    Layer.merge(prompts)
  )
}

const systemsAsked = (pattern: string) =>
  Effect.gen(function* () {
    yield* Effect.exit(asking[pattern] ?? Effect.void)
    return (yield* TestModel.requests).map(({ messages }) => String(messages[0]?.content))
  })

describe("prompts of memory", () => {
  it("uses every prompt in some step", () => {
    assert.deepStrictEqual(
      Array.from(new Set(DefaultPrompts.memorySteps.map(({ pattern }) => pattern))).toSorted(),
      Object.keys(asking).toSorted()
    )
  })

  for (const pattern of Object.keys(asking)) {
    it.effect(`uses the prompts of the library and custom instructions: ${pattern}`, () =>
      Effect.gen(function* () {
        const plain = yield* Effect.provide(systemsAsked(pattern), layer(Layer.empty))
        assert.isAbove(plain.length, 0)
        const prompts = CustomPrompts.layer({ instructions: { [pattern]: `only for ${pattern}` } })
        const told = yield* Effect.provide(systemsAsked(pattern), layer(Layer.orDie(prompts)))
        assert.isAbove(told.length, 0)
        for (const [index, system] of told.entries()) {
          assert.include(system, "## Custom Instructions")
          assert.include(system, `only for ${pattern}`)
          assert.notInclude(plain[index] ?? "", "only for")
        }
      })
    )
  }
})
