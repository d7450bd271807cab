/** Processes of a cluster with sessions as entities: each with a scope of its own, on one database. */
import { Sharding } from "@effect/cluster/Sharding"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import * as AgentEntity from "../../src/cluster/entity/AgentEntity.js"
import * as ClusterSessions from "../../src/cluster/entity/ClusterSessions.js"
import * as SessionAddress from "../../src/cluster/entity/SessionAddress.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import type { LlmError } from "../../src/llm/model/LlmError.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as TestModel from "../../src/testing/TestModel.js"

export type Services =
  | AgentEntity.AgentEntity
  | Runs.Runs
  | DurableCluster.Services
  | SessionManager.SessionManager
  | SqlClient

export interface Process {
  readonly sessions: AgentEntity.Service
  readonly within: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.Effect<A, E>
  /** The texts of a session, oldest first. */
  readonly turns: (session: AgentEntity.SessionRequest) => Effect.Effect<ReadonlyArray<string>>
  /** Waits until the process has a number of shards, and returns how many. */
  readonly shards: (atLeast: number) => Effect.Effect<number>
  /** Ends it as a signal would. */
  readonly end: Effect.Effect<void>
}

export type Ports = Layer.Layer<DurableCluster.Services, unknown, SqlClient>

/** The text of the newest message of the user. */
export const saidIn = ({ messages }: LlmClient.LlmRequest): string => {
  const content = messages.findLast(({ role }) => role === "user")?.content
  return typeof content === "string"
    ? content
    : (content ?? []).map((part) => ("text" in part ? String(part.text) : "")).join("")
}

/** A model that answers what the function says of the newest message of the user. */
export const model = (
  answer: (said: string) => Effect.Effect<TestModel.Turn | string, LlmError>
): Layer.Layer<LlmClient.LlmClient> => TestModel.layer((request) => answer(saidIn(request)))

/** Answers at once. */
export const echo = model((said) => Effect.succeed(`re: ${said}`))

export const alone = (settings: DurableCluster.Settings = {}): Ports =>
  DurableCluster.layerSingle({ shards: 4, poll: "20 millis", drain: "2 seconds", ...settings })

export interface Given {
  readonly client: Layer.Layer<SqlClient>
  readonly model?: Layer.Layer<LlmClient.LlmClient> | undefined
  readonly agents?: ReadonlyArray<Agent.Agent<any, any, any>> | undefined
  readonly ports?: Ports | undefined
  readonly options?: ClusterSessions.Options | undefined
}

/** A process that a test leaves ends with the test. */
export const start = (given: Given): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const ports = given.ports ?? alone()
    const sessions = Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false })
    const app = ClusterSessions.layer(given.options).pipe(
      Layer.provideMerge(DurableRuns.layer({ agents: given.agents ?? [Agent.make("helper")], poll: "20 millis" })),
      Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })),
      Layer.provideMerge(ports),
      Layer.provideMerge(sessions),
      Layer.provide(given.model ?? echo),
      Layer.provideMerge(given.client)
    ) as Layer.Layer<Services>
    const context = yield* Layer.buildWithScope(app, scope)
    const within: Process["within"] = (effect) => Effect.provide(effect, context)
    return {
      within,
      sessions: yield* within(AgentEntity.AgentEntity),
      turns: ({ sessionId, userId }) =>
        within(
          Effect.flatMap(SessionManager.SessionManager, (manager) =>
            manager.turns(SessionId.make(sessionId), {
              last: 1000,
              ...(userId === undefined ? {} : { userId: UserId.make(userId) })
            })
          )
        ).pipe(
          Effect.map((turns) => turns.map(({ content }) => content)),
          Effect.orDie
        ),
      shards: (atLeast) =>
        within(
          Effect.flatMap(Sharding, (sharding) => {
            const held = Effect.sync(() => {
              const found = new Set<number>()
              for (let key = 0; key < 200; key++) {
                const shard = sharding.getShardId(`key-${key}` as never, "default")
                if (sharding.hasShardId(shard)) found.add(shard.id)
              }
              return found.size
            })
            return Effect.repeat(Effect.delay(held, "10 millis"), { until: (size) => size >= atLeast })
          })
        ),
      end: Scope.close(scope, Exit.void)
    }
  })

/** Waits until an effect gives true, looking a hundred times a second. */
export const until = <E, R>(effect: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.asVoid(Effect.repeat(Effect.delay(effect, "10 millis"), { until: (is) => is }))

/** A session that is in a process, with the run of its first message. */
export const sessionIn = (process: Process, messageId: string): Effect.Effect<AgentEntity.SessionRequest> =>
  process.within(
    Effect.gen(function* () {
      const sharding = yield* Sharding
      const isHere = (id: string) => sharding.hasShardId(sharding.getShardId(id as never, "default"))
      for (let number = 0; ; number++) {
        const session = { sessionId: SessionId.make(`session-${number}`), userId: UserId.make("ann") }
        const execution = yield* AgentWorkflow.executionOf(SessionAddress.runIdOf(session, messageId))
        if (isHere(SessionAddress.entityIdOf(session)) && isHere(execution)) return session
      }
    })
  )
