/**
 * What `AdaptiveAgent` tells its models.
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
 * Every step that ships with the library.
 *
 * @since 0.1.0
 */
export * as DefaultPrompts from "./defaults/DefaultPrompts.js"

/**
 * What `EpisodicCompressor` tells its models.
 *
 * @since 0.1.0
 */
export * as EpisodicPrompts from "./defaults/EpisodicPrompts.js"

/**
 * What groups tell models: whoever takes part, and whoever chooses the next speaker.
 *
 * @since 0.1.0
 */
export * as GroupPrompts from "./defaults/GroupPrompts.js"

/**
 * What `HistoryCompactor` tells its models.
 *
 * @since 0.1.0
 */
export * as HistoryPrompts from "./defaults/HistoryPrompts.js"

/**
 * What `LATSAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as LatsPrompts from "./defaults/LatsPrompts.js"

/**
 * What `LLMCompilerAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as LlmCompilerPrompts from "./defaults/LlmCompilerPrompts.js"

/**
 * What `MemoryReranker` tells its models.
 *
 * @since 0.1.0
 */
export * as MemoryRerankPrompts from "./defaults/MemoryRerankPrompts.js"

/**
 * What `PlanAndSolveAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as PlanAndSolvePrompts from "./defaults/PlanAndSolvePrompts.js"

/**
 * What `PlanExecuteAgent` tells its models.
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
 * How prompts can be wrong.
 *
 * @since 0.1.0
 */
export * as PromptError from "./template/PromptError.js"

/**
 * The prompts of a run: what an application overrides, on top of the defaults that each step brings along. Custom
 * instructions are appended to every system half, whichever layer it comes from, under a heading of their own.
 *
 * @since 0.1.0
 */
export * as PromptLibrary from "./PromptLibrary.js"

/**
 * What a model is told in one step of a pattern: who it is and what is wanted (the system half), and the matter at hand
 * (the user half).
 *
 * @since 0.1.0
 */
export * as PromptStep from "./template/PromptStep.js"

/**
 * Text with named places. A place is `{name}`: a name of letters, digits and `_` that does not begin with a digit.
 * Every other brace is itself, and `{{` and `}}` are one brace each, so that `{{name}}` is the text `{name}`. Nothing
 * is ever evaluated: values go in as they are, and places inside values stay text.
 *
 * @since 0.1.0
 */
export * as PromptTemplate from "./template/PromptTemplate.js"

/**
 * What `ReActAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReActPrompts from "./defaults/ReActPrompts.js"

/**
 * What `REWOOAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReWooPrompts from "./defaults/ReWooPrompts.js"

/**
 * What `ReflectionAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReflectionPrompts from "./defaults/ReflectionPrompts.js"

/**
 * What `ReflexionAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReflexionPrompts from "./defaults/ReflexionPrompts.js"

/**
 * What `SelfDiscoveryAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as SelfDiscoveryPrompts from "./defaults/SelfDiscoveryPrompts.js"

/**
 * What `EntityExtractor` tells its models.
 *
 * @since 0.1.0
 */
export * as SemanticPrompts from "./defaults/SemanticPrompts.js"

/**
 * What is asked about sessions: which side of a conflict holds when a branch is merged.
 *
 * @since 0.1.0
 */
export * as SessionPrompts from "./defaults/SessionPrompts.js"

/**
 * What `STORMAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as StormPrompts from "./defaults/StormPrompts.js"

/**
 * What `SupervisorAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as SupervisorPrompts from "./defaults/SupervisorPrompts.js"

/**
 * Tools as a prompt shows them.
 *
 * @since 0.1.0
 */
export * as ToolList from "./template/ToolList.js"
