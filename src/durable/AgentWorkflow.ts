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
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Any as AnyAgent } from "../agent/definition/AgentDefinition.js"
import * as RequestedAnswer from "../agent/record/RequestedAnswer.js"
import { RunPolicy } from "../agent/record/RunPolicy.js"
import { NotUndone, type RunRecord } from "../agent/record/RunRecord.js"
import type { StartRequest } from "../agent/runs/Runs.js"
import type { Service as BlobStore } from "../content/BlobStore.js"
import * as Content from "../content/Content.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import type * as RunLog from "../observability/RunLog.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import { ClientTools } from "../tool/definition/ClientTool.js"
import type { Service as RunFence } from "./engine/RunFence.js"
import type * as WorkflowJournal from "./engine/WorkflowJournal.js"
import * as FailureCodec from "./FailureCodec.js"
import * as PayloadText from "./payload/PayloadText.js"
import { PayloadRef, placeIn } from "./payload/RunBlobs.js"
import * as RunPayloads from "./payload/RunPayloads.js"

const NAME = "effect-lexigram/durable/AgentWorkflow"

/** What a request may have much of. */
const requested = {
  input: Schema.Union(Schema.String, Schema.Array(Content.Content)),
  classifications: Schema.optional(Schema.Array(Schema.String)),
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy),
  clientTools: Schema.optional(ClientTools),
  output: Schema.optional(RequestedAnswer.Output),
  history: Schema.optional(Schema.Array(Schema.Any))
}
const Requested = Schema.Struct(requested)

/**
 * The request of a run, as its workflow keeps it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Payload = Schema.Struct({
  ...requested,
  runId: Schema.String,
  agent: Schema.String,
  /** The version of the agent that begins and ends the run. */
  version: Schema.optional(Schema.String),
  /** When the run was started, in milliseconds since the epoch. */
  startedAt: Schema.Number,
  /** Started by the system, for no user. */
  system: Schema.optional(Schema.Boolean),
  sessionId: Schema.optional(Schema.String),
  userId: Schema.optional(Schema.String),
  tenantId: Schema.optional(Schema.String),
  startWith: Schema.optional(Schema.Literal("last", "called")),
  toolChoice: Schema.optional(RequestedAnswer.ToolChoice),
  /** The run whose records the run takes until its step of this number begins, from 0. */
  fork: Schema.optional(Schema.Struct({ runId: Schema.String, step: Schema.NonNegativeInt })),
  /** Whether large values of the run are blobs. */
  byReference: Schema.optional(Schema.Boolean),
  /** What is large of the request, where it is a blob: the input is empty then. */
  request: Schema.optional(PayloadRef)
})
/**
 * @since 0.1.0
 * @category models
 */
export type Payload = typeof Payload.Type

const encodeRequested = Schema.encode(Requested)
const decodeRequested = Schema.decodeUnknown(Requested)

const requestedOf = (request: typeof Requested.Type) => {
  const { classifications, clientTools, history, input, output, policy, settings } = request
  return { input, classifications, settings, policy, clientTools, output, history }
}

/**
 * What is large of a request, encoded; `undefined` where it is small, or no request. Fails with its bytes if it is
 * larger than what a run keeps.
 *
 * @category conversions
 */
export const largeOf = (
  request: typeof Requested.Type,
  bounds: PayloadText.Bounds
): Effect.Effect<object | undefined, number> => {
  const given = requestedOf(request)
  if (PayloadText.isSmall(given, bounds)) return Effect.succeed(undefined)
  return Effect.flatMap(Effect.option(encodeRequested(given)), (encoded) => {
    if (Option.isNone(encoded)) return Effect.succeed(undefined)
    const measured = PayloadText.measure(encoded.value, bounds)
    if (measured._tag === "TooLarge") return Effect.fail(measured.bytes)
    return Effect.succeed(measured._tag === "Small" ? undefined : encoded.value)
  })
}

/**
 * The payload with its whole request.
 *
 * @category conversions
 */
export const fromKept = (
  payloads: RunPayloads.RunPayloads,
  payload: Payload
): Effect.Effect<Payload, RunPayloads.PayloadLost> => {
  const { request, ...rest } = payload
  return request === undefined
    ? Effect.succeed(payload)
    : Effect.flatMap(payloads.read(request), (read) =>
        Effect.mapBoth(decodeRequested(read), {
          onFailure: () =>
            new RunPayloads.PayloadLost({
              message: "its request is not one of this version of the library",
              hint: "Restore the journal and the blobs from one backup"
            }),
          onSuccess: (requested) => ({ ...rest, ...requested })
        })
      )
}

const notUndone = Schema.optional(Schema.Array(NotUndone))
const stored = Schema.optional(PayloadRef)

/**
 * How a run ended. Its response is what its events amount to (`AgentResponse.fromEvents`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const Outcome = Schema.Union(
  /** `output` is encoded by the schema of the agent. It is absent without one, and where it is a blob. */
  Schema.TaggedStruct("Completed", { output: Schema.optional(Schema.Unknown), stored }),
  /** The value of `failure` is absent where it is a blob. */
  Schema.TaggedStruct("Failed", { failure: FailureCodec.Encoded, stored, notUndone }),
  Schema.TaggedStruct("Interrupted", { notUndone })
).annotations({ identifier: `${NAME}/Outcome` })
/**
 * @since 0.1.0
 * @category models
 */
export type Outcome = typeof Outcome.Type

/**
 * The outcome with a reference in place of what is large. What is larger than a run keeps is left out: the events have
 * the output, and the failure has its tag and message.
 *
 * @category conversions
 */
export const toStored = (payloads: RunPayloads.RunPayloads, outcome: Outcome): Effect.Effect<Outcome> => {
  if (outcome._tag === "Interrupted") return Effect.succeed(outcome)
  const value = outcome._tag === "Completed" ? outcome.output : outcome.failure.value
  return Effect.map(payloads.keep(value), (kept): Outcome => {
    if (kept._tag === "Inline") return outcome
    const stored = kept._tag === "Stored" ? { stored: kept.ref } : {}
    return outcome._tag === "Completed"
      ? { _tag: "Completed", ...stored }
      : { ...outcome, failure: { info: outcome.failure.info }, ...stored }
  })
}

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

/** `blobs` is absent where everything stays in the journal. */
export interface PayloadOptions {
  readonly bounds: PayloadText.Bounds
  readonly blobs: BlobStore | undefined
}

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
  /** What is kept of large values, and where. */
  readonly payloads: PayloadOptions
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
  /** How long a run waits for a process that has its agent. */
  readonly waitForAgent: Duration.Duration
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

/**
 * How a run keeps large values.
 *
 * @category getters
 */
export const payloadsOf = (
  { journal, payloads }: Pick<Registry, "journal" | "payloads">,
  executionId: string,
  payload: Pick<Payload, "byReference" | "startedAt" | "userId">
): RunPayloads.RunPayloads =>
  RunPayloads.make({
    ...payloads,
    place: placeIn(executionId, payload),
    exists:
      journal === undefined
        ? Effect.succeed(true)
        : Effect.match(journal.payload(executionId), { onFailure: () => true, onSuccess: Option.isSome })
  })

/**
 * What the workflow of a run begins with: a reference in place of what is large of its request.
 *
 * @category conversions
 */
export const payloadOf = (
  registry: Registry,
  request: StartRequest,
  record: RunRecord,
  large: object | undefined
): Effect.Effect<Payload> => {
  const { agent: _, labels: __, runId: ___, ...rest } = request
  const payload: Payload = {
    ...rest,
    history: rest.history === undefined ? undefined : [...rest.history],
    runId: record.runId,
    agent: record.agent,
    version: record.version,
    startedAt: record.createdAt,
    ...(record.system === true ? { system: true } : {}),
    ...(record.forkedFrom === undefined ? {} : { fork: record.forkedFrom }),
    // Only the run says what it has kept.
    byReference: registry.payloads.blobs === undefined ? undefined : true,
    request: undefined
  }
  if (large === undefined) return Effect.succeed(payload)
  return Effect.flatMap(executionOf(record.runId), (executionId) => {
    // The journal has nothing of the run yet.
    const payloads = payloadsOf({ ...registry, journal: undefined }, executionId, payload)
    return Effect.map(payloads.keep(large), (kept) => {
      return kept._tag === "Stored" ? { ...payload, ...requestedOf({ input: "" }), request: kept.ref } : payload
    })
  })
}

/**
 * A failure with its value, if that can be read.
 *
 * @category conversions
 */
export const failedOf = (registry: Registry, record: RunRecord, failed: Failed): Effect.Effect<Failed> => {
  const { stored } = failed
  if (stored === undefined) return Effect.succeed(failed)
  return Effect.flatMap(executionOf(record.runId), (executionId) => {
    const { createdAt: startedAt, userId } = record
    const payloads = payloadsOf(registry, executionId, { byReference: true, startedAt, userId })
    return Effect.match(payloads.read(stored), {
      onFailure: () => failed,
      onSuccess: (value) => ({ ...failed, failure: { ...failed.failure, value } })
    })
  })
}

/** Failed runs that are remembered. */
const MOST_FAILED = 256

/** Keeps how a run failed, for those who wait for it. */
export const rememberFailure = ({ failed }: Registry, runId: string, outcome: Outcome | undefined): void => {
  if (outcome?._tag !== "Failed") return
  failed.set(runId, outcome)
  if (failed.size > MOST_FAILED) failed.delete(failed.keys().next().value as string)
}
