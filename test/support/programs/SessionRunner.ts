/**
 * A process of a cluster with sessions as entities, until it gets a signal. It sends the messages that it hears of, and
 * says which ones were answered. Its model writes down when it begins and ends.
 */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as DurableCluster from "../../../src/cluster/DurableCluster.js"
import * as AgentEntity from "../../../src/cluster/entity/AgentEntity.js"
import * as ClusterSessions from "../../../src/cluster/entity/ClusterSessions.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly name: string
  readonly url: string
  readonly port: number
  /** What the model does, a line each. */
  readonly effects: string
  /** Milliseconds of each call of the model. */
  readonly thinking: number
  readonly settings: DurableCluster.Settings
}

export interface Sent {
  readonly sessionId: string
  readonly messageId: string
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

Programs.main<Input>(({ hear, input, say }) => {
  const did = (what: string) => Effect.sync(() => Fs.appendFileSync(input.effects, `${input.name} ${what}\n`))
  const model = Layer.succeed(LlmClient.LlmClient, {
    provider: "test",
    model: "m",
    complete: ({ messages }) => {
      const said = String(messages.findLast(({ role }) => role === "user")?.content)
      return did(`begin ${said}`).pipe(
        Effect.zipRight(Effect.sleep(input.thinking)),
        Effect.zipRight(did(`end ${said}`)),
        Effect.as({ content: [{ type: "text", text: `re: ${said}` }], finishReason: "stop", usage } as const)
      )
    }
  } satisfies LlmClient.Service)
  const ports = DurableCluster.layer({ host: "127.0.0.1", port: input.port, ...input.settings })
  const sessions = Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false })
  const app = ClusterSessions.layer().pipe(
    Layer.provide(DurableRuns.layer({ agents: [Agent.make("helper")], poll: "100 millis" })),
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })),
    Layer.provide(ports),
    Layer.provide(model),
    Layer.provide(
      PostgresClient.layer({ url: Redacted.make(input.url), maxConnections: 8, applicationName: input.name })
    )
  )
  const signal = Effect.async<void>((resume) => {
    process.once("SIGTERM", () => resume(Effect.void))
  })
  const serve = Effect.flatMap(AgentEntity.AgentEntity, ({ send }) =>
    Effect.forever(
      Effect.flatMap(hear, ({ messageId, sessionId }: Sent) =>
        send({ sessionId, userId: "ann", agent: "helper", messageId, input: `${sessionId} ${messageId}` }).pipe(
          Effect.matchEffect({
            onSuccess: ({ message }) => say({ messageId, message }),
            onFailure: (error) => say({ messageId, failed: `${error._tag} ${error.message}` })
          }),
          Effect.fork
        )
      )
    )
  )
  return Effect.zipRight(say("ready"), Effect.raceFirst(signal, serve)).pipe(
    // Messages are lines of the standard output.
    Effect.provide(
      Layer.provideMerge(app, Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
    )
  )
})
