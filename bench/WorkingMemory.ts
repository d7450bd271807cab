/** Cost of assembling a context from six thousand entries within 4,096 tokens, with the model's tokenizer. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { EntryId, SessionId } from "../src/domain/Ids.js"
import * as TokenCounter from "../src/llm/model/TokenCounter.js"
import * as MemoryEntry from "../src/memory/entry/MemoryEntry.js"
import * as DefaultEpisodicCompressor from "../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as DefaultEpisodicMemory from "../src/memory/episodic/DefaultEpisodicMemory.js"
import * as EpisodicMemory from "../src/memory/episodic/EpisodicMemory.js"
import * as InMemoryFactStore from "../src/memory/facts/InMemoryFactStore.js"
import * as DefaultProceduralMemory from "../src/memory/procedural/DefaultProceduralMemory.js"
import * as ProceduralMemory from "../src/memory/procedural/ProceduralMemory.js"
import * as InMemoryMemoryStore from "../src/memory/search/InMemoryMemoryStore.js"
import * as DefaultEntityExtractor from "../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../src/memory/semantic/DefaultSemanticMemory.js"
import * as SemanticMemory from "../src/memory/semantic/SemanticMemory.js"
import * as DefaultWorkingMemory from "../src/memory/working/DefaultWorkingMemory.js"
import * as WorkingMemory from "../src/memory/working/WorkingMemory.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

const entries = 6_000
const budget = 4_096

const things = "tea coffee flights trains hotels invoices contracts meetings reports gardens recipes books songs".split(
  " "
)
const deeds = "ordered cancelled discussed compared described planned reviewed forgot found repaired".split(" ")
const places = "Lisbon Rome Oslo Paris Vienna Dublin Prague Athens Madrid Warsaw".split(" ")

const pick = (list: ReadonlyArray<string>, n: number): string => list[n % list.length] ?? ""

const sentence = (n: number): string =>
  `We ${pick(deeds, n)} the ${pick(things, n * 7)} of case ${n} in ${pick(places, n * 3)}, and ${pick(things, n * 11)} for ${pick(places, n * 13)}.`

const entry = (n: number): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(`e${n}`),
    ownerId: "owner",
    content: `${sentence(n)} ${sentence(n + 1)} ${sentence(n + 5)}`,
    role: n % 2 === 0 ? "user" : "assistant",
    timestamp: n * 1000,
    metadata: { type: "turn" },
    sessionId: SessionId.make(`s${Math.floor(n / 200)}`)
  })

export const rows = async (options: {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}): Promise<ReadonlyArray<Row>> => {
  const calls = options.quick ? 20 : 100
  const runtime = ManagedRuntime.make(
    DefaultWorkingMemory.layer().pipe(
      Layer.provideMerge(
        Layer.mergeAll(
          DefaultEpisodicMemory.layer().pipe(Layer.provide(DefaultEpisodicCompressor.layerExtractive)),
          DefaultProceduralMemory.layer(),
          DefaultSemanticMemory.layer().pipe(
            Layer.provide(Layer.merge(InMemoryFactStore.layer(), DefaultEntityExtractor.layerHeuristic()))
          )
        )
      ),
      Layer.provide(InMemoryMemoryStore.layer()),
      Layer.provide(TokenCounter.layer({ model: "gpt-4o" }))
    )
  )
  const all = Array.from({ length: entries }, (_, n) => entry(n))
  await runtime.runPromise(Effect.flatMap(WorkingMemory.WorkingMemory, (memory) => memory.addAll(all)))
  let next = entries
  const sessionId = SessionId.make("s29")
  const question = (n: number): string => `What about the ${pick(things, n * 5)} in ${pick(places, n)}?`
  /** Adds a turn and asks a new question each time, as in a conversation. */
  const add = Effect.flatMap(WorkingMemory.WorkingMemory, (memory) => memory.add({ ...entry(next++), sessionId }))
  const assemble = Effect.flatMap(WorkingMemory.WorkingMemory, (memory) =>
    memory.assemble({ query: question(next), tokenBudget: budget, ownerId: "owner", sessionId })
  )
  /** Time of the stores for the same question. */
  const recall = Effect.gen(function* () {
    const episodic = yield* EpisodicMemory.EpisodicMemory
    const query = question(next)
    yield* episodic.recent({
      ownerId: "owner",
      n: 20,
      selection: { sessionIds: [sessionId], filters: { type: "turn" } }
    })
    yield* episodic.recall({ ownerId: "owner", query, topK: 30 })
    yield* Effect.flatMap(SemanticMemory.SemanticMemory, (semantic) => semantic.recall("owner", query))
    yield* Effect.flatMap(ProceduralMemory.ProceduralMemory, (procedural) =>
      procedural.recall({ ownerId: "owner", task: query })
    )
    return undefined
  })
  const measure = (assembles: boolean) => async (): Promise<Sample> => {
    let within = 0
    let full = 0
    let spent = 0
    for (let i = 0; i < calls; i++) {
      await runtime.runPromise(add)
      const from = cpuMicros()
      const assembled = await runtime.runPromise(assembles ? assemble : recall)
      spent += cpuMicros() - from
      if (assembled === undefined) continue
      if (assembled.tokens <= budget) within++
      if (assembled.entries.length >= 20) full++
    }
    return { value: spent / calls / 1000, counts: { within, full } }
  }
  const samples = await interleave({ recalled: measure(false), assembled: measure(true) }, options)
  await runtime.dispose()
  const label = "working memory, 6,000 entries"
  return [
    makeRow(label, "asking the tiers", "ms CPU", samples["recalled"] ?? [], { within: 0 }),
    makeRow(label, "assembling 4,096 tokens", "ms CPU", samples["assembled"] ?? [], { within: calls, full: calls })
  ]
}
