/**
 * The types of an agent, free of what makes and changes one.
 *
 * @internal
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as ParseResult from "effect/ParseResult"
import type { Pipeable } from "effect/Pipeable"
import type * as Governance from "../../governance/Governance.js"
import type * as Guard from "../../guard/pipeline/Guard.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { MemoryError } from "../../memory/entry/MemoryError.js"
import type * as ConversationWorkingMemory from "../../memory/working/ConversationWorkingMemory.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { OutputSpec, Strategy } from "../../strategy/definition/Strategy.js"
import type * as StrategyRegistry from "../../strategy/definition/StrategyRegistry.js"
import type * as ToolSet from "../../tool/definition/ToolSet.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/agent/Agent")

/**
 * What a run of the agent may use. Reaching a limit fails the run with `RunLimitExceededError` and what it had so far.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunLimits {
  /** Wall-clock time, everything included. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Tokens of all model calls, delegated ones included: what a call may use at most is reserved before it, so they are
   * never passed. A call is asked for a shorter answer when only that fits.
   */
  readonly maxTokens?: number | undefined
  /**
   * US dollars of all model calls, delegated ones included, in the same way. A call whose price is not known is
   * refused.
   */
  readonly maxCostUsd?: number | undefined
  readonly maxModelCalls?: number | undefined
  readonly maxToolCalls?: number | undefined
}

/**
 * A working memory, or what makes a plain conversation for each owner and session: see `withMemory`.
 *
 * @since 0.1.0
 * @category models
 */
export type Memory = WorkingMemory.Service | ConversationWorkingMemory.Conversations<MemoryError>

/**
 * Which of the executor's skills an agent is shown, registered ones and folders alike: all, those of these names, or
 * those of which it is true.
 *
 * @since 0.1.0
 * @category models
 */
export type Skills = "all" | ReadonlyArray<string> | SkillCatalog.Choice

/**
 * What an answer must be. `decode` reads the encoded value back into the schema's type, `encode` is the way there.
 *
 * @since 0.1.0
 * @category models
 */
export interface Output {
  readonly spec: OutputSpec
  readonly decode: (encoded: unknown) => Effect.Effect<unknown, ParseResult.ParseIssue>
  readonly encode: (decoded: unknown) => Effect.Effect<unknown, ParseResult.ParseIssue>
  readonly problem: string | undefined
}

/**
 * `Output` what its answer decodes to, `E` what its tools, strategy, guards and output add to the executor's failures,
 * `R` what they require.
 *
 * @since 0.1.0
 * @category models
 */
export interface Agent<out Output = string, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: { readonly _O: () => Output; readonly _E: () => E; readonly _R: () => R }
  readonly name: string
  readonly definition: Definition
}

/** A placed stage as a definition keeps it; `Stage.Placed` is its type, which in turn knows agents. */
export interface AnyPlaced {
  readonly stage: { readonly name: string; readonly wrap: (state: never, next: never) => Effect.Effect<any, any, any> }
  readonly side: "outside" | "inside"
  readonly of: string
}

/**
 * The parts of an agent, free of their types.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition {
  readonly system: string
  readonly tools: ToolSet.ToolSet<any, any>
  /** `undefined`: the executor's default, `react`. */
  readonly strategy: Strategy<any, any> | StrategyRegistry.Named | undefined
  readonly output: Output | undefined
  readonly guards: ReadonlyArray<Guard.Any>
  readonly memory: Memory | undefined
  readonly governance: Governance.Service | undefined
  readonly settings: ModelSettings.ModelSettings
  readonly role: string | undefined
  readonly module: string | undefined
  readonly limits: RunLimits
  readonly stages: ReadonlyArray<AnyPlaced>
  readonly debugNodeUpdates: boolean
  readonly skills: Skills
}

/**
 * Any agent.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Agent<unknown, unknown, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export type OutputOf<A extends Any> = A extends Agent<infer O, unknown, unknown> ? O : never

/**
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<A extends Any> = A extends Agent<unknown, infer E, unknown> ? E : never

/**
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<A extends Any> = A extends Agent<unknown, unknown, infer R> ? R : never
