/**
 * Executes skills: permissions, validation, confirmation, cache, limits, timeout and retries in one place.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Skill, SkillContext } from "../definition/Skill.js"
import type { Executed, SkillResult } from "../definition/SkillDefinition.js"
import { type SkillError, SkillNotFoundError } from "../definition/SkillError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ExecuteRequest extends SkillContext {
  readonly name: string
  /** As they came: from a model, a tool call or a program. */
  readonly params: unknown
  /** Names the execution for its handler, as an idempotency key; made unless given. */
  readonly id?: string | undefined
  /** Somebody has allowed exactly this execution already: a skill that requires confirmation is not asked for again. */
  readonly confirmed?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Executes the skill of a name and gives its result, the output in its JSON form. Permissions and parameters are
   * checked before the first attempt; a skill that needs permissions is refused to a request without a user. The
   * timeout holds for each attempt. A cacheable skill may answer from the cache, marked `cached`; equal calls of it
   * that run at the same time are executed once.
   */
  readonly execute: (request: ExecuteRequest) => Effect.Effect<SkillResult, SkillError>
  /**
   * Executes a skill that need not be registered, with decoded parameters. Everything holds as for `execute`, but
   * result and failures keep their types: the skill's own failure is what its last attempt failed with.
   */
  readonly run: <P, A, E, R>(
    skill: Skill<P, A, E, R>,
    params: P,
    context?: SkillContext & Pick<ExecuteRequest, "id" | "confirmed">
  ) => Effect.Effect<Executed<A>, E | SkillError, R>
}

/**
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
 * Knows no skill and executes none: everything fails with `SkillNotFoundError`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillExecutor> = Layer.succeed(SkillExecutor, {
  execute: ({ name }) => disabled(name),
  run: (skill) => disabled(skill.definition.name)
})
