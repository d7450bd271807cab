/**
 * Typed state graphs: nodes are Effects that return updates of one state, edges decide what runs next.
 *
 * A run consists of super-steps. All due nodes run in parallel, and each sees the state from before the step. Their
 * updates are merged in the order in which the nodes are declared, field by field through the reducers; then the edges
 * of these nodes give the nodes of the next step. A run ends when no node is due.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import { pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as ReaderTimeout from "../domain/ReaderTimeout.js"
import * as EventSink from "../internal/fiber/EventSink.js"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"
import type { Checkpointer } from "./Checkpointer.js"
import type { END } from "./GraphChoice.js"
import {
  type Compiled,
  CompiledTypeId,
  type Edge,
  type Handler,
  type Node,
  type Reducers,
  type StateGraph,
  TypeId
} from "./GraphDefinition.js"
import * as GraphDiagram from "./GraphDiagram.js"
import {
  type CheckpointerError,
  type GraphCheckpointError,
  GraphCompileError,
  type GraphStepLimitError
} from "./GraphError.js"
import { type ErrorOf, type NodeInput, type ServicesOf, toNode } from "./GraphNode.js"
import type {
  GraphEvent,
  InvokeOptions,
  ResumeOptions,
  RunOptions,
  Snapshot,
  ThreadError,
  ThreadOptions
} from "./GraphOptions.js"
import * as GraphResume from "./GraphResume.js"
import * as GraphRunner from "./GraphRunner.js"
import * as GraphTables from "./GraphTables.js"

export { type Choice, END, GotoTypeId, type Send } from "./GraphChoice.js"
export { emit, goto, send, subgraph, wait } from "./GraphControl.js"
export {
  type Branch,
  type CacheOptions,
  type CacheStore,
  type Compiled,
  CompiledTypeId,
  type Decided,
  type Edge,
  type Handler,
  type Node,
  type NodeContext,
  NodeTypeId,
  type Reducers,
  type StateGraph,
  TypeId
} from "./GraphDefinition.js"
export { node } from "./GraphNode.js"
export type {
  Breakpoints,
  Finished,
  GraphEvent,
  InvokeOptions,
  NodeEmitted,
  NodeFinished,
  NodeOptions,
  NodeParts,
  NodeStarted,
  ResumeOptions,
  RetryOptions,
  RunOptions,
  Snapshot,
  ThreadError,
  ThreadOptions
} from "./GraphOptions.js"

type Name<N> = Extract<keyof N, string>

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    // biome-ignore lint/complexity/noArguments: what `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

type Parts<N extends string, S, I, E, R> = Omit<StateGraph<N, S, I, E, R>, TypeId | "pipe">

const fromParts = <N extends string, S, I, E, R>(parts: Parts<N, S, I, E, R>): StateGraph<N, S, I, E, R> =>
  Object.assign(Object.create(Proto), parts)

/**
 * Makes a graph of named nodes. Names, targets and updates are checked by type; `compile` checks the rest.
 *
 * `joins` declares nodes that wait: such a node runs once after all its sources have finished, however many steps each
 * took. It does not wait for a source that a branch skipped: when nothing else is left to run, it runs with what has
 * arrived.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import { StateGraph } from "effect-lexigram/graph"
 *
 * const graph = StateGraph.make({
 *   name: "essay",
 *   state: Schema.Struct({ topic: Schema.String, drafts: Schema.Array(Schema.String), good: Schema.Boolean }),
 *   nodes: {
 *     write: (state) => Effect.succeed({ drafts: [`About ${state.topic}`] }),
 *     judge: (state) => Effect.succeed({ good: state.drafts.length > 2 })
 *   },
 *   start: "write",
 *   edges: { write: "judge", judge: { to: ["write", "END"], when: (state) => (state.good ? "END" : "write") } },
 *   reducers: { drafts: (current, update) => [...current, ...update] }
 * })
 *
 * const essay = StateGraph.unsafeCompile(graph)
 *
 * const program = StateGraph.invoke(essay, { topic: "graphs", drafts: [], good: false })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <S, I, const N extends { readonly [name: string]: NodeInput<S> }>(definition: {
  readonly name: string
  /** A struct: updates may change its fields. */
  readonly state: Schema.Schema<S, I>
  readonly nodes: N
  readonly start: NoInfer<Name<N>>
  readonly edges: { readonly [K in NoInfer<Name<N>>]: Edge<NoInfer<S>, NoInfer<Name<N>> | END> }
  readonly reducers?: Reducers<NoInfer<S>> | undefined
  readonly joins?: { readonly [K in NoInfer<Name<N>>]?: ReadonlyArray<NoInfer<Name<N>>> } | undefined
}): StateGraph<Name<N>, S, I, ErrorOf<N[keyof N]>, ServicesOf<N[keyof N]>> =>
  fromParts({
    name: definition.name,
    state: definition.state,
    start: definition.start,
    nodes: entries(definition.nodes, toNode),
    edges: entries(definition.edges, (edge) => edge),
    reducers: definition.reducers ?? {},
    joins: entries<ReadonlyArray<string>, ReadonlyArray<string>>(definition.joins ?? {}, (sources) => sources),
    unknown: []
  }) as any

const entries = <A, B>(record: { readonly [name: string]: A | undefined }, f: (value: A) => B): ReadonlyMap<any, B> => {
  const map = new Map<string, B>()
  for (const [name, value] of Object.entries(record)) if (value !== undefined) map.set(name, f(value))
  return map
}

const change = <N extends string, S, I, E, R>(
  self: StateGraph<N, S, I, E, R>,
  name: N,
  f: (node: Node<S, E, R>) => Node<S, E, R>
): StateGraph<N, S, I, E, R> => {
  const known = self.nodes.get(name)
  if (known === undefined) return fromParts({ ...self, unknown: [...self.unknown, name] })
  return fromParts({ ...self, nodes: new Map(self.nodes).set(name, f(known)) })
}

/**
 * Wraps one node: `wrap` receives its handler and returns the replacement, which may call it with another state,
 * several times or not at all, and change its update.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrapNode: {
  <N extends string, S, I, E, R, E2, R2>(
    name: NoInfer<N>,
    wrap: (next: Handler<S, E, R>) => Handler<NoInfer<S>, E2, R2>
  ): (self: StateGraph<N, S, I, E, R>) => StateGraph<N, S, I, E | E2, R | R2>
  <N extends string, S, I, E, R, E2, R2>(
    self: StateGraph<N, S, I, E, R>,
    name: NoInfer<N>,
    wrap: (next: Handler<S, E, R>) => Handler<NoInfer<S>, E2, R2>
  ): StateGraph<N, S, I, E | E2, R | R2>
} = dual(3, (self: StateGraph<string, any, any, any, any>, name: string, wrap: (next: Handler<any, any, any>) => any) =>
  change(self, name, (node) => ({ ...node, run: wrap(node.run) }))
)

/**
 * Replaces the handler of a node. The failures of the old one stay in `E`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const replaceNode: {
  <N extends string, S, I, E, R, E2, R2>(
    name: NoInfer<N>,
    handler: Handler<NoInfer<S>, E2, R2> | Node<NoInfer<S>, E2, R2>
  ): (self: StateGraph<N, S, I, E, R>) => StateGraph<N, S, I, E | E2, R | R2>
  <N extends string, S, I, E, R, E2, R2>(
    self: StateGraph<N, S, I, E, R>,
    name: NoInfer<N>,
    handler: Handler<NoInfer<S>, E2, R2> | Node<NoInfer<S>, E2, R2>
  ): StateGraph<N, S, I, E | E2, R | R2>
} = dual(3, (self: StateGraph<string, any, any, any, any>, name: string, handler: NodeInput<any>) =>
  change(self, name, () => toNode(handler))
)

/**
 * Checks a graph and prepares it for runs. One error lists all issues.
 *
 * @since 0.1.0
 * @category destructors
 */
export const compile = <N extends string, S, I, E, R>(
  graph: StateGraph<N, S, I, E, R>
): Either.Either<Compiled<N, S, I, E, R>, GraphCompileError> => {
  const issues = GraphTables.check(graph)
  if (issues.length > 0) {
    return Either.left(
      new GraphCompileError({
        message: `Graph "${graph.name}" cannot be run: ${issues.map((issue) => issue.message).join("; ")}`,
        hint: "Every issue says what to change in the definition",
        graph: graph.name,
        issues
      })
    )
  }
  return Either.right({ [CompiledTypeId]: GraphTables.make(graph), name: graph.name, graph })
}

/**
 * Like `compile`, for constant graphs: throws the `GraphCompileError`.
 *
 * @since 0.1.0
 * @category destructors
 */
export const unsafeCompile = <N extends string, S, I, E, R>(
  graph: StateGraph<N, S, I, E, R>
): Compiled<N, S, I, E, R> => Either.getOrThrowWith(compile(graph), (error) => error)

/**
 * Runs a graph to its end and returns its last state. Interruption interrupts the running nodes. Nodes hold no
 * `SystemAccess`, whatever the caller holds.
 *
 * @since 0.1.0
 * @category execution
 */
export const invoke = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  initial: NoInfer<S>,
  options?: InvokeOptions<NoInfer<S>> | undefined
): Effect.Effect<S, E | GraphStepLimitError, R> =>
  SystemGrant.drop(GraphRunner.run(compiled[CompiledTypeId], initial, options ?? {}))

const source = { capacity: 64, patience: ReaderTimeout.current }

/**
 * Runs a graph as a stream of its nodes' events while they happen; the last one is `Finished`. Stopping the stream
 * interrupts the run, and so does a reader slower than `ReaderTimeout`.
 *
 * @since 0.1.0
 * @category execution
 */
export const stream = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  initial: NoInfer<S>,
  options?: RunOptions | undefined
): Stream.Stream<GraphEvent<S>, E | GraphStepLimitError | ReaderTimeout.ReaderTimeoutError, R> =>
  EventSink.stream<GraphEvent<S>, E | GraphStepLimitError | ReaderTimeout.ReaderTimeoutError, R>(source, (sink) => {
    const tell = (event: GraphEvent<S>): Effect.Effect<void> =>
      Effect.suspend(() => {
        sink.push(event)
        return sink.settle() ?? Effect.void
      })
    const run = SystemGrant.drop(
      GraphRunner.run(compiled[CompiledTypeId], initial, { ...options, onStart: tell, onNode: tell, onEmit: tell })
    )
    return sink.attended(Effect.tap(run, (state) => tell({ _tag: "Finished", graph: compiled.name, state })))
  })

/**
 * Runs a graph in a thread: saves its position after every super-step, and after every node of a parallel one, so that
 * `resume` can continue after a crash without running a finished node again. Earlier runs of the thread stay in its
 * history.
 *
 * @since 0.1.0
 * @category threads
 */
export const invokeThread = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  options: ThreadOptions<NoInfer<S>, NoInfer<N>> & { readonly initial: NoInfer<S> }
): Effect.Effect<S, E | ThreadError, R | Checkpointer> =>
  GraphResume.invoke(compiled[CompiledTypeId], options.initial, options)

/**
 * Resumes a thread: after a crash, behind a breakpoint, with the value it waits for, with another state, or from an
 * earlier checkpoint. A run that has ended returns its last state again. While it waits and gets no value, it fails
 * with the same `GraphWaitingError`.
 *
 * @since 0.1.0
 * @category threads
 */
export const resume = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  options: ResumeOptions<NoInfer<S>, NoInfer<N>>
): Effect.Effect<S, E | ThreadError, R | Checkpointer> => GraphResume.resume(compiled[CompiledTypeId], options as any)

/**
 * Checkpoints of a thread, newest first; empty for an unknown thread.
 *
 * @since 0.1.0
 * @category threads
 */
export const history = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  threadId: string,
  options?:
    | {
        readonly limit?: number | undefined
        readonly before?: string | undefined
        /** As in `ThreadOptions`. */
        readonly userId?: string | undefined
      }
    | undefined
): Effect.Effect<ReadonlyArray<Snapshot<N, S>>, GraphCheckpointError | CheckpointerError, Checkpointer> =>
  GraphResume.history(compiled[CompiledTypeId], threadId, options)

/**
 * Draws the graph as a Mermaid flowchart of what runs: branches are labeled edges, joins hexagons, subgraphs boxes.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMermaid = (
  graph: StateGraph<string, any, any, any, any> | Compiled<string, any, any, any, any>
): string => GraphDiagram.mermaid(CompiledTypeId in graph ? graph.graph : graph)
