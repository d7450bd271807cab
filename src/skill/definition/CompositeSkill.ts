/**
 * Skills that execute other skills.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as ParameterCodec from "../../tool/definition/Parameters.js"
import { type Any, build, fromCodecs, type Run, type Skill } from "./Skill.js"
import type { SkillCall } from "./SkillCall.js"
import * as SkillCodec from "./SkillCodec.js"
import type { Confirmation, Traits } from "./SkillDefinition.js"

/**
 * A skill that executes other skills, by `run`. It needs its own permissions and those of all skills it uses; each used
 * skill checks its own again. It takes no slot among the concurrent executions: the skills it uses do. Its timeout, if
 * any, covers them all, and it is retried only if it says so.
 *
 * `like` copies parameters or result, with their schemas, from a skill: a chain copies those of its first and last.
 *
 * @example
 * ```ts
 * import { CompositeSkill, Skill } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const stock = Skill.make("stock", {
 *   description: "How often an article is there",
 *   parameters: { article: Schema.String },
 *   returns: Schema.Number,
 *   handler: ({ article }) => Effect.succeed(article === "lamp" ? 3 : 0)
 * })
 * const available = CompositeSkill.make("available", {
 *   description: "The articles of a list that are there",
 *   uses: [stock],
 *   parameters: Schema.Struct({ articles: Schema.Array(Schema.String) }),
 *   handler: ({ articles }, run) =>
 *     Effect.filter(articles, (article) => Effect.map(run(stock, { article }), (count) => count > 0))
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <P, A, F, R>(
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
    wanted === undefined ? SkillCodec.forSchema(returns as Schema.Schema<A, any, never> | undefined) : SkillCodec.any,
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
