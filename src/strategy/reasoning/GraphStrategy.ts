/**
 * Strategies that are state graphs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { GraphStepLimitError } from "../../graph/GraphError.js"
import * as StateGraph from "../../graph/StateGraph.js"
import * as Reasoning from "../definition/Reasoning.js"
import * as Strategy from "../definition/Strategy.js"
import { MaxIterationsExceededError } from "../definition/StrategyError.js"
import * as NodeUpdate from "./NodeUpdate.js"
import * as ReasoningService from "./ReasoningService.js"

/**
 * A strategy as a graph. Every graph strategy exports its definition, so that nodes can be wrapped or replaced before
 * the strategy is made.
 *
 * @since 0.1.0
 * @category models
 */
export interface GraphDefinition<out N extends string, in out S, in out I, out E = never, out R = never> {
  readonly name: string
  readonly graph: StateGraph.StateGraph<N, S, I, E, R>
  /** The initial state for a task. */
  readonly start: (task: Strategy.Task) => S
  /** The answer in the final state. */
  readonly answer: (state: S) => Effect.Effect<Strategy.Answer, E, R>
  /** Options of its steps. */
  readonly options?: Reasoning.Options | undefined
  /** Maximum number of super-steps. Default: no limit, because strategies have limits of their own. */
  readonly maxSteps?: number | undefined
  /** What `NodeFinished` events show of updates. */
  readonly updates?: NodeUpdate.Options | undefined
}

/**
 * Makes a strategy from a graph. Its nodes reach their run through the `Reasoning` service. Each node that ends emits a
 * `NodeFinished` event with its update: without messages, grown lists reduced to what was added, and at most
 * `NodeUpdate.MAX_BYTES` long. What a node emits (`StateGraph.emit`) is a `NodeEmitted` event of the same size. The
 * graph is compiled once for all runs. An invalid graph throws `GraphCompileError`; use `StateGraph.compile` for a
 * typed failure.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { StateGraph } from "effect-lexigram/graph"
 * import { GraphStrategy, Reflection } from "effect-lexigram/strategy"
 * import * as Effect from "effect/Effect"
 *
 * const definition = Reflection.definition({ maxReflectionCycles: 3 })
 *
 * const strategy = GraphStrategy.make({
 *   ...definition,
 *   graph: StateGraph.wrapNode(definition.graph, "reflect", (reflect) => (state, context) =>
 *     Effect.tap(reflect(state, context), Effect.logDebug("Reflected"))
 *   )
 * })
 * ```
 */
export const make = <N extends string, S, I, E, R>(
  definition: GraphDefinition<N, S, I, E, R>
): Strategy.Strategy<
  Exclude<E, Strategy.StrategyBaseError>,
  Exclude<R, Strategy.StrategyServices | Reasoning.Reasoning>
> => {
  const { answer, graph, name, options, start } = definition
  const compiled = StateGraph.unsafeCompile(graph)
  const maxSteps = definition.maxSteps ?? Number.POSITIVE_INFINITY
  const program = (task: Strategy.Task) =>
    Effect.flatMap(ReasoningService.make(name, task, options), (reasoning) =>
      StateGraph.invoke(compiled, start(task), {
        maxSteps,
        concurrency: reasoning.concurrency,
        onNode: makeNodeFinished(reasoning, definition.updates),
        onEmit: makeNodeEmitted(reasoning)
      }).pipe(
        Effect.catchIf(
          (error): error is GraphStepLimitError => error instanceof GraphStepLimitError,
          (error) => exceeded(name, error.limit)
        ),
        Effect.flatMap(answer),
        Effect.provideService(Reasoning.Reasoning, reasoning)
      )
    )
  return {
    ...Strategy.make(name, program as (task: Strategy.Task) => Effect.Effect<Strategy.Answer, any, any>),
    graph: compiled
  }
}

/**
 * What `NodeFinished` events of a run show of the update of a node.
 *
 * @since 0.1.0
 * @category conversions
 */
export const shownUpdate = (
  { run, task }: Reasoning.Service,
  options?: NodeUpdate.Options | undefined
): ((node: string, update: object) => object) => {
  if (run.withheld || run.sink.kept === false) return () => ({})
  return task.debugNodeUpdates === true ? (_node, update) => update : NodeUpdate.make(options)
}

const makeNodeFinished = (
  reasoning: Reasoning.Service,
  options: NodeUpdate.Options | undefined
): NonNullable<StateGraph.InvokeOptions<any>["onNode"]> => {
  const show = shownUpdate(reasoning, options)
  return ({ graph, node, step, update }) =>
    reasoning.run.unsafeEmit({ _tag: "NodeFinished", graph, node, step, update: show(node, update) }) ?? Effect.void
}

const makeNodeEmitted = ({ run }: Reasoning.Service): NonNullable<StateGraph.InvokeOptions<any>["onEmit"]> => {
  const isShown = !(run.withheld || run.sink.kept === false)
  return ({ graph, node, step, value }) =>
    isShown
      ? (run.unsafeEmit({ _tag: "NodeEmitted", graph, node, step, value: NodeUpdate.bounded(value) }) ?? Effect.void)
      : Effect.void
}

const exceeded = (strategyName: string, limit: number): MaxIterationsExceededError =>
  new MaxIterationsExceededError({
    strategyName,
    maxIterations: limit,
    currentIteration: limit,
    message: `No answer after ${limit} steps of the graph`,
    hint: "Raise `maxSteps`"
  })
