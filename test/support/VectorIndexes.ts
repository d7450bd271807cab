/** Cases of all vector indexes over databases beyond the suite of the port. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as Embedder from "../../src/llm/embedding/Embedder.js"
import type * as Selection from "../../src/memory/entry/Selection.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as VectorIndexSuite from "../../src/testing/vector/VectorIndexSuite.js"
import * as SetClock from "./SetClock.js"

export const model = { model: "m", dimensions: 8 }

export const vectorOf = (seed: number, dimensions: number = model.dimensions): Embedder.Vector =>
  Embedder.normalize(Array.from({ length: dimensions }, (_, i) => ((seed * 31 + i * 17 + ((seed * i) % 7)) % 11) - 5))!

/** Pseudo-random numbers, always the same. */
export const random = (seed: number): (() => number) => {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  }
}

export const item = (
  id: string,
  seed: number,
  fields: Partial<VectorIndex.VectorItem> = {}
): VectorIndex.VectorItem => ({
  id: EntryId.make(id),
  vector: vectorOf(seed),
  timestamp: 0,
  role: "user",
  metadata: {},
  ...fields
})

export const ids = (...names: ReadonlyArray<string>) => names.map((name) => EntryId.make(name))

/** Ids selected for an owner, in any order. */
export const found = (index: VectorIndex.Service, owner: string, selection?: Selection.Selection) =>
  Effect.map(index.search(owner, vectorOf(1), { limit: 1_000, selection }), (hits) =>
    hits.map(({ id }) => id as string).sort()
  )

export const suite = (name: string, layer: Layer.Layer<VectorIndex.VectorIndex, unknown>): void => {
  describe(`${name} passes the suite`, () => {
    for (const one of VectorIndexSuite.cases) it(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, layer)))
  })
}

const long = "x".repeat(1_000)
const scalar = FastCheck.constantFrom(
  "a",
  "A",
  "",
  long,
  "1",
  1,
  -0,
  1.5,
  true,
  false,
  null,
  "\0",
  "\ud800",
  "é",
  '"',
  "*"
)
const key = FastCheck.constantFrom("k", "a.b", "__proto__", "constructor", "\ud800", '"', "*", long)
const anOwner = FastCheck.constantFrom("ann", "bob")
const anId = FastCheck.integer({ min: 0, max: 20 }).map((n) => EntryId.make(`e${n}`))
const seed = FastCheck.integer({ min: 0, max: 12 })
const session = FastCheck.constantFrom(undefined, "one", "two").map((id) =>
  id === undefined ? undefined : SessionId.make(id)
)

const own = (pairs: ReadonlyArray<readonly [string, unknown]>): Record<string, any> =>
  JSON.parse(`{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`)

const metadata = FastCheck.oneof(
  FastCheck.array(FastCheck.tuple(key, FastCheck.oneof(scalar, FastCheck.array(scalar, { maxLength: 3 }))), {
    maxLength: 3
  }).map(own),
  FastCheck.tuple(FastCheck.constantFrom("one", "else", ["else"]), FastCheck.integer({ min: -1, max: 6 })).map(
    ([sessionTree, start]) => ({ sessionTree, timeRange: { start } })
  ),
  // More equalities than fit in one row.
  FastCheck.constant({ many: Array.from({ length: 100 }, (_, n) => n), k: "a" })
)

const anItem = FastCheck.record({
  id: anId,
  seed,
  metadata,
  session,
  role: FastCheck.constantFrom("user", "assistant", "tool"),
  timestamp: FastCheck.integer({ min: 0, max: 5 }),
  expiresAt: FastCheck.option(FastCheck.integer({ min: 0, max: 60 }), { nil: undefined })
}).map(({ expiresAt, id, metadata, role, seed, session, timestamp }) =>
  item(id, seed, { metadata, expiresAt, role: role as "user", timestamp, sessionId: session })
)

const selection: FastCheck.Arbitrary<Selection.Selection> = FastCheck.record(
  {
    filters: FastCheck.array(
      FastCheck.tuple(
        key,
        FastCheck.oneof(
          scalar,
          FastCheck.record({ in: FastCheck.array(scalar, { maxLength: 3 }) }),
          FastCheck.record({ gte: FastCheck.constantFrom(1, "a") })
        )
      ),
      { maxLength: 6 }
    ).map((pairs) => own(pairs) as Selection.Filters),
    roles: FastCheck.subarray(["user", "tool"] as const),
    sessionIds: FastCheck.subarray([SessionId.make("one"), SessionId.make("two")]),
    timeRange: FastCheck.record({
      start: FastCheck.integer({ min: 0, max: 3 }),
      end: FastCheck.integer({ min: 1, max: 5 })
    }),
    lineage: FastCheck.array(
      FastCheck.record(
        {
          sessionId: FastCheck.constantFrom(SessionId.make("one"), SessionId.make("two")),
          until: FastCheck.nat(5),
          from: FastCheck.nat(5)
        },
        { requiredKeys: ["sessionId"] }
      ),
      { maxLength: 3 }
    ),
    tree: FastCheck.constantFrom(SessionId.make("one"), SessionId.make("else"))
  },
  { requiredKeys: [] }
)

type Operation =
  | { readonly _tag: "upsert"; readonly owner: string; readonly items: ReadonlyArray<VectorIndex.VectorItem> }
  | { readonly _tag: "delete"; readonly owner: string; readonly ids: ReadonlyArray<EntryId> }
  | { readonly _tag: "clear"; readonly owner: string }
  | { readonly _tag: "pass"; readonly millis: number }
  | {
      readonly _tag: "search"
      readonly owner: string
      readonly seed: number
      readonly limit: number
      readonly selection: Selection.Selection
    }

const tagged = <const T extends string>(_tag: T) => FastCheck.constant(_tag)

const operation: FastCheck.Arbitrary<Operation> = FastCheck.oneof(
  {
    weight: 4,
    arbitrary: FastCheck.record({
      _tag: tagged("upsert"),
      owner: anOwner,
      items: FastCheck.array(anItem, { maxLength: 12 })
    })
  },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      _tag: tagged("delete"),
      owner: anOwner,
      ids: FastCheck.array(anId, { maxLength: 6 })
    })
  },
  FastCheck.record({ _tag: tagged("clear"), owner: anOwner }),
  FastCheck.record({ _tag: tagged("pass"), millis: FastCheck.integer({ min: 1, max: 15 }) }),
  {
    weight: 6,
    arbitrary: FastCheck.record({
      _tag: tagged("search"),
      owner: anOwner,
      seed,
      limit: FastCheck.integer({ min: 0, max: 30 }),
      selection
    })
  }
)

/** Checks that an index agrees with the one in memory after any operations. The index is empty before and after. */
export const agrees = (
  index: VectorIndex.Service,
  options: { readonly runs: number; readonly before?: Effect.Effect<unknown, unknown> | undefined }
): Effect.Effect<void> =>
  Effect.promise(() =>
    FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.array(operation, { maxLength: 30 }), (operations) => {
        const clock = SetClock.make()
        let now = 0
        return Effect.runPromise(
          Effect.gen(function* () {
            const memory = yield* VectorIndex.makeMemory(model)
            for (const owner of ["ann", "bob"]) yield* index.clear(owner)
            const both = <A, E>(f: (one: VectorIndex.Service) => Effect.Effect<A, E>) =>
              Effect.all([f(index), f(memory)])
            for (const op of operations) {
              switch (op._tag) {
                case "upsert":
                  yield* both((one) => one.upsert(op.owner, op.items))
                  break
                case "delete":
                  yield* both((one) => one.delete(op.owner, op.ids))
                  break
                case "clear":
                  yield* both((one) => one.clear(op.owner))
                  break
                case "pass":
                  now += op.millis
                  clock.set(now)
                  break
                case "search": {
                  const { limit, selection } = op
                  const [hits, expected] = yield* both((one) =>
                    one.search(op.owner, vectorOf(op.seed), { limit, selection })
                  )
                  assert.strictEqual(hits.length, expected.length)
                  for (const [i, hit] of hits.entries()) {
                    assert.closeTo(hit.similarity, expected[i]!.similarity, 1e-5)
                    // Different orders of addition may swap similar entries.
                    if (expected.filter((e) => Math.abs(e.similarity - hit.similarity) < 1e-5).length === 1) {
                      assert.strictEqual(hit.id, expected[i]!.id)
                    }
                  }
                }
              }
              const [count, expected] = yield* both((one) => one.count("ann"))
              assert.strictEqual(count, expected)
              const all = Array.from({ length: 21 }, (_, n) => EntryId.make(`e${n}`))
              const [known, there] = yield* both((one) => one.known("bob", all))
              assert.deepStrictEqual([...known].sort(), [...there].sort())
            }
          }).pipe(Effect.withClock(clock.clock))
        )
      }),
      { numRuns: options.runs }
    )
  )

/** A client that records statements. */
export const recording = Effect.map(SqlClient.SqlClient, (client) => {
  const texts = new Set<string>()
  const told = (connection: Connection): Connection => ({
    execute: (sql, params, transform) => {
      texts.add(sql)
      return connection.execute(sql, params, transform)
    },
    executeRaw: (sql, params) => {
      texts.add(sql)
      return connection.executeRaw(sql, params)
    },
    executeStream: (sql, params, transform) => connection.executeStream(sql, params, transform),
    executeValues: (sql, params) => connection.executeValues(sql, params),
    executeUnprepared: (sql, params, transform) => connection.executeUnprepared(sql, params, transform)
  })
  const direct = (client as { readonly connection?: Connection }).connection
  const recorder: SqlClient.SqlClient = Object.assign(Object.create(client), {
    reserve: Effect.map(client.reserve, told),
    ...(direct === undefined ? {} : { connection: told(direct) })
  })
  return { texts, client: recorder }
})

/** Runs every operation with every kind of condition. */
export const everything = (index: VectorIndex.Service) =>
  Effect.gen(function* () {
    yield* index.upsert("ann", [item("a", 1, { expiresAt: 10 }), item("b", 2), item("c", 3)])
    yield* index.search("ann", vectorOf(1), {
      limit: 2,
      selection: {
        filters: { k: "a" },
        roles: ["user"],
        sessionIds: [SessionId.make("one")],
        timeRange: { start: 0, end: 9 },
        lineage: [{ sessionId: SessionId.make("one") }],
        tree: SessionId.make("two")
      }
    })
    yield* index.search("ann", vectorOf(1), { limit: 2 })
    yield* index.known("ann", ids("a"))
    yield* index.count("ann")
    yield* index.delete("ann", ids("a"))
    yield* index.search("ann", vectorOf(1), { limit: 2 })
    yield* index.clear("ann")
    yield* index.health
  })
