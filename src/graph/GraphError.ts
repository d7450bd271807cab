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
export class GraphCompileError extends Schema.TaggedError<GraphCompileError>(
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
export class GraphStepLimitError extends Schema.TaggedError<GraphStepLimitError>(
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
export class GraphNodeTimeoutError extends Schema.TaggedError<GraphNodeTimeoutError>(
  "effect-lexigram/graph/GraphError/GraphNodeTimeoutError"
)("GraphNodeTimeoutError", {
  ...ErrorCode.fields("LEX_ERR_GRAPH_102"),
  graph: Schema.String,
  node: Schema.String,
  timeoutMs: Schema.Number
}) {}

/**
 * A bug in a graph or in one of its nodes: an update that is none, two writes of one field at once, a branch to an undeclared target.
 * Never in the error channel: a defect.
 *
 * @since 0.1.0
 * @category errors
 */
export class GraphDefectError extends Schema.TaggedError<GraphDefectError>(
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
export const GraphError = Schema.Union(GraphCompileError, GraphStepLimitError, GraphNodeTimeoutError)
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
