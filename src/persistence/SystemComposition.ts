/**
 * Composes agents, memory, sessions and governance on the ports of one backend.
 *
 * @private
 * @since 0.1.0
 */
import type * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as AgentExecutor from "../agent/AgentExecutor.js"
import * as Agents from "../agent/Agents.js"
import type * as AgentConfig from "../agent/definition/AgentConfig.js"
import * as InMemoryRunStore from "../agent/record/InMemoryRunStore.js"
import type * as RunStore from "../agent/record/RunStore.js"
import * as BlobStore from "../content/BlobStore.js"
import * as InMemoryBlobStore from "../content/InMemoryBlobStore.js"
import * as DefaultGovernance from "../governance/DefaultGovernance.js"
import * as Governance from "../governance/Governance.js"
import * as GovernanceConfig from "../governance/GovernanceConfig.js"
import type * as GovernanceControl from "../governance/GovernanceControl.js"
import * as AuditLog from "../governance/store/AuditLog.js"
import * as CostLedger from "../governance/store/CostLedger.js"
import * as DefaultAuditLog from "../governance/store/DefaultAuditLog.js"
import type { GovernanceConfigurationError } from "../governance/store/GovernanceError.js"
import * as InMemoryCostLedger from "../governance/store/InMemoryCostLedger.js"
import * as RateLimitStore from "../governance/store/RateLimitStore.js"
import * as Checkpointer from "../graph/Checkpointer.js"
import * as CacheBackend from "../llm/CacheBackend.js"
import type * as Embedder from "../llm/embedding/Embedder.js"
import * as ModelPrices from "../llm/ModelPrices.js"
import * as LastConsolidation from "../memory/consolidation/LastConsolidation.js"
import * as MemoryConsolidator from "../memory/consolidation/MemoryConsolidator.js"
import * as DefaultMemory from "../memory/DefaultMemory.js"
import type { MemorySystemError } from "../memory/entry/MemoryError.js"
import * as FactStore from "../memory/facts/FactStore.js"
import type * as Memory from "../memory/Memory.js"
import * as MemoryConfig from "../memory/MemoryConfig.js"
import type * as DefaultMemoryStore from "../memory/search/DefaultMemoryStore.js"
import type * as MemoryStore from "../memory/search/MemoryStore.js"
import * as VectorIndex from "../memory/search/VectorIndex.js"
import * as FactVectors from "../memory/semantic/FactVectors.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as RunLog from "../observability/RunLog.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as SessionConfig from "../session/SessionConfig.js"
import * as Sessions from "../session/Sessions.js"
import * as InMemorySessionStore from "../session/turn/InMemorySessionStore.js"
import type { SessionConfigurationError } from "../session/turn/SessionError.js"
import * as SessionStore from "../session/turn/SessionStore.js"
import * as SkillResultBackend from "../skill/execute/SkillResultBackend.js"
import type * as SkillResultCache from "../skill/execute/SkillResultCache.js"
import * as ApprovalStore from "../tool/approval/ApprovalStore.js"

/** The ports that store data. */
export type Ports =
  | BlobStore.BlobStore
  | CacheBackend.CacheBackend
  | SkillResultCache.SkillResultCache
  | SessionStore.SessionStore
  | FactStore.FactStore
  | Checkpointer.Checkpointer
  | CostLedger.CostLedger
  | RateLimitStore.RateLimitStore
  | AuditLog.AuditLog
  | ApprovalStore.ApprovalStore
  | RunLog.RunLog
  | RunStore.RunStore

/** The services composed on the ports. */
export type Composed =
  | AgentExecutor.AgentExecutor
  | Memory.Out
  | Sessions.Out
  | Governance.Governance
  | GovernanceControl.GovernanceControl

type Of<Out> = Layer.Layer<Out, any, any>

/**
 * The stores of a backend. Memory, facts and sessions are selected by the backend in their configuration; `undefined`
 * keeps them in this process.
 */
export interface Backend {
  readonly ports: Of<Exclude<Ports, SessionStore.SessionStore | FactStore.FactStore>>
  readonly entries: (
    backend: MemoryConfig.Backend
  ) => ((options: DefaultMemoryStore.Options) => Of<MemoryStore.MemoryStore>) | undefined
  readonly facts: (backend: MemoryConfig.Backend) => Of<FactStore.FactStore> | undefined
  readonly sessions: (backend: SessionConfig.Backend) => Of<SessionStore.SessionStore> | undefined
}

/** Collaborators of any types. */
export interface Given
  extends Omit<Agents.Replaceable, "memory" | "sessions" | "governance" | "log">,
    Agents.WithStages {
  /**
   * Embedder for `defaultBackend: "vector"`. Default: `HashingEmbedder`. With any backend, facts are found by meaning
   * with it, else with the `Embedder` in context, if there is one.
   */
  readonly embedder?: Of<Embedder.Embedder> | undefined
  readonly extractor?: DefaultMemory.Collaborators["extractor"]
  readonly compressor?: DefaultMemory.Collaborators["compressor"]
  readonly matcher?: DefaultMemory.Collaborators["matcher"]
  readonly policies?: DefaultGovernance.Replaceable["policies"]
  readonly quotas?: DefaultGovernance.Replaceable["quotas"]
  /**
   * Keeps an audit log on the backend: what governance decided, every model call, every tool call and every run, a row
   * each. Default: nothing is audited.
   */
  readonly audit?: boolean | undefined
}

/** The configuration of the parts. `agents` may be read from the environment. */
export interface Configured {
  readonly memory: MemoryConfig.MemoryConfig
  readonly sessions: SessionConfig.SessionConfig
  readonly governance: GovernanceConfig.GovernanceConfig
  readonly agents: { readonly options: AgentConfig.Options | undefined } | "environment"
}

/** The configurations of the parts. */
export interface Settings {
  readonly agents?: AgentConfig.Options | undefined
  readonly memory?: MemoryConfig.Options | undefined
  readonly sessions?: SessionConfig.Options | undefined
  readonly governance?: GovernanceConfig.Options | undefined
}

/** Errors of the configurations. */
export type ConfigurationFailure = MemorySystemError | SessionConfigurationError | GovernanceConfigurationError

/** Configures the parts from options. `kept` names the default backends. */
export const fromSettings = (
  { agents, governance, memory, sessions }: Settings,
  kept: { readonly memory: MemoryConfig.Backend; readonly sessions: SessionConfig.Backend }
): Effect.Effect<Configured, ConfigurationFailure> =>
  Effect.gen(function* () {
    return {
      memory: yield* MemoryConfig.make({ ...memory, defaultBackend: memory?.defaultBackend ?? kept.memory }),
      sessions: yield* SessionConfig.make({ ...sessions, backend: sessions?.backend ?? kept.sessions }),
      governance: yield* GovernanceConfig.make(governance),
      agents: { options: agents }
    }
  })

/** Configures the parts from the environment. */
export const fromEnvironment: Effect.Effect<Configured, ConfigError.ConfigError> = Effect.gen(function* () {
  return {
    memory: yield* MemoryConfig.config,
    sessions: yield* SessionConfig.config,
    governance: yield* GovernanceConfig.config,
    agents: "environment" as const
  }
})

/** Default variables that keep memory and sessions in the database. */
export const inDatabase = ConfigProvider.fromMap(
  new Map([
    [`${MemoryConfig.ENV_PREFIX}DEFAULT_BACKEND`, "database"],
    [`${SessionConfig.ENV_PREFIX}BACKEND`, "database"]
  ])
)

/** Provides the service in context as a layer, for compositions that require one. */
const same = <I, S>(tag: Context.Tag<I, S>): Layer.Layer<I, never, I> => Layer.effect(tag, tag)

/** The store of blobs in context, such as one in folders or on S3, else that of the backend. */
export const blobsOr = <E, R>(
  otherwise: Layer.Layer<BlobStore.BlobStore, E, R>
): Layer.Layer<BlobStore.BlobStore, E, R> =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.serviceOption(BlobStore.BlobStore),
      Option.match({
        onNone: () => otherwise,
        onSome: (blobs): Layer.Layer<BlobStore.BlobStore, E, R> => Layer.succeed(BlobStore.BlobStore, blobs)
      })
    )
  )

/** All ports in the memory of this process. */
export const portsInMemory: Layer.Layer<Exclude<Ports, SessionStore.SessionStore | FactStore.FactStore>> =
  Layer.mergeAll(
    blobsOr(InMemoryBlobStore.layer()),
    Checkpointer.layerMemory(),
    InMemoryCostLedger.layer(),
    RateLimitStore.layerMemory(),
    DefaultAuditLog.layerMemory(),
    ApprovalStore.layerMemory(),
    RunLog.layerMemory(),
    InMemoryRunStore.layer(),
    SkillResultBackend.layer().pipe(Layer.provideMerge(CacheBackend.layerMemory()))
  )

const agentsOf = (configured: Configured["agents"], given: Given): Of<AgentExecutor.AgentExecutor> => {
  const collaborators: Agents.Replaceable & Agents.WithStages = {
    ...given,
    memory: same(WorkingMemory.WorkingMemory),
    sessions: same(SessionManager.SessionManager),
    governance: same(Governance.Governance),
    log: same(RunLog.RunLog)
  }
  return configured === "environment"
    ? Agents.layerConfig(collaborators)
    : Agents.layerWith<Agents.Replaceable>({ ...collaborators, config: configured.options })
}

/** The whole system on a backend, with its ports. */
export const compose = (backend: Backend, configured: Configured, given: Given): Of<Ports | Composed> => {
  const { defaultBackend } = configured.memory
  const entries = backend.entries(defaultBackend)
  const memory = DefaultMemory.layer<DefaultMemory.Collaborators & { readonly config: MemoryConfig.Options }>({
    config: configured.memory,
    store: entries,
    vectors: given.embedder && Layer.provideMerge(VectorIndex.layerMemory(), given.embedder),
    facts: same(FactStore.FactStore),
    lastConsolidation: LastConsolidation.layerCache(),
    extractor: given.extractor,
    compressor: given.compressor,
    matcher: given.matcher,
    tokens: given.tokens
  })
  const sessions = Sessions.layer<Sessions.Collaborators & { readonly config: SessionConfig.Options }>({
    config: configured.sessions,
    store: same(SessionStore.SessionStore),
    memory: Layer.merge(same(WorkingMemory.WorkingMemory), same(MemoryConsolidator.MemoryConsolidator))
  })
  const governance = DefaultGovernance.layerWith<DefaultGovernance.Replaceable>({
    config: configured.governance,
    ledger: same(CostLedger.CostLedger),
    rates: same(RateLimitStore.RateLimitStore),
    audit: given.audit === true ? same(AuditLog.AuditLog) : undefined,
    policies: given.policies,
    quotas: given.quotas
  }).pipe(
    Layer.provide(given.prices ?? (configured.agents === "environment" ? ModelPrices.layerInstalled : Layer.empty))
  )
  const facts = FactVectors.layerMemory()
  const stores = Layer.merge(
    backend.facts(defaultBackend) ?? (given.embedder === undefined ? facts : Layer.provide(facts, given.embedder)),
    backend.sessions(configured.sessions.backend) ?? InMemorySessionStore.layer
  )
  return agentsOf(configured.agents, given).pipe(
    Layer.provideMerge(sessions),
    Layer.provideMerge(Layer.merge(memory, governance)),
    Layer.provideMerge(Layer.merge(stores, backend.ports))
  )
}
