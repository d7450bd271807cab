/**
 * The places of skills where handlers may wait.
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
  /** Milliseconds, without the time in which somebody was asked to confirm; 0 when cached. */
  readonly durationMs: number
  /** The last attempt, from 1; 0 when there was none. */
  readonly attempt: number
}

/**
 * A skill can be executed from now on: it was registered, or put in the place of another one. Within a run the hooks of
 * the run are called, else those that were in context when the registry was made.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillRegisteredHook: Hooks.Action<SkillInfo> = Hooks.action("SkillRegisteredHook")

/**
 * A skill was executed and gave its result, from the cache or by itself. The result is handed on when the handlers are
 * done.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutedHook: Hooks.Action<ExecutionInfo & { readonly cached: boolean }> =
  Hooks.action("SkillExecutedHook")

/**
 * A skill was to be executed and did not give a result, whatever the reason: it is unknown, was refused, ran out of
 * time or failed itself. Not called for an execution that is interrupted: nobody waits for it any more.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutionFailedHook: Hooks.Action<ExecutionInfo & { readonly error: ErrorInfo }> =
  Hooks.action("SkillExecutionFailedHook")
