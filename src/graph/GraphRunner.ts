/**
 * Runs a compiled graph, super-step by super-step.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as Step from "../observability/Step.js"
import type { Json } from "./Checkpointer.js"
import type { NodeContext, Tables, Task } from "./GraphDefinition.js"
import { GraphStepLimitError } from "./GraphError.js"
import type { NodeEmitted, NodeFinished, NodeStarted } from "./GraphOptions.js"
import * as GraphRoute from "./GraphRoute.js"
import * as GraphTables from "./GraphTables.js"

type Run = Effect.Effect<any, any, any>

export interface Options {
  readonly maxSteps?: number | undefined
  readonly concurrency?: number | "unbounded" | undefined
  readonly onStart?: ((started: NodeStarted) => Effect.Effect<void>) | undefined
  readonly onNode?: ((finished: NodeFinished<any>) => Effect.Effect<void>) | undefined
  readonly onEmit?: ((emitted: NodeEmitted) => Effect.Effect<void>) | undefined
}

/** Context of a node that runs a subgraph, waits, or emits values. */
export interface Frame {
  readonly graph: string
  readonly node: string
  /** Values given to the waits of this node. */
  readonly answers: ReadonlyMap<string, Json>
  readonly run: (tables: Tables, initial: any, options: Options) => Run
  readonly emit: (value: unknown) => Effect.Effect<void>
}

export class CurrentFrame extends Ambient.Reference<CurrentFrame>()("effect-lexigram/graph/GraphRunner/Frame", {
  defaultValue: (): Frame => outsideFrame
}) {}

export const defaultMaxSteps = 100

export const limitError = (
  tables: Tables,
  limit: number,
  next: ReadonlyArray<Task>,
  state: unknown
): GraphStepLimitError =>
  new GraphStepLimitError({
    message: `Graph "${tables.name}" did not end within ${limit} steps`,
    hint: "Raise maxSteps, or let a branch end the loop",
    graph: tables.name,
    limit,
    nodes: next.map((task) => task.name),
    state
  })

/** Options of a subgraph in a node: its events carry the names of the surrounding nodes. */
export const nestedOptions = (task: Task, outer: Options, own: Options): Options => {
  const { onEmit, onNode, onStart } = outer
  const below = (path: ReadonlyArray<string> | undefined) => (path === undefined ? [task.key] : [task.key, ...path])
  return {
    ...own,
    onEmit: onEmit && ((emitted) => onEmit({ ...emitted, path: below(emitted.path) })),
    onStart: onStart && ((started) => onStart({ ...started, path: below(started.path) })),
    onNode: onNode && ((finished) => onNode({ ...finished, path: below(finished.path) } as NodeFinished<any>))
  }
}

/** Runs a graph without saving anything, and without a surrounding graph. */
export const run = (tables: Tables, initial: any, options: Options): Run => {
  if (!tables.nested) return loop(tables, initial, options, outsideFrame)
  const observed = options.onNode !== undefined || options.onStart !== undefined || options.onEmit !== undefined
  return Effect.flatMap(CurrentFrame, (frame) =>
    observed || frame === outsideFrame
      ? loop(tables, initial, options, frame)
      : Effect.provideService(loop(tables, initial, options, frame), CurrentFrame, { ...frame, run })
  )
}

/** The value after an effect. One that has already succeeded costs no further operation. */
const after = <A>(effect: Effect.Effect<void>, value: A): Effect.Effect<A> =>
  Exit.isExit(effect) && Exit.isSuccess(effect) ? Exit.succeed(value) : Effect.as(effect, value)

const outsideFrame: Frame = { graph: "", node: "", answers: new Map(), run, emit: () => Effect.void }

/** Where a task runs. */
export const contextOf = (tables: Tables, task: Task, step: number): NodeContext => {
  const context = { graph: tables.name, node: task.name, step }
  return task.sent === undefined ? context : { ...context, send: task.sent.position }
}

/** What a node emits goes to the observer. */
export const emitter = (context: NodeContext, { onEmit }: Options): Frame["emit"] =>
  onEmit === undefined ? outsideFrame.emit : (value) => onEmit({ _tag: "NodeEmitted", ...context, value })

const loop = (tables: Tables, initial: any, options: Options, frame: Frame): Run => {
  const limit = options.maxSteps ?? defaultMaxSteps
  const { onEmit, onNode, onStart } = options
  const runTask = (task: Task, whole: any, step: number): Run => {
    const state = GraphTables.seenBy(task, whole)
    const context = contextOf(tables, task, step)
    if (onNode === undefined && onStart === undefined && onEmit === undefined) return task.run(state, context)
    const ran = (): Run =>
      task.nested || onEmit !== undefined
        ? Effect.provideService(
            Effect.suspend(() => task.run(state, context)),
            CurrentFrame,
            {
              ...frame,
              run: (nested, input, own) => run(nested, input, nestedOptions(task, options, own)),
              emit: emitter(context, options)
            }
          )
        : task.run(state, context)
    const started = onStart === undefined ? ran() : Effect.flatMap(onStart({ _tag: "NodeStarted", ...context }), ran)
    return onNode === undefined
      ? started
      : Effect.flatMap(started, (update) => after(onNode({ _tag: "NodeFinished", ...context, update }), update))
  }
  const advance = (state: any, next: ReadonlyArray<Task>, reached: GraphRoute.Reached, step: number): Run => {
    if (next.length === 0) return Effect.succeed(state)
    if (!(step <= limit)) return limitError(tables, limit, next, state)
    if (next.length === 1) {
      const task = next[0] as Task
      return Effect.flatMap(runTask(task, state, step), (update) => {
        const merged = GraphTables.merge(tables, task, state, update)
        const route = GraphRoute.next(tables, next, [update], merged, reached)
        return advance(merged, route.next, route.reached, step + 1)
      })
    }
    return Effect.flatMap(
      Step.forEach(next, (task) => runTask(task, state, step), { concurrency: options.concurrency }),
      (updates) => {
        const merged = GraphTables.mergeAll(tables, next, state, updates)
        const route = GraphRoute.next(tables, next, updates, merged, reached)
        return advance(merged, route.next, route.reached, step + 1)
      }
    )
  }
  return Effect.suspend(() => {
    const { next, reached } = GraphRoute.begin(tables)
    return advance(initial, next, reached, 1)
  })
}
