/**
 * Converts toolkits of `@effect/ai` to tool sets and tool sets to toolkits.
 *
 * @since 0.1.0
 */
export * as AiToolkit from "./AiToolkit.js"

/**
 * Asks for approvals at the terminal.
 *
 * @since 0.1.0
 */
export * as ApprovalConsole from "./approval/ApprovalConsole.js"

/**
 * Errors of approvals.
 *
 * @since 0.1.0
 */
export * as ApprovalError from "./approval/ApprovalError.js"

/**
 * The port that decides tool calls that require approval.
 *
 * @since 0.1.0
 */
export * as ApprovalGate from "./approval/ApprovalGate.js"

/**
 * Decides approvals by rules that are plain data.
 *
 * @since 0.1.0
 */
export * as ApprovalPolicy from "./approval/ApprovalPolicy.js"

/**
 * The port that stores approval requests and decisions.
 *
 * @since 0.1.0
 */
export * as ApprovalStore from "./approval/ApprovalStore.js"

/**
 * Tools that the caller of a run executes itself: a model calls them, the run asks its caller for the result and waits.
 *
 * @since 0.1.0
 */
export * as ClientTool from "./definition/ClientTool.js"

/**
 * A registry of tools in this process, over the runner of tools.
 *
 * @since 0.1.0
 */
export * as DefaultToolRegistry from "./DefaultToolRegistry.js"

/**
 * Runs tool calls: visibility, decoding, approval, timeout, retries, handler, encoding, truncation.
 *
 * @since 0.1.0
 */
export * as DefaultToolRunner from "./DefaultToolRunner.js"

/**
 * Questions of running tools to people, answered through the inbox of approvals.
 *
 * @since 0.1.0
 */
export * as Elicitation from "./Elicitation.js"

/**
 * Normalizes JSON Schemas from outside (MCP servers, files, skills) and compiles each once.
 *
 * @since 0.1.0
 */
export * as JsonSchemaValidator from "./definition/JsonSchemaValidator.js"

/**
 * The port that decides which modules may use the tools of which others.
 *
 * @since 0.1.0
 */
export * as ModuleGraph from "./ModuleGraph.js"

/**
 * Observations: the plain data and bounded text that a model reads of a result or failure.
 *
 * @since 0.1.0
 */
export * as Observation from "./definition/Observation.js"

/**
 * Tools that an agent declares and the caller of its run executes: a page, an app, or a program that follows the run.
 *
 * @since 0.1.0
 */
export * as PageTool from "./client/PageTool.js"

/**
 * Requests for approval that wait until they are answered from outside: on a page, in a chat, days later.
 *
 * @since 0.1.0
 */
export * as PendingApprovals from "./approval/PendingApprovals.js"

/**
 * Tools: functions that a model may call. A tool has a name, a description, parameters, and a handler Effect with its
 * own failures and requirements.
 *
 * @since 0.1.0
 */
export * as Tool from "./definition/Tool.js"

/**
 * Normalizes arguments from models into values that a tool can decode.
 *
 * @since 0.1.0
 */
export * as ToolArguments from "./definition/ToolArguments.js"

/**
 * Errors of tool calls. Most of them stay within a run, where the model reads them as observations.
 *
 * @since 0.1.0
 */
export * as ToolError from "./definition/ToolError.js"

/**
 * Finds tools by the words of their names, descriptions and parameters.
 *
 * @since 0.1.0
 */
export * as ToolIndex from "./ToolIndex.js"

/**
 * Model calls of tools, by the model of the run that they serve.
 *
 * @since 0.1.0
 */
export * as ToolModel from "./ToolModel.js"

/**
 * Maps tool names to those providers accept (1 to 64 of `[A-Za-z0-9_-]`) and back, without collisions.
 *
 * @since 0.1.0
 */
export * as ToolNames from "./definition/ToolNames.js"

/**
 * What tools tell while they work.
 *
 * @since 0.1.0
 */
export * as ToolProgress from "./ToolProgress.js"

/**
 * The port of a registry of tools by name that can change while a program runs.
 *
 * @since 0.1.0
 */
export * as ToolRegistry from "./ToolRegistry.js"

/**
 * The port that runs tool calls, with the calls, their outcomes and the interceptors around them.
 *
 * @since 0.1.0
 */
export * as ToolRunner from "./ToolRunner.js"

/**
 * Shows a model few tools of a large set: those that fit its task, and a tool that searches for others.
 *
 * @since 0.1.0
 */
export * as ToolSearch from "./ToolSearch.js"

/**
 * The tools of an agent, with their combined failures and requirements.
 *
 * @since 0.1.0
 */
export * as ToolSet from "./definition/ToolSet.js"

/**
 * Tools that may change between the steps of a run.
 *
 * @since 0.1.0
 */
export * as ToolSource from "./ToolSource.js"
