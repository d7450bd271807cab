/**
 * Prompts of the adaptive strategy.
 *
 * @since 0.1.0
 */
export * as AdaptivePrompts from "./defaults/AdaptivePrompts.js"

/**
 * The default prompts with overrides and custom instructions given in code.
 *
 * @since 0.1.0
 */
export * as CustomPrompts from "./CustomPrompts.js"

/**
 * All prompts of the library.
 *
 * @since 0.1.0
 */
export * as DefaultPrompts from "./defaults/DefaultPrompts.js"

/**
 * Prompts of `EpisodicCompressor`.
 *
 * @since 0.1.0
 */
export * as EpisodicPrompts from "./defaults/EpisodicPrompts.js"

/**
 * Prompts of groups: for participants, and for the choice of the next speaker.
 *
 * @since 0.1.0
 */
export * as GroupPrompts from "./defaults/GroupPrompts.js"

/**
 * Prompts of `HistoryCompactor`.
 *
 * @since 0.1.0
 */
export * as HistoryPrompts from "./defaults/HistoryPrompts.js"

/**
 * Prompts of the LATS strategy.
 *
 * @since 0.1.0
 */
export * as LatsPrompts from "./defaults/LatsPrompts.js"

/**
 * Prompts of the LLMCompiler strategy.
 *
 * @since 0.1.0
 */
export * as LlmCompilerPrompts from "./defaults/LlmCompilerPrompts.js"

/**
 * Prompts of `MemoryReranker`.
 *
 * @since 0.1.0
 */
export * as MemoryRerankPrompts from "./defaults/MemoryRerankPrompts.js"

/**
 * Prompts of the plan-and-solve strategy.
 *
 * @since 0.1.0
 */
export * as PlanAndSolvePrompts from "./defaults/PlanAndSolvePrompts.js"

/**
 * Prompts of the plan-execute strategy.
 *
 * @since 0.1.0
 */
export * as PlanExecutePrompts from "./defaults/PlanExecutePrompts.js"

/**
 * Prompts in a directory: `<Pattern>/<Step>/system.md` and `user.md`.
 *
 * @since 0.1.0
 */
export * as PromptDirectory from "./PromptDirectory.js"

/**
 * Errors of prompts.
 *
 * @since 0.1.0
 */
export * as PromptError from "./template/PromptError.js"

/**
 * Where the versions of the prompts are kept, for those who show or compare them: a file, a row, a service.
 *
 * @since 0.1.0
 */
export * as PromptHistory from "./PromptHistory.js"

/**
 * The prompts of a run: what an application overrides, on top of the defaults that each step brings along. Custom
 * instructions are appended to every system half, whichever layer it comes from, under a heading of their own.
 *
 * @since 0.1.0
 */
export * as PromptLibrary from "./PromptLibrary.js"

/**
 * A step of a pattern with its default prompt: a system half, which says who the model is and what it does, and a user
 * half with the matter at hand.
 *
 * @since 0.1.0
 */
export * as PromptStep from "./template/PromptStep.js"

/**
 * Text with variables. A variable is `{name}`: letters, digits and `_`, not beginning with a digit. Every other brace
 * is itself, and `{{` and `}}` are one brace each, so that `{{name}}` is the text `{name}`. Nothing is evaluated:
 * values are inserted as they are, and variables inside values remain text.
 *
 * @since 0.1.0
 */
export * as PromptTemplate from "./template/PromptTemplate.js"

/**
 * Versions of prompts as data: what is on top of the prompts of the code, with a number each, names for some of them
 * such as `production`, and what changed between two. `Json` reads and writes all of it.
 *
 * @since 0.1.0
 */
export * as PromptVersions from "./PromptVersions.js"

/**
 * Prompts of the ReAct strategy.
 *
 * @since 0.1.0
 */
export * as ReActPrompts from "./defaults/ReActPrompts.js"

/**
 * Prompts of the ReWOO strategy.
 *
 * @since 0.1.0
 */
export * as ReWooPrompts from "./defaults/ReWooPrompts.js"

/**
 * Prompts of the reflection strategy.
 *
 * @since 0.1.0
 */
export * as ReflectionPrompts from "./defaults/ReflectionPrompts.js"

/**
 * Prompts of the Reflexion strategy.
 *
 * @since 0.1.0
 */
export * as ReflexionPrompts from "./defaults/ReflexionPrompts.js"

/**
 * Prompts of the Self-Discover strategy.
 *
 * @since 0.1.0
 */
export * as SelfDiscoveryPrompts from "./defaults/SelfDiscoveryPrompts.js"

/**
 * Prompts of `EntityExtractor`, `ImportanceJudge` and `EntityMatcher`.
 *
 * @since 0.1.0
 */
export * as SemanticPrompts from "./defaults/SemanticPrompts.js"

/**
 * Prompts of sessions.
 *
 * @since 0.1.0
 */
export * as SessionPrompts from "./defaults/SessionPrompts.js"

/**
 * Prompts of the STORM strategy: outlines and research. Those for writing are in `StormWritingPrompts`.
 *
 * @since 0.1.0
 */
export * as StormPrompts from "./defaults/StormPrompts.js"

/**
 * Prompts of the STORM strategy for writing: sections, lead, report and answer.
 *
 * @since 0.1.0
 */
export * as StormWritingPrompts from "./defaults/StormWritingPrompts.js"

/**
 * Prompts of the supervisor strategy.
 *
 * @since 0.1.0
 */
export * as SupervisorPrompts from "./defaults/SupervisorPrompts.js"

/**
 * Writes tools for a prompt.
 *
 * @since 0.1.0
 */
export * as ToolList from "./template/ToolList.js"
