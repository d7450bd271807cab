/**
 * The results of a plan's calls: as a field of a state, as text for a model, and as steps for events.
 *
 * @since 0.1.0
 * @private
 */
import * as Schema from "effect/Schema"
import { FinishReason, type PlanStep } from "../domain/AgentEvent.js"
import type { Message } from "../llm/model/LlmClient.js"

/** An answer as a field of a state. */
export const Answered = Schema.Struct({
  text: Schema.String,
  reason: FinishReason,
  output: Schema.optional(Schema.Unknown),
  messages: Schema.Array(Schema.Any as Schema.Schema<Message>)
})

/** A call with its result. */
export const Call = Schema.Struct({
  id: Schema.String,
  tool: Schema.String,
  /** The arguments as the plan has them. */
  args: Schema.String,
  dependencies: Schema.Array(Schema.String),
  status: Schema.Literal("pending", "completed", "failed", "skipped"),
  /** The value of references to it, once it is completed. */
  value: Schema.optional(Schema.Unknown),
  /** The text for the model: the result, the error, or why it was skipped. */
  observation: Schema.String
})
export interface Call extends Schema.Schema.Type<typeof Call> {}

const maxArgs = 2000

const oneLine = (text: string): string => {
  const line = text.trim().replace(/\s+/g, " ")
  return line.length > maxArgs ? `${line.slice(0, maxArgs).replace(/[\ud800-\udbff]$/, "")}…` : line
}

/** Every line of data is indented further than the lines between results, so that it cannot pass for one of them. */
const indented = (text: string): string => `  ${text.trim().replace(/\r\n?|\n/g, "\n  ")}`

/** Calls with their results, in order. `shown` writes one call. */
export const render = (
  calls: ReadonlyArray<Call>,
  shown: (call: Call, args: string) => string,
  nothing: string = "No calls were made."
): string =>
  calls.length === 0
    ? nothing
    : calls
        .map((call) => `${shown(call, oneLine(call.args))} [${call.status}]\n${indented(call.observation)}`)
        .join("\n\n")

/** Calls as steps of a plan. */
export const toSteps = (calls: Iterable<Call>, shown: (call: Call, args: string) => string): ReadonlyArray<PlanStep> =>
  Array.from(calls, (call) => ({
    id: call.id,
    description: shown(call, oneLine(call.args)),
    tool: call.tool,
    dependsOn: call.dependencies,
    status: call.status
  }))

/** The observation of a call that is skipped because calls it depends on did not succeed. */
export const skippedText = (failed: ReadonlyArray<string>): string =>
  `Not called: it needs ${failed.join(" and ")}, which gave no result.`
