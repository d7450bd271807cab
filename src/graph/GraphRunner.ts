/**
 * Runs the tables of a graph, super-step by super-step.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Step from "../observability/Step.js"
import { GraphStepLimitError } from "./GraphError.js"
import * as GraphTables from "./GraphTables.js"
import type { InvokeOptions, NodeFinished } from "./StateGraph.js"

type Task = GraphTables.Task

export const defaultMaxSteps = 100

export const limitError = (
  tables: GraphTables.Tables,
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

/** Runs a graph without keeping anything of it. */
export const run = (
  tables: GraphTables.Tables,
  initial: any,
  options: InvokeOptions<any> | undefined
): Effect.Effect<any, any, any> => {
  const limit = options?.maxSteps ?? defaultMaxSteps
  const onNode = options?.onNode
  const runTask = (task: Task, state: any, step: number): Effect.Effect<any, any, any> => {
    const context = { graph: tables.name, node: task.name, step }
    const ran = task.run(state, context)
    if (onNode === undefined) return ran
    return Effect.tap(ran, (update) => {
      const finished: NodeFinished<any> = { _tag: "NodeFinished", ...context, update }
      return onNode(finished)
    })
  }
  const advance = (
    state: any,
    next: ReadonlyArray<Task>,
    reached: GraphTables.Reached,
    step: number
  ): Effect.Effect<any, any, any> => {
    if (next.length === 0) return Effect.succeed(state)
    if (step > limit) return limitError(tables, limit, next, state)
    if (next.length === 1) {
      const task = next[0] as Task
      return Effect.flatMap(runTask(task, state, step), (update) => {
        const merged = GraphTables.merge(tables, task, state, update)
        const route = GraphTables.route(tables, next, merged, reached)
        return advance(merged, route.next, route.reached, step + 1)
      })
    }
    return Effect.flatMap(
      Step.forEach(next, (task) => runTask(task, state, step), { concurrency: options?.concurrency }),
      (updates) => {
        const merged = GraphTables.mergeAll(tables, next, state, updates)
        const route = GraphTables.route(tables, next, merged, reached)
        return advance(merged, route.next, route.reached, step + 1)
      }
    )
  }
  return Effect.suspend(() => {
    const { next, reached } = GraphTables.begin(tables)
    return advance(initial, next, reached, 1)
  })
}
