/**
 * Writes the actions, states and tools of a tree search for its models.
 *
 * @since 0.1.0
 * @private
 */
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import { type Action, describe, plain } from "./LatsAction.js"

/** Indents text from outside, so that it cannot pass for a line of the list around it. */
const inset = (text: string): string => text.replace(/\r\n|[\n\r\u2028\u2029]/g, "\n     ")

/**
 * The path as a numbered list.
 *
 * @since 0.1.0
 * @category conversions
 */
export const renderPath = (path: ReadonlyArray<Action>): string =>
  path.length === 0
    ? "Nothing has been done yet."
    : path
        .map((action, index) =>
          [
            `${index + 1}.`,
            ...(action.thought === "" ? [] : [`   Thought: ${inset(action.thought)}`]),
            `   Action: ${inset(describe(action))}`,
            ...(action.observation === undefined ? [] : [`   Observation: ${inset(action.observation)}`])
          ].join("\n")
        )
        .join("\n")

/**
 * The state at the end of the path.
 *
 * @since 0.1.0
 * @category conversions
 */
export const renderState = (path: ReadonlyArray<Action>): string => {
  const last = path[path.length - 1]
  if (last === undefined) return "The beginning: only the task is known."
  switch (last.kind) {
    case "call":
      return `The call ${inset(describe(last))} showed: ${inset(last.observation ?? "")}`
    case "answer":
      return `The final answer was given: ${inset(last.text)}`
    case "step":
      return `The last step was: ${inset(last.text)}`
  }
}

/**
 * @since 0.1.0
 * @category conversions
 */
export const renderTools = (definitions: ReadonlyArray<ToolDefinition>): string =>
  definitions.length === 0
    ? "There are no tools: an action is a step of reasoning or the final answer."
    : definitions
        .map(
          ({ description, name, parameters }) =>
            `- ${name}: ${plain(description)}\n  Arguments: ${JSON.stringify(parameters)}`
        )
        .join("\n")

/**
 * @since 0.1.0
 * @category conversions
 */
export const renderReflections = (reflections: ReadonlyArray<string>): string =>
  reflections.length === 0 ? "No attempt has failed so far." : reflections.map((text) => `- ${inset(text)}`).join("\n")
