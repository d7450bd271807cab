/**
 * How graphs fail.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * One thing that is wrong with the definition of a graph; `message` says what to do.
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
  /** The node it is about, where it is about one. */
  node: Schema.optional(Schema.String),
  message: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export type GraphIssue = typeof GraphIssue.Type

/**
 * A graph cannot be run as it is defined: everything that is wrong with it.
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
 * A run took as many super-steps as it may without reaching its end.
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
  /** What would have run next. */
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
  /** Empty where a node waits that runs in no thread. */
  node: Schema.String,
  /** The nodes that lead to the subgraph it is in, from the outside in. */
  path: Schema.Array(Schema.String),
  /** What the wait tells whoever is to answer. */
  payload: Schema.optional(Schema.Unknown),
  /** Why the value that was given was refused. */
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
  /** Where it waits; absent outside of a thread: there is nothing to resume then. */
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
 * Checkpoints could not be written or read: the store failed, or (`taken`) the thread is somebody else's.
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
 * A bug in a graph or in one of its nodes: an update that is none, two writes of one field at once, a branch to an
 * undeclared target. Never in the error channel: a defect.
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
 * Any failure of a graph itself (family code `LEX_ERR_GRAPH_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const GraphError = Schema.Union(
  GraphCompileError,
  GraphStepLimitError,
  GraphNodeTimeoutError,
  GraphWaitingError,
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
export const isGraphError: (u: unknown) => u is GraphError = Schema.is(GraphError)
