import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { RunRecord } from "../../src/agent/record/RunRecord.js"
import type { RunSchedule } from "../../src/agent/record/RunSchedule.js"
import * as RunStore from "../../src/agent/record/RunStore.js"
import * as BlobRef from "../../src/content/BlobRef.js"
import * as BlobStore from "../../src/content/BlobStore.js"
import * as InMemoryBlobStore from "../../src/content/InMemoryBlobStore.js"
import { EntryId, RunId, SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import { NewFact } from "../../src/memory/facts/Fact.js"
import * as ProceduralMemory from "../../src/memory/procedural/ProceduralMemory.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as SemanticMemory from "../../src/memory/semantic/SemanticMemory.js"
import * as MemoryBlock from "../../src/memory/tools/MemoryBlock.js"
import * as MemoryNamespace from "../../src/memory/tools/MemoryNamespace.js"
import * as SqlBlobStore from "../../src/persistence/blob/SqlBlobStore.js"
import * as SqlDocumentIndex from "../../src/persistence/document/SqlDocumentIndex.js"
import * as Database from "../../src/persistence/engine/Database.js"
import { DataTransferError } from "../../src/persistence/engine/PersistenceError.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as OwnerData from "../../src/persistence/OwnerData.js"
import * as SqlQueueStore from "../../src/persistence/run/SqlQueueStore.js"
import * as SqlScheduleStore from "../../src/persistence/run/SqlScheduleStore.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../src/tool/approval/ApprovalStore.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const profile = MemoryBlock.make("profile", { description: "Where the user lives", fields: { city: Schema.String } })
const agent = Agent.make("helper", { system: "You help." })
const model = TestModel.layer(() => ({ text: "I see" }))

const ada = UserId.make("ada")
const adam = UserId.make("ada:2")

type Services = Lexigram.Out | OwnerData.OwnerData | SqlClient.SqlClient

/** Something of everything that is kept. */
const live = (userId: UserId) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const branches = yield* BranchManager.BranchManager
    const id = SessionId.make(`chat of ${userId}`)
    yield* AgentExecutor.run(agent, { input: `I am ${userId} and live in Porto`, sessionId: id, userId })
    yield* sessions.update(id, { userId, variables: { note: "long ".repeat(5_000) } })
    const checkpoint = yield* sessions.checkpoint(id, { userId })
    const turn = NewTurn.make({ id: TurnId.make("long"), role: "user", content: "words ".repeat(5_000), timestamp: 5 })
    yield* sessions.addTurn(id, turn, { userId })
    yield* sessions.restore(checkpoint.id, { userId })
    const branch = yield* branches.fork(id, { userId })
    yield* AgentExecutor.run(agent, { input: "and on a branch?", sessionId: branch.id, userId })
    yield* SystemAccess.grant(AgentExecutor.run(agent, { input: "the system asks", sessionId: branch.id }))
    yield* sessions.create({ id: SessionId.make(`gone of ${userId}`), userId })
    const gone = yield* branches.fork(id, { userId })
    yield* AgentExecutor.run(agent, { input: "and what is gone?", sessionId: gone.id, userId })
    yield* branches.fork(gone.id, { userId })
    yield* sessions.delete(gone.id, { userId })
    const facts = yield* SemanticMemory.SemanticMemory
    yield* facts.storeFact(userId, NewFact.make({ subject: "I", predicate: "lives_in", object: "Porto" }))
    const procedures = yield* ProceduralMemory.ProceduralMemory
    yield* procedures.learn({
      ownerId: userId,
      task: "book a train ticket",
      steps: [
        { tool: "search", parameters: [] },
        { tool: "book", parameters: ["to"] }
      ],
      success: true
    })
    yield* MemoryBlock.write(profile, userId, { city: `city of ${userId}` })
    const documents = yield* SqlDocumentIndex.make()
    yield* documents.ingest(userId, [{ id: "letter.md", content: `# Letter\n\nSigned by ${userId}` }])
    const ledger = yield* CostLedger.CostLedger
    yield* ledger.book([`user:${userId}:2031-04`], { nanoUsd: 5, tokens: 5 })
    yield* ledger.hold({
      id: `hold of ${userId}`,
      amount: { nanoUsd: 1, tokens: 1 },
      accounts: [{ account: `user:${userId}:2031-05` }]
    })
    const rates = yield* RateLimitStore.RateLimitStore
    yield* rates.take({ key: `rpm:user:${userId}`, amount: 1, limit: 9, windowMs: 60_000 })
    yield* rates.take({
      key: `quota:search:requests:month:2031-04:user:${userId}`,
      amount: 1,
      limit: 9,
      windowMs: 60_000
    })
    const approvals = yield* ApprovalStore.ApprovalStore
    yield* approvals.remember({
      key: `always ${userId}`,
      scope: "session",
      scopeId: "a session that is not kept",
      userId,
      agent: "helper",
      tool: "pay",
      exact: false,
      decision: ApprovalGate.approve(),
      at: 1
    })
    yield* approvals.add({
      request: {
        id: `question to ${userId}`,
        runId: RunId.make("a run that is not kept"),
        userId,
        agent: "helper",
        toolCallId: "c",
        tool: "book",
        params: null,
        question: { message: `Where do you live, ${userId}?`, form: { type: "object", properties: {} } }
      },
      requestedAt: 1
    })
    const records = yield* RunStore.RunStore
    const record: RunRecord = {
      runId: RunId.make(`recorded run of ${userId}`),
      agent: "helper",
      userId,
      state: "running",
      labels: { secret: `label of ${userId}`, tier: "1" },
      createdAt: 3,
      updatedAt: 3
    }
    yield* records.insert(record, "request")
    yield* records.update(record.runId, {
      from: ["running"],
      to: "failed",
      at: 4,
      error: { tag: "E", message: userId }
    })
    const schedules = yield* SqlScheduleStore.make
    yield* schedules.insert(scheduleOf(userId), "request")
    const queue = yield* SqlQueueStore.make
    const runId = RunId.make(`queued run of ${userId}`)
    const request = { agent: "helper", runId, input: `secret of ${userId}` }
    const times = { priority: 0, rank: 0, notBefore: 0, createdAt: 0 }
    yield* queue.add(
      { runId, agent: "helper", userId, request, fingerprint: "f", ...times },
      { now: 0, maxWaiting: 99 }
    )
    const threads = yield* Checkpointer.Checkpointer
    yield* threads.put(place(`thread of ${userId}`), { userId })
    yield* threads.putWrites(`thread of ${userId}`, "first", "node", [["text", "written"]], { userId })
    yield* threads.put(place(`nobody's thread for ${userId}`))
    const blobs = yield* SqlBlobStore.make()
    for (let i = 0; i < 9; i++) {
      const bytes = new TextEncoder().encode(`picture ${i} of ${userId}`)
      yield* blobs.put({ owner: userId, scope: `chat ${i % 2}`, bytes, mediaType: "text/plain" })
    }
    yield* sessions.beginExchange(id, {
      userId,
      runId: RunId.make(`open of ${userId}`),
      turns: [NewTurn.make({ id: TurnId.make("open"), role: "user", content: "not answered yet", timestamp: 7 })]
    })
  })

const scheduleOf = (userId: UserId): RunSchedule => ({
  id: `schedule of ${userId}`,
  key: `key of ${userId}`,
  agent: "helper",
  userId,
  input: `secret of ${userId}`,
  labels: {},
  timing: { _tag: "Every", millis: 1000, from: 0 },
  missed: "skip",
  overlap: "allow",
  state: "active",
  createdAt: 3,
  updatedAt: 3,
  revision: 0,
  nextAt: 1000,
  pending: []
})

/** Of a graph's thread. */
const place = (threadId: string): Checkpointer.Checkpoint => ({
  threadId,
  namespace: "",
  id: "first",
  step: 0,
  state: { text: "long ".repeat(5_000) },
  next: [],
  reached: [],
  finished: [],
  waiting: [],
  answers: [],
  pins: [],
  at: 0,
  metadata: {}
})

const blobOf = (owner: string) => [owner, "chat", `sha256:${"0".repeat(64)}`, "text/plain", 1, { base64: "AA==" }]

/** How many rows each of our tables has. */
const sizes = Effect.gen(function* () {
  const database = yield* Database.open
  const tables = yield* database.rows(
    database.dialect.name === "sqlite"
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'lex_%' AND name NOT LIKE 'lex_memory_%'"
      : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'lex_memory_words'"
  )
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    // One row of the owners of facts counts for all of them, and is nobody's.
    const where = name === "lex_fact_owners" ? " WHERE facts > 0" : ""
    const row = yield* database.first(`SELECT COUNT(*) AS count FROM ${name}${where}`)
    found[String(name)] = Number(row?.["count"])
  }
  return found
})

const exportOf = (userId: UserId) =>
  Effect.flatMap(OwnerData.OwnerData, (data) =>
    Effect.map(Stream.runCollect(data.export(userId)), (lines) => [...lines])
  )

const importOf = (lines: ReadonlyArray<string>) =>
  Effect.flatMap(OwnerData.OwnerData, (data) => data.import(Stream.fromIterable(lines)))

/** But for the head, which says when it was made. */
const bodyOf = (lines: ReadonlyArray<string>) => lines.slice(1)

type Open = Effect.Effect<Layer.Layer<Services, unknown>, unknown, Scope.Scope>

const sqlite: Open = Effect.map(SqliteDrivers.file, (file) =>
  Layer.provide(Lexigram.layerSqlite({ file, audit: true }), model)
)

const suite = (name: string, open: Open, other: Open) =>
  describe(name, () => {
    it.scoped(
      "imports an export into another database unchanged",
      () =>
        Effect.gen(function* () {
          const lines = yield* Effect.provide(Effect.zipRight(live(ada), exportOf(ada)), yield* open)
          yield* Effect.gen(function* () {
            const { counts, userId } = yield* importOf(lines)
            assert.strictEqual(userId, ada)
            assert.hasAllKeys(counts, [
              "sessions",
              "facts",
              "runs",
              "schedules",
              "approvals",
              "audit",
              "costs",
              "threads",
              "blobs",
              "memory"
            ])
            const records = yield* RunStore.RunStore
            const recorded = yield* records.list({
              userId: ada,
              labels: { secret: "label of ada" },
              states: ["failed"]
            })
            assert.deepStrictEqual(
              recorded.records.map(({ endedAt, error, runId }) => [runId, endedAt, error?.message]),
              [["recorded run of ada", 4, "ada"]]
            )
            const schedules = yield* SqlScheduleStore.make
            const scheduled = yield* schedules.get("schedule of ada", { userId: ada })
            assert.deepStrictEqual(Option.getOrUndefined(scheduled), scheduleOf(ada))
            assert.deepStrictEqual(yield* MemoryBlock.read(profile, ada), { city: "city of ada" })
            const documents = yield* SqlDocumentIndex.make()
            const { hits } = yield* documents.search(ada, { text: "letter" })
            assert.deepStrictEqual(
              hits.map(({ document, text }) => [document.id, text]),
              [["letter.md", "# Letter\n\nSigned by ada"]]
            )
            const sessions = yield* SessionManager.SessionManager
            const turns = yield* sessions.turns(SessionId.make("chat of ada"), { last: 9, userId: ada })
            assert.deepStrictEqual(
              turns.map(({ content }) => content),
              ["I am ada and live in Porto", "I see"]
            )
            yield* sessions.addTurn(
              SessionId.make("chat of ada"),
              NewTurn.make({ id: TurnId.make("next"), role: "user", content: "and on", timestamp: 9 }),
              { userId: ada }
            )
            const facts = yield* SemanticMemory.SemanticMemory
            assert.isAbove((yield* facts.recall("ada", "Porto")).length, 0)
            const thread = yield* Effect.flatMap(Checkpointer.Checkpointer, (threads) =>
              threads.get("thread of ada", { userId: ada })
            )
            assert.deepStrictEqual<unknown>(
              Option.map(thread, ({ checkpoint, writes }) => [checkpoint, writes]),
              Option.some([place("thread of ada"), [{ node: "node", writes: [["text", "written"]] }]])
            )
            // Its process works with another database.
            const [asked] = yield* SystemAccess.grant(sessions.recover)
            assert.deepInclude(asked, { content: "not answered yet", unanswered: "interrupted" })
            yield* sessions.delete(SessionId.make("chat of ada"), { userId: ada })
          }).pipe(Effect.provide(yield* other))
          // Not inside of the other system, whose blobs would be the ones in context.
          const again = yield* Effect.provide(Effect.zipRight(importOf(lines), exportOf(ada)), yield* open)
          assert.sameMembers(bodyOf(again) as Array<string>, bodyOf(lines) as Array<string>)
        }),
      300_000
    )

    it.scoped(
      "erases everything of a user, and nothing of others",
      () =>
        Effect.gen(function* () {
          yield* live(adam)
          const cache = yield* CacheBackend.CacheBackend
          yield* cache.set("something of somebody", "value")
          const before = yield* sizes
          const others = yield* exportOf(adam)
          yield* live(ada)
          const { erase } = yield* OwnerData.OwnerData
          const counts = yield* erase(ada, { threads: ["nobody's thread for ada", "thread of ada:2"] })
          const parts = ["sessions", "memory", "facts", "runs", "approvals", "audit", "threads"]
          assert.includeMembers(Object.keys(counts), parts)
          assert.deepStrictEqual(yield* sizes, { ...before, lex_cache: 0 })
          assert.deepStrictEqual(bodyOf(yield* exportOf(adam)), bodyOf(others))
          assert.deepStrictEqual(bodyOf(yield* exportOf(ada)), [JSON.stringify({ end: 0 })])
          assert.deepStrictEqual(yield* erase(ada), {})
        }).pipe((test) => Effect.flatMap(open, (layer) => Effect.provide(test, layer))),
      300_000
    )

    it.scoped(
      "exports, imports and erases the memory of a team apart from that of its members",
      () =>
        Effect.gen(function* () {
          const team = { scope: "team", id: "ada" } as const
          const owner = MemoryNamespace.ownerOf(team)
          const rules = MemoryBlock.make("rules", { description: "d", fields: { tone: Schema.String } })
          const lines = yield* Effect.gen(function* () {
            yield* live(ada)
            const store = yield* MemoryStore.MemoryStore
            yield* store.store(
              MemoryEntry.make({
                id: EntryId.make("rule"),
                ownerId: owner,
                content: "deploys happen on tuesdays",
                role: "assistant",
                timestamp: 1
              })
            )
            yield* MemoryBlock.write(rules, owner, { tone: "formal" })
            const semantic = yield* SemanticMemory.SemanticMemory
            yield* semantic.storeFact(owner, { subject: "the team", predicate: "sits in", object: "Ghent" })
            const data = yield* OwnerData.OwnerData
            const ofTeam = yield* Effect.map(Stream.runCollect(data.export(team)), (lines) => [...lines])
            const ofAda = yield* exportOf(ada)
            assert.notInclude(ofAda.join(), "tuesdays")
            assert.notInclude(ofTeam.join(), "Porto")
            yield* data.erase(ada)
            assert.strictEqual(yield* store.count(owner), 1)
            const { memory } = yield* data.erase(team)
            assert.strictEqual(memory, 2)
            assert.strictEqual(yield* store.count(owner), 0)
            assert.deepStrictEqual(yield* data.erase(team), {})
            return ofTeam
          }).pipe((test) => Effect.flatMap(open, (layer) => Effect.provide(test, layer)))
          yield* Effect.gen(function* () {
            const { counts, namespace, userId } = yield* importOf(lines)
            assert.deepStrictEqual([namespace, userId], [team, undefined])
            assert.strictEqual(counts["memory"], 2)
            assert.deepStrictEqual(yield* MemoryBlock.read(rules, owner), { tone: "formal" })
            const semantic = yield* SemanticMemory.SemanticMemory
            assert.lengthOf(yield* semantic.recall(owner, "where does the team sit"), 1)
            const error = yield* Effect.flip(importOf(lines))
            assert.include(error.message, "already has data")
          }).pipe(Effect.provide(yield* other))
        }),
      300_000
    )

    it.scoped(
      "rejects anything but a complete export of one user, and stores nothing of it",
      () =>
        Effect.gen(function* () {
          const lines = yield* Effect.provide(Effect.zipRight(live(ada), exportOf(ada)), yield* other)
          const [head = "", ...rest] = lines
          const end = rest.at(-1) as string
          const swapped = (text: string) => text.replaceAll('"ada"', '"eve"')
          const row = rest.find((line) => line.includes('"lex_runs"') && line.includes('"ada"')) as string
          const stranger = row.replace('"ada"', '"eve"').replace(/"row":\["[^"]*"/, '"row":["of eve"')
          const more = (line: string) => [head, line, ...rest.slice(0, -1), JSON.stringify({ end: rest.length })]
          const refusals: ReadonlyArray<readonly [what: string, lines: ReadonlyArray<string>]> = [
            ["nothing", []],
            ["no head", rest],
            ["a head of something else", ["{}", ...rest]],
            ["a newer version", [head.replace(/"tables":\d+/, '"tables":1000'), ...rest]],
            ["no end", lines.slice(0, -1)],
            ["a line less", [head, ...rest.slice(1)]],
            ["lines behind the end", [...lines, end]],
            ["no JSON", more("{")],
            ["a table that is none of ours", more(JSON.stringify({ table: "pg_user", row: ["a"] }))],
            ["a table by another name", more(JSON.stringify({ table: "__proto__", row: ["a"] }))],
            ["a row that is too short", more(JSON.stringify({ table: "lex_runs", row: ["a"] }))],
            ["a run of somebody else", more(stranger)],
            ["everything of somebody else", [head, ...rest.map(swapped)]],
            ["the same twice", more(row)],
            ["a thread of somebody else", more(JSON.stringify({ table: "lex_threads", row: ["of eve", "eve", 1, 0] }))],
            ["a blob of somebody else", more(JSON.stringify({ table: "lex_blobs", row: blobOf("eve") }))],
            ["a thread of nobody", more(JSON.stringify({ table: "lex_threads", row: ["free", null, 1, 0] }))],
            [
              "a question in a session of somebody else",
              more(JSON.stringify({ table: "lex_session_exchanges", row: ["of eve", "r", null, "{}"] }))
            ]
          ]
          yield* Effect.gen(function* () {
            const before = yield* sizes
            for (const [what, lines] of refusals) {
              const error = yield* Effect.flip(importOf(lines)).pipe(Effect.orDieWith(() => new Error(what)))
              assert.instanceOf(error, DataTransferError, what)
              assert.deepStrictEqual(yield* sizes, before, what)
            }
            yield* importOf(lines)
            const taken = yield* Effect.flip(importOf(lines))
            assert.match(taken.message, /already has data/)
          }).pipe(Effect.provide(yield* open))
        }),
      300_000
    )
  })

suite("the data of users in SQLite", sqlite, sqlite)

describe("an import", () => {
  const first = SessionId.make("first")
  const said = NewTurn.make({ id: TurnId.make("1"), role: "user", content: "hello", timestamp: 1 })

  /** A session of Ada's and a branch of it, given out. */
  const branched = (after: Effect.Effect<unknown, unknown, Services> = Effect.void) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id: first, userId: ada })
      yield* sessions.addTurn(first, said, { userId: ada })
      const branch = yield* branches.fork(first, { userId: ada })
      yield* after
      return { lines: yield* exportOf(ada), branch: branch.id }
    })

  /** The lines with a session given to somebody. */
  const given = (lines: ReadonlyArray<string>, id: string, user: string) => {
    let changes = 0
    const all = lines.map((line) => {
      const parsed = JSON.parse(line)
      if (parsed.table !== "lex_sessions" || parsed.row[0] !== id) return line
      parsed.row[1] = user
      changes++
      return JSON.stringify(parsed)
    })
    assert.strictEqual(changes, 1)
    return all
  }

  it.scoped("takes no session of another user, be it an ancestor or a branch", () =>
    Effect.gen(function* () {
      const { branch, lines } = yield* Effect.provide(branched(), yield* sqlite)
      yield* Effect.gen(function* () {
        const before = yield* sizes
        const others: ReadonlyArray<readonly [what: string, id: string, user: string]> = [
          ["its ancestor is given away", first, "eve"],
          ["its branch is given away", branch, "eve"],
          ["its ancestor is nobody's", first, ""],
          ["its branch is nobody's", branch, ""]
        ]
        for (const [what, id, user] of others) {
          const error = yield* Effect.flip(importOf(given(lines, id, user))).pipe(
            Effect.orDieWith(() => new Error(what))
          )
          assert.deepInclude(error, { _tag: "DataTransferError", part: "sessions" }, what)
          assert.deepStrictEqual(yield* sizes, before, what)
        }
        const sessions = yield* SessionManager.SessionManager
        assert.isTrue(Option.isNone(yield* sessions.get(first, { userId: UserId.make("eve") })))
        yield* importOf(lines)
        assert.lengthOf(yield* sessions.turns(branch, { last: 9, userId: ada }), 1)
      }).pipe(Effect.provide(yield* sqlite))
    })
  )

  it.scoped("takes a branch whose ancestor was deleted", () =>
    Effect.gen(function* () {
      const gone = Effect.flatMap(SessionManager.SessionManager, (sessions) => sessions.delete(first, { userId: ada }))
      const { branch, lines } = yield* Effect.provide(branched(gone), yield* sqlite)
      yield* Effect.gen(function* () {
        yield* importOf(lines)
        const sessions = yield* SessionManager.SessionManager
        assert.isTrue(Option.isNone(yield* sessions.get(first, { userId: ada })))
        assert.lengthOf(yield* sessions.turns(branch, { last: 9, userId: ada }), 1)
      }).pipe(Effect.provide(yield* sqlite))
    })
  )
})

describe("data outside of the database", () => {
  for (const [part, settings] of [
    ["sessions", { sessions: { backend: "in_memory" } }],
    ["memory", { memory: { defaultBackend: "in_memory" } }]
  ] as const) {
    it.scoped(`${part}: is erased, and neither exported nor imported`, () =>
      Effect.gen(function* () {
        const file = yield* SqliteDrivers.file
        yield* Effect.gen(function* () {
          yield* live(ada)
          const data = yield* OwnerData.OwnerData
          assert.strictEqual((yield* Effect.flip(exportOf(ada))).part, part)
          const head = { format: "effect-lexigram.owner", version: 1, tables: 1, userId: "eve", at: 0 }
          const error = yield* Effect.flip(importOf([JSON.stringify(head), JSON.stringify({ end: 0 })]))
          assert.strictEqual(error.part, part)
          const counts = yield* data.erase(ada)
          assert.isAbove(counts[part] ?? 0, 0)
          assert.deepStrictEqual(yield* data.erase(ada), {})
        }).pipe(Effect.provide(Layer.provide(Lexigram.layerSqlite({ file, ...settings }), model)))
      })
    )
  }
})

describe("blobs outside of the database", () => {
  it.scoped("are erased with their owner, and only his", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const blobs = yield* InMemoryBlobStore.make()
      const put = { scope: "chat", bytes: new Uint8Array([1, 2, 3]), mediaType: "image/png" }
      yield* blobs.put({ ...put, owner: ada })
      yield* blobs.put({ ...put, owner: adam })
      const system = Layer.provide(Lexigram.layerSqlite({ file }), model)
      yield* Effect.gen(function* () {
        const data = yield* OwnerData.OwnerData
        assert.deepStrictEqual(yield* data.erase(ada), { blobs: 1 })
        assert.deepStrictEqual(yield* data.erase(ada), {})
      }).pipe(Effect.provide(Layer.provide(system, Layer.succeed(BlobStore.BlobStore, blobs))))
      assert.lengthOf(Array.from(yield* Stream.runCollect(blobs.list({ owner: ada }))), 0)
      assert.lengthOf(Array.from(yield* Stream.runCollect(blobs.list({ owner: adam }))), 1)
    })
  )

  const bytes = (n: number) => new Uint8Array([n, 2, 3])
  const put = (n: number) => ({ owner: ada, scope: `chat ${n}`, bytes: bytes(n), mediaType: "image/png" })
  const listed = (blobs: BlobStore.Service) =>
    Effect.map(Stream.runCollect(blobs.list({ owner: ada })), (all) =>
      Array.from(all, ({ ref: { hash, mediaType }, scope }) => [scope, mediaType, hash.slice(0, 12)].join(" ")).sort()
    )
  /** A system on a new database, with blobs in memory or in the database itself. */
  const system = (blobs: BlobStore.Service | undefined) =>
    Effect.map(SqliteDrivers.file, (file) => {
      const base = Layer.provide(Lexigram.layerSqlite({ file }), model)
      return blobs === undefined ? base : Layer.provide(base, Layer.succeed(BlobStore.BlobStore, blobs))
    })

  it.scoped("are exported and imported, from and into stores in the database or elsewhere", () =>
    Effect.gen(function* () {
      const lines: Record<string, ReadonlyArray<string>> = {}
      for (const from of ["here", "elsewhere"]) {
        const memory = from === "here" ? undefined : yield* InMemoryBlobStore.make()
        lines[from] = yield* Effect.gen(function* () {
          const blobs = memory ?? (yield* SqlBlobStore.make())
          for (const n of [1, 2, 3]) yield* blobs.put(put(n))
          return yield* exportOf(ada)
        }).pipe(Effect.provide(yield* system(memory)))
      }
      for (const from of ["here", "elsewhere"]) {
        for (const into of ["here", "elsewhere"]) {
          const memory = into === "here" ? undefined : yield* InMemoryBlobStore.make()
          yield* Effect.gen(function* () {
            const blobs = memory ?? (yield* SqlBlobStore.make())
            assert.deepStrictEqual((yield* importOf(lines[from] ?? [])).counts, { blobs: 3 }, `${from} ${into}`)
            assert.lengthOf(yield* listed(blobs), 3)
            for (const n of [1, 2, 3]) {
              const hash = BlobRef.hashOf(bytes(n))
              const found = yield* blobs.get({ owner: ada, scope: `chat ${n}`, hash })
              assert.deepStrictEqual(Array.from(found), Array.from(bytes(n)))
            }
            const again = yield* Effect.flip(importOf(lines[from] ?? []))
            assert.include(again.message, "already has data of this user")
            assert.lengthOf(yield* listed(blobs), 3, "a refused import removes nothing")
          }).pipe(Effect.provide(yield* system(memory)))
        }
      }
    })
  )

  it.scoped("are removed again when an import fails, and must be those of their hashes", () =>
    Effect.gen(function* () {
      const source = yield* InMemoryBlobStore.make()
      const lines = yield* Effect.gen(function* () {
        for (const n of [1, 2, 3]) yield* source.put(put(n))
        return yield* exportOf(ada)
      }).pipe(Effect.provide(yield* system(source)))
      for (const memory of [undefined, yield* InMemoryBlobStore.make()]) {
        yield* Effect.gen(function* () {
          const blobs = memory ?? (yield* SqlBlobStore.make())
          const cut = yield* Effect.flip(importOf(lines.slice(0, -1)))
          assert.include(cut.message, "incomplete")
          assert.deepStrictEqual(yield* listed(blobs), [])
          const changed = lines.map((line) => line.replace('"base64":"AwID"', '"base64":"AwIE"'))
          assert.notDeepEqual(changed, lines)
          assert.include((yield* Effect.flip(importOf(changed))).message, "not those of its hash")
          assert.deepStrictEqual(yield* listed(blobs), [])
        }).pipe(Effect.provide(yield* system(memory)))
      }
    })
  )
})

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ empty, url }) => {
  const open: Open = Effect.as(
    Effect.ignore(empty),
    Layer.provide(Lexigram.layerPostgres({ url: Redacted.make(url), audit: true }), model)
  )
  suite("the data of users in Postgres", open, sqlite)
})
