/**
 * The nodes of tree search that work on the whole tree: selection, backpropagation, reflection and the final output.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type { FinishReason } from "../../domain/AgentEvent.js"
import { count } from "../../internal/Count.js"
import * as Step from "../../observability/Step.js"
import * as LatsPrompts from "../../prompt/defaults/LatsPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as LatsPath from "./LatsPath.js"
import type { Settings } from "./LatsSettings.js"
import * as LatsSettings from "./LatsSettings.js"
import type { Move, State } from "./LatsState.js"
import * as LatsText from "./LatsText.js"
import * as SearchTree from "./SearchTree.js"

type Update<E = never, R = never> = Effect.Effect<Partial<State>, E, R>

type Node = SearchTree.Node<Move>

/** The initial state of a search. */
export const start = (maxIterations: number | undefined): State => ({
  tree: SearchTree.make<Move>({ action: null, share: 1, score: null, critique: "", solved: false }),
  maxIterations: count(maxIterations, ToolLoop.defaults.maxIterations, 1),
  iterations: 0,
  modelCalls: 0,
  current: SearchTree.ROOT,
  expanded: [],
  simulating: false,
  failed: [],
  reflections: [],
  solved: null,
  best: SearchTree.ROOT,
  final: null
})

/** Rejects the tools that exist when the search begins. */
const refuseLasting = (settings: Settings<any, any>) =>
  Effect.flatMap(Reasoning.Reasoning, ({ task: { tools } }) =>
    LatsPath.refuseLasting(settings, tools.all ?? tools.tools)
  )

export const selectNode = (settings: Settings<any, any>) => (state: State) =>
  Effect.zipRight(
    state.iterations === 0 ? refuseLasting(settings) : Effect.void,
    Effect.sync((): Partial<State> => {
      const leaf = SearchTree.select(state.tree, settings.explorationWeight)
      return {
        iterations: state.iterations + 1,
        failed: [],
        ...(leaf === undefined ? {} : { current: leaf.id })
      }
    })
  )

export const backpropagate =
  (settings: Settings<any, any>) =>
  (state: State): Update =>
    Effect.sync(() => {
      const judged = state.expanded.filter((id) => SearchTree.get(state.tree, id).visits > 0)
      const end = state.solved ?? SearchTree.bestOf(state.tree, judged)?.id
      const ends = !settings.rollout ? judged : end === undefined ? [] : [end]
      let tree = state.tree
      for (const id of ends) tree = SearchTree.backpropagate(tree, id, SearchTree.average(SearchTree.get(tree, id)))
      return { tree: SearchTree.pick(tree, LatsPath.idsTo(tree, state.current)) }
    })

export const reflect = (settings: Settings<any, any>) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { admit, calls } = LatsSettings.searchMeter(settings, state)
    // The paths that came closest teach the most.
    const failed = state.failed
      .map((id) => SearchTree.get(state.tree, id))
      .sort((a, b) => SearchTree.average(b) - SearchTree.average(a))
      .slice(0, LatsSettings.lessons(settings, state))
    const ask = (node: Node) => {
      const end = LatsPath.isAnswer(node)
        ? "The answer did not solve the task."
        : "The path ran out of steps without an answer."
      return LatsSettings.orSpent(
        reasoning.ask(
          LatsPrompts.Reflect,
          {
            task: reasoning.task.input,
            path: LatsText.renderPath(LatsPath.actionsTo(state.tree, node.id)),
            evaluation: `${end} Score: ${node.data.score ?? 0} of 1.\n${node.data.critique}`.trim()
          },
          { admit }
        )
      )
    }
    const replies = yield* Step.forEach(failed, ask, { concurrency: reasoning.concurrency })
    const learned = replies.flatMap((reply) => (reply === undefined ? [] : [reply.text]))
    return {
      reflections: [...state.reflections, ...learned].slice(-settings.maxReflections),
      failed: [],
      modelCalls: calls()
    }
  })

export const chooseBestPath = (state: State): Update =>
  Effect.sync(() => ({
    best: state.solved ?? (SearchTree.bestPath(state.tree, LatsPath.isAnswer).at(-1) as Node).id
  }))

export const generateFinalOutput =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const exceeded = (message: string, hint: string) =>
        new MaxIterationsExceededError({
          strategyName: settings.strategyName,
          maxIterations: state.maxIterations,
          currentIteration: state.iterations,
          message,
          hint
        })
      if (state.solved === null && settings.onLimit === "fail") {
        return yield* exceeded(
          `No answer solved the task in ${state.iterations} iterations with ${state.modelCalls} model calls`,
          'Raise `maxIterations` or `maxModelCalls`, lower `successThreshold`, or take the best answer with `onLimit: "answer"`'
        )
      }
      const reasoning = yield* Reasoning.Reasoning
      const { admit, calls } = LatsSettings.makeMeter(state.modelCalls, settings.maxModelCalls)
      const path = LatsPath.actionsTo(state.tree, state.best)
      yield* LatsPath.resetTo(settings, path)
      const last = path[path.length - 1]
      const reason: FinishReason = state.solved === null ? "limit" : last?.isCut === true ? "length" : "completed"
      const values = {
        task: reasoning.task.input,
        path: LatsText.renderPath(path),
        iterations: String(state.iterations)
      }
      const asked =
        last?.kind === "answer"
          ? reasoning.answer(last.text, reason, { admit })
          : Effect.map(reasoning.finish(LatsPrompts.FinalOutput, values, { admit }), (answer) =>
              answer.reason === "completed" ? { ...answer, reason } : answer
            )
      const final = yield* Effect.catchIf(asked, LatsSettings.isSpent, () =>
        exceeded(`None of ${settings.maxModelCalls} model calls is left for the answer`, "Raise `maxModelCalls`")
      )
      return { final, modelCalls: calls() }
    })
