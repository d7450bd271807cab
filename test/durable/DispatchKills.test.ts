import * as Fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Bundle from "../support/Bundle.js"
import * as Dispatchers from "../support/Dispatchers.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

/** Queued runs; `npm run test:crash` sets more. */
const RUNS = Number(process.env["DISPATCH_RUNS"] ?? 16)
const KILLS = Math.max(3, Math.floor(RUNS / 6))

describe("a process with a queue and schedules on SQLite", () => {
  it.scopedLive(
    "starts each queued run and each firing once, however often it is killed",
    () =>
      Effect.gen(function* () {
        const random = SeededRandom.make(Number(process.env["DISPATCH_SEED"] ?? 5))
        const folder = yield* SqliteDrivers.folder
        const effects = `${folder}/effects.txt`
        Fs.writeFileSync(effects, "")
        const program = yield* Bundle.make("DispatchRunner")
        const model = yield* Dispatchers.model
        const from = yield* Clock.currentTimeMillis
        const database = { file: `${folder}/runs.db` }
        const living: Array<Dispatchers.Process> = []
        let lives = 0
        const start = Effect.gen(function* () {
          const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
          const given = { name: `p${lives++}`, database, effects, model: model.url, from }
          const process = yield* Scope.extend(Dispatchers.start(program, given), scope)
          living.push(process)
          return { process, scope }
        })
        const ask = (call: Parameters<Dispatchers.Process["call"]>[0]) => Dispatchers.ask(random, living, call)
        const read: Dispatchers.Read = (text) => ask({ op: "sql", text })

        let life = yield* start
        for (const text of Dispatchers.audit("sqlite")) yield* ask({ op: "sql", text })
        for (const request of Dispatchers.plans) yield* ask({ op: "create", request })
        const requests = Dispatchers.requests(random, RUNS)
        const client = yield* Effect.fork(
          Effect.forEach(requests, (request, index) =>
            Effect.zipRight(
              index < RUNS / 2 ? Effect.void : Effect.sleep(random.below(400)),
              ask({ op: "enqueue", request })
            )
          )
        )
        for (let kill = 1; kill <= KILLS; kill++) {
          yield* Effect.sleep(300 + random.below(900))
          if (kill === 2) yield* ask({ op: "pause", id: "pausing", ...Dispatchers.ann })
          living.length = 0
          yield* life.process.kill("SIGKILL")
          yield* Scope.close(life.scope, Exit.void)
          // At last for so many minutes of the schedules that each policy leaves out some.
          yield* Effect.sleep(kill === KILLS ? "6 seconds" : random.below(300))
          life = yield* start
        }
        yield* ask({ op: "resume", id: "pausing", ...Dispatchers.ann })
        yield* Fiber.join(client)
        yield* Effect.sleep("1 second")
        yield* Dispatchers.decided(read)
        for (const { id } of Dispatchers.plans) yield* ask({ op: "pause", id, ...Dispatchers.ann })
        yield* Effect.repeat(Effect.delay(read(Dispatchers.isOver), "50 millis"), { until: (rows) => rows.length > 0 })

        const firings = yield* Dispatchers.check({ read, effects, requests, frozen: new Set() })
        yield* Effect.log(
          `${RUNS} queued runs, ${firings.runs} firings, ${JSON.stringify(firings.missed)} missed, ${KILLS} kills, ` +
            `${model.repeated()} model calls repeated`
        )
        assert.isAbove(firings.pauses, 0)
      }),
    600_000
  )
})
