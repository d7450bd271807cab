/**
 * ReAct (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action and
 * observation, repeated until a final answer.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Body, FinishReason } from "../../domain/AgentEvent.js"
import * as Usage from "../../domain/Usage.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import * as Step from "../../observability/Step.js"
import * as ReActStream from "../../plan/react/ReActStream.js"
import * as ReActPrompts from "../../prompt/defaults/ReActPrompts.js"
import * as ToolList from "../../prompt/template/ToolList.js"
import { Outcome } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Answer, Strategy, StrategyBaseError } from "../definition/Strategy.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import * as Progress from "../reasoning/Progress.js"
import * as ReActText from "../reasoning/ReActText.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"

/**
 * The paper it implements.
 *
 * @since 0.1.0
 * @category constants
 */
export const PAPER = "Yao et al. 2022, ReAct: Synergizing Reasoning and Acting in Language Models (arXiv 2210.03629)"

/**
 * The pattern's name in the prompt library.
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
   * `native` (default): the model uses the provider's tool calls, several at once if it wants. `text`: it writes
   * `THOUGHT / ACTION / ACTION_INPUT / FINAL_ANSWER`, one action per step, for models without native calls.
   */
  readonly format?: "native" | "text" | undefined
}

/**
 * Deltas of a completion in the text protocol. The final answer that `ReActText.parse` finds in the whole is text for
 * the user; everything before it, or before the end of an action, is reasoning. What only the end of the completion
 * decides is emitted then.
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
    // A skipped beginning was not emitted.
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
 * The state of a run. `messages` are those the model was sent, including system prompt and history; those of the run
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
  /** The answer at a limit that asks for one. */
  lastText: Schema.String,
  circles: Progress.Circles,
  /** The meaning of the last reply. */
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

/** The options, with what follows from their format. */
interface Settings {
  readonly options: Options
  readonly inText: boolean
  readonly prompt: typeof ReActPrompts.ThoughtStep | typeof ReActPrompts.ThoughtStepNative
}

const resolve = (options: Options): Settings => {
  const inText = options.format === "text"
  return { options, inText, prompt: inText ? ReActPrompts.ThoughtStep : ReActPrompts.ThoughtStepNative }
}

const modelOf = ({ prompt }: Settings, reasoning: Reasoning.Service) =>
  reasoning.model(reasoning.task.role ?? prompt.role)

const requestOf = (
  { inText }: Settings,
  { task }: Reasoning.Service,
  messages: ReadonlyArray<LlmClient.Message>
): LlmClient.LlmRequest =>
  inText
    ? { messages, settings: { stop: [...new Set([...(task.settings.stop ?? []), ...ReActText.stopSequences])] } }
    : LoopTurn.nativeRequest(task, messages)

const openingOf = ({ inText, prompt }: Settings, reasoning: Reasoning.Service): ReadonlyArray<LlmClient.Message> => {
  const { task } = reasoning
  if (!inText && task.tools.definitions.length === 0) return reasoning.bare(PATTERN)
  return reasoning.opening(prompt, {
    input: task.input,
    history: "",
    available_tools: ToolList.text(task.tools.definitions)
  })
}

/** Reads the reply of a step, and emits the thought in it. */
const readReply = (
  { inText, options }: Settings,
  { run, task }: Reasoning.Service,
  state: State,
  opening: ReadonlyArray<LlmClient.Message>,
  step: number,
  response: LlmClient.LlmResponse
): Effect.Effect<Partial<State>> => {
  const toolNames = ToolLoop.writtenNames(task.tools)
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

/** Asks the model for the next step. */
const think = (settings: Settings) => (state: State) =>
  Effect.flatMap(Reasoning.Reasoning, (reasoning) => {
    const opening = state.messages.length > 0 ? [] : openingOf(settings, reasoning)
    const request = requestOf(settings, reasoning, state.messages.length > 0 ? state.messages : opening)
    const deltas = () => makeDeltas(ToolLoop.writtenNames(reasoning.task.tools))
    return Effect.flatMap(modelOf(settings, reasoning), ({ call }) =>
      Effect.flatMap(reasoning.begin(), (step) =>
        Effect.flatMap(call(request, settings.inText ? { step, deltas: deltas() } : { step }), (response) =>
          readReply(settings, reasoning, state, opening, step, response)
        )
      )
    )
  })

/** Runs the calls of the step. */
const act =
  ({ options }: Settings) =>
  (state: State) =>
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
  settings: Settings,
  reasoning: Reasoning.Service,
  { first, messages, step }: State,
  ending: { readonly text: string; readonly reason: FinishReason; readonly said?: LlmClient.Message | undefined }
) =>
  Effect.flatMap(modelOf(settings, reasoning), (model) =>
    ToolLoop.end(model, reasoning.task, { strategyName: NAME, step, first, messages, ...ending })
  )

/** Ends the loop with the last text as the answer. */
const close = (
  settings: Settings,
  reasoning: Reasoning.Service,
  state: State,
  update: Observed,
  reason: FinishReason
): Effect.Effect<Partial<State>, StrategyBaseError> => {
  const after = { ...state, messages: [...state.messages, ...update.messages] }
  return Effect.map(conclude(settings, reasoning, after, { text: state.lastText, reason }), (answer) => ({
    ...update,
    answer
  }))
}

/** Continues the loop, unless it is at its limit. */
const continueLoop = (
  settings: Settings,
  reasoning: Reasoning.Service,
  state: State,
  resolved: ToolLoop.Resolved,
  update: Observed
): Effect.Effect<Partial<State>, StrategyBaseError> => {
  if (state.step < resolved.maxIterations) return Effect.succeed(update)
  return resolved.onLimit === "fail"
    ? ToolLoop.exceeded(NAME, resolved)
    : close(settings, reasoning, state, update, "limit")
}

/** Adds the results of the step to the conversation, and decides whether the loop goes on. */
const observe = (settings: Settings) => (state: State) =>
  Effect.flatMap(Reasoning.Reasoning, (reasoning): Effect.Effect<Partial<State>, StrategyBaseError> => {
    const { lastText, outcomes, step, toolCalls, turn, usage } = state
    const resolved = ToolLoop.resolve(settings.options, reasoning.task)
    if (turn._tag !== "Acts") {
      const messages = turn._tag === "Continues" ? turn.messages : []
      return continueLoop(settings, reasoning, state, resolved, { messages })
    }
    const { tools } = reasoning.task
    const { calls } = turn
    const { circles, note, stuck } = ToolLoop.progress(NAME, resolved, state.circles, { tools, calls, outcomes })
    const messages = [turn.assistant, LoopTurn.observed(turn, outcomes, note)]
    if (stuck !== undefined) {
      return resolved.onLimit === "fail" ? stuck : close(settings, reasoning, state, { messages }, "limit")
    }
    const stops = resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: outcomes }) === true
    if (stops) return close(settings, reasoning, state, { messages }, "stop-condition")
    const update = circles === state.circles ? { messages } : { messages, circles }
    return continueLoop(settings, reasoning, state, resolved, update)
  })

/** Answers, unless the loop was closed with an answer. */
const finish = (settings: Settings) => (state: State) =>
  Effect.flatMap(Reasoning.Reasoning, (reasoning): Effect.Effect<Partial<State>, StrategyBaseError> => {
    const { answer, turn } = state
    if (answer !== null || turn._tag !== "Answers") return Effect.succeed({})
    return Effect.map(conclude(settings, reasoning, state, turn), (answer) => ({ answer }))
  })

const graph = (settings: Settings) =>
  StateGraph.make({
    name: NAME,
    state: State,
    nodes: {
      thought_step: think(settings),
      action_step: act(settings),
      observation_step: observe(settings),
      final_answer: finish(settings)
    },
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

/**
 * The nodes of its graph.
 *
 * @since 0.1.0
 * @category models
 */
export type Node = "thought_step" | "action_step" | "observation_step" | "final_answer"

/**
 * The strategy as a graph, to wrap or replace its nodes.
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
  graph: graph(resolve({ ...options, format })),
  start: () => initial,
  answer: ({ answer }) =>
    answer === null ? Effect.dieMessage("react ended without an answer") : Effect.succeed(answer),
  options,
  // Texts and calls are in events of their own.
  updates: { hidden: ["messages", "first", "circles", "turn", "lastText", "answer"] }
})

/**
 * The default strategy.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy => GraphStrategy.make(definition(options))
