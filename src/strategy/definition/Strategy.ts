/**
 * A strategy: an Effect that emits events through the current run and returns an answer.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { RunId } from "../../domain/Ids.js"
import * as ReaderTimeout from "../../domain/ReaderTimeout.js"
import type * as StateGraph from "../../graph/StateGraph.js"
import * as EventSink from "../../internal/fiber/EventSink.js"
import type { ModelRouter } from "../../llm/ModelRouter.js"
import type { JsonSchema, LlmClient, Message } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as StepTooLargeError from "../../observability/journal/StepTooLargeError.js"
import * as Run from "../../observability/Run.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Fatality, ToolRunner } from "../../tool/ToolRunner.js"
import type { Preparation } from "./StepPreparation.js"
import type {
  MaxIterationsExceededError,
  NoProgressError,
  PlanError,
  StrategyConfigurationError,
  StrategyReplyError
} from "./StrategyError.js"

/**
 * Errors that every strategy may fail with.
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
 * Services that every strategy may use.
 *
 * @since 0.1.0
 * @category models
 */
export type StrategyServices = LlmClient | ModelRouter | ToolRunner

/**
 * The shape an answer must have. `decode` returns the encoded value, or fails with a description of the problem that
 * the model can act on.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputSpec {
  readonly name: string
  readonly jsonSchema: JsonSchema
  readonly decode: (value: unknown) => Effect.Effect<unknown, string>
  /** Additional attempts after an answer that does not fit. */
  readonly retries: number
}

/**
 * Defaults for options that a strategy leaves unset. They come from the agent and from `AgentConfig`.
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
 * The input of a strategy.
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
  /** The role that `ModelRouter` resolves. Default: the default client. */
  readonly role?: string | undefined
  readonly limits: Limits
  readonly output?: OutputSpec | undefined
  /** Prepares each model call of the strategy. */
  readonly preparation?: Preparation | undefined
  /**
   * For debugging: `NodeFinished` events contain the full updates of nodes, including the system prompt, memories and
   * history, without a size limit. Do not enable it for events that leave the server.
   */
  readonly debugNodeUpdates?: boolean | undefined
}

/**
 * The result of a strategy. `messages` are the messages of this run, starting with the user's. A session stores them.
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
 * A way to reason about a task. `E` and `R` are what it adds to `StrategyBaseError` and `StrategyServices`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Strategy<out E = never, out R = never> {
  readonly name: string
  /** Emits events through the current `Run` and returns the answer. The executor and the combinators use it. */
  readonly program: (task: Task) => Effect.Effect<Answer, E | StrategyBaseError, R | StrategyServices>
  /**
   * Runs the program as a separate run and streams its events; the last one is terminal. Stopping the stream interrupts
   * the run, and so does a reader that takes longer than `ReaderTimeout`.
   */
  readonly execute: (
    task: Task
  ) => Stream.Stream<AgentEvent, E | StrategyBaseError | ReaderTimeout.ReaderTimeoutError, R | StrategyServices>
  /** The compiled graph, if the strategy is a graph. */
  readonly graph?: StateGraph.Compiled<any, any, any, any, any> | undefined
}

/**
 * A strategy with any errors and services.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Strategy<any, any>

/**
 * Checks whether a value has the shape of a strategy.
 *
 * @since 0.1.0
 * @category guards
 */
export const isStrategy = (u: unknown): u is Any =>
  typeof u === "object" &&
  u !== null &&
  "name" in u &&
  typeof u.name === "string" &&
  "program" in u &&
  typeof u.program === "function" &&
  "execute" in u &&
  typeof u.execute === "function"

/**
 * Makes a strategy from a program. The program emits `StepStarted`, deltas, thoughts and similar events through `Run`.
 * The events `Started`, `Message` and the terminal event are emitted around it.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { LlmClient, Run, Strategy } from "effect-lexigram"
 * import { ModelBinding } from "effect-lexigram/strategy"
 * import * as Effect from "effect/Effect"
 *
 * // One model call, without tools.
 * const plain = Strategy.make("plain", (task) =>
 *   Effect.gen(function* () {
 *     const model = yield* ModelBinding.bind(task)
 *     yield* Run.emit({ _tag: "StepStarted", step: 1, name: "answer" })
 *     const response = yield* model.call({ messages: Strategy.openingMessages(task) }, { step: 1 })
 *     const messages = [{ role: "user" as const, content: task.input }, LlmClient.assistantMessage(response)]
 *     return { text: LlmClient.text(response), reason: "completed" as const, messages }
 *   })
 * )
 * ```
 */
export const make = <E, R>(
  name: string,
  program: (task: Task) => Effect.Effect<Answer, E, R>
): Strategy<Exclude<E, StrategyBaseError>, Exclude<R, StrategyServices>> => ({
  name,
  program: program as Any["program"],
  execute: (task) =>
    EventSink.stream<AgentEvent, any, any>({ capacity: 64, patience: ReaderTimeout.current }, (sink) =>
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const runId = (yield* IdGenerator.generate) as RunId
        const run = Run.make({
          runId,
          agent: name,
          clock,
          sink: { push: sink.push, settle: sink.settle, live: true }
        })
        const startedAt = clock.unsafeCurrentTimeMillis()
        return yield* run.emit({ _tag: "Started", input: task.input, strategy: name }).pipe(
          Effect.zipRight(program(task) as ReturnType<Any["program"]>),
          Effect.tap((answer) =>
            run.emit({
              _tag: "Message",
              text: answer.text,
              ...(answer.output === undefined ? {} : { output: answer.output })
            })
          ),
          sink.attended,
          Effect.onExit((exit) =>
            Effect.sync(() => emitTerminal(run, exit, clock.unsafeCurrentTimeMillis() - startedAt))
          ),
          Effect.provideService(Run.Run, run)
        )
      })
    )
})

/**
 * Emits the terminal event of a run that ended with this exit.
 *
 * @since 0.1.0
 * @category combinators
 */
export const emitTerminal = (
  run: Run.Service,
  exit: Exit.Exit<Answer, unknown>,
  durationMs: number,
  sessionId?: string | undefined
): void => {
  if (Exit.isSuccess(exit)) {
    run.terminal({
      _tag: "Finished",
      reason: exit.value.reason,
      durationMs,
      ...(sessionId === undefined ? {} : { sessionId })
    })
    return
  }
  const interrupted = Cause.isInterruptedOnly(exit.cause)
  const failure = Option.orElse(Cause.failureOption(exit.cause), () =>
    Option.fromNullable(StepTooLargeError.inCause(exit.cause))
  )
  run.terminal({
    _tag: "Error",
    interrupted,
    error: interrupted
      ? { tag: "InterruptedError", message: "The run was interrupted" }
      : Option.isSome(failure)
        ? errorInfo(unwrap(failure.value))
        : { tag: "Defect", message: "The run crashed: a bug, not a failure; see the cause in the logs" }
  })
}

const unwrap = (error: unknown): unknown =>
  typeof error === "object" && error !== null && (error as { readonly _tag?: unknown })._tag === "Fatality"
    ? (error as Fatality).error
    : error

/**
 * The opening messages of a task: the system prompt (omitted when empty), the history and the user's message.
 *
 * @since 0.1.0
 * @category conversions
 */
export const openingMessages = (task: Task, system: string = task.system): ReadonlyArray<Message> => {
  const user: Message = { role: "user", content: task.input }
  return system === "" ? [...task.history, user] : [{ role: "system", content: system }, ...task.history, user]
}
