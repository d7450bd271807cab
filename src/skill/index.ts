/**
 * The skills that a run has activated, and what they leave it to do.
 *
 * @since 0.1.0
 */
export * as ActiveSkills from "./folder/ActiveSkills.js"

/**
 * Which calls the `allowed-tools` of a skill allow.
 *
 * @since 0.1.0
 */
export * as AllowedTools from "./folder/AllowedTools.js"

/**
 * The tools with which a model uses a catalogue of skills. Their descriptions are the same whatever skills there are:
 * nothing that stands in a skill gets into them.
 *
 * @since 0.1.0
 */
export * as CatalogTools from "./folder/CatalogTools.js"

/**
 * One skill or the other, by the parameters.
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
 * The tools of an MCP server as skills and tools, its prompts as messages, and skills as definitions that MCP clients
 * understand.
 *
 * @since 0.1.0
 */
export * as McpBridge from "./mcp/McpBridge.js"

/**
 * The door to a server of the Model Context Protocol: its tools, resources and prompts as plain data.
 *
 * @since 0.1.0
 */
export * as McpClient from "./mcp/McpClient.js"

/**
 * An MCP server that is made of values: for tests, and for servers that live in the same process.
 *
 * @since 0.1.0
 */
export * as McpMemory from "./mcp/McpMemory.js"

/**
 * Presents several skill registries as one.
 *
 * @since 0.1.0
 */
export * as MergedSkillRegistry from "./execute/MergedSkillRegistry.js"

/**
 * Skills that modules export: a program names packages or files, and what they export as skills is found.
 *
 * @since 0.1.0
 */
export * as ModuleDiscovery from "./ModuleDiscovery.js"

/**
 * Several skills at once, over the same parameters: all of them, as many as succeed, or a quorum.
 *
 * @since 0.1.0
 */
export * as ParallelSkills from "./compose/ParallelSkills.js"

/**
 * Who may execute which skills.
 *
 * @since 0.1.0
 */
export * as PermissionChecker from "./execute/PermissionChecker.js"

/**
 * What users may do, granted and revoked while the program runs.
 *
 * @since 0.1.0
 */
export * as PermissionGrants from "./execute/PermissionGrants.js"

/**
 * Permissions as texts of segments that are separated by dots: `files.read`.
 *
 * @since 0.1.0
 */
export * as Permissions from "./definition/Permissions.js"

/**
 * Runs the scripts that come with skills.
 *
 * @since 0.1.0
 */
export * as ScriptRunner from "./folder/ScriptRunner.js"

/**
 * A skill: a capability with a definition, checked parameters and a checked result, whose failures and requirements are
 * typed.
 *
 * @since 0.1.0
 */
export * as Skill from "./definition/Skill.js"

/**
 * Reading a file of a skill's folder, and nothing outside of it.
 *
 * @since 0.1.0
 */
export * as SkillAccess from "./folder/SkillAccess.js"

/**
 * The instructions of a skill as a model is given them.
 *
 * @since 0.1.0
 */
export * as SkillActivation from "./folder/SkillActivation.js"

/**
 * Arguments of a `SKILL.md`: what `$ARGUMENTS` in its instructions stands for.
 *
 * @since 0.1.0
 */
export * as SkillArguments from "./folder/SkillArguments.js"

/**
 * The `SKILL.md` skills an agent may use, disclosed in three levels: names and descriptions of all, the instructions of
 * those that are activated, and files when they are asked for. Everything that stands in a skill is data: it is escaped
 * or fenced, and bounded.
 *
 * @since 0.1.0
 */
export * as SkillCatalog from "./folder/SkillCatalog.js"

/**
 * Skills one after another: each result is the next one's parameters.
 *
 * @since 0.1.0
 */
export * as SkillChain from "./compose/SkillChain.js"

/**
 * Skills made of skills: tried again, in another form, with a substitute, in a race, in a loop, in less time.
 *
 * @since 0.1.0
 */
export * as SkillCombinators from "./compose/SkillCombinators.js"

/**
 * Skills and their results as data.
 *
 * @since 0.1.0
 */
export * as SkillDefinition from "./definition/SkillDefinition.js"

/**
 * How skills fail.
 *
 * @since 0.1.0
 */
export * as SkillError from "./definition/SkillError.js"

/**
 * The domain events of skills: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as SkillEvents from "./definition/SkillEvents.js"

/**
 * Executes skills: permissions, validation, confirmation, cache, limits, timeout and retries in one place.
 *
 * @since 0.1.0
 */
export * as SkillExecutor from "./execute/SkillExecutor.js"

/**
 * Skills as folders: a file `SKILL.md` with what the skill is for and its instructions, beside scripts and other files.
 *
 * @since 0.1.0
 */
export * as SkillFile from "./definition/SkillFile.js"

/**
 * Folders of skills: found below paths, made executable, and kept in step with a registry.
 *
 * @since 0.1.0
 */
export * as SkillFolders from "./folder/SkillFolders.js"

/**
 * The places of skills where handlers may wait.
 *
 * @since 0.1.0
 */
export * as SkillHooks from "./definition/SkillHooks.js"

/**
 * What a model is told of all skills: names and descriptions.
 *
 * @since 0.1.0
 */
export * as SkillListing from "./folder/SkillListing.js"

/**
 * Trust that is kept in a lock file: a skill folder that is new, or is no longer what was accepted, is asked about
 * before anything of it is used.
 *
 * @since 0.1.0
 */
export * as SkillLock from "./folder/SkillLock.js"

/**
 * The lock file of skills: which were accepted, and with what content. JSON, in one form for the same content.
 *
 * @since 0.1.0
 */
export * as SkillLockFile from "./folder/SkillLockFile.js"

/**
 * Metrics and span names of skills. Labels are names of skills, of which there are at most `maxNames`, and outcomes
 * from a fixed list.
 *
 * @since 0.1.0
 */
export * as SkillMetrics from "./definition/SkillMetrics.js"

/**
 * One of several skills, chosen by a model from their descriptions.
 *
 * @since 0.1.0
 */
export * as SkillModelRouter from "./compose/SkillModelRouter.js"

/**
 * The parameters of a skill as a list, for those who have no schema: written by hand, or read from somewhere.
 *
 * @since 0.1.0
 */
export * as SkillParameters from "./definition/SkillParameters.js"

/**
 * Stages over one growing context: each takes what the stages before have put there, and puts its own result in.
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
 * The skills that can be executed, by name.
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
 * Results of cacheable skills, kept for equal parameters.
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
 * One of several skills, by the parameters: the first route whose condition holds, in their order.
 *
 * @since 0.1.0
 */
export * as SkillRouter from "./compose/SkillRouter.js"

/**
 * Where skills come from: built in, in modules, or from a place of your own.
 *
 * @since 0.1.0
 */
export * as SkillSource from "./folder/SkillSource.js"

/**
 * Skills as tools, tools as skills.
 *
 * @since 0.1.0
 */
export * as SkillTool from "./execute/SkillTool.js"

/**
 * Skills that belong together, under one name and with one description.
 *
 * @since 0.1.0
 */
export * as SkillToolkit from "./execute/SkillToolkit.js"

/**
 * Whether the text and the scripts of a skill folder may be used.
 *
 * @since 0.1.0
 */
export * as SkillTrust from "./folder/SkillTrust.js"

/**
 * Skills as an application has them: a registry that is filled from several sources, and an executor, as a
 * configuration wants them.
 *
 * @since 0.1.0
 */
export * as Skills from "./Skills.js"

/**
 * Which skills an application has and how they are executed, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SkillsConfig from "./SkillsConfig.js"
