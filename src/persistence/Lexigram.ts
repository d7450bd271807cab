/**
 * A whole system in one line: agents with memory, sessions and governance over one backend, with every port that keeps something.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as AgentConfig from "../agent/AgentConfig.js"
import * as GovernanceConfig from "../governance/GovernanceConfig.js"
import type { GovernanceConfigurationError } from "../governance/GovernanceError.js"
import type * as LlmClient from "../llm/LlmClient.js"
import type * as ModelRouter from "../llm/ModelRouter.js"
import * as Memory from "../memory/Memory.js"
import * as MemoryConfig from "../memory/MemoryConfig.js"
import type { MemorySystemError } from "../memory/MemoryError.js"
import * as Health from "../observability/Health.js"
import * as SessionConfig from "../session/SessionConfig.js"
import type { SessionConfigurationError } from "../session/SessionError.js"
import type * as SessionManager from "../session/SessionManager.js"
import * as Sessions from "../session/Sessions.js"
import * as Composition from "./Composition.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Where everything is kept: `memory`, `sqlite`, `postgres`. */
  readonly backend: string
  /** The database and what lies over it, part by part. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Lexigram extends Context.Tag("effect-lexigram/persistence/Lexigram")<Lexigram, Service>() {}

/**
 * The configurations of the parts, with the defaults of each. Memory and sessions are kept in the database unless they say otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings {
  readonly agents?: AgentConfig.Options | undefined
  readonly memory?: MemoryConfig.Options | undefined
  readonly sessions?: SessionConfig.Options | undefined
  readonly governance?: GovernanceConfig.Options | undefined
}

/**
 * What else a system can be given: collaborators of the executor (`Agents.layerWith`), of memory (`Memory.layer`) and of governance. Each may
 * require the ports that are kept here.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replaceable extends Composition.Given {}

type Given<L> = Extract<L[keyof L & keyof Replaceable], Layer.Layer<any, any, any>>
/** What a collaborator may find here. */
type Inside = Composition.Ports | SqlClient.SqlClient | ModelRouter.ModelRouter | SessionManager.SessionManager

/**
 * What the given layers fail with.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Replaceable> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * What the given layers require beyond what is here.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Replaceable> = [Given<L>] extends [never]
  ? never
  : Exclude<Layer.Layer.Context<Given<L>>, Inside>

/** A name that is misspelt would be passed over in silence. */
type NothingElse<L, Known extends string> = {
  readonly [K in Exclude<keyof L, keyof Replaceable | keyof Settings | Known>]: never
}

/**
 * How a configuration is refused.
 *
 * @since 0.1.0
 * @category models
 */
export type ConfigurationFailure = MemorySystemError | SessionConfigurationError | GovernanceConfigurationError

/**
 * What a system provides: the executor, memory, sessions and governance, and every port.
 *
 * @since 0.1.0
 * @category models
 */
export type Out = Lexigram | Composition.Composed | Composition.Ports

/**
 * The parts as code configures them.
 */
const configured = (
  { agents, governance, memory, sessions }: Settings,
  kept: { readonly memory: MemoryConfig.Backend; readonly sessions: SessionConfig.Backend }
): Effect.Effect<Composition.Configured, ConfigurationFailure> =>
  Effect.gen(function* () {
    return {
      memory: yield* MemoryConfig.make({ ...memory, defaultBackend: memory?.defaultBackend ?? kept.memory }),
      sessions: yield* SessionConfig.make({ ...sessions, backend: sessions?.backend ?? kept.sessions }),
      governance: yield* GovernanceConfig.make(governance),
      agents: { options: agents }
    }
  })

/** How the parts are, the database before all. */
const told = (backend: string, checks: ReadonlyArray<Health.Check>) =>
  Layer.effect(
    Lexigram,
    Effect.gen(function* () {
      const { health: memory } = yield* Memory.Memory
      const { health: sessions } = yield* Sessions.Sessions
      return {
        backend,
        health: Effect.map(Effect.all([Health.sum(checks), memory, sessions]), (reports) => ({
          status: reports.every(({ status }) => status === "healthy") ? ("healthy" as const) : ("unhealthy" as const),
          parts: reports.flatMap(({ parts }) => parts)
        }))
      }
    })
  )

type Of<Out> = Layer.Layer<Out, any, any>

const inMemory = (settings: Settings & Replaceable): Of<Out> =>
  Layer.unwrapEffect(
    Effect.map(configured(settings, { memory: "in_memory", sessions: "in_memory" }), (parts) =>
      told("memory", []).pipe(
        Layer.provideMerge(Composition.compose(Composition.portsInMemory, () => undefined, parts, settings))
      )
    )
  )

/**
 * Everything in the memory of this process, and gone with it: for tests and for trying things out.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = <const L extends Replaceable & Settings = {}>(
  options?: (L & NothingElse<L, never>) | undefined
): Layer.Layer<Out, ConfigurationFailure | ErrorOf<L>, LlmClient.LlmClient | ContextOf<L>> => inMemory(options ?? {})
