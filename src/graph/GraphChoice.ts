/**
 * Where a node leads: to nodes, to the end, or to runs of nodes with fields of their own.
 *
 * @private
 * @since 0.1.0
 */

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
 * One run of a node with fields of its own: the node sees the state with `update` in place of these fields, which
 * changes the state for no other node.
 *
 * @since 0.1.0
 * @category models
 */
export interface Send<out N extends string, out U> {
  readonly _tag: "Send"
  readonly node: N
  readonly update: U
}

/**
 * The target of a node or several in parallel. An empty list ends the branch.
 *
 * @since 0.1.0
 * @category models
 */
export type Choice<S, To extends string> =
  | To
  | Send<Exclude<To, END>, Partial<S>>
  | ReadonlyArray<To | Send<Exclude<To, END>, Partial<S>>>

/**
 * @since 0.1.0
 * @category symbols
 */
export const GotoTypeId: unique symbol = Symbol.for("effect-lexigram/graph/StateGraph/Goto")
/**
 * @since 0.1.0
 * @category symbols
 */
export type GotoTypeId = typeof GotoTypeId

/** Targets as code returns them: `Choice` without its types. */
export type Chosen = string | Send<string, Fields> | ReadonlyArray<string | Send<string, Fields>>

/** A state or an update without its types. */
export type Fields = { readonly [field: string]: unknown }
