/**
 * Writes runs for people.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentResponse } from "../../domain/AgentResponse.js"
import type { ToolExecutionRecord } from "../../domain/ToolExecutionRecord.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as Observation from "../../tool/definition/Observation.js"

const MOST = 400

/** A text on one line, without its middle if it is long. */
export const short = (text: string): string => Excerpt.ends(text.replace(/\s+/g, " ").trim(), MOST)

const valueText = (value: unknown): string => short(Observation.stringify(value) ?? String(value))

/** A call without its result. */
export const callOf = ({ name, params }: ToolExecutionRecord): string => `${name}(${valueText(params)})`

const resultOf = ({ durationMs, error, isFailure, observation }: ToolExecutionRecord): string => {
  if (isFailure === undefined) return "no result"
  const time = durationMs === undefined ? "" : ` [${Math.round(durationMs)} ms]`
  const text = short(observation ?? "")
  return isFailure ? `failed${error === undefined ? "" : ` (${error.tag})`}: ${text}${time}` : `${text}${time}`
}

const counted = (count: number | undefined, name: string): ReadonlyArray<string> =>
  count === undefined ? [] : [`${count} ${name}${count === 1 ? "" : "s"}`]

const endOf = ({ error, finishReason, interrupted, message }: AgentResponse<unknown>): ReadonlyArray<string> => {
  const said = message === "" ? [] : [`  answer: ${short(message)}`]
  if (interrupted) return [...said, "  interrupted"]
  if (error !== undefined) return [...said, `  failed with ${error.tag}: ${short(error.message)}`]
  return finishReason === undefined ? [...said, "  not ended"] : [...said, `  ended: ${finishReason}`]
}

/** The run, a line for each of its calls. */
export const print = (response: AgentResponse<unknown>): string => {
  const { input, metadata, modelCalls, path, runId, steps, usage } = response
  const taken = [
    ...counted(modelCalls, "model call"),
    ...counted(response.toolCalls.length, "tool call"),
    ...counted(usage.totalTokens, "token"),
    ...(response.costUsd === undefined ? [] : [`$${response.costUsd}`])
  ]
  return [
    `run ${runId} of ${path.join(" → ")}${metadata.strategy === "" ? "" : ` (${metadata.strategy})`}: ${taken.join(", ")}`,
    ...(input === "" ? [] : [`  input: ${short(input)}`]),
    ...steps.flatMap(({ step, thought, toolCalls }) => [
      ...(thought === undefined || thought === "" ? [] : [`  ${step}. ${short(thought)}`]),
      ...toolCalls.map((call) => `  ${step}. ${callOf(call)}\n       → ${resultOf(call)}`)
    ]),
    ...endOf(response)
  ].join("\n")
}
