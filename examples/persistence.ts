/** Everything in one file: a system that resumes where it ended, exports a user's data, and erases it. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Ids } from "effect-lexigram"
import { MemoryStore } from "effect-lexigram/memory"
import { OfflineModel } from "effect-lexigram/offline"
import { Lexigram, OwnerData, SqliteClient } from "effect-lexigram/persistence"
import { SessionManager } from "effect-lexigram/session"

const userId = Ids.UserId.make("ada")
const assistant = Agent.make("assistant", { system: "You help." })

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
)

/** One line: agents, their runs and approvals, memory, sessions, caches and costs. */
const systemIn = (file: string) => Lexigram.layerSqlite({ file }).pipe(Layer.provide(OfflineModel.layer()))

const monday = AgentExecutor.run(assistant, {
  input: "I live in Ghent and I am allergic to nuts.",
  userId,
  sessionId: "kitchen"
})

const tuesday = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const turns = yield* sessions.turns(Ids.SessionId.make("kitchen"), { userId, last: 10 })
  yield* Console.log("said on Monday:", turns[0]?.content)

  const memory = yield* MemoryStore.MemoryStore
  const [found] = yield* memory.retrieve({ ownerId: userId, query: "nuts" })
  yield* Console.log("remembered:", found?.entry.content)

  const { health } = yield* Lexigram.Lexigram
  yield* Console.log("health:", (yield* health).parts.map(({ name, status }) => `${name} ${status}`).join(", "))
})

const program = Effect.gen(function* () {
  const path = yield* folder
  const file = Path.join(path, "agents.db")
  yield* Effect.provide(monday, systemIn(file))

  // Another process would find the same.
  const lines = yield* Effect.gen(function* () {
    yield* tuesday
    const client = yield* SqliteClient.SqliteClient
    yield* client.backup(Path.join(path, "backup.db"))
    const data = yield* OwnerData.OwnerData
    return yield* Stream.runCollect(data.export(userId))
  }).pipe(Effect.provide(systemIn(file)))
  yield* Console.log("exported:", lines.length, "lines; backed up:", Fs.existsSync(Path.join(path, "backup.db")))

  // Imports the data into any other SQLite or Postgres database, and erases it there.
  yield* Effect.gen(function* () {
    const data = yield* OwnerData.OwnerData
    const { counts } = yield* data.import(Stream.fromChunk(lines))
    yield* Console.log("imported:", counts)
    yield* Console.log("erased:", yield* data.erase(userId))
  }).pipe(Effect.provide(systemIn(Path.join(path, "other.db"))))
}).pipe(Effect.scoped)

void Effect.runPromise(program)
