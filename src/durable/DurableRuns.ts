/**
 * Runs that survive their process: each is a workflow whose steps are recorded, and goes on where it stopped.
 *
 * @since 0.1.0
 */
import { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { AgentExecutor } from "../agent/AgentExecutor.js"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import type { AgentConfigurationError } from "../agent/definition/AgentError.js"
import type * as RunErrors from "../agent/record/RunError.js"
import { type ForkedFrom, isEnded, type RunRecord } from "../agent/record/RunRecord.js"
import * as RunStore from "../agent/record/RunStore.js"
import * as Steering from "../agent/record/Steering.js"
import * as RunAdmission from "../agent/runs/RunAdmission.js"
import { RunLookup } from "../agent/runs/RunLookup.js"
import * as RunRefusal from "../agent/runs/RunRefusal.js"
import { type Access, Runs, type Service, type StartRequest } from "../agent/runs/Runs.js"
import type { AgentResponse } from "../domain/AgentResponse.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import { count } from "../internal/Count.js"
import * as DeltaFeed from "../observability/log/DeltaFeed.js"
import type * as RunLog from "../observability/RunLog.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as AgentVersions from "./AgentVersions.js"
import * as AgentWorkflow from "./AgentWorkflow.js"
import * as DeltaSharing from "./DeltaSharing.js"
import * as DurableFollow from "./DurableFollow.js"
import { RunFence } from "./engine/RunFence.js"
import { WorkflowJournal } from "./engine/WorkflowJournal.js"
import * as FailureCodec from "./FailureCodec.js"
import * as JournalEvents from "./JournalEvents.js"
import * as LibraryErrors from "./LibraryErrors.js"
import { bounds as boundsOf } from "./payload/PayloadText.js"
import { RunBlobs } from "./payload/RunBlobs.js"
import * as RunAttempt from "./RunAttempt.js"
import * as RunForks from "./RunForks.js"
import * as RunSignals from "./RunSignals.js"
import * as RunUpkeep from "./RunUpkeep.js"

type RunError = RunErrors.RunError

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>> {
  /**
   * The agents by whose names runs are started. Of several versions of one agent the last one begins new runs; the
   * others go on with runs that they began. Without any, this process follows, steers and answers the runs of others,
   * and takes none.
   */
  readonly agents: Agents
  /**
   * The classes of failures of tools, guards and strategies of the application: a recorded failure is of its class
   * again. Of other failures the tag and the message are kept.
   */
  readonly errors?: ReadonlyArray<FailureCodec.ErrorClass> | undefined
  /**
   * How often a sleeping run looks for an answer that another process took, and a reader for events of one; default
   * 200 ms.
   */
  readonly poll?: Duration.DurationInput | undefined
  /**
   * How long a run whose agent, or version of it, is not in this process waits for a process that has it. It fails with
   * `ReplayError` after that. Default: 15 minutes, which is time for a deployment.
   */
  readonly waitForAgent?: Duration.DurationInput | undefined
  /**
   * What runs keep of large values: their input and history, what steps end with, outputs and failures. Bytes are those
   * of the encoded value: texts in UTF-8, files in base64. A value of more than `above` bytes (from 1, default 65,536)
   * is a blob, to which the journal refers, if there is a `BlobStore` in the context of `Durable.layerSql` or
   * `DurableCluster.layer`; without one it is in the journal. No value has more than `most` bytes (from 1 to
   * 268,435,456, default 33,554,432): a run with a larger request does not start (`RunError`, `invalid`), and one with
   * a step that ends with more fails with `StepTooLargeError`.
   */
  readonly payloads?: { readonly above?: number | undefined; readonly most?: number | undefined } | undefined
}

/**
 * What durable runs require besides the services of their agents.
 *
 * @since 0.1.0
 * @category models
 */
export type Collaborators =
  | AgentExecutor
  | WorkflowEngine
  | RunLog.RunLog
  | RunStore.RunStore
  | Steering.Steering
  | PendingApprovals.PendingApprovals

interface Parts {
  readonly engine: WorkflowEngine["Type"]
  readonly agents: ReadonlyMap<string, ReadonlyArray<AgentWorkflow.Versioned>>
  readonly registry: AgentWorkflow.Registry
  /** Told of events and states. */
  readonly signals: RunSignals.RunSignals
  /** Told of states only. */
  readonly states: RunSignals.RunSignals
  readonly lookup: RunLookup
  readonly store: RunStore.Service
  readonly steering: Steering.Service
  /** Absent where other processes see only what is in the log. */
  readonly feed: DeltaFeed.Service | undefined
  readonly pending: PendingApprovals.Service
  readonly poll: Duration.Duration
}

class Durable implements Service {
  readonly capabilities: Service["capabilities"]

  constructor(private readonly parts: Parts) {
    this.capabilities = { resume: true, fork: parts.registry.journal !== undefined }
  }

  readonly start = (request: StartRequest): Effect.Effect<RunRecord, RunError> => this.accept(request, undefined)

  private readonly accept = (
    request: StartRequest,
    forkedFrom: ForkedFrom | undefined
  ): Effect.Effect<RunRecord, RunError> =>
    Effect.gen(this, function* () {
      const { agents, registry, store } = this.parts
      const { bounds } = registry.payloads
      const versions = agents.get(request.agent)
      const current = versions?.at(-1)
      if (current === undefined) return yield* RunAdmission.unknownAgent(request.agent, Array.from(agents.keys()))
      const admitted = yield* RunAdmission.admit(request, current.version, forkedFrom, current.agent)
      const large = yield* Effect.mapError(AgentWorkflow.largeOf(request, bounds), (bytes) =>
        RunAdmission.tooLarge(bytes, bounds.most)
      )
      const inserted = yield* store.insert(admitted.record, admitted.fingerprint)
      // A known run that never began begins now: its process may have died between the two.
      if (inserted.record.state === "queued") yield* this.begin(request, inserted.record, large)
      return inserted.record
    })

  private begin(request: StartRequest, record: RunRecord, large: object | undefined): Effect.Effect<void> {
    const { agents, engine, registry } = this.parts
    // A record that a queue made has none.
    const version = record.version ?? agents.get(record.agent)?.at(-1)?.version
    return Effect.flatMap(AgentWorkflow.payloadOf(registry, request, { ...record, version }, large), (payload) =>
      Effect.asVoid(
        Effect.provideService(AgentWorkflow.workflow.execute(payload, { discard: true }), WorkflowEngine, engine)
      )
    )
  }

  readonly poll: Service["poll"] = (runId, access) => this.parts.lookup.polled(runId, access)

  /** The record of a run once it has ended. */
  private readonly ended = (runId: string, access: Access | undefined): Effect.Effect<RunRecord, RunError> =>
    Effect.scoped(
      Effect.flatMap(this.parts.states.follow(runId), ({ changed }) => {
        const look: Effect.Effect<RunRecord, RunError> = Effect.flatMap(
          this.parts.lookup.find(runId, access),
          (record) => (isEnded(record.state) ? Effect.succeed(record) : Effect.zipRight(changed(this.parts.poll), look))
        )
        return look
      })
    )

  readonly await = (
    runId: string,
    access?: Access
  ): Effect.Effect<AgentResponse<unknown>, RunError | RunErrors.RunFailedError> =>
    Effect.flatMap(this.ended(runId, access), (record) =>
      Effect.flatMap(this.failureOf(record), (failure) => this.parts.lookup.outcome(record, failure, access))
    )

  /** The failure of a run, of its class where that is known. */
  private failureOf(record: RunRecord): Effect.Effect<Cause.Cause<unknown> | undefined> {
    const { engine, poll, registry } = this.parts
    if (record.state !== "failed") return Effect.succeed(undefined)
    const failed = registry.failed.get(record.runId)
    if (failed !== undefined) return Effect.succeed(AgentWorkflow.causeOf(registry.failures, failed))
    const polled = Effect.flatMap(AgentWorkflow.executionOf(record.runId), (id) =>
      engine.poll(AgentWorkflow.workflow, id)
    )
    // The record says that the run has ended before the engine does.
    const look = (left: number): Effect.Effect<Cause.Cause<unknown> | undefined> =>
      Effect.flatMap(polled, (result) => {
        if (result?._tag !== "Complete")
          return left > 0 ? Effect.delay(look(left - 1), poll) : Effect.succeed(undefined)
        return Exit.isSuccess(result.exit) && result.exit.value._tag === "Failed"
          ? Effect.map(AgentWorkflow.failedOf(registry, record, result.exit.value), (failed) =>
              AgentWorkflow.causeOf(registry.failures, failed)
            )
          : Effect.succeed(undefined)
      })
    return look(10)
  }

  readonly events: Service["events"] = (runId, options) =>
    Stream.unwrapScoped(
      Effect.gen(this, function* () {
        const { feed, lookup, poll, registry, signals } = this.parts
        const record = yield* lookup.find(runId, options)
        const { changed } = yield* signals.follow(record.runId)
        const userId = options?.userId
        const reader = feed === undefined ? undefined : DeltaSharing.reader(feed, record.runId)
        const isHere = () => reader === undefined || isEnded(record.state) || registry.live.has(record.runId)
        let { state } = record
        return DurableFollow.stream(
          {
            read: (readOptions) => {
              const written = lookup.read(record.runId, { ...readOptions, userId })
              return reader === undefined || isHere()
                ? written
                : reader.read(readOptions.from, readOptions.limit, written)
            },
            hasEnded: Effect.map(lookup.find(runId, options), (found) => {
              state = found.state
              return isEnded(state)
            }),
            pause: Effect.suspend(() =>
              // A run that waits for a person shows nothing, for days perhaps.
              changed(reader === undefined || state !== "running" || isHere() ? poll : Duration.min(poll, reader.pace))
            )
          },
          count(options?.from, 0, 0)
        )
      })
    )

  readonly interrupt = (runId: string, access?: Access): Effect.Effect<RunRecord, RunError> =>
    Effect.flatMap(this.parts.lookup.find(runId, access), (record) => {
      if (isEnded(record.state)) return RunRefusal.elsewhere(record)
      const { engine, registry } = this.parts
      const live = registry.live.get(record.runId)
      const asked = Effect.flatMap(AgentWorkflow.executionOf(record.runId), (executionId) =>
        Effect.zipRight(
          engine.deferredDone(AgentWorkflow.interruption, {
            workflowName: AgentWorkflow.workflow.name,
            executionId,
            deferredName: AgentWorkflow.interruption.name,
            exit: Exit.void
          }),
          engine.resume(AgentWorkflow.workflow, executionId)
        )
      )
      return asked.pipe(
        Effect.zipRight(live === undefined ? Effect.void : live.interrupt),
        Effect.zipRight(this.ended(runId, access))
      )
    })

  readonly steer = (runId: string, message: string, access?: Access): Effect.Effect<void, RunError> =>
    Effect.flatMap(this.parts.lookup.find(runId, access), (record) => {
      if (isEnded(record.state)) return RunRefusal.elsewhere(record)
      const { registry, steering } = this.parts
      // The caller may see the run, in whatever process it is.
      const target = { runId: record.runId, userId: record.userId }
      return Effect.catchAll(SystemAccess.grant(steering.steer(target, message)), (error) => {
        if (error.reason === "full") return RunRefusal.full("Too many messages wait for the run")
        if (error.reason !== "not-running") return RunRefusal.storageError(error)
        return steering.keeps || registry.live.has(record.runId)
          ? RunRefusal.notRunning(
              runId,
              "The run does not take messages now",
              "Send it while the run reasons, or start a new run"
            )
          : RunRefusal.elsewhere(record)
      })
    })

  readonly answer: Service["answer"] = (requestId, decision, options) =>
    Effect.mapError(this.parts.pending.decide(requestId, decision, options), RunRefusal.unanswered).pipe(
      Effect.flatMap(({ request }) => RunUpkeep.wake(this.parts.engine, request.rootRunId ?? request.runId))
    )

  readonly resume = (runId: string, access?: Access): Effect.Effect<RunRecord, RunError> =>
    Effect.flatMap(this.parts.lookup.find(runId, access), (record) =>
      isEnded(record.state)
        ? RunRefusal.elsewhere(record)
        : Effect.as(RunUpkeep.wake(this.parts.engine, record.runId), record)
    )

  readonly list: Service["list"] = (filter) => this.parts.store.list(filter)

  readonly fork: Service["fork"] = (runId, { changes, step, ...access }) =>
    Effect.gen(this, function* () {
      const { journal } = this.parts.registry
      const record = yield* this.parts.lookup.find(runId, access)
      if (journal === undefined) return yield* RunRefusal.unsupported(record.runId, "forked")
      const request = yield* RunForks.request(this.parts.registry, journal, record, step, changes ?? {})
      const accepted = this.accept(request, { runId: record.runId, step })
      return yield* record.system === true ? accepted : SystemAccess.drop(accepted)
    })
}

type AgentsOf<Given extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>> = {
  readonly [I in keyof Given]: Given[I] extends AgentVersions.Versioned<infer A> ? A : Given[I]
}[number]

/**
 * The services of the tools and strategies of agents.
 *
 * @since 0.1.0
 * @category type utils
 */
export type ServicesOf<Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>> = Agent.ServicesOf<
  Extract<AgentsOf<Agents>, Agent.Any>
>

/**
 * Runs on the `WorkflowEngine` in context. A run that is started is kept, and goes on after the end of its process in
 * this one or in another one with the same agents. Nothing that is recorded is asked or done again.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const Agents extends ReadonlyArray<Agent.Any | AgentVersions.Versioned>>(
  options: Options<Agents>
): Layer.Layer<Runs, AgentConfigurationError, Collaborators | Exclude<ServicesOf<Agents>, Runs>> =>
  Layer.scoped(
    Runs,
    Effect.gen(function* () {
      const agents = yield* AgentVersions.register(options.agents)
      const engine = yield* WorkflowEngine
      const log = yield* JournalEvents.keptLog
      const store = yield* RunStore.RunStore
      const pending = yield* PendingApprovals.PendingApprovals
      const poll = Duration.decode(options.poll ?? "200 millis")
      const [signals, states] = [RunSignals.make(), RunSignals.make()]
      let isClosing = false
      const keep = RunUpkeep.keepState(store)
      const journal = Option.getOrUndefined(yield* Effect.serviceOption(WorkflowJournal))
      const registry: AgentWorkflow.Registry = {
        find: (name, version) => agents.get(name)?.find((one) => one.version === version),
        failures: FailureCodec.make([...LibraryErrors.classes, ...(options.errors ?? [])]),
        log,
        journal,
        fence: Option.getOrUndefined(yield* Effect.serviceOption(RunFence)),
        payloads: {
          bounds: boundsOf(options.payloads),
          blobs: Option.getOrUndefined(yield* Effect.serviceOption(RunBlobs))
        },
        isAtomic: journal !== undefined,
        live: new Map(),
        waits: new Map(),
        failed: new Map(),
        poll,
        waitForAgent: Duration.decode(options.waitForAgent ?? "15 minutes"),
        isClosing: () => isClosing,
        onEvent: signals.tell,
        withdraw: (requestId) =>
          Effect.ignore(
            SystemAccess.grant(pending.decide(requestId, ApprovalGate.cancel({ reason: "The run was interrupted" })))
          ),
        onState: (runId, state, outcome, guard) => {
          AgentWorkflow.rememberFailure(registry, runId, outcome)
          return Effect.map(keep(runId, state, outcome, guard), () => {
            states.tell(runId)
            signals.tell(runId)
          })
        }
      }
      const feed = Option.getOrUndefined(yield* Effect.serviceOption(DeltaFeed.DeltaFeed))
      const runs = new Durable({
        engine,
        agents,
        registry,
        signals,
        states,
        lookup: new RunLookup(store, log, AgentVersions.newest(agents)),
        store,
        steering: yield* Steering.Steering,
        feed,
        pending,
        poll
      })
      // Without agents, runs are for other processes.
      if (agents.size > 0) {
        yield* engine.register(AgentWorkflow.workflow, (payload) =>
          // Agents that stand for others start these here.
          Effect.provideService(RunAttempt.execute(registry, payload), Runs, runs)
        )
      }
      // Before the engine interrupts what runs: that is no end of a run.
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isClosing = true
        })
      )
      yield* RunUpkeep.keepGoing({ engine, registry, store, pending })
      if (feed !== undefined) yield* DeltaSharing.share(feed, registry)
      return runs
    }) as never
  )
