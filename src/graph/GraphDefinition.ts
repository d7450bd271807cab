/**
 * The types of state graphs: nodes, edges, definitions, compiled graphs.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Pipeable } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type { Choice, Chosen, END, Fields } from "./GraphChoice.js"
import type * as GraphCodec from "./GraphCodec.js"

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
  /** For a node that `send` runs: which one of this node in the step it is, from 0. */
  readonly send?: number | undefined
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
  readonly cache?: CacheOptions<any> | undefined
}

/**
 * A branch by the state: `when` gets the state after the super-step and returns one target or several, all among `to`.
 * `labels` describe when each target is next; the diagram shows them at its edges, and the name of `when` for a target
 * without a label.
 *
 * @since 0.1.0
 * @category models
 */
export interface Branch<in out S, in out To extends string> {
  readonly to: ReadonlyArray<To>
  readonly labels?: { readonly [target: string]: string } | undefined
  readonly when: (state: S) => Choice<S, To>
}

/**
 * The node itself decides, by the update that it returns (`goto`), among the targets of `to`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Decided<out To extends string> {
  readonly to: ReadonlyArray<To>
  readonly labels?: { readonly [target: string]: string } | undefined
  readonly when?: undefined
}

/**
 * What runs after a node: one target, several in parallel, a branch, or what the node decides.
 *
 * @since 0.1.0
 * @category models
 */
export type Edge<S, To extends string> = To | ReadonlyArray<To> | Branch<S, To> | Decided<To>

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
  /** Names it within its super-step: the name of the node, with `#` and a number where `send` runs it. */
  readonly key: string
  readonly sent: Sent | undefined
  readonly run: Handler<any, any, any>
  /** Always the same targets; `undefined` where a branch decides. */
  readonly targets: Targets | undefined
  readonly branch: TaskBranch | undefined
  /** The node runs another graph. */
  readonly nested: boolean
}

/** What `send` gave to a node; `position` counts the runs of this node in the step. */
export interface Sent {
  readonly of: Task
  readonly position: number
  readonly update: Fields
}

/** `joins` are targets that wait for more than this source. */
export interface Targets {
  readonly tasks: ReadonlyArray<Task>
  readonly joins: ReadonlyArray<Task>
}

/** A branch with its targets: by the state, or by what the node returns. */
export interface TaskBranch {
  readonly to: ReadonlyMap<string, Targets>
  readonly when: ((state: any) => Chosen) | undefined
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
 * Stores updates of cached nodes as text. `CacheBackend` of `effect-lexigram/llm` is one.
 *
 * @since 0.1.0
 * @category models
 */
export interface CacheStore {
  readonly get: (key: string) => Effect.Effect<Option.Option<string>, unknown>
  readonly set: (
    key: string,
    value: string,
    options?: { readonly ttl?: Duration.DurationInput | undefined } | undefined
  ) => Effect.Effect<void, unknown>
}

/**
 * A cached node returns the update of an earlier run with the same key, whoever's run it was. Failures are not cached,
 * and a store that fails is as good as none.
 *
 * @since 0.1.0
 * @category models
 */
export interface CacheOptions<in S> {
  /** What the update depends on, as JSON; default the whole state as the node sees it. */
  readonly key?: ((state: S) => unknown) | undefined
  /** How long an update is used; default without end. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Default: this process, for each compiled graph. */
  readonly store?: CacheStore | undefined
  /** The most updates kept in this process; default 256. */
  readonly capacity?: number | undefined
}
