/**
 * A skill: a capability with a definition, checked parameters and a checked result, whose failures and requirements are
 * typed.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Schema from "effect/Schema"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as CurrentRun from "../../observability/Run.js"
import * as ParameterCodec from "../../tool/definition/Parameters.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as SkillCodec from "./SkillCodec.js"
import type { SkillDefinition } from "./SkillDefinition.js"
import { type SkillError, SkillValidationError } from "./SkillError.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/skill/Skill")

/**
 * For whom a skill is executed.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillContext {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}

/**
 * What a handler may want to know about the execution it serves.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillCall extends SkillContext {
  /** The name it is executed under. */
  readonly skillName: string
  /** Names the execution, the same on every attempt: an idempotency key. */
  readonly id: string
  /** From 1. */
  readonly attempt: number
}

/**
 * Executes a skill inside another one: under the same executor, for the same user, with everything that holds for the
 * skill itself (its permissions, cache, timeout, retries and limits).
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
  /** What is wrong with the definition, if anything: such a skill is neither registered nor executed. */
  readonly problem: SkillValidationError | undefined
  /** The skill with its types erased: for executors. */
  readonly erased: Erased
}

/**
 * A skill as its executor sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Erased {
  /** Parameters as they came, to what the handler takes; all issues, one text each. */
  readonly decode: (params: unknown) => Effect.Effect<unknown, ReadonlyArray<string>>
  /** Decoded parameters in their JSON form; `undefined` when they do not fit the schema. */
  readonly encodeParams: (params: unknown) => unknown
  /** May throw, or be no Effect: it is the user's. `run` is for composites. */
  readonly handle: (params: any, call: SkillCall, run: Run) => Effect.Effect<unknown, unknown, any>
  /** Whether somebody must approve an execution with these decoded parameters first. */
  readonly needsConfirmation: (params: any) => boolean
  /** A result in its JSON form, checked; the text says what does not fit. */
  readonly encode: (result: unknown) => Effect.Effect<unknown, string>
  /** The way back. */
  readonly decodeResult: (encoded: unknown) => Effect.Effect<unknown, string>
  /** Whether another attempt may help. `undefined`: what the executor thinks. */
  readonly isRetryable: ((error: unknown) => boolean) | undefined
  /** The skills a composite executes. It takes no place of its own among the executions that run at a time. */
  readonly uses: ReadonlyArray<Any> | undefined
  /** True for a skill that stands for the one of its name in the registry. */
  readonly reference: boolean
}

/**
 * Any skill.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = Skill<never, unknown, unknown, unknown>

/**
 * A skill that requires nothing any more: what a registry holds.
 *
 * @since 0.1.0
 * @category models
 */
export type Bound = Skill<never, unknown, unknown>

/**
 * The parameters of a skill.
 *
 * @since 0.1.0
 * @category models
 */
export type ParamsOf<S extends Any> = S extends Skill<infer P, unknown, unknown, unknown> ? P : never

/**
 * The result of a skill.
 *
 * @since 0.1.0
 * @category models
 */
export type ResultOf<S extends Any> = S extends Skill<never, infer A, unknown, unknown> ? A : never

/**
 * The failures of a skill.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<S extends Any> = S extends Skill<never, unknown, infer E, unknown> ? E : never

/**
 * What a skill requires.
 *
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

const build = (fields: Omit<Any, typeof TypeId | "pipe">): any => Object.assign(Object.create(proto), fields)

/**
 * How a skill is to be treated. The time and the retries that it leaves out come from the executor.
 *
 * @since 0.1.0
 * @category models
 */
export interface Traits {
  /** `general` unless set. */
  readonly category?: string | undefined
  /** Results of the same parameters may be reused: for the same user, unless they are `shared`. */
  readonly cacheable?: boolean | undefined
  /** Results depend on nothing but the parameters, and are reused for everybody who may execute it. */
  readonly shared?: boolean | undefined
  /** Executing it twice does no more than once: only then is it tried again after a timeout. */
  readonly idempotent?: boolean | undefined
  /** Further attempts after the first, whatever the failure. */
  readonly maxRetries?: number | undefined
  /** For each attempt. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Executions of this skill at a time. */
  readonly maxConcurrent?: number | undefined
  /** All of these are needed. */
  readonly permissions?: ReadonlyArray<string> | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Whether somebody must approve an execution first, always or depending on its parameters; a function that throws says
 * that somebody must. The definition then says that confirmation is required.
 *
 * @since 0.1.0
 * @category models
 */
export interface Confirmation<in P> {
  readonly requiresConfirmation?: boolean | ((params: P) => boolean) | undefined
}

/** Exact: absent fields stay absent, so that definitions encode to what was said. */
const definitionOf = (
  name: string,
  description: string,
  parametersSchema: JsonSchema,
  returnsSchema: JsonSchema,
  traits: Traits & Confirmation<never>
): SkillDefinition => ({
  name,
  description,
  parametersSchema,
  returnsSchema,
  category: traits.category ?? "general",
  requiresConfirmation: (traits.requiresConfirmation ?? false) !== false,
  cacheable: traits.cacheable ?? false,
  shared: traits.shared ?? false,
  idempotent: traits.idempotent ?? false,
  permissions: [...new Set(traits.permissions)],
  metadata: traits.metadata ?? {},
  ...(traits.maxRetries === undefined ? {} : { maxRetries: traits.maxRetries }),
  ...(traits.timeout === undefined ? {} : { timeoutSeconds: Duration.toSeconds(traits.timeout) }),
  ...(traits.maxConcurrent === undefined ? {} : { maxConcurrent: traits.maxConcurrent })
})

const isCount = (value: number | undefined, least: number): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= least)

const problemOf = (
  definition: SkillDefinition,
  ...parts: ReadonlyArray<ParameterCodec.Problem | undefined>
): SkillValidationError | undefined => {
  const found = parts.filter((part) => part !== undefined)
  const errors = found.map(({ message }) => message)
  if (definition.name.trim() === "") errors.push("The name is empty")
  if (definition.description.trim() === "") errors.push("There is no description: models choose by it")
  if (!isCount(definition.maxRetries, 0)) errors.push("maxRetries is not a whole number from 0")
  if (!isCount(definition.maxConcurrent, 1)) errors.push("maxConcurrent is not a whole number from 1")
  if (definition.timeoutSeconds !== undefined && !(definition.timeoutSeconds > 0))
    errors.push("The timeout is not above 0")
  if (errors.length === 0) return undefined
  const [first] = found
  return new SkillValidationError({
    skillName: definition.name,
    errors,
    message: `The definition of the skill "${definition.name}" cannot be used: ${errors.join("; ")}`,
    hint: first?.hint ?? "Correct the definition",
    ...(first?.cause === undefined ? {} : { cause: first.cause })
  })
}

const fromCodecs = (
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
  const definition = definitionOf(name, options.description, params.parameters, result.schema, options)
  return build({
    definition,
    problem: problemOf(definition, params.problem, result.problem),
    erased: {
      decode: SkillCodec.decoding(params),
      encodeParams: params.encode,
      handle: options.handler,
      needsConfirmation: Tool.predicateOf<any>(options.requiresConfirmation ?? false),
      encode: result.encode,
      decodeResult: result.decodeResult,
      isRetryable: options.retryable,
      uses,
      reference: false
    }
  })
}

/**
 * What the parameters of a skill may be given as: an object schema, or its fields.
 *
 * @since 0.1.0
 * @category models
 */
export type Parameters = Tool.Parameters

/**
 * The decoded parameters.
 *
 * @since 0.1.0
 * @category models
 */
export type ParametersType<P extends Parameters> = Tool.ParametersType<P>

/**
 * A skill of Effect Schemas. Everything is inferred: parameters from their schema, result, failures and requirements
 * from the handler.
 *
 * Each result is checked by `returns`; one that does not fit fails the execution with `SkillValidationError`. Where
 * `maxRetries` is set, every failure is tried again, unless `retryable` says otherwise; retries that come from the
 * executor's configuration are for failures of a connection only.
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
export const make = <const P extends Parameters = {}, A = unknown, F = never, R = never>(
  name: string,
  options: Traits &
    Confirmation<ParametersType<P>> & {
      readonly description: string
      readonly parameters?: P | undefined
      readonly returns?: Schema.Schema<A, any, never> | undefined
      readonly handler: (params: ParametersType<P>, call: SkillCall) => Effect.Effect<A, F, R>
      /** Which failures are worth another attempt. */
      readonly retryable?: ((error: F) => boolean) | undefined
    }
): Skill<ParametersType<P>, A, F, R> =>
  fromCodecs(
    name,
    options,
    ParameterCodec.make(`the skill "${name}"`, options.parameters),
    SkillCodec.of(options.returns)
  )

/**
 * A skill that is a plain function, asynchronous or not: what it throws or rejects with is its failure. The signal is
 * aborted when the execution is interrupted or runs out of time.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFunction = <const P extends Parameters = {}, A = unknown>(
  name: string,
  options: Traits &
    Confirmation<ParametersType<P>> & {
      readonly description: string
      readonly parameters?: P | undefined
      readonly returns?: Schema.Schema<A, any, never> | undefined
    },
  f: (params: ParametersType<P>, signal: AbortSignal) => A | Promise<A>
): Skill<ParametersType<P>, A, Cause.UnknownException> => make(name, { ...options, handler: Tool.fromFunction(f) })

/**
 * A skill whose parameters and result are raw JSON Schemas (draft-07 or 2020-12), checked by ajv: for sources that are
 * only known at run time. `SkillParameters.toJsonSchema` makes one of a list of parameters. A schema that does not
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
      /** No parameters unless given. */
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
 * A skill that executes other skills, by `run`. Its permissions are its own and those of all it uses; each of those is
 * checked again when it is executed. It takes no place of its own among the executions that run at a time: what it uses
 * does. Its timeout, if it has one, covers them all, and it is not retried unless it says so.
 *
 * `like` takes parameters and result, schemas included, from skills: those of a chain are its first's and its last's.
 *
 * @since 0.1.0
 * @category constructors
 */
export const composite = <P, A, F, R>(
  name: string,
  options: Traits &
    Confirmation<P> & {
      readonly description: string
      readonly uses: ReadonlyArray<Any>
      readonly parameters: Schema.Schema<P, any, never> | { readonly like: Skill<P, unknown, unknown, unknown> }
      readonly returns?: Schema.Schema<A, any, never> | { readonly like: Skill<never, A, unknown, unknown> } | undefined
      readonly handler: (params: P, run: Run, call: SkillCall) => Effect.Effect<A, F, R>
      readonly retryable?: ((error: F) => boolean) | undefined
    }
): Skill<P, A, F, R> => {
  const { parameters, returns } = options
  const given: Any | undefined = "like" in parameters ? parameters.like : undefined
  const wanted: Any | undefined = returns !== undefined && "like" in returns ? returns.like : undefined
  const permissions = [...(options.permissions ?? []), ...options.uses.flatMap((skill) => skill.definition.permissions)]
  const skill: Any = fromCodecs(
    name,
    {
      ...options,
      permissions,
      maxRetries: options.maxRetries ?? 0,
      handler: (params, call, run) => options.handler(params, run, call)
    },
    given === undefined
      ? ParameterCodec.make(`the skill "${name}"`, parameters as Schema.Schema<P, any, never>)
      : ParameterCodec.none,
    wanted === undefined ? SkillCodec.of(returns as Schema.Schema<A, any, never> | undefined) : SkillCodec.any,
    options.uses
  )
  return build({
    definition: {
      ...skill.definition,
      ...(given === undefined ? {} : { parametersSchema: given.definition.parametersSchema }),
      ...(wanted === undefined ? {} : { returnsSchema: wanted.definition.returnsSchema })
    },
    problem: skill.problem ?? options.uses.find((used) => used.problem !== undefined)?.problem,
    erased: {
      ...skill.erased,
      ...(given === undefined ? {} : { decode: given.erased.decode, encodeParams: given.erased.encodeParams }),
      ...(wanted === undefined ? {} : { encode: wanted.erased.encode, decodeResult: wanted.erased.decodeResult })
    }
  })
}

/**
 * A skill of parts that were made elsewhere: for adapters. Everything is the caller's to get right.
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
  const definition = definitionOf(
    name,
    options.description,
    options.parametersSchema,
    options.returnsSchema ?? {},
    options
  )
  return build({
    definition,
    problem: problemOf(definition, options.problem),
    erased: { ...options.erased, uses: undefined, reference: false }
  })
}

/**
 * The skill of this name in the registry of whatever executes it: for compositions of skills that are only known by
 * name. Parameters are checked by the skill that is found; where there is none, the execution fails with
 * `SkillNotFoundError`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ref = (name: string): Skill<unknown, unknown, SkillError> => {
  const definition = definitionOf(name, `The skill "${name}"`, { type: "object" }, {}, { maxRetries: 0 })
  return build({
    definition,
    problem: problemOf(definition),
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
 * What is wrong with parameters, one text each; empty when nothing is.
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
 * What may be said anew of a skill.
 *
 * @since 0.1.0
 * @category models
 */
export interface Changes<in P> extends Traits, Confirmation<P> {
  readonly name?: string | undefined
  readonly description?: string | undefined
}

/**
 * The same skill under another name, or treated in another way; fields that are unset keep their value.
 *
 * @since 0.1.0
 * @category combinators
 */
export const annotate: {
  <P>(changes: Changes<P>): <A, E, R>(self: Skill<P, A, E, R>) => Skill<P, A, E, R>
  <P, A, E, R>(self: Skill<P, A, E, R>, changes: Changes<P>): Skill<P, A, E, R>
} = dual(2, <P, A, E, R>(self: Skill<P, A, E, R>, changes: Changes<P>): Skill<P, A, E, R> => {
  const before = self.definition
  const definition = definitionOf(
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
      : { ...self.erased, needsConfirmation: Tool.predicateOf<any>(changes.requiresConfirmation) }
  // What was wrong with its words may be mended now; what is wrong with its schemas is not.
  const lasting = self.problem?.message === problemOf(before)?.message ? undefined : self.problem
  return build({ definition, problem: problemOf(definition) ?? lasting, erased })
})

/**
 * The same skill with what its handler requires. A service that is present where the skill is executed wins over one
 * given here.
 *
 * @since 0.1.0
 * @category combinators
 */
export const provideContext: {
  <R2>(context: Context.Context<R2>): <P, A, E, R>(self: Skill<P, A, E, R>) => Skill<P, A, E, Exclude<R, R2>>
  <P, A, E, R, R2>(self: Skill<P, A, E, R>, context: Context.Context<R2>): Skill<P, A, E, Exclude<R, R2>>
} = dual(
  2,
  <P, A, E, R, R2>(self: Skill<P, A, E, R>, context: Context.Context<R2>): Skill<P, A, E, Exclude<R, R2>> =>
    build({
      ...(self as unknown as Any),
      erased: {
        ...self.erased,
        handle: (params, call, run) => CapturedContext.provide(self.erased.handle(params, call, run), context)
      }
    })
)

/**
 * The same skill with everything it requires taken from where this runs.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bind = <P, A, E, R>(self: Skill<P, A, E, R>): Effect.Effect<Skill<P, A, E>, never, R> =>
  Effect.map(captured<R>(), (context) => provideContext(self, context) as Skill<P, A, E>)

/** The run that skills are registered in is not the one they are executed in, if there is any then. */
const captured = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(CapturedContext.context<R>(), (held) => Context.omit(CurrentRun.Run)(held as any) as Context.Context<R>)

/**
 * Several at once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bindAll = <const S extends ReadonlyArray<Any>>(
  skills: S
): Effect.Effect<ReadonlyArray<Bound>, never, ServicesOf<S[number]>> =>
  Effect.map(captured<ServicesOf<S[number]>>(), (context) =>
    skills.map((skill) => provideContext(skill, context) as Bound)
  )
