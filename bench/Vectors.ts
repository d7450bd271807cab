/** Cost of vectors: made by hashing, searched in this process. */
import * as Effect from "effect/Effect"
import { EntryId } from "../src/domain/Ids.js"
import * as HashingEmbedder from "../src/llm/embedding/HashingEmbedder.js"
import * as VectorIndex from "../src/memory/search/VectorIndex.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

const words =
  "the quick brown fox jumps over lazy dogs while seventeen engineers discuss retrieval and memory of an agent library that runs in typescript with layers for everything and no model at all".split(
    " "
  )

/** Thirty words in a different order each time. */
const textOf = (n: number): string =>
  Array.from({ length: 30 }, (_, i) => words[(n * 7 + i * (1 + (n % 5))) % words.length]).join(" ")

/** Pseudo-random numbers; the index normalizes them. */
const scattered = (seed: number, dimensions: number): Float32Array => {
  let state = Math.imul(seed + 1, 2_654_435_761)
  return Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  })
}

const embedding = async (texts: number): Promise<Sample> => {
  const embedder = HashingEmbedder.make()
  const all = Array.from({ length: texts }, (_, n) => textOf(n))
  const from = cpuMicros()
  const vectors = await Effect.runPromise(embedder.embedMany(all))
  return { value: (cpuMicros() - from) / texts, counts: { vectors: vectors.length } }
}

const dimensions = 512
const searches = 5

const filled = async (size: number): Promise<VectorIndex.Service> => {
  const index = await Effect.runPromise(VectorIndex.makeMemory({ model: "bench", dimensions }))
  for (let from = 0; from < size; from += 1000) {
    const items = Array.from({ length: Math.min(1000, size - from) }, (_, i) => ({
      id: EntryId.make(`e${from + i}`),
      vector: scattered(from + i, dimensions),
      timestamp: from + i,
      role: "user" as const,
      metadata: { even: (from + i) % 2 === 0 }
    }))
    await Effect.runPromise(index.upsert("owner", items))
  }
  return index
}

const searching =
  (index: VectorIndex.Service, selection?: { readonly filters: { readonly even: boolean } }) =>
  async (): Promise<Sample> => {
    let hits = 0
    const from = cpuMicros()
    for (let n = 0; n < searches; n++) {
      const found = await Effect.runPromise(
        index.search("owner", scattered(1_000_000 + n, dimensions), { limit: 10, selection })
      )
      hits += found.length
    }
    return { value: (cpuMicros() - from) / searches / 1000, counts: { hits } }
  }

export const rows = async (options: {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}): Promise<ReadonlyArray<Row>> => {
  const texts = options.quick ? 500 : 5000
  const sizes = options.quick ? [6000] : [6000, 100_000]
  const hashed = await interleave({ hashing: () => embedding(texts) }, options)
  const result = [
    makeRow("embedding a text of 30 words", "by hashing, 512 dimensions", "µs CPU", hashed["hashing"]!, {
      vectors: texts
    })
  ]
  for (const size of sizes) {
    const index = await filled(size)
    const samples = await interleave(
      { all: searching(index), even: searching(index, { filters: { even: true } }) },
      options
    )
    const label = `nearest 10 of ${size} vectors of ${dimensions} numbers`
    const expected = { hits: 10 * searches }
    result.push(
      makeRow(label, "in this process, exact", "ms CPU", samples["all"]!, expected),
      makeRow(label, "of every second one", "ms CPU", samples["even"]!, expected)
    )
  }
  return result
}
