/**
 * A tool: something the model may call. Name, description, parameters, and a handler Effect with its own failures and
 * requirements.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as ParseResult from "effect/ParseResult"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import * as Captured from "../../internal/fiber/Captured.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Issue } from "./JsonSchemaValidator.js"
import { stringify } from "./Observation.js"
import * as ParameterCodec from "./Parameters.js"
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
 * How a tool is to be treated. What is unset comes from the runner: 30 s, and 3 attempts in all.
 *
 * @since 0.1.0
 * @category models
 */
export interface Annotations {
  /** Time for one attempt; the wait for an approval does not count. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Re-tries after a transient failure, at most: 2 make 3 attempts. */
  readonly retries?: number | undefined
  /**
   * Calling it twice does no more than once: only then is it tried again after a timeout. Default that of `readOnly`.
   */
  readonly idempotent?: boolean | undefined
  /** It changes nothing, here or elsewhere: a search (`Lats`) may try it as often as it likes. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * It waits, or asks how something stands (`get_status`, `wait`): the same result again is no sign of a loop that goes
   * in circles. Default false.
   */
  readonly polling?: boolean | undefined
  /** The module it belongs to; a tool without one is visible to all. */
  readonly owner?: string | undefined
  /**
   * Arguments, at any depth, that the public view of events does not show. Those whose JSON Schema has `writeOnly:
   * true` or `format: "password"` are secret without being named.
   */
  readonly secretParams?: ReadonlyArray<string> | undefined
}

/**
 * `P` parameters, `A` result, `E` failures that end the run, `R` requirements of the handler, `F` all failures of the
 * handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tool<in P, out A, out E = never, out R = never, out F = never> extends Pipeable {
  readonly [TypeId]: {
    readonly _Params: (_: P) => void
    readonly _Result: () => A
    readonly _Fatal: () => E
    readonly _Services: () => R
    readonly _Failure: () => F
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
  /** May throw, or be no Effect: it is the user's. */
  readonly handle: (params: any, call: CallInfo) => Effect.Effect<unknown, unknown, any>
  readonly encode: (value: unknown) => Effect.Effect<unknown, string>
  readonly encodeFailure: (error: unknown) => unknown
  /** The parameters as whoever approves a call may read them; `undefined` when they cannot be encoded. */
  readonly encodeParams: (params: unknown) => unknown
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
  _Params: () => {},
  _Result: () => undefined as never,
  _Fatal: () => undefined as never,
  _Services: () => undefined as never,
  _Failure: () => undefined as never
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
const always = () => true

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
 * True for failures of a connection: what is tried again when a tool says nothing else. Looks at `code` of the error
 * and of its causes, at `@effect/platform` transport errors and sockets, and at errors that say `isRetryable`
 * themselves.
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

/**
 * What the parameters of a tool may be given as: an object schema, or its fields.
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
 * A tool of Effect Schemas. Everything is inferred: parameters from their schema, result, failures and requirements
 * from the handler.
 *
 * The handler's failures are observations for the model; with `fatal: true` they end the run and show in `E` (then give
 * a `failure` schema too, so that durable runs can store them). A failure's text for the model is its `message`. A
 * result that is a string is given as it is, anything else as JSON through `success`.
 *
 * Fields may stand in `parameters` as they are. Those with functions of their own, such as `Schema.optionalWith(schema,
 * { default })` or `Schema.transform(…)`, must be wrapped in `Schema.Struct` there: TypeScript infers nothing from them
 * otherwise.
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
    /**
     * Whether somebody must allow a call, always or depending on its arguments; a function that throws says that
     * somebody must.
     */
    readonly requiresApproval?: boolean | ((params: ParametersType<P>) => boolean) | undefined
    /** Which failures are worth another try; default `isConnectionFailure`. */
    readonly retryable?: ((error: F) => boolean) | undefined
  } & Annotations
): Tool<ParametersType<P>, A, Fatal extends true ? F : never, R, F> => {
  const codec = ParameterCodec.make(`tool "${name}"`, options.parameters)
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
      encodeFailure: failureEncoder(options.failure)
    }
  })
}

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

/**
 * Whether somebody must be asked, from what was said; a function that throws says yes. The same function for the same
 * constant.
 *
 * @internal
 */
export const predicateOf = <P>(when: boolean | ((params: P) => boolean)): ((params: P) => boolean) => {
  if (typeof when !== "function") return when ? always : never
  return (params) => {
    try {
      return when(params)
    } catch {
      // Nobody knows then whether the call is harmless.
      return true
    }
  }
}

const annotationsOf = (options: Annotations): Annotations => ({
  timeout: options.timeout,
  retries: options.retries,
  idempotent: options.idempotent ?? options.readOnly,
  readOnly: options.readOnly,
  polling: options.polling,
  owner: options.owner,
  secretParams: options.secretParams
})

const failureEncoder = (schema: Schema.Schema<any, any, never> | undefined): Erased["encodeFailure"] => {
  if (schema === undefined) return () => undefined
  const encode = ParseResult.encodeUnknownEither(schema)
  return (error) => Either.getOrUndefined(encode(error))
}

/**
 * A tool whose parameters are a raw JSON Schema, draft-07 or 2020-12, checked by ajv: for MCP servers, skills and other
 * sources that are only known at run time. Odd type words (`dict`, `float`, `tuple`, …) are understood. A missing
 * description is the name.
 *
 * `Left` when the name is empty, or the schema does not compile, is not an object's, or is too large
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
          encodeFailure: failureEncoder(options.failure)
        }
      })
  })
}

/**
 * A tool of parts that were made elsewhere: for adapters. Everything is the caller's to get right.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromParts = <P, A, E = never, R = never, F = never>(
  parts: Pick<Any, "name" | "description" | "parameters" | "annotations" | "problem" | "erased">
): Tool<P, A, E, R, F> => build(parts)

/**
 * What stands for a tool that cannot be used: an agent with it fails before its first model call, and says why.
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
      encodeFailure: () => undefined
    }
  })

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
        idempotent: annotations.idempotent ?? annotations.readOnly ?? self.annotations.idempotent,
        readOnly: annotations.readOnly ?? self.annotations.readOnly,
        polling: annotations.polling ?? self.annotations.polling,
        owner: annotations.owner ?? self.annotations.owner,
        secretParams: annotations.secretParams ?? self.annotations.secretParams
      }
    })
)

/**
 * The same tool with what its handler requires. A service that is present where the tool is called wins over one given
 * here.
 *
 * @since 0.1.0
 * @category combinators
 */
export const provideContext: {
  <R2>(context: Context.Context<R2>): <P, A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, Exclude<R, R2>, F>
  <P, A, E, R, F, R2>(self: Tool<P, A, E, R, F>, context: Context.Context<R2>): Tool<P, A, E, Exclude<R, R2>, F>
} = dual(
  2,
  <P, A, E, R, F, R2>(self: Tool<P, A, E, R, F>, context: Context.Context<R2>): Tool<P, A, E, Exclude<R, R2>, F> =>
    build({
      ...(self as unknown as Any),
      erased: {
        ...self.erased,
        handle: (params, call) => Captured.provide(self.erased.handle(params, call), context)
      }
    })
)

/**
 * Whether somebody must allow a call of the tool, always or depending on its arguments; replaces what the tool said
 * itself. A function that throws says that somebody must.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withApproval: {
  <P>(when: boolean | ((params: P) => boolean)): <A, E, R, F>(self: Tool<P, A, E, R, F>) => Tool<P, A, E, R, F>
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, when: boolean | ((params: P) => boolean)): Tool<P, A, E, R, F>
} = dual(
  2,
  <P, A, E, R, F>(self: Tool<P, A, E, R, F>, when: boolean | ((params: P) => boolean)): Tool<P, A, E, R, F> =>
    build({
      ...(self as unknown as Any),
      erased: { ...self.erased, requiresApproval: predicateOf(when) }
    })
)

/**
 * A plain function as a handler: what it throws or rejects with is a failure the model can read. The signal is aborted
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
