/**
 * Reads plans of LLMCompiler, whole or while the model writes them. It recognizes three forms:
 *
 * @since 0.1.0
 */
export * as LlmCompilerPlan from "./LlmCompilerPlan.js"

/**
 * Errors of plans.
 *
 * @since 0.1.0
 */
export * as PlanError from "./PlanError.js"

/**
 * Reads plans as models write them: numbered, labeled with "Step", bulleted, as headings, with tags, bold, fenced, with
 * text around them. Reads line by line, in time linear in the text.
 *
 * @since 0.1.0
 */
export * as PlanText from "./PlanText.js"

/**
 * Reads plans of ReWOO. It recognizes three forms:
 *
 * @since 0.1.0
 */
export * as ReWooPlan from "./ReWooPlan.js"

/**
 * Reads the outline of an article in any form a model writes: sections, their subsections, and the points of those.
 *
 * @since 0.1.0
 */
export * as StormOutline from "./StormOutline.js"
