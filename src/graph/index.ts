/**
 * The port that keeps where the runs of graphs stand: rows of strings and JSON, of no graph's types.
 *
 * @since 0.1.0
 */
export * as Checkpointer from "./Checkpointer.js"

/**
 * How graphs fail.
 *
 * @since 0.1.0
 */
export * as GraphError from "./GraphError.js"

/**
 * Typed state graphs: nodes are Effects that return updates of one state, edges say what runs next.
 *
 * @since 0.1.0
 */
export * as StateGraph from "./StateGraph.js"
