import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../../src/domain/Ids.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as PgVectorIndex from "../../../src/persistence/vector/PgVectorIndex.js"
import * as PgVectorSearch from "../../../src/persistence/vector/PgVectorSearch.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as TestServers from "../../support/TestServers.js"
import * as Vectors from "../../support/VectorIndexes.js"

const { found, ids, item, model, vectorOf } = Vectors

const embedder = HashingEmbedder.layer({ dimensions: 16 })
const pgvector = await PostgresServer.vectorDatabase({
  setup: Effect.scoped(Layer.build(Layer.provide(PgVectorIndex.layerMigrated(), embedder)))
})

/** Around so many centres, as what people say is. */
const scattered = (seed: number, dimensions: number, centres: number) => {
  const next = Vectors.random(seed)
  const all = Array.from({ length: centres }, () => Float32Array.from({ length: dimensions }, next))
  return (n: number) => all[n % centres]!.map((x) => x + 0.7 * next())
}

const recall = (hits: ReadonlyArray<VectorIndex.VectorHit>, exact: ReadonlyArray<VectorIndex.VectorHit>): number => {
  const wanted = new Set<EntryId>(exact.map(({ id }) => id))
  return hits.filter(({ id }) => wanted.has(id)).length / wanted.size
}

TestServers.suite("pgvector", pgvector, ({ layer }) => {
  const context = Layer.merge(layer, embedder)
  Vectors.suite("pgvector", Layer.provide(PgVectorIndex.layer(), context))
  Vectors.suite("its graph", Layer.provide(PgVectorIndex.layer({ exactBelow: 0 }), context))

  it.effect("equals the index in memory for any operations and selections", () =>
    Effect.gen(function* () {
      const index = yield* PgVectorIndex.make(model)
      yield* Vectors.agrees(index, { runs: 10 })
    }).pipe(Effect.provide(layer))
  )

  for (const [precision, count] of [
    ["single", 1_000],
    ["half", 500]
  ] as const) {
    it.effect(`finds the nearest with a graph of ${precision} precision, also for a small owner and few selected`, () =>
      Effect.gen(function* () {
        const dimensions = 24
        const options = { model: "m", dimensions, precision }
        const graph = yield* PgVectorIndex.make({ ...options, exactBelow: 0 })
        const memory = yield* VectorIndex.makeMemory(options)
        const vector = scattered(7, dimensions, 40)
        const items = (count: number, from: number) =>
          Array.from({ length: count }, (_, n) =>
            item(`e${from + n}`, 0, { vector: vector(from + n), metadata: { rare: n % 25 === 0 } })
          )
        for (const [owner, all] of [
          ["large", items(count, 0)],
          ["small", items(60, 2_000)]
        ] as const) {
          for (const index of [graph, memory]) yield* index.upsert(owner, all)
        }
        for (const [owner, selection] of [
          ["large", undefined],
          ["small", undefined],
          ["large", { filters: { rare: true } }]
        ] as const) {
          let sum = 0
          for (let n = 0; n < 20; n++) {
            const query = vector(n)
            const hits = yield* graph.search(owner, query, { limit: 10, selection })
            const exact = yield* memory.search(owner, query, { limit: 10, selection })
            assert.lengthOf(hits, 10)
            for (const [at, { id, similarity }] of hits.entries()) {
              if (at > 0) assert.isAtMost(similarity, hits[at - 1]!.similarity)
              const same = exact.find((one) => one.id === id)
              // What the graph found is measured with all 32 bits.
              if (same !== undefined) assert.closeTo(similarity, same.similarity, 1e-6)
            }
            sum += recall(hits, exact)
          }
          assert.isAtLeast(sum / 20, 0.95, `${owner} ${JSON.stringify(selection)}`)
        }
      }).pipe(Effect.provide(layer))
    )
  }

  it.effect("tells the graph how far to search", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* PgVectorIndex.make({ ...model, exactBelow: 1, efSearch: 33, maxScanTuples: 4_321 })
      yield* index.upsert("ann", [item("a", 1), item("b", 2)])
      const settings = sql.withTransaction(
        Effect.zipRight(
          index.search("ann", vectorOf(1), { limit: 1 }),
          sql`SELECT current_setting('hnsw.ef_search') AS ef, current_setting('hnsw.max_scan_tuples') AS tuples,
            current_setting('hnsw.iterative_scan') AS scan`
        )
      )
      assert.deepStrictEqual(yield* settings, [{ ef: "33", tuples: "4321", scan: "strict_order" }])
      // An owner of no more than `exactBelow` is not searched by it.
      yield* index.delete("ann", ids("b"))
      assert.deepStrictEqual(yield* settings, [{ ef: "40", tuples: "20000", scan: "off" }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("reads the graph by its index, without another sort", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* PgVectorIndex.make({ ...model, exactBelow: 0 })
      yield* index.upsert(
        "ann",
        Array.from({ length: 600 }, (_, n) =>
          item(`e${n}`, n, { vector: Float32Array.from({ length: 8 }, Vectors.random(n)) })
        )
      )
      yield* sql`ANALYZE lex_pg_vectors`
      const [space] = yield* sql`SELECT id FROM lex_vector_indexes`
      const recorder = yield* Vectors.recording
      yield* Effect.flatMap(PgVectorIndex.make({ ...model, exactBelow: 0 }), (again) =>
        again.search("ann", vectorOf(3), { limit: 3 })
      ).pipe(Effect.provideService(SqlClient.SqlClient, recorder.client))
      assert.isTrue(recorder.texts.has(PgVectorSearch.settings))
      const text = [...recorder.texts].find((one) => one.includes("<=>")) as string
      const query = `[${vectorOf(3).join(",")}]`
      const plan = yield* sql.unsafe<Record<string, unknown>>(`EXPLAIN ${text}`, [query, "ann", 0, query, 22])
      const lines = plan.map((row) => String(row["QUERY PLAN"])).join("\n")
      assert.include(lines, `Index Scan using lex_pg_vectors_space_${space?.id}_single`)
    }).pipe(Effect.provide(layer))
  )

  it.effect("uses indexes in other statements", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const recorder = yield* Vectors.recording
      yield* Effect.flatMap(PgVectorIndex.make(model), Vectors.everything).pipe(
        Effect.provideService(SqlClient.SqlClient, recorder.client)
      )
      const asked = [...recorder.texts].filter(
        (text) => /lex_pg_vectors|lex_vector_owners/.test(text) && !/regclass|INDEX/.test(text)
      )
      assert.isAbove(asked.length, 9)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SET LOCAL enable_seqscan = off`
          for (const text of asked) {
            const plan = yield* sql.unsafe<Record<string, unknown>>(`EXPLAIN (GENERIC_PLAN) ${text}`)
            const lines = plan.map((row) => String(row["QUERY PLAN"])).join("\n")
            assert.notMatch(lines, /Seq Scan on lex_(pg_vectors|vector_owners)/, text)
          }
        })
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("stores the vectors of one model, with a graph for each", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* PgVectorIndex.make(model)
      yield* first.upsert("ann", [item("a", 1)])
      const error = yield* Effect.flip(PgVectorIndex.make({ model: "n", dimensions: 4 }))
      assert.strictEqual(error._tag, "MemorySystemError")
      const beside = yield* PgVectorIndex.make({ model: "n", dimensions: 4, name: "beside", precision: "half" })
      yield* beside.upsert("ann", [item("b", 1, { vector: vectorOf(1, 4) })])
      assert.deepStrictEqual(yield* found(first, "ann"), ["a"])
      // The same index with the other precision gets a graph of that.
      yield* PgVectorIndex.make({ ...model, precision: "half" })
      yield* PgVectorIndex.make({ ...model, precision: "half" })
      const indexes = yield* sql`SELECT i.indexdef FROM pg_indexes i JOIN lex_vector_indexes x
        ON i.indexname LIKE 'lex_pg_vectors_space_' || x.id || '_%' WHERE i.schemaname = current_schema() ORDER BY 1`
      assert.lengthOf(indexes, 3)
      yield* first.delete("ann", ids("a"))
      // Without a vector it takes any model; the graphs of the old one go.
      const other = yield* PgVectorIndex.make({ model: "n", dimensions: 4 })
      assert.strictEqual((yield* Effect.flip(first.upsert("ann", [item("a", 1)])))._tag, "MemoryStoreError")
      yield* other.upsert("ann", [item("a", 1, { vector: vectorOf(1, 4) })])
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects more dimensions than a graph supports", () =>
    Effect.gen(function* () {
      const single = yield* Effect.flip(PgVectorIndex.make({ model: "m", dimensions: 3_072 }))
      assert.strictEqual(single._tag, "PersistenceConfigurationError")
      assert.include(single.hint, 'precision: "half"')
      const half = yield* Effect.flip(PgVectorIndex.make({ model: "m", dimensions: 4_001, precision: "half" }))
      assert.include(half.message, "up to 4000 dimensions")
      const index = yield* PgVectorIndex.make({ model: "m", dimensions: 3_072, precision: "half", exactBelow: 0 })
      const vector = Float32Array.from({ length: 3_072 }, Vectors.random(1))
      yield* index.upsert("ann", [item("a", 1, { vector })])
      const [hit] = yield* index.search("ann", vector, { limit: 1 })
      assert.closeTo(hit!.similarity, 1, 1e-5)
    }).pipe(Effect.provide(layer))
  )
})
