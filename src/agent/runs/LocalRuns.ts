/**
 * Runs in the process that started them. Their records and events are where the `RunStore` and the `RunLog` keep them.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import type { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import * as SystemGrant from "../../internal/fiber/SystemGrant.js"
import * as RunLog from "../../observability/RunLog.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { AgentExecutor } from "../AgentExecutor.js"
import type * as Agent from "../definition/AgentDefinition.js"
import { AgentConfigurationError } from "../definition/AgentError.js"
import * as RunErrors from "../record/RunError.js"
import { isEnded, type RunRecord } from "../record/RunRecord.js"
import * as RunStore from "../record/RunStore.js"
import * as Steering from "../record/Steering.js"
import { LiveRun } from "./LiveRun.js"
import * as RunAdmission from "./RunAdmission.js"
import * as RunFollow from "./RunFollow.js"
import { RunLookup } from "./RunLookup.js"
import * as RunPump from "./RunPump.js"
import * as RunRefusal from "./RunRefusal.js"
import { type Access, Runs, type Service, type StartRequest } from "./Runs.js"

type RunError = RunErrors.RunError

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Agents extends ReadonlyArray<Agent.Any>> {
  /** The agents by whose names runs are started. Each has a name of its own. */
  readonly agents: Agents
  /**
   * Runs that go on at once; default 100. Further ones are `queued`. A run that waits for another one, which its tools
   * started, keeps its place meanwhile.
   */
  readonly maxRunning?: number | undefined
  /** Runs that may be queued; default 1,000. Further ones are refused (`full`). */
  readonly maxQueued?: number | undefined
  /** How often a run of another process is looked at by those who follow it or wait for it; default 200 ms. */
  readonly poll?: Duration.DurationInput | undefined
  /** The version of an agent, which the records of its runs have. Default none. */
  readonly versionOf?: ((agent: Agent.Any) => string | undefined) | undefined
}

/**
 * What runs need besides the services of their agents.
 *
 * @since 0.1.0
 * @category models
 */
export type Collaborators =
  | AgentExecutor
  | RunLog.RunLog
  | RunStore.RunStore
  | Steering.Steering
  | PendingApprovals.PendingApprovals

const misconfigured = (agentName: string, message: string, hint: string): AgentConfigurationError =>
  new AgentConfigurationError({ agentName, message, hint })

const agentsByName = (
  agents: ReadonlyArray<Agent.Any>
): Effect.Effect<ReadonlyMap<string, Agent.Any>, AgentConfigurationError> => {
  const byName = new Map<string, Agent.Any>()
  for (const agent of agents) {
    if (byName.has(agent.name)) {
      return misconfigured(agent.name, "Two agents have the same name", "Give each agent of the runs its own name")
    }
    byName.set(agent.name, agent)
  }
  return Effect.succeed(byName)
}

/** The runs of one process. */
class Local implements Service {
  readonly capabilities = { resume: false, fork: false }
  private readonly lives = new Map<RunId, LiveRun>()
  private readonly permits: Permits.Line
  private readonly maxQueued: number
  private readonly pause: Effect.Effect<void>
  private readonly lookup: RunLookup
  private isClosed = false

  constructor(
    private readonly options: Options<ReadonlyArray<Agent.Any>>,
    private readonly agents: ReadonlyMap<string, Agent.Any>,
    private readonly runtime: Runtime.Runtime<Collaborators>,
    log: RunLog.Service,
    private readonly store: RunStore.Service,
    private readonly steering: Steering.Service,
    private readonly pending: PendingApprovals.Service
  ) {
    this.lookup = new RunLookup(store, log, agents)
    this.permits = Permits.line(count(options.maxRunning, 100, 1))
    this.maxQueued = count(options.maxQueued, 1000, 0)
    this.pause = Effect.sleep(options.poll ?? "200 millis")
  }

  readonly start = (request: StartRequest): Effect.Effect<RunRecord, RunError> =>
    Effect.gen(this, function* () {
      const agent = this.agents.get(request.agent)
      if (agent === undefined) return yield* RunAdmission.unknownAgent(request.agent, Array.from(this.agents.keys()))
      const admitted = yield* RunAdmission.admit(request, this.options.versionOf?.(agent), undefined, agent)
      if (request.runId !== undefined) yield* this.checkNew(admitted)
      const held = yield* SystemAccess.held
      const requested = yield* RunAdmission.requestedOf(agent, request)
      return yield* Effect.uninterruptible(this.accept(requested, request, admitted, held))
    })

  /** An id that the log has belongs to a run that was started without a record. */
  private checkNew({ record: { runId } }: RunAdmission.Admitted): Effect.Effect<void, RunError> {
    return SystemAccess.grant(
      Effect.flatMap(this.store.get(runId), (known) =>
        Option.isSome(known)
          ? Effect.void
          : Effect.flatMap(this.lookup.read(runId, { limit: 1 }), (events) =>
              events.length === 0 ? Effect.void : RunErrors.conflict(runId)
            )
      )
    )
  }

  /** Records a run and starts it. */
  private accept(
    agent: Agent.Any,
    request: StartRequest,
    { fingerprint, record }: RunAdmission.Admitted,
    held: SystemAccess.Held
  ): Effect.Effect<RunRecord, RunError> {
    return Effect.suspend(() => {
      if (this.isClosed) return RunRefusal.full("No run is started any more: these runs are closed")
      const isFull = this.permits.isFull()
      if (isFull && this.permits.waiting() >= this.maxQueued) {
        return Effect.flatMap(SystemAccess.grant(this.store.get(record.runId)), (known) =>
          Option.isSome(known)
            ? Effect.map(this.store.insert(record, fingerprint), (inserted) => inserted.record)
            : RunRefusal.full(`${this.maxQueued} runs already wait for their turn`)
        )
      }
      const permit = this.permits.ask()
      const first: RunRecord = isFull ? record : { ...record, state: "running" }
      return Effect.flatMap(
        Effect.onExit(this.store.insert(first, fingerprint), (exit) =>
          Effect.sync(() => {
            if (exit._tag === "Failure" || !exit.value.added) permit.release()
          })
        ),
        (inserted) => {
          if (!inserted.added) return Effect.succeed(inserted.record)
          const live = this.launch(agent, { ...request, runId: record.runId }, first, permit, held)
          // Closed while the record was written: the run ends as those did that went on.
          return Effect.as(this.isClosed ? live.interrupt : Effect.void, inserted.record)
        }
      )
    })
  }

  /** Runs a run in a fiber of the layer: nothing of the caller is around it. */
  private launch(
    agent: Agent.Any,
    { agent: _, labels: __, output: ___, toolChoice: ____, ...request }: StartRequest,
    record: RunRecord,
    permit: Permits.Permit,
    held: SystemAccess.Held
  ): LiveRun {
    const { runId } = record
    const live = new LiveRun(runId)
    this.lives.set(runId, live)
    const executor = Context.get(this.runtime.context, AgentExecutor)
    // The context of the layer has the services of the agents.
    const events = executor.stream(agent, request) as Stream.Stream<AgentEvent, unknown>
    const program = RunPump.run({
      live,
      permit,
      state: record.state,
      events,
      store: this.store,
      leave: () => this.lives.delete(runId)
    })
    live.fiber = Runtime.runFork(this.runtime)(SystemAccess.holding(held)(program), { immediate: false })
    return live
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isClosed = true
    return Fiber.interruptAll(
      Array.from(this.lives.values()).flatMap(({ fiber }) => (fiber === undefined ? [] : fiber))
    )
  })

  readonly poll: Service["poll"] = (runId, access) => this.lookup.polled(runId, access)

  /** The record of a run once it has ended, and why, where it ended in this process meanwhile. */
  private readonly ended = (
    record: RunRecord,
    access: Access | undefined
  ): Effect.Effect<readonly [RunRecord, Cause.Cause<unknown> | undefined], RunError> =>
    Effect.suspend(() => {
      const live = this.lives.get(record.runId)
      if (live !== undefined) {
        return Effect.flatMap(Deferred.await(live.ended), (cause) =>
          Effect.map(this.lookup.find(record.runId, access), (last) => [last, cause] as const)
        )
      }
      if (isEnded(record.state)) return Effect.succeed([record, undefined] as const)
      return Effect.flatMap(Effect.zipRight(this.pause, this.lookup.find(record.runId, access)), (next) =>
        this.ended(next, access)
      )
    })

  readonly await = (
    runId: string,
    access?: Access
  ): Effect.Effect<AgentResponse<unknown>, RunError | RunErrors.RunFailedError> =>
    Effect.flatMap(this.lookup.find(runId, access), (record) =>
      Effect.flatMap(this.ended(record, access), ([last, cause]) => this.lookup.outcome(last, cause, access))
    )

  readonly events: Service["events"] = (runId, options) =>
    Pulls.unwrap(
      Effect.map(this.lookup.find(runId, options), ({ runId }) => {
        const userId = options?.userId
        return RunFollow.stream(
          {
            runId,
            read: (readOptions) => this.lookup.read(runId, { ...readOptions, userId }),
            live: this.lives.get(runId),
            hasEnded: Effect.map(this.lookup.find(runId, options), ({ state }) => isEnded(state)),
            pause: this.pause
          },
          count(options?.from, 0, 0)
        )
      })
    )

  readonly interrupt = (runId: string, access?: Access): Effect.Effect<RunRecord, RunError> =>
    Effect.flatMap(this.lookup.find(runId, access), (record) => {
      const live = this.lives.get(record.runId)
      return live === undefined
        ? RunRefusal.elsewhere(record)
        : Effect.zipRight(live.interrupt, this.lookup.find(runId, access))
    })

  readonly steer = (runId: string, message: string, access?: Access): Effect.Effect<void, RunError> =>
    Effect.flatMap(this.lookup.find(runId, access), (record) =>
      Effect.catchAll(this.steering.steer({ runId, userId: access?.userId }, message), ({ reason }) => {
        if (reason !== "not-running") return RunRefusal.full("Too many messages wait for the run")
        return this.lives.has(record.runId)
          ? RunRefusal.notRunning(
              runId,
              "The run does not take messages now",
              "Send it while the run reasons, or start a new run"
            )
          : RunRefusal.elsewhere(record)
      })
    )

  readonly answer: Service["answer"] = (requestId, decision, options) =>
    Effect.asVoid(Effect.mapError(this.pending.decide(requestId, decision, options), RunRefusal.unanswered))

  readonly resume = (runId: string, access?: Access): Effect.Effect<RunRecord, RunError> =>
    Effect.flatMap(this.lookup.find(runId, access), (record) => RunRefusal.unsupported(record.runId, "resumed"))

  readonly list: Service["list"] = (filter) => this.store.list(filter)

  readonly fork: Service["fork"] = (runId, options) =>
    Effect.flatMap(this.lookup.find(runId, options), (record) => RunRefusal.unsupported(record.runId, "forked"))
}

/**
 * Runs go on until they end or the scope is closed, which interrupts them and records it. Fails if two agents have the
 * same name, or if the log keeps nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const Agents extends ReadonlyArray<Agent.Any>>(
  options: Options<Agents>
): Effect.Effect<Service, AgentConfigurationError, Collaborators | Agent.ServicesOf<Agents[number]> | Scope.Scope> =>
  Effect.gen(function* () {
    const agents = yield* agentsByName(options.agents)
    const log = yield* RunLog.RunLog
    if (!log.enabled) {
      return yield* misconfigured(
        options.agents[0]?.name ?? "",
        "Runs need a log of their events, and the RunLog in context keeps nothing",
        "Provide RunLog.layerMemory(), or SqlRunLog, here and to the executor"
      )
    }
    const runtime = yield* Effect.runtime<Collaborators>()
    // Nothing interrupts a run before it can record its end.
    const runtimeFlags = RuntimeFlags.disable(runtime.runtimeFlags, RuntimeFlags.Interruption)
    const local = new Local(
      options,
      agents,
      Runtime.make({ ...runtime, runtimeFlags, context: SystemGrant.without(runtime.context) }),
      log,
      yield* RunStore.RunStore,
      yield* Steering.Steering,
      yield* PendingApprovals.PendingApprovals
    )
    yield* Effect.addFinalizer(() => local.close)
    return local
  })

/**
 * Runs of this process. The executor must use the same log, steering and approvals: give the same layers to both.
 *
 * A process that ends at once leaves records that say `running` or `waiting`: `list` finds them by these states, and
 * nothing goes on with them, because these runs cannot be resumed.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent, Agents, RunLog, Steering } from "effect-lexigram"
 * import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
 * import { PendingApprovals } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * const log = RunLog.layerMemory()
 * const steering = Steering.layer()
 * const approvals = PendingApprovals.layerMemory()
 * const helper = Agent.make("helper", { system: "You answer briefly." })
 *
 * const runs = LocalRuns.layer({ agents: [helper] }).pipe(
 *   Layer.provide([Agents.layerWith({ log, steering, approvals }), log, steering, approvals, InMemoryRunStore.layer()])
 * )
 * ```
 */
export const layer = <const Agents extends ReadonlyArray<Agent.Any>>(
  options: Options<Agents>
): Layer.Layer<Runs, AgentConfigurationError, Collaborators | Agent.ServicesOf<Agents[number]>> =>
  Layer.scoped(Runs, make(options))
