/**
 * A supervisor of sub-agents: assess, delegate, review, decide. The sub-agents are tools of the task
 * (`AgentTool.make`), known by their names; other tools stay at hand for the supervisor itself.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type Body, FinishReason, PlanStep } from "../domain/AgentEvent.js"
import * as StateGraph from "../graph/StateGraph.js"
import { count } from "../internal/Count.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import * as Step from "../observability/Step.js"
import * as SupervisorPrompts from "../prompt/defaults/SupervisorPrompts.js"
import type * as Tool from "../tool/definition/Tool.js"
import type { Bound } from "../tool/definition/ToolSet.js"
import type { Outcome, ToolCall } from "../tool/ToolRunner.js"
import * as Reasoning from "./definition/Reasoning.js"
import * as ReplyForm from "./definition/ReplyForm.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices } from "./definition/Strategy.js"
import { MaxIterationsExceededError } from "./definition/StrategyError.js"
import * as GraphStrategy from "./reasoning/GraphStrategy.js"
import * as LoopTurn from "./reasoning/LoopTurn.js"
import * as Progress from "./reasoning/Progress.js"
import * as ReActText from "./reasoning/ReActText.js"
import * as ToolLoop from "./reasoning/ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "supervisor"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "SupervisorAgent"

/**
 * How the names of tools begin that are agents.
 *
 * @since 0.1.0
 * @category constants
 */
export const PREFIX = "delegate_to_"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Omit<Reasoning.Options, "format"> {
  /**
   * `native` (default): the model calls tools by its provider's means, several at once if it likes, and reviews as
   * JSON. `text`: it writes `THOUGHT / ACTION / ACTION_INPUT / FINAL_ANSWER`, one action a step, and reviews as text.
   */
  readonly format?: "native" | "text" | undefined
  /** Whether calls are read out of the text of a model that was given native tools: as in `ToolLoop.LoopOptions`. */
  readonly textCalls?: ToolLoop.LoopOptions["textCalls"]
  /**
   * Delegations at most, those that fail included; default 5. Further ones of the same turn are refused, and the model
   * is told.
   */
  readonly maxDelegations?: number | undefined
  /** Reviews at most; default 3. Without any left, the supervisor itself says when the reports are enough. */
  readonly maxReviews?: number | undefined
  /** Turns of the supervisor at most; default that of the agent, then 10. */
  readonly maxIterations?: number | undefined
  /** How many steps in a row may show the same: as in `ToolLoop.LoopOptions`. */
  readonly noProgressAfter?: ToolLoop.LoopOptions["noProgressAfter"]
  /** Calls of one turn that run: as in `ToolLoop.LoopOptions`. */
  readonly maxCallsPerTurn?: number | undefined
  /**
   * When more delegations are wanted than there are, or turns, or when it goes in circles: fail (default), or answer
   * from what stands, marked `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /** Which tools are agents; default those whose name begins with `delegate_to_`. */
  readonly isDelegate?: ((tool: Tool.Any) => boolean) | undefined
}

/**
 * What the supervisor was told by an agent or another tool. Only what is `completed` is done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  id: Schema.String,
  delegation: Schema.Boolean,
  /** The tool's name. */
  by: Schema.String,
  request: Schema.Unknown,
  status: Schema.Literal("completed", "failed", "refused"),
  text: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

const data = <A>(): Schema.Schema<A> => Schema.Unknown as unknown as Schema.Schema<A>

/**
 * Where a run stands. `messages` are those of the conversation in which it assesses.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  messages: Schema.Array(data<LlmClient.Message>()),
  /** The step of the last turn. */
  step: Schema.Number,
  turns: Schema.Number,
  /** What the last reply meant. */
  turn: data<LoopTurn.Turn>(),
  results: Schema.Array(Result),
  /** Delegations as a plan. */
  plan: Schema.Array(PlanStep),
  /** Delegations that were begun. */
  delegations: Schema.Number,
  /** Those of the last turn. */
  unreviewed: Schema.Number,
  reviews: Schema.Number,
  circles: Progress.Circles,
  verdict: Schema.Literal("none", "done", "more"),
  reason: FinishReason,
  answer: data<Answer | null>()
})
/**
 * @since 0.1.0
 * @category models
 */
export type State = typeof State.Type

/**
 * Its nodes.
 *
 * @since 0.1.0
 * @category models
 */
export type Node = "assess" | "delegate" | "review" | "decide"

const initial: State = {
  messages: [],
  step: 0,
  turns: 0,
  turn: { _tag: "Continues", messages: [] },
  results: [],
  plan: [],
  delegations: 0,
  unreviewed: 0,
  reviews: 0,
  circles: Progress.empty,
  verdict: "none",
  reason: "completed",
  answer: null
}

/**
 * A review: enough for an answer, or what is still to be done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Struct({
  verdict: Schema.Literal("done", "more").annotations({ description: "Whether an answer can be written" }),
  reason: Schema.String.annotations({ description: "Why, in one or two sentences" }),
  instructions: Schema.String.annotations({ description: "With `more`: what exactly is still to be done; else empty" })
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

const fieldLine = /^\W{0,8}(VERDICT|REASON|INSTRUCTIONS)\W{0,4}:\W{0,4}/i

/**
 * What stands behind each name, up to the next one. Only the first of a name counts: what stands further on is quoted.
 */
const fieldsOf = (lines: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const fields = new Map<string, Array<string>>()
  let current: Array<string> = []
  for (const line of lines) {
    const match = fieldLine.exec(line)
    const name = match?.[1]?.toUpperCase()
    if (match === null || name === undefined || fields.has(name)) current.push(line)
    else {
      current = [line.slice(match[0].length)]
      fields.set(name, current)
    }
  }
  return new Map(Array.from(fields, ([name, rest]) => [name, rest.join("\n").trim()] as const))
}

/**
 * A review as text: `VERDICT: DONE`, or `VERDICT: MORE` with `REASON:` and `INSTRUCTIONS:`. The verdict is one of the
 * two words, alone on the first line that holds any.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parseVerdict = (text: string): Either.Either<Verdict, string> => {
  const lines = text.split(/\r?\n/)
  const first = lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line))
  const match = first < 0 ? null : fieldLine.exec(lines[first] as string)
  const word =
    match?.[1]?.toUpperCase() === "VERDICT"
      ? (lines[first] as string)
          .slice(match[0].length)
          .replace(/[\s*_`.]/g, "")
          .toLowerCase()
      : undefined
  if (word !== "done" && word !== "more") {
    return Either.left("the first line must be `VERDICT: DONE` or `VERDICT: MORE`")
  }
  const fields = fieldsOf(lines.slice(first))
  return Either.right({
    verdict: word,
    reason: fields.get("REASON") ?? "",
    instructions: fields.get("INSTRUCTIONS") ?? ""
  })
}

const form = ReplyForm.make({ name: "review", schema: Verdict, text: parseVerdict })

const isAgent = (options: Options): ((tool: Tool.Any) => boolean) =>
  options.isDelegate ?? ((tool) => tool.name.startsWith(PREFIX))

/** The team, and the tools beside it, as the model knows them. */
const describe = (tools: Bound, options: Options): { readonly agents: string; readonly tools: string } => {
  const isDelegate = isAgent(options)
  const agents: Array<string> = []
  const others: Array<string> = []
  for (const definition of tools.definitions) {
    const tool = tools.get(definition.name)
    const about = `- ${definition.name}: ${definition.description.replace(/\s+/g, " ")}`
    const list = tool !== undefined && isDelegate(tool) ? agents : others
    // Models of native calls are told the parameters by the provider.
    list.push(options.format === "text" ? `${about}\n  Parameters: ${JSON.stringify(definition.parameters)}` : about)
  }
  const text = (list: ReadonlyArray<string>, prefix: string) => (list.length === 0 ? "none" : prefix + list.join("\n"))
  return { agents: text(agents, ""), tools: text(others, "\n") }
}

/** As JSON, so that nothing a report says can look like another report. */
const listed = (results: ReadonlyArray<Result>): string =>
  results.length === 0
    ? "None."
    : results.map(({ by, request, status, text }) => JSON.stringify({ by, request, status, report: text })).join("\n")

const messageOf = (params: unknown): string => {
  const message = typeof params === "object" && params !== null ? (params as { message?: unknown }).message : params
  const text = typeof message === "string" ? message : (JSON.stringify(params) ?? "")
  return text.length > 500 ? `${text.slice(0, 500).replace(/[\ud800-\udbff]$/, "")}…` : text
}

const asReasoning = (parts: ReadonlyArray<LlmClient.LlmPart>): ReadonlyArray<Body> => {
  const bodies: Array<Body> = []
  for (const part of parts) {
    if ((part.type === "text-delta" || part.type === "reasoning-delta") && part.delta !== "") {
      bodies.push({ _tag: "ReasoningDelta", text: part.delta })
    }
  }
  return bodies
}

const refusal = (call: ToolCall, name: string, maxDelegations: number): Outcome => {
  const message = `The limit of ${maxDelegations} delegations is reached: "${name}" was not asked`
  const observation = `Error: ${message}. Go on with the reports you have.`
  return {
    id: call.id,
    name,
    isFailure: true,
    result: observation,
    observation,
    truncated: false,
    attempts: 0,
    error: { tag: "MaxIterationsExceededError", code: "LEX_ERR_AGT_009", message }
  }
}

const graph = (options: Options) => {
  const inText = options.format === "text"
  const prompt = inText ? SupervisorPrompts.AssessText : SupervisorPrompts.Assess
  const maxDelegations = count(options.maxDelegations, 5, 0)
  const maxReviews = count(options.maxReviews, 3, 0)
  const onLimit = options.onLimit ?? "fail"
  const isDelegate = isAgent(options)

  const exceeded = (what: string, limit: number, used: number, hint: string) =>
    new MaxIterationsExceededError({
      strategyName: NAME,
      maxIterations: limit,
      currentIteration: used,
      message: `No answer after ${used} ${what}`,
      hint: `Raise \`${hint}\`, or take the answer from what stands with \`onLimit: "answer"\``
    })

  const outOfDelegations = (state: State) =>
    exceeded("delegations", maxDelegations, state.delegations, "maxDelegations")

  const assess = (state: State) =>
    Effect.gen(function* () {
      const { begin, model, opening, run, task, answer } = yield* Reasoning.Reasoning
      const resolved = ToolLoop.resolve(options, task)
      if (state.turns >= resolved.maxIterations) {
        if (onLimit === "fail") return yield* exceeded("turns", resolved.maxIterations, state.turns, "maxIterations")
        return { reason: "limit" as const, turn: initial.turn }
      }
      const { call } = yield* model(task.role ?? prompt.role)
      const told =
        state.messages.length > 0
          ? []
          : opening(prompt, {
              ...describe(task.tools, options),
              input: task.input,
              max_delegations: String(maxDelegations)
            })
      const messages = state.messages.length > 0 ? state.messages : told
      const toolNames = ToolLoop.writtenNames(task.tools)
      const step = yield* begin(prompt.name)
      const response = yield* call(
        inText
          ? { messages, settings: { stop: [...new Set([...(task.settings.stop ?? []), ...ReActText.stopSequences])] } }
          : task.tools.definitions.length === 0
            ? { messages }
            : { messages, tools: task.tools.definitions },
        { step, deltas: asReasoning }
      )
      const { thought, turn } = inText
        ? LoopTurn.readText(response, { step, toolNames })
        : LoopTurn.readNative(response, { step, toolNames, textCalls: resolved.textCalls })
      if (thought !== "") yield* run.emit({ _tag: "Thought", step, text: thought })
      const update = {
        step,
        turn,
        turns: state.turns + 1,
        unreviewed: 0,
        messages: [
          ...told,
          ...(turn._tag === "Continues" ? turn.messages : turn._tag === "Acts" ? [turn.assistant] : [])
        ]
      }
      // Nobody was asked: what the supervisor says is the answer.
      if (turn._tag !== "Answers" || state.results.length > 0) return update
      if (run.live && turn.text !== "") yield* run.emit({ _tag: "TextDelta", text: turn.text })
      return { ...update, answer: yield* answer(turn.text, turn.reason) }
    })

  const delegate = (state: State) =>
    Effect.gen(function* () {
      const { call, concurrency, run, task } = yield* Reasoning.Reasoning
      const turn = state.turn as LoopTurn.Acts
      const resolved = ToolLoop.resolve(options, task)
      const left = maxDelegations - state.delegations
      let wanted = 0
      const plan: Array<PlanStep> = [...state.plan]
      const jobs = turn.calls.map((one, index) => {
        const tool = task.tools.get(one.name)
        const refuse = ToolLoop.refusal(resolved, one.name, index)
        const delegation = refuse === undefined && tool !== undefined && isDelegate(tool)
        const allowed = !delegation || wanted < left
        const name = tool?.name ?? one.name.slice(0, 128)
        if (delegation) {
          wanted++
          plan.push({ id: one.id, description: messageOf(one.params), tool: name, status: "pending" })
        }
        return { call: one, delegation, allowed, refuse, name, at: delegation ? plan.length - 1 : -1 }
      })
      if (wanted > 0 && left <= 0 && onLimit === "fail") return yield* outOfDelegations(state)
      if (wanted > 0) yield* run.emit({ _tag: "Plan", steps: plan.slice() })
      const outcomes = yield* Step.forEach(
        jobs,
        (job) => {
          const settled = (outcome: Outcome) => {
            if (!job.delegation) return Effect.succeed(outcome)
            const status = outcome.isFailure ? (job.allowed ? "failed" : "skipped") : "completed"
            plan[job.at] = { ...(plan[job.at] as PlanStep), status }
            return Effect.as(run.emit({ _tag: "Plan", steps: plan.slice() }), outcome)
          }
          if (job.allowed) return Effect.flatMap(call(job.call, state.step, job.refuse), settled)
          const outcome = refusal(job.call, job.name, maxDelegations)
          const { id, params } = job.call
          const { step } = state
          return run
            .emitAll([
              { _tag: "ToolCall", step, id, name: job.name, params },
              { ...outcome, _tag: "ToolResult", step, durationMs: 0 }
            ])
            .pipe(Effect.zipRight(settled(outcome)))
        },
        { concurrency }
      )
      // A call that never reached its agent, with arguments that are not valid for instance, delegated nothing.
      const begun = jobs.filter((job, i) => job.delegation && job.allowed && outcomes[i]!.attempts > 0).length
      const results = jobs.flatMap((job, i): ReadonlyArray<Result> => {
        if (job.refuse !== undefined) return []
        const { isFailure, observation } = outcomes[i]!
        const status = !job.allowed ? "refused" : isFailure ? "failed" : "completed"
        const { id, params } = job.call
        return [{ id, delegation: job.delegation, by: job.name, request: params, status, text: observation }]
      })
      const { tools } = task
      const { calls } = turn
      const { circles, note, stuck } = ToolLoop.progress(NAME, resolved, state.circles, { tools, calls, outcomes })
      const update = {
        results,
        plan,
        messages: [LoopTurn.observed(turn, outcomes, note)],
        delegations: state.delegations + begun,
        unreviewed: begun
      }
      if (wanted > 0 && left <= 0) return { ...update, reason: "limit" as const }
      if (stuck !== undefined) {
        if (onLimit === "fail") return yield* stuck
        return { ...update, reason: "limit" as const }
      }
      return { ...update, circles }
    })

  const review = (state: State) =>
    Effect.gen(function* () {
      const { askFor, run, task } = yield* Reasoning.Reasoning
      const left = maxDelegations - state.delegations
      const { step, value } = yield* askFor(
        SupervisorPrompts.Review,
        { input: task.input, results: listed(state.results), delegations_left: String(left) },
        form
      )
      const accepted = value.verdict === "done"
      const instructions = value.instructions.trim() === "" ? value.reason : value.instructions
      yield* run.emit({ _tag: "Critique", step, text: accepted ? value.reason : instructions, accepted })
      const update = { reviews: state.reviews + 1, verdict: value.verdict }
      if (accepted) return update
      const tools = task.tools.tools.some((tool) => !isDelegate(tool))
      if (left <= 0 && !tools) {
        if (onLimit === "fail") return yield* outOfDelegations(state)
        return { ...update, reason: "limit" as const }
      }
      const message: LlmClient.Message = {
        role: "user",
        content: `A review of the reports asks for more before the answer is written:\n${instructions}\n\nDelegations left: ${left}`
      }
      return { ...update, messages: [message] }
    })

  const decide = (state: State) =>
    Effect.gen(function* () {
      const { finish, task } = yield* Reasoning.Reasoning
      const limited = state.reason === "limit"
      const answer = yield* finish(SupervisorPrompts.Decide, {
        input: task.input,
        results: listed(state.results),
        notes: state.turn._tag === "Answers" && state.turn.text.trim() !== "" ? state.turn.text : "None.",
        state: limited
          ? "A limit was reached before the work was done: answer from what stands, and say what is missing."
          : "The work is done."
      })
      return { answer: limited ? { ...answer, reason: state.reason } : answer }
    })

  return StateGraph.make({
    name: NAME,
    state: State,
    nodes: { assess, delegate, review, decide },
    start: "assess",
    edges: {
      assess: {
        to: ["assess", "delegate", "decide", "END"],
        labels: { assess: "neither", delegate: "delegates", decide: "decides", END: "answered" },
        when: ({ answer, reason, turn }) =>
          answer !== null
            ? "END"
            : reason === "limit" || turn._tag === "Answers"
              ? "decide"
              : turn._tag === "Acts"
                ? "delegate"
                : "assess"
      },
      delegate: {
        to: ["assess", "review", "decide"],
        labels: { assess: "reviewed", review: "results to review", decide: "a limit" },
        when: ({ reason, reviews, unreviewed }) =>
          reason === "limit" ? "decide" : unreviewed > 0 && reviews < maxReviews ? "review" : "assess"
      },
      review: {
        to: ["assess", "decide"],
        labels: { assess: "more is needed", decide: "done" },
        when: ({ reason, verdict }) => (reason === "limit" || verdict === "done" ? "decide" : "assess")
      },
      decide: "END"
    },
    reducers: {
      messages: (current, update) => (update.length === 0 ? current : [...current, ...update]),
      results: (current, update) => [...current, ...update]
    }
  })
}

/**
 * The strategy as a graph. A run whose reports pass their first review takes three model calls (assess, review, decide)
 * and those of the sub-agents, each further round of delegations two more; one that needs no delegation takes a single
 * call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = (
  options: Options = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  StrategyBaseError,
  Reasoning.Reasoning | StrategyServices
> => {
  const { format, ...rest } = options
  return {
    name: NAME,
    graph: graph(options),
    start: () => initial,
    answer: ({ answer }) =>
      answer === null ? Effect.dieMessage("supervisor ended without an answer") : Effect.succeed(answer),
    options: { ...rest, format: format === "text" ? "text" : "json" },
    updates: { hidden: ["messages", "circles"] }
  }
}

/**
 * A supervisor of the agents among the task's tools.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, AgentTool } from "effect-lexigram"
 * import { Supervisor } from "effect-lexigram/strategy"
 *
 * const researcher = Agent.make("researcher", { system: "You find facts." })
 * const writer = Agent.make("writer", { system: "You write." })
 *
 * const boss = Agent.make("boss", {
 *   strategy: Supervisor.make(),
 *   tools: [AgentTool.make(researcher), AgentTool.make(writer)]
 * })
 * ```
 */
export const make = (options: Options = {}): Strategy => GraphStrategy.make(definition(options))
