/**
 * Runs the tables of a graph in a thread: where it stands is saved after every super-step, and within one that is
 * parallel or waits.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as IdGenerator from "../domain/IdGenerator.js"
import * as Step from "../observability/Step.js"
import type { Answer, Checkpoint, Json, NodeWrites, Pin, Saved, Service, Writes } from "./Checkpointer.js"
import * as GraphCodec from "./GraphCodec.js"
import { GraphCheckpointError, GraphWaitingError, type Waiting } from "./GraphError.js"
import * as GraphRunner from "./GraphRunner.js"
import * as GraphTables from "./GraphTables.js"

type Task = GraphTables.Task
type Tables = GraphTables.Tables
type Run<A> = Effect.Effect<A, any, any>

/** A thread as one graph of it sees it. */
export interface Thread {
  readonly checkpointer: Service
  readonly threadId: string
  readonly namespace: string
  readonly metadata: { readonly [key: string]: Json }
  readonly options: GraphRunner.Options
}

export type Source = "input" | "loop" | "wait" | "resume" | "update" | "fork"

/** A checkpoint, decoded. */
export interface Position {
  readonly checkpoint: Checkpoint
  readonly state: any
  readonly next: ReadonlyArray<Task>
  readonly reached: GraphTables.Reached
  readonly finished: ReadonlyMap<Task, Finished>
}

interface Finished {
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

const notEncoded = (tables: Tables, thread: Thread) => (problem: string) =>
  checkpointError(
    "encoding",
    tables.name,
    thread.threadId,
    undefined,
    `The state of graph "${tables.name}" cannot be saved: ${problem}`,
    "Nodes must keep to the schema of the state, and its encoded form must be JSON"
  )

/** What changes from one checkpoint to the next; the rest is taken over. */
type Changes = Partial<Omit<Checkpoint, "threadId" | "namespace" | "id" | "at" | "metadata" | "state">>

/** Puts a checkpoint and gives the position it is. `parent` is what it follows from; `changes` is what differs. */
const put = (
  tables: Tables,
  thread: Thread,
  source: Source,
  parent: Checkpoint | undefined,
  position: Omit<Position, "checkpoint">,
  changes: Changes
): Run<Position> =>
  Effect.flatMap(Effect.mapError(tables.codec.encode(position.state), notEncoded(tables, thread)), (state) =>
    Effect.flatMap(IdGenerator.generate, (id) =>
      Effect.clockWith((clock) => {
        const checkpoint: Checkpoint = {
          ...(parent === undefined ? {} : { parentId: parent.id }),
          step: parent?.step ?? 0,
          finished: Array.from(position.finished, ([task, { writes }]): NodeWrites => ({ node: task.name, writes })),
          waiting: [],
          answers: [],
          pins: [],
          ...changes,
          threadId: thread.threadId,
          namespace: thread.namespace,
          id,
          state,
          next: position.next.map((task) => task.name),
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

const none: ReadonlyMap<Task, Finished> = new Map()

/** Begins a run: its first checkpoint, before any node. */
export const begin = (tables: Tables, thread: Thread, initial: any, parent: Checkpoint | undefined): Run<Position> =>
  put(tables, thread, "input", parent, { state: initial, ...GraphTables.begin(tables), finished: none }, { step: 0 })

/** A checkpoint as the position of this graph, or why it is none. */
export const restore = (tables: Tables, saved: Saved): Effect.Effect<Position, GraphCheckpointError> => {
  const { checkpoint, writes } = saved
  const fail = (reason: Reason, message: string, hint?: string | undefined) =>
    checkpointError(reason, tables.name, checkpoint.threadId, checkpoint.id, message, hint)
  const gone = new Set<string>()
  const task = (name: string): Task => {
    const found = tables.tasks.get(name)
    if (found === undefined) gone.add(name)
    return found as Task
  }
  const finished = [...checkpoint.finished, ...writes]
  const next = checkpoint.next.map(task)
  const reached = new Map(checkpoint.reached.map(({ node, sources }) => [task(node), new Set(sources.map(task))]))
  const done = finished.map(({ node }) => task(node))
  const graph = checkpoint.metadata["graph"]
  if (graph !== tables.name) {
    return fail("changed-graph", `The checkpoint is one of graph ${JSON.stringify(graph)}, not of "${tables.name}"`)
  }
  if (gone.size > 0 || [...reached.keys()].some((join) => !tables.joins.has(join))) {
    const names = gone.size === 0 ? "a join" : `the nodes ${JSON.stringify([...gone])}`
    return fail("changed-graph", `The checkpoint needs ${names}, which graph "${tables.name}" has no more`)
  }
  const bad = (problem: string) =>
    fail("state", `The checkpoint does not fit the state of graph "${tables.name}": ${problem}`)
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
}

/** The node of this graph that a wait or an answer belongs to. */
const topOf = (one: { readonly path: ReadonlyArray<string>; readonly node: string }): string => one.path[0] ?? one.node

const same = (a: Waiting, b: Answer): boolean =>
  a.name === b.name && a.node === b.node && a.path.length === b.path.length && a.path.every((n, i) => n === b.path[i])

/** Gives values to waits: a checkpoint of its own, so that a value once taken is not lost. */
export const answer = (
  tables: Tables,
  thread: Thread,
  position: Position,
  answers: ReadonlyArray<Answer>
): Run<Position> => {
  const { checkpoint } = position
  const taken = answers.filter((given) => checkpoint.waiting.some((waiting) => same(waiting, given)))
  if (taken.length === 0) return Effect.succeed(position)
  const due = new Set(taken.map(topOf))
  return put(tables, thread, "resume", checkpoint, position, {
    ...kept(checkpoint),
    waiting: checkpoint.waiting.filter((waiting) => !due.has(topOf(waiting))),
    answers: [...checkpoint.answers, ...taken]
  })
}

const kept = ({ answers, pins, waiting }: Checkpoint) => ({ answers, pins, waiting })

/** The same place as a new checkpoint, from which another line goes on. */
export const fork = (tables: Tables, thread: Thread, position: Position): Run<Position> =>
  put(tables, thread, "fork", position.checkpoint, position, kept(position.checkpoint))

/**
 * The same place with another state; nodes that waited run again, their subgraphs from the start, unless they were
 * given a value.
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

export const waitingError = (
  graph: string,
  waiting: ReadonlyArray<Waiting>,
  thread?: { readonly threadId: string; readonly checkpointId: string } | undefined
): GraphWaitingError =>
  new GraphWaitingError({
    message: `Graph "${graph}" waits for ${waiting.map((one) => JSON.stringify(one.name)).join(", ")}`,
    hint:
      thread === undefined
        ? "Run the graph with invokeThread, which saves where it stands"
        : "Give the value with StateGraph.resume",
    waiting,
    ...thread
  })

type Outcome =
  | { readonly task: Task; readonly update: any }
  | { readonly task: Task; readonly waits: GraphWaitingError; readonly pins: ReadonlyArray<Pin> }

/** Runs on from a position to the end of the graph, or until it waits. */
export const drive = (tables: Tables, thread: Thread, from: Position): Run<Position> => {
  const { options } = thread
  const limit = options.maxSteps ?? GraphRunner.defaultMaxSteps
  const last = from.checkpoint.step + limit

  const advance = (position: Position): Run<Position> => {
    const { checkpoint, finished, next, state } = position
    if (next.length === 0) return Effect.succeed(position)
    if (!(checkpoint.step < last)) return GraphRunner.limitError(tables, limit, next, state)
    const blocked = new Set(checkpoint.waiting.map(topOf))
    const due = next.filter((task) => !finished.has(task) && !blocked.has(task.name))
    if (due.length === 0 && blocked.size > 0) return suspend(position)
    if (next.length === 1 && due.length === 1) {
      return Effect.flatMap(
        runTask(tables, thread, position, due[0] as Task, (task, update) =>
          settle(position, new Map([[task, { update, writes: [] }]]))
        ),
        ({ outcome, saved }) => (saved === undefined ? pause(position, [outcome]) : advance(saved))
      )
    }
    const save = (task: Task, update: any): Run<Finished> =>
      Effect.flatMap(Effect.mapError(tables.codec.encodeUpdate(state, update), notEncoded(tables, thread)), (writes) =>
        Effect.as(thread.checkpointer.putWrites(thread.threadId, checkpoint.id, task.name, writes), { update, writes })
      )
    return Effect.flatMap(
      Step.forEach(due, (task) => runTask(tables, thread, position, task, save), { concurrency: options.concurrency }),
      (ran) => {
        const all = new Map(finished)
        for (const { outcome, saved } of ran) if (saved !== undefined) all.set(outcome.task, saved)
        return all.size === next.length
          ? Effect.flatMap(settle(position, all), advance)
          : pause(
              { ...position, finished: all },
              ran.map(({ outcome }) => outcome)
            )
      }
    )
  }

  /** The step is done: the next checkpoint. */
  const settle = (position: Position, finished: ReadonlyMap<Task, Finished>): Run<Position> =>
    Effect.suspend(() => {
      const { checkpoint, next, reached } = position
      const updates = next.map((task) => (finished.get(task) as Finished).update)
      const state = GraphTables.mergeAll(tables, next, position.state, updates)
      const route = GraphTables.route(tables, next, state, reached)
      return put(tables, thread, "loop", checkpoint, { state, ...route, finished: none }, { step: checkpoint.step + 1 })
    })

  /** Some nodes of the step wait: what the others have done is kept beside the waits. */
  const pause = (position: Position, outcomes: ReadonlyArray<Outcome>): Run<never> => {
    const { checkpoint } = position
    const waiting = [...checkpoint.waiting]
    const pins = checkpoint.pins.filter((pin) => waiting.some((one) => topOf(one) === pin.node))
    for (const outcome of outcomes) {
      if (!("waits" in outcome)) continue
      waiting.push(...outcome.waits.waiting)
      pins.push(...outcome.pins)
    }
    const refused = waiting.filter((one) => one.problem !== undefined)
    const open = new Set(waiting.map(topOf))
    const answers = checkpoint.answers.filter(
      (given) => open.has(topOf(given)) && !refused.some((one) => same(one, given))
    )
    return Effect.flatMap(put(tables, thread, "wait", checkpoint, position, { waiting, answers, pins }), suspend)
  }

  const suspend = ({ checkpoint }: Position): Run<never> =>
    waitingError(tables.name, checkpoint.waiting, { threadId: thread.threadId, checkpointId: checkpoint.id })

  return Effect.suspend(() => advance(from))
}

interface Ran<A> {
  readonly outcome: Outcome
  /** What `save` made of an update; absent when the node waits. */
  readonly saved: A | undefined
}

/** Runs one node in its frame. Between its end and its being saved nothing can come, so that it is not run twice. */
const runTask = <A>(
  tables: Tables,
  thread: Thread,
  position: Position,
  task: Task,
  save: (task: Task, update: any) => Run<A>
): Run<Ran<A>> => {
  const { onNode, onStart } = thread.options
  const { checkpoint, state } = position
  const context = { graph: tables.name, node: task.name, step: checkpoint.step + 1 }
  const pins: Array<Pin> = []
  const frame: GraphRunner.Frame = {
    graph: tables.name,
    node: task.name,
    answers: new Map(
      checkpoint.answers.flatMap(({ name, node, path, value }) =>
        path.length === 0 && node === task.name ? [[name, value] as const] : []
      )
    ),
    run: nested(thread, position, task, pins)
  }
  const ran = Effect.suspend(() => task.run(state, context)).pipe(
    Effect.provideService(GraphRunner.CurrentFrame, frame),
    Effect.map((update): Outcome => ({ task, update })),
    Effect.catchAll((error: unknown) =>
      error instanceof GraphWaitingError
        ? Effect.flatMap(payloads(tables, thread, error), (waits) => Effect.succeed<Outcome>({ task, waits, pins }))
        : Effect.fail(error)
    )
  )
  const started = onStart === undefined ? ran : Effect.zipRight(onStart({ _tag: "NodeStarted", ...context }), ran)
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(restore(started), (outcome): Run<Ran<A>> => {
      if ("waits" in outcome) return Effect.succeed({ outcome, saved: undefined })
      const saved = Effect.map(save(task, outcome.update), (saved) => ({ outcome, saved }))
      return onNode === undefined
        ? saved
        : Effect.tap(saved, () => restore(onNode({ _tag: "NodeFinished", ...context, update: outcome.update })))
    })
  )
}

/** What a wait says must be JSON as well. */
const payloads = (tables: Tables, thread: Thread, error: GraphWaitingError) => {
  const told = error.waiting.flatMap(({ payload }) => (payload === undefined ? [] : [payload]))
  return Effect.as(Effect.mapError(Effect.forEach(told, GraphCodec.json), notEncoded(tables, thread)), error)
}

/**
 * A subgraph within a node. Its checkpoints have a namespace of their own below the checkpoint its node runs from: the
 * same after a crash, another in every fork.
 */
const nested = (thread: Thread, position: Position, task: Task, pins: Array<Pin>): GraphRunner.Frame["run"] => {
  let calls = 0
  return (tables, input, own) =>
    Effect.suspend(() => {
      const { checkpoint } = position
      const call = calls++
      const namespace = `${thread.namespace}${JSON.stringify([checkpoint.id, task.name, call])}`
      const below: Thread = { ...thread, namespace, options: GraphRunner.within(task, thread.options, own) }
      const pin = checkpoint.pins.find((one) => one.node === task.name && one.call === call)
      const answers = checkpoint.answers.flatMap((given) =>
        given.path[0] === task.name ? [{ ...given, path: given.path.slice(1) }] : []
      )
      return enter(tables, below, input, pin).pipe(
        Effect.flatMap((entered) => answer(tables, below, entered, answers)),
        Effect.flatMap((answered) => drive(tables, below, answered)),
        Effect.map(({ checkpoint: end, state }) => {
          pins.push({ node: task.name, call, namespace: end.namespace, id: end.id })
          return state
        }),
        Effect.mapError((error) => {
          if (!(error instanceof GraphWaitingError) || error.checkpointId === undefined) return error
          pins.push({ node: task.name, call, namespace, id: error.checkpointId })
          return waitingError(
            tables.name,
            error.waiting.map((one) => ({ ...one, path: [task.name, ...one.path] }))
          )
        })
      )
    })
}

/**
 * Where a subgraph goes on: where it was when the process ended, where it was when the graph around it stopped to wait,
 * or its start.
 */
const enter = (tables: Tables, thread: Thread, input: any, pin: Pin | undefined): Run<Position> => {
  const { checkpointer, namespace, threadId } = thread
  return Effect.flatMap(checkpointer.get(threadId, { namespace }), (last) => {
    if (Option.isSome(last)) return restore(tables, last.value)
    if (pin === undefined) return begin(tables, thread, input, undefined)
    return Effect.flatMap(checkpointer.get(threadId, { namespace: pin.namespace, id: pin.id }), (pinned) => {
      if (Option.isNone(pinned)) {
        const message = `The checkpoint of subgraph "${tables.name}" is gone`
        return checkpointError("unknown-checkpoint", tables.name, threadId, pin.id, message)
      }
      return Effect.flatMap(
        restore(tables, pinned.value),
        (at): Run<Position> => (at.next.length === 0 ? Effect.succeed(at) : fork(tables, thread, at))
      )
    })
  })
}
