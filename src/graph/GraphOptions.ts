/**
 * The types of runs of graphs: events, options of runs, nodes and threads, checkpoints.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { Json } from "./Checkpointer.js"
import type { CacheOptions, Handler, NodeContext, NodeTypeId } from "./GraphDefinition.js"
import type {
  CheckpointerError,
  GraphBreakpointError,
  GraphCheckpointError,
  GraphStepLimitError,
  Waiting
} from "./GraphError.js"

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
 * A value that a node emitted while it ran (`StateGraph.emit`).
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeEmitted extends NodeContext {
  readonly _tag: "NodeEmitted"
  readonly value: unknown
  /** As in `NodeStarted`. */
  readonly path?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type GraphEvent<S> = NodeStarted | NodeEmitted | NodeFinished<S> | Finished<S>

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
  /** Called when a node emits a value; `emit` waits for it. */
  readonly onEmit?: ((emitted: NodeEmitted) => Effect.Effect<void>) | undefined
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
export interface NodeOptions<in E, out R = never, in S = any> {
  /** For each run of the handler. */
  readonly timeout?: Duration.DurationInput | undefined
  readonly retry?: Schedule.Schedule<unknown, E, R> | RetryOptions<E, R> | undefined
  readonly cache?: CacheOptions<S> | undefined
}

/**
 * A node given by its parts.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeParts<in out S> extends NodeOptions<any, any, S> {
  readonly [NodeTypeId]?: undefined
  readonly run: Handler<S, any, any>
}

/**
 * Nodes of the graph at which a run in a thread pauses: `before` they run, or `after` the super-step in which they ran.
 * Nodes of subgraphs have none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Breakpoints<out N extends string> {
  readonly before?: ReadonlyArray<N> | "all" | undefined
  readonly after?: ReadonlyArray<N> | "all" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ThreadOptions<S, N extends string = string> extends InvokeOptions<S> {
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
  /** Where this run pauses with `GraphBreakpointError`; `resume` goes on behind it. */
  readonly breakpoints?: Breakpoints<N> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResumeOptions<S, N extends string = string> extends ThreadOptions<S, N> {
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
export type ThreadError = GraphStepLimitError | GraphBreakpointError | GraphCheckpointError | CheckpointerError

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
  /** `source` says what created it: `input`, `loop`, `wait`, `pause`, `resume`, `update` or `fork`. */
  readonly metadata: { readonly [key: string]: Json }
}
