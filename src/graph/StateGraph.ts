/**
 * Typed state graphs: nodes are Effects that return updates of one state, edges say what runs next.
 *
 * A run goes in super-steps. All nodes that are due run in parallel, each sees the state as it was before the step;
 * their updates are merged in the order in which the nodes are declared, field by field through the reducers; then the
 * edges of the nodes that ran give the nodes of the next step. A run ends when no node is due.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as ParseResult from "effect/ParseResult"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as ReaderTimeout from "../domain/ReaderTimeout.js"
import * as EventSink from "../internal/fiber/EventSink.js"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"
import type { Checkpointer, Json } from "./Checkpointer.js"
import * as GraphCodec from "./GraphCodec.js"
import * as GraphDiagram from "./GraphDiagram.js"
import {
  type CheckpointerError,
  type GraphCheckpointError,
  GraphCompileError,
  type GraphNodeTimeoutError,
  type GraphStepLimitError,
  type GraphWaitingError,
  type Waiting
} from "./GraphError.js"
import * as GraphNode from "./GraphNode.js"
import * as GraphResume from "./GraphResume.js"
import * as GraphRunner from "./GraphRunner.js"
import * as GraphTables from "./GraphTables.js"
import * as GraphThread from "./GraphThread.js"

/**
 * The target that ends a branch of a run.
 *
 * @since 0.1.0
 * @category constants
 */
export const END = "END"
/**
 * @since 0.1.0
 * @category models
 */
export type END = typeof END

/**
 * Where a node runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeContext {
  readonly graph: string
  readonly node: string
  /** The super-step, from 1. */
  readonly step: number
}

/**
 * What a node does: from the state to the fields that change. The state is never to be mutated; an update is seen from
 * the next super-step on.
 *
 * @since 0.1.0
 * @category models
 */
export type Handler<in out S, out E = never, out R = never> = (
  state: S,
  context: NodeContext
) => Effect.Effect<Partial<S>, E, R>

/**
 * @since 0.1.0
 * @category symbols
 */
export const NodeTypeId: unique symbol = Symbol.for("effect-lexigram/graph/StateGraph/Node")
/**
 * @since 0.1.0
 * @category symbols
 */
export type NodeTypeId = typeof NodeTypeId

/**
 * A handler with what surrounds it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Node<in out S, out E = never, out R = never> {
  readonly [NodeTypeId]: NodeTypeId
  readonly run: Handler<S, E, R>
  /** The graph that it runs. */
  readonly subgraph?: Compiled<string, any, any, any, any> | undefined
}

/**
 * A branch by the state: `when` sees the state after the super-step and names one target or several, all among `to`.
 * `labels` say in words when each target is next; the diagram shows them at its edges, and the name of `when` where a
 * target has none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Branch<in S, out To extends string> {
  readonly to: ReadonlyArray<To>
  readonly labels?: { readonly [target: string]: string } | undefined
  readonly when: (state: S) => To | ReadonlyArray<To>
}

/**
 * What runs after a node: one target, several in parallel, or a branch.
 *
 * @since 0.1.0
 * @category models
 */
export type Edge<S, To extends string> = To | ReadonlyArray<To> | Branch<S, To>

/**
 * How a field takes an update. Without a reducer the update replaces the value, and two parallel updates of one field
 * are a defect.
 *
 * @since 0.1.0
 * @category models
 */
export type Reducers<S> = { readonly [K in keyof S]?: (current: S[K], update: S[K]) => S[K] }

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/graph/StateGraph")
/**
 * @since 0.1.0
 * @category symbols
 */
export type TypeId = typeof TypeId

/**
 * An immutable definition. `N` are the names of its nodes, `S` its state and `I` the state's encoded form, `E` and `R`
 * the union of what its nodes fail with and need.
 *
 * @since 0.1.0
 * @category models
 */
export interface StateGraph<out N extends string, in out S, in out I, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: TypeId
  readonly name: string
  readonly state: Schema.Schema<S, I>
  readonly start: N
  readonly nodes: ReadonlyMap<N, Node<S, E, R>>
  readonly edges: ReadonlyMap<N, Edge<S, N | END>>
  readonly reducers: Reducers<S>
  readonly joins: ReadonlyMap<N, ReadonlyArray<N>>
  /** Nodes that were wrapped or replaced and do not exist: found by `compile`. */
  readonly unknown: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category symbols
 */
export const CompiledTypeId: unique symbol = Symbol.for("effect-lexigram/graph/StateGraph/Compiled")
/**
 * @since 0.1.0
 * @category symbols
 */
export type CompiledTypeId = typeof CompiledTypeId

/**
 * A graph that was checked and prepared: what runs. Compile it once; runs share it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Compiled<out N extends string, in out S, in out I, out E = never, out R = never> {
  readonly [CompiledTypeId]: GraphTables.Tables
  readonly name: string
  readonly graph: StateGraph<N, S, I, E, R>
}

/**
 * A node begins.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeStarted extends NodeContext {
  readonly _tag: "NodeStarted"
  /** The nodes that lead to the subgraph it is in, from the outside in; absent for a node of the graph itself. */
  readonly path?: ReadonlyArray<string> | undefined
}

/**
 * A node has finished; `update` is what it returned. A node of a subgraph has a `path`, and an update of that graph's
 * state.
 *
 * @since 0.1.0
 * @category models
 */
export type NodeFinished<S> = NodeContext & { readonly _tag: "NodeFinished" } & (
    | { readonly path?: undefined; readonly update: Partial<S> }
    | { readonly path: ReadonlyArray<string>; readonly update: { readonly [field: string]: unknown } }
  )

/**
 * A run has ended in this state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finished<out S> {
  readonly _tag: "Finished"
  readonly graph: string
  readonly state: S
}

/**
 * @since 0.1.0
 * @category models
 */
export type GraphEvent<S> = NodeStarted | NodeFinished<S> | Finished<S>

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /** Super-steps at most; default 100. */
  readonly maxSteps?: number | undefined
  /** Nodes of one super-step that run at a time; default all. */
  readonly concurrency?: number | "unbounded" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface InvokeOptions<S> extends RunOptions {
  /** Called when a node has finished, while others may still run; the node counts as running until it returns. */
  readonly onNode?: ((finished: NodeFinished<S>) => Effect.Effect<void>) | undefined
}

/**
 * A node as its parts.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeParts<in out S> extends NodeOptions<any, any> {
  readonly [NodeTypeId]?: undefined
  readonly run: Handler<S, any, any>
}

type NodeInput<S> = Handler<S, any, any> | Node<S, any, any> | NodeParts<S>

type HandlerError<F> = F extends (...args: any) => Effect.Effect<any, infer E, any> ? E : never

type HandlerServices<F> = F extends (...args: any) => Effect.Effect<any, any, infer R> ? R : never

type TimeoutError<T> = T extends { readonly timeout: infer D }
  ? [D] extends [undefined]
    ? never
    : GraphNodeTimeoutError
  : never

type RetryServices<T> = T extends { readonly retry: infer Retry }
  ? Retry extends Schedule.Schedule<any, any, infer R> | { readonly schedule: Schedule.Schedule<any, any, infer R> }
    ? R
    : never
  : never

type ErrorOf<T> = T extends { readonly run: infer F } ? HandlerError<F> | TimeoutError<T> : HandlerError<T>

type ServicesOf<T> = T extends { readonly run: infer F } ? HandlerServices<F> | RetryServices<T> : HandlerServices<T>

type Name<N> = Extract<keyof N, string>

const nodeOf = <S, E, R>(run: Handler<S, E, R>): Node<S, E, R> => ({ [NodeTypeId]: NodeTypeId, run })

const toNode = (given: NodeInput<any>): Node<any, any, any> => {
  if (typeof given === "function") return nodeOf(given)
  return given[NodeTypeId] === undefined ? node(given.run, given as NodeOptions<any, any> & { timeout: 0 }) : given
}

/**
 * When a failed node is run again.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryOptions<in E, out R = never> {
  /** Further runs at most. */
  readonly times?: number | undefined
  /** The waits between them; default none. */
  readonly schedule?: Schedule.Schedule<unknown, E, R> | undefined
  /** Which failures; default all but timeouts. */
  readonly while?: ((error: E) => boolean) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface NodeOptions<in E, out R = never> {
  /** For each run of the handler. */
  readonly timeout?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, E, R> | RetryOptions<E, R> | undefined
}

/**
 * A node with a time limit, retries, or both. Only a node with `timeout` can fail with `GraphNodeTimeoutError`. A
 * timeout is retried only where `retry.while` accepts it.
 *
 * The handler's parameter needs its type here; written as `{ run, timeout, retry }` in the record of nodes, it is
 * inferred.
 *
 * @since 0.1.0
 * @category constructors
 */
export const node: {
  <S, E, R, R2 = never>(
    run: Handler<S, E, R>,
    options: NodeOptions<E | GraphNodeTimeoutError, R2> & { readonly timeout: Duration.DurationInput }
  ): Node<S, E | GraphNodeTimeoutError, R | R2>
  <S, E, R, R2 = never>(
    run: Handler<S, E, R>,
    options?: NodeOptions<E, R2> & { readonly timeout?: undefined }
  ): Node<S, E, R | R2>
} = (run: Handler<any, any, any>, options?: NodeOptions<any, any>): Node<any, any, any> => {
  const timed = options?.timeout === undefined ? run : GraphNode.withTimeout(run, Duration.toMillis(options.timeout))
  return nodeOf(options?.retry === undefined ? timed : GraphNode.withRetry(timed, options.retry))
}

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
 * A graph of named nodes. Names, targets and updates are checked by type; the rest is checked by `compile`.
 *
 * `joins` declares nodes that wait: such a node runs once after all its sources have finished, however many steps each
 * took. A source that a branch left out is not waited for: when nothing else is left to run, the node runs with what
 * has come.
 *
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
  /** A struct: its fields are what updates may change. */
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
 * The graph with one node wrapped: `wrap` gets its handler and gives the one that takes its place, which may call it
 * with another state, many times or not at all, and change its update.
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
 * The graph with another handler in the place of a node's. What the old one could fail with stays in `E`.
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
 * Checks a graph and prepares it for its runs. Everything that is wrong is in one error.
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
 * As `compile`, for graphs that are constants: throws the `GraphCompileError`.
 *
 * @since 0.1.0
 * @category destructors
 */
export const unsafeCompile = <N extends string, S, I, E, R>(
  graph: StateGraph<N, S, I, E, R>
): Compiled<N, S, I, E, R> => Either.getOrThrowWith(compile(graph), (error) => error)

/**
 * Runs a graph to its end and gives its last state. Interrupting it interrupts the nodes that run. Nodes hold no
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
 * Runs a graph as the events of its nodes, told while they run; the last one is `Finished`. Stopping the stream
 * interrupts the run, and so does a reader that takes longer than `ReaderTimeout`.
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
      GraphRunner.run(compiled[CompiledTypeId], initial, { ...options, onStart: tell, onNode: tell })
    )
    return sink.attended(Effect.tap(run, (state) => tell({ _tag: "Finished", graph: compiled.name, state })))
  })

/**
 * A node that runs another graph to its end, with its own limit of steps. Its nodes' events carry the names of the
 * nodes around them; in a thread it is saved and resumed as part of the run. The parameter of `input` needs its type.
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
 * Waits in a node for a value from outside, under a name that is unique in the node. The node fails with
 * `GraphWaitingError`; in a thread the run stops there once the other nodes of its step have finished, and `resume`
 * gives the value: then the node runs again from its start, and `wait` succeeds. So what a node does before it waits is
 * done again.
 *
 * The value is given encoded, as JSON, and decoded by the schema; one that does not fit is refused, and the wait goes
 * on with a `problem`. `payload`, JSON too, tells whoever is to answer what it is about.
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

/**
 * @since 0.1.0
 * @category models
 */
export interface ThreadOptions<S> extends InvokeOptions<S> {
  /** One run of a thread at a time: the checkpoints of two would mix. */
  readonly threadId: string
  /**
   * Whose the thread is; default the user of the agent's run around it. Only that user finds it again. Without any it
   * is nobody's, and found without a user; the system reaches every thread (`SystemAccess`). A thread of somebody else
   * is not there to be resumed or read; beginning one under its id is a `CheckpointerError` (`taken`).
   */
  readonly userId?: string | undefined
  /** Kept with every checkpoint of this run. */
  readonly metadata?: { readonly [key: string]: Json } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResumeOptions<S> extends ThreadOptions<S> {
  /** Where from; default the last checkpoint. From an earlier one a new line begins, and the old one is kept. */
  readonly checkpointId?: string | undefined
  /** The value that the graph waits for, encoded. */
  readonly value?: unknown
  /** Which wait the value is for, where there are several: its name, or `path/node/name`. */
  readonly wait?: string | undefined
  /**
   * Fields of the state to replace before going on, not through reducers. Nodes that wait run again, subgraphs in them
   * from their start.
   */
  readonly update?: Partial<S> | undefined
}

/**
 * What a run in a thread can fail with besides its nodes' errors.
 *
 * @since 0.1.0
 * @category models
 */
export type ThreadError = GraphStepLimitError | GraphCheckpointError | CheckpointerError

/**
 * A checkpoint of a thread. `next` is empty when the run had ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot<out N extends string, out S> {
  readonly id: string
  readonly parentId?: string | undefined
  /** Super-steps finished. */
  readonly step: number
  readonly state: S
  readonly next: ReadonlyArray<N>
  readonly waiting: ReadonlyArray<Waiting>
  /** Milliseconds since the epoch. */
  readonly at: number
  /** `source` says what put it: `input`, `loop`, `wait`, `resume`, `update` or `fork`. */
  readonly metadata: { readonly [key: string]: Json }
}

/**
 * Runs a graph in a thread: where it stands is saved after every super-step, and after every node of a parallel one, so
 * that `resume` can go on after a crash without running a finished node again. A thread may have had runs before: they
 * stay in its history.
 *
 * @since 0.1.0
 * @category threads
 */
export const invokeThread = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  options: ThreadOptions<NoInfer<S>> & { readonly initial: NoInfer<S> }
): Effect.Effect<S, E | ThreadError, R | Checkpointer> =>
  GraphResume.invoke(compiled[CompiledTypeId], options.initial, options)

/**
 * Goes on with a thread: after a crash, with the value it waits for, with another state, or from a checkpoint of its
 * past. A run that has ended gives its last state again. While it waits and gets no value, it fails with the same
 * `GraphWaitingError`.
 *
 * @since 0.1.0
 * @category threads
 */
export const resume = <N extends string, S, I, E, R>(
  compiled: Compiled<N, S, I, E, R>,
  options: ResumeOptions<NoInfer<S>>
): Effect.Effect<S, E | ThreadError, R | Checkpointer> => GraphResume.resume(compiled[CompiledTypeId], options as any)

/**
 * The checkpoints of a thread, the last one first; empty for a thread that is not known.
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
 * The graph as a Mermaid flowchart, drawn from what runs: branches are labelled edges, joins hexagons, subgraphs boxes.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMermaid = (
  graph: StateGraph<string, any, any, any, any> | Compiled<string, any, any, any, any>
): string => GraphDiagram.mermaid(CompiledTypeId in graph ? graph.graph : graph)
