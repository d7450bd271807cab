/**
 * Hook points of skills.
 *
 * @since 0.1.0
 */
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as Hooks from "../../observability/Hooks.js"

/**
 * The skill a hook belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillInfo {
  readonly skillName: string
}

/**
 * The execution a hook belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExecutionInfo extends SkillInfo {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
  /** Milliseconds without the wait for confirmation; 0 when cached. */
  readonly durationMs: number
  /** The last attempt, from 1; 0 when there was none. */
  readonly attempt: number
}

/**
 * A skill was registered or replaced another one. Within a run the hooks of the run are called, otherwise those of the
 * context in which the registry was made.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillRegisteredHook: Hooks.Action<SkillInfo> = Hooks.action("SkillRegisteredHook")

/**
 * A skill returned its result, executed or cached. The result is passed on after the handlers finish.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutedHook: Hooks.Action<ExecutionInfo & { readonly cached: boolean }> =
  Hooks.action("SkillExecutedHook")

/**
 * An execution gave no result: the skill is unknown, was refused, timed out or failed. Not called for an interrupted
 * execution.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutionFailedHook: Hooks.Action<ExecutionInfo & { readonly error: ErrorInfo }> =
  Hooks.action("SkillExecutionFailedHook")
