/**
 * What MCP servers offer besides tools: prompts, resources and templates of resources.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { ResolvedFile, Text } from "../../content/Content.js"
import type { Identity } from "../../http/api/Authentication.js"
import type { McpServerError } from "./McpServerError.js"

/**
 * Who asks.
 *
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly caller: Identity
}

/**
 * The contents of a resource.
 *
 * @since 0.1.0
 * @category models
 */
export interface Contents {
  readonly uri: string
  readonly mimeType?: string | undefined
  readonly data: string | Uint8Array
}

/**
 * A message of a prompt: text, a file, or the contents of a resource.
 *
 * @since 0.1.0
 * @category models
 */
export interface PromptMessage {
  readonly role: "user" | "assistant"
  readonly content: string | Text | ResolvedFile | { readonly type: "resource"; readonly resource: Contents }
}

/**
 * Proposes values for an argument that begins with a text. At most 100 are sent. `others` are the arguments so far.
 *
 * @since 0.1.0
 * @category models
 */
export type Complete<out R = never> = (
  value: string,
  request: Request & { readonly others: Readonly<Record<string, string>> }
) => Effect.Effect<ReadonlyArray<string>, McpServerError, R>

/**
 * @since 0.1.0
 * @category models
 */
export interface Described {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PromptArgument<out R = never> extends Described {
  /** Default false. */
  readonly required?: boolean | undefined
  readonly complete?: Complete<R> | undefined
}

/**
 * A prompt that people choose. Its arguments are texts of the client.
 *
 * @since 0.1.0
 * @category models
 */
export interface Prompt<out R = never> extends Described {
  readonly arguments?: ReadonlyArray<PromptArgument<R>> | undefined
  /** A text is one message of the user. */
  readonly get: (
    args: Readonly<Record<string, string>>,
    request: Request
  ) => Effect.Effect<string | ReadonlyArray<PromptMessage>, McpServerError, R>
}

/**
 * The contents that a resource is read as: those of its own address, or several.
 *
 * @since 0.1.0
 * @category models
 */
export type ReadResult = string | Uint8Array | ReadonlyArray<Contents>

/**
 * A resource with an address of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Resource<out R = never> extends Described {
  readonly uri: string
  /** Default `text/plain`. */
  readonly mimeType?: string | undefined
  readonly read: (request: Request) => Effect.Effect<ReadResult, McpServerError, R>
  /** Each element tells those who subscribed that the resource changed. */
  readonly changes?: ((request: Request) => Stream.Stream<unknown, never, R>) | undefined
}

/**
 * Resources whose addresses follow a pattern (RFC 6570).
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceTemplate<out R = never> extends Described {
  /** Such as `order://{id}`. */
  readonly uriTemplate: string
  /** Default `text/plain`. */
  readonly mimeType?: string | undefined
  /** `variables` are texts of the client: hostile. */
  readonly read: (
    variables: Readonly<Record<string, string>>,
    request: Request & { readonly uri: string }
  ) => Effect.Effect<ReadResult, McpServerError, R>
  readonly complete?: Readonly<Record<string, Complete<R>>> | undefined
  readonly changes?:
    | ((
        variables: Readonly<Record<string, string>>,
        request: Request & { readonly uri: string }
      ) => Stream.Stream<unknown, never, R>)
    | undefined
}

/**
 * Prompts and resources that depend on the caller, such as `McpSkills.make()` and `McpMemories.make()`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source<out R = never> {
  readonly prompts?: ((request: Request) => Effect.Effect<ReadonlyArray<Prompt<R>>, McpServerError, R>) | undefined
  readonly resources?: ((request: Request) => Effect.Effect<ReadonlyArray<Resource<R>>, McpServerError, R>) | undefined
  readonly templates?: ReadonlyArray<ResourceTemplate<R>> | undefined
}
