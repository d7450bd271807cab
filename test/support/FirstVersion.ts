/**
 * Databases of the first version, stored as texts in `test/persistence`: tables (`first-schema.*.sql`) and rows written
 * by its stores (`first-rows.*.sql`). Later versions must read them.
 */
import * as Fs from "node:fs"
import { fileURLToPath } from "node:url"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AgentEvent from "../../src/domain/AgentEvent.js"
import { EntryId, RunId, SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as FactStore from "../../src/memory/facts/FactStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Database from "../../src/persistence/engine/Database.js"
import type { Dialect } from "../../src/persistence/engine/Dialect.js"
import * as SqlAuditLog from "../../src/persistence/governance/SqlAuditLog.js"
import * as SqlCostLedger from "../../src/persistence/governance/SqlCostLedger.js"
import * as SqlRateLimitStore from "../../src/persistence/governance/SqlRateLimitStore.js"
import * as SqlFactStore from "../../src/persistence/memory/SqlFactStore.js"
import * as SqlMemoryStore from "../../src/persistence/memory/SqlMemoryStore.js"
import * as SqlApprovalStore from "../../src/persistence/run/SqlApprovalStore.js"
import * as SqlCacheBackend from "../../src/persistence/run/SqlCacheBackend.js"
import * as SqlCheckpointer from "../../src/persistence/run/SqlCheckpointer.js"
import * as SqlRunLog from "../../src/persistence/run/SqlRunLog.js"
import * as Tables from "../../src/persistence/schema/Tables.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SqlVectorIndex from "../../src/persistence/vector/SqlVectorIndex.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../src/tool/approval/ApprovalStore.js"

const between = ";\n\n"

export const textOf = (statements: ReadonlyArray<string>): string => `${statements.join(between)};\n`

export const statementsOf = (text: string): ReadonlyArray<string> => text.trimEnd().slice(0, -1).split(between)

const fileOf = (what: "schema" | "rows", { name }: Dialect): string =>
  fileURLToPath(new URL(`../persistence/first-${what}.${name}.sql`, import.meta.url))

export const kept = (what: "schema" | "rows", dialect: Dialect): string =>
  Fs.readFileSync(fileOf(what, dialect), "utf8")

/** Tables made by the current code, including those of the versions. */
export const schema = (dialect: Dialect): string =>
  textOf([
    `CREATE TABLE lex_migrations (
    version INTEGER PRIMARY KEY,
    name ${dialect.types.text} NOT NULL,
    applied_at ${dialect.types.number} NOT NULL
  )`,
    ...Tables.initial(dialect)
  ])

const manager = DefaultSessionManager.layer({ autoCheckpointInterval: null }).pipe(
  Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
)

/** All stores, without creating tables. */
export const stores = Layer.mergeAll(
  Layer.provideMerge(manager, SqlSessionStore.layer),
  SqlMemoryStore.layer(),
  SqlFactStore.layer(),
  Layer.provide(SqlVectorIndex.layer(), HashingEmbedder.layer({ dimensions: 8 })),
  SqlCostLedger.layer(),
  SqlRateLimitStore.layer,
  SqlAuditLog.layer(),
  SqlApprovalStore.layer(),
  SqlCheckpointer.layer,
  SqlRunLog.layer(),
  SqlCacheBackend.layer()
)

const owner = "ann"
const asOwner = { userId: UserId.make(owner) }
const session = SessionId.make("session")
const large = "larger than a row may be. ".repeat(500)
const vector = Float32Array.from({ length: 8 }, (_, at) => at + 1)
const month = 3_600_000 * 24 * 30
const event = (seq: number, text: string): AgentEvent.AgentEvent =>
  ({ _tag: "TextDelta", runId: RunId.make("run"), agent: "agent", seq, at: 0, text }) satisfies AgentEvent.AgentEvent

/** Writes to every store under `name`. */
export const fill = (name: string) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    yield* sessions.create({ id: session, userId: UserId.make(owner), variables: { text: large } })
    const turns = [`${name} first`, large]
    yield* Effect.forEach(turns, (content, n) =>
      sessions.addTurn(
        session,
        NewTurn.make({ id: TurnId.make(`${name}-${n}`), role: "user", content, timestamp: n }),
        asOwner
      )
    )
    yield* sessions.checkpoint(session, { name, metadata: { name }, ...asOwner })

    const memory = yield* MemoryStore.MemoryStore
    yield* memory.storeMany(
      [`${name} likes green tea`, large].map((content, n) =>
        MemoryEntry.make({
          id: EntryId.make(`${name}-${n}`),
          ownerId: owner,
          content,
          role: "user",
          timestamp: n,
          metadata: { name }
        })
      )
    )
    const facts = yield* FactStore.FactStore
    yield* facts.assert(owner, [{ subject: name, predicate: "likes", object: "green tea", validFrom: 1 }])
    const vectors = yield* VectorIndex.VectorIndex
    yield* vectors.upsert(owner, [
      { id: EntryId.make(`${name}-0`), role: "user", timestamp: 0, vector, metadata: { name } }
    ])

    const ledger = yield* CostLedger.CostLedger
    const amount = { nanoUsd: 10, tokens: 3 }
    yield* ledger.hold({ id: `${name} held`, amount, accounts: [{ account: "a" }] })
    yield* ledger.hold({ id: `${name} settled`, amount, accounts: [{ account: "a" }, { account: "b" }] })
    yield* ledger.settle(`${name} settled`, { nanoUsd: 4, tokens: 2 })
    const rates = yield* RateLimitStore.RateLimitStore
    yield* rates.take({ key: "key", amount: 2, limit: 100, windowMs: month })
    const audit = yield* AuditLog.AuditLog
    yield* audit.record({ eventType: "llm_call", agent: name, metadata: { large } })
    const approvals = yield* ApprovalStore.ApprovalStore
    const request = { runId: RunId.make("run"), agent: "agent", toolCallId: "c", tool: "pay", params: { name } }
    for (const id of [`${name} waits`, `${name} is settled`]) {
      yield* approvals.add({ request: { ...request, id }, requestedAt: 1 })
    }
    yield* approvals.settle(`${name} is settled`, { decision: ApprovalGate.approve(), settledBy: "decision", at: 2 })
    yield* approvals.remember({
      key: name,
      scope: "run",
      scopeId: "run",
      agent: "agent",
      tool: "pay",
      exact: false,
      decision: ApprovalGate.deny({ reason: name }),
      at: 3
    })

    const checkpointer = yield* Checkpointer.Checkpointer
    yield* checkpointer.put({
      threadId: "thread",
      namespace: "",
      id: name,
      step: 0,
      state: { name, large },
      next: ["node"],
      reached: [],
      finished: [],
      waiting: [],
      answers: [],
      pins: [],
      at: 0,
      metadata: { name }
    })
    yield* checkpointer.putWrites("thread", name, "node", [["text", large]])
    const log = yield* RunLog.RunLog
    const known = (yield* SystemAccess.grant(log.read(RunId.make("run")))).length
    yield* log.append([event(known, name), event(known + 1, large)])
    const cache = yield* CacheBackend.CacheBackend
    yield* cache.set(name, large)
  })

/** Reads everything written under these names, without generated values. */
export const read = (...names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const memory = yield* MemoryStore.MemoryStore
    const facts = yield* FactStore.FactStore
    const vectors = yield* VectorIndex.VectorIndex
    const ledger = yield* CostLedger.CostLedger
    const rates = yield* RateLimitStore.RateLimitStore
    const audit = yield* AuditLog.AuditLog
    const approvals = yield* ApprovalStore.ApprovalStore
    const checkpointer = yield* Checkpointer.Checkpointer
    const log = yield* RunLog.RunLog
    const cache = yield* CacheBackend.CacheBackend
    const each = <A, E, R>(get: (name: string) => Effect.Effect<A, E, R>) => Effect.forEach(names, get)
    return {
      session: Object.assign({}, yield* Effect.flatten(sessions.get(session, asOwner)), { checkpointId: undefined }),
      turns: yield* sessions.turns(session, { last: 100, ...asOwner }),
      checkpoints: (yield* sessions.checkpoints(session, asOwner)).map(({ metadata, name, state }) => ({
        metadata,
        name,
        state
      })),
      entries: yield* memory.getRecent({ ownerId: owner, n: 100 }),
      found: (yield* memory.retrieve({ ownerId: owner, query: "green tea", topK: 9 }))
        .map(({ entry }) => entry.id)
        .sort(),
      facts: (yield* facts.query(owner))
        .map(({ object, predicate, subject }) => `${subject} ${predicate} ${object}`)
        .sort(),
      searched: (yield* facts.search(owner, "green tea")).map(({ subject }) => subject).sort(),
      vectors: (yield* vectors.search(owner, vector, { limit: 9 })).map(({ id }) => id).sort(),
      accounts: yield* Effect.forEach(["a", "b"], ledger.read),
      rate: yield* rates.peek({ key: "key", windowMs: month }),
      audit: (yield* SystemAccess.grant(audit.read())).map(({ agent, metadata }) => ({ agent, metadata })),
      approvals: yield* each((name) =>
        Effect.all([approvals.get(`${name} waits`), approvals.get(`${name} is settled`), approvals.recall([name])])
      ),
      threads: yield* each((name) => checkpointer.get("thread", { id: name })),
      events: yield* SystemAccess.grant(log.read(RunId.make("run"))),
      cached: yield* each(cache.get)
    }
  })

const literal = (value: unknown, { name }: Dialect): string => {
  if (value === null || value === undefined) return "NULL"
  if (typeof value === "number" || typeof value === "bigint") return String(value)
  if (value instanceof Uint8Array) {
    const hex = Buffer.from(value).toString("hex")
    return name === "sqlite" ? `x'${hex}'` : `'\\x${hex}'`
  }
  return `'${(typeof value === "string" ? value : JSON.stringify(value)).replaceAll("'", "''")}'`
}

/** Columns that the driver converts differently from Postgres. */
const asWritten: ReadonlySet<string> = new Set(["words", "often", "tags"])

/** Statements that recreate the rows. */
const dump = Effect.gen(function* () {
  const database = yield* Database.open
  const { client, dialect } = database
  const ask = (sql: string) => client.unsafe<Database.Row>(sql)
  const isSqlite = dialect.name === "sqlite"
  const tables = Tables.initial(dialect).flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement)?.[1] ?? [])
  const statements: Array<string> = ["INSERT INTO lex_migrations (version, name, applied_at) VALUES (1, 'initial', 0)"]
  for (const table of tables) {
    const serial = yield* isSqlite
      ? Effect.succeed(undefined)
      : Effect.map(
          ask(
            `SELECT column_name AS name FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = '${table}' AND is_identity = 'YES'`
          ),
          ([row]) => row?.["name"] as string | undefined
        )
    const columns = yield* ask(
      isSqlite
        ? `SELECT name FROM pragma_table_info('${table}')`
        : `SELECT column_name AS name FROM information_schema.columns
          WHERE table_schema = current_schema() AND table_name = '${table}' ORDER BY ordinal_position`
    )
    const names = columns.map(({ name }) => name as string)
    const read = names.map((name) => (!isSqlite && asWritten.has(name) ? `${name}::text AS ${name}` : name))
    const rows = yield* ask(`SELECT ${read.join(", ")} FROM ${table}`)
    for (const row of rows) {
      const values = names.map((name) => literal(row[name], dialect)).join(", ")
      const over = serial === undefined ? "" : "OVERRIDING SYSTEM VALUE "
      statements.push(`INSERT INTO ${table} (${names.join(", ")}) ${over}VALUES (${values})`)
    }
    if (serial !== undefined && rows.length > 0) {
      statements.push(
        `SELECT setval(pg_get_serial_sequence('${table}', '${serial}'), (SELECT MAX(${serial}) FROM ${table}))`
      )
    }
  }
  if (isSqlite) {
    const words = yield* ask(
      `SELECT doc, group_concat(term, ' ') AS words FROM (SELECT doc, term FROM lex_memory_places ORDER BY doc, offset)
      GROUP BY doc`
    )
    for (const { doc, words: text } of words) {
      statements.push(`INSERT INTO lex_memory_words (rowid, words) VALUES (${Number(doc)}, ${literal(text, dialect)})`)
    }
  }
  return textOf(statements)
})

/** Rewrites the texts from a database that the current code has made and filled. */
export const rewrite = Effect.gen(function* () {
  const { dialect } = yield* Database.open
  yield* Effect.provide(fill("first"), stores)
  Fs.writeFileSync(fileOf("schema", dialect), schema(dialect))
  Fs.writeFileSync(fileOf("rows", dialect), yield* dump)
})

/** Makes the database that the texts describe. */
export const make = Effect.gen(function* () {
  const { dialect } = yield* Database.open
  const sql = yield* SqlClient.SqlClient
  for (const what of ["schema", "rows"] as const) {
    for (const statement of statementsOf(kept(what, dialect))) yield* sql.unsafe(statement)
  }
})
