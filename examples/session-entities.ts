/**
 * A session as an entity of a cluster: its messages are kept in the database and answered one after another, also those
 * that wait when a process ends. Here two processes follow each other on one SQLite file; several at once share Postgres.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Agent } from "effect-lexigram"
import { Agents } from "effect-lexigram/agent"
import { AgentEntity, ClusterSessions, DurableCluster } from "effect-lexigram/cluster"
import { DurableRuns } from "effect-lexigram/durable"
import { SqliteClient, SqlSessionStore } from "effect-lexigram/persistence"
import { Sessions } from "effect-lexigram/session"
import { TestModel } from "effect-lexigram/testing"

const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-session-"))

/** A process whose model takes some time for an answer. */
const start = (name: string, delay: "10 millis" | "1 hour") =>
  Effect.gen(function* () {
    const model = TestModel.layer(({ messages }) => ({
      text: `${name} answers message ${messages.filter(({ role }) => role === "user").length}`,
      delay
    }))
    const ports = DurableCluster.layerSingle({ poll: "50 millis", drain: "100 millis" })
    const sessions = Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false })
    const app = ClusterSessions.layer({ maxWaiting: 10 }).pipe(
      Layer.provide(DurableRuns.layer({ agents: [Agent.make("helper", { limits: { llmTimeout: "2 hours" } })] })),
      Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })),
      Layer.provide(ports),
      Layer.provide(model),
      Layer.provide(SqliteClient.layer({ file: Path.join(folder, "runs.db") }))
    )
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(app, scope)
    return { ...(yield* Effect.provide(AgentEntity.AgentEntity, context)), end: Scope.close(scope, Exit.void) }
  })

const session = { sessionId: "s1", userId: "ann" }
const message = (number: number) => ({
  ...session,
  agent: "helper",
  input: `Message ${number}`,
  messageId: `m${number}`
})

const program = Effect.gen(function* () {
  const first = yield* start("The first process", "1 hour")
  for (const number of [1, 2, 3]) yield* Effect.fork(first.send(message(number)))
  yield* Effect.repeat(Effect.delay(first.status(session), "20 millis"), { until: ({ waiting }) => waiting === 2 })
  console.log("one message is being answered, two wait")
  yield* first.end
  console.log("the first process has ended")

  const second = yield* start("The second process", "10 millis")
  // Sent again, they are the same messages.
  for (const number of [3, 1, 2]) console.log((yield* second.send(message(number))).message)
  yield* second.end
})

await Effect.runPromise(
  Effect.ensuring(
    program,
    Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
  )
)
