import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Bundle from "../support/Bundle.js"
import * as Dispatchers from "../support/Dispatchers.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"

/** Queued runs; `npm run test:crash` sets more. */
const RUNS = Number(process.env["DISPATCH_RUNS"] ?? 24)
/** Kills and freezes before the end of all processes. */
const BLOWS = Math.max(3, Math.floor(RUNS / 8))

const server = await PostgresServer.database()

/** A process at its place, and its scope. */
interface Life {
  readonly process: Dispatchers.Process
  readonly port: number
  readonly scope: Scope.CloseableScope
}

TestServers.suite("postgres", server, ({ url }) => {
  it.scopedLive(
    "starts each queued run and each firing once while processes are killed and frozen, and then all of them at once",
    () =>
      Effect.gen(function* () {
        const random = SeededRandom.make(Number(process.env["DISPATCH_SEED"] ?? 7))
        const program = yield* Bundle.make("DispatchRunner")
        const effects = yield* ClusterProcesses.journal
        const model = yield* Dispatchers.model
        const from = yield* Clock.currentTimeMillis
        const frozen = new Set<string>()
        const living: Array<Dispatchers.Process> = []
        let lives = 0
        const start = Effect.gen(function* () {
          const port = yield* ClusterProcesses.freePort
          const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
          const database = { url, port, settings: ClusterProcesses.settings }
          const given = { name: `p${lives++}`, database, effects, model: model.url, from }
          const process = yield* Scope.extend(Dispatchers.start(program, given), scope)
          living.push(process)
          return { process, port, scope } satisfies Life
        })
        const leave = ({ process }: Life) => living.splice(living.indexOf(process), 1)
        const kill = (life: Life) => Effect.zipRight(life.process.kill("SIGKILL"), Scope.close(life.scope, Exit.void))
        const read: Dispatchers.Read = (sql) => ClusterProcesses.query(url, sql)
        const ask = (call: Parameters<Dispatchers.Process["call"]>[0]) => Dispatchers.ask(random, living, call)

        const places: Array<Life> = yield* Effect.all([start, start, start], { concurrency: "unbounded" })
        for (const sql of Dispatchers.audit("postgres")) yield* read(sql)
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
        const freeze = (place: number) =>
          Effect.gen(function* () {
            const life = places[place]!
            leave(life)
            frozen.add(life.process.name)
            process.kill(life.process.pid, "SIGSTOP")
            yield* ClusterProcesses.until(
              url,
              `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lex_cluster_locks WHERE address = '127.0.0.1:${life.port}')`
            )
            yield* Effect.sleep(random.below(500))
            process.kill(life.process.pid, "SIGCONT")
            living.push(life.process)
          })
        let kills = 0
        for (let blow = 0; blow < BLOWS; ) {
          yield* Effect.sleep(300 + random.below(500))
          const [first, second] = random.shuffled([0, 1, 2]) as [number, number, number]
          const freezing = yield* Effect.fork(freeze(first))
          for (let left = 2; left > 0 && ++blow < BLOWS; left--) {
            yield* Effect.sleep(random.below(800))
            leave(places[second]!)
            yield* kill(places[second]!)
            kills++
            if (blow === 1) yield* ask({ op: "pause", id: "pausing", ...Dispatchers.ann })
            places[second] = yield* start
          }
          yield* Fiber.join(freezing)
          blow++
        }
        // Nobody is there for so many minutes of the schedules that each policy leaves some firings out.
        living.length = 0
        yield* Effect.all(places.map(kill), { concurrency: "unbounded" })
        yield* Effect.sleep("6 seconds")
        yield* Effect.all([start, start, start], { concurrency: "unbounded" })
        yield* ask({ op: "resume", id: "pausing", ...Dispatchers.ann })
        yield* Fiber.join(client)
        yield* Effect.sleep("1 second")
        yield* Dispatchers.decided(read)
        for (const { id } of Dispatchers.plans) yield* ask({ op: "pause", id, ...Dispatchers.ann })
        yield* ClusterProcesses.until(url, Dispatchers.isOver)

        const firings = yield* Dispatchers.check({ read, effects, requests, frozen })
        yield* Effect.log(
          `${RUNS} queued runs, ${firings.runs} firings, ${JSON.stringify(firings.missed)} missed, ${kills} kills, ` +
            `${frozen.size} freezes, ${model.repeated()} model calls repeated, ${firings.stale} stale steps`
        )
        assert.isAbove(firings.pauses, 0)
      }),
    600_000
  )
})
