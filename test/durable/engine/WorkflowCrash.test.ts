import * as Fs from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Bundle from "../../support/Bundle.js"
import * as Programs from "../../support/Programs.js"
import * as SeededRandom from "../../support/SeededRandom.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

const kills = 12
const activities = 200

/** The numbers of the activities that the file holds. */
const stored = (file: string): Effect.Effect<ReadonlyArray<number>, unknown> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ readonly name: string }>`SELECT name FROM lex_workflow_activities`, (rows) =>
      rows.map(({ name }) => Number(name.slice("activity ".length)))
    )
  ).pipe(Effect.provide(SqliteClient.layer({ file, driver: "libsql" })))

describe("a workflow whose process is killed", () => {
  it.scopedLive(
    `runs no stored activity again, in ${kills} kills`,
    () =>
      Effect.gen(function* () {
        const folder = yield* SqliteDrivers.folder
        const file = `${folder}/workflows.db`
        const effects = `${folder}/effects.txt`
        Fs.writeFileSync(effects, "")
        const random = SeededRandom.make(7)
        const begun = () => Fs.readFileSync(effects, "utf8").split("\n").filter(Boolean).map(Number)
        const start = Programs.start(yield* Bundle.make("WorkflowRunner"), { file, effects, activities })
        let done: ReadonlyArray<number> = []
        for (let kill = 0; kill < kills; kill++) {
          const before = begun().length
          yield* Effect.scoped(
            Effect.gen(function* () {
              const program = yield* start
              // The first activity is the first that was not stored.
              assert.strictEqual(yield* program.hear, done.length)
              for (let left = random.below(15); left > 0; left--) yield* program.hear
              yield* program.kill()
            })
          )
          const stale = begun().slice(before)
          assert.deepStrictEqual(
            stale.filter((index) => done.includes(index)),
            []
          )
          done = yield* stored(file)
        }
        const last = yield* start
        const said = yield* last.rest
        assert.strictEqual(said.at(-1), `ended ${activities}`)
        assert.lengthOf(yield* stored(file), activities)
        // An activity begins again only if a kill came before its result was stored.
        assert.isAtMost(begun().length, activities + kills)
      }),
    600_000
  )
})
