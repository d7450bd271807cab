/**
 * Positions in a thread: decodes checkpoints of a graph, and writes those that answer, fork or update it.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as IdGenerator from "../domain/IdGenerator.js"
import type { Answer, Checkpoint, Json, NodeWrites, Saved, Sending, Service, Writes } from "./Checkpointer.js"
import type { Tables, Task } from "./GraphDefinition.js"
import { GraphCheckpointError, type Waiting } from "./GraphError.js"
import type { Breakpoints } from "./GraphOptions.js"
import * as GraphRoute from "./GraphRoute.js"
import type * as GraphRunner from "./GraphRunner.js"

type Run<A> = Effect.Effect<A, any, any>

/** A thread of one graph. */
export interface Thread {
  readonly checkpointer: Service
  readonly threadId: string
  readonly namespace: string
  readonly metadata: { readonly [key: string]: Json }
  readonly options: GraphRunner.Options
  readonly breakpoints?: Breakpoints<string> | undefined
}

export type Source = "input" | "loop" | "wait" | "pause" | "resume" | "update" | "fork"

/** A decoded checkpoint. */
export interface Position {
  readonly checkpoint: Checkpoint
  readonly state: any
  readonly next: ReadonlyArray<Task>
  readonly reached: GraphRoute.Reached
  readonly finished: ReadonlyMap<Task, Finished>
}

export interface Finished {
  readonly update: any
  readonly writes: Writes
}

type Reason = GraphCheckpointError["reason"]

export const checkpointError = (
  reason: Reason,
  graph: string,
  threadId: string,
  checkpointId: string | undefined,
  message: string,
  hint?: string | undefined
): GraphCheckpointError =>
  new GraphCheckpointError({
    message,
    ...(hint === undefined ? {} : { hint }),
    reason,
    graph,
    threadId,
    ...(checkpointId === undefined ? {} : { checkpointId })
  })

/** Error of a state that cannot be saved. */
export const notEncoded = (tables: Tables, thread: Thread) => (problem: string) =>
  checkpointError(
    "encoding",
    tables.name,
    thread.threadId,
    undefined,
    `The state of graph "${tables.name}" cannot be saved: ${problem}`,
    "Nodes must follow the schema of the state, and its encoded form must be JSON"
  )

/** Fields that change from one checkpoint to the next. */
type Changes = Partial<Omit<Checkpoint, "threadId" | "namespace" | "id" | "at" | "metadata" | "state">>

/** The state and what is sent to nodes of the next step. */
const encoded = (tables: Tables, { next, state }: Pick<Position, "next" | "state">) =>
  Effect.zip(
    tables.codec.encode(state),
    Effect.forEach(
      next.flatMap(({ key, sent }) => (sent === undefined ? [] : [{ key, sent }])),
      ({ key, sent }) =>
        Effect.map(
          tables.codec.encodeUpdate(state, sent.update),
          (writes): Sending => ({ key, node: sent.of.name, position: sent.position, writes })
        )
    )
  )

/**
 * Writes a checkpoint and returns its position. `parent` is the previous checkpoint; `changes` are the fields that
 * differ.
 */
export const put = (
  tables: Tables,
  thread: Thread,
  source: Source,
  parent: Checkpoint | undefined,
  position: Omit<Position, "checkpoint">,
  changes: Changes
): Run<Position> =>
  Effect.flatMap(Effect.mapError(encoded(tables, position), notEncoded(tables, thread)), ([state, sends]) =>
    Effect.flatMap(IdGenerator.generate, (id) =>
      Effect.clockWith((clock) => {
        const checkpoint: Checkpoint = {
          ...(parent === undefined ? {} : { parentId: parent.id }),
          ...(sends.length === 0 ? {} : { sends }),
          step: parent?.step ?? 0,
          finished: Array.from(position.finished, ([task, { writes }]): NodeWrites => ({ node: task.key, writes })),
          waiting: [],
          answers: [],
          pins: [],
          ...changes,
          threadId: thread.threadId,
          namespace: thread.namespace,
          id,
          state,
          next: position.next.map((task) => task.key),
          reached: Array.from(position.reached, ([join, sources]) => ({
            node: join.name,
            sources: Array.from(sources, (task) => task.name)
          })),
          at: clock.unsafeCurrentTimeMillis(),
          metadata: { ...thread.metadata, source, graph: tables.name }
        }
        return Effect.as(thread.checkpointer.put(checkpoint), { ...position, checkpoint })
      })
    )
  )

/** Before any node of the step has finished. */
export const noneFinished: ReadonlyMap<Task, Finished> = new Map()

/** Begins a run with a checkpoint before its first node. */
export const begin = (tables: Tables, thread: Thread, initial: any, parent: Checkpoint | undefined): Run<Position> =>
  put(
    tables,
    thread,
    "input",
    parent,
    { state: initial, ...GraphRoute.begin(tables), finished: noneFinished },
    { step: 0 }
  )

/** Decodes a checkpoint of this graph, or fails with the reason. */
export const restore = (tables: Tables, saved: Saved): Effect.Effect<Position, GraphCheckpointError> => {
  const { checkpoint, writes } = saved
  const fail = (reason: Reason, message: string, hint?: string | undefined) =>
    checkpointError(reason, tables.name, checkpoint.threadId, checkpoint.id, message, hint)
  const bad = (problem: string) =>
    fail("state", `The checkpoint does not match the state of graph "${tables.name}": ${problem}`)
  return Effect.flatMap(Effect.mapError(sentTasks(tables, checkpoint), bad), (sent) => {
    const gone = new Set<string>()
    const task = (key: string): Task => {
      const found = tables.tasks.get(key) ?? sent.get(key)
      if (found === undefined) gone.add(key)
      return found as Task
    }
    const finished = [...checkpoint.finished, ...writes]
    const next = checkpoint.next.map(task)
    const reached = new Map(checkpoint.reached.map(({ node, sources }) => [task(node), new Set(sources.map(task))]))
    const done = finished.map(({ node }) => task(node))
    const graph = checkpoint.metadata["graph"]
    if (graph !== tables.name) {
      return fail("changed-graph", `The checkpoint belongs to graph ${JSON.stringify(graph)}, not to "${tables.name}"`)
    }
    if (gone.size > 0 || [...reached.keys()].some((join) => !tables.joins.has(join))) {
      const names = gone.size === 0 ? "a join" : `the nodes ${JSON.stringify([...gone])}`
      return fail("changed-graph", `The checkpoint needs ${names}, which graph "${tables.name}" no longer has`)
    }
    return Effect.mapError(
      Effect.flatMap(tables.codec.decode(checkpoint.state), (state) =>
        Effect.map(
          Effect.forEach(finished, (one) => tables.codec.decodeUpdate(one.writes)),
          (updates) => ({
            checkpoint,
            state,
            next,
            reached,
            finished: new Map(
              updates.map((update, i) => [done[i] as Task, { update, writes: (finished[i] as NodeWrites).writes }])
            )
          })
        )
      ),
      bad
    )
  })
}

/** The tasks that `send` runs, by key. */
const sentTasks = (tables: Tables, { sends = [] }: Checkpoint): Effect.Effect<ReadonlyMap<string, Task>, string> =>
  Effect.map(
    Effect.forEach(sends, ({ node, position, writes }) =>
      Effect.map(tables.codec.decodeUpdate(writes), (update) => {
        const of = tables.tasks.get(node)
        return of === undefined ? [] : [GraphRoute.send(of, position, update)]
      })
    ),
    (tasks) => new Map(tasks.flat().map((task) => [task.key, task]))
  )

/** The task of this graph that contains a wait or an answer, by its key. */
export const topOf = (one: { readonly path: ReadonlyArray<string>; readonly node: string }): string =>
  one.path[0] ?? one.node

/** True if an answer is for a wait. */
export const isAnswerTo = (a: Waiting, b: Answer): boolean =>
  a.name === b.name && a.node === b.node && a.path.length === b.path.length && a.path.every((n, i) => n === b.path[i])

/** Gives values to waits, in a checkpoint of its own, so that an accepted value is never lost. */
export const answer = (
  tables: Tables,
  thread: Thread,
  position: Position,
  answers: ReadonlyArray<Answer>
): Run<Position> => {
  const { checkpoint } = position
  const taken = answers.filter((given) => checkpoint.waiting.some((waiting) => isAnswerTo(waiting, given)))
  if (taken.length === 0) return Effect.succeed(position)
  const due = new Set(taken.map(topOf))
  return put(tables, thread, "resume", checkpoint, position, {
    ...waitFields(checkpoint),
    waiting: checkpoint.waiting.filter((waiting) => !due.has(topOf(waiting))),
    answers: [...checkpoint.answers, ...taken]
  })
}

/** Writes the same position as a checkpoint at which the run paused. */
export const pause = (tables: Tables, thread: Thread, position: Position): Run<Position> =>
  put(tables, thread, "pause", position.checkpoint, position, waitFields(position.checkpoint))

/** True if a run that goes on from a checkpoint is behind the breakpoints of its step. */
export const isWithinStep = ({ metadata }: Checkpoint): boolean =>
  ["pause", "wait", "resume"].includes(metadata["source"] as string)

const waitFields = ({ answers, pins, waiting }: Checkpoint) => ({ answers, pins, waiting })

/** Writes the same position as a new checkpoint, from which another line continues. */
export const fork = (tables: Tables, thread: Thread, position: Position): Run<Position> =>
  put(tables, thread, "fork", position.checkpoint, position, waitFields(position.checkpoint))

/**
 * Writes the same position with another state; nodes that wait run again, their subgraphs from the start, unless they
 * were given a value.
 */
export const update = (tables: Tables, thread: Thread, position: Position, state: any): Run<Position> => {
  const { answers, pins } = position.checkpoint
  const answered = new Set(answers.map(topOf))
  return put(
    tables,
    thread,
    "update",
    position.checkpoint,
    { ...position, state },
    { answers, pins: pins.filter((pin) => answered.has(pin.node)) }
  )
}
