/**
 * Executes several skills at once with the same parameters: all of them, as many as succeed, or a quorum.
 *
 * Each skill gets its own copy of the parameters, so that none sees another's changes. Results equal those of executing
 * the skills one after another. A failure, a reached quorum or an interruption interrupts the skills that still run and
 * waits for their finalizers.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { errorInfo } from "../../domain/ErrorInfo.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as Step from "../../observability/Step.js"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import { type SkillError, SkillExecutionError } from "../definition/SkillError.js"
import * as CompositeSchema from "./CompositeSchema.js"
import * as Quorum from "./Quorum.js"
import * as SkillBinding from "./SkillBinding.js"

/**
 * The skills by the keys of their results.
 *
 * @since 0.1.0
 * @category models
 */
export type Skills = { readonly [key: string]: Skill.Any }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<S extends Skills | ReadonlyArray<Skill.Any>>
  extends SkillDefinition.Traits,
    SkillDefinition.Confirmation<ParamsOf<NoInfer<S>>> {
  readonly description: string
  /** Keyed by result key; a list is keyed by the skills' names, which must differ. At least one. */
  readonly skills: S
  /** How many run at a time, started in order. Default: all. */
  readonly concurrency?: number | undefined
}

/** A list is a record under names known only at run time. */
type Keyed<S extends Skills | ReadonlyArray<Skill.Any>> =
  S extends ReadonlyArray<infer One extends Skill.Any> ? { readonly [name: string]: One } : S extends Skills ? S : never

type One<S extends Skills | ReadonlyArray<Skill.Any>> = Keyed<S>[keyof Keyed<S>]

type ParamsOf<S extends Skills | ReadonlyArray<Skill.Any>> = CompositeSchema.ParamsOfAll<One<S>>

/**
 * The results of all skills.
 *
 * @since 0.1.0
 * @category models
 */
export type ResultsOf<S extends Skills | ReadonlyArray<Skill.Any>> = {
  readonly [K in keyof Keyed<S>]: Skill.ResultOf<Keyed<S>[K]>
}

/**
 * The results of the skills that succeeded and the failures of the others; each skill is in one of the two. The JSON
 * form of a failure is its message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collected<S extends Skills | ReadonlyArray<Skill.Any>> {
  readonly outputs: { readonly [K in keyof Keyed<S>]?: Skill.ResultOf<Keyed<S>[K]> }
  readonly errors: { readonly [K in keyof Keyed<S>]?: Skill.ErrorOf<Keyed<S>[K]> | SkillError }
}

type Entries = ReadonlyArray<readonly [key: string, skill: Skill.Any]>
type Outputs = Readonly<Record<string, unknown>>

const entriesOf = (skills: Skills | ReadonlyArray<Skill.Any>): Entries =>
  Array.isArray(skills)
    ? (skills as ReadonlyArray<Skill.Any>).map((skill) => [skill.definition.name, skill] as const)
    : Object.entries(skills as Skills)

/** Encodes each output by the schema of its skill; absent outputs stay absent. */
const through = (
  entries: Entries,
  take: (skill: Skill.Any, value: unknown) => Effect.Effect<unknown, string>
): ((outputs: unknown) => Effect.Effect<Outputs, string>) => {
  const known = new Map(entries)
  return (outputs) => {
    if (!SkillBinding.isMap(outputs)) return Either.left("The outputs are not an object")
    return Effect.map(
      Effect.forEach(Object.entries(outputs), ([key, value]) => {
        const skill = known.get(key)
        return skill === undefined
          ? Either.left(`There is no skill under the key "${key}"`)
          : Effect.map(
              Effect.mapError(take(skill, value), (error) => `${key}: ${error}`),
              (taken) => [key, taken] as const
            )
      }),
      Object.fromEntries
    )
  }
}

const encoded = (entries: Entries) => through(entries, (skill, value) => skill.erased.encode(value))
const decoded = (entries: Entries) => through(entries, (skill, value) => skill.erased.decodeResult(value))

const outputsSchema = (entries: Entries, isComplete: boolean): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(
    entries.map(([key, { definition }]) => [
      key,
      CompositeSchema.isEmbeddable(definition.returnsSchema) ? definition.returnsSchema : {}
    ])
  ),
  ...(isComplete ? { required: entries.map(([key]) => key) } : {}),
  additionalProperties: false
})

const problemsOf = (
  entries: Entries,
  { concurrency }: Pick<Options<any>, "concurrency">,
  count: number
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  if (entries.length === 0) problems.push("There are no skills")
  const names = entries.map(([key]) => key)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) problems.push(`Two skills have the name "${twice}": give the skills keys`)
  if (concurrency !== undefined && !(Number.isSafeInteger(concurrency) && concurrency >= 1)) {
    problems.push("concurrency is not a whole number from 1")
  }
  if (entries.length > 0 && !(Number.isSafeInteger(count) && count >= 1 && count <= entries.length)) {
    problems.push(`The quorum is not a whole number from 1 to ${entries.length}`)
  }
  return problems
}

const nothing = Skill.make("nothing", { description: "Takes nothing", handler: () => Effect.void })

type Execute = (entry: Entries[number]) => Effect.Effect<unknown, unknown>

const compose = (
  name: string,
  options: SkillDefinition.Traits &
    SkillDefinition.Confirmation<any> &
    Pick<Options<any>, "description" | "skills" | "concurrency">,
  result: (entries: Entries) => {
    readonly schema: JsonSchema
    readonly encode: Skill.Erased["encode"]
    readonly decode: Skill.Erased["decodeResult"]
  },
  all: (entries: Entries, execute: Execute) => Effect.Effect<unknown, unknown>,
  count: number = 1
): any => {
  const entries = entriesOf(options.skills)
  const uses = entries.map(([, skill]) => skill)
  const { decode, encode, schema } = result(entries)
  const [first = nothing, ...more] = uses
  const composite: Skill.Skill<unknown, unknown, unknown, unknown> = CompositeSkill.make(name, {
    ...options,
    uses,
    parameters: { like: CompositeSchema.mergeParameters([first, ...more]) as Skill.Skill<unknown, unknown> },
    returns: { like: CompositeSchema.copyWith(first, { returnsSchema: schema, encode, decodeResult: decode }) },
    handler: (params, run) =>
      all(entries, ([, skill]) =>
        (run as (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>)(
          skill,
          SkillBinding.copy(CompositeSchema.paramsFor(skill, composite, params))
        )
      )
  })
  return CompositeSchema.withErrors(composite, problemsOf(entries, options, count))
}

/**
 * Executes all skills and returns each result under its key. The first failure interrupts the others and is the failure
 * of the whole.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { ParallelSkills, Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const words = Skill.make("words", {
 *   description: "Counts the words of a text",
 *   parameters: { text: Schema.String },
 *   returns: Schema.Int,
 *   handler: ({ text }) => Effect.succeed(text.split(" ").length)
 * })
 *
 * // Skill<{ readonly text: string }, { readonly words: number; readonly mood: unknown }, SkillError>
 * const inspect = ParallelSkills.all("inspect", {
 *   description: "Says several things about a text",
 *   skills: { words, mood: Skill.ref("mood") }
 * })
 * ```
 */
export const all = <const S extends Skills | ReadonlyArray<Skill.Any>>(
  name: string,
  options: Options<S>
): Skill.Skill<
  CompositeSchema.ParamsOfAll<One<S>>,
  ResultsOf<S>,
  Skill.ErrorOf<One<S>> | SkillError,
  Skill.ServicesOf<One<S>>
> =>
  compose(
    name,
    options,
    (entries) => ({ schema: outputsSchema(entries, true), encode: encoded(entries), decode: decoded(entries) }),
    (entries, execute) =>
      Effect.map(Step.forEach(entries, execute, { concurrency: options.concurrency }), (results) =>
        Object.fromEntries(entries.map(([key], index) => [key, results[index]]))
      )
  )

/**
 * Executes all skills and returns the results of those that succeed beside the failures of the others. Never fails;
 * defects and interruption still end it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const collect = <const S extends Skills | ReadonlyArray<Skill.Any>>(
  name: string,
  options: Options<S>
): Skill.Skill<ParamsOf<S>, Collected<S>, never, Skill.ServicesOf<One<S>>> =>
  compose(name, options, collected, (entries, execute) =>
    Effect.map(
      Step.forEach(entries, (entry) => Effect.either(execute(entry)), { concurrency: options.concurrency }),
      (settled) => {
        const outputs: Array<readonly [string, unknown]> = []
        const errors: Array<readonly [string, unknown]> = []
        entries.forEach(([key], index) => {
          const one = settled[index] as Either.Either<unknown, unknown>
          if (Either.isRight(one)) outputs.push([key, one.right])
          else errors.push([key, one.left])
        })
        return { outputs: Object.fromEntries(outputs), errors: Object.fromEntries(errors) }
      }
    )
  )

const collected = (entries: Entries) => {
  const [encode, decode] = [encoded(entries), decoded(entries)]
  const names = new Map(entries.map(([key, { definition }]) => [key, definition.name]))
  return {
    schema: {
      type: "object",
      properties: {
        outputs: outputsSchema(entries, false),
        errors: { type: "object", additionalProperties: { type: "string" } }
      },
      required: ["outputs", "errors"],
      additionalProperties: false
    },
    encode: (result: unknown) => {
      const { errors, outputs } = result as Collected<Skills>
      return Effect.map(encode(outputs), (outputs) => ({
        outputs,
        errors: Object.fromEntries(Object.entries(errors).map(([key, error]) => [key, textOf(error)]))
      }))
    },
    decode: (json: unknown) => {
      if (!SkillBinding.isMap(json) || !SkillBinding.isMap(json["errors"])) return Either.left("There are no errors")
      const errors = Object.entries(json["errors"]).map(
        ([key, text]) => [key, new SkillExecutionError({ message: String(text), skillName: names.get(key) })] as const
      )
      return Effect.map(decode(json["outputs"]), (outputs) => ({ outputs, errors: Object.fromEntries(errors) }))
    }
  }
}

/**
 * The message of a failure, and nothing else of it. Unwraps the error of a rejected promise, which says more than its
 * wrapper.
 */
const textOf = (error: unknown): string => errorInfo(Cause.isUnknownException(error) ? error.error : error).message

/**
 * Executes skills until `count` have succeeded and interrupts the others. Fails with the failure that makes the quorum
 * unreachable. The result has at least `count` of the keys.
 *
 * @since 0.1.0
 * @category constructors
 */
export const quorum = <const S extends Skills | ReadonlyArray<Skill.Any>>(
  name: string,
  options: Options<S> & {
    /** From 1 to the number of skills. */
    readonly count: number
  }
): Skill.Skill<ParamsOf<S>, Partial<ResultsOf<S>>, Skill.ErrorOf<One<S>> | SkillError, Skill.ServicesOf<One<S>>> =>
  compose(
    name,
    options,
    (entries) => ({ schema: outputsSchema(entries, false), encode: encoded(entries), decode: decoded(entries) }),
    (entries, execute) =>
      Effect.map(Quorum.forEach(entries, options.count, execute, options.concurrency), (results) =>
        Object.fromEntries(results.map(([index, result]) => [(entries[index] as Entries[number])[0], result]))
      ),
    options.count
  )
