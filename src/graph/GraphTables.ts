/**
 * Run-time tables of a graph, prepared once: nodes by number, targets, fields, reducers, joins.
 *
 * @since 0.1.0
 * @private
 */
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import * as Nearest from "../internal/text/Nearest.js"
import * as GraphCodec from "./GraphCodec.js"
import {
  type Branch,
  type Edge,
  END,
  type StateGraph,
  type Tables,
  type Targets,
  type Task,
  type TaskBranch
} from "./GraphDefinition.js"
import { GraphDefectError, type GraphIssue } from "./GraphError.js"

type Erased = StateGraph<string, any, any, any, any>
type State = { readonly [field: string]: unknown }
type Update = { readonly [field: string]: unknown }

const reserved: ReadonlySet<string> = new Set([END, "__proto__", ""])

/** True if the state decides where an edge leads. */
export const isBranch = (edge: Edge<any, string>): edge is Branch<any, string> => Predicate.isReadonlyRecord(edge)

/** All targets an edge can lead to, without duplicates. */
export const targetsOf = (edge: Edge<any, string>): ReadonlyArray<string> => {
  const targets = isBranch(edge) ? edge.to : edge
  return typeof targets === "string" ? [targets] : Array.isArray(targets) ? [...new Set<string>(targets)] : []
}

/** The struct described by a state schema, ignoring refinements and the sides of transformations. */
const structOf = (ast: SchemaAST.AST): SchemaAST.TypeLiteral | undefined => {
  const type = SchemaAST.typeAST(ast)
  if (SchemaAST.isRefinement(type)) return structOf(type.from)
  if (SchemaAST.isSuspend(type)) return structOf(type.f())
  return SchemaAST.isTypeLiteral(type) ? type : undefined
}

const fieldsOf = (struct: SchemaAST.TypeLiteral): ReadonlyArray<string> =>
  struct.propertySignatures.flatMap((signature) => (typeof signature.name === "string" ? [signature.name] : []))

const quote = (name: string): string => JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)

const meant = (name: string, known: Iterable<string>): string => {
  const near = Nearest.nearest(name, [...known])
  return near === undefined ? "" : `, perhaps ${quote(near)} was meant`
}

const reach = (from: Iterable<string>, next: (name: string) => Iterable<string>): ReadonlySet<string> => {
  const reached = new Set(from)
  // A set includes items added during iteration.
  for (const name of reached) for (const target of next(name)) reached.add(target)
  return reached
}

/** Lists all issues of a graph. */
export const check = (graph: Erased): ReadonlyArray<GraphIssue> => {
  const issues: Array<GraphIssue> = []
  const names = new Set(graph.nodes.keys())
  const add = (reason: GraphIssue["reason"], message: string, node?: string | undefined): void =>
    void issues.push(node === undefined ? { reason, message } : { reason, node, message })

  const struct = structOf(graph.state.ast)
  if (struct === undefined || struct.indexSignatures.length > 0) {
    add("state", "the state is not a Schema.Struct: give it one, so that its fields are known")
  } else {
    const fields = fieldsOf(struct)
    if (fields.length < struct.propertySignatures.length || fields.includes("__proto__")) {
      add("state", "a field of the state has a symbol or __proto__ for a name: give it another")
    }
    for (const [field, reducer] of Object.entries(graph.reducers)) {
      if (reducer !== undefined && !fields.includes(field)) {
        const hint = meant(field, fields)
        add("unknown-field", `there is a reducer for ${quote(field)}, which is no field of the state${hint}`)
      }
    }
  }
  for (const name of names) {
    if (reserved.has(name)) add("reserved-name", `${quote(name)} cannot be the name of a node: rename it`, name)
    if (!graph.edges.has(name)) add("missing-edge", `node ${quote(name)} has no edge: name its target, or "END"`, name)
  }
  if (!names.has(graph.start)) {
    add("missing-start", `the start ${quote(String(graph.start))} is no node${meant(String(graph.start), names)}`)
  }
  for (const name of graph.unknown) {
    add("unknown-node", `${quote(name)} was to be wrapped or replaced and is no node${meant(name, names)}`, name)
  }
  for (const [name, edge] of graph.edges) {
    if (!names.has(name))
      add("unknown-node", `an edge leaves ${quote(name)}, which is no node${meant(name, names)}`, name)
    const targets = targetsOf(edge)
    if (targets.length === 0)
      add("no-target", `the edge of ${quote(name)} leads nowhere: name a target, or "END"`, name)
    for (const target of isBranch(edge) ? Object.keys(edge.labels ?? {}) : []) {
      if (targets.includes(target)) continue
      const hint = meant(target, targets)
      add("unknown-node", `${quote(name)} has a label for ${quote(target)}, which it does not lead to${hint}`, name)
    }
    for (const target of targets) {
      if (target === END || names.has(target)) continue
      add(
        "unknown-node",
        `${quote(name)} leads to ${quote(String(target))}, which is no node${meant(String(target), names)}`,
        name
      )
    }
  }
  checkJoins(graph, names, add)
  // Reachability is checked only if all names are valid.
  if (issues.length === 0) checkPaths(graph, names, add)
  return issues
}

type Add = (reason: GraphIssue["reason"], message: string, node?: string | undefined) => void

const checkJoins = (graph: Erased, names: ReadonlySet<string>, add: Add): void => {
  for (const [name, sources] of graph.joins) {
    if (!names.has(name)) {
      add("join", `a join is declared for ${quote(name)}, which is no node${meant(name, names)}`, name)
      continue
    }
    const listed = new Set(sources)
    if (listed.size < 2) add("join", `the join ${quote(name)} needs two sources or more: list them, or remove it`, name)
    for (const source of listed) {
      const edge = graph.edges.get(source)
      if (edge !== undefined && targetsOf(edge).includes(name)) continue
      add("join", `the join ${quote(name)} waits for ${quote(String(source))}, which has no edge to it: add one`, name)
    }
    for (const [source, edge] of graph.edges) {
      if (listed.has(source) || !targetsOf(edge).includes(name)) continue
      add(
        "join",
        `${quote(source)} leads to the join ${quote(name)}, which does not list it: add it to its sources`,
        name
      )
    }
  }
}

const checkPaths = (graph: Erased, names: ReadonlySet<string>, add: Add): void => {
  const targets = new Map([...graph.edges].map(([name, edge]) => [name, targetsOf(edge)]))
  const sources = new Map<string, Array<string>>()
  for (const [name, to] of targets) {
    for (const target of to) {
      const known = sources.get(target)
      if (known === undefined) sources.set(target, [name])
      else known.push(name)
    }
  }
  const reached = reach([graph.start], (name) => targets.get(name) ?? [])
  const ending = reach([END], (name) => sources.get(name) ?? [])
  for (const name of names) {
    if (!reached.has(name)) {
      add("unreachable", `node ${quote(name)} cannot be reached from the start: lead an edge to it, or remove it`, name)
    } else if (!ending.has(name)) {
      add("endless", `no way leads from node ${quote(name)} to "END": let a branch of it or after it end`, name)
    }
  }
}

type Draft = { -readonly [K in keyof Task]: Task[K] }

/** Builds the tables of a graph without issues. */
export const make = (graph: Erased): Tables => {
  const tasks = new Map<string, Draft>()
  for (const [name, { run, subgraph }] of graph.nodes) {
    const nested = subgraph !== undefined
    tasks.set(name, { index: tasks.size, name, run, targets: undefined, branch: undefined, nested })
  }
  const joins = new Map<Task, ReadonlySet<Task>>()
  for (const [name, sources] of graph.joins) {
    joins.set(tasks.get(name) as Task, new Set(sources.map((source) => tasks.get(source) as Task)))
  }
  for (const [name, edge] of graph.edges) {
    const task = tasks.get(name) as Draft
    const to = new Map(
      targetsOf(edge).map((target) => [target, target === END ? nowhere : split(tasks.get(target) as Task, joins)])
    )
    if (isBranch(edge)) task.branch = { to, when: edge.when }
    else task.targets = together([...to.values()])
  }
  return {
    name: graph.name,
    tasks,
    start: tasks.get(graph.start) as Task,
    fields: new Set(fieldsOf(structOf(graph.state.ast) as SchemaAST.TypeLiteral)),
    reducers: new Map(Object.entries(graph.reducers).filter((entry) => entry[1] !== undefined)) as Tables["reducers"],
    joins,
    nested: [...tasks.values()].some((task) => task.nested),
    codec: GraphCodec.make(graph.state)
  }
}

const byIndex = (a: Task, b: Task): number => a.index - b.index

const nowhere: Targets = { tasks: [], joins: [] }

const split = (target: Task, joins: Tables["joins"]): Targets =>
  joins.has(target) ? { tasks: [], joins: [target] } : { tasks: [target], joins: [] }

const together = (all: ReadonlyArray<Targets>): Targets =>
  all.length === 1
    ? (all[0] as Targets)
    : {
        tasks: [...new Set(all.flatMap((targets) => targets.tasks))].sort(byIndex),
        joins: [...new Set(all.flatMap((targets) => targets.joins))]
      }

const defect = (tables: Tables, task: Task, message: string): GraphDefectError =>
  new GraphDefectError({
    message: `Node "${task.name}" of graph "${tables.name}" ${message}`,
    graph: tables.name,
    node: task.name
  })

/**
 * Merges the update of one node into the state, or dies. `written` holds the fields that other nodes of the step have
 * written.
 */
const mergeOne = (
  tables: Tables,
  task: Task,
  update: Update,
  into: { [field: string]: unknown },
  written: Map<string, Task> | undefined
): void => {
  if (typeof update !== "object" || update === null || Array.isArray(update)) {
    throw defect(tables, task, "did not return an update: return an object of the fields that change, {} for none")
  }
  const { fields, reducers } = tables
  for (const field of Object.keys(update)) {
    if (!fields.has(field)) {
      const hint = meant(field, fields)
      throw defect(tables, task, `wrote ${quote(field)}, which is no field of the state${hint}`)
    }
    const reducer = reducers.get(field)
    if (reducer !== undefined) {
      into[field] = reducer(into[field], update[field])
      continue
    }
    const other = written?.get(field)
    if (other !== undefined) {
      const problem = `and node "${other.name}" wrote ${quote(field)} in one step: give the field a reducer`
      throw defect(tables, task, problem)
    }
    written?.set(field, task)
    into[field] = update[field]
  }
}

/** Merges the update of a step with one node. */
export const merge = (tables: Tables, task: Task, state: State, update: Update): State => {
  const next = { ...state }
  mergeOne(tables, task, update, next, undefined)
  return next
}

/** Replaces fields of the state from outside any node, without reducers. */
export const replace = (tables: Tables, state: State, update: Update): State =>
  merge({ ...tables, reducers: new Map() }, tables.start, state, update)

/** Merges the updates of a step with several nodes, in the order of the tasks. */
export const mergeAll = (
  tables: Tables,
  tasks: ReadonlyArray<Task>,
  state: State,
  updates: ReadonlyArray<Update>
): State => {
  const next = { ...state }
  const written = new Map<string, Task>()
  for (let i = 0; i < tasks.length; i++) {
    mergeOne(tables, tasks[i] as Task, updates[i] as Update, next, written)
  }
  return next
}

/** Sources that each join has seen since it last ran. */
export type Reached = ReadonlyMap<Task, ReadonlySet<Task>>

export interface Route {
  readonly next: ReadonlyArray<Task>
  readonly reached: Reached
}

const nothingReached: Reached = new Map()
const noTasks: ReadonlyArray<Task> = []

export const begin = (tables: Tables): Route => ({ next: [tables.start], reached: nothingReached })

/** Targets chosen by the branch of a node, or a defect. */
const chosen = (tables: Tables, task: Task, state: State): Targets => {
  const { to, when } = task.branch as TaskBranch
  const given = when(state)
  const one = typeof given === "string" ? to.get(given) : undefined
  if (one !== undefined) return one
  const names: ReadonlyArray<unknown> = Array.isArray(given) ? given : [given]
  if (names.length === 0) throw defect(tables, task, `branched nowhere: name a target, or "END"`)
  return together(
    names.map((name) => {
      const targets = to.get(name as string)
      if (targets !== undefined) return targets
      const known = [...to.keys()].map(quote).join(", ")
      throw defect(tables, task, `branched to ${quote(String(name))}, which is not among its targets ${known}`)
    })
  )
}

/** The next step after these tasks, in the order of declaration. */
export const route = (tables: Tables, ran: ReadonlyArray<Task>, state: State, reached: Reached): Route => {
  const first = ran[0] as Task
  if (ran.length === 1 && reached.size === 0) {
    const targets = first.targets ?? chosen(tables, first, state)
    if (targets.joins.length === 0) return { next: targets.tasks, reached }
  }
  const next = new Set<Task>()
  const arrived = new Map(reached)
  for (const task of ran) {
    const targets = task.targets ?? chosen(tables, task, state)
    for (const target of targets.tasks) next.add(target)
    for (const join of targets.joins) arrived.set(join, new Set(arrived.get(join)).add(task))
  }
  for (const [join, sources] of arrived) {
    if (sources.size < (tables.joins.get(join) as ReadonlySet<Task>).size) continue
    next.add(join)
    arrived.delete(join)
  }
  if (next.size === 0) {
    // Nothing else can arrive: the waiting joins run with what has arrived.
    for (const join of arrived.keys()) next.add(join)
    arrived.clear()
  }
  return { next: next.size === 0 ? noTasks : [...next].sort(byIndex), reached: arrived }
}
