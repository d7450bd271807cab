/**
 * The types of state graphs: nodes, edges, definitions, compiled graphs, events and options.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Pipeable } from "effect/Pipeable"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import type { Json } from "./Checkpointer.js"
import type * as GraphCodec from "./GraphCodec.js"
import type { CheckpointerError, GraphCheckpointError, GraphStepLimitError, Waiting } from "./GraphError.js"

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
 * The position at which a node runs.
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
 * The function of a node: from the state to the fields that change. It must not mutate the state; an update is visible
 * from the next super-step on.
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
 * A handler and its subgraph, if it runs one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Node<in out S, out E = never, out R = never> {
  readonly [NodeTypeId]: NodeTypeId
  readonly run: Handler<S, E, R>
  /** The graph that the node runs. */
  readonly subgraph?: Compiled<string, any, any, any, any> | undefined
}

/**
 * A branch by the state: `when` gets the state after the super-step and returns one target or several, all among `to`.
 * `labels` describe when each target is next; the diagram shows them at its edges, and the name of `when` for a target
 * without a label.
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
  /** Nodes that were wrapped or replaced but do not exist; `compile` reports them. */
  readonly unknown: ReadonlyArray<string>
}

/** A node as it runs. `index` is its position in the order of declaration. */
export interface Task {
  readonly index: number
  readonly name: string
  readonly run: Handler<any, any, any>
  /** Always the same targets; `undefined` where a branch decides. */
  readonly targets: Targets | undefined
  readonly branch: TaskBranch | undefined
  /** The node runs another graph. */
  readonly nested: boolean
}

/** `joins` are targets that wait for more than this source. */
export interface Targets {
  readonly tasks: ReadonlyArray<Task>
  readonly joins: ReadonlyArray<Task>
}

/** A branch by the state, with its targets. */
export interface TaskBranch {
  readonly to: ReadonlyMap<string, Targets>
  readonly when: (state: any) => string | ReadonlyArray<string>
}

export interface Tables {
  readonly name: string
  readonly tasks: ReadonlyMap<string, Task>
  readonly start: Task
  readonly fields: ReadonlySet<string>
  readonly reducers: ReadonlyMap<string, (current: any, update: any) => any>
  /** The sources that each join waits for. */
  readonly joins: ReadonlyMap<Task, ReadonlySet<Task>>
  /** Some node runs another graph. */
  readonly nested: boolean
  readonly codec: GraphCodec.Codec
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
 * A checked graph, ready to run. Compile it once; runs share it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Compiled<out N extends string, in out S, in out I, out E = never, out R = never> {
  readonly [CompiledTypeId]: Tables
  readonly name: string
  readonly graph: StateGraph<N, S, I, E, R>
}

/**
 * A node started.
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
 * A node finished; `update` is its result. A node of a subgraph has a `path`, and an update of the state of that graph.
 *
 * @since 0.1.0
 * @category models
 */
export type NodeFinished<S> = NodeContext & { readonly _tag: "NodeFinished" } & (
    | { readonly path?: undefined; readonly update: Partial<S> }
    | { readonly path: ReadonlyArray<string>; readonly update: { readonly [field: string]: unknown } }
  )

/**
 * A run ended in this state.
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
  /** The most super-steps; default 100. */
  readonly maxSteps?: number | undefined
  /** Concurrent nodes of one super-step; default all. */
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
 * When a failed node is retried.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryOptions<in E, out R = never> {
  /** The most retries. */
  readonly times?: number | undefined
  /** The waits between retries; default none. */
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
 * A node given by its parts.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeParts<in out S> extends NodeOptions<any, any> {
  readonly [NodeTypeId]?: undefined
  readonly run: Handler<S, any, any>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ThreadOptions<S> extends InvokeOptions<S> {
  /** A thread has one run at a time: the checkpoints of two would mix. */
  readonly threadId: string
  /**
   * The user of the thread; default the user of the surrounding agent run. Only that user finds the thread. A thread
   * without a user is found without one; the system reaches every thread (`SystemAccess`). A thread of another user
   * cannot be resumed or read; starting one under its id is a `CheckpointerError` (`taken`).
   */
  readonly userId?: string | undefined
  /** Stored with every checkpoint of this run. */
  readonly metadata?: { readonly [key: string]: Json } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResumeOptions<S> extends ThreadOptions<S> {
  /**
   * The checkpoint to resume from; default the last one. An earlier one starts a new line, and the old line is kept.
   */
  readonly checkpointId?: string | undefined
  /** The value that the graph waits for, encoded. */
  readonly value?: unknown
  /** The wait that the value is for, where there are several: its name, or `path/node/name`. */
  readonly wait?: string | undefined
  /**
   * Fields of the state to replace before the run goes on, without reducers. Waiting nodes run again, and subgraphs in
   * them from their start.
   */
  readonly update?: Partial<S> | undefined
}

/**
 * Errors of a run in a thread besides those of its nodes.
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
  /** `source` says what created it: `input`, `loop`, `wait`, `resume`, `update` or `fork`. */
  readonly metadata: { readonly [key: string]: Json }
}
