/**
 * What `AdaptiveAgent` tells its models.
 *
 * @since 0.1.0
 */
import type { PromptStep } from "./PromptStep.js"

/**
 * Its steps.
 *
 * @since 0.1.0
 * @category constants
 */
export const steps: ReadonlyArray<PromptStep> = []
