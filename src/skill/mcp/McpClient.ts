/**
 * The door to a server of the Model Context Protocol: its tools, resources and prompts as plain data.
 *
 * What a server says of itself is the word of another party: names, descriptions, schemas, annotations and results are
 * data, never instructions. This port hands them over as they came; `McpBridge` makes them fit for models.
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
 * What a server is and what it offers.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerInfo {
  /** What the server calls itself. */
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly protocolVersion?: string | undefined
  /** How the server wants to be used. */
  readonly instructions?: string | undefined
  readonly capabilities: {
    readonly tools: boolean
    readonly resources: boolean
    readonly prompts: boolean
  }
}

/**
 * What a server claims about a tool. Hints of another party: nothing that must hold may rest on them alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolAnnotations {
  readonly title?: string | undefined
  /** It changes nothing. False unless said. */
  readonly readOnlyHint?: boolean | undefined
  /** It may delete or overwrite. True unless said, for tools that are not read-only. */
  readonly destructiveHint?: boolean | undefined
  /** Calling it twice does no more than once. False unless said. */
  readonly idempotentHint?: boolean | undefined
  /** It reaches beyond the server. True unless said. */
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
  /** The shape of `structuredContent`. */
  readonly outputSchema?: JsonSchema | undefined
  readonly annotations?: ToolAnnotations | undefined
  /** Whether it can only be called as a task that is fetched later; such calls are refused. */
  readonly requiresTask?: boolean | undefined
}

/**
 * The contents of a resource: text, or bytes as base64.
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
 * One piece of a result or a prompt. `data` is base64.
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
  /** The tool itself failed; the content says how. */
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
 * How far a call is.
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
 * What is unset comes from the client.
 *
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** Time without an answer; where progress is asked for, each progress begins it anew. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Time in all, whatever progress there is. */
  readonly maxTotal?: Duration.DurationInput | undefined
  /**
   * Given each progress in order; the call ends after the last of them. The server is asked for progress only if this
   * is set. One that is slow misses the oldest.
   */
  readonly onProgress?: ((progress: Progress) => Effect.Effect<void>) | undefined
}

/**
 * What happened to the server. After `Connected` everything about it may be new; a list that changed is to be read
 * again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Connected" | "Disconnected" | "ToolsChanged" | "ResourcesChanged" | "PromptsChanged"
}

/**
 * A server could not be reached, or did not answer as it should.
 *
 * - `Configuration`: the client cannot be made as it is configured
 * - `Connection`: no connection; nothing was asked of the server
 * - `Closed`: the connection was lost in mid-call, by a crash for instance; whether the call took effect is unknown
 * - `RestartLimit`: the server was lost too often in too short a time
 * - `Timeout`: no answer in time; the server was told to stop
 * - `Unsupported`: the server does not offer this
 * - `Refused`: the server does not let this client in; `status` says how
 * - `Protocol`: the server answered with an error; `rpcCode` says which
 * - `InvalidResponse`: the answer is not what the protocol wants
 * - `TooLarge`: a message was larger than allowed
 * - `ToolFailed`: the tool itself failed; the message holds the beginning of what it says
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
    "Protocol",
    "InvalidResponse",
    "TooLarge",
    "ToolFailed"
  ),
  /** The name that the client gives the server. */
  server: Schema.String,
  toolName: Schema.optional(Schema.String),
  rpcCode: Schema.optional(Schema.Number),
  status: Schema.optional(Schema.Int),
  exitCode: Schema.optional(Schema.Int),
  signal: Schema.optional(Schema.String),
  /** The end of what the server's process wrote there, secrets taken out. */
  stderr: Schema.optional(Schema.String)
}) {}

/**
 * A connection that was lost comes back by itself: the next request makes a new one, as far as the client is configured
 * to. Interrupting a request tells the server to stop it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What the client calls the server: part of names and errors. */
  readonly name: string
  /** What the server says of itself; connects where there is no connection. */
  readonly info: Effect.Effect<ServerInfo, McpError>
  /** Succeeds when the server answers. */
  readonly ping: Effect.Effect<void, McpError>
  /**
   * All tools, all pages of them, in the server's order. A server without tools: empty. Entries that are no tools are
   * left out.
   */
  readonly listTools: Effect.Effect<ReadonlyArray<ToolInfo>, McpError>
  /**
   * Calls a tool. That the tool itself failed is a result with `isError`; `McpError` says that the call did not come to
   * a result. A tool that the server does not have is one or the other, as the server likes.
   */
  readonly callTool: (
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions
  ) => Effect.Effect<ToolResult, McpError>
  /** All resources; a server without resources: empty. */
  readonly listResources: Effect.Effect<ReadonlyArray<ResourceInfo>, McpError>
  /** All templates of resources; a server without resources: empty. */
  readonly listResourceTemplates: Effect.Effect<ReadonlyArray<ResourceTemplateInfo>, McpError>
  /** A resource that the server does not have fails with reason `Protocol`. */
  readonly readResource: (
    uri: string,
    options?: CallOptions
  ) => Effect.Effect<ReadonlyArray<ResourceContents>, McpError>
  /** All prompts; a server without prompts: empty. */
  readonly listPrompts: Effect.Effect<ReadonlyArray<PromptInfo>, McpError>
  /** A prompt that the server does not have, or arguments it does not take, fail with reason `Protocol`. */
  readonly getPrompt: (
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions
  ) => Effect.Effect<PromptResult, McpError>
  /**
   * What happens from the time of subscription on; begins with `Connected` where there is a connection. A subscriber
   * that falls far behind loses the oldest changes.
   */
  readonly changes: Stream.Stream<Change>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpClient extends Context.Tag("effect-lexigram/skill/McpClient")<McpClient, Service>() {}
