import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Checkpointer from "../../../src/graph/Checkpointer.js"
import * as SqlCheckpointer from "../../../src/persistence/run/SqlCheckpointer.js"
import * as CheckpointerSuite from "../../graph/CheckpointerSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const { checkpoint } = CheckpointerSuite

/** Text of which no part is like another. */
const text = (length: number, seed = 1): string => {
  let state = seed
  return Array.from({ length: Math.ceil(length / 6) }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state % 1_000_000).toString(36).padStart(6, "-")
  })
    .join("")
    .slice(0, length)
}

const tables = ["lex_threads", "lex_checkpoints", "lex_checkpoint_writes", "lex_checkpoint_pieces"]

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(tables, (table) =>
    Effect.map(sql.unsafe<{ readonly n: number }>(`SELECT COUNT(*) AS n FROM ${table}`), ([row]) => Number(row?.n))
  )
)

/** Bytes of all that is kept. */
const bytes = Effect.flatMap(SqlClient.SqlClient, (sql) => {
  const sum = (table: string, columns: ReadonlyArray<string>) =>
    Effect.map(
      sql.unsafe<{ readonly n: number }>(
        `SELECT SUM(${columns.map((column) => `COALESCE(LENGTH(${column}), 0)`).join(" + ")}) AS n FROM ${table}`
      ),
      ([row]) => Number(row?.n)
    )
  return Effect.zipWith(
    sum("lex_checkpoints", ["body", "ref", "metadata", "id"]),
    sum("lex_checkpoint_pieces", ["body", "data", "hash"]),
    (a, b) => a + b
  )
})

SqlBackends.suite("SqlCheckpointer", (backend) => {
  CheckpointerSuite.suite("SQL", Layer.provide(SqlCheckpointer.layer, backend.layer))

  const state = (name: string) => ({ name, large: text(30_000, name.length), list: [text(3000), name.repeat(1000)] })

  SqlStoreCases.suite(backend, {
    make: SqlCheckpointer.make,
    migrated: SqlCheckpointer.layerMigrated,
    write: (store, name) =>
      Effect.zipRight(
        store.put(checkpoint(name, { state: state(name) })),
        store.putWrites("thread", name, "node", [["large", text(20_000)]])
      ),
    has: (store, name) =>
      Effect.map(store.get("thread", { id: name }), (found) =>
        Option.exists(
          found,
          ({ checkpoint, writes }) =>
            JSON.stringify(checkpoint.state) === JSON.stringify(state(name)) && writes.length === 1
        )
      ),
    // The writes of a checkpoint are as many as its graph has nodes.
    allowed: [/FROM lex_checkpoint_writes .* ORDER BY position$/],
    everything: (store) =>
      Effect.gen(function* () {
        yield* store.get("thread")
        yield* store.get("thread", { id: "name 3" })
        yield* store.list("thread", { limit: 3, before: "name 8", filter: { graph: "g" } })
        yield* store.deleteThread("thread")
      })
  })

  const withClient = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(effect, backend.layer)

  it.effect("writes about the size of a small field when it changes in a large state", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlCheckpointer.make
        const large = text(400_000)
        const at = (n: number) => checkpoint(`step ${n}`, { state: { large, n, other: text(5000) } })
        yield* store.put(at(0))
        const begun = yield* bytes
        assert.isAbove(begun, 200_000)
        for (let n = 1; n <= 40; n++) yield* store.put(at(n))
        assert.isBelow(((yield* bytes) - begun) / 40, 1000)
        const all = yield* store.list("thread", { limit: 5 })
        assert.deepStrictEqual(all, [at(40), at(39), at(38), at(37), at(36)])
        assert.deepStrictEqual(yield* store.list("thread", { before: "step 1" }), [at(0)])
      })
    )
  )

  it.effect("uses space only for the additions to a growing list", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlCheckpointer.make
        const message = (n: number) => ({ role: "user", content: text(1000, n + 1) })
        const messages = Array.from({ length: 200 }, (_, n) => message(n))
        const put = (n: number, list: ReadonlyArray<Checkpointer.Json>) =>
          store.put(checkpoint(`step ${n}`, { state: { messages: list } }))
        yield* put(0, messages)
        const begun = yield* bytes
        for (let n = 1; n <= 30; n++) {
          messages.push(message(500 + n))
          yield* put(n, messages)
        }
        assert.isBelow(((yield* bytes) - begun) / 30, 20_000)
        const last = Option.getOrThrow(yield* store.get("thread")).checkpoint
        assert.deepStrictEqual(last.state, { messages })
        for (let n = 31; n <= 36; n++) yield* put(n, messages.slice(5 * (n - 30)))
        assert.isBelow(((yield* bytes) - begun) / 36, 25_000)
      })
    )
  )

  it.effect("round-trips any state", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlCheckpointer.make
        const many = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`field ${n}`, n]))
        const states: ReadonlyArray<Checkpointer.Json> = [
          null,
          0,
          "",
          [],
          {},
          text(100_000),
          [text(2000), [text(50_000)], null],
          many,
          { a: text(1025), b: "", c: text(1024), d: {}, e: text(9000) },
          JSON.parse(`{"__proto__":${JSON.stringify(text(5000))},"constructor":{"b":1},"":"\\u0000\\ud800"}`),
          { emoji: "\u{1f600}".repeat(50_000), half: "\ud83d".repeat(5000) }
        ]
        for (const [index, given] of states.entries()) {
          const one = checkpoint(`${index}`, { state: given, finished: [{ node: "n", writes: [["f", given]] }] })
          yield* store.put(one)
          const back = Option.getOrThrow(yield* store.get("thread", { id: `${index}` })).checkpoint
          assert.deepStrictEqual(back, one)
          assert.strictEqual(JSON.stringify(back.state), JSON.stringify(given))
        }
        const listed = yield* store.list("thread")
        assert.deepStrictEqual(
          listed.map(({ state }) => JSON.stringify(state)),
          states.map((one) => JSON.stringify(one)).reverse()
        )
      })
    )
  )

  it.effect("distinguishes ids longer than an index takes", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlCheckpointer.make
        const names = [text(9000), `${text(9000)}!`, "\ud800".repeat(3000), "\u0000\u0001#"]
        for (const name of names) {
          yield* store.put(checkpoint(name, { threadId: name, namespace: name }))
          yield* store.putWrites(name, name, name, [[name, name]])
        }
        for (const name of names) {
          const saved = Option.getOrThrow(yield* store.get(name, { namespace: name, id: name }))
          assert.deepStrictEqual(saved.checkpoint, checkpoint(name, { threadId: name, namespace: name }))
          assert.deepStrictEqual(saved.writes, [{ node: name, writes: [[name, name]] }])
        }
      })
    )
  )

  it.effect("orders concurrent puts of two clients, and keeps a node's first writes", () =>
    withClient(
      Effect.gen(function* () {
        const mine = yield* SqlCheckpointer.make
        yield* Effect.provide(
          Effect.flatMap(SqlCheckpointer.make, (theirs) =>
            Effect.gen(function* () {
              const ids = Array.from({ length: 32 }, (_, n) => `${n}`)
              const large = text(20_000)
              yield* Effect.forEach(
                [...ids, ...ids],
                (id, n) => (n % 3 === 0 ? mine : theirs).put(checkpoint(id, { state: { large, id } })),
                { concurrency: "unbounded", discard: true }
              )
              const order = (yield* mine.list("thread")).map(({ id }) => id)
              assert.deepStrictEqual([...order].sort(), [...ids].sort())
              assert.deepStrictEqual(
                (yield* theirs.list("thread")).map(({ id }) => id),
                order
              )
              const nodes = Array.from({ length: 48 }, (_, n) => n)
              yield* Effect.forEach(
                nodes,
                (n) => (n % 2 === 0 ? mine : theirs).putWrites("thread", "3", `node ${n % 24}`, [["n", n]]),
                { concurrency: "unbounded", discard: true }
              )
              const { writes } = Option.getOrThrow(yield* mine.get("thread", { id: "3" }))
              assert.strictEqual(new Set(writes.map(({ node }) => node)).size, 24)
              assert.lengthOf(writes, 24)
              assert.deepStrictEqual(Option.getOrThrow(yield* theirs.get("thread", { id: "3" })).writes, writes)
            })
          ),
          backend.other
        )
      })
    )
  )

  it.effect("reads a thread completely or not at all while it is written and deleted", () =>
    withClient(
      Effect.gen(function* () {
        const mine = yield* SqlCheckpointer.make
        const large = text(60_000)
        yield* Effect.provide(
          Effect.flatMap(SqlCheckpointer.make, (theirs) =>
            Effect.forEach(
              Array.from({ length: 30 }, (_, n) => n),
              (n) => {
                switch (n % 3) {
                  case 0:
                    return mine.put(checkpoint(`${n}`, { state: { large, n } }))
                  case 1:
                    return Effect.zipRight(mine.list("thread"), theirs.putWrites("thread", `${n - 1}`, "node", []))
                  default:
                    return theirs.deleteThread("thread")
                }
              },
              { concurrency: "unbounded", discard: true }
            )
          ),
          backend.other
        )
        for (const one of yield* mine.list("thread")) assert.propertyVal(one.state as object, "large", large)
        yield* mine.put(checkpoint("last", { state: { large } }))
        assert.deepStrictEqual(Option.getOrThrow(yield* mine.get("thread")).checkpoint.state, { large })
        yield* mine.deleteThread("thread")
        assert.deepStrictEqual(yield* rows, [0, 0, 0, 0])
      })
    )
  )

  it.effect("pages through filtered checkpoints, and assembles only matches", () =>
    withClient(
      Effect.gen(function* () {
        const seen: Array<SqlBackends.Seen> = []
        const store = yield* Effect.provide(SqlCheckpointer.make, SqlBackends.watched(seen))
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.forEach(
            Array.from({ length: 110 }, (_, n) => n),
            (n) =>
              store.put(
                checkpoint(`${n}`, {
                  state: { large: text(9000, n + 1) },
                  metadata: { n: n % 55, x: { b: 1, a: [n] } }
                })
              ),
            { discard: true }
          )
        )
        seen.length = 0
        const found = yield* store.list("thread", { filter: { n: 7, x: { a: [7], b: 1 } } })
        assert.deepStrictEqual(
          found.map(({ id }) => id),
          ["7"]
        )
        // Three pages of checkpoints, and the pieces of one.
        assert.isAtMost(seen.length, 6)
        const pages = yield* store.list("thread", { filter: { n: 7 } })
        assert.deepStrictEqual(
          pages.map(({ id }) => id),
          ["62", "7"]
        )
        assert.lengthOf(yield* store.list("thread"), 110)
      })
    )
  )

  it.effect("fails for a broken checkpoint without quoting it", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlCheckpointer.make
        const sql = yield* SqlClient.SqlClient
        yield* store.put(checkpoint("a", { state: { large: text(5000) } }))
        yield* store.putWrites("thread", "a", "node", [])
        const broken = [sql`DELETE FROM lex_checkpoint_pieces`, sql`UPDATE lex_checkpoints SET body = 'secret'`]
        for (const damage of broken) {
          yield* damage
          const errors = [yield* Effect.flip(store.get("thread")), yield* Effect.flip(store.list("thread"))]
          assert.deepStrictEqual(
            errors.map(({ _tag, message, operation }) => [_tag, message, operation]),
            ["get", "list"].map((operation) => [
              "CheckpointerError",
              "What the database holds of a thread cannot be read",
              operation
            ])
          )
          assert.notInclude(JSON.stringify(errors), "secret")
        }
      })
    )
  )
})
