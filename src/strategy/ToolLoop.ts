/**
 * What every loop of model and tools has in common: its options, its limits, its end.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { FinishReason } from "../domain/AgentEvent.js"
import { count } from "../internal/Count.js"
import * as ReActAction from "../internal/ReActAction.js"
import type * as LlmClient from "../llm/LlmClient.js"
import type { LlmError } from "../llm/LlmError.js"
import type { Fatality, RunOptions } from "../tool/ToolRunner.js"
import type { Bound } from "../tool/ToolSet.js"
import * as LoopTurn from "./LoopTurn.js"
import * as ModelCall from "./ModelCall.js"
import type { StopCondition } from "./StopCondition.js"
import type { Answer, Task } from "./Strategy.js"
import { MaxIterationsExceededError, NoProgressError } from "./StrategyError.js"

/**
 * Options of every loop of model and tools. What is unset comes from the agent and its configuration, then from the defaults named.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoopOptions {
  /** Model calls at most; default 10. */
  readonly maxIterations?: number | undefined
  /** Time for one attempt of a tool that does not say otherwise; default 30 s. */
  readonly toolTimeout?: Duration.DurationInput | undefined
  /** Attempts in all for a tool that does not say otherwise; default 3. */
  readonly toolMaxRetries?: number | undefined
  /** Characters of an observation that reach the model; default 10,000. */
  readonly observationMaxChars?: number | undefined
  /** Time for one model call; default 120 s. */
  readonly llmTimeout?: Duration.DurationInput | undefined
  /** Calls of one turn that run at once; default 8. */
  readonly toolConcurrency?: number | undefined
  /** Asked after the tools of each step; when it holds the loop ends with the last text. */
  readonly stopWhen?: StopCondition | undefined
  /** How often the same call may show the same result before the run fails with `NoProgressError`; default 3, `false` for ever. */
  readonly noProgressAfter?: number | false | undefined
  /** At the limit: fail with `MaxIterationsExceededError` (default), or answer with the last text, marked `limit`. */
  readonly onLimit?: "fail" | "answer" | undefined
}

/**
 * What the options come to for a task.
 *
 * @since 0.1.0
 * @category models
 */
export interface Resolved {
  readonly maxIterations: number
  readonly toolConcurrency: number
  readonly noProgressAfter: number
  readonly onLimit: "fail" | "answer"
  readonly stopWhen: StopCondition | undefined
  readonly llmTimeout: Duration.DurationInput | undefined
  readonly toolOptions: (step: number) => RunOptions
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { maxIterations: 10, toolConcurrency: 8, noProgressAfter: 3 } as const

/**
 * @since 0.1.0
 * @category constructors
 */
export const resolve = (options: LoopOptions, task: Task): Resolved => {
  const { limits } = task
  const timeout = options.toolTimeout ?? limits.toolTimeout
  const maxAttempts = options.toolMaxRetries ?? limits.toolMaxAttempts
  const maxResultChars = options.observationMaxChars ?? limits.observationMaxChars
  return {
    maxIterations: count(options.maxIterations ?? limits.maxIterations, defaults.maxIterations, 1),
    toolConcurrency: count(options.toolConcurrency ?? limits.toolConcurrency, defaults.toolConcurrency, 1),
    noProgressAfter:
      options.noProgressAfter === false
        ? Number.POSITIVE_INFINITY
        : count(options.noProgressAfter, defaults.noProgressAfter, 1),
    onLimit: options.onLimit ?? "fail",
    stopWhen: options.stopWhen,
    llmTimeout: options.llmTimeout ?? limits.llmTimeout,
    toolOptions: (step) => ({ step, timeout, maxAttempts, maxResultChars })
  }
}

/**
 * Why a run that has its final text ended, from why the model did.
 *
 * @since 0.1.0
 * @category conversions
 */
export const finishReason: (reason: LlmClient.FinishReason) => FinishReason = LoopTurn.finishReason

/**
 * The failure of a loop that ends without an answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exceeded = (strategyName: string, resolved: Resolved): MaxIterationsExceededError =>
  new MaxIterationsExceededError({
    strategyName,
    maxIterations: resolved.maxIterations,
    currentIteration: resolved.maxIterations,
    message: `No answer after ${resolved.maxIterations} iterations`,
    hint: 'Raise `maxIterations`, or take the best text so far with `onLimit: "answer"`'
  })

/**
 * The answer of a loop, in the shape the task asks for: whatever ended the loop, an output that does not fit never gets out. `said` is
 * the message of the model that holds the text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const end = (
  model: ModelCall.Model,
  task: Task,
  options: {
    readonly strategyName: string
    readonly step: number
    readonly messages: ReadonlyArray<LlmClient.Message>
    /** Where the messages of this run begin. */
    readonly first: number
    readonly text: string
    readonly reason: FinishReason
    readonly said?: LlmClient.Message | undefined
  }
): Effect.Effect<Answer, LlmError | Fatality> => {
  const { first, messages, reason, said, text } = options
  const all = (last: LlmClient.Message | undefined) =>
    last === undefined ? messages.slice(first) : [...messages.slice(first), last]
  if (task.output === undefined) return Effect.succeed({ text, reason, messages: all(said) })
  return Effect.map(ModelCall.structured(model, task.output, options), (shaped) => ({
    text: shaped.text,
    output: shaped.output,
    reason,
    messages: all(said !== undefined && shaped.text === text ? said : { role: "assistant", content: shaped.text })
  }))
}

/**
 * The failure of a loop that goes in circles.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stuck = (strategyName: string, toolName: string, repeats: number): NoProgressError =>
  new NoProgressError({
    strategyName,
    toolName,
    repeats,
    message: `"${toolName}" was called ${repeats} times with the same arguments and the same result`,
    hint: "Give the tool a clearer description or result, or raise `noProgressAfter`"
  })

const namesOf = new WeakMap<Bound["definitions"], ReadonlyArray<string>>()

/**
 * Names of the tools in text that a model writes: those it was told, and the tools' own where they are not merely spelled differently.
 * Made once a set of definitions.
 *
 * @since 0.1.0
 * @category getters
 */
export const writtenNames = ({ definitions, tools }: Bound): ReadonlyArray<string> => {
  let names = namesOf.get(definitions)
  if (names === undefined) {
    const told = definitions.map((definition) => definition.name)
    const own = tools.map((tool) => tool.name).filter((name) => ReActAction.knownTool(name, told) === undefined)
    names = [...told, ...own]
    namesOf.set(definitions, names)
  }
  return names
}
