/**
 * Runs that are taken as values while they wait for people: for places without a process that stays, such as functions
 * that are started for each request.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { AgentExecutor } from "../agent/AgentExecutor.js"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import type { AgentConfigurationError } from "../agent/definition/AgentError.js"
import { RunError, type RunFailedError } from "../agent/record/RunError.js"
import * as RunRefusal from "../agent/runs/RunRefusal.js"
import * as Runs from "../agent/runs/Runs.js"
import * as BlobStore from "../content/BlobStore.js"
import type { AgentResponse } from "../domain/AgentResponse.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as ExactJson from "../persistence/engine/ExactJson.js"
import * as Migrations from "../persistence/schema/Migrations.js"
import * as SqliteClient from "../persistence/sqlite/SqliteClient.js"
import type { ApprovalDecision } from "../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../tool/approval/ApprovalStore.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import type * as AgentVersions from "./AgentVersions.js"
import * as AgentWorkflow from "./AgentWorkflow.js"
import * as Durable from "./Durable.js"
import * as DurableRuns from "./DurableRuns.js"
import type { WorkflowStorageError } from "./engine/WorkflowStorageError.js"
import * as RunUpkeep from "./RunUpkeep.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>, E, R>
  extends Omit<DurableRuns.Options<Agents>, "poll"> {
  /** The executor of the runs over what they are kept on: `Agents.layerWith({ log: ports, approvals: ports, … })`. */
  readonly executor: (ports: Layer.Layer<Durable.Ports>) => Layer.Layer<AgentExecutor, E, R>
}

/**
 * How far a run has got: it has ended, or it waits until somebody answers one of `requests`. `state` is all that the
 * run has recorded. It grows with the run. Whoever can change it can change what the run believes to have happened, so
 * it stays where users do not reach it, or is signed.
 *
 * @since 0.1.0
 * @category models
 */
export type Progress =
  | { readonly _tag: "Ended"; readonly runId: string; readonly response: AgentResponse<unknown> }
  | {
      readonly _tag: "Waiting"
      readonly runId: string
      readonly state: string
      readonly requests: ReadonlyArray<ApprovalRecord>
    }

/**
 * Decisions by the ids of their requests. Requests that are not decided go on waiting.
 *
 * @since 0.1.0
 * @category models
 */
export type Answers = Readonly<Record<string, ApprovalDecision>>

/**
 * @since 0.1.0
 * @category models
 */
export interface Runner<E, R> {
  /** Runs until the run ends or waits. Failures as of `Runs.start` and `Runs.await`. */
  readonly start: (request: Runs.StartRequest) => Effect.Effect<Progress, E, R>
  /**
   * Goes on with a run: in another process, with another version of the library, days later. Fails with `invalid` if
   * the state cannot be read, with `not-waiting` or `invalid` for an answer that does not fit. The state remains valid:
   * the same state with other answers is another course of the run, with the same id.
   */
  readonly resume: (state: string, answers: Answers) => Effect.Effect<Progress, E, R>
}

/** Parents before children, and what runs are kept on before what finds them. */
const TABLES = [
  "lex_runs",
  "lex_run_events",
  "lex_run_records",
  "lex_run_labels",
  "lex_approvals",
  "lex_decisions",
  "lex_workflow_executions",
  "lex_workflow_activities",
  "lex_workflow_deferreds",
  "lex_workflow_clocks"
] as const

const Row = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const State = Schema.Struct({
  version: Schema.Literal(1),
  runId: Schema.String,
  rows: Schema.Record({ key: Schema.Literal(...TABLES), value: Schema.Array(Row) })
})
type State = typeof State.Type
const decodeState = Schema.decodeUnknown(State, { onExcessProperty: "error" })

const unreadable = new RunError({
  reason: "invalid",
  message: "The state of the run cannot be read",
  hint: "Give the text that `start` or `resume` returned, unchanged, to this or a later version of the library"
})

const decode = (text: string): Effect.Effect<State, RunError> =>
  Effect.try({ try: () => ExactJson.decode(text), catch: () => unreadable }).pipe(
    Effect.flatMap(decodeState),
    Effect.mapError(() => unreadable)
  )

const taken = (runId: string): Effect.Effect<string, never, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      Effect.orDie(
        Effect.forEach(TABLES, (table) =>
          Effect.map(sql`SELECT * FROM ${sql(table)}`, (rows) => [table, rows] as const)
        )
      ),
      (rows) => ExactJson.encode({ version: 1, runId, rows: Object.fromEntries(rows) })
    )
  )

/** Names of columns are those of the tables, since a state may come from a stranger. No runner has the run any more. */
const putBack = ({ rows }: State): Effect.Effect<void, RunError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const table of TABLES) {
      const columns = yield* sql<{ readonly name: string }>`SELECT name FROM pragma_table_info(${table})`
      const known = new Set(columns.map(({ name }) => name))
      for (const row of rows[table]) {
        if (!Object.keys(row).every((name) => known.has(name))) return yield* unreadable
        yield* sql`INSERT INTO ${sql(table)} ${sql.insert("runner_id" in row ? { ...row, runner_id: null } : row)}`
      }
    }
  }).pipe(
    (insert) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(insert)),
    Effect.catchTag("SqlError", () => unreadable)
  )

type Failure = RunError | RunFailedError | AgentConfigurationError | Migrations.MigrationFailure | WorkflowStorageError

type Kept = Durable.Ports | Runs.Runs | SqlClient.SqlClient

/** The run when it has ended or sleeps. */
const progress = (runId: string): Effect.Effect<Progress, RunError | RunFailedError, Kept> =>
  Effect.gen(function* () {
    const engine = yield* WorkflowEngine
    const executionId = yield* AgentWorkflow.executionOf(runId)
    const polled = engine.poll(AgentWorkflow.workflow, executionId)
    let result = yield* polled
    while (result === undefined) result = yield* Effect.delay(polled, "2 millis")
    if (result._tag !== "Suspended") return { _tag: "Ended" as const, runId, response: yield* Runs.await(runId) }
    const pending = yield* PendingApprovals.PendingApprovals
    const requests = yield* Effect.mapError(pending.list(), RunRefusal.unanswered)
    return { _tag: "Waiting" as const, runId, state: yield* taken(runId), requests }
  }).pipe(SystemAccess.grant)

/** Gives the answers, and wakes the run. */
const answered = (runId: string, answers: Answers): Effect.Effect<void, RunError, Kept> =>
  Effect.forEach(Object.entries(answers), ([id, decision]) => Runs.answer(id, decision), { discard: true }).pipe(
    Effect.zipRight(Effect.flatMap(WorkflowEngine, (engine) => RunUpkeep.wake(engine, runId))),
    SystemAccess.grant
  )

/**
 * What agents need besides the executor and what runs are kept on.
 *
 * @since 0.1.0
 * @category type utils
 */
export type ServicesOf<Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>> = Exclude<
  DurableRuns.ServicesOf<Agents>,
  AgentExecutor | Durable.Ports
>

type AnyOptions = Options<ReadonlyArray<Agent.Any>, unknown, unknown>

const makeAny = (options: AnyOptions): Runner<unknown, unknown> => {
  const within = (state: State | undefined, use: Effect.Effect<Progress, RunError | RunFailedError, Kept>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const migrated = Layer.provideMerge(Migrations.layer, SqliteClient.layer({ file: ":memory:" }))
        const client = yield* Layer.build(migrated)
        if (state !== undefined) yield* Effect.provide(putBack(state), client)
        // The state is whole: nobody would remove blobs when nobody keeps it any more.
        const kept = yield* Effect.mapInputContext(
          Layer.build(Durable.layerSql()),
          (given: Context.Context<SqlClient.SqlClient | Scope.Scope>) =>
            Context.omit(BlobStore.BlobStore)(Context.merge(given, client)) as typeof given
        )
        const ports = Layer.succeedContext(kept)
        const runs = yield* Layer.build(Layer.provide(DurableRuns.layer(options), [options.executor(ports), ports]))
        return yield* use.pipe(Effect.provide(runs), Effect.provide(kept), Effect.provide(client))
      })
    )
  return {
    start: (request) =>
      within(
        undefined,
        Effect.flatMap(Runs.start(request), ({ runId }) => progress(runId))
      ),
    resume: (state, answers) =>
      Effect.flatMap(decode(state), (decoded) =>
        within(decoded, Effect.zipRight(answered(decoded.runId, answers), progress(decoded.runId)))
      )
  }
}

/**
 * Runs without a place where they are kept: each call has a database of its own in memory, and a run that waits is
 * given out as a text. Nothing is kept between calls.
 *
 * @example
 * ```ts
 * import { Agent, Agents } from "effect-lexigram"
 * import { SuspendedRun } from "effect-lexigram/durable"
 *
 * const runs = SuspendedRun.make({
 *   agents: [Agent.make("clerk", { system: "You refund orders." })],
 *   executor: (ports) => Agents.layerWith({ log: ports, approvals: ports })
 * })
 *
 * const first = runs.start({ agent: "clerk", input: "Refund order 7" })
 *
 * const next = (state: string, requestId: string) => runs.resume(state, { [requestId]: { _tag: "Approved" } })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>, E, R>(
  options: Options<Agents, E, R>
): Runner<E | Failure, R | ServicesOf<Agents>> => makeAny(options as never) as never
