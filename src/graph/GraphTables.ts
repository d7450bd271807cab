/**
 * Run-time tables of a graph, prepared once: nodes by number, targets, fields, reducers, joins.
 *
 * @since 0.1.0
 * @private
 */
import * as Predicate from "effect/Predicate"
import * as SchemaAST from "effect/SchemaAST"
import * as Nearest from "../internal/text/Nearest.js"
import * as GraphCache from "./GraphCache.js"
import { END, type Fields } from "./GraphChoice.js"
import * as GraphCodec from "./GraphCodec.js"
import type { Branch, Decided, Edge, StateGraph, Tables, Targets, Task } from "./GraphDefinition.js"
import { GraphDefectError, type GraphIssue } from "./GraphError.js"

type Erased = StateGraph<string, any, any, any, any>
type State = Fields
type Update = Fields

const reserved: ReadonlySet<string> = new Set([END, "__proto__", ""])
/** Names of no field: `GraphCodec` writes under the empty one where a node went. */
const unnameable: ReadonlySet<string> = new Set(["__proto__", ""])
/** Keys of tasks that `send` runs end like this. */
const numbered = /#\d+$/

/** True if the state or the node decides where an edge leads. */
export const isBranch = (edge: Edge<any, string>): edge is Branch<any, string> | Decided<string> =>
  Predicate.isReadonlyRecord(edge)

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

export const quote = (name: string): string => JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name)

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
    if (fields.length < struct.propertySignatures.length || fields.some((field) => unnameable.has(field))) {
      add("state", "a field of the state has a symbol, __proto__ or nothing for a name: give it another")
    }
    for (const [field, reducer] of Object.entries(graph.reducers)) {
      if (reducer !== undefined && !fields.includes(field)) {
        const hint = meant(field, fields)
        add("unknown-field", `there is a reducer for ${quote(field)}, which is no field of the state${hint}`)
      }
    }
  }
  for (const name of names) {
    if (reserved.has(name) || numbered.test(name))
      add("reserved-name", `${quote(name)} cannot be the name of a node: rename it`, name)
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
  const codec = GraphCodec.make(graph.state)
  const fields = new Set(fieldsOf(structOf(graph.state.ast) as SchemaAST.TypeLiteral))
  for (const [name, { cache, run, subgraph }] of graph.nodes) {
    const targets = targetsOf(graph.edges.get(name) ?? END)
    const place = { graph: graph.name, node: name, codec, fields, targets }
    const cached = cache === undefined ? run : GraphCache.make(run, { cache, ...place })
    const nested = subgraph !== undefined
    const edge = { targets: undefined, branch: undefined }
    tasks.set(name, { index: tasks.size, name, key: name, sent: undefined, run: cached, nested, ...edge })
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
    fields,
    reducers: new Map(Object.entries(graph.reducers).filter((entry) => entry[1] !== undefined)) as Tables["reducers"],
    joins,
    nested: [...tasks.values()].some((task) => task.nested),
    codec
  }
}

const byIndex = (a: Task, b: Task): number => a.index - b.index

export const nowhere: Targets = { tasks: [], joins: [] }

const split = (target: Task, joins: Tables["joins"]): Targets =>
  joins.has(target) ? { tasks: [], joins: [target] } : { tasks: [target], joins: [] }

export const together = (all: ReadonlyArray<Targets>): Targets =>
  all.length === 1
    ? (all[0] as Targets)
    : {
        tasks: [...new Set(all.flatMap((targets) => targets.tasks))].sort(byIndex),
        joins: [...new Set(all.flatMap((targets) => targets.joins))]
      }

export const defect = (tables: Tables, task: Task, message: string): GraphDefectError =>
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
      const also = other.name === task.name ? "twice" : `and node "${other.name}"`
      const problem = `${also} wrote ${quote(field)} in one step: give the field a reducer`
      throw defect(tables, task, problem)
    }
    written?.set(field, task)
    into[field] = update[field]
  }
}

/** The state as a task sees it. */
export const seenBy = (task: Task, state: State): State =>
  task.sent === undefined ? state : { ...state, ...task.sent.update }

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
