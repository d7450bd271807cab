/**
 * What nodes do besides updating the state: run graphs, lead on, emit values, wait.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import { type Chosen, type Fields, GotoTypeId, type Send } from "./GraphChoice.js"
import * as GraphCodec from "./GraphCodec.js"
import { type Compiled, CompiledTypeId, type Node, NodeTypeId } from "./GraphDefinition.js"
import type { GraphStepLimitError, GraphWaitingError } from "./GraphError.js"
import type { RunOptions } from "./GraphOptions.js"
import * as GraphRunner from "./GraphRunner.js"
import * as GraphThread from "./GraphThread.js"

/**
 * Makes a node that runs another graph to its end, with its own step limit. Events of its nodes carry the names of the
 * surrounding nodes; in a thread it is saved and resumed as part of the run. The parameter of `input` needs a type.
 *
 * @since 0.1.0
 * @category constructors
 */
export const subgraph = <N extends string, Sub, I, E, R, S>(
  compiled: Compiled<N, Sub, I, E, R>,
  options: RunOptions & {
    readonly input: (state: S) => NoInfer<Sub>
    readonly output: (sub: NoInfer<Sub>, state: NoInfer<S>) => Partial<NoInfer<S>>
  }
): Node<S, E | GraphStepLimitError, R> => {
  const { concurrency, input, maxSteps, output } = options
  return {
    [NodeTypeId]: NodeTypeId,
    subgraph: compiled,
    run: (state) =>
      Effect.flatMap(GraphRunner.CurrentFrame, (frame) =>
        Effect.map(
          frame.run(compiled[CompiledTypeId], input(state), { maxSteps, concurrency }) as Effect.Effect<
            Sub,
            E | GraphStepLimitError,
            R
          >,
          (sub) => output(sub, state)
        )
      )
  }
}

/**
 * One run of a node with fields of its own, for a branch or `goto`: one for each item of a list, in parallel. The node
 * sees the state with these fields in place of its own; the state itself does not change. Its updates are merged as
 * those of other nodes, so that a field that several of them write needs a reducer. Their events have the number of the
 * run (`send`), and waits in them the name `node#0`, `node#1`, …
 *
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { StateGraph } from "effect-lexigram/graph"
 *
 * const graph = StateGraph.make({
 *   name: "lengths",
 *   state: Schema.Struct({
 *     words: Schema.Array(Schema.String),
 *     word: Schema.String,
 *     lengths: Schema.Array(Schema.Number)
 *   }),
 *   nodes: {
 *     split: () => Effect.succeed({}),
 *     measure: (state) => Effect.succeed({ lengths: [state.word.length] })
 *   },
 *   start: "split",
 *   edges: {
 *     split: { to: ["measure"], when: (state) => state.words.map((word) => StateGraph.send("measure", { word })) },
 *     measure: "END"
 *   },
 *   reducers: { lengths: (current, update) => [...current, ...update] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const send = <const N extends string, U extends Fields>(node: N, update: U): Send<N, U> => ({
  _tag: "Send",
  node,
  update
})

/**
 * An update that also says where the node goes, for a node whose edge has targets and no condition
 * (`{ to: ["write", "END"] }`). A target that the edge does not list is a defect; an empty list ends the branch.
 *
 * @since 0.1.0
 * @category constructors
 */
export const goto: {
  (to: Chosen): {}
  <U extends object>(to: Chosen, update: U): U
} = (to: Chosen, update: object = {}) => ({ ...update, [GotoTypeId]: to }) as any

/**
 * Emits a value from a node, as an event of `stream` and to `onEmit`. Outside a run that is observed it does nothing. A
 * node that runs again, after a failure or a crash, emits again; a cached update emits nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const emit = (value: unknown): Effect.Effect<void> =>
  Effect.flatMap(GraphRunner.CurrentFrame, (frame) => frame.emit(value))

/**
 * Waits in a node for a value from outside, under a name unique in the node. The node fails with `GraphWaitingError`.
 * In a thread the run stops there once the other nodes of its step have finished, and `resume` gives the value: the
 * node then runs again from its start, and `wait` succeeds. So whatever a node does before it waits is repeated.
 *
 * The value is given encoded, as JSON, and decoded by the schema; a value that does not match is rejected, and the wait
 * continues with a `problem`. `payload`, also JSON, describes the wait to whoever answers it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wait = <A, I>(
  name: string,
  schema: Schema.Schema<A, I>,
  options?: { readonly payload?: unknown } | undefined
): Effect.Effect<A, GraphWaitingError> =>
  Effect.flatMap(GraphRunner.CurrentFrame, (frame) => {
    const payload = options?.payload
    const waiting = { name, node: frame.node, path: [], ...(payload === undefined ? {} : { payload }) }
    const given = frame.answers.get(name)
    if (given === undefined) return GraphThread.waitingError(frame.graph, [waiting])
    return Effect.mapError(ParseResult.decodeUnknown(schema)(given), (error) =>
      GraphThread.waitingError(frame.graph, [{ ...waiting, problem: GraphCodec.issues(error) }])
    )
  })
