/**
 * What all loops of model and tools share: options, limits and the end of the loop.
 *
 * @since 0.1.0
 */

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { FinishReason } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ReActAction from "../../plan/react/ReActAction.js"
import { ToolCallLimitError } from "../../tool/definition/ToolError.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Fatality, Outcome, RunOptions, ToolCall } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"
import type { Answer, Task } from "../definition/Strategy.js"
import { MaxIterationsExceededError, NoProgressError } from "../definition/StrategyError.js"
import * as LoopTurn from "./LoopTurn.js"
import * as Progress from "./Progress.js"
import type { StopCondition } from "./StopCondition.js"
import * as StructuredOutput from "./StructuredOutput.js"

/**
 * Options of every loop of model and tools. Unset options come from the agent and its configuration, then from the
 * defaults stated here.
 *
 * @since 0.1.0
 * @category models
 */
export interface LoopOptions {
  /** Maximum number of model calls; default 10. */
  readonly maxIterations?: number | undefined
  /** Timeout of one attempt of a tool without a timeout of its own; default 30 s. */
  readonly toolTimeout?: Duration.DurationInput | undefined
  /** Total attempts for a tool without a limit of its own; default 3. */
  readonly toolMaxRetries?: number | undefined
  /** Maximum characters of an observation sent to the model; default 10,000. */
  readonly observationMaxChars?: number | undefined
  /** Timeout of one model call; default 120 s. */
  readonly llmTimeout?: Duration.DurationInput | undefined
  /** Calls of one turn that run concurrently; default 8. */
  readonly toolConcurrency?: number | undefined
  /** Maximum number of calls of one turn that run; the result of every other call says it was not run. Default 128. */
  readonly maxCallsPerTurn?: number | undefined
  /** Evaluated after the tools of each step. If it holds, the loop ends with the last text. */
  readonly stopWhen?: StopCondition | undefined
  /**
   * How many consecutive steps may make the same calls with the same results before the run fails with
   * `NoProgressError`; default 3, `false` for no limit. The model is warned one step before. Any other step, an
   * approved call and a `polling` tool reset the count.
   */
  readonly noProgressAfter?: number | false | undefined
  /**
   * Whether calls are read from the text of a model with native tools. Default `never`: a text is an answer, whatever
   * it quotes. `always` is for a model that cannot call natively and writes `Action:` and `Action Input:` instead; a
   * text that is exactly one action is then a call. No effect if the strategy's `format` is `text`.
   */
  readonly textCalls?: LoopTurn.TextCalls | undefined
  /** At the limit: fail with `MaxIterationsExceededError` (default), or answer with the last text, marked `limit`. */
  readonly onLimit?: "fail" | "answer" | undefined
}

/**
 * The options resolved for a task.
 *
 * @since 0.1.0
 * @category models
 */
export interface Resolved {
  readonly maxIterations: number
  readonly toolConcurrency: number
  readonly maxCallsPerTurn: number
  readonly noProgressAfter: number
  readonly textCalls: LoopTurn.TextCalls
  readonly onLimit: "fail" | "answer"
  readonly stopWhen: StopCondition | undefined
  readonly llmTimeout: Duration.DurationInput | undefined
  readonly toolOptions: (step: number, refuse?: RunOptions["refuse"]) => RunOptions
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { maxIterations: 10, toolConcurrency: 8, maxCallsPerTurn: 128, noProgressAfter: 3 } as const

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
    maxCallsPerTurn: count(options.maxCallsPerTurn ?? limits.maxCallsPerTurn, defaults.maxCallsPerTurn, 1),
    noProgressAfter:
      options.noProgressAfter === false
        ? Number.POSITIVE_INFINITY
        : count(options.noProgressAfter, defaults.noProgressAfter, 1),
    textCalls: options.textCalls ?? "never",
    onLimit: options.onLimit ?? "fail",
    stopWhen: options.stopWhen,
    llmTimeout: options.llmTimeout ?? limits.llmTimeout,
    toolOptions: (step, refuse) => ({ step, timeout, maxAttempts, maxResultChars, refuse })
  }
}

/**
 * The error of a call that exceeds `maxCallsPerTurn`; `undefined` if the call may run.
 *
 * @since 0.1.0
 * @category combinators
 */
export const refusal = (resolved: Resolved, name: string, index: number): ToolCallLimitError | undefined => {
  const { maxCallsPerTurn } = resolved
  if (index < maxCallsPerTurn) return undefined
  const toolName = name.slice(0, 128)
  return new ToolCallLimitError({
    toolName,
    maxCallsPerTurn,
    message: `"${toolName}" was not run: a turn runs at most ${maxCallsPerTurn} calls`,
    hint: "Make fewer calls at once"
  })
}

/**
 * Maps the finish reason of the model to that of a run with its final text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const finishReason: (reason: LlmClient.FinishReason) => FinishReason = LoopTurn.finishReason

/**
 * The error of a loop that reaches its limit without an answer.
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
 * The answer of a loop in the output shape of its task. However the loop ended, an output that does not fit is never
 * returned. `said` is the message of the model with the text.
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
    /** The index of the first message of this run. */
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
  return Effect.map(StructuredOutput.make(model, task.output, options), (shaped) => ({
    text: shaped.text,
    output: shaped.output,
    reason,
    messages: all(said !== undefined && shaped.text === text ? said : { role: "assistant", content: shaped.text })
  }))
}

/**
 * Evaluates the progress of a step. `stuck` is the error of a loop that goes in circles; `note` warns the model before
 * that.
 *
 * @since 0.1.0
 * @category combinators
 */
export const progress = (
  strategyName: string,
  resolved: Pick<Resolved, "noProgressAfter">,
  circles: Progress.Circles,
  step: {
    readonly tools: Bound
    readonly calls: ReadonlyArray<ToolCall>
    readonly outcomes: ReadonlyArray<Outcome>
  }
): {
  readonly circles: Progress.Circles
  readonly stuck: NoProgressError | undefined
  readonly note: string | undefined
} => {
  const { noProgressAfter } = resolved
  if (noProgressAfter === Number.POSITIVE_INFINITY) return { circles, stuck: undefined, note: undefined }
  const next = Progress.note(circles, step.tools, step.calls, step.outcomes)
  const { repeats } = next
  return {
    circles: next,
    stuck: repeats >= noProgressAfter ? stuck(strategyName, step.outcomes[0]?.name ?? "", repeats) : undefined,
    note: repeats > 1 && repeats === noProgressAfter - 1 ? AGAIN : undefined
  }
}

const AGAIN =
  "Note: this step made the same calls as the one before, and saw the same results. Do something else, or answer with what you know: " +
  "the same once more ends the run."

const stuck = (strategyName: string, toolName: string, repeats: number): NoProgressError =>
  new NoProgressError({
    strategyName,
    toolName,
    repeats,
    message: `"${toolName}" was called ${repeats} times with the same arguments and the same result`,
    hint: "Give the tool a clearer description or result, raise `noProgressAfter`, or say `polling: true` of a tool that waits"
  })

const namesOf = new WeakMap<Bound["definitions"], ReadonlyArray<string>>()

/**
 * Names of the tools as a model may write them: the names it was given, and the tools' own names where they differ in
 * more than spelling. Computed once per set of definitions.
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
