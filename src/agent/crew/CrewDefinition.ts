/**
 * The parts of a crew, and the check that its agents and tasks fit together.
 *
 * @private
 * @since 0.1.0
 */
import { nearest } from "../../internal/text/Nearest.js"
import * as TaskGraph from "../../plan/TaskGraph.js"
import type * as Agent from "../definition/Agent.js"
import { CrewError } from "../definition/AgentError.js"
import type { Process } from "./CrewResult.js"
import type * as CrewTask from "./CrewTask.js"

export interface CrewDefinition {
  readonly name: string
  readonly agents: ReadonlyArray<Agent.Any>
  readonly tasks: ReadonlyArray<CrewTask.Any>
  readonly process: Process
  readonly manager: Agent.Any | undefined
  readonly failure: "fail" | "continue" | "skip-dependents"
  readonly concurrency: number
}

/** The tasks whose outputs a task is given. Default: the task before it; in a parallel crew none. */
export const contextOf = (crew: CrewDefinition, index: number): ReadonlyArray<string> => {
  const { context } = crew.tasks[index] as CrewTask.Any
  if (context !== undefined) return Array.from(new Set(context))
  const before = crew.process === "parallel" ? undefined : crew.tasks[index - 1]
  return before === undefined ? [] : [before.name]
}

const twice = (names: ReadonlyArray<string>): string | undefined => names.find((name, i) => names.indexOf(name) < i)

const similar = (name: string, known: ReadonlyArray<string>): string => {
  const other = nearest(name, known)
  return other === undefined ? `Known: ${known.slice(0, 20).join(", ")}` : `Did you mean "${other}"?`
}

/** The first problem of a crew, if it has any. */
export const problem = (crew: CrewDefinition): CrewError | undefined => {
  const error = (reason: CrewError["reason"], message: string, task?: string, hint?: string) =>
    new CrewError({
      crewName: crew.name,
      reason,
      message,
      ...(task === undefined ? {} : { task }),
      ...(hint === undefined ? {} : { hint })
    })
  const { agents, process, tasks } = crew
  const agentNames = agents.map((agent) => agent.name)
  const taskNames = tasks.map((task) => task.name)
  if (agents.length === 0) return error("no-agents", `The crew "${crew.name}" has no agents`)
  if (tasks.length === 0) return error("no-tasks", `The crew "${crew.name}" has no tasks`)
  const sameAgent = twice(agentNames)
  if (sameAgent !== undefined) return error("duplicate-agent", `Two agents are named "${sameAgent}"`)
  const sameTask = twice(taskNames)
  if (sameTask !== undefined) return error("duplicate-task", `Two tasks are named "${sameTask}"`, sameTask)
  for (const [index, task] of tasks.entries()) {
    if (task.agent !== undefined && !agentNames.includes(task.agent)) {
      const message = `The task "${task.name}" names the agent "${task.agent}", which the crew does not have`
      return error("unknown-agent", message, task.name, similar(task.agent, agentNames))
    }
    for (const name of contextOf(crew, index)) {
      if (taskNames.includes(name)) continue
      const message = `The task "${task.name}" needs "${name}", which the crew does not have`
      return error("unknown-context", message, task.name, similar(name, taskNames))
    }
  }
  const [cycle] = TaskGraph.check(
    tasks.map((task, index) => ({ id: task.name, dependencies: contextOf(crew, index) })),
    { shown: (id) => `"${id}"` }
  )
  if (cycle !== undefined) return error("cycle", `The tasks cannot start: ${cycle.message}`, cycle.task)
  if (process === "parallel") return undefined
  for (const [index, task] of tasks.entries()) {
    const later = contextOf(crew, index).find((name) => taskNames.indexOf(name) > index)
    if (later === undefined) continue
    const message = `The task "${task.name}" needs "${later}", which comes after it`
    return error("order", message, task.name, 'Move it before this task, or use the process "parallel"')
  }
  return undefined
}
