/**
 * A whole application as one layer: agents and their runs, with sessions, memory and governance on one backend. What
 * servers and the command line need.
 *
 * @since 0.1.0
 */
import type { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Layer from "effect/Layer"
import type * as Agent from "../agent/definition/Agent.js"
import type { AgentConfigurationError } from "../agent/definition/AgentError.js"
import * as Steering from "../agent/record/Steering.js"
import * as LocalRuns from "../agent/runs/LocalRuns.js"
import type { Runs } from "../agent/runs/Runs.js"
import * as DurableRuns from "../durable/DurableRuns.js"
import * as SqlWorkflowEngine from "../durable/engine/SqlWorkflowEngine.js"
import type { WorkflowStorageError } from "../durable/engine/WorkflowStorageError.js"
import type { LlmClient } from "../llm/model/LlmClient.js"
import * as Lexigram from "../persistence/Lexigram.js"
import * as SqlDeltaFeed from "../persistence/run/SqlDeltaFeed.js"
import * as SqlSteering from "../persistence/run/SqlSteering.js"
import type * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"

/**
 * What an application provides besides its system.
 *
 * @since 0.1.0
 * @category models
 */
export type Out = Runs | PendingApprovals.PendingApprovals | ApprovalGate.ApprovalGate | Steering.Steering

/** People decide by `PendingApprovals`, and runs are steered by `Runs`: the layers of both are those of the runs. */
type Given = Omit<Lexigram.Replaceable, "approvals" | "steering">

/** Rejects misspelled options, which would be ignored otherwise. */
type NothingElse<L, Known extends string> = {
  readonly [K in Exclude<keyof L, keyof Given | keyof Lexigram.Settings | Known>]: never
}

type Agents = ReadonlyArray<Agent.Any>

type Provided = Lexigram.Out | Out

type Of<Out> = Layer.Layer<Out, any, any>

/**
 * Keeps everything in the memory of this process, and runs with it: for tests and first steps.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = <const A extends Agents, const L extends Given & Lexigram.Settings = {}>(
  agents: A,
  options?: (L & NothingElse<L, never>) | undefined
): Layer.Layer<
  Provided | Lexigram.PricesOf<L>,
  AgentConfigurationError | Lexigram.ConfigurationFailure | Lexigram.ErrorOf<L>,
  LlmClient | Lexigram.ContextOf<L> | Exclude<Agent.ServicesOf<A[number]>, Provided>
> => {
  const approvals = PendingApprovals.layerMemory()
  const steering = Steering.layer()
  const system: Of<any> = Lexigram.layerMemory({ ...(options as {}), approvals, steering })
  return LocalRuns.layer({ agents }).pipe(
    Layer.provideMerge(Layer.merge(approvals, steering)),
    Layer.provideMerge(system)
  ) as Of<any>
}

/** Durable runs on the database of a system. */
const durable = (agents: Agents, make: (given: Lexigram.Replaceable) => Of<any>): Of<any> => {
  const approvals = PendingApprovals.layer()
  const steering = SqlSteering.layer()
  return DurableRuns.layer({ agents }).pipe(
    Layer.provideMerge(Layer.mergeAll(approvals, steering, SqlDeltaFeed.layer, SqlWorkflowEngine.layerMigrated())),
    Layer.provideMerge(make({ approvals, steering }))
  ) as Of<any>
}

/**
 * Keeps everything in one SQLite file. Runs are durable: one whose process ended goes on in the next one.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Application } from "effect-lexigram/application"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 *
 * const application = Application.layerSqlite(agents, { file: "agents.db" }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 */
export const layerSqlite = <
  const A extends Agents,
  const L extends Given & Lexigram.Settings & Lexigram.SqliteSettings
>(
  agents: A,
  options: L & NothingElse<L, keyof Lexigram.SqliteSettings>
): Layer.Layer<
  Provided | Layer.Layer.Success<ReturnType<typeof Lexigram.layerSqlite<L>>> | WorkflowEngine,
  AgentConfigurationError | WorkflowStorageError | Layer.Layer.Error<ReturnType<typeof Lexigram.layerSqlite<L>>>,
  LlmClient | Lexigram.ContextOf<L> | Exclude<Agent.ServicesOf<A[number]>, Provided>
> => durable(agents, (given) => Lexigram.layerSqlite({ ...(options as Lexigram.SqliteSettings), ...given }))

/**
 * Keeps everything in one Postgres database, which any number of processes may use at once. Runs are durable.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPostgres = <
  const A extends Agents,
  const L extends Given & Lexigram.Settings & Lexigram.PostgresSettings
>(
  agents: A,
  options: L & NothingElse<L, keyof Lexigram.PostgresSettings>
): Layer.Layer<
  Provided | Layer.Layer.Success<ReturnType<typeof Lexigram.layerPostgres<L>>> | WorkflowEngine,
  AgentConfigurationError | WorkflowStorageError | Layer.Layer.Error<ReturnType<typeof Lexigram.layerPostgres<L>>>,
  LlmClient | Lexigram.ContextOf<L> | Exclude<Agent.ServicesOf<A[number]>, Provided>
> => durable(agents, (given) => Lexigram.layerPostgres({ ...(options as Lexigram.PostgresSettings), ...given }))
