/**
 * Runs of agents as workflows of `@effect/workflow`: every step is recorded, and a run goes on where it stopped.
 *
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Any as AnyAgent } from "../agent/definition/AgentDefinition.js"
import { RunPolicy } from "../agent/record/RunPolicy.js"
import { NotUndone } from "../agent/record/RunRecord.js"
import * as Content from "../content/Content.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import type * as RunLog from "../observability/RunLog.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import type { Service as RunFence } from "./engine/RunFence.js"
import type * as WorkflowJournal from "./engine/WorkflowJournal.js"
import * as FailureCodec from "./FailureCodec.js"

const NAME = "effect-lexigram/durable/AgentWorkflow"

/**
 * The request of a run, as its workflow keeps it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Payload = Schema.Struct({
  runId: Schema.String,
  agent: Schema.String,
  /** The version of the agent that begins and ends the run. */
  version: Schema.optional(Schema.String),
  /** When the run was started, in milliseconds since the epoch. */
  startedAt: Schema.Number,
  /** Started by the system, for no user. */
  system: Schema.optional(Schema.Boolean),
  input: Schema.Union(Schema.String, Schema.Array(Content.Content)),
  sessionId: Schema.optional(Schema.String),
  userId: Schema.optional(Schema.String),
  tenantId: Schema.optional(Schema.String),
  classifications: Schema.optional(Schema.Array(Schema.String)),
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy),
  history: Schema.optional(Schema.Array(Schema.Any)),
  startWith: Schema.optional(Schema.Literal("last", "called")),
  /** The run whose records the run takes until its step of this number begins, from 0. */
  fork: Schema.optional(Schema.Struct({ runId: Schema.String, step: Schema.NonNegativeInt }))
})
/**
 * @since 0.1.0
 * @category models
 */
export type Payload = typeof Payload.Type

const notUndone = Schema.optional(Schema.Array(NotUndone))

/**
 * How a run ended. Its response is what its events amount to (`AgentResponse.fromEvents`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Union(
  /** `output` is encoded by the schema of the agent; without one it is absent. */
  Schema.TaggedStruct("Completed", { output: Schema.optional(Schema.Unknown) }),
  Schema.TaggedStruct("Failed", { failure: FailureCodec.Encoded, notUndone }),
  Schema.TaggedStruct("Interrupted", { notUndone })
).annotations({ identifier: `${NAME}/Outcome` })
/**
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type

/**
 * The workflow of every run, keyed by the id of the run.
 *
 * @since 0.1.0
 * @category constants
 */
export const workflow: Workflow.Workflow<"AgentRun", typeof Payload, typeof Outcome, typeof Schema.Never> =
  Workflow.make({
    name: "AgentRun",
    payload: Payload,
    success: Outcome,
    // The key under which databases find the run: by it, the execution is erased with the data of its owner.
    idempotencyKey: ({ runId }) => IndexKey.of(runId)
  })

/**
 * Done to ask a run to end, in whatever process it is.
 *
 * @category constants
 */
export const interruption: DurableDeferred.DurableDeferred<typeof Schema.Void> = DurableDeferred.make("interruption")

/** @category models */
export type Failed = Extract<Outcome, { readonly _tag: "Failed" }>

/** The failure of a run as a cause. */
export const causeOf = (failures: FailureCodec.FailureCodec, { failure }: Failed): Cause.Cause<unknown> =>
  Cause.fail(failures.decode(failure))

/**
 * The id of the execution of a run.
 *
 * @category getters
 */
export const executionOf = (runId: string): Effect.Effect<string> =>
  workflow.executionId({ runId, agent: "", startedAt: 0, input: "" })

/** A definition of an agent that runs may have begun with. */
export interface Versioned<A extends AnyAgent = AnyAgent> {
  readonly agent: A
  readonly version?: string | undefined
}

/** A run while its fiber goes on in this process. */
export interface Live {
  readonly interrupt: Effect.Effect<void>
}

/** Runs a write of a run while the run belongs to this process, and interrupts otherwise. */
export type Guard = <A, E, R>(write: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError, R>

/** What a process knows of its durable runs. */
export interface Registry {
  readonly find: (agent: string, version: string | undefined) => Versioned | undefined
  readonly failures: FailureCodec.FailureCodec
  readonly log: RunLog.Service
  /** Absent where the engine does not show what it has recorded: there are no forks then. */
  readonly journal: WorkflowJournal.Service | undefined
  /** For what a step writes in the transaction of its outcome, where that is another one. */
  readonly stepLog?: RunLog.Service | undefined
  readonly fence: RunFence | undefined
  /** Whether the engine keeps events in the transaction of an outcome. */
  readonly isAtomic: boolean
  readonly live: Map<string, Live>
  /** What sleeping runs of this process wait for, by run and name. */
  readonly waits: Map<string, Map<string, Effect.Effect<boolean>>>
  /** How the last runs of this process failed, before their engine says so. */
  readonly failed: Map<string, Failed>
  readonly isClosing: () => boolean
  /** How often a run looks whether another process wants it to end. */
  readonly poll: Duration.Duration
  /** Told of each event of a run. */
  readonly onEvent: (runId: string) => void
  /** Takes back a request to a person. */
  readonly withdraw: (requestId: string) => Effect.Effect<void>
  readonly onState: (
    runId: string,
    state: "running" | "waiting" | "ended",
    outcome?: Outcome | undefined,
    guard?: Guard | undefined
  ) => Effect.Effect<void>
}

/** Failed runs that are remembered. */
const MOST_FAILED = 256

/** Keeps how a run failed, for those who wait for it. */
export const rememberFailure = ({ failed }: Registry, runId: string, outcome: Outcome | undefined): void => {
  if (outcome?._tag !== "Failed") return
  failed.set(runId, outcome)
  if (failed.size > MOST_FAILED) failed.delete(failed.keys().next().value as string)
}
