/**
 * The service that the steps of a strategy work with during one run: it fills in and asks prompts, reads replies, runs
 * tools and shapes the answer. Because it is a service, a graph is built once and its nodes still reach their run.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import type { Body, FinishReason } from "../../domain/AgentEvent.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import type * as Run from "../../observability/Run.js"
import type { PromptStep } from "../../prompt/template/PromptStep.js"
import type { Values } from "../../prompt/template/PromptTemplate.js"
import type { Fatality, Outcome, RunOptions, ToolCall } from "../../tool/ToolRunner.js"
import type * as ModelCall from "./ModelCall.js"
import type { ReplyForm } from "./ReplyForm.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "./Strategy.js"
import type { StrategyReplyError } from "./StrategyError.js"

/**
 * Options of every strategy that asks in steps.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The form in which structured replies are requested. `json` (default) sends a JSON Schema and falls back to text for
   * a model that rejects schemas; `text` asks for the text form of the step. Replies are read in either form.
   */
  readonly format?: "json" | "text" | undefined
  /** How often to ask again after an unusable reply, with a description of the problem; default 2. */
  readonly replyRetries?: number | undefined
  /** Timeout of one model call; default that of the agent, then 120 s. */
  readonly llmTimeout?: Duration.DurationInput | undefined
  /** Timeout of one attempt of a tool without a timeout of its own; default that of the agent, then 30 s. */
  readonly toolTimeout?: Duration.DurationInput | undefined
  /** Total attempts for a tool without a limit of its own; default that of the agent, then 3. */
  readonly toolMaxRetries?: number | undefined
  /** Maximum characters of an observation sent to the model; default that of the agent, then 10,000. */
  readonly observationMaxChars?: number | undefined
  /** Tool calls or plan parts of one step that run concurrently; default that of the agent, then 8. */
  readonly toolConcurrency?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AskOptions {
  /** The model role; default that of the prompt. */
  readonly role?: string | undefined
  /** Settings of this call. They override those of the role and of the agent. */
  readonly settings?: ModelSettings | undefined
  /** Messages after the prompt: the conversation about it so far. */
  readonly follow?: ReadonlyArray<LlmClient.Message> | undefined
  /** Whether the agent's system prompt and the earlier turns come first; default true. */
  readonly context?: boolean | undefined
  /**
   * What readers of the run see while the reply is written: `nothing` (default), `reasoning` (as `ReasoningDelta`) or
   * `answer` (as `TextDelta`).
   */
  readonly show?: "nothing" | "reasoning" | "answer" | undefined
  /** Receives the text in pieces as it arrives. The call waits for the returned Effect. */
  readonly onText?: ((text: string) => Effect.Effect<void>) | undefined
  /**
   * Returns what is wrong with a text, in words the model can act on, or `undefined` if the text is usable. Not called
   * for replies with a form.
   */
  readonly check?: ((text: string) => string | undefined) | undefined
  /**
   * Runs before each model call of the question, including repeated ones. Its failure ends the question.
   */
  readonly admit?: Effect.Effect<void, Fatality> | undefined
}

/**
 * A question that the model may answer with native tool calls. The calls are returned, not run.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallForm<out A> {
  /** The tools the model may call. If empty, the reply can only be text. */
  readonly tools: ReadonlyArray<LlmClient.ToolDefinition>
  /** The value of `{output_format}`. */
  readonly format: string
  /**
   * Reads a value from a reply. `Left` says what is wrong in words the model can act on. The reply has calls, text or
   * both.
   */
  readonly read: (text: string, calls: ReadonlyArray<ToolCall>) => Either.Either<A, string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Reply {
  readonly text: string
  /** The step of the run, from 1. */
  readonly step: number
  readonly response: LlmClient.LlmResponse
}

/**
 * A reply in the requested form.
 *
 * @since 0.1.0
 * @category models
 */
export interface Formed<out A> extends Reply {
  readonly value: A
}

/**
 * @since 0.1.0
 * @category models
 */
export interface InnerOptions {
  /** What readers of the run see of its text while it is written, as in `AskOptions.show`; default `reasoning`. */
  readonly show?: AskOptions["show"]
  /** Receives its events as they are emitted. */
  readonly onEvent?: ((event: Body) => void) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The name of the strategy. */
  readonly name: string
  readonly task: Task
  readonly run: Run.Service
  /** How many tool calls or plan parts of one step run concurrently. */
  readonly concurrency: number
  /** The number of steps so far. */
  readonly steps: () => number
  /**
   * The model of a role, for calls without a prompt. A role that is not configured resolves to the agent's own model.
   */
  readonly model: (role: string) => Effect.Effect<ModelCall.Model>
  /** The messages of a prompt: the system prompts of agent and step, the earlier turns, and the step's question. */
  readonly opening: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>
  ) => ReadonlyArray<LlmClient.Message>
  /**
   * The messages of the task itself, without a prompt. Its system message includes the custom instructions of the
   * pattern.
   */
  readonly bare: (pattern: string) => ReadonlyArray<LlmClient.Message>
  /** Begins the next step of the run and returns its number. `ask`, `askFor` and `finish` call it themselves. */
  readonly begin: (name?: string | undefined) => Effect.Effect<number>
  /**
   * Makes one model call in a new step. If the reply has no text, it asks again and finally fails with
   * `StrategyReplyError`. A reply cut by a content filter fails with `LlmContentPolicyError`.
   */
  readonly ask: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Reply, LlmError | Fatality | StrategyReplyError>
  /**
   * Like `ask`, for a reply with a form. A reply that does not fit goes back to the model with the problem; after the
   * last attempt the question fails with `StrategyReplyError`.
   */
  readonly askFor: <A, Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    form: ReplyForm<A>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError>
  /** Like `askFor`, for a reply that calls tools natively or is text. */
  readonly askCalls: <A, Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    form: CallForm<A>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Formed<A>, LlmError | Fatality | StrategyReplyError>
  /**
   * Asks the last question of a run. Its reply is streamed to readers and becomes the answer, in the output shape of
   * the task.
   */
  readonly finish: <Variable extends string>(
    prompt: PromptStep<Variable>,
    values: Values<Variable>,
    options?: AskOptions | undefined
  ) => Effect.Effect<Answer, LlmError | Fatality | StrategyReplyError>
  /**
   * Runs a tool. A failure becomes an observation, unless the tool is fatal. Ids of calls must be unique in a run. With
   * `refuse` the tool does not run, and the observation says why.
   */
  readonly call: (
    call: ToolCall,
    step: number,
    refuse?: RunOptions["refuse"] | undefined
  ) => Effect.Effect<Outcome, Fatality>
  /**
   * Runs another strategy as part of this run. Its steps continue the numbering of this run, even if several run
   * concurrently. A call whose id was used before gets a numeric suffix, so that an id identifies one call.
   */
  readonly inner: <E, R>(
    strategy: Strategy<E, R>,
    task: Task,
    options?: InnerOptions | undefined
  ) => Effect.Effect<Answer, E | StrategyBaseError, R | StrategyServices>
  /**
   * Makes the answer from a finished text, in the output shape of the task. If the model has to bring the text into
   * that shape, it gets the custom instructions of the pattern that was asked last.
   */
  readonly answer: (
    text: string,
    reason?: FinishReason | undefined,
    options?: Pick<AskOptions, "admit"> | undefined
  ) => Effect.Effect<Answer, LlmError | Fatality>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Reasoning extends Context.Tag("effect-lexigram/strategy/Reasoning")<Reasoning, Service>() {}
