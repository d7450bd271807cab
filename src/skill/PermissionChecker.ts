/**
 * Who may execute which skills.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import type { SessionId, UserId } from "../domain/Ids.js"

/**
 * The permissions of a user could not be found out. The execution is refused then.
 *
 * @since 0.1.0
 * @category errors
 */
export class PermissionCheckerError extends Schema.TaggedError<PermissionCheckerError>(
  "effect-lexigram/skill/PermissionChecker/PermissionCheckerError"
)("PermissionCheckerError", ErrorCode.fields("LEX_ERR_SKILL_101")) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface PermissionRequest {
  readonly userId: UserId
  readonly sessionId?: SessionId | undefined
  readonly skillName: string
  /** At least one. */
  readonly required: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Those of `required` that the user has not; none: it may be executed. */
  readonly missing: (request: PermissionRequest) => Effect.Effect<ReadonlyArray<string>, PermissionCheckerError>
  /** False: permissions are not enforced, and nobody is asked, not even for a user. */
  readonly enforced: boolean
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PermissionChecker extends Context.Tag("effect-lexigram/skill/PermissionChecker")<
  PermissionChecker,
  Service
>() {}

/**
 * Nothing is enforced: every skill may be executed by everybody.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<PermissionChecker> = Layer.succeed(PermissionChecker, {
  enforced: false,
  missing: () => Effect.succeed([])
})
