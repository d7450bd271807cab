/**
 * What came of the calls of a plan: as a field of a state, as a model reads it, as events tell it.
 *
 * @since 0.1.0
 * @internal
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

/** A call and what came of it. */
export const Call = Schema.Struct({
  id: Schema.String,
  tool: Schema.String,
  /** Its arguments as the plan has them. */
  args: Schema.String,
  dependencies: Schema.Array(Schema.String),
  status: Schema.Literal("pending", "completed", "failed", "skipped"),
  /** What references to it stand for, when it is completed. */
  value: Schema.optional(Schema.Unknown),
  /** What a model reads of it: the result, the error, or why it was skipped. */
  observation: Schema.String
})
export interface Call extends Schema.Schema.Type<typeof Call> {}

const maxArgs = 2000

const oneLine = (text: string): string => {
  const line = text.trim().replace(/\s+/g, " ")
  return line.length > maxArgs ? `${line.slice(0, maxArgs).replace(/[\ud800-\udbff]$/, "")}…` : line
}

/** Every line of data stands further in than the lines between results: it cannot pass for one of them. */
const indented = (text: string): string => `  ${text.trim().replace(/\r\n?|\n/g, "\n  ")}`

/** Calls with their results, one after another. `shown` is how one is written. */
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

/** What is said of a call that cannot be made because others did not end well. */
export const skippedText = (failed: ReadonlyArray<string>): string =>
  `Not called: it needs ${failed.join(" and ")}, which gave no result.`
