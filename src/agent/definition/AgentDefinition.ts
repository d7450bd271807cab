/**
 * The types of an agent, without its constructors and combinators.
 *
 * @private
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
 * Limits of a run of the agent. Reaching one fails the run with `RunLimitExceededError`, which has the partial
 * response.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunLimits {
  /** Wall-clock time, everything included. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * Tokens of all model calls, including delegated ones. The maximum of a call is reserved before it, so the limit is
   * never exceeded. A call asks for a shorter answer if only that fits.
   */
  readonly maxTokens?: number | undefined
  /**
   * US dollars of all model calls, including delegated ones, reserved in the same way. A call without a known price is
   * refused.
   */
  readonly maxCostUsd?: number | undefined
  readonly maxModelCalls?: number | undefined
  readonly maxToolCalls?: number | undefined
}

/**
 * A working memory, or a function that creates a plain conversation for each owner and session: see `withMemory`.
 *
 * @since 0.1.0
 * @category models
 */
export type Memory = WorkingMemory.Service | MemoryConversations

/**
 * A function that creates a plain conversation for each owner and session. As an interface it is resolved only where it
 * is used: `Agent.make` would otherwise make the compiler expand every memory error.
 *
 * @since 0.1.0
 * @category models
 */
export interface MemoryConversations extends ConversationWorkingMemory.Conversations<MemoryError> {}

/**
 * Which of the executor's skills an agent sees, registered ones and folders alike: all, those with these names, or
 * those for which the function returns true.
 *
 * @since 0.1.0
 * @category models
 */
export type Skills = "all" | ReadonlyArray<string> | SkillCatalog.Choice

/**
 * The required output. `decode` reads the encoded value into the schema's type, `encode` converts it back.
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
 * `Output` is the decoded answer, `E` what its tools, strategy, guards and output add to the executor's failures, `R`
 * their requirements.
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
 * The untyped parts of an agent.
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
