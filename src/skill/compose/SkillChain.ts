/**
 * Executes skills one after another: each result is the parameters of the next.
 *
 * A result that is a map replaces the parameters; any other value `v` becomes `{ output: v }`. The first failure ends
 * the chain, and the last result is the chain's. Types check that results fit; results known only at run time
 * (references, raw JSON) are decoded by the schema of the next skill, which fails with `SkillValidationError` if they
 * do not fit. References accept values in their JSON form.
 *
 * Chains are associative: `a, (b, c)` gives what `(a, b), c` gives.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import type { SkillError } from "../definition/SkillError.js"
import * as SkillBinding from "./SkillBinding.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in P = never> extends SkillDefinition.Traits, SkillDefinition.Confirmation<P> {
  readonly description: string
}

/**
 * One skill of a chain, and the names under which it receives the previous result.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly skill: Skill.Any
  readonly rename?: SkillBinding.Rename | undefined
}

/**
 * A skill that can be continued with `andThen`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Chain<in P, out A, out E = never, out R = never> extends Skill.Skill<P, A, E, R> {
  readonly steps: readonly [Step, ...ReadonlyArray<Step>]
  readonly options: Options<any>
}

/** The type that each further skill must accept. */
type Fitting<Before, Skills extends ReadonlyArray<unknown>> = Skills extends readonly [
  infer Next extends Skill.Any,
  ...infer Rest
]
  ? readonly [
      Skill.Skill<SkillBinding.AsParams<Before>, unknown, unknown, unknown>,
      ...Fitting<Skill.ResultOf<Next>, Rest>
    ]
  : readonly []

type LastResult<A, Skills extends ReadonlyArray<Skill.Any>> = Skills extends readonly [
  ...infer _,
  infer Last extends Skill.Any
]
  ? Skill.ResultOf<Last>
  : A

/** A single skill adds no failure that its execution does not add anyway. */
type Failure<E> = E | SkillError

const fromSteps = (name: string, options: Options<any>, steps: Chain<never, unknown>["steps"]): any => {
  const [first, ...more] = steps
  const uses = steps.map(({ skill }) => skill)
  const skill = CompositeSkill.make(name, {
    ...options,
    uses,
    parameters: { like: first.skill as Skill.Skill<unknown, unknown> },
    returns: { like: uses[uses.length - 1] as Skill.Skill<never, unknown> },
    handler: (params, run) =>
      Effect.gen(function* () {
        const execute = run as (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>
        let before: Skill.Any = first.skill
        let result = yield* execute(before, params)
        for (const { rename, skill } of more) {
          result = yield* execute(skill, yield* SkillBinding.bindResult(before, result, skill, rename))
          before = skill
        }
        return result
      })
  })
  return Object.assign(skill, { steps, options })
}

/**
 * A chain of at least one skill. Each must accept the result of the one before; use `andThen` to rename keys. The
 * parameters are those of the first skill and the result that of the last, with their schemas.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Skill, SkillChain } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const search = Skill.make("search", {
 *   description: "Finds pages",
 *   parameters: { query: Schema.String },
 *   returns: Schema.Struct({ hits: Schema.Array(Schema.String) }),
 *   handler: ({ query }) => Effect.succeed({ hits: [`About ${query}`] })
 * })
 * const summarize = Skill.make("summarize", {
 *   description: "Makes one text of many",
 *   parameters: { texts: Schema.Array(Schema.String) },
 *   returns: Schema.String,
 *   handler: ({ texts }) => Effect.succeed(texts.join("; "))
 * })
 *
 * const research = SkillChain.make("research", { description: "Finds out about something" }, search).pipe(
 *   SkillChain.andThen(summarize, { rename: { hits: "texts" } }),
 *   SkillChain.andThen(Skill.ref("translate"), { rename: { output: "text" } })
 * )
 * ```
 */
export const make = <P, A, E, R, const Skills extends ReadonlyArray<Skill.Any>>(
  name: string,
  options: Options<NoInfer<P>>,
  first: Skill.Skill<P, A, E, R>,
  ...more: Skills & Fitting<A, Skills>
): Chain<P, LastResult<A, Skills>, Failure<E | Skill.ErrorOf<Skills[number]>>, R | Skill.ServicesOf<Skills[number]>> =>
  fromSteps(name, options, [{ skill: first }, ...(more as Skills).map((skill) => ({ skill }))])

/**
 * A chain of steps known only at run time, skills or names of skills. Nothing is checked in advance.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromList = (
  name: string,
  options: Options<unknown>,
  steps: readonly [FromListStep, ...ReadonlyArray<FromListStep>]
): Chain<unknown, unknown, SkillError> => fromSteps(name, options, [stepOf(steps[0]), ...steps.slice(1).map(stepOf)])

/**
 * The name of a skill, optionally with renamed keys.
 *
 * @since 0.1.0
 * @category models
 */
export type FromListStep = string | { readonly skill: string; readonly rename?: SkillBinding.Rename | undefined }

const stepOf = (step: FromListStep): Step =>
  typeof step === "string" ? { skill: Skill.ref(step) } : { skill: Skill.ref(step.skill), rename: step.rename }

/**
 * Appends a skill, whose result becomes that of the chain. `rename` gives keys of the previous result the parameter
 * names of the next skill (`{ hits: "texts" }`); a value that is not a map is named `output`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const andThen: {
  <P2, A2, E2, R2, const M extends SkillBinding.Rename = {}>(
    next: Skill.Skill<P2, A2, E2, R2>,
    options?: { readonly rename?: M | undefined }
  ): <P, A, E, R>(self: Chain<P, A, E, R> & SkillBinding.Fits<A, P2, M>) => Chain<P, A2, Failure<E | E2>, R | R2>
  <P, A, E, R, P2, A2, E2, R2, const M extends SkillBinding.Rename = {}>(
    self: Chain<P, A, E, R>,
    next: Skill.Skill<P2, A2, E2, R2> & SkillBinding.Fits<A, P2, M>,
    options?: { readonly rename?: M | undefined }
  ): Chain<P, A2, Failure<E | E2>, R | R2>
} = dual(
  (args) => Skill.isSkill(args[1]),
  (self: Chain<never, unknown>, next: Skill.Any, options?: { readonly rename?: SkillBinding.Rename | undefined }) =>
    fromSteps(self.definition.name, self.options, [...self.steps, { skill: next, rename: options?.rename }])
)
