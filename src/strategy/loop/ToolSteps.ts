/**
 * The loop of model and tools, and the parts of its steps. `FunctionCalling` is this loop; `ReAct` is this loop with
 * the events of a graph whose nodes are made of the same parts.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { FinishReason } from "../../domain/AgentEvent.js"
import * as Usage from "../../domain/Usage.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import type { Fatality, Outcome, RunOptions, ToolCall } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"
import type { Answer, StrategyBaseError, Task } from "../definition/Strategy.js"
import type { MaxIterationsExceededError, NoProgressError } from "../definition/StrategyError.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import * as Progress from "../reasoning/Progress.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"

/** The parts of a step, in their order. */
export type Node = "thought_step" | "action_step" | "observation_step" | "final_answer"

/** What the parts of a step read and change. The messages of the run itself begin at `first`. */
export interface State {
  readonly messages: ReadonlyArray<LlmClient.Message>
  readonly first: number
  readonly step: number
  readonly usage: Usage.Usage
  readonly toolCalls: number
  readonly lastText: string
  readonly circles: Progress.Circles
  readonly turn: LoopTurn.Turn
  readonly outcomes: ReadonlyArray<Outcome>
  readonly answer: Answer | null
}

export const initial: State = {
  messages: [],
  first: 0,
  step: 0,
  usage: Usage.empty,
  toolCalls: 0,
  lastText: "",
  circles: Progress.empty,
  turn: { _tag: "Continues", messages: [] },
  outcomes: [],
  answer: null
}

/** What a loop asks its model, and how it reads the replies. */
export interface Form {
  readonly request: (messages: ReadonlyArray<LlmClient.Message>) => LlmClient.LlmRequest
  readonly read: (response: LlmClient.LlmResponse, step: number) => LoopTurn.Reading
  /** Makes the deltas of one reply; default its text. */
  readonly deltas?: (() => ModelCall.CallOptions["deltas"]) | undefined
}

/** A loop with what it uses of its run. */
export interface Loop extends Form {
  readonly name: string
  readonly task: Task
  readonly resolved: ToolLoop.Resolved
  readonly run: Run.Service
  readonly model: ModelCall.Model
  readonly call: (call: ToolCall, step: number, refuse?: RunOptions["refuse"]) => Effect.Effect<Outcome, Fatality>
}

/** Told of the parts of steps. Returns what the loop waits for, if anything. */
export interface Observer {
  readonly onThought: (step: number, text: string) => Effect.Effect<void> | undefined
  /** `position` counts the parts from 1. */
  readonly onNode: (node: Node, position: number, update: Partial<State>) => Effect.Effect<void> | undefined
}

/** Asks the model for the next step. */
export const ask = (
  { deltas, model, request }: Loop,
  messages: ReadonlyArray<LlmClient.Message>,
  step: number
): Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality> =>
  model.call(request(messages), deltas === undefined ? { step } : { step, deltas: deltas() })

/** Reads the reply of a step. The messages of the first step are those that it was asked with. */
export const read = (
  loop: Loop,
  state: State,
  messages: ReadonlyArray<LlmClient.Message>,
  step: number,
  response: LlmClient.LlmResponse
): { readonly update: Partial<State>; readonly thought: string } => {
  const { lastText, thought, turn } = loop.read(response, step)
  const update = {
    step,
    turn,
    usage: Usage.add(state.usage, response.usage),
    ...(state.messages.length > 0 ? {} : { messages, first: messages.length - 1 }),
    ...(lastText === undefined ? {} : { lastText })
  }
  return { update, thought }
}

/** Runs the calls of a step. */
export const callAll = (
  { call, resolved }: Loop,
  calls: ReadonlyArray<ToolCall>,
  step: number
): Effect.Effect<ReadonlyArray<Outcome>, Fatality> =>
  Step.forEach(calls, (one, index) => call(one, step, ToolLoop.refusal(resolved, one.name, index)), {
    concurrency: resolved.toolConcurrency
  })

export const acted = (state: State, outcomes: ReadonlyArray<Outcome>): Partial<State> => ({
  outcomes,
  toolCalls: state.toolCalls + outcomes.length
})

/** What a step adds to the conversation, and how the loop ends if it does not go on. */
export interface Observation {
  readonly update: Pick<State, "messages"> & Partial<Pick<State, "circles">>
  readonly end?: "limit" | "stop-condition" | MaxIterationsExceededError | NoProgressError | undefined
}

/** The end of a loop that is at its limit; otherwise it goes on. */
const atLimit = ({ name, resolved }: Loop, { step }: State): Observation["end"] =>
  step < resolved.maxIterations
    ? undefined
    : resolved.onLimit === "answer"
      ? "limit"
      : ToolLoop.exceeded(name, resolved)

/** Adds the results of a step to the conversation, and decides whether the loop goes on. */
export const observe = (loop: Loop, state: State): Observation => {
  const { name, resolved, task } = loop
  const { circles: before, lastText, outcomes, step, toolCalls, turn, usage } = state
  if (turn._tag !== "Acts") {
    return { update: { messages: turn._tag === "Continues" ? turn.messages : [] }, end: atLimit(loop, state) }
  }
  const { calls } = turn
  const { circles, note, stuck } = ToolLoop.progress(name, resolved, before, { tools: task.tools, calls, outcomes })
  const messages = [turn.assistant, LoopTurn.observed(turn, outcomes, note)]
  if (stuck !== undefined) return { update: { messages }, end: resolved.onLimit === "answer" ? "limit" : stuck }
  if (resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: outcomes }) === true) {
    return { update: { messages }, end: "stop-condition" }
  }
  return { update: circles === before ? { messages } : { messages, circles }, end: atLimit(loop, state) }
}

/** The answer of a loop that ends with this text. `said` is the message of the model with it. */
export const conclude = (
  { model, name, task }: Loop,
  { first, messages, step }: State,
  end: { readonly text: string; readonly reason: FinishReason; readonly said?: LlmClient.Message | undefined }
): Effect.Effect<Answer, LlmError | Fatality> =>
  ToolLoop.end(model, task, { strategyName: name, step, first, messages, ...end })

/** The answer of a loop that ends without a reply that is one. */
export const close = (loop: Loop, state: State, update: Observation["update"], reason: FinishReason) =>
  conclude(loop, after(state, update), { text: state.lastText, reason })

/** The state after a part of a step. Messages are added to those before. */
export const after = (state: State, update: Partial<State>): State =>
  update.messages === undefined || state.messages.length === 0
    ? { ...state, ...update }
    : { ...state, ...update, messages: [...state.messages, ...update.messages] }

/** Runs the loop from its opening messages to its answer. */
export const run = (
  loop: Loop,
  opening: ReadonlyArray<LlmClient.Message>,
  observer?: Observer | undefined
): Effect.Effect<Answer, StrategyBaseError> =>
  Effect.gen(function* () {
    let state = initial
    let position = 0
    const finish = (node: Node, update: Partial<State>): Effect.Effect<void> | undefined => {
      state = after(state, update)
      position += 1
      return observer?.onNode(node, position, update)
    }
    for (let step = 1; ; step++) {
      let wait = loop.run.unsafeEmit({ _tag: "StepStarted", step })
      if (wait !== undefined) yield* wait
      const messages = step === 1 ? opening : state.messages
      const { thought, update } = read(loop, state, messages, step, yield* ask(loop, messages, step))
      wait = thought === "" ? undefined : observer?.onThought(step, thought)
      if (wait !== undefined) yield* wait
      wait = finish("thought_step", update)
      if (wait !== undefined) yield* wait
      const { turn } = state
      if (turn._tag === "Answers") {
        const answer = yield* conclude(loop, state, turn)
        wait = finish("final_answer", { answer })
        if (wait !== undefined) yield* wait
        return answer
      }
      if (turn._tag === "Acts") {
        const { calls } = turn
        const outcomes = calls.length === 1 ? [yield* loop.call(calls[0]!, step)] : yield* callAll(loop, calls, step)
        wait = finish("action_step", acted(state, outcomes))
        if (wait !== undefined) yield* wait
      }
      const { end, update: added } = observe(loop, state)
      if (typeof end === "object") return yield* end
      const answer = end === undefined ? undefined : yield* close(loop, state, added, end)
      wait = finish("observation_step", answer === undefined ? added : { ...added, answer })
      if (wait !== undefined) yield* wait
      if (answer === undefined) continue
      wait = finish("final_answer", {})
      if (wait !== undefined) yield* wait
      return answer
    }
  })
