/**
 * Runs a graph in a thread: saves its position after every super-step, and within one that is parallel or waits.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Step from "../observability/Step.js"
import type { Checkpoint, Pin } from "./Checkpointer.js"
import * as GraphCodec from "./GraphCodec.js"
import type { Tables, Task } from "./GraphDefinition.js"
import { GraphBreakpointError, GraphWaitingError, type Waiting } from "./GraphError.js"
import type { Breakpoints } from "./GraphOptions.js"
import type { Finished, Position, Thread } from "./GraphPosition.js"
import * as GraphPosition from "./GraphPosition.js"
import * as GraphRoute from "./GraphRoute.js"
import * as GraphRunner from "./GraphRunner.js"
import * as GraphTables from "./GraphTables.js"

type Run<A> = Effect.Effect<A, any, any>

export const waitingError = (
  graph: string,
  waiting: ReadonlyArray<Waiting>,
  thread?: { readonly threadId: string; readonly checkpointId: string } | undefined
): GraphWaitingError =>
  new GraphWaitingError({
    message: `Graph "${graph}" waits for ${waiting.map((one) => JSON.stringify(one.name)).join(", ")}`,
    hint:
      thread === undefined
        ? "Run the graph with invokeThread, which saves its position"
        : "Give the value with StateGraph.resume",
    waiting,
    ...thread
  })

type Outcome =
  | { readonly task: Task; readonly update: any }
  | { readonly task: Task; readonly waits: GraphWaitingError; readonly pins: ReadonlyArray<Pin> }

/**
 * Continues from a position to the end of the graph, or until it waits or pauses. `begun`: the breakpoints of the first
 * step are behind it.
 */
export const drive = (tables: Tables, thread: Thread, from: Position, begun = false): Run<Position> => {
  const { breakpoints, options } = thread
  const limit = options.maxSteps ?? GraphRunner.defaultMaxSteps
  const last = from.checkpoint.step + limit

  /** Ends a step. A pause behind it is part of its checkpoint, so that no crash can come between. */
  const settle = (position: Position, finished: ReadonlyMap<Task, Finished>): Run<Position> =>
    Effect.suspend(() => {
      const { checkpoint, next, reached } = position
      const updates = next.map((task) => (finished.get(task) as Finished).update)
      const state = GraphTables.mergeAll(tables, next, position.state, updates)
      const route = GraphRoute.next(tables, next, updates, state, reached)
      const step = checkpoint.step + 1
      const { after, before } = breaksAt(breakpoints, route.next, next)
      const pauses = route.next.length > 0 && step < last && before.length + after.length > 0
      return GraphPosition.put(
        tables,
        thread,
        pauses ? "pause" : "loop",
        checkpoint,
        { state, ...route, finished: GraphPosition.noneFinished },
        { step }
      )
    })

  const advance = (position: Position, ran: ReadonlyArray<Task> = []): Run<Position> => {
    const { checkpoint, finished, next, state } = position
    if (next.length === 0) return Effect.succeed(position)
    if (!(checkpoint.step < last)) return GraphRunner.limitError(tables, limit, next, state)
    if (breakpoints !== undefined && !(begun && position === from)) {
      const at = breaksAt(breakpoints, next, ran)
      if (at.before.length + at.after.length > 0) {
        const paused = position === from ? GraphPosition.pause(tables, thread, position) : Effect.succeed(position)
        return Effect.flatMap(paused, ({ checkpoint }) => breakpointError(tables, thread, checkpoint, at))
      }
    }
    const blocked = new Set(checkpoint.waiting.map(GraphPosition.topOf))
    const due = next.filter((task) => !finished.has(task) && !blocked.has(task.key))
    if (due.length === 0 && blocked.size > 0) return suspend(tables, thread, position)
    if (next.length === 1 && due.length === 1) {
      return Effect.flatMap(
        runTask(tables, thread, position, due[0] as Task, (task, update) =>
          settle(position, new Map([[task, { update, writes: [] }]]))
        ),
        ({ outcome, saved }) =>
          saved === undefined ? pause(tables, thread, position, [outcome]) : advance(saved, next)
      )
    }
    const save = (task: Task, update: any): Run<Finished> =>
      Effect.flatMap(
        Effect.mapError(tables.codec.encodeUpdate(state, update), GraphPosition.notEncoded(tables, thread)),
        (writes) =>
          Effect.as(thread.checkpointer.putWrites(thread.threadId, checkpoint.id, task.key, writes), {
            update,
            writes
          })
      )
    return Effect.flatMap(
      Step.forEach(due, (task) => runTask(tables, thread, position, task, save), { concurrency: options.concurrency }),
      (ran) => {
        const all = new Map(finished)
        for (const { outcome, saved } of ran) if (saved !== undefined) all.set(outcome.task, saved)
        return all.size === next.length
          ? Effect.flatMap(settle(position, all), (settled) => advance(settled, next))
          : pause(
              tables,
              thread,
              { ...position, finished: all },
              ran.map(({ outcome }) => outcome)
            )
      }
    )
  }

  return Effect.suspend(() => advance(from))
}

const named = (tasks: ReadonlyArray<Task>, names: ReadonlyArray<string> | "all" | undefined): ReadonlyArray<string> =>
  names === undefined
    ? []
    : Array.from(new Set(tasks.map(({ name }) => name))).filter((name) => names === "all" || names.includes(name))

const breaksAt = (
  breakpoints: Breakpoints<string> | undefined,
  next: ReadonlyArray<Task>,
  ran: ReadonlyArray<Task>
) => ({ before: named(next, breakpoints?.before), after: named(ran, breakpoints?.after) })

const breakpointError = (
  tables: Tables,
  { threadId }: Thread,
  { id }: Checkpoint,
  at: { readonly before: ReadonlyArray<string>; readonly after: ReadonlyArray<string> }
): GraphBreakpointError =>
  new GraphBreakpointError({
    message: `Graph "${tables.name}" paused ${[
      ...at.after.map((name) => `after ${JSON.stringify(name)}`),
      ...at.before.map((name) => `before ${JSON.stringify(name)}`)
    ].join(", ")}`,
    hint: "Go on with StateGraph.resume",
    graph: tables.name,
    ...at,
    threadId,
    checkpointId: id
  })

/** Ends a run at waiting nodes. The updates of the other nodes are saved with the waits. */
const pause = (tables: Tables, thread: Thread, position: Position, outcomes: ReadonlyArray<Outcome>): Run<never> => {
  const { checkpoint } = position
  const waiting = [...checkpoint.waiting]
  const pins = checkpoint.pins.filter((pin) => waiting.some((one) => GraphPosition.topOf(one) === pin.node))
  for (const outcome of outcomes) {
    if (!("waits" in outcome)) continue
    waiting.push(...outcome.waits.waiting)
    pins.push(...outcome.pins)
  }
  const refused = waiting.filter((one) => one.problem !== undefined)
  const open = new Set(waiting.map(GraphPosition.topOf))
  const answers = checkpoint.answers.filter(
    (given) => open.has(GraphPosition.topOf(given)) && !refused.some((one) => GraphPosition.isAnswerTo(one, given))
  )
  return Effect.flatMap(
    GraphPosition.put(tables, thread, "wait", checkpoint, position, { waiting, answers, pins }),
    (position) => suspend(tables, thread, position)
  )
}

const suspend = (tables: Tables, thread: Thread, { checkpoint }: Position): Run<never> =>
  waitingError(tables.name, checkpoint.waiting, { threadId: thread.threadId, checkpointId: checkpoint.id })

interface Ran<A> {
  readonly outcome: Outcome
  /** Result of `save` for an update; absent if the node waits. */
  readonly saved: A | undefined
}

/**
 * Runs one node in its frame. Its end and its save cannot be separated by an interruption, so it is never run twice.
 */
const runTask = <A>(
  tables: Tables,
  thread: Thread,
  position: Position,
  task: Task,
  save: (task: Task, update: any) => Run<A>
): Run<Ran<A>> => {
  const { onNode, onStart } = thread.options
  const { checkpoint } = position
  const state = GraphTables.seenBy(task, position.state)
  const context = GraphRunner.contextOf(tables, task, checkpoint.step + 1)
  const pins: Array<Pin> = []
  const frame: GraphRunner.Frame = {
    graph: tables.name,
    node: task.key,
    answers: new Map(
      checkpoint.answers.flatMap(({ name, node, path, value }) =>
        path.length === 0 && node === task.key ? [[name, value] as const] : []
      )
    ),
    run: nested(thread, position, task, pins),
    emit: GraphRunner.emitter(context, thread.options)
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

/** The payload of a wait must be JSON as well. */
const payloads = (tables: Tables, thread: Thread, error: GraphWaitingError) => {
  const told = error.waiting.flatMap(({ payload }) => (payload === undefined ? [] : [payload]))
  return Effect.as(
    Effect.mapError(Effect.forEach(told, GraphCodec.json), GraphPosition.notEncoded(tables, thread)),
    error
  )
}

/**
 * Runs a subgraph in a node. Its checkpoints have a namespace below the checkpoint that its node runs from: the same
 * one after a crash, a different one in each fork.
 */
const nested = (thread: Thread, position: Position, task: Task, pins: Array<Pin>): GraphRunner.Frame["run"] => {
  let calls = 0
  return (tables, input, own) =>
    Effect.suspend(() => {
      const { checkpoint } = position
      const call = calls++
      const namespace = `${thread.namespace}${JSON.stringify([checkpoint.id, task.key, call])}`
      const below: Thread = {
        ...thread,
        breakpoints: undefined,
        namespace,
        options: GraphRunner.nestedOptions(task, thread.options, own)
      }
      const pin = checkpoint.pins.find((one) => one.node === task.key && one.call === call)
      const answers = checkpoint.answers.flatMap((given) =>
        given.path[0] === task.key ? [{ ...given, path: given.path.slice(1) }] : []
      )
      return enter(tables, below, input, pin).pipe(
        Effect.flatMap((entered) => GraphPosition.answer(tables, below, entered, answers)),
        Effect.flatMap((answered) => drive(tables, below, answered)),
        Effect.map(({ checkpoint: end, state }) => {
          pins.push({ node: task.key, call, namespace: end.namespace, id: end.id })
          return state
        }),
        Effect.mapError((error) => {
          if (!(error instanceof GraphWaitingError) || error.checkpointId === undefined) return error
          pins.push({ node: task.key, call, namespace, id: error.checkpointId })
          return waitingError(
            tables.name,
            error.waiting.map((one) => ({ ...one, path: [task.key, ...one.path] }))
          )
        })
      )
    })
}

/**
 * Where a subgraph starts: at its position when the process ended, at its position when the outer graph stopped to
 * wait, or at its beginning.
 */
const enter = (tables: Tables, thread: Thread, input: any, pin: Pin | undefined): Run<Position> => {
  const { checkpointer, namespace, threadId } = thread
  return Effect.flatMap(checkpointer.get(threadId, { namespace }), (last) => {
    if (Option.isSome(last)) return GraphPosition.restore(tables, last.value)
    if (pin === undefined) return GraphPosition.begin(tables, thread, input, undefined)
    return Effect.flatMap(checkpointer.get(threadId, { namespace: pin.namespace, id: pin.id }), (pinned) => {
      if (Option.isNone(pinned)) {
        const message = `The checkpoint of subgraph "${tables.name}" is gone`
        return GraphPosition.checkpointError("unknown-checkpoint", tables.name, threadId, pin.id, message)
      }
      return Effect.flatMap(
        GraphPosition.restore(tables, pinned.value),
        (at): Run<Position> => (at.next.length === 0 ? Effect.succeed(at) : GraphPosition.fork(tables, thread, at))
      )
    })
  })
}
