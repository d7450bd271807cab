/**
 * Memory: entries of one session are found in another, facts have a history, a context has a budget, and obsolete
 * entries are removed. Nothing leaves the process.
 */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, Ids } from "effect-lexigram"
import {
  DefaultMemory,
  EpisodicMemory,
  Memory,
  MemoryConsolidator,
  MemoryEntry,
  SemanticMemory,
  WorkingMemory
} from "effect-lexigram/memory"
import { OfflineModel } from "effect-lexigram/offline"

const ownerId = "ada"

/** Entries imported by the application, months old. */
const past = (now: number) =>
  [
    [200, 0.5, "The plumber fixed the leaking tap in the kitchen."],
    [90, 0.9, "I am allergic to peanuts, so no satay for me."],
    [45, 0.05, "ok, thanks"],
    [30, 0.5, "We talked about the trip to Lisbon in spring."],
    [30, 0.5, "We talked about the trip to Lisbon, in spring."],
    [2, 0.5, "My sister Nora moved to Ghent."]
  ].map(([days, importance, content], index) =>
    MemoryEntry.make({
      id: Ids.EntryId.make(`past-${index}`),
      ownerId,
      content: String(content),
      role: "user",
      timestamp: now - Duration.toMillis(Duration.days(Number(days))),
      importance: Number(importance),
      metadata: { type: "turn" }
    })
  )

const program = Effect.gen(function* () {
  const episodic = yield* EpisodicMemory.EpisodicMemory
  yield* episodic.recordMany(past(yield* Clock.currentTimeMillis))

  const [best] = yield* episodic.recall({ ownerId, query: "which foods is she allergic to?", explain: true })
  yield* Console.log("recalled:", best?.entry.content, "because", {
    relevance: best?.explanation?.relevance.toFixed(2),
    recency: best?.explanation?.recency.toFixed(2),
    importance: best?.explanation?.importance
  })

  // A fact that contradicts another one closes it; both can be queried.
  const semantic = yield* SemanticMemory.SemanticMemory
  const day = (text: string) => Date.parse(text)
  yield* semantic.storeFact(ownerId, {
    subject: "Nora",
    predicate: "lives in",
    object: "Paris",
    validFrom: day("2020-01-01")
  })
  yield* semantic.storeFact(ownerId, {
    subject: "Nora",
    predicate: "lives in",
    object: "Ghent",
    validFrom: day("2024-06-01")
  })
  const where = (at?: number) =>
    Effect.map(semantic.queryFacts(ownerId, "Nora", { at }), (facts) => facts.map(({ object }) => object).join(", "))
  yield* Console.log("Nora lives in", yield* where(), "- in 2022 it was", yield* where(day("2022-01-01")))

  // The context of an agent, and the cost of each part.
  const working = yield* WorkingMemory.WorkingMemory
  const assembled = yield* working.assemble({ ownerId, query: "Does Nora eat peanuts?", tokenBudget: 300 })
  yield* Console.log(WorkingMemory.toText(assembled))
  yield* Console.log(
    `${assembled.tokens} of 300 tokens:`,
    assembled.report.map(({ source, taken }) => `${source} ${taken.length}`).join(", ")
  )

  // Removes duplicates, faded and unimportant entries; nothing from the last day is changed.
  const consolidator = yield* MemoryConsolidator.MemoryConsolidator
  const planned = yield* consolidator.consolidate({ ownerId, dryRun: true })
  const done = yield* consolidator.consolidate({ ownerId })
  yield* Console.log(`consolidation: ${planned.entriesPruned} to go, ${done.entriesPruned} gone`)

  // Agents use memory automatically: across runs and sessions, for each user separately.
  const assistant = Agent.make("assistant", { system: "You answer from what is remembered." })
  yield* AgentExecutor.run(assistant, {
    input: "The code of the garden gate is marigold.",
    userId: ownerId,
    sessionId: "monday"
  })
  const ask = (userId: string) =>
    AgentExecutor.run(assistant, {
      input: "What is the code of the garden gate?",
      userId,
      sessionId: `${userId}-today`
    })
  yield* Console.log("for ada:", (yield* ask(ownerId)).message)
  yield* Console.log("for bob:", (yield* ask("bob")).message)

  yield* Console.log("forgotten:", yield* Effect.flatMap(Memory.Memory, (memory) => memory.forget(ownerId)))
})

const memory = DefaultMemory.layer({ config: { ttlSeconds: 0 } })
const layer = Agents.layerWith({ memory }).pipe(Layer.provideMerge(memory), Layer.provide(OfflineModel.layer()))

Effect.runPromise(Effect.provide(program, layer))
