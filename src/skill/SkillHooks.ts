/**
 * The places of skills where handlers may wait.
 *
 * @since 0.1.0
 */
import * as Hooks from "../observability/Hooks.js"

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
 * A skill can be executed from now on: it was registered, or put in the place of another one. Within a run the hooks of the run are called,
 * else those that were in context when the registry was made.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillRegisteredHook: Hooks.Action<SkillInfo> = Hooks.action("SkillRegisteredHook")

/**
 * A skill was executed and gave its result, from the cache or by itself.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutedHook: Hooks.Action<SkillInfo> = Hooks.action("SkillExecutedHook")

/**
 * A skill was to be executed and did not give a result, whatever the reason.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SkillExecutionFailedHook: Hooks.Action<SkillInfo> = Hooks.action("SkillExecutionFailedHook")
