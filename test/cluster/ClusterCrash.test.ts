import * as Fs from "node:fs"
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"

/** Sessions with one run each; `npm run test:crash` sets 200. */
const RUNS = Number(process.env.CLUSTER_RUNS ?? 24)

const server = await TestServers.postgres()

const linesOf = (file: string): ReadonlyArray<string> => Fs.readFileSync(file, "utf8").trim().split("\n")

const taskOf = (line: string): string => line.slice(line.indexOf(" ") + 1)

/** What was done more than once, whichever process did it. */
const repeated = (lines: ReadonlyArray<string>, what: string): ReadonlyArray<string> => {
  const done = lines.map(taskOf).filter((line) => line.startsWith(what))
  return done.filter((line, index) => done.indexOf(line) !== index)
}

/** The runs that go on in a process. */
const runsOf = ({ port }: ClusterProcesses.Runner): string =>
  `SELECT count(*)::int AS n FROM lex_workflow_executions e
  JOIN lex_cluster_processes p ON e.runner_id LIKE '@' || p.id || '/%'
  WHERE e.status = 0 AND p.address = '127.0.0.1:${port}' HAVING count(*) > 0`

TestServers.suite("postgres", server, () => {
  it.scopedLive(
    "ends all runs once while one process is killed, one is frozen, and the database restarts",
    () =>
      Effect.gen(function* () {
        const postgres = yield* TestServers.ownPostgres()
        const { url } = postgres
        const program = yield* ClusterProcesses.bundle
        const effects = yield* ClusterProcesses.journal
        const runner = (name: string) => ClusterProcesses.start(program, { name, url, effects, thinking: 300 })
        // At once, on a database without tables.
        const [one, two, three] = yield* Effect.all([runner("one"), runner("two"), runner("three")], {
          concurrency: "unbounded"
        })
        for (const each of [one, two, three]) assert.strictEqual(yield* each.hear, "ready")
        yield* ClusterProcesses.audit(url)
        yield* ClusterProcesses.untilShared(url, 3)
        const ids = Array.from({ length: RUNS }, (_, number) => `run-${number}`)
        const third = Math.ceil(RUNS / 3)
        yield* Effect.all(
          [one, two, three].map((each, index) => each.startRuns(ids.slice(index * third, (index + 1) * third))),
          { concurrency: "unbounded" }
        )

        // Frozen in the midst of its runs, until the others have its shards and its runs.
        yield* ClusterProcesses.until(url, runsOf(two))
        process.kill(two.pid, "SIGSTOP")
        const [frozen] = yield* ClusterProcesses.until(url, runsOf(two))
        assert.isAbove(Number(frozen?.["n"]), 0, "runs of the frozen process")
        const frozenAt = yield* Clock.currentTimeMillis
        yield* ClusterProcesses.until(
          url,
          `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lex_cluster_locks WHERE address = '127.0.0.1:${two.port}')`
        )
        const takenAfter = (yield* Clock.currentTimeMillis) - frozenAt
        // Until a run is taken, what its last process writes is still its only history.
        yield* ClusterProcesses.until(url, `SELECT 1 WHERE NOT EXISTS (${runsOf(two)})`)
        const [thaw] = yield* ClusterProcesses.query(url, "SELECT max(n) AS n FROM audit")
        process.kill(two.pid, "SIGCONT")
        yield* Effect.sleep("1 second")

        yield* three.kill("SIGKILL")
        const killedAt = yield* Clock.currentTimeMillis
        yield* ClusterProcesses.until(
          url,
          `SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM lex_cluster_locks WHERE address = '127.0.0.1:${three.port}')`
        )
        const killTakenAfter = (yield* Clock.currentTimeMillis) - killedAt
        yield* postgres.stop("immediate")
        yield* postgres.start

        yield* ClusterProcesses.untilEnded(url, RUNS)
        assert.deepStrictEqual(yield* ClusterProcesses.states(url), { completed: RUNS })
        const lines = linesOf(effects)
        // What a process was about to do when it was frozen, it does when it goes on: after its last look at the
        // database, and before whoever receives it. Few steps of a process are between the two at a time.
        const twice = repeated(lines, "pay")
        assert.isAtMost(twice.length, 2)
        assert.deepStrictEqual(
          twice.filter((task) => !lines.includes(`two ${task}`)),
          []
        )
        for (const run of ids) {
          for (const step of [0, 2]) {
            assert.isTrue(
              lines.some((line) => line.endsWith(` pay ${run} ${step}`)),
              `${run} paid ${step}`
            )
          }
        }
        // What the frozen process wrote between its thaw and the first shard that it took again.
        const stale = yield* ClusterProcesses.query(
          url,
          `SELECT what, count(*)::int AS n FROM audit WHERE app = 'two' AND what <> 'lock' AND n > ${Number(thaw?.["n"] ?? 0)}
            AND n < COALESCE((SELECT min(n) FROM audit WHERE app = 'two' AND what = 'lock' AND n > ${Number(thaw?.["n"] ?? 0)}), 2147483647)
          GROUP BY what`
        )
        assert.deepStrictEqual(stale, [])
        const turns = yield* ClusterProcesses.query(
          url,
          "SELECT DISTINCT count(*)::int AS n FROM lex_session_turns GROUP BY session_id"
        )
        const sessions = yield* ClusterProcesses.query(
          url,
          "SELECT count(DISTINCT session_id)::int AS n FROM lex_session_turns"
        )
        assert.deepStrictEqual([turns.length, sessions[0]?.["n"]], [1, RUNS])
        const events = yield* ClusterProcesses.query(
          url,
          `SELECT run_id FROM lex_run_events WHERE body LIKE '%"_tag":"Finished"%' GROUP BY run_id HAVING count(*) = 1`
        )
        assert.strictEqual(events.length, RUNS)
        const doubled = yield* ClusterProcesses.query(
          url,
          `SELECT run_id, place, count(*) FROM (
            SELECT run_id, substring(body from '"place":"([^"]*)"') AS place FROM lex_run_events) e
          WHERE place IS NOT NULL GROUP BY run_id, place HAVING count(*) > 1`
        )
        assert.deepStrictEqual(doubled, [])
        const asked = repeated(lines, "ask").length
        yield* Effect.log(
          `${RUNS} runs, shards taken ${Math.round(takenAfter)} ms after the freeze and ${Math.round(killTakenAfter)} ms ` +
            `after the kill, ${asked} model calls repeated`
        )
        for (const each of [one, two]) {
          assert.deepStrictEqual(yield* each.kill("SIGTERM"), { code: 0, signal: null })
        }
      }),
    600_000
  )
})
