/**
 * The skill executor port: executes skills by name or by value.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Skill } from "../definition/Skill.js"
import type { SkillContext } from "../definition/SkillCall.js"
import type { Executed, SkillResult } from "../definition/SkillDefinition.js"
import { type SkillError, SkillNotFoundError } from "../definition/SkillError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ExecuteRequest extends SkillContext {
  readonly name: string
  /** Unchecked: from a model, a tool call or a program. */
  readonly params: unknown
  /** Id of the execution, which its handler sees as an idempotency key. Default: generated. */
  readonly id?: string | undefined
  /** Exactly this execution was already approved: no confirmation is asked for. */
  readonly confirmed?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Executes the registered skill of this name and returns its result, with the output in JSON form. Permissions and
   * parameters are checked before the first attempt; a skill that requires permissions is refused without a user. The
   * timeout applies to each attempt. A cacheable skill may answer from the cache, marked `cached`; equal concurrent
   * calls of it are executed once.
   */
  readonly execute: (request: ExecuteRequest) => Effect.Effect<SkillResult, SkillError>
  /**
   * Executes a skill, registered or not, with decoded parameters. Works like `execute`, but result and failures keep
   * their types: the skill's own failure is that of its last attempt.
   */
  readonly run: <P, A, E, R>(
    skill: Skill<P, A, E, R>,
    params: P,
    context?: SkillContext & Pick<ExecuteRequest, "id" | "confirmed">
  ) => Effect.Effect<Executed<A>, E | SkillError, R>
}

/**
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { SkillExecutor } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const invoice = Effect.gen(function* () {
 *   const executor = yield* SkillExecutor.SkillExecutor
 *   const result = yield* executor.execute({ name: "invoice", params: { year: 2031 }, userId: Ids.UserId.make("ada") })
 *   return result.output
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SkillExecutor extends Context.Tag("effect-lexigram/skill/SkillExecutor")<SkillExecutor, Service>() {}

const disabled = (skillName: string): Effect.Effect<never, SkillNotFoundError> =>
  Effect.fail(
    new SkillNotFoundError({
      message: "There is no such skill: skills are not enabled",
      hint: "Provide a layer of SkillRegistry and SkillExecutor that holds the skill",
      skillName
    })
  )

/**
 * Executes nothing: every execution fails with `SkillNotFoundError`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillExecutor> = Layer.succeed(SkillExecutor, {
  execute: ({ name }) => disabled(name),
  run: (skill) => disabled(skill.definition.name)
})
