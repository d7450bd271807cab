/**
 * Toolkits of `@effect/ai` as tool sets, and tool sets as toolkits.
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
 * How approvals can fail.
 *
 * @since 0.1.0
 */
export * as ApprovalError from "./approval/ApprovalError.js"

/**
 * Who decides about tool calls that require approval.
 *
 * @since 0.1.0
 */
export * as ApprovalGate from "./approval/ApprovalGate.js"

/**
 * Approvals decided by rules that are plain data.
 *
 * @since 0.1.0
 */
export * as ApprovalPolicy from "./approval/ApprovalPolicy.js"

/**
 * Where requests for approval wait and decisions are kept.
 *
 * @since 0.1.0
 */
export * as ApprovalStore from "./approval/ApprovalStore.js"

/**
 * Runs tool calls: visibility, decoding, approval, timeout, retries, handler, encoding, truncation.
 *
 * @since 0.1.0
 */
export * as DefaultToolRunner from "./DefaultToolRunner.js"

/**
 * JSON Schemas that come from outside (MCP servers, files, skills): made usable, compiled once.
 *
 * @since 0.1.0
 */
export * as JsonSchemaValidator from "./definition/JsonSchemaValidator.js"

/**
 * Which module may use the tools of which other.
 *
 * @since 0.1.0
 */
export * as ModuleGraph from "./ModuleGraph.js"

/**
 * What a model gets to read of a tool's result or failure: plain data, bounded text.
 *
 * @since 0.1.0
 */
export * as Observation from "./definition/Observation.js"

/**
 * Requests for approval that wait until they are answered from outside: on a page, in a chat, days later.
 *
 * @since 0.1.0
 */
export * as PendingApprovals from "./approval/PendingApprovals.js"

/**
 * A tool: something the model may call. Name, description, parameters, and a handler Effect with its own failures and
 * requirements.
 *
 * @since 0.1.0
 */
export * as Tool from "./definition/Tool.js"

/**
 * Arguments as models send them, made into what a tool can decode.
 *
 * @since 0.1.0
 */
export * as ToolArguments from "./definition/ToolArguments.js"

/**
 * How a tool call can fail. Most of these never leave a run: the model reads them as observations and may act on them.
 *
 * @since 0.1.0
 */
export * as ToolError from "./definition/ToolError.js"

/**
 * Tool names as providers accept them (1 to 64 of `[A-Za-z0-9_-]`), mapped there and back without collisions.
 *
 * @since 0.1.0
 */
export * as ToolNames from "./definition/ToolNames.js"

/**
 * Tools by name, registered and removed while a program runs.
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
 * The tools of an agent, with their failures and requirements summed.
 *
 * @since 0.1.0
 */
export * as ToolSet from "./definition/ToolSet.js"
