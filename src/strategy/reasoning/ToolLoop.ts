/**
 * What every loop of model and tools has in common: its options, its limits, its end.
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
 * Options of every loop of model and tools. What is unset comes from the agent and its configuration, then from the
 * defaults named.
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
  /** Calls of one turn that run; each of the others has a result that says it was not run. Default 128. */
  readonly maxCallsPerTurn?: number | undefined
  /** Asked after the tools of each step; when it holds the loop ends with the last text. */
  readonly stopWhen?: StopCondition | undefined
  /**
   * How many steps in a row may make the same calls with the same results before the run fails with `NoProgressError`;
   * default 3, `false` for ever. The model is told the time before. Any other step, a call that somebody allowed, and a
   * tool that is `polling` begin the count again.
   */
  readonly noProgressAfter?: number | false | undefined
  /**
   * Whether calls are read out of the text of a model that was given native tools; default `never`: a text is an
   * answer, whatever it quotes. `always` is for a model that cannot call natively and writes `Action:` and `Action
   * Input:` instead; then a text that is an action and nothing else is a call. Without effect where the strategy's
   * `format` is `text`.
   */
  readonly textCalls?: LoopTurn.TextCalls | undefined
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
 * Why the call at this place of its turn is not run; `undefined` where it is.
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
 * The answer of a loop, in the shape the task asks for: whatever ended the loop, an output that does not fit never gets
 * out. `said` is the message of the model that holds the text.
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
  return Effect.map(StructuredOutput.make(model, task.output, options), (shaped) => ({
    text: shaped.text,
    output: shaped.output,
    reason,
    messages: all(said !== undefined && shaped.text === text ? said : { role: "assistant", content: shaped.text })
  }))
}

/**
 * What a step showed: `stuck` is the failure of a loop that goes in circles, and `note` is for the model before it
 * comes to that.
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
 * Names of the tools in text that a model writes: those it was told, and the tools' own where they are not merely
 * spelled differently. Made once a set of definitions.
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
