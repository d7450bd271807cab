/**
 * Writes tools for a prompt.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface PromptTool {
  readonly name: string
  readonly description: string
  readonly parameters: unknown
}

const rendered = new WeakMap<ReadonlyArray<PromptTool>, string>()

const render = (tools: ReadonlyArray<PromptTool>): string =>
  tools.length === 0
    ? "There are no tools."
    : `Tools:\n${tools
        .map(
          (tool) =>
            `- ${tool.name}: ${tool.description.replace(/\s+/g, " ")}\n  Parameters: ${JSON.stringify(tool.parameters)}`
        )
        .join("\n")}`

/**
 * Each tool on a line, with its JSON Schema below. Made once per set of definitions.
 *
 * @since 0.1.0
 * @category conversions
 */
export const text = (tools: ReadonlyArray<PromptTool>): string => {
  let result = rendered.get(tools)
  if (result === undefined) {
    result = render(tools)
    rendered.set(tools, result)
  }
  return result
}
