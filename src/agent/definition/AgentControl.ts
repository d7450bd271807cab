/**
 * What an agent decides while it runs: instructions, steps, tool choice, repairs of calls, checks of answers.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import { count } from "../../internal/Count.js"
import type { Message, ToolChoice } from "../../llm/model/LlmClient.js"
import type { StepChanges, StepInfo } from "../../strategy/definition/StepPreparation.js"
import type { OutputValidationError } from "../../strategy/definition/StrategyError.js"
import type { StopCondition } from "../../strategy/reasoning/StopCondition.js"
import type * as ToolSearch from "../../tool/ToolSearch.js"
import type * as ToolSource from "../../tool/ToolSource.js"
import {
  type Agent,
  type Any,
  type Control,
  change,
  type FailedCall,
  type Memory,
  type Remembering,
  type RepairedCall
} from "./AgentDefinition.js"
import type { AgentConfigurationError } from "./AgentError.js"
import * as RecordedStages from "./RecordedStages.js"
import * as Stage from "./Stage.js"

/**
 * A run when its instructions are written: after the input guards, with its session.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstructionsInfo {
  readonly agentName: string
  readonly runId: RunId
  readonly userId: UserId | undefined
  readonly sessionId: SessionId | undefined
  readonly tenantId: string | undefined
  readonly input: string
  /** The earlier turns that the model sees, oldest first. */
  readonly history: ReadonlyArray<Message>
}

/**
 * Sends an answer back to the model. `problem` is in words that the model can act on.
 *
 * @since 0.1.0
 * @category models
 */
export class Rejected extends Data.TaggedError("AnswerRejected")<{ readonly problem: string }> {}

/**
 * A rejection, for `withValidator`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const reject = (problem: string): Rejected => new Rejected({ problem })

const control = (self: Any, fields: Partial<Control>): any =>
  change(self, { control: { ...self.definition.control, ...fields } })

const infoOf = ({ agent, history, input, notes, run, sessionId, tenantId, userId }: Stage.State): InstructionsInfo => ({
  agentName: agent.name,
  runId: run.runId,
  userId,
  sessionId: notes.session?.id ?? sessionId,
  tenantId,
  input,
  history
})

/**
 * Adds instructions that are made for each run. They follow the system prompt, so that its beginning stays the same for
 * every run and can be cached by the provider. An empty text adds nothing. Instructions are the agent's own words: put
 * what users, tools or models wrote into messages instead.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import * as Clock from "effect/Clock"
 * import * as Effect from "effect/Effect"
 *
 * const clerk = Agent.make("clerk", { system: "You answer in one sentence." }).pipe(
 *   Agent.withInstructions(() =>
 *     Effect.map(Clock.currentTimeMillis, (now) => `Today is ${new Date(now).toISOString().slice(0, 10)}.`)
 *   )
 * )
 * ```
 */
export const withInstructions =
  <E2, R2>(instructions: (info: InstructionsInfo) => Effect.Effect<string, E2, R2>) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | E2, R | R2> => {
    const stage = Stage.make("instructions", (state, next) =>
      Effect.flatMap(RecordedStages.text(instructions(infoOf(state))), (text) =>
        next(text === "" ? state : { ...state, system: state.system === "" ? text : `${state.system}\n\n${text}` })
      )
    )
    return change(self, { stages: [...self.definition.stages, Stage.inside("memory")(stage)] })
  }

/**
 * Sets which tools the model must call. `required` is any of them, `{ tool }` this one. It holds for the first model
 * call with tools (`first`, the default) or for all of them (`every`): a model that has to call a tool in every step
 * cannot answer. `none` holds for all of them.
 *
 * A run whose `{ tool }` the agent does not have fails with `AgentConfigurationError` before the call.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withToolChoice =
  (choice: ToolChoice, options?: { readonly on?: "first" | "every" | undefined }) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    control(self, { toolChoice: { choice, on: options?.on ?? (choice === "none" ? "every" : "first") } })

/**
 * Adds a function that prepares each model call of the strategy: its messages, the tools that it offers and whether one
 * must be called, its settings, its model. Several functions run in their order, and what a later one sets wins. Calls
 * that tools, guards, skills and memory make are not prepared.
 *
 * A name of a tool that the call does not offer fails the run with `AgentConfigurationError`. A model that calls a tool
 * outside `activeTools` reads that it is not available.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Agent, Tool } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const search = Tool.make("search", { description: "Searches", handler: () => Effect.succeed("nothing found") })
 *
 * // Searches first, then answers with a larger model.
 * const clerk = Agent.make("clerk", { tools: [search] }).pipe(
 *   Agent.withPrepareStep(({ step }) =>
 *     Effect.succeed(step === 1 ? { toolChoice: { tool: "search" } } : { settings: { model: "large" } })
 *   )
 * )
 * ```
 */
export const withPrepareStep =
  <E2, R2>(prepare: (info: StepInfo) => Effect.Effect<StepChanges | undefined, E2, R2>) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | E2 | AgentConfigurationError, R | R2> =>
    control(self, { prepareStep: [...self.definition.control.prepareStep, prepare] })

/**
 * Ends the run with the text so far, under any strategy, when the condition holds before one of its model calls. The
 * answer has the finish reason `stop-condition`. An output is read from that text; if it does not fit, the run fails
 * with `OutputValidationError`. The condition replaces an earlier one (`StopCondition.any` joins several). Conditions
 * of a strategy (`stopWhen` of the loops) hold besides.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withStopWhen =
  (condition: StopCondition) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    control(self, { stopWhen: condition })

/**
 * Adds a function that repairs calls of unknown tools and calls whose arguments do not fit. It returns the call to run
 * instead, which guards see as any other, or `undefined` to tell the model of the problem. A call is repaired once at
 * most.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withToolRepair =
  <E2, R2>(repair: (call: FailedCall) => Effect.Effect<RepairedCall | undefined, E2, R2>) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | E2, R | R2> =>
    control(self, { repairs: [...self.definition.control.repairs, repair] })

/**
 * Adds a check of the answer: the decoded output, or the text of an agent without one. An answer that fails with
 * `reject(problem)` goes back to the model, which sees the conversation so far, the task and the problem; after
 * `retries` more answers (default 2) the run fails with `OutputValidationError`, and so does an answer at a limit at
 * once. Other failures are those of the run. Validators run in their order, before the output guards. Each rejection
 * emits `AnswerRejected`. Readers of deltas see a rejected answer before it is retracted (`TextRetracted`); `Message`
 * has the accepted one.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import * as Effect from "effect/Effect"
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withValidator((text) =>
 *     text.includes("[1]") ? Effect.void : Effect.fail(Agent.reject("Cite at least one source, as [1]."))
 *   )
 * )
 * ```
 */
export const withValidator =
  <O, E2, R2>(
    validate: (output: O) => Effect.Effect<void, E2, R2>,
    options?: { readonly retries?: number | undefined }
  ) =>
  <E, R>(self: Agent<O, E, R>): Agent<O, E | Exclude<E2, Rejected> | OutputValidationError, R | R2> =>
    control(self, {
      validators: [...self.definition.control.validators, validate],
      ...(options?.retries === undefined ? {} : { validatorRetries: count(options.retries, 2, 0) })
    })

/**
 * Adds tools that may change while a run goes on. The source is asked when the run begins and before each further step.
 *
 * - A source that fails when the run begins fails the run. Later its last tools stay, with one `Degraded` event until
 *   it answers again. Defects end the run.
 * - A tool of the agent, and one of an earlier source, wins over another one with the same name; a tool with a problem
 *   and those above `maxTools` are left out. Each of these emits a `Degraded` event, once a run.
 * - A model that calls a tool that is gone reads that it no longer exists. Calls that have started go on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withToolSource =
  <E2, R2>(source: ToolSource.ToolSource<E2, R2>) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E | E2, R | R2> =>
    control(self, { toolSources: [...self.definition.control.toolSources, ...source.sources] })

/**
 * Sets its own memory: a working memory in place of the executor's, or a function that makes a plain conversation for
 * each owner and session. It records what is said, and is recalled from if the executor has no working one.
 *
 * Of `Remembering.make` (`effect-lexigram/agent`), the model also keeps notes about its user, sees and changes memory
 * blocks, and shares the memory of teams.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withMemory: {
  (memory: Memory): <O, E, R>(self: Agent<O, E, R>) => Agent<O, E, R>
  <R2>(remembering: Remembering<R2>): <O, E, R>(self: Agent<O, E, R>) => Agent<O, E, R | R2>
} =
  (given: Memory | Remembering<unknown>) =>
  (self: Any): any =>
    change(self, "changes" in given ? given.changes(self.definition) : { memory: given })

/**
 * Shows the model at most `maxDefinitions` tools in a step: those whose words fit the input of the run, `pinned` ones,
 * and a tool that searches for others. Tools that it finds, and tools that are called, are shown from the next step on;
 * the least recently used leave first. A call of a tool of the run that is not shown runs: the model knew it well
 * enough for arguments that fit. An agent with no more than `maxDefinitions` tools is not changed.
 *
 * It holds for all tools of a run: those of the agent, of its sources, of the registry and of skills. The index is made
 * once per set of tools.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { ToolSource } from "effect-lexigram/tool"
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withToolSource(ToolSource.fromRegistry),
 *   Agent.withToolSearch({ maxDefinitions: 20, pinned: ["hand_over"] })
 * )
 * ```
 */
export const withToolSearch =
  (options?: ToolSearch.Options) =>
  <O, E, R>(self: Agent<O, E, R>): Agent<O, E, R> =>
    control(self, { toolSearch: { ...options } })
