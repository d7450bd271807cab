/**
 * The agent of a run as its request asks it to answer: in a form of the caller, and by certain tools.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import type { StandardSchema } from "../internal/text/StandardSchema.js"
import * as JsonSchemaValidator from "../tool/definition/JsonSchemaValidator.js"
import type { AgentRequest } from "./AgentExecutor.js"
import { RecentValues } from "./ClientTools.js"
import * as AgentControl from "./definition/AgentControl.js"
import * as Agent from "./definition/AgentDefinition.js"
import * as RequestedAnswer from "./record/RequestedAnswer.js"

interface Requested extends Pick<AgentRequest, "clientTools"> {
  readonly output?: RequestedAnswer.Output | undefined
  readonly toolChoice?: RequestedAnswer.ToolChoice | undefined
}

/**
 * Why a request cannot be answered as it asks.
 *
 * @category models
 */
export interface Problem {
  readonly message: string
  readonly hint: string
}

const RETRIES = 2
const LARGEST = 131_072

const unfit = (why: string): Problem => ({
  message: `The output of the request is not valid: ${why.slice(0, 600)}`,
  hint: "Give the JSON Schema of an object, draft-07 or 2020-12, without references to other documents"
})

const toStandard = ({ validate }: JsonSchemaValidator.Validator): StandardSchema => ({
  "~standard": {
    version: 1,
    vendor: "json-schema",
    validate: (value) => {
      const issues = validate(value)
      return issues.length === 0
        ? { value }
        : { issues: issues.map(({ message, path }) => ({ message, path: path === "" ? [] : [path] })) }
    }
  }
})

const make = ({ description, name = "answer", schema }: RequestedAnswer.Output): Either.Either<Agent.Output, Problem> =>
  Either.mapBoth(JsonSchemaValidator.compile(schema), {
    onLeft: (why) => unfit(why.replace("parameters are", "it is")),
    onRight: (validator) => {
      const described = description === undefined ? validator.schema : { description, ...validator.schema }
      const output = Agent.makeOutput(name, toStandard(validator), RETRIES, described)
      return { ...output, spec: { ...output.spec, name }, isRequested: true }
    }
  })

/** Many requests have the same output: its schema is compiled once. */
const known = new RecentValues<ReturnType<typeof make>>(Either.isRight)

const isOutput = Schema.is(RequestedAnswer.Output)
const isChoice = Schema.is(RequestedAnswer.ToolChoice)

/** The text of a value; none if it nests too deep or is no plain data. */
const textOf = (value: unknown): string | undefined => {
  try {
    return CanonicalJson.stringify(value)
  } catch {
    return undefined
  }
}

const toOutput = (given: RequestedAnswer.Output): Either.Either<Agent.Output, Problem> => {
  if (!isOutput(given)) return Either.left(unfit("it has a name, a description and a `schema`"))
  const key = textOf(given)
  if (key === undefined) return Either.left(unfit("it nests too deep"))
  if (key.length > LARGEST) return Either.left(unfit(`it has more than ${LARGEST} characters`))
  return known.get(key, () => make(given))
}

/** A schema without its address, as text. */
const plain = (schema: unknown): string | undefined =>
  Either.match(JsonSchemaValidator.normalise(schema), {
    onLeft: () => undefined,
    onRight: ({ $id: _, $schema: __, ...body }) => textOf(body)
  })

/** The agent's own output, if it is the one that is asked for, or else that one. */
const outputOf = (agent: Agent.Any | undefined, given: RequestedAnswer.Output): Either.Either<Agent.Output, Problem> =>
  Either.flatMap(toOutput(given), (output) => {
    const own = agent?.definition.output
    if (own === undefined) return Either.right(output)
    return plain(own.spec.jsonSchema) === plain(given.schema)
      ? Either.right(own)
      : Either.left({
          message: `The agent "${agent?.name}" answers in a form of its own`,
          hint: "Leave `output` out, or ask an agent without an output"
        })
  })

/** Sources tell their tools when the run begins: a name may be one of theirs. */
const choiceProblem = (
  agent: Agent.Any | undefined,
  { clientTools = [], toolChoice }: Requested
): Problem | undefined => {
  const hint = "Give `auto`, `none`, `required`, or `{ tool }` with the name of a tool"
  if (!isChoice(toolChoice)) return { message: "The tool choice of the request is not valid", hint }
  if (typeof toolChoice === "string" || agent === undefined || agent.definition.control.toolSources.length > 0) {
    return undefined
  }
  const { tool } = toolChoice
  return agent.definition.tools.get(tool) !== undefined || clientTools.some(({ name }) => name === tool)
    ? undefined
    : { message: `Neither "${agent.name}" nor the request has the tool "${tool}"`, hint }
}

/**
 * Why a request cannot be answered as it asks. The agent may be unknown: another process runs it.
 *
 * @category errors
 */
export const problemOf = (agent: Agent.Any | undefined, request: Requested): Problem | undefined => {
  const output = request.output === undefined ? undefined : outputOf(agent, request.output)
  if (output !== undefined && Either.isLeft(output)) return output.left
  return request.toolChoice === undefined ? undefined : choiceProblem(agent, request)
}

/** The output of an agent that must not run. */
const refusing = Agent.makeOutput("answer", Schema.Struct({}), 0, undefined)

/**
 * The agent with the output and the choice of a request. One that cannot answer so fails before it asks its model.
 *
 * @category conversions
 */
export const apply = (agent: Agent.Any, { output: given, toolChoice }: Requested): Agent.Any => {
  const chosen: Agent.Any =
    toolChoice === undefined || toolChoice === "auto" ? agent : AgentControl.withToolChoice(toolChoice)(agent)
  if (given === undefined) return chosen
  const output = outputOf(agent, given)
  return Agent.change(chosen, {
    output: Either.getOrElse(output, ({ message }): Agent.Output => ({ ...refusing, problem: message }))
  })
}
