/**
 * The port that stores checkpoints of graph runs: rows of strings and JSON, without the types of a graph.
 *
 * @since 0.1.0
 */
export * as Checkpointer from "./Checkpointer.js"

/**
 * Errors of graphs.
 *
 * @since 0.1.0
 */
export * as GraphError from "./GraphError.js"

/**
 * Typed state graphs: nodes are Effects that return updates of one state, edges decide what runs next.
 *
 * @since 0.1.0
 */
export * as StateGraph from "./StateGraph.js"
