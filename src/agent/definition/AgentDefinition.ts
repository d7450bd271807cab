/**
 * The types of an agent, without its constructors and combinators, and how one is built from its parts.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as ParseResult from "effect/ParseResult"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type * as Governance from "../../governance/Governance.js"
import type * as Guard from "../../guard/pipeline/Guard.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as StandardSchema from "../../internal/text/StandardSchema.js"
import type { JsonSchema, ToolChoice } from "../../llm/model/LlmClient.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { MemoryError } from "../../memory/entry/MemoryError.js"
import type * as ConversationWorkingMemory from "../../memory/working/ConversationWorkingMemory.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { StepChanges, StepInfo } from "../../strategy/definition/StepPreparation.js"
import type { OutputSpec, Strategy } from "../../strategy/definition/Strategy.js"
import type * as StrategyRegistry from "../../strategy/definition/StrategyRegistry.js"
import type { StopCondition } from "../../strategy/reasoning/StopCondition.js"
import type * as ToolSet from "../../tool/definition/ToolSet.js"
import type * as ToolSearch from "../../tool/ToolSearch.js"
import type * as ToolSource from "../../tool/ToolSource.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/agent/Agent")

/**
 * Limits of a run of the agent and of each of its steps. Reaching one of the run fails it with `RunLimitExceededError`,
 * which has the partial response, and so does reaching `maxTokensPerStep` or `maxCostUsdPerStep`. The other ones of a
 * step (`maxIterations`, `llmTimeout`, `toolTimeout`, `maxCallsPerTurn`) replace those of the executor (`AgentConfig`),
 * and options of the strategy replace them: a timeout of the model ends the run, one of a tool and a call too many are
 * told to the model.
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
  /** Model calls of the strategy, one a step. What it does at the limit is its own. */
  readonly maxIterations?: number | undefined
  /** For one model call, with its retries. */
  readonly llmTimeout?: Duration.DurationInput | undefined
  /** For one attempt of a tool without a timeout of its own. */
  readonly toolTimeout?: Duration.DurationInput | undefined
  /**
   * Tokens of one step: its model call, and the model calls of its tools and sub-agents. Reserved as those of the run:
   * a call asks for a shorter answer if only that fits. Where none does, the run ends, and a call that a tool makes
   * itself fails with `LlmCallRefusedError`. Where a strategy has several steps at a time, the calls of tools count in
   * the one that began last.
   */
  readonly maxTokensPerStep?: number | undefined
  /** US dollars of one step, in the same way. A call without a known price is refused. */
  readonly maxCostUsdPerStep?: number | undefined
  /** Tool calls of one step that are run. */
  readonly maxCallsPerTurn?: number | undefined
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
 * What an agent does with memory besides recalling it, as `Remembering.make` of `effect-lexigram/agent` returns it. `R`
 * are its requirements.
 *
 * @since 0.1.0
 * @category models
 */
export interface Remembering<out R = never> {
  readonly _R: (_: never) => R
  /** The parts of an agent that change. */
  readonly changes: (definition: Definition) => Partial<Definition>
}

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
  /** It is that of a request: validators of the agent see the text of the answer. */
  readonly isRequested?: true | undefined
}

/**
 * The schema of an answer: an Effect Schema, or a Standard Schema of another library (Zod, ArkType, Valibot).
 *
 * @since 0.1.0
 * @category models
 */
export type OutputLike<A = any> = Schema.Schema<A, any, never> | StandardSchema.StandardSchema<any, A>

/**
 * The type of the answer.
 *
 * @since 0.1.0
 * @category models
 */
export type OutputType<Out extends OutputLike> =
  Out extends Schema.Schema<infer A, any, never>
    ? A
    : Out extends StandardSchema.StandardSchema<any, any>
      ? StandardSchema.OutputOf<Out>
      : never

/** The required output of an agent. A JSON Schema that is given replaces that of the schema. */
export const makeOutput = (
  agent: string,
  schema: OutputLike,
  retries: number,
  given: JsonSchema | undefined
): Output => {
  const { check, decode, encode, jsonSchema, problem } = StandardSchema.isStandard(schema)
    ? OutputSchema.fromStandard(schema, given)
    : OutputSchema.make(schema, given)
  return {
    problem,
    decode,
    encode,
    spec: {
      name: OutputSchema.nameOf(schema, `${agent}_output`),
      retries: Number.isNaN(retries) ? 0 : Math.max(0, retries),
      jsonSchema,
      decode: check
    }
  }
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
 * What an agent decides about its model calls, its tool calls and its answers while it runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface Control {
  readonly toolChoice: { readonly choice: ToolChoice; readonly on: "first" | "every" } | undefined
  /** In their order; later changes override earlier ones. */
  readonly prepareStep: ReadonlyArray<(info: StepInfo) => Effect.Effect<StepChanges | undefined, any, any>>
  /** Ends the run before its next model call. */
  readonly stopWhen: StopCondition | undefined
  /** In their order; the first one that repairs a call wins. */
  readonly repairs: ReadonlyArray<(call: FailedCall) => Effect.Effect<RepairedCall | undefined, any, any>>
  readonly validators: ReadonlyArray<(output: any) => Effect.Effect<void, any, any>>
  /** How often the model is asked again after an answer that a validator rejected. */
  readonly validatorRetries: number
  /** In their order; an earlier tool wins over one with the same name. */
  readonly toolSources: ReadonlyArray<ToolSource.Source>
  readonly toolSearch: ToolSearch.Options | undefined
}

/**
 * An agent that decides nothing while it runs.
 *
 * @since 0.1.0
 * @category constants
 */
export const noControl: Control = {
  toolChoice: undefined,
  prepareStep: [],
  stopWhen: undefined,
  repairs: [],
  validators: [],
  validatorRetries: 2,
  toolSources: [],
  toolSearch: undefined
}

/**
 * A tool call that could not run: its tool is unknown, or its arguments do not fit.
 *
 * @since 0.1.0
 * @category models
 */
export interface FailedCall {
  readonly id: string
  readonly name: string
  /** The arguments as the model wrote them; text if they are not JSON. */
  readonly params: unknown
  /** What is wrong, as the model would be told. */
  readonly problem: string
  /** The JSON Schema of the arguments, if the tool is known. */
  readonly parameters: JsonSchema | undefined
  /** The names of the tools of the run. */
  readonly tools: ReadonlyArray<string>
}

/**
 * The call to run instead. The name stays where it is absent.
 *
 * @since 0.1.0
 * @category models
 */
export interface RepairedCall {
  readonly name?: string | undefined
  readonly params: unknown
}

/**
 * The untyped parts of an agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition {
  readonly system: string
  /** What it is for, in words for the models that hand it work. */
  readonly description: string | undefined
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
  readonly control: Control
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

const proto = {
  [TypeId]: { _O: () => undefined as never, _E: () => undefined as never, _R: () => undefined as never },
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

/** An agent of the type that its caller infers. */
export const build = (name: string, definition: Definition): any =>
  Object.assign(Object.create(proto), { name, definition })

/**
 * @since 0.1.0
 * @category guards
 */
export const isAgent = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** What an agent is for in at most `most` characters: its description, or the beginning of its system prompt. */
export const aboutOf = ({ description, system }: Definition, most: number): string => {
  const flat = (description ?? system).replace(/\s+/g, " ").trim()
  return flat.length > most ? `${flat.slice(0, most)}…` : flat
}

/** The agent with other parts. */
export const change = (self: Any, fields: Partial<Definition>): any =>
  build(self.name, { ...self.definition, ...fields })
