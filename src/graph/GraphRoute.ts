/**
 * Decides which nodes run next: targets, branches, what nodes decide themselves, and joins.
 *
 * @since 0.1.0
 * @private
 */
import * as Nearest from "../internal/text/Nearest.js"
import { type Chosen, type Fields, GotoTypeId, type Send } from "./GraphChoice.js"
import type { Tables, Targets, Task } from "./GraphDefinition.js"
import * as GraphTables from "./GraphTables.js"

/** Sources that each join has seen since it last ran. */
export type Reached = ReadonlyMap<Task, ReadonlySet<Task>>

export interface Route {
  readonly next: ReadonlyArray<Task>
  readonly reached: Reached
}

const nothingReached: Reached = new Map()
const noTasks: ReadonlyArray<Task> = []

export const begin = (tables: Tables): Route => ({ next: [tables.start], reached: nothingReached })

/** A task that runs a node with fields of its own. */
export const send = (of: Task, position: number, update: Fields): Task => ({
  ...of,
  key: `${of.name}#${position}`,
  sent: { of, position, update }
})

const one = (tables: Tables, task: Task, given: string | Send<string, Fields>): Targets => {
  const to = task.branch?.to ?? new Map<string, Targets>()
  const name = typeof given === "string" ? given : given?._tag === "Send" ? given.node : String(given)
  const targets = to.get(name)
  if (targets === undefined) {
    const near = Nearest.nearest(name, [...to.keys()])
    const known = near === undefined ? "" : `, perhaps ${GraphTables.quote(near)} was meant`
    const all = [...to.keys()].map(GraphTables.quote).join(", ")
    throw GraphTables.defect(
      tables,
      task,
      `branched to ${GraphTables.quote(name)}, which is not among its targets ${all}${known}`
    )
  }
  if (typeof given === "string") return targets
  const [of] = targets.tasks
  if (of === undefined) {
    throw GraphTables.defect(
      tables,
      task,
      `sent to ${GraphTables.quote(name)}, which is a join or the end: name a node`
    )
  }
  for (const field of Object.keys(given.update)) {
    if (tables.fields.has(field)) continue
    throw GraphTables.defect(tables, task, `sent ${GraphTables.quote(field)}, which is no field of the state`)
  }
  return { tasks: [send(of, 0, given.update)], joins: [] }
}

/** Where the node itself went. */
const wentTo = (tables: Tables, task: Task, update: Fields): Chosen => {
  const to = (update as { readonly [GotoTypeId]?: Chosen })[GotoTypeId]
  if (to !== undefined) return to
  throw GraphTables.defect(tables, task, "did not say where to go: return StateGraph.goto(target, update)")
}

/** Targets of a task after its update, or a defect. */
const targetsOf = (tables: Tables, task: Task, state: Fields, update: Fields): Targets => {
  const { branch, targets } = task
  if (branch === undefined || branch.when !== undefined) {
    if (GotoTypeId in update) {
      const declared = "declare its targets as { to: [...] }, without a condition"
      throw GraphTables.defect(tables, task, `said where to go, which its edge does not let it: ${declared}`)
    }
    if (branch === undefined) return targets as Targets
  }
  const given = branch.when === undefined ? wentTo(tables, task, update) : branch.when(state)
  const known = typeof given === "string" ? branch.to.get(given) : undefined
  if (known !== undefined) return known
  const all = Array.isArray(given) ? (given as ReadonlyArray<string>) : [given as string]
  return all.length === 0 ? GraphTables.nowhere : GraphTables.together(all.map((each) => one(tables, task, each)))
}

const byIndex = (a: Task, b: Task): number => a.index - b.index

/** In the order of declaration, and those that `send` runs numbered by node, in the order in which they were sent. */
const ordered = (next: ReadonlySet<Task>): ReadonlyArray<Task> => {
  const tasks = [...next].sort(byIndex)
  if (!tasks.some((task) => task.sent !== undefined)) return tasks
  const counts = new Map<Task, number>()
  return tasks.map((task) => {
    if (task.sent === undefined) return task
    const { of, update } = task.sent
    const position = counts.get(of) ?? 0
    counts.set(of, position + 1)
    return send(of, position, update)
  })
}

/** The next step after these tasks and their updates. */
export const next = (
  tables: Tables,
  ran: ReadonlyArray<Task>,
  updates: ReadonlyArray<Fields>,
  state: Fields,
  reached: Reached
): Route => {
  if (ran.length === 1 && reached.size === 0) {
    const { joins, tasks } = targetsOf(tables, ran[0] as Task, state, updates[0] as Fields)
    if (joins.length === 0) return { next: tasks.length < 2 ? tasks : ordered(new Set(tasks)), reached }
  }
  const due = new Set<Task>()
  const arrived = new Map(reached)
  for (let at = 0; at < ran.length; at++) {
    const task = ran[at] as Task
    const { joins, tasks } = targetsOf(tables, task, state, updates[at] as Fields)
    for (const target of tasks) due.add(target)
    for (const join of joins) arrived.set(join, new Set(arrived.get(join)).add(task.sent?.of ?? task))
  }
  for (const [join, sources] of arrived) {
    if (sources.size < (tables.joins.get(join) as ReadonlySet<Task>).size) continue
    due.add(join)
    arrived.delete(join)
  }
  if (due.size === 0) {
    // Nothing else can arrive: the waiting joins run with what has arrived.
    for (const join of arrived.keys()) due.add(join)
    arrived.clear()
  }
  return { next: due.size === 0 ? noTasks : ordered(due), reached: arrived }
}
