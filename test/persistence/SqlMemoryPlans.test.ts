import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../../src/domain/Ids.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import type { Selection } from "../../src/memory/entry/Selection.js"
import * as TextAnalyzer from "../../src/memory/text/TextAnalyzer.js"
import * as Database from "../../src/persistence/engine/Database.js"
import type { Param } from "../../src/persistence/engine/Dialect.js"
import * as SqlFullText from "../../src/persistence/memory/SqlFullText.js"
import * as SqlMemoryBackend from "../../src/persistence/memory/SqlMemoryBackend.js"
import * as SqlDatabases from "../support/SqlDatabases.js"

const id = (at: number) => `e${at}` as EntryId
const session = (at: number) => `s${at}` as SessionId

const entry = (ownerId: string, at: number): MemoryEntry => ({
  id: id(at),
  ownerId,
  content: `zebra number ${at} ${at % 7 === 0 ? "quagga" : ""}`,
  importance: 0.5,
  role: at % 2 === 0 ? "user" : "assistant",
  timestamp: at % 500,
  sessionId: session(at % 20),
  metadata: { type: "turn", at },
  expiresAt: 1_000_000 + at
})

/** Two owners, one of which has much. */
const fill = (backend: ReturnType<typeof SqlMemoryBackend.make>) =>
  Effect.gen(function* () {
    yield* backend.apply("rich", { store: Array.from({ length: 3_000 }, (_, at) => entry("rich", at)) })
    yield* backend.apply("poor", { store: Array.from({ length: 10 }, (_, at) => entry("poor", at)) })
  })

interface Told {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

/** Tells of every statement that is run with parameters. */
const watched = (database: Database.Database, told: Array<Told>): Database.Database => {
  const access = (of: Database.Access): Database.Access => ({
    rows: (sql, params = []) => {
      told.push({ sql, params })
      return of.rows(sql, params)
    },
    first: (sql, params = []) => {
      told.push({ sql, params })
      return of.first(sql, params)
    },
    run: (sql, params = []) => {
      told.push({ sql, params })
      return of.run(sql, params)
    },
    insert: of.insert
  })
  return {
    ...database,
    ...access(database),
    transaction: (body, options) => database.transaction((tx) => body(access(tx)), options)
  }
}

const selections: ReadonlyArray<readonly [string, Selection]> = [
  ["everything", {}],
  ["a session", { sessionIds: [session(3)] }],
  ["sessions", { sessionIds: [session(3), session(4)] }],
  ["a lineage", { lineage: [{ sessionId: session(3), until: 100 }] }],
  ["a lineage of a tree", { lineage: [{ sessionId: session(3) }, { sessionId: session(4) }], tree: session(3) }],
  ["a time", { timeRange: { start: 10, end: 20 } }],
  ["a role", { roles: ["user"] }],
  ["what many have", { filters: { type: "turn" } }],
  ["what few have", { filters: { at: { in: [3, 4] } } }],
  ["a range", { filters: { at: { gte: 3, lt: 9 } } }],
  ["what is not there", { filters: { none: null } }]
]

SqlDatabases.suite("statements of memory", ({ layer, name }) => {
  const explain = (database: Database.Database, { params, sql }: Told) =>
    name === "sqlite"
      ? Effect.map(database.rows(`EXPLAIN QUERY PLAN ${sql}`, params), (rows) =>
          rows.map((row) => ({ detail: String(row["detail"]), parent: Number(row["parent"]) }))
        )
      : database
          .transaction((tx) =>
            Effect.zipRight(
              Effect.zipRight(tx.run("SET LOCAL enable_seqscan = off"), tx.run("SET LOCAL enable_bitmapscan = on")),
              tx.rows(`EXPLAIN ${sql}`, params)
            )
          )
          .pipe(Effect.map((rows) => rows.map((row) => ({ detail: String(row["QUERY PLAN"]), parent: 0 }))))

  it.effect("read no whole table, and read a page in its order", () =>
    Effect.gen(function* () {
      const real = yield* Database.open
      yield* fill(SqlMemoryBackend.make(real, TextAnalyzer.english))
      if (name === "postgres") yield* real.run("ANALYZE lex_memories, lex_memory_owners, lex_memory_bodies")
      const told: Array<Told> = []
      const backend = SqlMemoryBackend.make(watched(real, told), TextAnalyzer.english)
      const ordered: Array<Told> = []
      for (const [which, selection] of selections) {
        const before = told.length
        yield* backend.recent("rich", { limit: 5, selection })
        yield* backend.page("rich", { limit: 5, selection, after: { timestamp: 3, id: id(3) } })
        if (which === "everything" || which === "a session" || which === "a time") ordered.push(...told.slice(before))
        yield* backend.count("rich", selection)
        yield* backend.lexical("rich", { text: "zebra quagga", limit: 5, selection })
        yield* backend.around("rich", id(40), { before: 2, after: 2, selection })
      }
      yield* backend.get("rich", [id(1), id(2)])
      yield* backend.owners({ limit: 5 })
      yield* backend.recordAccess("rich", [id(1)], 5)
      yield* backend.apply("rich", { delete: [id(1)], store: [entry("rich", 2)] })
      yield* backend.clear("poor")
      yield* backend.expire
      yield* backend.health
      const seen = new Set<string>()
      const tables = "lex_\\w+|m|b|o|e|p|c"
      for (const one of told) {
        if (seen.has(one.sql) || one.sql.includes("INSERT")) continue
        seen.add(one.sql)
        const plan = yield* explain(real, one)
        const text = `${one.sql}\n${plan.map(({ detail }) => detail).join("\n")}`
        if (one.sql.includes("LIMIT 1") && !one.sql.includes("WHERE")) continue
        // What was chosen in its order is named as the table it was chosen from.
        const chosen = plan.some(({ detail }) => detail === "CO-ROUTINE m" || detail === "MATERIALIZE m")
        for (const { detail } of plan) {
          if (detail === "SCAN m" && chosen) continue
          const scans =
            name === "sqlite" ? new RegExp(`^SCAN (${tables})( VIRTUAL TABLE INDEX 0:)?$`) : /Seq Scan on lex_/
          assert.notMatch(detail, scans, text)
        }
      }
      assert.isAtLeast(seen.size, 30)
      for (const one of ordered) {
        if (!one.sql.includes("LIMIT")) continue
        const plan = yield* explain(real, one)
        const text = `${one.sql}\n${plan.map(({ detail }) => detail).join("\n")}`
        if (name === "sqlite") {
          const inner = plan.filter(({ detail, parent }) => parent !== 0 && detail.includes("TEMP B-TREE"))
          assert.deepStrictEqual(inner, [], text)
        } else {
          const limit = plan.findIndex(({ detail }) => detail.includes("Limit"))
          const inner = plan.slice(limit).filter(({ detail }) => /-> +Sort/.test(detail))
          assert.deepStrictEqual(inner, [], text)
        }
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("find nothing of other owners in the list of a word", () =>
    Effect.gen(function* () {
      const database = yield* Database.open
      const { dialect } = database
      yield* fill(SqlMemoryBackend.make(database, TextAnalyzer.english))
      const full = SqlFullText.make(dialect)
      const owners = yield* database.rows("SELECT serial, owner_id FROM lex_memory_owners ORDER BY owner_id")
      const found: Array<ReadonlyArray<unknown>> = []
      for (const owner of owners) {
        const words = [SqlFullText.wordOf(Number(owner["serial"]), "zebra")]
        const rows = yield* database.rows(dialect.sql(full.lists), full.listsParams(words))
        found.push([owner["owner_id"], ...rows.map((row) => full.listOf(row).serials.length)])
      }
      assert.deepStrictEqual(found, [
        ["poor", 10],
        ["rich", 3_000]
      ])
    }).pipe(Effect.provide(layer))
  )
})
