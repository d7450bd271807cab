/**
 * The port that decides whether text and scripts of a skill folder may be used.
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
 * A skill is not trusted, or its trust cannot be determined. Nothing of it is used.
 *
 * - `Denied`: it was not accepted
 * - `Corrupt`: the stored decisions are damaged
 * - `Unreadable`, `Unwritable`: the stored decisions cannot be read, or written
 * - `Busy`: another process holds the stored decisions and does not finish
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
   * Whether the current version of the skill (its name, folder and hash) may be used. May ask a person and wait for the
   * answer. A positive answer for the same version is repeated without asking.
   */
  readonly isTrusted: (skill: LoadedSkill) => Effect.Effect<boolean, SkillTrustError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillTrust extends Context.Tag("effect-lexigram/skill/SkillTrust")<SkillTrust, Service>() {}

/**
 * Trust decided by one function.
 *
 * @example
 * ```ts
 * import { SkillTrust } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const trust = SkillTrust.layer(({ directory }) => Effect.succeed(directory.startsWith("/srv/desk/skills/")))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (isTrusted: Service["isTrusted"]): Layer.Layer<SkillTrust> =>
  Layer.succeed(SkillTrust, { isTrusted })

/**
 * Trusts every skill: for folders that no one else can write to.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillTrust> = layer(() => Effect.succeed(true))
