/**
 * What agents share: a model, sessions, memory and other services, built once and closed once.
 *
 * @since 0.1.0
 */
/// <reference lib="esnext.disposable" preserve="true" />
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type * as AgentExecutor from "../agent/AgentExecutor.js"
import * as Agents from "../agent/Agents.js"
import type * as AgentConfig from "../agent/definition/AgentConfig.js"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type * as WorkingMemory from "../memory/working/WorkingMemory.js"
import type * as SessionManager from "../session/manager/SessionManager.js"
import * as Job from "./Job.js"
import * as ModelLayer from "./ModelLayer.js"
import type { Approver } from "./PromiseApproval.js"
import type { ClientCaller, Elicitor } from "./PromiseElicitation.js"
import type { Model } from "./PromiseModel.js"

/**
 * `R` are the services of `layer`, for tools that are Effects.
 *
 * @since 0.1.0
 * @category models
 */
export interface RuntimeOptions<R = never> {
  readonly model: Model
  /** Retries of a failed model request, at most; default 2. Not for a model that is a Layer. */
  readonly maxRetries?: number | undefined
  /** Defaults of all agents: time limits, retries of tools, turns of a session, … */
  readonly config?: AgentConfig.Options | undefined
  /** `true` keeps sessions with their files in this process, a Layer elsewhere. Default: no sessions. */
  readonly sessions?: true | Layer.Layer<SessionManager.SessionManager, any, never> | undefined
  /** Default: runs remember nothing beyond their session. */
  readonly memory?: Layer.Layer<WorkingMemory.WorkingMemory, any, never> | undefined
  /** Decides tool calls that need approval, in place of `collaborators.approvals`. Default: they are denied. */
  readonly approve?: Approver | undefined
  /** Answers questions of tools, in place of `collaborators.approvals`. Default: a tool that asks fails. */
  readonly elicit?: Elicitor | undefined
  /**
   * Makes calls of `pageTool` and `clientTools`, in place of `collaborators.approvals`. Default: they are questions to
   * `elicit`.
   */
  readonly callClient?: ClientCaller | undefined
  /** Any other collaborator: guards, governance, approvals, hooks, run log, … (`Agents.layerWith`). */
  readonly collaborators?: Omit<Agents.Replaceable, "sessions" | "memory"> | undefined
  /** Services that tools require; its resources are released by `close`. */
  readonly layer?: Layer.Layer<R, any, never> | undefined
}

/**
 * The services of agents. They are built by the first run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Runtime<in out R = never> {
  /** Stops the runs of all its agents, waits for them, and releases what the layers hold. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
  /** For programs that mix both styles: runs an Effect with its services. */
  readonly runPromise: <A, E>(
    effect: Effect.Effect<A, E, R | AgentExecutor.AgentExecutor>,
    options?: { readonly signal?: AbortSignal | undefined }
  ) => Promise<A>
  /** @internal */
  readonly owner: Job.Owner
  /** @internal */
  readonly start: <A, E>(
    owner: Job.Owner,
    effect: Effect.Effect<A, E, R | AgentExecutor.AgentExecutor>,
    signal: AbortSignal | undefined
  ) => Job.Job<A>
}

const sessions = OnDemand.make(() => import("../session/Sessions.js"))
const blobs = OnDemand.make(() => import("../content/InMemoryBlobStore.js"))
const approvals = OnDemand.make(() => import("./ApprovalLayer.js"))

const sessionsInProcess = Layer.unwrapEffect(
  Effect.zipWith(sessions, blobs, (Sessions, InMemoryBlobStore) =>
    Layer.provide(Sessions.layer(), InMemoryBlobStore.layer())
  )
)

const approvalsBy = <R>({ collaborators, ...functions }: RuntimeOptions<R>) =>
  Layer.unwrapEffect(Effect.map(approvals, ({ make }) => make(functions, collaborators?.approvals)))

const layerOf = <R>(options: RuntimeOptions<R>): Layer.Layer<AgentExecutor.AgentExecutor | R, unknown> => {
  const { approve, callClient, collaborators, config, elicit, memory, sessions } = options
  const given: Agents.Replaceable = {
    ...collaborators,
    ...((approve ?? callClient ?? elicit) === undefined ? {} : { approvals: approvalsBy(options) }),
    sessions: sessions === true ? sessionsInProcess : sessions,
    memory
  }
  const executor = Agents.layerWith({ config, ...given } as { readonly config?: AgentConfig.Options | undefined }).pipe(
    Layer.provide(ModelLayer.make(options.model, options.maxRetries))
  ) as Layer.Layer<AgentExecutor.AgentExecutor, unknown>
  return options.layer === undefined
    ? (executor as Layer.Layer<AgentExecutor.AgentExecutor | R, unknown>)
    : Layer.merge(executor, options.layer)
}

/**
 * A runtime for any number of agents. Close it at the end.
 *
 * @since 0.1.0
 * @category constructors
 */
export const createRuntime = <R = never>(options: RuntimeOptions<R>): Runtime<R> => {
  const managed = ManagedRuntime.make(layerOf(options))
  const owner = new Job.Owner("The runtime")
  const start: Runtime<R>["start"] = (owner, effect, signal) =>
    Job.start(owner, (effect) => managed.runFork(effect), effect as Effect.Effect<any, any>, signal)
  const close = () => owner.close(() => managed.dispose())
  return {
    close,
    [Symbol.asyncDispose]: close,
    runPromise: (effect, { signal } = {}) => start(owner, effect, signal).result,
    owner,
    start
  }
}
