/**
 * A stage of a run: a wrapper around all inner stages and the reasoning. The list of stages determines the order of the
 * run and the type of its failures.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { File } from "../../content/Content.js"
import type * as AgentResponse from "../../domain/AgentResponse.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import type { RunId, SessionId, TurnId, UserId } from "../../domain/Ids.js"
import type * as SystemAccess from "../../domain/SystemAccess.js"
import type * as Governance from "../../governance/Governance.js"
import type * as GuardPipeline from "../../guard/pipeline/GuardPipeline.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import type * as ModelRouter from "../../llm/ModelRouter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type * as MemoryNamespace from "../../memory/tools/MemoryNamespace.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type * as EventBus from "../../observability/EventBus.js"
import type * as Hooks from "../../observability/Hooks.js"
import type * as Run from "../../observability/Run.js"
import type * as SessionHistory from "../../session/history/SessionHistory.js"
import type * as SessionManager from "../../session/manager/SessionManager.js"
import type { Session, TurnFile, TurnToolCall } from "../../session/turn/Session.js"
import type * as SkillExecutor from "../../skill/execute/SkillExecutor.js"
import type * as SkillRegistry from "../../skill/execute/SkillRegistry.js"
import type * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import type * as StrategyRegistry from "../../strategy/definition/StrategyRegistry.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type * as ToolSet from "../../tool/definition/ToolSet.js"
import type * as ToolRegistry from "../../tool/ToolRegistry.js"
import type * as ToolRunner from "../../tool/ToolRunner.js"
import type * as Steering from "../record/Steering.js"
import type { AgentConfig } from "./AgentConfig.js"
import type * as Agent from "./AgentDefinition.js"

/**
 * The collaborators of an executor, captured when its layer is built.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collaborators {
  readonly config: AgentConfig
  readonly client: LlmClient.Service
  readonly router: ModelRouter.Service
  readonly runner: ToolRunner.Service
  /** Tools for every agent, in addition to its own. */
  readonly registry: ToolRegistry.Service | undefined
  readonly strategies: StrategyRegistry.Service
  readonly governance: Governance.Service
  readonly guards: GuardPipeline.Service
  readonly memory: WorkingMemory.Service
  readonly sessions: SessionManager.Service
  /** Reads the part of its session that a run sees. */
  readonly history: SessionHistory.Service
  readonly skills: SkillRegistry.Service
  readonly skillExecutor: SkillExecutor.Service
  readonly catalog: SkillCatalog.Service
  readonly steering: Steering.Service
  readonly hooks: Hooks.Service
  readonly bus: EventBus.Service
  /** Plain conversations of agents as working memories, created once per function. */
  readonly conversations: WeakMap<object, WorkingMemory.Service>
  /** Skills as tools, created once per definition. */
  readonly skillTools: WeakMap<object, Tool.Any>
}

/**
 * State that inner stages set and outer stages read on the way out.
 *
 * @since 0.1.0
 * @category models
 */
export interface Notes {
  /** The session of the run, once resumed or created. */
  session: Session | undefined
  /** The turns of the session that are in the history. */
  shown: ReadonlySet<TurnId>
  /** The user's message after the input guards, which may be kept. Absent while nothing may be kept. */
  keep: string | undefined
  /** The files of the message, as the session keeps them. */
  files: ReadonlyArray<TurnFile>
  /** The files that tools returned, as the session keeps them. */
  toolFiles: ReadonlyArray<TurnFile>
  /** Guards blocked the answer. */
  blocked: boolean
  /**
   * Set when the run failed before guards judged its answer: the run that screens what is shown outside. An error may
   * quote what a model wrote.
   */
  screened: Run.Service | undefined
  /** Arguments of calls that guards changed or blocked, as they may be kept. */
  readonly guarded: Map<string, unknown>
  /** Calls of the runs that the conversation was handed to, as they may be kept, in order. */
  readonly handedCalls: Array<TurnToolCall>
  /** Messages that were added to the run, as they may be kept. */
  readonly steered: Array<string>
}

const noTurns: ReadonlySet<TurnId> = new Set()

/**
 * The notes of a run that begins.
 *
 * @internal
 */
export const newNotes = (): Notes => ({
  session: undefined,
  shown: noTurns,
  keep: undefined,
  files: [],
  blocked: false,
  screened: undefined,
  guarded: new Map(),
  toolFiles: [],
  handedCalls: [],
  steered: []
})

/**
 * A run on its way to the inner stages. Immutable; a stage that changes something passes a copy.
 *
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly agent: Agent.Any
  readonly run: Run.Service
  /** The run whose budget it shares: the outermost run under the same governance, or itself. */
  readonly budgetRunId: RunId
  readonly uses: Collaborators
  readonly input: string
  /** Those that are references are read when the session of the run is loaded. */
  readonly files: ReadonlyArray<File>
  readonly system: string
  readonly history: ReadonlyArray<LlmClient.Message>
  readonly tools: ToolSet.Bound
  readonly settings: ModelSettings
  readonly sessionId: SessionId | undefined
  readonly userId: UserId | undefined
  /** The capability of the caller. The run itself, with its tools and its strategy, holds nothing. */
  readonly held: SystemAccess.Held
  readonly tenantId: string | undefined
  /** Shared namespaces from which the memory of the run inherits, as `NamespaceStage` found them. Absent: none. */
  readonly inherits?: ReadonlyArray<MemoryNamespace.Inherited> | undefined
  /** Judges the entries that the run saves, as `ImportanceStage` says. Absent: all have the same importance. */
  readonly judged?: ((entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<ReadonlyArray<MemoryEntry>>) | undefined
  /** The data classifications of the request. */
  readonly classifications: ReadonlyArray<string>
  /** Messages that are added to the run while it goes on. */
  readonly inbox: Steering.Inbox
  /** The agent's own guards with their requirements captured. */
  readonly agentGuards: GuardPipeline.Service | undefined
  /** The agent that begins in a session: the one that answered last, or the called one. */
  readonly startWith: "last" | "called"
  /** Ends an effect when the reader of the run is late; absent without a reader. */
  readonly attended: (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, unknown, R>) | undefined
  /** The fold of the events of the run so far. */
  readonly progress: () => AgentResponse.AgentResponse<unknown>
  readonly notes: Notes
}

/**
 * `E` and `R` are what the stage adds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stage<out E = never, out R = never> {
  readonly name: string
  readonly wrap: <E1, R1>(
    state: State,
    next: (state: State) => Effect.Effect<Answer, E1, R1>
  ) => Effect.Effect<Answer, E | E1, R | R1>
}

/**
 * A stage from a wrapper. Failures of inner stages are not in the type of `next`: they pass through, and
 * `catchAllCause` would see them.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, Stage } from "effect-lexigram"
 * import * as Clock from "effect/Clock"
 * import * as Effect from "effect/Effect"
 *
 * const dated = Stage.make("dated", (state, next) =>
 *   Effect.flatMap(Clock.currentTimeMillis, (now) =>
 *     next({ ...state, system: `${state.system}\nToday is ${new Date(now).toISOString().slice(0, 10)}.` })
 *   )
 * )
 *
 * const clerk = Agent.make("clerk", { stages: [Stage.inside("memory")(dated)] })
 * ```
 */
export const make = <E = never, R = never>(
  name: string,
  wrap: (state: State, next: (state: State) => Effect.Effect<Answer>) => Effect.Effect<Answer, E, R>
): Stage<E, R> => ({ name, wrap: wrap as Stage<E, R>["wrap"] })

/**
 * The stages of the executor, outermost first.
 *
 * @since 0.1.0
 * @category models
 */
export type StageName =
  | "events"
  | "steering"
  | "cost"
  | "memorySave"
  | "metrics"
  | "outputGuard"
  | "governance"
  | "inputGuard"
  | "session"
  | "memory"
  | "tools"
  | "skills"

/**
 * A stage and its place: right outside or right inside another one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Placed<out E = never, out R = never> {
  readonly stage: Stage<E, R>
  readonly side: "outside" | "inside"
  readonly of: StageName
}

/**
 * Right outside another stage: sees the run before that one on the way in, and after it on the way out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const outside =
  (of: StageName) =>
  <E, R>(stage: Stage<E, R>): Placed<E, R> => ({ stage, side: "outside", of })

/**
 * Right inside another stage: sees the run after that one on the way in, and before it on the way out. Only the
 * reasoning is inside `skills`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const inside =
  (of: StageName) =>
  <E, R>(stage: Stage<E, R>): Placed<E, R> => ({ stage, side: "inside", of })

/**
 * Inserts stages at their places. Several stages at one place keep their order, the first one outermost.
 *
 * @since 0.1.0
 * @category combinators
 */
export const insert = (
  stages: ReadonlyArray<Stage<unknown, unknown>>,
  placed: ReadonlyArray<Placed<unknown, unknown>>
): ReadonlyArray<Stage<unknown, unknown>> =>
  placed.length === 0
    ? stages
    : stages.flatMap((stage) => {
        const at = (side: Placed["side"]) =>
          placed.filter((one) => one.of === stage.name && one.side === side).map((one) => one.stage)
        return [...at("outside"), stage, ...at("inside")]
      })

/**
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<S extends ReadonlyArray<Stage<unknown, unknown>>> =
  S[number] extends Stage<infer E, unknown> ? E : never

/**
 * Composes stages around a program, the first one outermost.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compose =
  <const S extends ReadonlyArray<Stage<any, any>>>(stages: S) =>
  <E, R>(
    program: (state: State) => Effect.Effect<Answer, E, R>
  ): ((state: State) => Effect.Effect<Answer, E | ErrorOf<S>, R>) =>
    stages.reduceRight<(state: State) => Effect.Effect<Answer, any, any>>(
      (next, stage) => (state) => {
        // An exception of a collaborator belongs to the run, after its first event.
        try {
          return stage.wrap(state, next)
        } catch (defect) {
          return Effect.die(defect)
        }
      },
      program
    )

/**
 * Skips a failure that must not break a run: it is logged and emitted as `Degraded`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const degrade = <A, E, R, B>(
  effect: Effect.Effect<A, E, R>,
  options: { readonly state: State; readonly stage: string; readonly orElse: B }
): Effect.Effect<A | B, never, R> =>
  Effect.catchAll(effect, (error) => {
    const info: ErrorInfo = errorInfo(error)
    return Effect.logWarning(`${options.stage} failed: ${info.message}`).pipe(
      Effect.annotateLogs({ module: "AgentExecutor", stage: options.stage, error: info.tag }),
      // Does not wait for a reader: this runs in finalizers too, whose reader may be gone.
      Effect.zipRight(
        Effect.sync(() => {
          options.state.run.unsafeEmit({ _tag: "Degraded", stage: options.stage, error: info })
          options.state.run.metrics?.degraded(options.stage)
          return options.orElse
        })
      )
    )
  })

const patience = 5000

/** Work at the end of a run that may take 5 s, in an uninterruptible region too. */
export const inTime = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Cause.TimeoutException, R> =>
  Deadline.run(() => effect, {
    whole: patience,
    onTimeout: (_phase, limit) => new Cause.TimeoutException(`no end within ${limit} ms`)
  })

/**
 * Work at the end of a run, even an interrupted one. It may take 5 s, then it is interrupted. Failures and timeouts are
 * skipped.
 *
 * @since 0.1.0
 * @category combinators
 */
export const conclude = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  options: { readonly state: State; readonly stage: string }
): Effect.Effect<void, never, R> => Effect.asVoid(degrade(inTime(effect), { ...options, orElse: undefined }))
