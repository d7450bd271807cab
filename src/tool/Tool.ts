/**
 * A tool: something the model may call. Name, description, parameters, and a handler Effect with its own failures and requirements.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import * as Schema from "effect/Schema"
import type { JsonSchema } from "../llm/LlmClient.js"
import type { Issue } from "./JsonSchemaValidator.js"
import * as JsonSchemaValidator from "./JsonSchemaValidator.js"
import { ToolDefinitionError } from "./ToolError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/tool/Tool")

/**
 * What a handler may want to know about the call it serves. `id` is the same on every attempt: an idempotency key.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallInfo {
  readonly id: string
  /** From 1. */
  readonly attempt: number
}

/**
 * How a tool is to be treated. What is unset comes from the runner: 30 s, no re-tries.
 *
 * @since 0.1.0
 * @category models
 */
export interface Annotations {
  /** Time for one attempt; the wait for an approval does not count. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Re-tries after a transient failure, at most. */
  readonly retries?: number | undefined
  /** Calling it twice does no more than once: only then is it tried again after a timeout. Default false. */
  readonly idempotent?: boolean | undefined
  /** The module it belongs to; a tool without one is visible to all. */
  readonly owner?: string | undefined
}

/**
 * `P` parameters, `A` result, `E` failures that end the run, `R` requirements of the handler, `F` all failures of the handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<in P, out A, out E = never, out R = never, out F = never> extends Pipeable {
  readonly [TypeId]: {
    readonly _P: (_: P) => void
    readonly _A: () => A
    readonly _E: () => E
    readonly _R: () => R
    readonly _F: () => F
  }
  readonly name: string
  readonly description: string
  /** The parameters as the model sees them. */
  readonly parameters: JsonSchema
  readonly annotations: Annotations
  /** What is wrong with the definition, if anything: an agent with such a tool fails before its first model call. */
  readonly problem: ToolDefinitionError | undefined
  /** The handler with its types erased: for `ToolRunner`. */
  readonly erased: Erased
}

/**
 * A tool as its runner sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Erased {
  readonly decode: (args: unknown) => Effect.Effect<unknown, ReadonlyArray<Issue>>
  readonly handle: (params: any, call: CallInfo) => Effect.Effect<unknown, unknown, any>
  readonly encode: (value: unknown) => Effect.Effect<unknown, string>
  readonly encodeFailure: (error: unknown) => unknown
  readonly requiresApproval: (params: any) => boolean
  readonly isFatal: (error: unknown) => boolean
  readonly isRetryable: (error: unknown) => boolean
}

/**
 * Any tool.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Tool<never, unknown, unknown, unknown, unknown>

/**
 * The failures of a tool that end the run.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<T extends Any> = T extends Tool<never, unknown, infer E, unknown, unknown> ? E : never

/**
 * What a tool's handler requires.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<T extends Any> = T extends Tool<never, unknown, unknown, infer R, unknown> ? R : never

/**
 * @since 0.1.0
 * @category guards
 */
export const isTool = (u: unknown): u is Any => typeof u === "object" && u !== null && TypeId in u

const variance = {
  _P: () => {},
  _A: () => undefined as never,
  _E: () => undefined as never,
  _R: () => undefined as never,
  _F: () => undefined as never
}

const proto = {
  [TypeId]: variance,
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

const build = (fields: Omit<Any, typeof TypeId | "pipe">): any => Object.assign(Object.create(proto), fields)

const never = () => false

const problemOf = (toolName: string, description: string): ToolDefinitionError | undefined =>
  toolName.trim() === ""
    ? new ToolDefinitionError({ toolName, message: "A tool has an empty name", hint: "Give the tool a name" })
    : description.trim() === ""
      ? new ToolDefinitionError({
          toolName,
          message: `Tool "${toolName}" has no description`,
          hint: "Describe what the tool does: the model chooses by it"
        })
      : undefined

const connectionCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENETDOWN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT"
])

/**
 * True for failures of a connection: what is tried again when a tool says nothing else. Looks at `code` of the error and of its
 * causes, at `@effect/platform` transport errors and sockets, and at errors that say `isRetryable` themselves.
 *
 * @since 0.1.0
 * @category guards
 */
export const isConnectionFailure = (error: unknown): boolean => {
  let current: unknown = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    const fields = current as Record<string, unknown>
    if (typeof fields["code"] === "string" && connectionCodes.has(fields["code"])) return true
    if (fields["isRetryable"] === true) return true
    if (fields["_tag"] === "RequestError" && fields["reason"] === "Transport") return true
    if (fields["_tag"] === "SocketError") return true
    current = fields["cause"]
  }
  return false
}

const issuesOf = (error: ParseResult.ParseIssue): ReadonlyArray<Issue> =>
  ParseResult.ArrayFormatter.formatIssueSync(error).map((issue) => ({
    path: issue.path.join("."),
    message: issue.message
  }))

/** Schemas with an identifier come out as a reference: providers want the object itself at the top. */
const jsonSchemaOf = (schema: Schema.Schema<any, any>): JsonSchema => {
  const { $schema: _, ...root } = JSONSchema.make(schema) as unknown as Record<string, unknown>
  const ref = root["$ref"]
  const definitions = root["$defs"]
  if (typeof ref !== "string" || typeof definitions !== "object" || definitions === null) return root
  const target = (definitions as Record<string, unknown>)[ref.slice("#/$defs/".length)]
  if (typeof target !== "object" || target === null) return root
  const self = JSON.stringify(definitions).includes(`"${ref}"`)
  const others = Object.keys(definitions).length > 1 || self
  return others ? { ...target, $defs: definitions } : { ...target }
}

/**
 * What the parameters of a tool may be given as: an object schema, or its fields.
 *
 * @since 0.1.0
 * @category models
 */
export type Parameters = Schema.Struct.Fields | Schema.Schema<any, any, never>

/**
 * The decoded parameters.
 *
 * @since 0.1.0
 * @category models
 */
export type ParametersType<P extends Parameters> =
  P extends Schema.Schema<infer A, any, never> ? A : P extends Schema.Struct.Fields ? Schema.Struct.Type<P> : never

const isFields = (parameters: Parameters): parameters is Schema.Struct.Fields => !Schema.isSchema(parameters)

/**
 * A tool of Effect Schemas. Everything is inferred: parameters from their schema, result, failures and requirements from the handler.
 *
 * The handler's failures are observations for the model; with `fatal: true` they end the run and show in `E` (then give a `failure`
 * schema too, so that durable runs can store them). A failure's text for the model is its `message`. A result that is a string is
 * given as it is, anything else as JSON through `success`.
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
    readonly success?: Schema.Schema<A, any, never> | undefined
    readonly failure?: Schema.Schema<F, any, never> | undefined
    readonly handler: (params: ParametersType<P>, call: CallInfo) => Effect.Effect<A, F, R>
    readonly fatal?: Fatal | undefined
    /** Whether somebody must allow a call, always or depending on its arguments. */
    readonly requiresApproval?: boolean | ((params: ParametersType<P>) => boolean) | undefined
    /** Which failures are worth another try; default `isConnectionFailure`. */
    readonly retryable?: ((error: F) => boolean) | undefined
  } & Annotations
): Tool<ParametersType<P>, A, Fatal extends true ? F : never, R, F> => {
  const given = options.parameters ?? ({} as Parameters)
  const schema: Schema.Schema<any, any, never> = isFields(given)
    ? (Schema.Struct(given) as unknown as Schema.Schema<any, any, never>)
    : given
  let problem = problemOf(name, options.description)
  let parameters: JsonSchema = { type: "object", properties: {} }
  try {
    parameters = jsonSchemaOf(schema)
  } catch (error) {
    problem ??= new ToolDefinitionError({
      toolName: name,
      message: `The parameters of tool "${name}" have no JSON Schema`,
      hint: "Give the offending field a schema with a JSON form, or annotate it with `jsonSchema`",
      cause: error
    })
  }
  // An empty struct becomes "any object or array" in effect; tools without parameters take an empty object.
  if (isFields(given) && Object.keys(given).length === 0)
    parameters = { type: "object", properties: {}, additionalProperties: false }
  const decode = ParseResult.decodeUnknown(schema, { errors: "all" })
  const requiresApproval = options.requiresApproval ?? false
  return build({
    name,
    description: options.description,
    parameters,
    annotations: annotationsOf(options),
    problem,
    erased: {
      decode: (args) => Effect.mapError(decode(args), issuesOf),
      handle: options.handler as Erased["handle"],
      encode: encoder(options.success),
      encodeFailure: failureEncoder(options.failure),
      requiresApproval: typeof requiresApproval === "function" ? requiresApproval : () => requiresApproval,
      isFatal: options.fatal === true ? () => true : never,
      isRetryable: (options.retryable as ((error: unknown) => boolean) | undefined) ?? isConnectionFailure
    }
  })
}

const annotationsOf = (options: Annotations): Annotations => ({
  timeout: options.timeout,
  retries: options.retries,
  idempotent: options.idempotent,
  owner: options.owner
})

const encoder = (schema: Schema.Schema<any, any, never> | undefined): Erased["encode"] => {
  if (schema === undefined) return Effect.succeed
  const encode = ParseResult.encodeUnknown(schema, { errors: "all" })
  return (value) => Effect.mapError(encode(value), (issue) => ParseResult.TreeFormatter.formatIssueSync(issue))
}

const failureEncoder = (schema: Schema.Schema<any, any, never> | undefined): Erased["encodeFailure"] => {
  if (schema === undefined) return () => undefined
  const encode = ParseResult.encodeUnknownEither(schema)
  return (error) => Either.getOrUndefined(encode(error))
}

/**
 * A tool whose parameters are a raw JSON Schema, draft-07 or 2020-12, checked by ajv: for MCP servers, skills and other sources that
 * are only known at run time. Odd type words (`dict`, `float`, `tuple`, …) are understood.
 *
 * Fails with `ToolDefinitionError` when the schema does not compile.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonSchema = <A, F = never, R = never, const Fatal extends boolean = false>(
  name: string,
  options: {
    readonly description: string
    readonly parameters: unknown
    readonly handler: (params: Readonly<Record<string, unknown>>, call: CallInfo) => Effect.Effect<A, F, R>
    readonly fatal?: Fatal | undefined
    readonly requiresApproval?: boolean | ((params: Readonly<Record<string, unknown>>) => boolean) | undefined
    readonly retryable?: ((error: F) => boolean) | undefined
  } & Annotations
): Either.Either<
  Tool<Readonly<Record<string, unknown>>, A, Fatal extends true ? F : never, R, F>,
  ToolDefinitionError
> => {
  const problem = problemOf(name, options.description === "" ? name : options.description)
  if (problem !== undefined) return Either.left(problem)
  return Either.mapBoth(JsonSchemaValidator.compile(options.parameters), {
    onLeft: (reason) =>
      new ToolDefinitionError({
        toolName: name,
        message: `The JSON Schema of tool "${name}" does not compile: ${reason}`,
        hint: "Use draft-07 or 2020-12 without references to other documents"
      }),
    onRight: (validator) => {
      const requiresApproval = options.requiresApproval ?? false
      return build({
        name,
        description: options.description === "" ? name : options.description,
        parameters: validator.schema,
        annotations: annotationsOf(options),
        problem: undefined,
        erased: {
          decode: (args) =>
            Effect.suspend(() => {
              const issues = validator.validate(args)
              return issues.length === 0 ? Effect.succeed(args) : Effect.fail(issues)
            }),
          handle: options.handler as Erased["handle"],
          encode: Effect.succeed,
          encodeFailure: () => undefined,
          requiresApproval: typeof requiresApproval === "function" ? requiresApproval : () => requiresApproval,
          isFatal: options.fatal === true ? () => true : never,
          isRetryable: (options.retryable as ((error: unknown) => boolean) | undefined) ?? isConnectionFailure
        }
      })
    }
  })
}

/**
 * The tags of a handler's failures.
 *
 * @since 0.1.0
 * @category models
 */
export type TagsOf<F> = F extends { readonly _tag: infer T extends string } ? T : never

/**
 * Failures with these tags end the run and show in the tool's `E`; its other failures stay observations.
 *
 * @since 0.1.0
 * @category combinators
 */
export const failOn: {
  <F, const T extends TagsOf<F>>(
    ...tags: ReadonlyArray<T>
  ): <P, A, E, R>(self: Tool<P, A, E, R, F>) => Tool<P, A, E | Extract<F, { readonly _tag: T }>, R, F>
  <P, A, E, R, F, const T extends TagsOf<F>>(
    self: Tool<P, A, E, R, F>,
    ...tags: ReadonlyArray<T>
  ): Tool<P, A, E | Extract<F, { readonly _tag: T }>, R, F>
} = dual(
  (args) => isTool(args[0]),
  (self: Any, ...tags: ReadonlyArray<string>): any => {
    const set = new Set<unknown>(tags)
    const before = self.erased.isFatal
    return build({
      ...self,
      erased: {
        ...self.erased,
        isFatal: (error) =>
          before(error) ||
          (typeof error === "object" && error !== null && set.has((error as { readonly _tag?: unknown })._tag))
      }
    })
  }
)

/**
 * The same tool under other annotations; fields that are unset keep their value.
 *
 * @since 0.1.0
 * @category combinators
 */
export const annotate: {
  (annotations: Annotations): <P, A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, R, F>
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, annotations: Annotations): Tool<P, A, E, R, F>
} = dual(
  2,
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, annotations: Annotations): Tool<P, A, E, R, F> =>
    build({
      ...(self as unknown as Any),
      annotations: {
        timeout: annotations.timeout ?? self.annotations.timeout,
        retries: annotations.retries ?? self.annotations.retries,
        idempotent: annotations.idempotent ?? self.annotations.idempotent,
        owner: annotations.owner ?? self.annotations.owner
      }
    })
)

/**
 * A plain function as a handler: what it throws or rejects with is a failure the model can read.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFunction =
  <A>(f: (params: any) => A | Promise<A>): ((params: any) => Effect.Effect<A, Cause.UnknownException>) =>
  (params) =>
    Effect.tryPromise({
      try: async () => f(params),
      catch: (error) => new Cause.UnknownException(error, error instanceof Error ? error.message : String(error))
    })
