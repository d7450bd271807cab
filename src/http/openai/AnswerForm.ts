/**
 * What requests say of their answers: the form that they have, and the tools that the model must call.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Runs from "../../agent/runs/Runs.js"
import * as JsonText from "../../internal/text/JsonText.js"
import type { ApiError } from "../api/ApiError.js"
import { maybe } from "../chat/CallerTools.js"
import { refused } from "./OpenAiFailures.js"

/**
 * A JSON Schema as a client gives it. Answers always fit it, with `strict` or without.
 *
 * @category schemas
 */
export const Given = Schema.Struct({
  name: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
  description: maybe(Schema.String.pipe(Schema.maxLength(8192))),
  schema: maybe(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
})
/**
 * @category models
 */
export interface Given extends Schema.Schema.Type<typeof Given> {}

/**
 * @category schemas
 */
export const Plain = Schema.Struct({ type: Schema.Literal("text", "json_object") })

/**
 * The form that a request asks for: its schema, or any object.
 *
 * @category models
 */
export type Form = Given | "json_object" | undefined

/**
 * What a request asks of its answer. An agent with an output of its own answers in that one where any object is asked
 * for.
 *
 * @category conversions
 */
export const toOutput = (form: Form, hasOutput: boolean): Pick<Runs.StartRequest, "output"> => {
  if (form === undefined || (form === "json_object" && hasOutput)) return {}
  if (form === "json_object") return { output: { schema: { type: "object" } } }
  const { description, name, schema } = form
  return {
    output: {
      name,
      ...(description === undefined || description === null ? {} : { description }),
      schema: schema ?? { type: "object" }
    }
  }
}

/**
 * @category schemas
 */
export const ToolChoice = Schema.Union(Schema.String, Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const isMode = Schema.is(Schema.Literal("auto", "none", "required"))
const isNamed = Schema.is(Schema.Struct({ type: Schema.Literal("function"), name: Schema.String }))
const isFunction = Schema.is(
  Schema.Struct({ type: Schema.Literal("function"), function: Schema.Struct({ name: Schema.String }) })
)

/**
 * The tools that the model must call, of those of the request and the agent.
 *
 * @category conversions
 */
export const toChoice = (
  choice: typeof ToolChoice.Type | null | undefined
): Effect.Effect<Pick<Runs.StartRequest, "toolChoice">, ApiError> => {
  if (choice === undefined || choice === null) return Effect.succeed({})
  if (isMode(choice)) return Effect.succeed({ toolChoice: choice })
  if (isNamed(choice)) return Effect.succeed({ toolChoice: { tool: choice.name } })
  if (isFunction(choice)) return Effect.succeed({ toolChoice: { tool: choice.function.name } })
  return refused(
    ["tool_choice"],
    "unsupported_parameter",
    "The tool choice is none that this server takes",
    "Give `auto`, `none`, `required`, or one function by its name"
  )
}

/**
 * The text of an answer that is data, as clients read it: models write around it.
 *
 * @category conversions
 */
export const toJson = (text: string): string => {
  try {
    JSON.parse(text)
    return text
  } catch {
    return Either.match(JsonText.read(text), { onLeft: () => text, onRight: (value) => JSON.stringify(value) })
  }
}
