/**
 * Tracks the skills that a run has activated, and restricts its tools accordingly.
 *
 * @since 0.1.0
 */
export * as ActiveSkills from "./folder/ActiveSkills.js"

/**
 * Decides which calls the `allowed-tools` of a skill permit.
 *
 * @since 0.1.0
 */
export * as AllowedTools from "./folder/AllowedTools.js"

/**
 * Skills with their requirements provided.
 *
 * @since 0.1.0
 */
export * as BoundSkill from "./definition/BoundSkill.js"

/**
 * Tools by which a model uses a skill catalog. Their descriptions do not depend on the skills: no text of a skill gets
 * into them.
 *
 * @since 0.1.0
 */
export * as CatalogTools from "./folder/CatalogTools.js"

/**
 * Skills that execute other skills.
 *
 * @since 0.1.0
 */
export * as CompositeSkill from "./definition/CompositeSkill.js"

/**
 * Executes one of two skills, chosen by a condition on the parameters.
 *
 * @since 0.1.0
 */
export * as ConditionalSkill from "./compose/ConditionalSkill.js"

/**
 * The default skill catalog: checks trust, discloses skills in three levels, and follows changes to their folders.
 *
 * @since 0.1.0
 */
export * as DefaultSkillCatalog from "./folder/DefaultSkillCatalog.js"

/**
 * The default skill executor: permissions, validation, confirmation, cache, limits, timeouts and retries in one place.
 *
 * @since 0.1.0
 */
export * as DefaultSkillExecutor from "./execute/DefaultSkillExecutor.js"

/**
 * The default skill registry: skills by name, in memory.
 *
 * @since 0.1.0
 */
export * as DefaultSkillRegistry from "./execute/DefaultSkillRegistry.js"

/**
 * Scans skill folders again when something in them changes.
 *
 * @since 0.1.0
 */
export * as FolderFollower from "./folder/FolderFollower.js"

/**
 * Searches paths for skill folders and reads them.
 *
 * @since 0.1.0
 */
export * as FolderScan from "./folder/FolderScan.js"

/**
 * Registers the skills of the configured folders.
 *
 * @since 0.1.0
 */
export * as FolderSource from "./FolderSource.js"

/**
 * Converts tools of an MCP server to skills and tools, its prompts to messages, and skills to definitions for MCP
 * clients.
 *
 * @since 0.1.0
 */
export * as McpBridge from "./mcp/McpBridge.js"

/**
 * The port to a Model Context Protocol server: its tools, resources and prompts as plain data.
 *
 * @since 0.1.0
 */
export * as McpClient from "./mcp/McpClient.js"

/**
 * An in-memory MCP server, for tests and for servers in the same process.
 *
 * @since 0.1.0
 */
export * as McpMemory from "./mcp/McpMemory.js"

/**
 * Plans how a tool of an MCP server becomes a skill or a tool.
 *
 * @since 0.1.0
 */
export * as McpToolPlan from "./mcp/McpToolPlan.js"

/**
 * The tools of an MCP server as a tool source: agents get the tools that the server has now.
 *
 * @since 0.1.0
 */
export * as McpToolSource from "./mcp/McpToolSource.js"

/**
 * Presents several skill registries as one.
 *
 * @since 0.1.0
 */
export * as MergedSkillRegistry from "./execute/MergedSkillRegistry.js"

/**
 * Finds skills among the exports of named packages and files.
 *
 * @since 0.1.0
 */
export * as ModuleDiscovery from "./ModuleDiscovery.js"

/**
 * Executes several skills at once with the same parameters: all of them, as many as succeed, or a quorum.
 *
 * @since 0.1.0
 */
export * as ParallelSkills from "./compose/ParallelSkills.js"

/**
 * Decides who may execute which skills.
 *
 * @since 0.1.0
 */
export * as PermissionChecker from "./execute/PermissionChecker.js"

/**
 * Grants and revokes permissions of users at run time.
 *
 * @since 0.1.0
 */
export * as PermissionGrants from "./execute/PermissionGrants.js"

/**
 * Permissions: texts of dot-separated segments such as `files.read`.
 *
 * @since 0.1.0
 */
export * as Permissions from "./definition/Permissions.js"

/**
 * The port that runs scripts of skills.
 *
 * @since 0.1.0
 */
export * as ScriptRunner from "./folder/ScriptRunner.js"

/**
 * A skill: a capability with a definition, checked parameters, a checked result, and typed failures and requirements.
 *
 * @since 0.1.0
 */
export * as Skill from "./definition/Skill.js"

/**
 * Reads files of a skill's folder, and nothing outside it.
 *
 * @since 0.1.0
 */
export * as SkillAccess from "./folder/SkillAccess.js"

/**
 * Renders the instructions of a skill for a model.
 *
 * @since 0.1.0
 */
export * as SkillActivation from "./folder/SkillActivation.js"

/**
 * Replaces `$ARGUMENTS` in the instructions of a `SKILL.md`.
 *
 * @since 0.1.0
 */
export * as SkillArguments from "./folder/SkillArguments.js"

/**
 * The user and session of an execution, and what its handler knows about it.
 *
 * @since 0.1.0
 */
export * as SkillCall from "./definition/SkillCall.js"

/**
 * The skill catalog port: `SKILL.md` skills an agent may use, disclosed in three levels: names and descriptions of all
 * skills, the instructions of activated ones, and files on demand. Text of a skill is data: it is escaped or fenced,
 * and bounded.
 *
 * @since 0.1.0
 */
export * as SkillCatalog from "./folder/SkillCatalog.js"

/**
 * Executes skills one after another: each result is the parameters of the next.
 *
 * @since 0.1.0
 */
export * as SkillChain from "./compose/SkillChain.js"

/**
 * Derives skills from skills: retry, timeout, map, fallback, race, loop.
 *
 * @since 0.1.0
 */
export * as SkillCombinators from "./compose/SkillCombinators.js"

/**
 * Skill definitions and results as data.
 *
 * @since 0.1.0
 */
export * as SkillDefinition from "./definition/SkillDefinition.js"

/**
 * Errors of skills.
 *
 * @since 0.1.0
 */
export * as SkillError from "./definition/SkillError.js"

/**
 * Domain events published by the skill subsystem.
 *
 * @since 0.1.0
 */
export * as SkillEvents from "./definition/SkillEvents.js"

/**
 * The skill executor port: executes skills by name or by value.
 *
 * @since 0.1.0
 */
export * as SkillExecutor from "./execute/SkillExecutor.js"

/**
 * The contents of a `SKILL.md`: what the skill is for and its instructions, in a folder with scripts and other files.
 *
 * @since 0.1.0
 */
export * as SkillFile from "./definition/SkillFile.js"

/**
 * Reads `SKILL.md` files and the folders that contain them.
 *
 * @since 0.1.0
 */
export * as SkillFileReader from "./definition/SkillFileReader.js"

/**
 * Finds skill folders, makes them executable, and keeps a registry in step with them.
 *
 * @since 0.1.0
 */
export * as SkillFolders from "./folder/SkillFolders.js"

/**
 * Hook points of skills.
 *
 * @since 0.1.0
 */
export * as SkillHooks from "./definition/SkillHooks.js"

/**
 * Lists names and descriptions of skills for a model.
 *
 * @since 0.1.0
 */
export * as SkillListing from "./folder/SkillListing.js"

/**
 * Remembers trusted skills in a lock file: a new or changed skill folder is asked about before anything of it is used.
 *
 * @since 0.1.0
 */
export * as SkillLock from "./folder/SkillLock.js"

/**
 * The lock file of skills: accepted skills with their content hashes, as canonical JSON.
 *
 * @since 0.1.0
 */
export * as SkillLockFile from "./folder/SkillLockFile.js"

/**
 * Metrics and span names of skills. Labels are skill names, at most `maxNames`, and outcomes from a fixed list.
 *
 * @since 0.1.0
 */
export * as SkillMetrics from "./definition/SkillMetrics.js"

/**
 * Executes one of several skills, chosen by a model from their descriptions.
 *
 * @since 0.1.0
 */
export * as SkillModelRouter from "./compose/SkillModelRouter.js"

/**
 * Describes parameters as a list, for skills without a schema: written by hand or read from data.
 *
 * @since 0.1.0
 */
export * as SkillParameters from "./definition/SkillParameters.js"

/**
 * Runs stages over a growing context: each stage reads the results of earlier stages and adds its own.
 *
 * @since 0.1.0
 */
export * as SkillPipeline from "./compose/SkillPipeline.js"

/**
 * Registers skills in a registry for the lifetime of a scope or a layer.
 *
 * @since 0.1.0
 */
export * as SkillRegistration from "./execute/SkillRegistration.js"

/**
 * The skill registry port: executable skills by name.
 *
 * @since 0.1.0
 */
export * as SkillRegistry from "./execute/SkillRegistry.js"

/**
 * Keeps the results of skills in a `CacheBackend`, which several processes may share.
 *
 * @since 0.1.0
 */
export * as SkillResultBackend from "./execute/SkillResultBackend.js"

/**
 * The cache port for results of cacheable skills.
 *
 * @since 0.1.0
 */
export * as SkillResultCache from "./execute/SkillResultCache.js"

/**
 * Keeps the results of skills in memory, bounded in number, characters and time.
 *
 * @since 0.1.0
 */
export * as SkillResultMemory from "./execute/SkillResultMemory.js"

/**
 * Executes the skill of the first route whose condition holds for the parameters.
 *
 * @since 0.1.0
 */
export * as SkillRouter from "./compose/SkillRouter.js"

/**
 * Sources of skills: built-in, exported by modules, or custom.
 *
 * @since 0.1.0
 */
export * as SkillSource from "./folder/SkillSource.js"

/**
 * Converts skills to tools and tools to skills.
 *
 * @since 0.1.0
 */
export * as SkillTool from "./execute/SkillTool.js"

/**
 * Groups skills under a name and a description.
 *
 * @since 0.1.0
 */
export * as SkillToolkit from "./execute/SkillToolkit.js"

/**
 * The port that decides whether text and scripts of a skill folder may be used.
 *
 * @since 0.1.0
 */
export * as SkillTrust from "./folder/SkillTrust.js"

/**
 * Configures the skill subsystem of an application: a registry filled from several sources, and an executor.
 *
 * @since 0.1.0
 */
export * as Skills from "./Skills.js"

/**
 * Configuration of an application's skills and their execution, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SkillsConfig from "./SkillsConfig.js"
