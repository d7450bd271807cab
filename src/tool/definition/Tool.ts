/**
 * Tools: functions that a model may call. A tool has a name, a description, parameters, and a handler Effect with its
 * own failures and requirements.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import { isStandard, type StandardSchema } from "../../internal/text/StandardSchema.js"
import { isConnectionFailure } from "./ConnectionFailure.js"
import { stringify } from "./Observation.js"
import * as ParameterCodec from "./Parameters.js"
import { never, predicateOf } from "./ToolCombinators.js"
import {
  type Annotations,
  type Any,
  build,
  type CallInfo,
  type Compensation,
  type CompensationInfo,
  type Erased,
  type Tool
} from "./ToolContract.js"
import { ToolDefinitionError } from "./ToolError.js"

export { isConnectionFailure } from "./ConnectionFailure.js"
export { annotate, failOn, provideContext, type TagsOf, withApproval } from "./ToolCombinators.js"
export {
  type Annotations,
  type Any,
  type CallInfo,
  type Compensation,
  type CompensationInfo,
  type Erased,
  type ErrorOf,
  fromParts,
  isTool,
  type ServicesOf,
  type Tool,
  TypeId
} from "./ToolContract.js"

const problemOf = (toolName: string, description: string): ToolDefinitionError | undefined =>
  toolName.trim() === ""
    ? new ToolDefinitionError({ toolName, message: "A tool has an empty name", hint: "Give the tool a name" })
    : description.trim() === ""
      ? new ToolDefinitionError({
          toolName,
          message: `Tool "${toolName}" has no description`,
          hint: "Describe what the tool does: models choose tools by it"
        })
      : undefined

/**
 * Parameters as a definition gives them: an object schema, or its fields, or a Standard Schema of another library.
 *
 * @since 0.1.0
 * @category models
 */
export type Parameters = ParameterCodec.Parameters

/**
 * The decoded parameters.
 *
 * @since 0.1.0
 * @category models
 */
export type ParametersType<P extends Parameters> = ParameterCodec.ParametersType<P>

/**
 * A tool of schemas: of Effect, or of any library that implements Standard Schema (Zod, ArkType, Valibot). Parameters
 * are inferred from their schema; result, failures and requirements from the handler.
 *
 * The failures of the handler are observations for the model; with `fatal: true` they end the run and show in `E` (then
 * give a `failure` schema too, so that durable runs can store them). The model reads the `message` of a failure. A
 * string result is passed unchanged, anything else as JSON through `success`.
 *
 * `parameters` takes fields directly. Fields with functions of their own, such as `Schema.optionalWith(schema, {
 * default })` or `Schema.transform(…)`, must be wrapped in `Schema.Struct`: TypeScript infers nothing from them
 * otherwise.
 *
 * A Standard Schema describes itself to models by Standard JSON Schema, or `parametersJsonSchema` does; a tool without
 * either is unusable. As `success` it validates the result: the model reads its output.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Tool from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const weather = Tool.Tool.make("weather", {
 *   description: "The weather of a city right now",
 *   parameters: { city: Schema.String.annotations({ description: "Name of the city" }) },
 *   success: Schema.Struct({ celsius: Schema.Number }),
 *   handler: ({ city }) => Effect.succeed({ celsius: city.length })
 * })
 * ```
 */
export const make = <
  const P extends Parameters = {},
  A = unknown,
  F = never,
  R = never,
  const Fatal extends boolean = false
>(
  name: string,
  options: {
    readonly description: string
    readonly parameters?: P | undefined
    /** Replaces the JSON Schema of `parameters`, which models read; draft-07 or 2020-12. */
    readonly parametersJsonSchema?: Readonly<Record<string, unknown>> | undefined
    readonly success?: Schema.Schema<A, any, never> | StandardSchema<A, any> | undefined
    readonly failure?: Schema.Schema<F, any, never> | undefined
    readonly handler: (params: ParametersType<P>, call: CallInfo) => Effect.Effect<A, F, R>
    readonly fatal?: Fatal | undefined
    /**
     * Whether a call requires approval, always or depending on its arguments. A function that throws requires it.
     */
    readonly requiresApproval?: boolean | ((params: ParametersType<P>) => boolean) | undefined
    /** Which failures are retried; default `isConnectionFailure`. */
    readonly retryable?: ((error: F) => boolean) | undefined
    /**
     * For a durable run whose process died while the handler ran: looks, by the idempotency key say, what came of the
     * call. With a result, that is the call's. Without one, the call had no effect, and runs again. Where it fails,
     * `onUnknown` decides. Idempotent tools need none: they run again.
     */
    readonly outcome?:
      | ((params: ParametersType<P>, call: CallInfo) => Effect.Effect<Option.Option<A>, unknown, R>)
      | undefined
    /**
     * Undoes a call that succeeded, if its run fails or is interrupted: a payment is refunded, a booking canceled. The
     * compensations of a run run one at a time, in the reverse order in which the calls ended, each once, with the
     * timeout and the retries of the tool. What one fails with is an event (`ToolCompensated`), and the others still
     * run. In a durable run the result passes through `success`; without a schema, it is what JSON leaves of it.
     */
    readonly compensate?:
      | ((params: ParametersType<P>, result: NoInfer<A>, info: CompensationInfo) => Effect.Effect<unknown, unknown, R>)
      | undefined
  } & Annotations
): Tool<ParametersType<P>, A, Fatal extends true ? F : never, R, F> => {
  const codec = ParameterCodec.make(`tool "${name}"`, options.parameters, options.parametersJsonSchema)
  return build({
    name,
    description: options.description,
    parameters: codec.parameters,
    annotations: annotationsOf(options),
    problem:
      problemOf(name, options.description) ??
      (codec.problem && new ToolDefinitionError({ ...codec.problem, toolName: name })),
    erased: {
      ...treatmentOf(options),
      decode: codec.decode,
      encodeParams: codec.encode,
      encode: ParameterCodec.encoder(options.success),
      success: options.success,
      ...failureCodec(options.failure),
      outcome: options.outcome,
      compensation: compensationOf(options.compensate, options.success)
    }
  })
}

/** What JSON leaves of a value; nothing of one that has no JSON. */
const plain = (value: unknown): unknown => {
  if (typeof value === "string") return value
  const text = stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

/** A Standard Schema has no way back, so that a result is kept as it is. */
const compensationOf = (
  run: Compensation["run"] | undefined,
  success: Schema.Schema<any, any, never> | StandardSchema<any, any> | undefined
): Compensation | undefined =>
  run === undefined
    ? undefined
    : success === undefined || isStandard(success)
      ? { run, encode: (result) => Effect.sync(() => plain(result)), decode: Effect.succeed }
      : { run, encode: ParameterCodec.encoder(success), decode: ParameterCodec.decoder(success) }

const treatmentOf = (options: {
  readonly handler: Erased["handle"]
  readonly fatal?: boolean | undefined
  readonly requiresApproval?: boolean | ((params: any) => boolean) | undefined
  readonly retryable?: ((error: any) => boolean) | undefined
}): Pick<Erased, "handle" | "requiresApproval" | "isFatal" | "isRetryable"> => ({
  handle: options.handler,
  requiresApproval: predicateOf(options.requiresApproval ?? false),
  isFatal: options.fatal === true ? () => true : never,
  isRetryable: options.retryable ?? isConnectionFailure
})

const annotationsOf = (options: Annotations): Annotations => ({
  timeout: options.timeout,
  retries: options.retries,
  idempotent: options.idempotent ?? options.readOnly,
  readOnly: options.readOnly,
  onUnknown: options.onUnknown,
  polling: options.polling,
  owner: options.owner,
  secretParams: options.secretParams
})

const withoutSchema: Pick<Erased, "decodeFailure" | "encodeFailure"> = {
  decodeFailure: () => undefined,
  encodeFailure: () => undefined
}

const failureCodec = (schema: Schema.Schema<any, any, never> | undefined): typeof withoutSchema => {
  if (schema === undefined) return withoutSchema
  const encode = ParseResult.encodeUnknownEither(schema)
  return {
    encodeFailure: (error) => Either.getOrUndefined(encode(error)),
    decodeFailure: (encoded) => Either.getOrUndefined(ParseResult.decodeUnknownEither(schema)(encoded))
  }
}

/**
 * A tool whose parameters are a raw JSON Schema, draft-07 or 2020-12, checked by ajv: for MCP servers, skills and other
 * sources known only at run time. Nonstandard types (`dict`, `float`, `tuple`, …) are understood. A missing description
 * is the name.
 *
 * `Left` when the name is empty, or the schema does not compile, is not of an object, or is too large
 * (`JsonSchemaValidator.limits`).
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonSchema = <A, F = never, R = never, const Fatal extends boolean = false>(
  name: string,
  options: {
    readonly description: string
    readonly parameters: unknown
    readonly success?: Schema.Schema<A, any, never> | undefined
    readonly failure?: Schema.Schema<F, any, never> | undefined
    readonly handler: (params: Readonly<Record<string, unknown>>, call: CallInfo) => Effect.Effect<A, F, R>
    readonly fatal?: Fatal | undefined
    readonly requiresApproval?: boolean | ((params: Readonly<Record<string, unknown>>) => boolean) | undefined
    readonly retryable?: ((error: F) => boolean) | undefined
  } & Annotations
): Either.Either<
  Tool<Readonly<Record<string, unknown>>, A, Fatal extends true ? F : never, R, F>,
  ToolDefinitionError
> => {
  const description = options.description.trim() === "" ? name : options.description
  const problem = problemOf(name, description)
  if (problem !== undefined) return Either.left(problem)
  return Either.mapBoth(ParameterCodec.fromJsonSchema(options.parameters), {
    onLeft: (reason) =>
      new ToolDefinitionError({
        toolName: name,
        message: `The JSON Schema of tool "${name}" does not compile: ${reason}`,
        hint: "Use draft-07 or 2020-12 without references to other documents"
      }),
    onRight: (codec) =>
      build({
        name,
        description,
        parameters: codec.parameters,
        annotations: annotationsOf(options),
        problem: undefined,
        erased: {
          ...treatmentOf(options),
          decode: codec.decode,
          encodeParams: codec.encode,
          encode: ParameterCodec.encoder(options.success),
          success: options.success,
          ...failureCodec(options.failure)
        }
      })
  })
}

/**
 * A placeholder for an unusable tool: an agent with it fails before its first model call with this problem.
 *
 * @since 0.1.0
 * @category constructors
 */
export const invalid = (problem: ToolDefinitionError): Any =>
  build({
    name: problem.toolName,
    description: problem.message,
    parameters: ParameterCodec.none.parameters,
    annotations: annotationsOf({}),
    problem,
    erased: {
      ...treatmentOf({ handler: () => Effect.die(problem) }),
      decode: ParameterCodec.none.decode,
      encodeParams: ParameterCodec.none.encode,
      encode: Either.right,
      ...failureCodec(undefined)
    }
  })

/**
 * A plain function as a handler: an exception or rejection is a failure that the model reads. The signal is aborted
 * when the call is interrupted or runs out of time.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFunction =
  <A>(
    f: (params: any, signal: AbortSignal) => A | Promise<A>
  ): ((params: any) => Effect.Effect<A, Cause.UnknownException>) =>
  (params) =>
    Effect.tryPromise({
      try: async (signal) => f(params, signal),
      catch: (error) => new Cause.UnknownException(error, error instanceof Error ? error.message : stringify(error))
    })
