/** Processes of a cluster over one Postgres server, and what the server says of them. */
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pg from "pg"
import type * as DurableCluster from "../../src/cluster/DurableCluster.js"
import * as Bundle from "../support/Bundle.js"
import * as Programs from "../support/Programs.js"
import type { Input } from "../support/programs/ClusterRunner.js"

/** Quick settings, so that tests need not wait. */
export const settings: DurableCluster.Settings = {
  lockExpiration: "3 seconds",
  poll: "200 millis",
  shards: 24,
  drain: "5 seconds"
}

export const freePort: Effect.Effect<number> = Effect.async((resume) => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as Net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

export const bundle = Bundle.make("ClusterRunner")

export const journal = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-cluster-"))
    const file = Path.join(folder, "effects.txt")
    Fs.writeFileSync(file, "")
    return file
  }),
  (file) => Effect.sync(() => Fs.rmSync(Path.dirname(file), { recursive: true, force: true }))
)

export interface Runner extends Programs.Program {
  readonly name: string
  readonly port: number
  readonly startRuns: (runs: ReadonlyArray<string>) => Effect.Effect<void>
}

export const start = (program: string, given: Omit<Input, "port" | "settings"> & { readonly port?: number }) =>
  Effect.gen(function* () {
    const port = given.port ?? (yield* freePort)
    const process = yield* Programs.start(program, { settings, ...given, port } satisfies Input)
    const runner: Runner = {
      ...process,
      name: given.name,
      port,
      startRuns: (runs) => Effect.zipRight(process.say(runs), Effect.asVoid(process.hear))
    }
    return runner
  })

/** One statement on a connection of its own: the server may have been restarted. */
export const query = (url: string, sql: string): Effect.Effect<ReadonlyArray<Record<string, unknown>>> =>
  Effect.promise(async () => {
    const client = new Pg.default.Client({ connectionString: url, application_name: "test" })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query(sql)).rows as ReadonlyArray<Record<string, unknown>>
    } finally {
      await client.end()
    }
  })

const untilRows = (url: string, sql: string): Effect.Effect<ReadonlyArray<Record<string, unknown>>> =>
  Effect.flatMap(query(url, sql), (rows) =>
    rows.length > 0 ? Effect.succeed(rows) : Effect.zipRight(Effect.sleep("100 millis"), untilRows(url, sql))
  )

/** Waits until a statement gives rows, looking ten times a second, for at most four minutes. */
export const until = (url: string, sql: string): Effect.Effect<ReadonlyArray<Record<string, unknown>>> =>
  Effect.timeoutFailCause(untilRows(url, sql), {
    duration: "4 minutes",
    onTimeout: () => Cause.die(new Error(`There were no rows: ${sql}`))
  })

/** Waits until processes share all shards evenly: a process with few of them may have no run. */
export const untilShared = (url: string, processes: number) =>
  until(
    url,
    `SELECT 1 FROM (SELECT count(*) AS n FROM lex_cluster_locks GROUP BY address) AS held
    HAVING count(*) = ${processes} AND sum(n) = ${settings.shards} AND min(n) >= ${Math.floor(Number(settings.shards) / processes) - 2}`
  )

/** The tables in which runs write, besides those of the cluster itself. */
const written = [
  "lex_workflow_executions",
  "lex_workflow_activities",
  "lex_workflow_deferreds",
  "lex_run_events",
  "lex_run_records",
  "lex_session_turns",
  "lex_cluster_replies"
]

/** From now on the database notes who writes what, and who takes shards. */
export const audit = (url: string) =>
  query(
    url,
    `CREATE TABLE audit (n SERIAL, at TIMESTAMPTZ, app TEXT, what TEXT);
    CREATE FUNCTION note_write() RETURNS TRIGGER AS $$
      BEGIN
        INSERT INTO audit (at, app, what) VALUES (clock_timestamp(), current_setting('application_name'), TG_TABLE_NAME);
        RETURN NULL;
      END $$ LANGUAGE plpgsql;
    CREATE FUNCTION note_lock() RETURNS TRIGGER AS $$
      BEGIN
        IF TG_OP = 'INSERT' OR NEW.address <> OLD.address THEN
          INSERT INTO audit (at, app, what) VALUES (clock_timestamp(), current_setting('application_name'), 'lock');
        END IF;
        RETURN NULL;
      END $$ LANGUAGE plpgsql;
    ${written
      .map(
        (table) => `CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON ${table}
          FOR EACH ROW EXECUTE FUNCTION note_write();`
      )
      .join("\n")}
    CREATE TRIGGER audit AFTER INSERT OR UPDATE ON lex_cluster_locks FOR EACH ROW EXECUTE FUNCTION note_lock();`
  )

/** Runs of each state. */
export const states = (url: string) =>
  Effect.map(query(url, "SELECT state, count(*)::int AS n FROM lex_run_records GROUP BY state"), (rows) =>
    Object.fromEntries(rows.map(({ n, state }) => [String(state), Number(n)]))
  )

export const untilEnded = (url: string, runs: number) =>
  until(url, `SELECT 1 FROM lex_run_records WHERE ended_at IS NOT NULL HAVING count(*) >= ${runs}`)
