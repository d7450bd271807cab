/** Opens and closes databases with libsql, and reports the number of open database files before and after closing. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly folder: string
  readonly databases: number
}

export interface Said {
  readonly most: number
  readonly left: number
}

Programs.main<Input>(({ input: { databases, folder }, say }) =>
  Effect.gen(function* () {
    const open = Effect.sync(
      () =>
        Fs.readdirSync("/proc/self/fd").filter((name) => {
          try {
            return Fs.readlinkSync(`/proc/self/fd/${name}`).startsWith(folder)
          } catch {
            return false
          }
        }).length
    )
    let most = 0
    for (let index = 0; index < databases; index++) {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqliteClient.make({ file: Path.join(folder, `${index}.db`), driver: "libsql" })
          yield* sql`CREATE TABLE t (n INTEGER)`
          for (let n = 0; n < 20; n++) yield* sql.withTransaction(sql`INSERT INTO t VALUES (${n})`)
          yield* sql`SELECT * FROM t`
        })
      )
      most = Math.max(most, yield* open)
      yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
    }
    const none = Effect.repeat(open, { schedule: Schedule.spaced("50 millis"), until: (count) => count === 0 })
    yield* Effect.timeoutOption(none, "20 seconds")
    const left = yield* open
    yield* say({ most, left } satisfies Said)
  })
)
