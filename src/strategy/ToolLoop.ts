/**
 * The loop of model and tools that `function_calling` and native `react` share.
 *
 * @since 0.1.0
 */
import type { ToolResultPartEncoded } from "@effect/ai/Prompt"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { FinishReason } from "../domain/AgentEvent.js"
import * as Usage from "../domain/Usage.js"
import * as ReActAction from "../internal/ReActAction.js"
import * as LlmClient from "../llm/LlmClient.js"
import type { LlmError } from "../llm/LlmError.js"
import * as Run from "../observability/Run.js"
import * as Step from "../observability/Step.js"
import type { Fatality, Outcome, RunOptions, ToolCall } from "../tool/ToolRunner.js"
import { ToolRunner } from "../tool/ToolRunner.js"
import type { Bound } from "../tool/ToolSet.js"
import * as ModelCall from "./ModelCall.js"
import * as Progress from "./Progress.js"
import * as ReActText from "./ReActText.js"
import type { StopCondition } from "./StopCondition.js"
import type { Answer, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"
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
    maxIterations: Math.max(1, options.maxIterations ?? limits.maxIterations ?? defaults.maxIterations),
    toolConcurrency: Math.max(1, options.toolConcurrency ?? limits.toolConcurrency ?? defaults.toolConcurrency),
    noProgressAfter:
      options.noProgressAfter === false
        ? Number.POSITIVE_INFINITY
        : Math.max(1, options.noProgressAfter ?? defaults.noProgressAfter),
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
export const finishReason = (reason: LlmClient.FinishReason): FinishReason =>
  reason === "length" || reason === "content-filter" ? reason : "completed"

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

/**
 * Fails once a call has shown the same result too often.
 *
 * @since 0.1.0
 * @category combinators
 */
export const checkProgress = (
  strategyName: string,
  resolved: Resolved,
  detector: Progress.CircleDetector,
  step: number,
  call: ToolCall,
  outcome: Outcome
): NoProgressError | undefined => {
  const repeats = detector.note(step, outcome.name, call.params, outcome.observation)
  if (repeats < resolved.noProgressAfter) return undefined
  return stuck(strategyName, outcome.name, repeats)
}

const resultPart = (call: ToolCall, name: string, outcome: Outcome): ToolResultPartEncoded => ({
  type: "tool-result",
  id: call.id,
  name,
  isFailure: outcome.isFailure,
  result: outcome.result,
  providerExecuted: false
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

const NUDGE = "Your last answer was empty. Answer the question, or call a tool."

/**
 * Asks the model, runs the calls of its answer side by side, shows it the results, and again, until it answers without a call.
 *
 * `thoughts` makes the text that comes with calls a `Thought`. Where a model that knows no native calls writes one as text in the ReAct
 * form, it is run all the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const program =
  (config: {
    readonly name: string
    readonly thoughts: boolean
    readonly system: (task: Task) => string
    readonly options: LoopOptions
  }) =>
  (task: Task): Effect.Effect<Answer, StrategyBaseError, StrategyServices> =>
    Effect.gen(function* () {
      const resolved = resolve(config.options, task)
      const run = yield* Run.Run
      const runner = yield* ToolRunner
      const model = yield* ModelCall.bind(task, { timeout: resolved.llmTimeout })
      const tools = task.tools
      const toolNames = writtenNames(tools)
      const opening = ModelCall.openingMessages(task, config.system(task))
      const first = opening.length - 1
      let messages = opening
      let usage: Usage.Usage = Usage.empty
      let toolCallCount = 0
      let lastText = ""
      const detector = Progress.makeCircleDetector()
      const answer = (text: string, reason: FinishReason, step: number, said?: LlmClient.Message) =>
        end(model, task, { strategyName: config.name, step, first, messages, text, reason, said })
      // A model that writes its calls as text writes its answer in the same form.
      let writes = false

      for (let step = 1; step <= resolved.maxIterations; step++) {
        const wait = run.unsafeEmit({ _tag: "StepStarted", step })
        if (wait !== undefined) yield* wait
        const response = yield* model.call(
          tools.definitions.length > 0
            ? { messages, tools: tools.definitions }
            : task.output !== undefined
              ? {
                  messages,
                  responseFormat: { type: "json", name: task.output.name, schema: task.output.jsonSchema }
                }
              : { messages },
          { step }
        )
        usage = Usage.add(usage, response.usage)
        const text = LlmClient.text(response)
        if (text !== "") lastText = text
        const native = LlmClient.toolCalls(response)
        const written = native.length === 0 && toolNames.length > 0 ? writtenCall(text, toolNames, step) : undefined

        if (native.length === 0 && written === undefined) {
          const said = LlmClient.assistantMessage(response)
          if (response.finishReason === "pause") {
            messages = [...messages, said]
            continue
          }
          if (text === "" && response.finishReason !== "content-filter" && response.finishReason !== "length") {
            // Reasoning alone is refused by providers that want to see what it led to.
            const acted = response.content.some((part) => part.type === "tool-call" || part.type === "tool-result")
            messages = [...messages, ...(acted ? [said] : []), { role: "user", content: NUDGE }]
            continue
          }
          const reason = finishReason(response.finishReason)
          const parsed = writes ? ReActText.parse(text, { tools: toolNames }) : undefined
          return yield* answer(parsed?._tag === "FinalAnswer" ? parsed.answer : text, reason, step, said)
        }

        writes ||= written !== undefined
        const assistant: LlmClient.Message =
          written === undefined ? LlmClient.assistantMessage(response) : { role: "assistant", content: written.text }
        const calls: ReadonlyArray<ToolCall> = written === undefined ? native : [written.call]
        const thought = written === undefined ? text.trim() : written.thought
        if (config.thoughts && thought !== "") yield* run.emit({ _tag: "Thought", step, text: thought })

        const outcomes = yield* Step.forEach(calls, (call) => runner.run(tools, call, resolved.toolOptions(step)), {
          concurrency: resolved.toolConcurrency
        })
        toolCallCount += outcomes.length
        const observed: LlmClient.Message =
          written === undefined
            ? { role: "tool", content: outcomes.map((outcome, i) => resultPart(calls[i]!, native[i]!.name, outcome)) }
            : { role: "user", content: ReActText.observation(outcomes[0]!.observation) }
        messages = [...messages, assistant, observed]

        for (let i = 0; i < outcomes.length; i++) {
          const stuck = checkProgress(config.name, resolved, detector, step, calls[i]!, outcomes[i]!)
          if (stuck !== undefined) {
            if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", step)
            return yield* stuck
          }
        }
        if (resolved.stopWhen?.({ step, usage, toolCalls: toolCallCount, text: lastText, last: outcomes }) === true) {
          return yield* answer(lastText, "stop-condition", step)
        }
      }
      if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", resolved.maxIterations)
      return yield* exceeded(config.name, resolved)
    })

const writtenCall = (
  text: string,
  tools: ReadonlyArray<string>,
  step: number
): { readonly call: ToolCall; readonly thought: string; readonly text: string } | undefined => {
  if (!/action/i.test(text)) return undefined
  const parsed = ReActText.parse(text, { tools })
  if (parsed._tag !== "Action" || !tools.includes(parsed.tool)) return undefined
  return {
    call: { id: `text_${step}`, name: parsed.tool, params: ReActText.paramsOf(parsed) },
    thought: parsed.thought,
    text: parsed.cut.text
  }
}
