import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig } from "effect-lexigram/cli"
import { TestModel } from "effect-lexigram/testing"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Commands from "../support/Commands.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"

const agents = [Agent.make("clerk", { system: "You help." })]

/** What a terminal could obey, line ends aside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u202e]/

const temporary = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-db-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

const application = (file: string) =>
  CliConfig.make({
    agents,
    layer: Layer.provide(
      Application.layerSqlite(agents, { file }),
      TestModel.layer(() => "hi")
    )
  })

/** Runs statements on a file. */
const execute = (file: string, ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const client = yield* SqlClient.SqlClient
    for (const statement of statements) yield* client.unsafe(statement)
  }).pipe(Effect.provide(SqliteClient.layer({ file })))

const { version } = Migrations

describe("lexigram db", () => {
  it.scopedLive("migrates the database of the application, and says from which version", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporary, "agents.db")
      const first = yield* Commands.runWith(application(file), ["db", "migrate"])
      assert.strictEqual(first.code, 0, first.err)
      assert.strictEqual(first.out, `From version 0 to version ${version}\n`)
      const again = yield* Commands.runWith(application(file), ["db", "migrate"])
      assert.strictEqual(again.out, `Version ${version}: there was nothing to do\n`)
      const { json } = yield* Commands.runWith(application(file), ["db", "check", "--json"])
      assert.deepStrictEqual(json, { dialect: "sqlite", version, needed: version, problems: [] })
    })
  )

  it.scopedLive("migrates a file, and leaves one of a newer library as it is", () =>
    Effect.gen(function* () {
      const file = Path.join(yield* temporary, "agents.db")
      const first = yield* Commands.run(["db", "migrate", "--file", file, "--json"])
      assert.deepStrictEqual(first.json, { from: 0, to: version })
      const last = `DELETE FROM lex_migrations WHERE version = ${version}`
      yield* execute(file, last, "DROP TABLE lex_experiments").pipe(Effect.ignore)
      yield* execute(file, `INSERT INTO lex_migrations (version, name, applied_at) VALUES (${version + 1}, 'later', 0)`)
      const newer = yield* Commands.run(["db", "migrate", "--file", file])
      assert.strictEqual(newer.code, 3)
      assert.include(newer.err, "newer version")
      const check = yield* Commands.run(["db", "check", "--file", file])
      assert.strictEqual(check.code, 7)
      assert.include(check.out, `of version ${version + 1}`)
    })
  )

  it.scopedLive("finds damage, references to nothing and other tables, and changes nothing", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const file = Path.join(folder, "agents.db")
      const check = (...args: ReadonlyArray<string>) => Commands.run(["db", "check", "--file", file, ...args])
      yield* execute(file, "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
      const empty = yield* check()
      assert.strictEqual(empty.code, 7)
      assert.include(empty.out, "has not the tables")
      yield* Commands.run(["db", "migrate", "--file", file])
      assert.strictEqual((yield* check()).out, `sqlite, version ${version}: no problems\n`)

      yield* execute(
        file,
        "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
        'CREATE TABLE "a\u001b[2J" (parent INTEGER REFERENCES parents (id) DEFERRABLE)'
      )
      yield* execute(file, "PRAGMA foreign_keys = OFF", 'INSERT INTO "a\u001b[2J" VALUES (5)')
      const references = yield* check()
      assert.strictEqual(references.code, 7, references.out)
      assert.include(references.out, "refers to a row of parents that is not there")
      assert.notMatch(references.out, obeyed)
      yield* execute(file, 'DROP TABLE "a\u001b[2J"')

      yield* execute(
        file,
        "UPDATE lex_migrations SET name = 'another' WHERE version = 2",
        ...Array.from({ length: 200 }, (_, i) => `INSERT INTO notes VALUES (${i}, '${"x".repeat(1000)}')`)
      )
      const renamed = (yield* check("--json")).json
      assert.lengthOf(renamed.problems, 1)
      assert.include(renamed.problems[0], "another")

      const bytes = Fs.readFileSync(file)
      const at = bytes.lastIndexOf("x".repeat(500))
      bytes.fill(0xff, at - (at % 4096), at - (at % 4096) + 4096)
      Fs.writeFileSync(file, bytes)
      const damaged = yield* check()
      assert.strictEqual(damaged.code, 7)
      assert.isAbove(damaged.out.split("\n").length, 1)
      assert.isTrue(Fs.readFileSync(file).equals(bytes))
    })
  )

  it.scopedLive("copies a database into a new file only", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      const [file, copy] = [Path.join(folder, "agents.db"), Path.join(folder, "copy.db")]
      const backup = () => Commands.runWith(application(file), ["db", "backup", copy, "--json"])
      const first = yield* backup()
      assert.strictEqual(first.code, 0, first.err)
      assert.deepStrictEqual(first.json, { file: copy, bytes: Fs.statSync(copy).size })
      assert.strictEqual((yield* Commands.run(["db", "check", "--file", copy])).code, 0)
      const bytes = Fs.readFileSync(copy)
      const second = yield* backup()
      assert.notStrictEqual(second.code, 0)
      assert.include(second.err, "Give a path where nothing is")
      assert.isTrue(Fs.readFileSync(copy).equals(bytes))
      const missing = yield* Commands.run(["db", "backup", copy, "--file", Path.join(folder, "none.db")])
      assert.notStrictEqual(missing.code, 0)
      assert.isFalse(Fs.existsSync(Path.join(folder, "none.db")))
    })
  )

  it.scopedLive("says that an application has no database, and that a server shows none", () =>
    Effect.gen(function* () {
      const config = CliConfig.make({
        agents,
        layer: AgentServers.services({ agents }) as Layer.Layer<CliConfig.Services>
      })
      for (const args of [["migrate"], ["check"], ["backup", "copy.db"]]) {
        const ended = yield* Commands.runWith(config, ["db", ...args])
        assert.strictEqual(ended.code, 3, ended.err)
        assert.include(ended.err, "Application.layerSqlite")
        const remote = yield* Commands.run(["db", ...args, "--url", "http://127.0.0.1:1"])
        assert.strictEqual(remote.code, 3)
      }
    })
  )
})

const database = await PostgresServer.database()

TestServers.suite("postgres", database, ({ kept }) => {
  describe("lexigram db on Postgres", () => {
    it.scopedLive("migrates and checks, and names the program that copies", () =>
      Effect.gen(function* () {
        const services = AgentServers.services({ agents }) as Layer.Layer<CliConfig.Services>
        const config = CliConfig.make({ agents, layer: Layer.provideMerge(services, kept) })
        const run = (...args: ReadonlyArray<string>) => Commands.runWith(config, ["db", ...args, "--json"])
        assert.strictEqual((yield* run("check")).code, 7)
        assert.deepStrictEqual((yield* run("migrate")).json, { from: 0, to: version })
        const checked = yield* run("check")
        assert.deepStrictEqual([checked.code, checked.json.dialect, checked.json.problems], [0, "postgres", []])
        const backup = yield* run("backup", "copy.dump")
        assert.strictEqual(backup.code, 3)
        assert.include(backup.err, "pg_dump")
      })
    )
  })
})
