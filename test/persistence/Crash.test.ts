/**
 * Processes that are killed while they write, and what their databases have kept. Two lives for each database; all fifty of them with
 * `npm run test:crash`.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Bundle from "../support/Bundle.js"
import * as Layers from "../support/crash/Layers.js"
import * as Workload from "../support/crash/Workload.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const lives = Number(process.env.CRASH_LIVES ?? 2)
const seed = Number(process.env.CRASH_SEED ?? 20_311)

/** The same numbers for the same seed: mulberry32. */
const randomFrom = (begin: number): ((most: number) => number) => {
  let state = begin
  return (most) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % most
  }
}

/** A writer that was heard to write so often, and killed then. All that it said. */
const killed = (bundle: string, input: { readonly url: string; readonly round: string }, after: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const program = yield* Programs.start(bundle, input)
      const lines: Array<string> = []
      while (lines.length < after) lines.push(yield* program.hear)
      const { signal } = yield* program.kill()
      assert.strictEqual(signal, "SIGKILL")
      return lines.concat(yield* program.rest)
    })
  )

const survived = (url: string, check: Effect.Effect<void, unknown, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const bundle = yield* Bundle.make("CrashWriter")
    const random = randomFrom(seed)
    const said: Array<string> = []
    for (let life = 0; life < lives; life++) {
      const after = 1 + random(60)
      const lines = yield* killed(bundle, { url, round: `${life}` }, after)
      said.push(...lines)
      // What was kept before is looked at again from time to time, and at the end.
      const isWhole = life % 10 === 9 || life === lives - 1
      const looked = yield* Effect.zipRight(check, Workload.verify(isWhole ? said : lines)).pipe(
        Effect.provide(Layers.make(url)),
        Effect.mapError((error) => `seed ${seed}, life ${life}, ${after} heard: ${error}`)
      )
      assert.strictEqual(looked, isWhole ? said.length : lines.length)
    }
  })

const time = 60_000 + lives * 20_000

describe("a kill in the middle of writes", () => {
  it.scopedLive(
    `leaves every acknowledged write in a SQLite file, ${lives} times`,
    () =>
      Effect.flatMap(SqliteDrivers.file, (file) =>
        survived(
          `sqlite:${file}`,
          Effect.flatMap(SqlClient.SqlClient, (client) =>
            Effect.map(client.unsafe("PRAGMA integrity_check"), (rows) =>
              assert.deepStrictEqual(rows, [{ integrity_check: "ok" }])
            )
          )
        )
      ),
    time
  )
})

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ url }) => {
  it.scopedLive(
    `leaves every write acknowledged to a killed client, ${lives} times`,
    () => survived(url, Effect.void),
    time
  )

  it.scopedLive(
    "leaves every write acknowledged before the server was killed",
    () =>
      Effect.gen(function* () {
        const server = yield* TestServers.ownPostgres()
        const bundle = yield* Bundle.make("CrashWriter")
        const random = randomFrom(seed)
        const times = Math.max(2, Math.floor(lives / 5))
        for (let life = 0; life < times; life++) {
          const lines = yield* Effect.scoped(
            Effect.gen(function* () {
              const program = yield* Programs.start(bundle, { url: server.url, round: `${life}` })
              const lines: Array<string> = []
              const after = 1 + random(60)
              while (lines.length < after) lines.push(yield* program.hear)
              yield* server.stop("kill")
              yield* program.ended
              return lines.concat(yield* program.rest)
            })
          )
          yield* server.start
          yield* Effect.provide(Workload.verify(lines), Layers.make(server.url))
        }
      }),
    time
  )
})
