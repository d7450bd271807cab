/**
 * Tools that an agent declares and the caller of its run executes: a page, an app, or a program that follows the run.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as JsonDepth from "../../internal/JsonDepth.js"
import { isStandard, type StandardSchema } from "../../internal/text/StandardSchema.js"
import * as Observation from "../definition/Observation.js"
import * as ParameterCodec from "../definition/Parameters.js"
import * as Tool from "../definition/Tool.js"
import { ofCaller } from "../definition/ToolCombinators.js"
import * as Elicitation from "../Elicitation.js"

const NAME = "effect-lexigram/tool/PageTool"

/**
 * - `unanswered`: nobody gave a result in time, or the call was put aside
 * - `declined`: the caller refused to run the tool
 * - `failed`: the caller ran the tool, and it failed
 * - `result`: the result does not fit the schema
 *
 * @since 0.1.0
 * @category schemas
 */
export const PageToolErrorReason = Schema.Literal("unanswered", "declined", "failed", "result").annotations({
  identifier: `${NAME}/PageToolErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type PageToolErrorReason = typeof PageToolErrorReason.Type

/**
 * A call that the caller of the run was to make has no result. The model reads the message.
 *
 * @since 0.1.0
 * @category errors
 */
export class PageToolError extends ErrorCode.TaggedError<PageToolError>(`${NAME}/PageToolError`)("PageToolError", {
  ...ErrorCode.fields("LEX_ERR_AGT_130"),
  toolName: Schema.String,
  reason: PageToolErrorReason
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<P extends Tool.Parameters, A>
  extends Pick<Tool.Annotations, "owner" | "polling" | "readOnly" | "secretParams"> {
  readonly description: string
  readonly parameters?: P | undefined
  /** Replaces the JSON Schema of `parameters`, which models read; draft-07 or 2020-12. */
  readonly parametersJsonSchema?: Readonly<Record<string, unknown>> | undefined
  readonly success?: Schema.Schema<A, any, never> | StandardSchema<A, any> | undefined
  /** How long a call waits for its result; default: as long as the inbox says (`PendingApprovals`). */
  readonly expiresAfter?: Duration.DurationInput | undefined
  /** Whether a person must allow a call before the caller is asked. A function that throws requires it. */
  readonly requiresApproval?: boolean | ((params: Tool.ParametersType<P>) => boolean) | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PageTool<P extends Tool.Parameters, A>
  extends Tool.Tool<Tool.ParametersType<P>, A, never, never, PageToolError | Elicitation.ElicitationError> {}

const Failure = Schema.Union(PageToolError, Elicitation.ElicitationError)

/**
 * Asks the caller of the run for the result of a call.
 *
 * @internal
 */
export const call = (
  options: Parameters<typeof Elicitation.askClient>[0]
): Effect.Effect<string, PageToolError | Elicitation.ElicitationError> =>
  Effect.flatMap(Elicitation.askClient(options), (answer) => {
    const failed = (reason: PageToolErrorReason, message: string) =>
      new PageToolError({ toolName: options.name, reason, message })
    if (answer._tag === "cancel") return failed("unanswered", answer.reason ?? "The client gave no result")
    if (answer._tag === "decline") return failed("declined", answer.reason ?? "The client did not run the tool")
    const { isError, result } = answer.content
    return isError === true ? failed("failed", result) : Effect.succeed(result)
  })

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** What decodes and prints a result descends by recursion. */
const DEEPEST = 256

/** A text in JSON stays a text, as only other values are written as JSON, and so does what nests too deep. */
const valueOf = (text: string): unknown => {
  const value = jsonOf(text)
  return typeof value === "string" || JsonDepth.isDeeper(value, DEEPEST) ? text : value
}

/** A Standard Schema has no way back: it gives the model its output, and here only says what fits. */
const decoderOf = (schema: Schema.Schema<any, any, never> | StandardSchema<any, any>) => {
  if (!isStandard(schema)) return ParameterCodec.decoder(schema)
  const validate = ParameterCodec.encoder(schema)
  return (value: unknown) => Effect.as(validate(value), value)
}

/**
 * A tool without a handler. A call waits in the inbox of approvals, as a question of a tool does, until whoever follows
 * the run answers it with its result (`ClientTool.Result`): a page of AI SDK UI by `addToolOutput`, another program by
 * `Runs.answer` or `/v1/approvals`. No time limit of the run counts meanwhile, and durable runs sleep.
 *
 * With `success` the result is JSON that the schema decodes, or a text that it takes; without, it is a text. A call
 * without a result fails with `PageToolError`, whose message the model reads; `Tool.failOn` ends the run with it.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { PageTool } from "effect-lexigram/tool"
 * import * as Schema from "effect/Schema"
 *
 * const locate = PageTool.make("locate", {
 *   description: "Where the user is",
 *   success: Schema.Struct({ city: Schema.String }),
 *   expiresAfter: "1 minute"
 * })
 *
 * const guide = Agent.make("guide", { tools: [locate] })
 * ```
 */
export const make = <const P extends Tool.Parameters = {}, A = string>(
  name: string,
  options: Options<P, A>
): PageTool<P, A> => {
  const { expiresAfter, success, ...rest } = options
  const decode = success === undefined ? undefined : decoderOf(success)
  const resultOf = (text: string): Effect.Effect<unknown, PageToolError> => {
    if (decode === undefined) return Effect.succeed(text)
    const unfit = (problem: string) =>
      new PageToolError({ toolName: name, reason: "result", message: `The result does not fit: ${problem}` })
    return Effect.catchAll(decode(valueOf(text)), (problem) => Effect.mapError(decode(text), () => unfit(problem)))
  }
  // A Standard Schema cannot encode: the caller gets what JSON leaves of its output.
  const encoded = (params: unknown): unknown =>
    tool.erased.encodeParams(params) ?? jsonOf(Observation.stringify(params) ?? "{}")
  const tool = Tool.make<P, A, PageToolError | Elicitation.ElicitationError>(name, {
    ...rest,
    success,
    failure: Failure,
    // A question that is asked again gets the same answer.
    idempotent: true,
    retries: 0,
    handler: (params): Effect.Effect<A, PageToolError | Elicitation.ElicitationError> =>
      Effect.flatMap(call({ name, params: encoded(params), expiresAfter, declared: true }), resultOf) as Effect.Effect<
        A,
        PageToolError | Elicitation.ElicitationError
      >
  })
  return ofCaller(tool)
}
