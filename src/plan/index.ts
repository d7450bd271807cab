/**
 * Plans of `llm-compiler`, read whole or while the model writes them. Three forms are told apart by themselves:
 *
 * @since 0.1.0
 */
export * as LlmCompilerPlan from "./LlmCompilerPlan.js"

/**
 * How plans are wrong.
 *
 * @since 0.1.0
 */
export * as PlanError from "./PlanError.js"

/**
 * Plans as models write them: numbered, lettered with "Step", bulleted, as headings, with tags, bold, fenced, with talk
 * around them. Read line by line, in time linear in the text.
 *
 * @since 0.1.0
 */
export * as PlanText from "./PlanText.js"

/**
 * Plans of `rewoo`. Three forms are told apart by themselves:
 *
 * @since 0.1.0
 */
export * as ReWooPlan from "./ReWooPlan.js"

/**
 * The outline of an article: sections, what each covers, and the points of that. Read from whatever form a model writes
 * one in.
 *
 * @since 0.1.0
 */
export * as StormOutline from "./StormOutline.js"
