/**
 * Executes the skill of the first route whose condition holds for the parameters.
 *
 * A condition that throws or fails counts as false and is logged. If no condition holds, the fallback is executed;
 * without one the router fails with `SkillRoutingError`. `SkillModelRouter` lets a model choose.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import type * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import { type SkillError, SkillRoutingError } from "../definition/SkillError.js"
import * as CompositeSchema from "./CompositeSchema.js"
import * as Condition from "./Condition.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<P> extends SkillDefinition.Traits, SkillDefinition.Confirmation<NoInfer<P>> {
  readonly description: string
  /** Input of conditions and skills: a schema, or the parameters of a skill. Default: any map. */
  readonly parameters?:
    | Schema.Schema<P, any, never>
    | { readonly like: Skill.Skill<P, unknown, unknown, unknown> }
    | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Route {
  readonly when: Condition.Condition<any, unknown, unknown>
  readonly skill: Skill.Any
}

/**
 * A skill to which routes can be added.
 *
 * @since 0.1.0
 * @category models
 */
export interface Router<in P, out A, out E = never, out R = never> extends Skill.Skill<P, A, E, R> {
  readonly routes: ReadonlyArray<Route>
  readonly options: Options<any>
}

const build = (
  name: string,
  options: Options<any>,
  routes: ReadonlyArray<Route>,
  fallback: Skill.Any | undefined
): any => {
  const uses = [...routes.map(({ skill }) => skill), ...(fallback === undefined ? [] : [fallback])]
  const [first, ...more] = uses
  const composite: Skill.Skill<unknown, unknown, unknown> = CompositeSkill.make(name, {
    ...options,
    uses,
    parameters: options.parameters ?? Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    returns: first === undefined ? undefined : { like: CompositeSchema.mergeResults([first, ...more]) },
    handler: (params, run) =>
      Effect.gen(function* () {
        const execute = (skill: Skill.Any) =>
          (run as (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>)(
            skill,
            CompositeSchema.paramsFor(skill, composite, params)
          )
        for (const { skill, when } of routes) {
          const holds = Condition.holdsOrNot(when, params, name, skill.definition.name) as Effect.Effect<boolean>
          if (yield* holds) return yield* execute(skill)
        }
        if (fallback !== undefined) return yield* execute(fallback)
        return yield* new SkillRoutingError({
          message: `No route of the skill "${name}" matches the parameters`,
          hint: "Add a route, or a fallback with `SkillRouter.orElse`"
        })
      })
  })
  return Object.assign(composite, { routes, options })
}

/**
 * A router without routes, which fails with `SkillRoutingError`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Skill, SkillRouter } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const refund = Skill.make("refund", {
 *   description: "Pays money back",
 *   parameters: { order: Schema.String },
 *   handler: ({ order }) => Effect.succeed(`Paid back ${order}`)
 * })
 *
 * const support = SkillRouter.make("support", {
 *   description: "Answers customers",
 *   parameters: Schema.Struct({ text: Schema.String, order: Schema.optional(Schema.String) })
 * }).pipe(
 *   SkillRouter.route(
 *     (request): request is { readonly text: string; readonly order: string } => "order" in request,
 *     refund
 *   ),
 *   SkillRouter.route(({ text }) => text.includes("?"), Skill.ref("faq")),
 *   SkillRouter.orElse(Skill.ref("human"))
 * )
 * ```
 */
export const make = <P = Readonly<Record<string, unknown>>>(
  name: string,
  options: Options<P>
): Router<P, never, SkillError> => build(name, options, [], undefined)

/**
 * Adds a route after the others. A type guard narrows the parameters of its skill. An effectful condition adds its
 * requirements; if it fails, the route is skipped.
 *
 * @since 0.1.0
 * @category combinators
 */
export const route: {
  <Q, P, P2 extends P & Q, A2, E2, R2>(
    when: (params: P) => params is P2,
    skill: Skill.Skill<Q, A2, E2, R2>
  ): <A, E, R>(self: Router<P, A, E, R>) => Router<P, A | A2, E | E2 | SkillError, R | R2>
  <Q, P extends Q, A2, E2, R2, RX = never>(
    when: (params: P) => boolean | Effect.Effect<boolean, unknown, RX>,
    skill: Skill.Skill<Q, A2, E2, R2>
  ): <A, E, R>(self: Router<P, A, E, R>) => Router<P, A | A2, E | E2 | SkillError, R | R2 | RX>
  <P, A, E, R, P2 extends P, A2, E2, R2>(
    self: Router<P, A, E, R>,
    when: (params: P) => params is P2,
    skill: Skill.Skill<P2, A2, E2, R2>
  ): Router<P, A | A2, E | E2 | SkillError, R | R2>
  <P, A, E, R, A2, E2, R2, RX = never>(
    self: Router<P, A, E, R>,
    when: (params: P) => boolean | Effect.Effect<boolean, unknown, RX>,
    skill: Skill.Skill<NoInfer<P>, A2, E2, R2>
  ): Router<P, A | A2, E | E2 | SkillError, R | R2 | RX>
} = dual(3, (self: Router<never, unknown>, when: Route["when"], skill: Skill.Any) =>
  build(self.definition.name, self.options, [...self.routes, { when, skill }], undefined)
)

/**
 * Adds a skill for parameters that no route fits. Must come last.
 *
 * @since 0.1.0
 * @category combinators
 */
export const orElse: {
  <Q, A2, E2, R2>(
    fallback: Skill.Skill<Q, A2, E2, R2>
  ): <P extends Q, A, E, R>(self: Router<P, A, E, R>) => Skill.Skill<P, A | A2, E | E2 | SkillError, R | R2>
  <P, A, E, R, A2, E2, R2>(
    self: Router<P, A, E, R>,
    fallback: Skill.Skill<NoInfer<P>, A2, E2, R2>
  ): Skill.Skill<P, A | A2, E | E2 | SkillError, R | R2>
} = dual(2, (self: Router<never, unknown>, fallback: Skill.Any) =>
  build(self.definition.name, self.options, self.routes, fallback)
)
