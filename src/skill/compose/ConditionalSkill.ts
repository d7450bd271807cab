/**
 * Executes one of two skills, chosen by a condition on the parameters.
 *
 * A condition that throws ends the execution with `SkillExecutionError`; an effectful condition may fail with its own
 * error. In both cases neither skill is executed.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import type * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import type { SkillError } from "../definition/SkillError.js"
import * as CompositeSchema from "./CompositeSchema.js"
import * as Condition from "./Condition.js"
import * as SkillBinding from "./SkillBinding.js"

type Parameters<P> = Schema.Schema<P, any, never> | { readonly like: Skill.Skill<P, unknown, unknown, unknown> }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in P> extends SkillDefinition.Traits, SkillDefinition.Confirmation<P> {
  readonly description: string
}

const build = (
  name: string,
  options: Options<any> & {
    readonly parameters?: Parameters<any> | undefined
    readonly condition: Condition.Condition<any, unknown, unknown>
    readonly ifTrue: Skill.Any
    readonly ifFalse?: Skill.Any | undefined
  }
): any => {
  const { condition, ifFalse, ifTrue } = options
  const uses = [ifTrue, ...(ifFalse === undefined ? [] : [ifFalse])] as const
  const composite: Skill.Skill<unknown, unknown, unknown> = CompositeSkill.make(name, {
    ...options,
    uses,
    parameters: options.parameters ?? { like: CompositeSchema.mergeParameters(uses) as Skill.Skill<unknown, unknown> },
    returns: { like: ifFalse === undefined ? optional(ifTrue) : CompositeSchema.mergeResults(uses) },
    handler: (params, run) => {
      const execute = (skill: Skill.Any) =>
        (run as (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>)(
          skill,
          CompositeSchema.paramsFor(skill, composite, params)
        )
      const holds = Condition.holds(condition, params, name) as Effect.Effect<boolean, unknown>
      return Effect.flatMap(holds, (isTrue): Effect.Effect<unknown, unknown> => {
        if (ifFalse !== undefined) return execute(isTrue ? ifTrue : ifFalse)
        return isTrue ? Effect.map(execute(ifTrue), Option.some) : Effect.succeedNone
      })
    }
  })
  return composite
}

const none = { _tag: "None" }

const optionSchema = (value: JsonSchema): JsonSchema => ({
  type: "object",
  properties: { _tag: { enum: ["None", "Some"] }, value: CompositeSchema.isEmbeddable(value) ? value : {} },
  required: ["_tag"],
  additionalProperties: false
})

/** The result of a skill that may not be executed, in the JSON form of `Schema.Option`. */
const optional = (skill: Skill.Any): Skill.Any =>
  CompositeSchema.copyWith(skill, {
    returnsSchema: optionSchema(skill.definition.returnsSchema),
    encode: (result) => {
      if (!Option.isOption(result)) return Either.left("The result is no Option")
      return Option.isNone(result)
        ? Either.right(none)
        : Effect.map(skill.erased.encode(result.value), (value) => ({ _tag: "Some", value }))
    },
    decodeResult: (json) => {
      if (!SkillBinding.isMap(json)) return Either.left("The result is no Option")
      return json["_tag"] === "Some"
        ? Effect.map(skill.erased.decodeResult(json["value"]), Option.some)
        : Either.right(Option.none())
    }
  })

/**
 * Executes `ifTrue` where the condition holds, otherwise `ifFalse`. Without `ifFalse` the result is an `Option`; `None`
 * means that nothing was executed.
 *
 * A type guard narrows the parameters of both skills and needs explicit `parameters`. By default the parameters are
 * those that both skills accept.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { ConditionalSkill, Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const shorten = Skill.make("shorten", {
 *   description: "Shortens a text",
 *   parameters: { text: Schema.String },
 *   returns: Schema.String,
 *   handler: ({ text }) => Effect.succeed(text.slice(0, 100))
 * })
 *
 * // Skill<{ readonly text: string }, Option<string>, SkillError>
 * const shortenLong = ConditionalSkill.make("shorten_long", {
 *   description: "Shortens a text that is too long",
 *   condition: ({ text }) => text.length > 100,
 *   ifTrue: shorten
 * })
 * ```
 */
export const make: {
  <P, P2 extends P, A1, E1, R1, A2, E2, R2>(
    name: string,
    options: Options<NoInfer<P>> & {
      readonly parameters: Parameters<P>
      readonly condition: (params: P) => params is P2
      readonly ifTrue: Skill.Skill<P2, A1, E1, R1>
      readonly ifFalse: Skill.Skill<Exclude<P, P2>, A2, E2, R2>
    }
  ): Skill.Skill<P, A1 | A2, E1 | E2 | SkillError, R1 | R2>
  <P, P2 extends P, A1, E1, R1>(
    name: string,
    options: Options<NoInfer<P>> & {
      readonly parameters: Parameters<P>
      readonly condition: (params: P) => params is P2
      readonly ifTrue: Skill.Skill<P2, A1, E1, R1>
      readonly ifFalse?: undefined
    }
  ): Skill.Skill<P, Option.Option<A1>, E1 | SkillError, R1>
  <P1, A1, E1, R1, P2, A2, E2, R2, P extends P1 & P2 = P1 & P2, EC = never, RC = never>(
    name: string,
    options: Options<NoInfer<P>> & {
      readonly parameters?: Parameters<P> | undefined
      readonly condition: (params: NoInfer<P>) => boolean | Effect.Effect<boolean, EC, RC>
      readonly ifTrue: Skill.Skill<P1, A1, E1, R1>
      readonly ifFalse: Skill.Skill<P2, A2, E2, R2>
    }
  ): Skill.Skill<P, A1 | A2, E1 | E2 | EC | SkillError, R1 | R2 | RC>
  <P1, A1, E1, R1, P extends P1 = P1, EC = never, RC = never>(
    name: string,
    options: Options<NoInfer<P>> & {
      readonly parameters?: Parameters<P> | undefined
      readonly condition: (params: NoInfer<P>) => boolean | Effect.Effect<boolean, EC, RC>
      readonly ifTrue: Skill.Skill<P1, A1, E1, R1>
      readonly ifFalse?: undefined
    }
  ): Skill.Skill<P, Option.Option<A1>, E1 | EC | SkillError, R1 | RC>
} = build
