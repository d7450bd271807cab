/**
 * Agents, memory, sessions and governance over the ports of one backend.
 *
 * @internal
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as AgentExecutor from "../agent/AgentExecutor.js"
import * as Agents from "../agent/Agents.js"
import type * as AgentConfig from "../agent/definition/AgentConfig.js"
import * as Governance from "../governance/Governance.js"
import type * as GovernanceConfig from "../governance/GovernanceConfig.js"
import type * as GovernanceControl from "../governance/GovernanceControl.js"
import * as AuditLog from "../governance/store/AuditLog.js"
import * as CostLedger from "../governance/store/CostLedger.js"
import * as RateLimitStore from "../governance/store/RateLimitStore.js"
import * as Checkpointer from "../graph/Checkpointer.js"
import * as CacheBackend from "../llm/CacheBackend.js"
import type * as Embedder from "../llm/embedding/Embedder.js"
import * as ModelPrices from "../llm/ModelPrices.js"
import * as LastConsolidation from "../memory/consolidation/LastConsolidation.js"
import * as MemoryConsolidator from "../memory/consolidation/MemoryConsolidator.js"
import * as DefaultMemory from "../memory/DefaultMemory.js"
import * as DefaultFactStore from "../memory/facts/DefaultFactStore.js"
import * as FactStore from "../memory/facts/FactStore.js"
import type * as Memory from "../memory/Memory.js"
import type * as MemoryConfig from "../memory/MemoryConfig.js"
import type * as DefaultMemoryStore from "../memory/search/DefaultMemoryStore.js"
import type * as MemoryStore from "../memory/search/MemoryStore.js"
import * as VectorIndex from "../memory/search/VectorIndex.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as RunLog from "../observability/RunLog.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import type * as SessionConfig from "../session/SessionConfig.js"
import * as Sessions from "../session/Sessions.js"
import * as InMemorySessionStore from "../session/turn/InMemorySessionStore.js"
import * as SessionStore from "../session/turn/SessionStore.js"
import * as SkillResultBackend from "../skill/execute/SkillResultBackend.js"
import type * as SkillResultCache from "../skill/execute/SkillResultCache.js"
import * as ApprovalStore from "../tool/approval/ApprovalStore.js"

/** What keeps something, each as a tag of its own. */
export type Ports =
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

/** What is composed of them. */
export type Composed =
  | AgentExecutor.AgentExecutor
  | Memory.Out
  | Sessions.Out
  | Governance.Governance
  | GovernanceControl.GovernanceControl

type Of<Out> = Layer.Layer<Out, any, any>

/**
 * What a backend keeps. Memory, facts and sessions are asked for by the name that their configuration has for where
 * they are kept; `undefined`: in this process.
 */
export interface Backend {
  readonly ports: Of<Exclude<Ports, SessionStore.SessionStore | FactStore.FactStore>>
  readonly entries: (
    backend: MemoryConfig.Backend
  ) => ((options: DefaultMemoryStore.Options) => Of<MemoryStore.MemoryStore>) | undefined
  readonly facts: (backend: MemoryConfig.Backend) => Of<FactStore.FactStore> | undefined
  readonly sessions: (backend: SessionConfig.Backend) => Of<SessionStore.SessionStore> | undefined
}

/** Collaborators that are given, of any types. */
export interface Given
  extends Omit<Agents.Replaceable, "memory" | "sessions" | "governance" | "log">,
    Agents.WithStages {
  /** What makes the vectors with `defaultBackend: "vector"`. Default: `HashingEmbedder`. */
  readonly embedder?: Of<Embedder.Embedder> | undefined
  readonly extractor?: DefaultMemory.Collaborators["extractor"]
  readonly compressor?: DefaultMemory.Collaborators["compressor"]
  readonly policies?: Governance.Replaceable["policies"]
  readonly quotas?: Governance.Replaceable["quotas"]
}

/** How the parts are configured; from the environment where something is absent and `fromEnvironment` is set. */
export interface Configured {
  readonly memory: MemoryConfig.MemoryConfig
  readonly sessions: SessionConfig.SessionConfig
  readonly governance: GovernanceConfig.GovernanceConfig
  readonly agents: { readonly options: AgentConfig.Options | undefined } | "environment"
}

/** The service of a tag as a layer: for compositions that take a layer where one is there already. */
const same = <I, S>(tag: Context.Tag<I, S>): Layer.Layer<I, never, I> => Layer.effect(tag, tag)

/** All ports in the memory of this process. */
export const portsInMemory: Layer.Layer<Exclude<Ports, SessionStore.SessionStore | FactStore.FactStore>> =
  Layer.mergeAll(
    Checkpointer.layerMemory(),
    CostLedger.layerMemory(),
    RateLimitStore.layerMemory(),
    AuditLog.layerMemory(),
    ApprovalStore.layerMemory(),
    RunLog.layerMemory(),
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

/** Everything over a backend, with its ports. */
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
    tokens: given.tokens
  })
  const sessions = Sessions.layer<Sessions.Collaborators & { readonly config: SessionConfig.Options }>({
    config: configured.sessions,
    store: same(SessionStore.SessionStore),
    memory: Layer.merge(same(WorkingMemory.WorkingMemory), same(MemoryConsolidator.MemoryConsolidator))
  })
  const governance = Governance.layerWith<Governance.Replaceable>({
    config: configured.governance,
    ledger: same(CostLedger.CostLedger),
    rates: same(RateLimitStore.RateLimitStore),
    audit: same(AuditLog.AuditLog),
    policies: given.policies,
    quotas: given.quotas
  }).pipe(Layer.provide(given.prices ?? (configured.agents === "environment" ? ModelPrices.layer : Layer.empty)))
  const stores = Layer.merge(
    backend.facts(defaultBackend) ?? DefaultFactStore.layerMemory(),
    backend.sessions(configured.sessions.backend) ?? InMemorySessionStore.layer
  )
  return agentsOf(configured.agents, given).pipe(
    Layer.provideMerge(sessions),
    Layer.provideMerge(Layer.merge(memory, governance)),
    Layer.provideMerge(Layer.merge(stores, backend.ports))
  )
}
