/**
 * The state of reasoning during one run: its services, the models it has resolved and the steps it has begun.
 *
 * @private
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ModelRouter } from "../../llm/ModelRouter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type * as Run from "../../observability/Run.js"
import type * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT, type PromptStep } from "../../prompt/template/PromptStep.js"
import type { Service as ToolRunner } from "../../tool/ToolRunner.js"
import type { Model } from "../definition/ModelCall.js"
import type { AskOptions } from "../definition/Reasoning.js"
import * as Strategy from "../definition/Strategy.js"
import * as ModelBinding from "./ModelBinding.js"
import type { Resolved } from "./ToolLoop.js"

export interface ReasoningState {
  /** The name of the strategy. */
  readonly name: string
  readonly task: Strategy.Task
  readonly run: Run.Service
  readonly runner: ToolRunner
  readonly prompts: PromptLibrary.Service
  readonly context: Context.Context<LlmClient.LlmClient | ModelRouter>
  readonly resolved: Resolved
  readonly format: "json" | "text"
  /** How often a question is asked before it fails. */
  readonly attempts: number
  /** The models resolved so far, by role. */
  readonly models: Map<string, Model>
  /** Ids of the tool calls so far. */
  readonly callIds: Set<string>
  /** The number of steps so far. */
  steps: number
  /** The pattern of the prompt that was filled in last. Text without a prompt is asked for in its name. */
  pattern: string
}

/** The value of `{output_format}` in a step without a form. */
export const PLAIN_FORMAT = "Plain text: the reply itself, without a preamble."

/** The model of a role. */
export const model = (state: ReasoningState, role: string): Effect.Effect<Model> => {
  const known = state.models.get(role)
  return known !== undefined ? Effect.succeed(known) : Effect.provide(resolveModel(state, role), state.context)
}

const resolveModel = (
  { models, resolved, task }: ReasoningState,
  role: string
): Effect.Effect<Model, never, LlmClient.LlmClient | ModelRouter> =>
  Effect.gen(function* () {
    // A role that is not configured resolves to the agent's own model, not to the default one.
    const isDefault = (yield* (yield* ModelRouter).resolve(role)).isDefault === true
    const bound = yield* ModelBinding.bind(task, { timeout: resolved.llmTimeout, ...(isDefault ? {} : { role }) })
    models.set(role, bound)
    return bound
  })

/** Begins the next step of the run and returns its number. */
export const begin = (state: ReasoningState, name?: string): Effect.Effect<number> =>
  Effect.suspend(() => {
    const step = ++state.steps
    const wait = state.run.unsafeEmit({ _tag: "StepStarted", step, ...(name === undefined ? {} : { name }) })
    return wait === undefined ? Effect.succeed(step) : Effect.as(wait, step)
  })

const join = (first: string, second: string): string =>
  first === "" ? second : second === "" ? first : `${first}\n\n${second}`

/** The messages of a prompt with its values filled in. */
export const messages = (
  state: ReasoningState,
  prompt: PromptStep,
  values: { readonly [key: string]: string },
  outputFormat: string,
  { context = true, follow = [] }: Pick<AskOptions, "context" | "follow"> = {}
): ReadonlyArray<LlmClient.Message> => {
  state.pattern = prompt.pattern
  const { system, user } = state.prompts.render(prompt, { ...values, [OUTPUT_FORMAT]: outputFormat })
  const head = context ? join(state.task.system, system) : system
  return [
    ...(head === "" ? [] : [{ role: "system" as const, content: head }]),
    ...(context ? state.task.history : []),
    { role: "user", content: user },
    ...follow
  ]
}

/** The messages of the task without a prompt, with the custom instructions of a pattern. */
export const bareMessages = ({ prompts, task }: ReasoningState, pattern: string): ReadonlyArray<LlmClient.Message> =>
  Strategy.openingMessages(task, join(task.system, prompts.instructions(pattern)))
