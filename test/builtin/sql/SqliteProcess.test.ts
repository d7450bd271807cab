import * as Fs from "node:fs"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Bundle from "../../support/Bundle.js"
import * as Processes from "../../support/Processes.js"
import * as Programs from "../../support/Programs.js"
import type { Input } from "../../support/programs/SqlStatement.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

const root = Path.resolve(import.meta.dirname, "../../..")

const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

/** A program of its own, and the processes that read for it: their program is a copy that nobody else runs. */
const started = (input: Partial<Input>, withProgram = true) =>
  Effect.gen(function* () {
    const bundle = yield* Bundle.make("SqlStatement")
    const folder = Path.dirname(bundle)
    const copy = Path.join(folder, "SqliteProcess.mjs")
    const sqlite = yield* SqliteDrivers.file
    yield* Effect.sync(() => {
      if (withProgram) {
        Fs.copyFileSync(Path.join(root, "src/builtin/sql/SqliteProcess.mjs"), copy)
        Fs.mkdirSync(Path.join(folder, "node_modules"))
        for (const name of ["libsql", "@libsql", "@neon-rs", "detect-libc"]) {
          const installed = Path.join(root, "node_modules", name)
          if (Fs.existsSync(installed)) Fs.symlinkSync(installed, Path.join(folder, "node_modules", name))
        }
      }
      Fs.writeFileSync(sqlite, "")
    })
    const given: Input = { sqlite, sql: endless, timeout: 60_000, maxConcurrent: 4, statements: 1, ...input }
    const program = yield* Programs.start(bundle, given)
    const readers = () => Processes.running(`${process.execPath} --max-old-space-size=128 ${copy}`).length
    return { program, readers }
  })

describe("SqliteProcess", () => {
  it.scopedLive("leaves no process after an interrupted statement", () =>
    Effect.gen(function* () {
      const { program, readers } = yield* started({})
      yield* Processes.eventually(() => readers() === 1, 60_000)
      yield* program.say("stop")
      assert.deepStrictEqual(yield* program.hear, ["stopped"])
      assert.strictEqual(readers(), 0)
    })
  )

  it.scopedLive("leaves no process after a statement that timed out", () =>
    Effect.gen(function* () {
      const { program, readers } = yield* started({ timeout: 1000 })
      assert.deepStrictEqual(yield* program.hear, ["Timeout"])
      assert.strictEqual(readers(), 0)
    })
  )

  it.scopedLive("ends the reading process when the program is killed", () =>
    Effect.gen(function* () {
      const { program, readers } = yield* started({})
      yield* Processes.eventually(() => readers() === 1, 60_000)
      yield* program.kill("SIGKILL")
      yield* Processes.eventually(() => readers() === 0, 60_000)
    })
  )

  it.scopedLive("limits concurrent reading processes to the option", () =>
    Effect.gen(function* () {
      const { program, readers } = yield* started({ maxConcurrent: 2, statements: 5, timeout: 3000 })
      let most = 0
      yield* Effect.raceFirst(
        program.hear,
        Effect.forever(
          Effect.zipRight(
            Effect.sleep(20),
            Effect.sync(() => {
              most = Math.max(most, readers())
            })
          )
        )
      )
      assert.strictEqual(most, 2)
      assert.strictEqual(readers(), 0)
    })
  )

  it.scopedLive("says that a bundle lacks the program", () =>
    Effect.gen(function* () {
      const { program } = yield* started({}, false)
      assert.deepStrictEqual(yield* program.hear, ["Configuration"])
    })
  )
})
