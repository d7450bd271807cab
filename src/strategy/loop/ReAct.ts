/**
 * ReAct (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action and
 * observation, repeated until a final answer.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Body } from "../../domain/AgentEvent.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Usage from "../../domain/Usage.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type * as Run from "../../observability/Run.js"
import * as ReActStream from "../../plan/react/ReActStream.js"
import * as ReActPrompts from "../../prompt/defaults/ReActPrompts.js"
import * as ToolList from "../../prompt/template/ToolList.js"
import { Outcome } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Answer, Strategy, StrategyBaseError, Task } from "../definition/Strategy.js"
import * as StrategyModule from "../definition/Strategy.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import type * as NodeUpdate from "../reasoning/NodeUpdate.js"
import * as Progress from "../reasoning/Progress.js"
import * as ReActText from "../reasoning/ReActText.js"
import * as ReasoningService from "../reasoning/ReasoningService.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as ToolSteps from "./ToolSteps.js"

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

/** The options, with what follows from their format. */
interface Settings {
  readonly options: ToolLoop.LoopOptions
  readonly inText: boolean
  readonly prompt: typeof ReActPrompts.ThoughtStep | typeof ReActPrompts.ThoughtStepNative
}

const resolve = ({ format, ...options }: Options): Settings => {
  const inText = format === "text"
  return { options, inText, prompt: inText ? ReActPrompts.ThoughtStep : ReActPrompts.ThoughtStepNative }
}

/** What a loop in this format asks and reads. */
const formOf = ({ inText, options }: Settings, task: Task): ToolSteps.Form => {
  // Tools may change between steps.
  const toolNames = () => ToolLoop.writtenNames(task.tools)
  if (!inText) {
    const textCalls = options.textCalls ?? "never"
    return {
      request: (messages) => LoopTurn.nativeRequest(task, messages),
      read: (response, step) => LoopTurn.readNative(response, { step, toolNames: toolNames(), textCalls })
    }
  }
  const settings = { stop: [...new Set([...(task.settings.stop ?? []), ...ReActText.stopSequences])] }
  return {
    request: (messages) => ({ messages, settings }),
    read: (response, step) => LoopTurn.readText(response, { step, toolNames: toolNames() }),
    deltas: () => makeDeltas(toolNames())
  }
}

const loopOf = (settings: Settings, { call, model, run, task }: Reasoning.Service): Effect.Effect<ToolSteps.Loop> =>
  Effect.map(model(task.role ?? settings.prompt.role), (model) => ({
    ...formOf(settings, task),
    name: NAME,
    task,
    resolved: ToolLoop.resolve(settings.options, task),
    run,
    model,
    call
  }))

const openingOf = ({ inText, prompt }: Settings, reasoning: Reasoning.Service): ReadonlyArray<LlmClient.Message> => {
  const { task } = reasoning
  if (!inText && task.tools.definitions.length === 0) return reasoning.bare(PATTERN)
  return reasoning.opening(prompt, {
    input: task.input,
    history: "",
    available_tools: ToolList.text(task.tools.definitions)
  })
}

const emitThought = (run: Run.Service, step: number, text: string) => run.unsafeEmit({ _tag: "Thought", step, text })

type Update = Effect.Effect<Partial<State>, StrategyBaseError>

/** A node of the graph: a part of a step, with the loop of the run. */
const inLoop =
  (settings: Settings, node: (loop: ToolSteps.Loop, state: State, reasoning: Reasoning.Service) => Update) =>
  (state: State) =>
    Effect.flatMap(Reasoning.Reasoning, (reasoning) =>
      Effect.flatMap(loopOf(settings, reasoning), (loop) => node(loop, state, reasoning))
    )

/** Asks the model for the next step. */
const think = (settings: Settings) =>
  inLoop(settings, (loop, state, reasoning) => {
    const messages = state.messages.length > 0 ? state.messages : openingOf(settings, reasoning)
    return Effect.flatMap(reasoning.begin(), (step) =>
      Effect.flatMap(ToolSteps.ask(loop, messages, step), (response) => {
        const { thought, update } = ToolSteps.read(loop, state, messages, step, response)
        const wait = thought === "" ? undefined : emitThought(loop.run, step, thought)
        return wait === undefined ? Effect.succeed(update) : Effect.as(wait, update)
      })
    )
  })

/** Runs the calls of the step. */
const act = (settings: Settings) =>
  inLoop(settings, (loop, state) =>
    Effect.map(
      ToolSteps.callAll(loop, state.turn._tag === "Acts" ? state.turn.calls : [], state.step),
      (outcomes): Partial<State> => ToolSteps.acted(state, outcomes)
    )
  )

/** Adds the results of the step to the conversation, and decides whether the loop goes on. */
const observe = (settings: Settings) =>
  inLoop(settings, (loop, state): Update => {
    const { end, update } = ToolSteps.observe(loop, state)
    if (end === undefined) return Effect.succeed(update)
    if (typeof end === "object") return end
    return Effect.map(ToolSteps.close(loop, state, update, end), (answer) => ({ ...update, answer }))
  })

/** Answers, unless the loop was closed with an answer. */
const finish = (settings: Settings) =>
  inLoop(settings, (loop, state): Update => {
    const { answer, turn } = state
    if (answer !== null || turn._tag !== "Answers") return Effect.succeed({})
    return Effect.map(ToolSteps.conclude(loop, state, turn), (answer) => ({ answer }))
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
export type Node = ToolSteps.Node

// Texts and calls are in events of their own.
const updates: NodeUpdate.Options = { hidden: ["messages", "first", "circles", "turn", "lastText", "answer"] }

/**
 * The strategy as a graph, to wrap or replace its nodes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = (
  options: Options = {}
): GraphStrategy.GraphDefinition<Node, State, typeof State.Encoded, StrategyBaseError, Reasoning.Reasoning> => {
  const settings = resolve(options)
  return {
    name: NAME,
    graph: graph(settings),
    start: () => ToolSteps.initial,
    answer: ({ answer }) =>
      answer === null ? Effect.dieMessage("react ended without an answer") : Effect.succeed(answer),
    options: settings.options,
    updates
  }
}

/** Runs the loop that the graph draws, with the events of its nodes. */
const program = (settings: Settings) => (task: Task) =>
  Effect.flatMap(ReasoningService.make(NAME, task, settings.options), (reasoning) => {
    const { run } = reasoning
    const show = GraphStrategy.shownUpdate(reasoning, updates)
    const observer: ToolSteps.Observer = {
      onThought: (step, text) => emitThought(run, step, text),
      onNode: (node, step, update) =>
        run.unsafeEmit({ _tag: "NodeFinished", graph: NAME, node, step, update: show(node, update) })
    }
    return Effect.flatMap(loopOf(settings, reasoning), (loop) =>
      SystemAccess.drop(ToolSteps.run(loop, openingOf(settings, reasoning), observer))
    )
  })

/**
 * The default strategy. It runs the loop that its graph draws; `GraphStrategy.make(ReAct.definition())` runs the graph.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { ReAct } from "effect-lexigram/strategy"
 *
 * const agent = Agent.make("researcher", { strategy: ReAct.make({ maxIterations: 12, format: "text" }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy => {
  const settings = resolve(options)
  return { ...StrategyModule.make(NAME, program(settings)), graph: StateGraph.unsafeCompile(graph(settings)) }
}
