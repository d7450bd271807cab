/**
 * A skill: a capability with a definition, checked parameters, a checked result, and typed failures and requirements.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as ParameterCodec from "../../tool/definition/Parameters.js"
import * as Tool from "../../tool/definition/Tool.js"
import { predicateOf } from "../../tool/definition/ToolCombinators.js"
import type { SkillCall } from "./SkillCall.js"
import * as SkillCodec from "./SkillCodec.js"
import type { SkillDefinition } from "./SkillDefinition.js"
import { type Confirmation, checkDefinition, makeDefinition, type Traits } from "./SkillDefinition.js"
import type { SkillError, SkillValidationError } from "./SkillError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/skill/Skill")

/**
 * Executes a skill inside another one: with the same executor, for the same user, and with the skill's own permissions,
 * cache, timeout, retries and limits.
 *
 * @since 0.1.0
 * @category models
 */
export type Run = <P, A, E, R>(skill: Skill<P, A, E, R>, params: P) => Effect.Effect<A, E | SkillError, R>

/**
 * `P` parameters, `A` result, `E` failures, `R` requirements of the handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface Skill<in P, out A, out E = never, out R = never> extends Pipeable {
  readonly [TypeId]: {
    readonly _Params: (_: P) => void
    readonly _Result: () => A
    readonly _Failure: () => E
    readonly _Services: () => R
  }
  readonly definition: SkillDefinition
  /** What is wrong with the definition, if anything. Such a skill can be neither registered nor executed. */
  readonly problem: SkillValidationError | undefined
  /** The skill without its types, for executors. */
  readonly erased: Erased
}

/**
 * A skill as its executor sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Erased {
  /** Decodes raw parameters; fails with one text per issue. */
  readonly decode: (params: unknown) => Effect.Effect<unknown, ReadonlyArray<string>>
  /** The JSON form of decoded parameters; `undefined` if they do not fit the schema. */
  readonly encodeParams: (params: unknown) => unknown
  /** User code: may throw or return something that is not an Effect. `run` is for composites. */
  readonly handle: (params: any, call: SkillCall, run: Run) => Effect.Effect<unknown, unknown, any>
  /** Whether an execution with these decoded parameters needs approval. */
  readonly needsConfirmation: (params: any) => boolean
  /** Checks a result and returns its JSON form; the text says what does not fit. */
  readonly encode: (result: unknown) => Effect.Effect<unknown, string>
  /** The inverse of `encode`. */
  readonly decodeResult: (encoded: unknown) => Effect.Effect<unknown, string>
  /** Whether a retry may help. `undefined`: the executor decides. */
  readonly isRetryable: ((error: unknown) => boolean) | undefined
  /** The skills a composite executes. A composite takes no slot among the concurrent executions. */
  readonly uses: ReadonlyArray<Any> | undefined
  /** True for a placeholder that resolves to the registered skill of its name. */
  readonly reference: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export type Any = Skill<never, unknown, unknown, unknown>

/**
 * A skill without requirements, as a registry holds it.
 *
 * @since 0.1.0
 * @category models
 */
export type Bound = Skill<never, unknown, unknown>

/**
 * @since 0.1.0
 * @category models
 */
export type ParamsOf<S extends Any> = S extends Skill<infer P, unknown, unknown, unknown> ? P : never

/**
 * @since 0.1.0
 * @category models
 */
export type ResultOf<S extends Any> = S extends Skill<never, infer A, unknown, unknown> ? A : never

/**
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<S extends Any> = S extends Skill<never, unknown, infer E, unknown> ? E : never

/**
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<S extends Any> = S extends Skill<never, unknown, unknown, infer R> ? R : never

/**
 * @since 0.1.0
 * @category guards
 */
export const isSkill = (u: unknown): u is Any => typeof u === "object" && u !== null && TypeId in u

const variance = {
  _Params: () => {},
  _Result: () => undefined as never,
  _Failure: () => undefined as never,
  _Services: () => undefined as never
}

const proto = {
  [TypeId]: variance,
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const build = (fields: Omit<Any, typeof TypeId | "pipe">): any => Object.assign(Object.create(proto), fields)

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const fromCodecs = (
  name: string,
  options: Traits &
    Confirmation<any> & {
      readonly description: string
      readonly handler: Erased["handle"]
      readonly retryable?: ((error: any) => boolean) | undefined
    },
  params: ParameterCodec.Codec,
  result: SkillCodec.ResultCodec,
  uses?: ReadonlyArray<Any>
): any => {
  const definition = makeDefinition(name, options.description, params.parameters, result.schema, options)
  return build({
    definition,
    problem: checkDefinition(definition, params.problem, result.problem),
    erased: {
      decode: SkillCodec.decoding(params),
      encodeParams: params.encode,
      handle: options.handler,
      needsConfirmation: predicateOf<any>(options.requiresConfirmation ?? false),
      encode: result.encode,
      decodeResult: result.decodeResult,
      isRetryable: options.retryable,
      uses,
      reference: false
    }
  })
}

/**
 * A skill with Effect Schemas. Types are inferred: parameters from their schema; result, failures and requirements from
 * the handler.
 *
 * Each result is checked by `returns`; a result that does not fit fails the execution with `SkillValidationError`. With
 * `maxRetries` every failure is retried unless `retryable` says otherwise; retries from the executor's configuration
 * apply to connection failures only.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const wordCount = Skill.make("word_count", {
 *   description: "Counts the words of a text",
 *   parameters: { text: Schema.String },
 *   returns: Schema.Struct({ words: Schema.Int }),
 *   cacheable: true,
 *   handler: ({ text }) => Effect.succeed({ words: text.split(/\s+/).filter((word) => word !== "").length })
 * })
 * ```
 */
export const make = <const P extends Tool.Parameters = {}, A = unknown, F = never, R = never>(
  name: string,
  options: Traits &
    Confirmation<Tool.ParametersType<P>> & {
      readonly description: string
      readonly parameters?: P | undefined
      readonly returns?: Schema.Schema<A, any, never> | undefined
      readonly handler: (params: Tool.ParametersType<P>, call: SkillCall) => Effect.Effect<A, F, R>
      /** Which failures to retry. */
      readonly retryable?: ((error: F) => boolean) | undefined
    }
): Skill<Tool.ParametersType<P>, A, F, R> =>
  fromCodecs(
    name,
    options,
    ParameterCodec.make(`the skill "${name}"`, options.parameters),
    SkillCodec.forSchema(options.returns)
  )

/**
 * A skill from a plain function, synchronous or asynchronous; a thrown error or rejection is its failure. The signal
 * aborts when the execution is interrupted or times out.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFunction = <const P extends Tool.Parameters = {}, A = unknown>(
  name: string,
  options: Traits &
    Confirmation<Tool.ParametersType<P>> & {
      readonly description: string
      readonly parameters?: P | undefined
      readonly returns?: Schema.Schema<A, any, never> | undefined
    },
  f: (params: Tool.ParametersType<P>, signal: AbortSignal) => A | Promise<A>
): Skill<Tool.ParametersType<P>, A, Cause.UnknownException> => make(name, { ...options, handler: Tool.fromFunction(f) })

/**
 * A skill with raw JSON Schemas (draft-07 or 2020-12) for parameters and result, checked by ajv, for definitions known
 * only at run time. `SkillParameters.toJsonSchema` derives a schema from a list of parameters. A schema that does not
 * compile is the skill's `problem`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonSchema = <A = unknown, F = never, R = never>(
  name: string,
  options: Traits &
    Confirmation<Readonly<Record<string, unknown>>> & {
      readonly description: string
      /** Default: no parameters. */
      readonly parameters?: unknown
      readonly returns?: unknown
      readonly handler: (params: Readonly<Record<string, unknown>>, call: SkillCall) => Effect.Effect<A, F, R>
      readonly retryable?: ((error: F) => boolean) | undefined
    }
): Skill<Readonly<Record<string, unknown>>, A, F, R> => {
  const params: ParameterCodec.Codec =
    options.parameters === undefined
      ? ParameterCodec.none
      : Either.getOrElse(ParameterCodec.fromJsonSchema(options.parameters), (reason) => ({
          ...ParameterCodec.none,
          problem: {
            message: `The JSON Schema of the parameters does not compile: ${reason}`,
            hint: "Use draft-07 or 2020-12 without references to other documents"
          }
        }))
  return fromCodecs(name, options, params, SkillCodec.ofJsonSchema(options.returns))
}

/**
 * A skill from prebuilt parts, for adapters. The parts are not checked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromParts = <P, A, E = never, R = never>(
  name: string,
  options: Traits & {
    readonly description: string
    readonly parametersSchema: JsonSchema
    readonly returnsSchema?: JsonSchema | undefined
    readonly requiresConfirmation: boolean
    /** Makes the definition unusable. */
    readonly problem?: ParameterCodec.Problem | undefined
    readonly erased: Omit<Erased, "uses" | "reference">
  }
): Skill<P, A, E, R> => {
  const definition = makeDefinition(
    name,
    options.description,
    options.parametersSchema,
    options.returnsSchema ?? {},
    options
  )
  return build({
    definition,
    problem: checkDefinition(definition, options.problem),
    erased: { ...options.erased, uses: undefined, reference: false }
  })
}

/**
 * A placeholder for the registered skill of this name, for compositions that know skills only by name. The resolved
 * skill checks the parameters; if there is none, the execution fails with `SkillNotFoundError`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ref = (name: string): Skill<unknown, unknown, SkillError> => {
  const definition = makeDefinition(name, `The skill "${name}"`, { type: "object" }, {}, { maxRetries: 0 })
  return build({
    definition,
    problem: checkDefinition(definition),
    erased: {
      decode: Either.right,
      encodeParams: (params) => params,
      handle: () => Effect.dieMessage("a reference is resolved by the executor"),
      needsConfirmation: () => false,
      encode: Either.right,
      decodeResult: Either.right,
      isRetryable: undefined,
      uses: undefined,
      reference: true
    }
  })
}

/**
 * The issues of parameters, one text each; empty if they are valid.
 *
 * @since 0.1.0
 * @category validation
 */
export const validate: {
  (params: unknown): (self: Any) => Effect.Effect<ReadonlyArray<string>>
  (self: Any, params: unknown): Effect.Effect<ReadonlyArray<string>>
} = dual(2, (self: Any, params: unknown) =>
  Effect.match(self.erased.decode(params), { onFailure: (issues) => issues, onSuccess: () => [] })
)

/**
 * Overrides for `annotate`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Changes<in P> extends Traits, Confirmation<P> {
  readonly name?: string | undefined
  readonly description?: string | undefined
}

/**
 * Copies the skill with another name or other traits; unset fields keep their value.
 *
 * @since 0.1.0
 * @category combinators
 */
export const annotate: {
  <P>(changes: Changes<P>): <A, E, R>(self: Skill<P, A, E, R>) => Skill<P, A, E, R>
  <P, A, E, R>(self: Skill<P, A, E, R>, changes: Changes<P>): Skill<P, A, E, R>
} = dual(2, <P, A, E, R>(self: Skill<P, A, E, R>, changes: Changes<P>): Skill<P, A, E, R> => {
  const before = self.definition
  const definition = makeDefinition(
    changes.name ?? before.name,
    changes.description ?? before.description,
    before.parametersSchema,
    before.returnsSchema,
    {
      category: changes.category ?? before.category,
      requiresConfirmation: changes.requiresConfirmation ?? before.requiresConfirmation,
      cacheable: changes.cacheable ?? before.cacheable,
      shared: changes.shared ?? before.shared,
      idempotent: changes.idempotent ?? before.idempotent,
      maxRetries: changes.maxRetries ?? before.maxRetries,
      timeout: changes.timeout ?? (before.timeoutSeconds && Duration.seconds(before.timeoutSeconds)),
      maxConcurrent: changes.maxConcurrent ?? before.maxConcurrent,
      permissions: changes.permissions ?? before.permissions,
      metadata: changes.metadata ?? before.metadata
    }
  )
  const erased =
    changes.requiresConfirmation === undefined
      ? self.erased
      : { ...self.erased, needsConfirmation: predicateOf<any>(changes.requiresConfirmation) }
  // A bad name or description may be fixed by the change; a bad schema is not.
  const lasting = self.problem?.message === checkDefinition(before)?.message ? undefined : self.problem
  return build({ definition, problem: checkDefinition(definition) ?? lasting, erased })
})
