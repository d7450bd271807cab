/**
 * The tools that a durable run had, for the process that goes on with it: with the definitions that the model was
 * shown, and the handlers that exist now.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tool from "./Tool.js"
import { ToolDefinitionError } from "./ToolError.js"

/** What is recorded of one tool. */
export const Listed = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  parameters: Schema.Unknown,
  problem: Schema.optional(Schema.String)
})
export type Listed = typeof Listed.Type

export const listed = ({ description, name, parameters, problem }: Tool.Any): Listed => ({
  name,
  description,
  parameters,
  ...(problem === undefined ? {} : { problem: problem.message })
})

const isAsListed = (tool: Tool.Any, then: Listed): boolean =>
  tool.description === then.description &&
  tool.problem?.message === then.problem &&
  JSON.stringify(tool.parameters) === JSON.stringify(then.parameters)

class Gone extends Data.TaggedError("Gone")<{ readonly message: string }> {}

/** A tool that is gone: recorded calls of it stand, and the model is told of others. */
const gone = ({ description, name, parameters }: Listed): Tool.Any => {
  const made = Tool.fromJsonSchema(name, {
    description,
    parameters,
    idempotent: true,
    retries: 0,
    handler: () => new Gone({ message: `The tool "${name.slice(0, 128)}" no longer exists` })
  })
  return Either.getOrElse(made, (problem) => Tool.invalid(problem))
}

const remembered = (now: Tool.Any | undefined, then: Listed): Tool.Any => {
  if (now !== undefined && isAsListed(now, then)) return now
  if (then.problem !== undefined)
    return Tool.invalid(new ToolDefinitionError({ toolName: then.name, message: then.problem }))
  if (now === undefined || now.problem !== undefined) return gone(then)
  const { annotations, erased, name } = now
  return Tool.fromParts({
    name,
    annotations,
    erased,
    description: then.description,
    parameters: then.parameters as Tool.Any["parameters"],
    problem: undefined
  }) as Tool.Any
}

/** Whether these are all tools of the list, unchanged. */
export const areAll = (tools: ReadonlyArray<Tool.Any>, then: ReadonlyArray<Listed>): boolean =>
  tools.length === then.length && then.every((one, at) => tools[at]?.name === one.name && isAsListed(tools[at], one))

/** The tools of the list, by those that exist now. */
export const all = (tools: ReadonlyArray<Tool.Any>, then: ReadonlyArray<Listed>): ReadonlyArray<Tool.Any> => {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return then.map((one) => remembered(byName.get(one.name), one))
}
