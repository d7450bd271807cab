/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"):
 * thought, action, observation, until a final answer.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Body, FinishReason } from "../domain/AgentEvent.js"
import * as Usage from "../domain/Usage.js"
import * as StateGraph from "../graph/StateGraph.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import * as Step from "../observability/Step.js"
import * as ReActStream from "../plan/react/ReActStream.js"
import * as ReActPrompts from "../prompt/defaults/ReActPrompts.js"
import * as ToolList from "../prompt/template/ToolList.js"
import { Outcome } from "../tool/ToolRunner.js"
import * as Reasoning from "./definition/Reasoning.js"
import type { Answer, Strategy, StrategyBaseError } from "./definition/Strategy.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as LoopTurn from "./reasoning/LoopTurn.js"
import * as Progress from "./reasoning/Progress.js"
import * as ReActText from "./reasoning/ReActText.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"

/**
 * Where it comes from.
 *
 * @since 0.1.0
 * @category constants
 */
export const PAPER = "Yao et al. 2022, ReAct: Synergizing Reasoning and Acting in Language Models (arXiv 2210.03629)"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "ReActAgent"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "react"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ToolLoop.LoopOptions {
  /**
   * `native` (default): the model calls tools by its provider's means, several at once if it likes. `text`: it writes
   * `THOUGHT / ACTION / ACTION_INPUT / FINAL_ANSWER`, one action a step, for models without native calls.
   */
  readonly format?: "native" | "text" | undefined
}

/**
 * Deltas of a completion in the text protocol: the final answer that `ReActText.parse` finds in the whole is text for
 * the user, what stands before it, or before the end of an action, is reasoning. What only the end of the completion
 * decides comes with that.
 */
const makeDeltas = (
  tools: ReadonlyArray<string>
): ((parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>) => {
  let bodies: Array<Body> = []
  let ofPart = 0
  const pieces: Array<string> = []
  const add = (_tag: "ReasoningDelta" | "TextDelta") => (text: string) => {
    const last = bodies.length > ofPart ? bodies[bodies.length - 1] : undefined
    if (last?._tag === _tag) bodies[bodies.length - 1] = { _tag, text: last.text + text }
    else bodies.push({ _tag, text })
  }
  const stream = ReActStream.make({ reasoning: add("ReasoningDelta"), answer: add("TextDelta") })
  const finish = () => {
    const whole = pieces.join("")
    const parsed = ReActText.parse(whole, { tools })
    const isAnswer = parsed._tag === "FinalAnswer"
    // What is passed over at the beginning was not handed on.
    const reasoned = whole.startsWith(parsed.cut.text) ? stream.reasoned() : 0
    const rest = isAnswer ? parsed.answer.slice(stream.answered()) : parsed.cut.text.slice(reasoned)
    if (rest !== "") bodies.push({ _tag: isAnswer ? "TextDelta" : "ReasoningDelta", text: rest })
  }
  return (parts) => {
    bodies = []
    for (const part of parts) {
      ofPart = bodies.length
      if (part.type === "text-delta") {
        pieces.push(part.delta)
        stream.push(part.delta)
      } else if (part.type === "reasoning-delta" && part.delta !== "") {
        bodies.push({ _tag: "ReasoningDelta", text: part.delta })
      } else if (part.type === "finish") finish()
    }
    return bodies
  }
}

const data = <A>(): Schema.Schema<A> => Schema.Unknown as unknown as Schema.Schema<A>

/**
 * Where a run stands. `messages` are those the model was sent, system prompt and history included; those of the run
 * begin at `first`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  messages: Schema.Array(data<LlmClient.Message>()),
  first: Schema.Number,
  step: Schema.Number,
  usage: Usage.Usage,
  toolCalls: Schema.Number,
  /** What a limit that asks for an answer would answer with. */
  lastText: Schema.String,
  circles: Progress.Circles,
  /** What the last reply meant. */
  turn: data<LoopTurn.Turn>(),
  outcomes: Schema.Array(Outcome),
  answer: data<Answer | null>()
})
/**
 * @since 0.1.0
 * @category models
 */
export type State = typeof State.Type

const initial: State = {
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

type Observed = Pick<State, "messages"> & Partial<Pick<State, "circles">>

const graph = (options: Options) => {
  const inText = options.format === "text"
  const prompt = inText ? ReActPrompts.ThoughtStep : ReActPrompts.ThoughtStepNative

  const model = (reasoning: Reasoning.Service) => reasoning.model(reasoning.task.role ?? prompt.role)

  const request = (reasoning: Reasoning.Service, messages: ReadonlyArray<LlmClient.Message>): LlmClient.LlmRequest =>
    inText
      ? {
          messages,
          settings: { stop: [...new Set([...(reasoning.task.settings.stop ?? []), ...ReActText.stopSequences])] }
        }
      : LoopTurn.nativeRequest(reasoning.task, messages)

  const openingOf = (reasoning: Reasoning.Service): ReadonlyArray<LlmClient.Message> => {
    const { task } = reasoning
    if (!inText && task.tools.definitions.length === 0) return reasoning.bare(PATTERN)
    return reasoning.opening(prompt, {
      input: task.input,
      history: "",
      available_tools: ToolList.text(task.tools.definitions)
    })
  }

  const think = (state: State) =>
    Effect.flatMap(Reasoning.Reasoning, (reasoning) => {
      const { run, task } = reasoning
      const opening = state.messages.length > 0 ? [] : openingOf(reasoning)
      const messages = state.messages.length > 0 ? state.messages : opening
      const toolNames = ToolLoop.writtenNames(task.tools)
      const read = (step: number, response: LlmClient.LlmResponse) => {
        const { lastText, thought, turn } = inText
          ? LoopTurn.readText(response, { step, toolNames })
          : LoopTurn.readNative(response, { step, toolNames, textCalls: options.textCalls ?? "never" })
        const update: Partial<State> = {
          step,
          turn,
          usage: Usage.add(state.usage, response.usage),
          ...(opening.length === 0 ? {} : { messages: opening, first: opening.length - 1 }),
          ...(lastText === undefined ? {} : { lastText })
        }
        const wait = thought === "" ? undefined : run.unsafeEmit({ _tag: "Thought", step, text: thought })
        return wait === undefined ? Effect.succeed(update) : Effect.as(wait, update)
      }
      return Effect.flatMap(model(reasoning), ({ call }) =>
        Effect.flatMap(reasoning.begin(), (step) =>
          Effect.flatMap(
            call(request(reasoning, messages), inText ? { step, deltas: makeDeltas(toolNames) } : { step }),
            (response) => read(step, response)
          )
        )
      )
    })

  const act = (state: State) =>
    Effect.flatMap(Reasoning.Reasoning, ({ call, concurrency, task }) => {
      const calls = state.turn._tag === "Acts" ? state.turn.calls : []
      const resolved = ToolLoop.resolve(options, task)
      return Effect.map(
        Step.forEach(calls, (one, index) => call(one, state.step, ToolLoop.refusal(resolved, one.name, index)), {
          concurrency
        }),
        (outcomes): Partial<State> => ({ outcomes, toolCalls: state.toolCalls + outcomes.length })
      )
    })

  const conclude = (
    reasoning: Reasoning.Service,
    state: State,
    text: string,
    reason: FinishReason,
    said?: LlmClient.Message | undefined
  ) => {
    const { first, messages, step } = state
    return Effect.flatMap(model(reasoning), (model) =>
      ToolLoop.end(model, reasoning.task, { strategyName: NAME, step, first, messages, text, reason, said })
    )
  }

  /** The update, with an answer of what stands: the loop ends here. */
  const closing = (reasoning: Reasoning.Service, state: State, update: Observed, reason: FinishReason) => {
    const after = { ...state, messages: [...state.messages, ...update.messages] }
    return Effect.map(
      conclude(reasoning, after, state.lastText, reason),
      (answer): Partial<State> => ({ ...update, answer })
    )
  }

  const atLimit = (
    reasoning: Reasoning.Service,
    state: State,
    resolved: ToolLoop.Resolved,
    update: Observed
  ): Effect.Effect<Partial<State>, StrategyBaseError> => {
    if (state.step < resolved.maxIterations) return Effect.succeed(update)
    return resolved.onLimit === "fail" ? ToolLoop.exceeded(NAME, resolved) : closing(reasoning, state, update, "limit")
  }

  const observe = (state: State) =>
    Effect.flatMap(Reasoning.Reasoning, (reasoning): Effect.Effect<Partial<State>, StrategyBaseError> => {
      const { lastText, outcomes, step, toolCalls, turn, usage } = state
      const resolved = ToolLoop.resolve(options, reasoning.task)
      if (turn._tag !== "Acts") {
        const messages = turn._tag === "Continues" ? turn.messages : []
        return atLimit(reasoning, state, resolved, { messages })
      }
      const { tools } = reasoning.task
      const { calls } = turn
      const { circles, note, stuck } = ToolLoop.progress(NAME, resolved, state.circles, { tools, calls, outcomes })
      const messages = [turn.assistant, LoopTurn.observed(turn, outcomes, note)]
      if (stuck !== undefined) {
        return resolved.onLimit === "fail" ? stuck : closing(reasoning, state, { messages }, "limit")
      }
      const stops = resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: outcomes }) === true
      return stops
        ? closing(reasoning, state, { messages }, "stop-condition")
        : atLimit(reasoning, state, resolved, circles === state.circles ? { messages } : { messages, circles })
    })

  const finish = (state: State) =>
    Effect.flatMap(Reasoning.Reasoning, (reasoning): Effect.Effect<Partial<State>, StrategyBaseError> => {
      if (state.answer !== null || state.turn._tag !== "Answers") return Effect.succeed({})
      const { reason, said, text } = state.turn
      return Effect.map(conclude(reasoning, state, text, reason, said), (answer) => ({ answer }))
    })

  return StateGraph.make({
    name: NAME,
    state: State,
    nodes: { thought_step: think, action_step: act, observation_step: observe, final_answer: finish },
    start: "thought_step",
    edges: {
      thought_step: {
        to: ["action_step", "observation_step", "final_answer"],
        labels: { action_step: "acts", observation_step: "neither", final_answer: "answers" },
        when: ({ turn }) =>
          turn._tag === "Acts" ? "action_step" : turn._tag === "Answers" ? "final_answer" : "observation_step"
      },
      action_step: "observation_step",
      observation_step: {
        to: ["thought_step", "final_answer"],
        labels: { thought_step: "no answer yet", final_answer: "answered" },
        when: ({ answer }) => (answer === null ? "thought_step" : "final_answer")
      },
      final_answer: "END"
    },
    reducers: { messages: (current, update) => [...current, ...update] }
  })
}

/**
 * Its nodes.
 *
 * @since 0.1.0
 * @category models
 */
export type Node = "thought_step" | "action_step" | "observation_step" | "final_answer"

/**
 * The strategy as a graph, for those who wrap or replace one of its nodes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = ({
  format,
  ...options
}: Options = {}): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  StrategyBaseError,
  Reasoning.Reasoning
> => ({
  name: NAME,
  graph: graph({ ...options, format }),
  start: () => initial,
  answer: ({ answer }) =>
    answer === null ? Effect.dieMessage("react ended without an answer") : Effect.succeed(answer),
  options,
  updates: { hidden: ["messages", "first", "circles"] }
})

/**
 * The default strategy.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy => GraphStrategy.make(definition(options))
