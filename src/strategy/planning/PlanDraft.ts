/**
 * Asks the model for a plan, and places its steps among those of a run.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ReActAction from "../../plan/react/ReActAction.js"
import type { Bound } from "../../tool/definition/ToolSet.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { ReplyForm } from "../definition/ReplyForm.js"
import type { StrategyReplyError } from "../definition/StrategyError.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import type * as Planner from "./Planner.js"
import type * as PlanReply from "./PlanReply.js"
import type * as PlanState from "./PlanState.js"

/** The tool of the task that a plan means. */
const toolOf = (tools: Bound, name: string) => {
  const known = ReActAction.knownTool(name, ToolLoop.writtenNames(tools)) ?? name
  return tools.get(known)
}

/** The tools, as a prompt lists them. */
export const toolsText = (tools: Bound): string =>
  tools.definitions.length === 0
    ? "There are no tools: all steps are steps of reasoning."
    : tools.definitions
        .map(
          ({ description, name, parameters }) =>
            `- ${name}: ${description.replace(/\s+/g, " ")}\n  Parameters: ${JSON.stringify(parameters)}`
        )
        .join("\n")

const unknownTools = (tools: Bound, steps: ReadonlyArray<Planner.Step>): ReadonlyArray<string> =>
  steps.flatMap(({ tool }) => (tool === undefined || toolOf(tools, tool) !== undefined ? [] : [tool.slice(0, 128)]))

const namesOf = (tools: Bound): string =>
  tools.definitions.length === 0 ? "there are no tools" : tools.definitions.map(({ name }) => name).join(", ")

/**
 * Asks the model for a plan. If the plan names unknown tools, asks once more with the names of the known ones.
 */
export const ask = <Variable extends string>(
  prompt: Parameters<Reasoning.Service["askFor"]>[0] & { readonly variables: ReadonlyArray<Variable> },
  values: { readonly [K in Variable]: string },
  form: ReplyForm<PlanReply.Drafted>
): Effect.Effect<Reasoning.Formed<PlanReply.Drafted>, LlmError | Fatality | StrategyReplyError, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const first = yield* reasoning.askFor(prompt, values, form)
    const { tools } = reasoning.task
    const unknown = unknownTools(tools, first.value.steps)
    if (unknown.length === 0) return first
    const names = Array.from(new Set(unknown), (name) => JSON.stringify(name)).slice(0, 20)
    return yield* reasoning.askFor(prompt, values, form, {
      follow: [
        { role: "assistant", content: first.text },
        {
          role: "user",
          content: `There is no tool ${names.join(", ")}. The tools are: ${namesOf(tools)}. Write the whole plan again: name none but these, and make what none of them can do a step of reasoning.`
        }
      ]
    })
  })

/** Numbers the steps, resolves the names of their tools, and skips those beyond `maxSteps`. */
export const place = (
  tools: Bound,
  drafted: ReadonlyArray<Planner.Step>,
  options: { readonly after: number; readonly maxSteps: number }
): ReadonlyArray<PlanState.Step> =>
  drafted.map((step, index) => {
    const tool = step.tool === undefined ? undefined : toolOf(tools, step.tool)
    const lost = step.tool !== undefined && tool === undefined
    return {
      id: String(options.after + index + 1),
      description: lost
        ? `${step.description} (by reasoning: there is no tool ${JSON.stringify(step.tool?.slice(0, 128))})`
        : step.description,
      ...(tool === undefined ? {} : { tool: tool.name }),
      ...(tool === undefined || step.arguments === undefined ? {} : { arguments: step.arguments }),
      status: index < options.maxSteps ? "pending" : "skipped"
    }
  })
