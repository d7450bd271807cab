/** Conversations with files over processes and databases: what later runs see, and what is left after an erasure. */
import * as Fs from "node:fs"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as BlobRef from "../../src/content/BlobRef.js"
import * as BlobStore from "../../src/content/BlobStore.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as FileBlobStore from "../../src/persistence/blob/FileBlobStore.js"
import * as Database from "../../src/persistence/engine/Database.js"
import * as OwnerData from "../../src/persistence/OwnerData.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Bundle from "../support/Bundle.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import * as FileTalker from "../support/programs/FileTalker.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const ada = UserId.make(FileTalker.userId)

/** A picture whose bytes are found wherever they are written. */
const mark = "a mark in the bytes of a picture"
const png = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.from(mark)])
const pdf = Buffer.from(`%PDF-1.7\n${mark}`)
const files = [
  { base64: png.toString("base64"), mediaType: "image/png", fileName: "cat.png" },
  { base64: pdf.toString("base64"), mediaType: "application/pdf", fileName: "report.pdf" }
] as const
const [image, report] = [BlobRef.hashOf(png), BlobRef.hashOf(pdf)]

const inProcess = (input: FileTalker.Input) =>
  Effect.gen(function* () {
    const program = yield* Programs.start(yield* Bundle.make("FileTalker"), input)
    const heard: ReadonlyArray<ReadonlyArray<string>> = yield* program.hear
    assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
    return heard
  })

const exported = Effect.flatMap(OwnerData.OwnerData, (data) => Stream.runCollect(data.export(ada)))

/** The rows that hold bytes, and turns that refer to them. */
const rows = Effect.gen(function* () {
  const database = yield* Database.open
  const blobs = yield* database.first("SELECT COUNT(*) AS count FROM lex_blobs")
  const chunks = yield* database.first("SELECT COUNT(*) AS count FROM lex_session_turns")
  return [Number(blobs?.["count"]), Number(chunks?.["count"])]
})

type Open = Effect.Effect<string, unknown, Scope.Scope>

const suite = (name: string, open: Open, other: Open) =>
  it.scopedLive(
    `${name}: each process sees the files of earlier ones; an export takes them along; nothing is left of an owner`,
    () =>
      Effect.gen(function* () {
        const database = yield* open
        const said = { database, files: [] }
        assert.deepStrictEqual(yield* inProcess({ ...said, text: "My cat", files: files.slice(0, 1) }), [[image]])
        assert.deepStrictEqual(yield* inProcess({ ...said, text: "And this", files: files.slice(1) }), [
          [image],
          [report]
        ])
        assert.deepStrictEqual(yield* inProcess({ ...said, text: "Which was first?" }), [[image], [report], []])
        const lines = yield* Effect.gen(function* () {
          const lines = yield* exported
          assert.deepStrictEqual(yield* rows, [2, 6])
          return lines
        }).pipe(Effect.provide(FileTalker.system(database)))
        assert.lengthOf(
          Array.from(lines).filter((line) => line.includes(png.toString("base64").slice(0, 20))),
          1,
          "the bytes are once in the export"
        )
        yield* Effect.gen(function* () {
          const data = yield* OwnerData.OwnerData
          yield* data.import(Stream.fromIterable(lines))
          assert.deepStrictEqual(yield* FileTalker.talk("Here too?"), [[image], [report], [], []])
        }).pipe(Effect.provide(FileTalker.system(yield* other)))
        yield* Effect.gen(function* () {
          const data = yield* OwnerData.OwnerData
          assert.strictEqual((yield* data.erase(ada))["blobs"], 2)
          assert.deepStrictEqual(yield* rows, [0, 0])
          if (database.startsWith("postgres")) return
          const sql = yield* Database.open
          yield* sql.run("VACUUM", [])
          yield* sql.run("PRAGMA wal_checkpoint(TRUNCATE)", [])
        }).pipe(Effect.provide(FileTalker.system(database)))
        if (!database.startsWith("postgres")) assert.isFalse(Fs.readFileSync(database).includes(mark))
      }),
    300_000
  )

describe("files of sessions", () => {
  suite("SQLite", SqliteDrivers.file, SqliteDrivers.file)

  it.scopedLive("in folders are used by the system instead of its own, and erased with the owner", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const root = `${file}.blobs`
      const system = FileTalker.system(file)
      const all = () =>
        Fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter(
          (entry) => entry.isFile() && Fs.readFileSync(`${entry.parentPath}/${entry.name}`).includes(mark)
        )
      yield* Effect.gen(function* () {
        yield* FileTalker.talk("My cat", [{ type: "file", data: png, mediaType: "image/png" }])
        assert.strictEqual((yield* BlobStore.BlobStore).name, "files")
        assert.lengthOf(all(), 1)
        assert.deepStrictEqual(yield* rows, [0, 2])
        const sessions = yield* SessionManager.SessionManager
        const id = SessionId.make(FileTalker.sessionId)
        assert.deepStrictEqual(Buffer.from(yield* sessions.file(id, image, { userId: ada })), png)
        yield* sessions.delete(id, { userId: ada })
        assert.lengthOf(all(), 0)
        yield* FileTalker.talk("Again", [{ type: "file", data: png, mediaType: "image/png" }])
        assert.lengthOf(all(), 1)
        yield* Effect.flatMap(OwnerData.OwnerData, (data) => data.erase(ada))
        assert.lengthOf(all(), 0)
      }).pipe(
        Effect.provide(Layer.provideMerge(system, Layer.provide(FileBlobStore.layer({ root }), NodeContext.layer)))
      )
    })
  )
})

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ empty, url }) => {
  suite("Postgres", Effect.as(Effect.ignore(empty), url), SqliteDrivers.file)
})
