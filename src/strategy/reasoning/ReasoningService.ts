/**
 * Makes the `Reasoning` service of one run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { count } from "../../internal/Count.js"
import type { ModelRouter } from "../../llm/ModelRouter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as Run from "../../observability/Run.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type { PromptStep } from "../../prompt/template/PromptStep.js"
import { type Fatality, ToolRunner } from "../../tool/ToolRunner.js"
import type { Model } from "../definition/ModelCall.js"
import type { AskOptions, Options, Service } from "../definition/Reasoning.js"
import type { ReplyForm } from "../definition/ReplyForm.js"
import type { Answer, OutputSpec, StrategyServices, Task } from "../definition/Strategy.js"
import type { StrategyReplyError } from "../definition/StrategyError.js"
import * as InnerStrategy from "./InnerStrategy.js"
import * as Question from "./Question.js"
import * as ReasoningState from "./ReasoningState.js"
import * as StructuredOutput from "./StructuredOutput.js"
import * as ToolLoop from "./ToolLoop.js"

/** The model with each call admitted first. */
const admittedBy = (model: Model, admit: AskOptions["admit"]): Model =>
  admit === undefined
    ? model
    : { ...model, call: (request, options) => Effect.zipRight(admit, model.call(request, options)) }

type Values = { readonly [key: string]: string }

/** The last question of a task with plain output. */
const finishText = (
  state: ReasoningState.ReasoningState,
  prompt: PromptStep,
  values: Values,
  options: AskOptions
): Effect.Effect<Answer, LlmError | Fatality | StrategyReplyError> =>
  Effect.map(Question.ask(state, { prompt, values, options, read: checkedBy(options) }), ({ response, text }) => ({
    text,
    reason: ToolLoop.finishReason(response.finishReason),
    messages: [
      { role: "user", content: state.task.input },
      { role: "assistant", content: text }
    ]
  }))

/**
 * The last question of a task with an output specification. A reply that does not fit is asked for again with the
 * question before it, because the task alone does not say what the answer consists of.
 */
const finishOutput = (
  state: ReasoningState.ReasoningState,
  prompt: PromptStep,
  values: Values,
  options: AskOptions,
  output: OutputSpec
): Effect.Effect<Answer, LlmError | Fatality | StrategyReplyError> =>
  Effect.gen(function* () {
    const form: ReplyForm<string> = { name: output.name, jsonSchema: output.jsonSchema, read: Effect.succeed }
    const { response, step, text } = yield* Question.ask(state, { prompt, values, options, form, read: form.read })
    const model = yield* ReasoningState.model(state, options.role ?? prompt.role)
    const shaped = yield* StructuredOutput.make(admittedBy(model, options.admit), output, {
      strategyName: state.name,
      step,
      messages: ReasoningState.messages(state, prompt, values, Question.jsonFormat(form), options),
      text
    })
    return {
      text: shaped.text,
      output: shaped.output,
      reason: ToolLoop.finishReason(response.finishReason),
      messages: [
        { role: "user", content: state.task.input },
        { role: "assistant", content: shaped.text }
      ]
    }
  })

const checkedBy =
  ({ check }: AskOptions) =>
  (text: string): Effect.Effect<string, string> => {
    const issue = check?.(text)
    return issue === undefined ? Effect.succeed(text) : Effect.fail(issue)
  }

const answer =
  (state: ReasoningState.ReasoningState): Service["answer"] =>
  (text, reason = "completed", { admit } = {}) =>
    Effect.flatMap(ReasoningState.model(state, "documentation"), (model) => {
      const messages = ReasoningState.bareMessages(state, state.pattern)
      return ToolLoop.end(admittedBy(model, admit), state.task, {
        strategyName: state.name,
        step: state.steps,
        messages,
        first: messages.length - 1,
        text,
        reason,
        said: { role: "assistant", content: text }
      })
    })

const callTool =
  ({ callIds, resolved, runner, task }: ReasoningState.ReasoningState): Service["call"] =>
  (call, step, refuse) =>
    Effect.suspend(() => {
      callIds.add(call.id)
      return runner.run(task.tools, call, resolved.toolOptions(step, refuse))
    })

const fromState = (state: ReasoningState.ReasoningState): Service => ({
  name: state.name,
  task: state.task,
  run: state.run,
  concurrency: state.resolved.toolConcurrency,
  steps: () => state.steps,
  model: (role) => ReasoningState.model(state, role),
  opening: (prompt, values) =>
    ReasoningState.messages(state, prompt, values, prompt.textFormat || ReasoningState.PLAIN_FORMAT),
  bare: (pattern) => ReasoningState.bareMessages(state, pattern),
  begin: (name) => ReasoningState.begin(state, name),
  ask: (prompt, values, options = {}) => Question.ask(state, { prompt, values, options, read: checkedBy(options) }),
  askFor: (prompt, values, form, options = {}) =>
    Question.ask(state, { prompt, values, options, form, read: form.read }),
  askCalls: (prompt, values, native, options = {}) =>
    Question.ask(state, { prompt, values, options, native, read: native.read }),
  finish: (prompt, values, given = {}) => {
    const options: AskOptions = { show: "answer", ...given }
    const { output } = state.task
    return output === undefined
      ? finishText(state, prompt, values, options)
      : finishOutput(state, prompt, values, options, output)
  },
  call: callTool(state),
  inner: InnerStrategy.make(state),
  answer: answer(state)
})

/**
 * Makes the service for a run of a strategy with a task.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Strategy } from "effect-lexigram"
 * import { PromptStep } from "effect-lexigram/prompt"
 * import { ReasoningService } from "effect-lexigram/strategy"
 * import * as Effect from "effect/Effect"
 *
 * const Translate = PromptStep.make({
 *   pattern: "TranslatorAgent",
 *   name: "Translate",
 *   variables: ["text"],
 *   system: { role: "You translate into French.", output: "The translation alone." },
 *   user: "{text}"
 * })
 *
 * const translator = Strategy.make("translator", (task) =>
 *   Effect.flatMap(ReasoningService.make("translator", task), (reasoning) =>
 *     reasoning.finish(Translate, { text: task.input })
 *   )
 * )
 * ```
 */
export const make = (
  name: string,
  task: Task,
  options: Options = {}
): Effect.Effect<Service, never, StrategyServices> =>
  Effect.gen(function* () {
    return fromState({
      name,
      task,
      run: yield* Run.Run,
      runner: yield* ToolRunner,
      prompts: yield* PromptLibrary.PromptLibrary,
      context: yield* Effect.context<LlmClient.LlmClient | ModelRouter>(),
      resolved: ToolLoop.resolve(options, task),
      format: options.format ?? "json",
      attempts: 1 + count(options.replyRetries, 2, 0),
      models: new Map(),
      callIds: new Set(),
      steps: 0,
      pattern: ""
    })
  })
