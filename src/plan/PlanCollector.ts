/**
 * Collects the tasks of a plan as they are read: numbers them, validates them and finds their dependencies.
 *
 * @since 0.1.0
 * @private
 */
import { count } from "../internal/Count.js"
import type { LlmCompilerPlan, Options, PlanTask, Reading } from "./LlmCompilerTask.js"
import * as PlanArguments from "./PlanArguments.js"
import { PlanError, type PlanIssue } from "./PlanError.js"
import * as ReActAction from "./react/ReActAction.js"
import * as TaskGraph from "./TaskGraph.js"

const withoutZeros = (id: string): string => id.replace(/^0+(?=\d)/, "")

/** The notations with and without `#`. */
export const grammars: { readonly [N in PlanTask["notation"]]: PlanArguments.Grammar } = {
  $: {
    pattern: /\$\{\s*\$?(\d+)\s*\}|\$(\d+)/g,
    idOf: (match) => withoutZeros(match[1] ?? (match[2] as string))
  },
  "$#": {
    pattern: /\$\{\s*[$#]?(\w+)\s*\}|\$(\d+)|#(\w+)/g,
    idOf: (match) => withoutZeros(match[1] ?? match[2] ?? (match[3] as string))
  }
}

const sure: PlanArguments.Grammar = {
  pattern: /\$\{\s*\$?(\d+)\s*\}|^\s*\$(\d+)\s*$/g,
  idOf: grammars.$.idOf
}

/**
 * Numbers after a `$` that are a whole string or in braces can only be references. Inside a longer text a number may be
 * a price, and a word after `#` may be a word.
 */
export const sureReferences = (value: unknown): ReadonlySet<string> => new Set(PlanArguments.references(value, sure))

export const quote = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)

const isNumber = (id: string): boolean => /^\d+$/.test(id)

export const referenceOf = (id: string): string => (isNumber(id) ? `$${id}` : `#${id}`)

const maxShown = 20

/** The error of a rejected plan. */
export const error = (strategyName: string, issues: readonly [PlanIssue, ...ReadonlyArray<PlanIssue>]): PlanError =>
  new PlanError({
    strategyName,
    issues: [issues[0], ...issues.slice(1, 100)],
    message: `The plan cannot be executed: ${explain(issues).slice(0, 1000)}`,
    hint: "Use a stronger model for planning, fewer tools, or clearer descriptions of them"
  })

/** The issues in words the model can act on. */
export const explain = (issues: ReadonlyArray<PlanIssue>): string =>
  issues
    .slice(0, maxShown)
    .map(({ message }) => message)
    .concat(issues.length > maxShown ? [`and ${issues.length - maxShown} more`] : [])
    .join("; ")

/** A task as it was written. */
export interface Written {
  readonly id: string | undefined
  readonly tool: string
  readonly args: ReadonlyArray<unknown>
  readonly named: { readonly [name: string]: unknown }
  readonly argsRaw: string
  readonly notation: PlanTask["notation"]
  readonly thought?: string | undefined
  /** Dependencies named in addition to those the arguments refer to. */
  readonly needs?: ReadonlyArray<string> | undefined
}

/** An id without the marks around it. */
export const idOf = (text: string): string =>
  withoutZeros(
    text
      .trim()
      .slice(0, 200)
      .replace(/^[$#{]+|(?<![}:])[}:]+$/g, "")
  )

export class Collector {
  readonly #maxTasks: number
  readonly #tools: ReadonlyMap<string, PlanArguments.Schema | undefined> | undefined
  readonly #names: ReadonlyArray<string> | undefined
  readonly #find: Options["findTool"]
  readonly #earlier: ReadonlyMap<string, boolean>
  readonly #tasks = new Map<string, PlanTask>()
  /** Tasks whose texts contain words and numbers that may turn out to be references to later tasks. */
  readonly #held = new Map<string, ReadonlyArray<string>>()
  #fresh: Array<PlanTask> = []
  #thoughts: Array<string> = []
  #join: PlanTask | undefined
  #highest = 0
  #restarts = false
  readonly issues: Array<PlanIssue> = []
  /** Ends the plan. Later text does not belong to it. */
  isOver = false
  /** The text contains a plan, even if it has no tasks. */
  isFound = false
  written = 0

  constructor(options: Options) {
    this.#maxTasks = count(options.maxTasks, 500, 1)
    this.#tools = options.tools && new Map(options.tools.map(({ name, parameters }) => [name, parameters]))
    this.#names = options.tools?.map(({ name }) => name)
    this.#find = options.findTool
    this.#earlier = options.earlier ?? new Map()
  }

  hasTool(name: string): boolean {
    return ReActAction.knownTool(name, this.#names) !== undefined
  }

  continues(): boolean {
    return !this.#restarts
  }

  think(text: string): void {
    const thought = text.trim()
    if (thought !== "") this.#thoughts.push(thought)
  }

  takeFresh(): ReadonlyArray<PlanTask> {
    const fresh = this.#fresh
    this.#fresh = []
    return fresh
  }

  #issue(reason: PlanIssue["reason"], task: string | undefined, message: string): void {
    this.issues.push({ reason, ...(task === undefined ? {} : { task: task.slice(0, 64) }), message })
  }

  #takeThought(own: string | undefined): string {
    const thought = own ?? this.#thoughts.join("\n")
    this.#thoughts = []
    return thought
  }

  /** Counts an unreadable task. */
  refuse(id: string | undefined, message: string): void {
    this.#count()
    this.#thoughts = []
    if (this.isOver) return
    this.#issue("malformed", id, id === undefined ? message : `task ${quote(id)}: ${message}`)
    const number = Number(id)
    if (Number.isSafeInteger(number)) this.#highest = Math.max(this.#highest, number)
  }

  #count(): void {
    this.written++
    this.isFound = true
    // One more than the tasks, for the join.
    if (this.written > this.#maxTasks + 1) this.#tooLong(undefined)
  }

  #tooLong(id: string | undefined): void {
    if (!this.isOver) this.#issue("too-long", id, `the plan has more than ${this.#maxTasks} tasks`)
    this.isOver = true
  }

  accept(task: Written): void {
    const id = task.id === undefined ? String(this.#highest + 1) : idOf(task.id)
    if (!/^\w{1,64}$/.test(id)) this.refuse(undefined, `a task is called ${quote(id)}: use a number`)
    else if (task.tool.toLowerCase() === "join") this.#acceptJoin(id, task)
    else this.#acceptTask(id, task)
  }

  #acceptTask(id: string, task: Written): void {
    this.#count()
    if (this.#tasks.size >= this.#maxTasks) this.#tooLong(id)
    if (this.isOver) return
    if (this.#tasks.size === 0 && this.#earlier.has(id)) this.#restarts = true
    if (this.#tasks.has(id) || (!this.#restarts && this.#earlier.has(id))) {
      this.#thoughts = []
      this.#issue("duplicate", id, `there are two tasks ${referenceOf(id)}: give each a different number`)
      return
    }
    if (isNumber(id)) this.#highest = Math.max(this.#highest, Math.min(Number(id), Number.MAX_SAFE_INTEGER - 1))
    this.#keep(id, task, this.#toolOf(id, task))
  }

  #toolOf(id: string, { args, tool }: Written): string {
    if (this.#tools === undefined) return tool
    const listed = ReActAction.knownTool(tool, this.#names)
    const found = listed === undefined ? this.#find?.(tool) : undefined
    const known = listed ?? found?.name
    if (known === undefined) {
      const names = (this.#names as ReadonlyArray<string>).slice(0, 20).map(quote).join(", ")
      this.#issue("unknown-tool", id, `${referenceOf(id)} calls ${quote(tool)}, but the tools are ${names || "none"}`)
      return tool
    }
    const schema = found === undefined ? this.#tools.get(known) : found.parameters
    const count = schema === undefined ? 0 : PlanArguments.parameterNames(schema).length
    if (count > 0 && args.length > count) {
      this.#issue("malformed", id, `${referenceOf(id)}: ${quote(known)} takes ${count} arguments, not ${args.length}`)
    }
    return known
  }

  #keep(id: string, { args, argsRaw, named, needs, notation, thought }: Written, tool: string): void {
    const sure = sureReferences({ args, named })
    const dependencies = new Set([...(needs ?? []), ...sure])
    const open: Array<string> = []
    for (const other of PlanArguments.references({ args, named }, grammars[notation])) {
      if (other === id || this.#isKnown(other)) dependencies.add(other)
      else if (!sure.has(other)) open.push(other)
    }
    if (dependencies.delete(id)) this.#issue("cycle", id, `${referenceOf(id)} refers to itself`)
    const task: PlanTask = {
      id,
      tool,
      args,
      named,
      argsRaw,
      thought: this.#takeThought(thought),
      dependencies: sorted(dependencies),
      notation
    }
    this.#tasks.set(id, task)
    if (open.length === 0) this.#fresh.push(task)
    else this.#held.set(id, open)
  }

  #isKnown(id: string): boolean {
    return this.#tasks.has(id) || (!this.#restarts && this.#earlier.get(id) === true)
  }

  #acceptJoin(id: string, { args, argsRaw, named, notation, thought }: Written): void {
    this.#count()
    this.isFound = true
    this.isOver = true
    this.#join = {
      id,
      tool: "join",
      args,
      named,
      argsRaw,
      thought: this.#takeThought(thought),
      dependencies: sorted(new Set(this.#tasks.keys())),
      notation
    }
  }

  /**
   * A word after `#` that names no task is text, unless it differs from the names of tasks only in its number. Likewise
   * a number after `$` inside a longer text, if it is above the numbers of all tasks.
   */
  #settleHeld(): void {
    const stem = (id: string) => id.replace(/(?<!\d)\d+$/, "")
    const stems = new Set(Array.from(this.#tasks.keys(), stem))
    const highest = this.#highestNumber()
    for (const [id, open] of this.#held) {
      const task = this.#tasks.get(id) as PlanTask
      const numbers = new Set(PlanArguments.references({ args: task.args, named: task.named }, grammars.$))
      const isMeant = (other: string) =>
        isNumber(other)
          ? numbers.has(other) && Number(other) <= highest
          : stem(other) !== other && stems.has(stem(other))
      const more = open.filter((other) => this.#tasks.has(other) || isMeant(other))
      const settled = { ...task, dependencies: sorted(new Set([...task.dependencies, ...more])) }
      this.#tasks.set(id, settled)
    }
    this.#held.clear()
  }

  /** All tasks this plan can refer to: those before its join, and those it continues. */
  #highestNumber(): number {
    const last = Number(this.#join?.id)
    let highest = Math.max(this.#highest, last <= 2 * this.#maxTasks ? last - 1 : 0)
    if (!this.#restarts) {
      for (const id of this.#earlier.keys()) if (isNumber(id)) highest = Math.max(highest, Number(id))
    }
    return highest
  }

  /** Numbers before the join without a task. Not computed if numbers are far apart. */
  #gaps(): ReadonlyArray<string> {
    const last = Number(this.#join?.id)
    const [first] = this.#tasks.keys()
    if (!(last <= 2 * this.#maxTasks) || (first !== undefined && !isNumber(first))) return []
    const from = this.#restarts || this.#earlier.size === 0 ? 1 : Number(first ?? last)
    return Array.from({ length: Math.max(0, last - from) }, (_, index) => String(from + index)).filter(
      (id) => !this.#tasks.has(id)
    )
  }

  finish(): Reading {
    this.isOver = true
    this.#settleHeld()
    const tasks = Array.from(this.#tasks.values())
    const known = new Set<string>()
    if (!this.#restarts) for (const [id, hasResult] of this.#earlier) if (hasResult) known.add(id)
    const missing = new Set<string>(this.#gaps())
    for (const task of tasks) {
      for (const id of task.dependencies) if (!this.#tasks.has(id) && !known.has(id)) missing.add(id)
    }
    if (!this.isFound) {
      this.#issue("empty", undefined, "there is no plan in the reply: no task, and no join")
    }
    const plan: LlmCompilerPlan = { tasks, join: this.#join }
    const issues = [...this.issues, ...TaskGraph.check(tasks, { known, shown: referenceOf })]
    return { plan, issues, written: this.written, missing: sorted(missing) }
  }
}

const sorted = (ids: ReadonlySet<string>): ReadonlyArray<string> => {
  const list = Array.from(ids)
  return list.every(isNumber) ? list.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)) : list
}
