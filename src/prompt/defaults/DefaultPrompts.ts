/**
 * All prompts of the library.
 *
 * @since 0.1.0
 */

import type { PromptStep } from "../template/PromptStep.js"
import * as AdaptivePrompts from "./AdaptivePrompts.js"
import * as EpisodicPrompts from "./EpisodicPrompts.js"
import * as GroupPrompts from "./GroupPrompts.js"
import * as HistoryPrompts from "./HistoryPrompts.js"
import * as LatsPrompts from "./LatsPrompts.js"
import * as LlmCompilerPrompts from "./LlmCompilerPrompts.js"
import * as MemoryRerankPrompts from "./MemoryRerankPrompts.js"
import * as PlanAndSolvePrompts from "./PlanAndSolvePrompts.js"
import * as PlanExecutePrompts from "./PlanExecutePrompts.js"
import * as ReActPrompts from "./ReActPrompts.js"
import * as ReflectionPrompts from "./ReflectionPrompts.js"
import * as ReflexionPrompts from "./ReflexionPrompts.js"
import * as ReWooPrompts from "./ReWooPrompts.js"
import * as SelfDiscoveryPrompts from "./SelfDiscoveryPrompts.js"
import * as SemanticPrompts from "./SemanticPrompts.js"
import * as SessionPrompts from "./SessionPrompts.js"
import * as StormPrompts from "./StormPrompts.js"
import * as SupervisorPrompts from "./SupervisorPrompts.js"

/**
 * The steps of strategies.
 *
 * @since 0.1.0
 * @category constants
 */
export const strategySteps: ReadonlyArray<PromptStep> = [
  ...ReActPrompts.steps,
  ...ReflectionPrompts.steps,
  ...PlanAndSolvePrompts.steps,
  ...ReflexionPrompts.steps,
  ...LlmCompilerPrompts.steps,
  ...ReWooPrompts.steps,
  ...LatsPrompts.steps,
  ...SelfDiscoveryPrompts.steps,
  ...StormPrompts.steps,
  ...PlanExecutePrompts.steps,
  ...SupervisorPrompts.steps,
  ...AdaptivePrompts.steps
]

/**
 * The steps of memory: summaries, facts, reranking.
 *
 * @since 0.1.0
 * @category constants
 */
export const memorySteps: ReadonlyArray<PromptStep> = [
  ...EpisodicPrompts.steps,
  ...SemanticPrompts.steps,
  ...HistoryPrompts.steps,
  ...MemoryRerankPrompts.steps
]

/**
 * The steps of groups.
 *
 * @since 0.1.0
 * @category constants
 */
export const groupSteps: ReadonlyArray<PromptStep> = [...GroupPrompts.steps]

/**
 * The steps of sessions: conflicts of a merge.
 *
 * @since 0.1.0
 * @category constants
 */
export const sessionSteps: ReadonlyArray<PromptStep> = [...SessionPrompts.steps]

/**
 * All of them.
 *
 * @example
 * ```ts
 * import { DefaultPrompts, PromptLibrary } from "effect-lexigram/prompt"
 *
 * // What may be overridden, such as "ReActAgent/ThoughtStep".
 * const names = DefaultPrompts.steps.map(({ name, pattern }) => PromptLibrary.keyOf(pattern, name))
 * ```
 *
 * @since 0.1.0
 * @category constants
 */
export const steps: ReadonlyArray<PromptStep> = [...strategySteps, ...memorySteps, ...groupSteps, ...sessionSteps]
