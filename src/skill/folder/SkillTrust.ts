/**
 * Whether the text and the scripts of a skill folder may be used.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { LoadedSkill } from "../definition/SkillFile.js"

/**
 * A skill is not trusted, or it cannot be found out whether it is. Nothing of it is used then.
 *
 * - `Denied`: it was not accepted
 * - `Corrupt`: what was remembered about skills is no longer what was written
 * - `Unreadable`, `Unwritable`: it cannot be read, or added to
 * - `Busy`: another process is adding to it and does not end
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillTrustError extends ErrorCode.TaggedError<SkillTrustError>(
  "effect-lexigram/skill/SkillTrust/SkillTrustError"
)("SkillTrustError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_104"),
  skillName: Schema.String,
  reason: Schema.Literal("Denied", "Corrupt", "Unreadable", "Unwritable", "Busy")
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Whether the skill, as it is now (its name, its folder, its hash), may be used. May ask somebody and wait for the
   * answer. Asked again about the same, it answers the same without asking when the answer was yes.
   */
  readonly isTrusted: (skill: LoadedSkill) => Effect.Effect<boolean, SkillTrustError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillTrust extends Context.Tag("effect-lexigram/skill/SkillTrust")<SkillTrust, Service>() {}

/**
 * Trust that is one function.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (isTrusted: Service["isTrusted"]): Layer.Layer<SkillTrust> =>
  Layer.succeed(SkillTrust, { isTrusted })

/**
 * Every skill is trusted, whatever is in it: for folders that nobody else writes to.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillTrust> = layer(() => Effect.succeed(true))
