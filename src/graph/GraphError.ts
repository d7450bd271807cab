/**
 * Errors of graphs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * One fault in the definition of a graph; `message` says what to do.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GraphIssue = Schema.Struct({
  reason: Schema.Literal(
    "reserved-name",
    "state",
    "missing-start",
    "missing-edge",
    "unknown-node",
    "no-target",
    "unreachable",
    "endless",
    "join",
    "unknown-field"
  ),
  /** The node concerned, if any. */
  node: Schema.optional(Schema.String),
  message: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export type GraphIssue = typeof GraphIssue.Type

/**
 * The definition of a graph is invalid; lists every fault.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphCompileError extends ErrorCode.TaggedError<GraphCompileError>(
  "effect-lexigram/graph/GraphError/GraphCompileError"
)("GraphCompileError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_100"),
  graph: Schema.String,
  issues: Schema.Array(GraphIssue)
}) {}

/**
 * A run reached its limit of super-steps before its end.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphStepLimitError extends ErrorCode.TaggedError<GraphStepLimitError>(
  "effect-lexigram/graph/GraphError/GraphStepLimitError"
)("GraphStepLimitError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_101"),
  graph: Schema.String,
  limit: Schema.Number,
  /** The nodes that would have run next. */
  nodes: Schema.Array(Schema.String),
  /** The state reached, not encoded. */
  state: Schema.Unknown
}) {}

/**
 * A node took longer than its `timeout`; it was interrupted.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphNodeTimeoutError extends ErrorCode.TaggedError<GraphNodeTimeoutError>(
  "effect-lexigram/graph/GraphError/GraphNodeTimeoutError"
)("GraphNodeTimeoutError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_102"),
  graph: Schema.String,
  node: Schema.String,
  timeoutMs: Schema.Number
}) {}

/**
 * A wait for a value from outside.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Waiting = Schema.Struct({
  name: Schema.String,
  /** Empty for a node outside a thread. */
  node: Schema.String,
  /** The nodes that lead to the subgraph it is in, from the outside in. */
  path: Schema.Array(Schema.String),
  /** Describes the wait to the person or system that answers. */
  payload: Schema.optional(Schema.Unknown),
  /** Why the given value was rejected. */
  problem: Schema.optional(Schema.String)
})
/**
 * @since 0.1.0
 * @category models
 */
export type Waiting = typeof Waiting.Type

/**
 * A graph waits for values from outside: `StateGraph.resume` gives them.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphWaitingError extends ErrorCode.TaggedError<GraphWaitingError>(
  "effect-lexigram/graph/GraphError/GraphWaitingError"
)("GraphWaitingError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_103"),
  waiting: Schema.Array(Waiting),
  /** The waiting thread; absent outside a thread, where nothing can be resumed. */
  threadId: Schema.optional(Schema.String),
  checkpointId: Schema.optional(Schema.String)
}) {}

/**
 * A thread cannot be saved, resumed or read.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphCheckpointError extends ErrorCode.TaggedError<GraphCheckpointError>(
  "effect-lexigram/graph/GraphError/GraphCheckpointError"
)("GraphCheckpointError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_104"),
  reason: Schema.Literal(
    "unknown-thread",
    "unknown-checkpoint",
    "changed-graph",
    "state",
    "encoding",
    "not-waiting",
    "ambiguous"
  ),
  graph: Schema.String,
  threadId: Schema.String,
  checkpointId: Schema.optional(Schema.String)
}) {}

/**
 * Checkpoints could not be written or read: the store failed, or (`taken`) the thread belongs to another user.
 *
 * @since 0.1.0
 * @category errors
 */
export class CheckpointerError extends ErrorCode.TaggedError<CheckpointerError>(
  "effect-lexigram/graph/GraphError/CheckpointerError"
)("CheckpointerError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_105"),
  operation: Schema.Literal("put", "putWrites", "get", "list", "deleteThread"),
  reason: Schema.optional(Schema.Literal("taken"))
}) {}

/**
 * A bug in a graph or in one of its nodes: an invalid update, two parallel writes of one field, a branch to an
 * undeclared target. Always a defect, never in the error channel.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphDefectError extends ErrorCode.TaggedError<GraphDefectError>(
  "effect-lexigram/graph/GraphError/GraphDefectError"
)("GraphDefectError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_106"),
  graph: Schema.String,
  node: Schema.String
}) {}

/**
 * A run in a thread paused at breakpoints: `StateGraph.resume` goes on, with another state if wanted.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphBreakpointError extends ErrorCode.TaggedError<GraphBreakpointError>(
  "effect-lexigram/graph/GraphError/GraphBreakpointError"
)("GraphBreakpointError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_107"),
  graph: Schema.String,
  /** Nodes that run next. */
  before: Schema.Array(Schema.String),
  /** Nodes that have just run. */
  after: Schema.Array(Schema.String),
  threadId: Schema.String,
  checkpointId: Schema.String
}) {}

/**
 * Any failure of a graph itself (family code `LEX_ERR_GRAPH_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const GraphError = ErrorCode.Union(
  GraphCompileError,
  GraphStepLimitError,
  GraphNodeTimeoutError,
  GraphWaitingError,
  GraphBreakpointError,
  GraphCheckpointError,
  CheckpointerError
)
/**
 * @since 0.1.0
 * @category models
 */
export type GraphError = typeof GraphError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isGraphError: (u: unknown) => u is GraphError = ErrorCode.is(GraphError)
