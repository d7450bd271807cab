/**
 * A way to reason: an Effect that emits what happens through the current run and ends in its answer.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import type { ReaderTimeoutError } from "../../domain/ReaderTimeout.js"
import { GraphStepLimitError } from "../../graph/GraphError.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type { ModelRouter } from "../../llm/ModelRouter.js"
import type { JsonSchema, LlmClient, Message } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Fatality, ToolRunner } from "../../tool/ToolRunner.js"
import * as NodeUpdate from "./NodeUpdate.js"
import * as Reasoning from "./Reasoning.js"
import {
  MaxIterationsExceededError,
  type NoProgressError,
  type PlanError,
  type StrategyConfigurationError,
  type StrategyReplyError
} from "./StrategyError.js"
import * as StrategyProgram from "./StrategyProgram.js"

/**
 * What every strategy may fail with.
 *
 * @since 0.1.0
 * @category models
 */
export type StrategyBaseError =
  | LlmError
  | MaxIterationsExceededError
  | NoProgressError
  | StrategyReplyError
  | PlanError
  | StrategyConfigurationError
  | Fatality

/**
 * What every strategy may use.
 *
 * @since 0.1.0
 * @category models
 */
export type StrategyServices = LlmClient | ModelRouter | ToolRunner

/**
 * The shape an answer must have. `decode` gives back the encoded value, or what is wrong in words the model can act on.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputSpec {
  readonly name: string
  readonly jsonSchema: JsonSchema
  readonly decode: (value: unknown) => Effect.Effect<unknown, string>
  /** Further attempts after an answer that does not fit. */
  readonly retries: number
}

/**
 * Defaults that a strategy takes for what its own options leave unset: they come from the agent and from `AgentConfig`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly maxIterations?: number | undefined
  readonly llmTimeout?: Duration.DurationInput | undefined
  readonly toolTimeout?: Duration.DurationInput | undefined
  readonly toolMaxAttempts?: number | undefined
  readonly observationMaxChars?: number | undefined
  readonly toolConcurrency?: number | undefined
  readonly maxCallsPerTurn?: number | undefined
}

/**
 * What is to be done, with everything a strategy needs to know.
 *
 * @since 0.1.0
 * @category models
 */
export interface Task {
  readonly input: string
  readonly system: string
  /** Earlier turns, oldest first, without system messages. */
  readonly history: ReadonlyArray<Message>
  readonly tools: Bound
  readonly settings: ModelSettings
  /** Which model of `ModelRouter`; unset: the default client. */
  readonly role?: string | undefined
  readonly limits: Limits
  readonly output?: OutputSpec | undefined
  /**
   * For debugging: `NodeFinished` events hold updates as nodes return them, system prompt, memories and history among
   * them, without any bound. Never for events that leave the server.
   */
  readonly debugNodeUpdates?: boolean | undefined
}

/**
 * How a strategy ended. `messages` are those of this run, the user's first: what a session keeps.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly text: string
  readonly reason: FinishReason
  /** The encoded output, when the task has an output specification. */
  readonly output?: unknown
  readonly messages: ReadonlyArray<Message>
}

/**
 * `E` and `R` are what it adds to `StrategyBaseError` and `StrategyServices`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Strategy<out E = never, out R = never> {
  readonly name: string
  /** Emits through the current `Run` and ends in its answer: what the executor and combinators use. */
  readonly program: (task: Task) => Effect.Effect<Answer, E | StrategyBaseError, R | StrategyServices>
  /**
   * The same as a run of its own: its events, the last one terminal. Stopping the stream interrupts it, and so does a
   * reader that takes longer than `ReaderTimeout`.
   */
  readonly execute: (
    task: Task
  ) => Stream.Stream<AgentEvent, E | StrategyBaseError | ReaderTimeoutError, R | StrategyServices>
  /** The graph that runs, where the strategy is one. */
  readonly graph?: StateGraph.Compiled<any, any, any, any, any> | undefined
}

/**
 * Any strategy.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Strategy<any, any>

export {
  mapTask,
  selfConsistency,
  withBudget,
  withFallback,
  withHooks,
  withObserver,
  withPrompts,
  withSettings
} from "./StrategyCombinators.js"
export { isStrategy, make, terminal } from "./StrategyProgram.js"

/**
 * A strategy drawn as a graph: what every graph strategy exports, so that nodes can be wrapped or replaced before it is
 * made.
 *
 * @since 0.1.0
 * @category models
 */
export interface GraphDefinition<out N extends string, in out S, in out I, out E = never, out R = never> {
  readonly name: string
  readonly graph: StateGraph.StateGraph<N, S, I, E, R>
  /** The state a task begins with. */
  readonly start: (task: Task) => S
  /** The answer in the state a run ended with. */
  readonly answer: (state: S) => Effect.Effect<Answer, E, R>
  /** Options of its steps. */
  readonly options?: Reasoning.Options | undefined
  /** Super-steps at most; default no limit: strategies have limits of their own. */
  readonly maxSteps?: number | undefined
  /** What its `NodeFinished` events show of updates. */
  readonly updates?: NodeUpdate.Options | undefined
}

/**
 * A strategy of a graph. Its nodes get at their run through the `Reasoning` service; a `NodeFinished` event tells of
 * each that ended and what it changed: without messages, lists that grew as what was added, at most
 * `NodeUpdate.MAX_BYTES` long. The graph is compiled here, once for all runs; one that cannot be is thrown as
 * `GraphCompileError` (`StateGraph.compile` gives it typed).
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromGraph = <N extends string, S, I, E, R>(
  definition: GraphDefinition<N, S, I, E, R>
): Strategy<Exclude<E, StrategyBaseError>, Exclude<R, StrategyServices | Reasoning.Reasoning>> => {
  const { answer, graph, name, options, start } = definition
  const compiled = StateGraph.unsafeCompile(graph)
  const maxSteps = definition.maxSteps ?? Number.POSITIVE_INFINITY
  const program = (task: Task) =>
    Effect.flatMap(Reasoning.make(name, task, options), (reasoning) => {
      const { run } = reasoning
      const shown = task.debugNodeUpdates === true ? undefined : NodeUpdate.make(definition.updates)
      const shownUpdate = (node: string, update: object) =>
        run.withheld || run.sink.kept === false ? {} : shown === undefined ? update : shown(node, update)
      return StateGraph.invoke(compiled, start(task), {
        maxSteps,
        concurrency: reasoning.concurrency,
        onNode: ({ graph, node, step, update }) =>
          run.unsafeEmit({ _tag: "NodeFinished", graph, node, step, update: shownUpdate(node, update) }) ?? Effect.void
      }).pipe(
        Effect.catchIf(
          (error): error is GraphStepLimitError => error instanceof GraphStepLimitError,
          (error) =>
            new MaxIterationsExceededError({
              strategyName: name,
              maxIterations: error.limit,
              currentIteration: error.limit,
              message: `No answer after ${error.limit} steps of the graph`,
              hint: "Raise `maxSteps`"
            })
        ),
        Effect.flatMap(answer),
        Effect.provideService(Reasoning.Reasoning, reasoning)
      )
    })
  return { ...StrategyProgram.make(name, program as (task: Task) => Effect.Effect<Answer, any, any>), graph: compiled }
}
