/**
 * The port that stores checkpoints of graph runs: rows of strings and JSON, without the types of a graph.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import { CheckpointerError, type Waiting } from "./GraphError.js"

/**
 * What JSON can hold.
 *
 * @since 0.1.0
 * @category models
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/**
 * The update of one node, encoded: pairs of a field and its value. The last pair may have the empty name, and where the
 * node went.
 *
 * @since 0.1.0
 * @category models
 */
export type Writes = ReadonlyArray<readonly [field: string, value: Json]>

/**
 * The update that a node of a super-step wrote.
 *
 * @since 0.1.0
 * @category models
 */
export interface NodeWrites {
  readonly node: string
  readonly writes: Writes
}

/**
 * A run of a node with fields of its own (`StateGraph.send`); `next` has its key.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sending {
  readonly key: string
  readonly node: string
  /** Counts the runs of this node in the step, from 0. */
  readonly position: number
  readonly writes: Writes
}

/**
 * A value given to a wait: `path` are the nodes that lead to its subgraph, from the outside in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly path: ReadonlyArray<string>
  readonly node: string
  readonly name: string
  readonly value: Json
}

/**
 * The position of a subgraph when the graph around it stopped to wait; `call` counts the subgraphs that one run of the
 * node has run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pin {
  readonly node: string
  readonly call: number
  readonly namespace: string
  readonly id: string
}

/**
 * The position of a run between two super-steps, or within one that waits.
 *
 * @since 0.1.0
 * @category models
 */
export interface Checkpoint {
  readonly threadId: string
  /** `""` for the graph of the thread; each run of a subgraph has its own. */
  readonly namespace: string
  /** Unique in its thread. */
  readonly id: string
  /** The checkpoint before it; absent for the first. */
  readonly parentId?: string | undefined
  /** Super-steps finished. */
  readonly step: number
  /** Encoded by the schema of the state. */
  readonly state: Json
  /** Nodes of the next super-step, or of the current one. None: the run has ended. */
  readonly next: ReadonlyArray<string>
  /** Nodes of `next` that run with fields of their own, if any. */
  readonly sends?: ReadonlyArray<Sending> | undefined
  /** Joins that some of their sources have reached. */
  readonly reached: ReadonlyArray<{ readonly node: string; readonly sources: ReadonlyArray<string> }>
  /** Nodes of `next` that have finished while others wait. */
  readonly finished: ReadonlyArray<NodeWrites>
  readonly waiting: ReadonlyArray<Waiting>
  readonly answers: ReadonlyArray<Answer>
  readonly pins: ReadonlyArray<Pin>
  /** Milliseconds since the epoch. */
  readonly at: number
  /** `source`, `graph`, and what the caller adds. */
  readonly metadata: { readonly [key: string]: Json }
}

/**
 * A checkpoint with the writes of nodes that have finished since.
 *
 * @since 0.1.0
 * @category models
 */
export interface Saved {
  readonly checkpoint: Checkpoint
  readonly writes: ReadonlyArray<NodeWrites>
}

/**
 * The caller. Without `userId` the caller reaches only threads without a user, unless it acts for the system
 * (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface GetOptions extends Access {
  /** Default `""`, the graph of the thread. */
  readonly namespace?: string | undefined
  /** Default: the last checkpoint of the namespace. */
  readonly id?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions extends Access {
  /** Default `""`, the graph of the thread. */
  readonly namespace?: string | undefined
  /** The most checkpoints returned; default all. */
  readonly limit?: number | undefined
  /** Only checkpoints before this one; none for an unknown id. */
  readonly before?: string | undefined
  /** Only checkpoints whose metadata has these entries. */
  readonly filter?: { readonly [key: string]: Json } | undefined
}

/**
 * A thread belongs to the user who put its first checkpoint, or to nobody. Other users do not find it, and its id is
 * taken.
 *
 * Ids and names are compared exactly, whatever characters they have. Checkpoints never change; their order is the order
 * in which they were put.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Appends a checkpoint to its thread. A checkpoint whose id the thread already has changes nothing. A thread of
   * another user is left alone: that is a `CheckpointerError` (`taken`).
   */
  readonly put: (checkpoint: Checkpoint, access?: Access | undefined) => Effect.Effect<void, CheckpointerError>
  /**
   * Adds the writes of a node to a checkpoint. Only the first writes of a node count. Writes of an unknown checkpoint
   * are dropped.
   */
  readonly putWrites: (
    threadId: string,
    checkpointId: string,
    node: string,
    writes: Writes,
    access?: Access | undefined
  ) => Effect.Effect<void, CheckpointerError>
  /** The last checkpoint of a namespace (default `""`), or the one with this id. `None` when there is none. */
  readonly get: (
    threadId: string,
    options?: GetOptions | undefined
  ) => Effect.Effect<Option.Option<Saved>, CheckpointerError>
  /** The newest first; empty for an unknown thread. */
  readonly list: (
    threadId: string,
    options?: ListOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Checkpoint>, CheckpointerError>
  /** Removes a thread with all its namespaces. Succeeds when there is none. */
  readonly deleteThread: (threadId: string, access?: Access | undefined) => Effect.Effect<void, CheckpointerError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Checkpointer extends Context.Tag("effect-lexigram/graph/Checkpointer")<Checkpointer, Service>() {}

/**
 * The service for one caller, with the access that `held` gives: every call is made as that user.
 *
 * @since 0.1.0
 * @category combinators
 */
export const as =
  (userId: string | undefined, held: SystemAccess.Held) =>
  (self: Service): Service => {
    const asCaller = SystemAccess.holding(held)
    return {
      put: (checkpoint) => asCaller(self.put(checkpoint, { userId })),
      putWrites: (threadId, checkpointId, node, writes) =>
        asCaller(self.putWrites(threadId, checkpointId, node, writes, { userId })),
      get: (threadId, options) => asCaller(self.get(threadId, { ...options, userId })),
      list: (threadId, options) => asCaller(self.list(threadId, { ...options, userId })),
      deleteThread: (threadId) => asCaller(self.deleteThread(threadId, { userId }))
    }
  }

/**
 * The error of a `put` into a thread of another user.
 *
 * @since 0.1.0
 * @category constructors
 */
export const taken = (): CheckpointerError =>
  new CheckpointerError({
    message: "The thread belongs to another user",
    hint: "Start a thread with another id, or name its user",
    operation: "put",
    reason: "taken"
  })

/**
 * Stores nothing: for runs whose checkpoints are kept elsewhere, or nowhere.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Checkpointer> = Layer.succeed(Checkpointer, {
  put: () => Effect.void,
  putWrites: () => Effect.void,
  get: () => Effect.succeed(Option.none()),
  list: () => Effect.succeed([]),
  deleteThread: () => Effect.void
})

interface Row {
  readonly namespace: string
  readonly id: string
  /** Stored as text, so that results share no object with the caller. */
  readonly text: string
  readonly writes: Map<string, string>
}

interface Thread {
  readonly userId: string | undefined
  readonly rows: Array<Row>
  readonly byId: Map<string, number>
}

const read = (row: Row): Checkpoint => JSON.parse(row.text) as Checkpoint

const has = (metadata: Checkpoint["metadata"], filter: NonNullable<ListOptions["filter"]>): boolean =>
  Object.keys(filter).every(
    (key) =>
      Object.hasOwn(metadata, key) && CanonicalJson.stringify(metadata[key]) === CanonicalJson.stringify(filter[key])
  )

/**
 * Keeps the newest threads in memory.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: {
  /** The most threads kept; the oldest is dropped first. Default 1,000. */
  readonly maxThreads?: number | undefined
}): Service => {
  const maxThreads = Math.max(1, options?.maxThreads ?? 1000)
  const threads = new Map<string, Thread>()
  const begin = (threadId: string, access: Access | undefined): Thread => {
    const thread: Thread = { userId: access?.userId, rows: [], byId: new Map() }
    threads.set(threadId, thread)
    if (threads.size > maxThreads) threads.delete(threads.keys().next().value as string)
    return thread
  }
  /** The thread, if the caller may see it. */
  const using = <A>(threadId: string, access: Access | undefined, use: (thread: Thread | undefined) => A) =>
    Effect.map(SystemAccess.held, (held) => {
      const thread = threads.get(threadId)
      return use(thread !== undefined && SystemAccess.allows(held, access?.userId, thread.userId) ? thread : undefined)
    })
  return {
    put: (checkpoint, access) =>
      Effect.flatMap(
        using(checkpoint.threadId, access, (found) => {
          if (found === undefined && threads.has(checkpoint.threadId)) return taken()
          const thread = found ?? begin(checkpoint.threadId, access)
          if (thread.byId.has(checkpoint.id)) return undefined
          thread.byId.set(checkpoint.id, thread.rows.length)
          const { id, namespace } = checkpoint
          thread.rows.push({ namespace, id, text: JSON.stringify(checkpoint), writes: new Map() })
          return undefined
        }),
        (refused) => refused ?? Effect.void
      ),
    putWrites: (threadId, checkpointId, node, writes, access) =>
      using(threadId, access, (thread) => {
        const row = thread?.rows[thread.byId.get(checkpointId) ?? -1]
        if (row !== undefined && !row.writes.has(node)) row.writes.set(node, JSON.stringify(writes))
      }),
    get: (threadId, getOptions) =>
      using(threadId, getOptions, (thread) => {
        const namespace = getOptions?.namespace ?? ""
        const id = getOptions?.id
        const row =
          id === undefined
            ? thread?.rows.findLast((row) => row.namespace === namespace)
            : thread?.rows[thread.byId.get(id) ?? -1]
        if (row === undefined || row.namespace !== namespace) return Option.none()
        const writes = Array.from(row.writes, ([node, text]): NodeWrites => ({ node, writes: JSON.parse(text) }))
        return Option.some({ checkpoint: read(row), writes })
      }),
    list: (threadId, listOptions) =>
      using(threadId, listOptions, (thread) => {
        const found: Array<Checkpoint> = []
        if (thread === undefined) return found
        const { before, filter } = listOptions ?? {}
        const limit = listOptions?.limit ?? Number.POSITIVE_INFINITY
        const namespace = listOptions?.namespace ?? ""
        const end = before === undefined ? thread.rows.length : (thread.byId.get(before) ?? 0)
        for (let i = end - 1; i >= 0 && found.length < limit; i--) {
          const row = thread.rows[i] as Row
          if (row.namespace !== namespace) continue
          const checkpoint = read(row)
          if (filter === undefined || has(checkpoint.metadata, filter)) found.push(checkpoint)
        }
        return found
      }),
    deleteThread: (threadId, access) =>
      using(threadId, access, (thread) => {
        if (thread !== undefined) threads.delete(threadId)
      })
  }
}

/**
 * Keeps the newest threads in memory, by default 1,000.
 *
 * @example
 * ```ts
 * import { Checkpointer, StateGraph } from "effect-lexigram/graph"
 * import * as Effect from "effect/Effect"
 *
 * const essay = <S, E>(compiled: StateGraph.Compiled<string, S, unknown, E, never>, initial: S) =>
 *   StateGraph.invokeThread(compiled, { threadId: "essay-7", initial }).pipe(
 *     Effect.provide(Checkpointer.layerMemory({ maxThreads: 100 }))
 *   )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: { readonly maxThreads?: number | undefined }): Layer.Layer<Checkpointer> =>
  Layer.sync(Checkpointer, () => makeMemory(options))
