/**
 * The session subsystem as one layer: store, lifecycle, branches, analytics and clean-up, by configuration.
 *
 * @since 0.1.0
 */
import type * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MemoryConsolidator from "../memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../memory/working/WorkingMemory.js"
import * as Health from "../observability/Health.js"
import * as BranchManager from "./branch/BranchManager.js"
import * as DefaultBranchManager from "./branch/DefaultBranchManager.js"
import * as KeyValueSessionStore from "./keyvalue/KeyValueSessionStore.js"
import * as DefaultSessionManager from "./manager/DefaultSessionManager.js"
import * as SessionManager from "./manager/SessionManager.js"
import * as SessionConfig from "./SessionConfig.js"
import * as InMemorySessionStore from "./turn/InMemorySessionStore.js"
import { SessionConfigurationError } from "./turn/SessionError.js"
import * as SessionStore from "./turn/SessionStore.js"
import * as DefaultSessionAnalytics from "./upkeep/DefaultSessionAnalytics.js"
import * as DefaultSessionCleanup from "./upkeep/DefaultSessionCleanup.js"
import type * as SessionAnalytics from "./upkeep/SessionAnalytics.js"
import * as SessionCleanup from "./upkeep/SessionCleanup.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `GroupSession.fromConfig` and `SessionMiddleware` read it from here. */
  readonly config: SessionConfig.SessionConfig
  /** One part, named as in the configuration. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Sessions extends Context.Tag("effect-lexigram/session/Sessions")<Sessions, Service>() {}

type AnyLayer<Out> = Layer.Layer<Out, any, any>

/**
 * The layers that the configuration needs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collaborators {
  /** The session store, in place of the one `backend` names; required for `database`. */
  readonly store?: AnyLayer<SessionStore.SessionStore> | undefined
  /** The key-value store of `backend: "cache"`. */
  readonly keyValue?: AnyLayer<KeyValueStore.KeyValueStore> | undefined
  /**
   * Receives every turn and is consolidated when a session ends; `DefaultMemory.layer()` provides both services. Runs
   * of agents with the same memory do not need it; a turn that both pass on is remembered once. Default none.
   */
  readonly memory?: AnyLayer<WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Settings {
  /**
   * Whether idle sessions expire automatically, every `cleanupIntervalS`. `SessionCleanup.runOnce` works either way.
   * Default true.
   */
  readonly cleanup?: boolean | undefined
  /**
   * The environment to check the configuration for. An `error` of `SessionConfig.validateForEnvironment` fails the
   * layer, such as sessions in process memory in `production`. Default: no check.
   */
  readonly environment?: "production" | "development" | "test" | undefined
}

type GivenLayers<L> = Extract<L[keyof L], AnyLayer<any>>

/**
 * The failures of these layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Collaborators> = [GivenLayers<L>] extends [never]
  ? never
  : Layer.Layer.Error<GivenLayers<L>>

/**
 * The requirements of these layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Collaborators> = [GivenLayers<L>] extends [never]
  ? never
  : Layer.Layer.Context<GivenLayers<L>>

/** A misspelled name would be ignored silently. */
type NoOtherKeys<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Collaborators | keyof Settings | Known>]: never
}

/**
 * The services of a session layer.
 *
 * @since 0.1.0
 * @category models
 */
export type Out =
  | Sessions
  | SessionManager.SessionManager
  | BranchManager.BranchManager
  | SessionAnalytics.SessionAnalytics
  | SessionCleanup.SessionCleanup

const noop = (config: SessionConfig.SessionConfig): Layer.Layer<Out> =>
  Layer.mergeAll(
    Layer.succeed(Sessions, { config, health: Health.sum([]) }),
    BranchManager.layerNoop,
    SessionCleanup.layerNoop,
    DefaultSessionAnalytics.layer().pipe(Layer.provideMerge(SessionManager.layerNoop))
  )

const missingStore = (message: string, hint: string): AnyLayer<SessionStore.SessionStore> =>
  Layer.effect(
    SessionStore.SessionStore,
    new SessionConfigurationError({ message: `Sessions cannot be built: ${message}`, hint })
  )

/** Never substitutes another backend for the named one. */
const storeOf = (
  { backend }: SessionConfig.SessionConfig,
  given: Collaborators
): AnyLayer<SessionStore.SessionStore> => {
  if (given.store !== undefined) return given.store
  switch (backend) {
    case "in_memory":
      return InMemorySessionStore.layer
    case "cache":
      return given.keyValue === undefined
        ? missingStore(
            'backend is "cache", but no cache is given',
            "Give `Sessions.layer` a `keyValue` store, or a `store`"
          )
        : Layer.provide(KeyValueSessionStore.layer(), given.keyValue)
    case "database":
      return missingStore(
        'backend is "database", but no store is given',
        "Give `Sessions.layer` a `store`, such as `SqlSessionStore.layer` of effect-lexigram/persistence, or use `Lexigram.layerSqlite` of the same entry"
      )
  }
}

const sessions = (config: SessionConfig.SessionConfig) =>
  Layer.effect(
    Sessions,
    Effect.map(SessionManager.SessionManager, (manager) => ({
      config,
      health: Health.sum([{ name: config.name, check: manager.health }])
    }))
  )

const enabled = (config: SessionConfig.SessionConfig, given: Collaborators & Settings): AnyLayer<Out> => {
  const interval = Duration.seconds(config.cleanupIntervalS)
  const shared = {
    maxTurnsPerSession: config.maxTurnsPerSession,
    maxSessionsPerUser: config.maxSessionsPerUser,
    sessionTtl: Duration.seconds(config.sessionTtl)
  }
  const managers = Layer.merge(
    DefaultSessionManager.layer({
      ...shared,
      defaultSystemPrompt: config.defaultSystemPrompt,
      autoCheckpointInterval: config.autoCheckpointInterval,
      maxCheckpointsPerSession: config.maxCheckpointsPerSession,
      maxTurnBytes: config.maxTurnBytes,
      exchangeLease: Duration.seconds(config.exchangeLeaseS),
      consolidateOnClose: config.consolidateOnClose
    }),
    DefaultBranchManager.layer({ ...shared, maxBranchesPerSession: config.maxBranchesPerSession })
  )
  const cleans = given.cleanup !== false && config.sessionTtl > 0
  const keeping = cleans ? DefaultSessionCleanup.layer({ interval }) : DefaultSessionCleanup.layerManual()
  const memory = given.memory ?? Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)
  return Layer.mergeAll(sessions(config), keeping, DefaultSessionAnalytics.layer()).pipe(
    Layer.provideMerge(managers),
    Layer.provide(Layer.merge(storeOf(config, given), memory)),
    Layer.annotateLogs("sessions", config.name)
  )
}

const backendIssue = (config: SessionConfig.SessionConfig, { environment }: Settings) =>
  environment === undefined
    ? undefined
    : SessionConfig.validateForEnvironment(config, environment).find(({ level }) => level === "error")

const compose = (
  config: Effect.Effect<SessionConfig.SessionConfig, any>,
  given: Collaborators & Settings
): AnyLayer<Out> =>
  Layer.unwrapEffect(
    Effect.flatMap(config, (config) => {
      if (!config.enabled) return Effect.succeed(noop(config))
      // A store that the caller provides needs no check of its backend.
      const issue = given.store === undefined ? backendIssue(config, given) : undefined
      return issue === undefined
        ? Effect.succeed(enabled(config, given))
        : new SessionConfigurationError({
            message: `Sessions cannot be built: ${issue.field}: ${issue.message}`,
            hint: "Give `Sessions.layer` another backend, or a `store`"
          })
    })
  )

/**
 * Builds the layer from the defaults of `SessionConfig` with some fields replaced.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { DefaultMemory } from "effect-lexigram/memory"
 * import { Sessions } from "effect-lexigram/session"
 *
 * const sessions = Sessions.layer({ config: { maxTurnsPerSession: 500 }, memory: DefaultMemory.layer() })
 *
 * const agents = Agents.layerWith({ sessions })
 * ```
 */
export const layer = <
  const L extends Collaborators & Settings & { readonly config?: SessionConfig.Options | undefined } = {}
>(
  options?: (L & NoOtherKeys<L, "config">) | undefined
): Layer.Layer<Out, SessionConfigurationError | ErrorOf<L>, ContextOf<L>> =>
  compose(
    Effect.suspend(() => SessionConfig.make(options?.config)),
    options ?? {}
  )

/**
 * Builds the layer from the environment (`LEX_AI_SESSION__*`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Collaborators & Settings = {}>(
  options?: (L & NoOtherKeys<L>) | undefined
): Layer.Layer<Out, SessionConfigurationError | ConfigError.ConfigError | ErrorOf<L>, ContextOf<L>> =>
  compose(SessionConfig.config, options ?? {})

/**
 * Stores nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Out> = noop({ ...SessionConfig.defaults, enabled: false })

/**
 * Reports the health of the session store.
 *
 * @since 0.1.0
 * @category accessors
 */
export const health: Effect.Effect<Health.Report, never, Sessions> = Effect.flatMap(Sessions, ({ health }) => health)
