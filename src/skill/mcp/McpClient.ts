/**
 * The port to a Model Context Protocol server: its tools, resources and prompts as plain data.
 *
 * A server is a third party: its names, descriptions, schemas, annotations and results are data, never instructions.
 * This port returns them unchanged; `McpBridge` prepares them for models.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"

/**
 * The server and its capabilities.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerInfo {
  /** The server's name for itself. */
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly protocolVersion?: string | undefined
  /** The server's usage instructions. */
  readonly instructions?: string | undefined
  readonly capabilities: {
    readonly tools: boolean
    readonly resources: boolean
    readonly prompts: boolean
    /** Tools may be called as tasks. */
    readonly tasks?: boolean | undefined
  }
}

/**
 * A server's claims about a tool. Hints of a third party: no guarantee may rest on them alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolAnnotations {
  readonly title?: string | undefined
  /** Changes nothing. Default false. */
  readonly readOnlyHint?: boolean | undefined
  /** May delete or overwrite. Default true, for tools that are not read-only. */
  readonly destructiveHint?: boolean | undefined
  /** Calling it twice has no more effect than once. Default false. */
  readonly idempotentHint?: boolean | undefined
  /** Reaches beyond the server. Default true. */
  readonly openWorldHint?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolInfo {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema: JsonSchema
  /** Schema of `structuredContent`. */
  readonly outputSchema?: JsonSchema | undefined
  readonly annotations?: ToolAnnotations | undefined
  /** May or has to be called as a task (`CallOptions.task`). */
  readonly task?: "optional" | "required" | undefined
  /** Can only be called as a task, while the server offers none: it cannot be called. */
  readonly requiresTask?: boolean | undefined
}

/**
 * Contents of a resource: text, or bytes as base64.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceContents {
  readonly uri: string
  readonly mimeType?: string | undefined
  readonly text?: string | undefined
  readonly blob?: string | undefined
}

/**
 * One block of a result or a prompt. `data` is base64.
 *
 * @since 0.1.0
 * @category models
 */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: ResourceContents }
  | ({ readonly type: "resource_link" } & ResourceInfo)

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolResult {
  readonly content: ReadonlyArray<ContentBlock>
  readonly structuredContent?: Readonly<Record<string, unknown>> | undefined
  /** The tool itself failed; the content describes the failure. */
  readonly isError: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResourceInfo {
  readonly uri: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  /** Bytes. */
  readonly size?: number | undefined
}

/**
 * Resources whose addresses follow a pattern (RFC 6570).
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceTemplateInfo {
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PromptInfo {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly arguments: ReadonlyArray<{
    readonly name: string
    readonly description?: string | undefined
    readonly required: boolean
  }>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PromptResult {
  readonly description?: string | undefined
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: ContentBlock }>
}

/**
 * Progress of a call.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/**
 * What a server asks the user: a text of a third party, and the form of the answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question {
  readonly message: string
  /** The JSON Schema of a flat object, as the server sent it. */
  readonly schema: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export type Elicited =
  | { readonly action: "accept"; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: "decline" | "cancel" }

/**
 * A call of a tool that a server runs.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolUse = { readonly id: string; readonly name: string; readonly input: Readonly<Record<string, unknown>> }

/**
 * @since 0.1.0
 * @category models
 */
export type SampleBlock =
  | ContentBlock
  | ({ readonly type: "tool_use" } & ToolUse)
  | ({ readonly type: "tool_result"; readonly id: string } & Pick<ToolResult, "content" | "isError">)

/**
 * What a server asks a model: texts of a third party.
 *
 * @since 0.1.0
 * @category models
 */
export interface SampleRequest {
  readonly system?: string | undefined
  readonly messages: ReadonlyArray<{
    readonly role: "user" | "assistant"
    readonly content: ReadonlyArray<SampleBlock>
  }>
  readonly maxTokens: number
  readonly temperature?: number | undefined
  /** Tools that the server runs: the model only calls them. */
  readonly tools?: ReadonlyArray<Pick<ToolInfo, "name" | "description" | "inputSchema">> | undefined
  readonly toolChoice?: "auto" | "required" | "none" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Sampled {
  readonly text: string
  readonly model: string
  readonly stopReason: "endTurn" | "maxTokens" | "toolUse"
  /** Calls of the server's tools; default none. */
  readonly calls?: ReadonlyArray<ToolUse> | undefined
}

/**
 * Defaults come from the client.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** Time limit without an answer; with progress requested, each report restarts it. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Time limit of the whole call, whatever its progress. */
  readonly maxTotal?: Duration.DurationInput | undefined
  /**
   * Calls the tool as a task (2025-11-25), for tools whose `task` says so: the server works without an open request, is
   * polled as often as it asks for, and its connection may be lost meanwhile. `timeout` is for each request, `maxTotal`
   * for the task. Interrupting the call cancels the task. Default `false`.
   */
  readonly task?: boolean | undefined
  /**
   * Receives each report in order; the call ends after the last. Progress is requested from the server only if this is
   * set. A slow listener misses the oldest reports.
   */
  readonly onProgress?: ((progress: Progress) => Effect.Effect<void>) | undefined
  /**
   * Answers the server's questions while the call runs, without a time limit. The protocol does not say which call a
   * question belongs to: it is asked only while all calls in flight are of one `asker`, and cancelled otherwise.
   */
  readonly elicit?:
    | { readonly asker: string; readonly answer: (question: Question) => Effect.Effect<Elicited> }
    | undefined
  /**
   * Answers by a model what the server asks while the call runs, under the rules of `elicit` and within the bounds of a
   * client that allows it; `undefined` refuses.
   */
  readonly sample?:
    | { readonly asker: string; readonly answer: (request: SampleRequest) => Effect.Effect<Sampled | undefined> }
    | undefined
}

/**
 * A change of the server. After `Connected` everything about it may be new; a changed list must be read again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Connected" | "Disconnected" | "ToolsChanged" | "ResourcesChanged" | "PromptsChanged"
}

/**
 * A server could not be reached, or did not answer correctly.
 *
 * - `Configuration`: the client cannot be made as configured
 * - `Connection`: no connection; no request was sent
 * - `Closed`: the connection was lost during a call, by a crash for instance; whether the call took effect is unknown
 * - `RestartLimit`: the server was lost too often in too short a time
 * - `Timeout`: no answer in time; the server was told to stop
 * - `Unsupported`: the server does not offer this
 * - `Refused`: the server rejects this client; `status` says how
 * - `AuthorizationNeeded`: the server demands an authorization, and nobody can be asked for it
 * - `AuthorizationRefused`: the client was not authorized, or not for this
 * - `AuthorizationFailed`: the authorization could not be carried out
 * - `Protocol`: the server answered with an error; `rpcCode` says which
 * - `InvalidResponse`: the answer does not follow the protocol
 * - `TooLarge`: a message was larger than allowed
 * - `ToolFailed`: the tool itself failed; the message has the beginning of its output
 *
 * @since 0.1.0
 * @category errors
 */
export class McpError extends ErrorCode.TaggedError<McpError>("effect-lexigram/skill/McpClient/McpError")("McpError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_103"),
  reason: Schema.Literal(
    "Configuration",
    "Connection",
    "Closed",
    "RestartLimit",
    "Timeout",
    "Unsupported",
    "Refused",
    "AuthorizationNeeded",
    "AuthorizationRefused",
    "AuthorizationFailed",
    "Protocol",
    "InvalidResponse",
    "TooLarge",
    "ToolFailed"
  ),
  /** The client's name for the server. */
  server: Schema.String,
  toolName: Schema.optional(Schema.String),
  rpcCode: Schema.optional(Schema.Number),
  status: Schema.optional(Schema.Int),
  exitCode: Schema.optional(Schema.Int),
  signal: Schema.optional(Schema.String),
  /** The end of the server process's standard error, without secrets. */
  stderr: Schema.optional(Schema.String)
}) {}

/**
 * A lost connection is restored: the next request opens a new one, as far as the client's configuration allows.
 * Interrupting a request tells the server to stop it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The client's name for the server, used in names and errors. */
  readonly name: string
  /** Information from the server; connects if necessary. */
  readonly info: Effect.Effect<ServerInfo, McpError>
  /** Succeeds when the server answers. */
  readonly ping: Effect.Effect<void, McpError>
  /**
   * All tools of all pages, in the server's order; empty for a server without tools. Invalid entries are left out.
   */
  readonly listTools: Effect.Effect<ReadonlyArray<ToolInfo>, McpError>
  /**
   * Calls a tool. A failure of the tool itself is a result with `isError`; `McpError` means that there is no result.
   * The server decides which of the two an unknown tool is.
   */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<ToolResult, McpError>
  /** All resources; empty for a server without resources. */
  readonly listResources: Effect.Effect<ReadonlyArray<ResourceInfo>, McpError>
  /** All resource templates; empty for a server without resources. */
  readonly listResourceTemplates: Effect.Effect<ReadonlyArray<ResourceTemplateInfo>, McpError>
  /** An unknown resource fails with reason `Protocol`. */
  readonly readResource: (
    uri: string,
    options?: CallOptions
  ) => Effect.Effect<ReadonlyArray<ResourceContents>, McpError>
  /** All prompts; empty for a server without prompts. */
  readonly listPrompts: Effect.Effect<ReadonlyArray<PromptInfo>, McpError>
  /** An unknown prompt or invalid arguments fail with reason `Protocol`. */
  readonly getPrompt: (
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions
  ) => Effect.Effect<PromptResult, McpError>
  /**
   * Changes from the time of subscription on, starting with `Connected` if there is a connection. A slow subscriber
   * loses the oldest changes.
   */
  readonly changes: Stream.Stream<Change>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpClient extends Context.Tag("effect-lexigram/skill/McpClient")<McpClient, Service>() {}
