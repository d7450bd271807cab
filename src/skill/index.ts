/**
 * Skills and their results as data.
 *
 * @since 0.1.0
 */
export * as SkillDefinition from "./SkillDefinition.js"

/**
 * How skills fail.
 *
 * @since 0.1.0
 */
export * as SkillError from "./SkillError.js"

/**
 * Executes skills by name: validation, permissions, cache, timeout and retries in one place.
 *
 * @since 0.1.0
 */
export * as SkillExecutor from "./SkillExecutor.js"

/**
 * The skills that can be executed, by name.
 *
 * @since 0.1.0
 */
export * as SkillRegistry from "./SkillRegistry.js"
