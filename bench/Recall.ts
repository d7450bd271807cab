/** Recall of months of conversation with an assistant and of dialogue between friends, and the cost of a retrieval. */
import * as Effect from "effect/Effect"
import * as InMemoryMemoryStore from "../src/memory/search/InMemoryMemoryStore.js"
import * as Conversations from "../test/support/Conversations.js"
import * as Dialogues from "../test/support/Dialogues.js"
import * as Measured from "../test/support/Recall.js"
import { cpuMicros, makeRow, type Row, type Sample } from "./Harness.js"

const seeds = [1, 2, 3, 4, 5]

const grounds = [
  {
    name: "half a year of talk",
    make: (seed: number) => Conversations.groundOf(Conversations.make({ ...Conversations.full, seed }))
  },
  { name: "dialogues of friends", make: (seed: number) => Dialogues.make({ ...Dialogues.full, seed }) }
]

const recallRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const { make, name } of grounds) {
    const recall = new Map<Measured.Way, Array<Sample>>()
    const mrr = new Map<Measured.Way, Array<Sample>>()
    for (const seed of quick ? seeds.slice(0, 2) : seeds) {
      const ground = make(seed)
      const measured = await Effect.runPromise(Measured.measure(ground))
      for (const way of Measured.ways) {
        const figures = measured[way]
        if (figures === undefined) throw new Error(`${way} was not measured`)
        const counts = { missing: ground.questions.length - figures.questions }
        recall.set(way, [...(recall.get(way) ?? []), { value: figures.recall[10], counts }])
        mrr.set(way, [...(mrr.get(way) ?? []), { value: figures.mrr, counts }])
      }
    }
    const expected = { missing: 0 }
    for (const way of Measured.ways) {
      rows.push(
        makeRow(`${name}, recall@10`, way, "of evidence", recall.get(way) ?? [], expected),
        makeRow(`${name}, MRR@10`, way, "mean 1/rank", mrr.get(way) ?? [], expected)
      )
    }
  }
  return rows
}

const costRow = async (entries: number, quick: boolean): Promise<Row> => {
  const conversations = Conversations.make({ users: 1, turnsPerUser: entries, days: 182, seed: 1 })
  const store = Effect.runSync(InMemoryMemoryStore.make({ ttl: 0, capacityPerOwner: entries * 2 }))
  await Effect.runPromise(store.storeMany(conversations.turns))
  const samples: Array<Sample> = []
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    let results = 0
    const started = cpuMicros()
    for (const { ownerId, text } of conversations.questions) {
      results += Effect.runSync(store.retrieve({ ownerId, query: text })).length
    }
    const value = (cpuMicros() - started) / conversations.questions.length / 1000
    if (round > 0) samples.push({ value, counts: { results } })
  }
  return makeRow(`a retrieval among ${entries} entries of one owner`, "effect-lexigram", "ms CPU", samples, {
    results: conversations.questions.length * 10
  })
}

export const rows = async (options: { readonly quick: boolean }): Promise<ReadonlyArray<Row>> => [
  ...(await recallRows(options.quick)),
  await costRow(6_000, options.quick),
  await costRow(100_000, options.quick)
]
