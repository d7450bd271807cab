/**
 * What this library uses of the specification of the AI SDK for language models, versions 3 and 4.
 *
 * The shapes are written out here, so that no package of the AI SDK is needed: a model is recognized by its structure.
 *
 * @private
 * @since 0.1.0
 */

/**
 * A language model of the AI SDK: what `anthropic("claude-…")` or `google("gemini-…")` returns.
 *
 * @category models
 */
export interface Model {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls
  readonly doGenerate: (options: any) => PromiseLike<any>
  readonly doStream: (options: any) => PromiseLike<{ readonly stream: ReadableStream<any> }>
}

/**
 * By media type or its beginning, the URLs that the provider fetches itself.
 *
 * @category models
 */
export type SupportedUrls = { readonly [mediaType: string]: ReadonlyArray<RegExp> }

/**
 * @category models
 */
export type Version = "v3" | "v4"

/**
 * @category models
 */
export type Options = { readonly [provider: string]: { readonly [key: string]: unknown } }

interface Part {
  readonly providerOptions?: Options | undefined
}

/**
 * @category models
 */
export interface TextPart extends Part {
  readonly type: "text"
  readonly text: string
}

/**
 * Version 3 takes bytes, Base64 or a URL as they are, version 4 says which of them it is.
 *
 * @category models
 */
export type FileData =
  | Uint8Array
  | string
  | URL
  | { readonly type: "data"; readonly data: Uint8Array | string }
  | { readonly type: "url"; readonly url: URL }

/**
 * @category models
 */
export interface FilePart extends Part {
  readonly type: "file"
  readonly mediaType: string
  readonly filename?: string | undefined
  readonly data: FileData
}

/**
 * @category models
 */
export type AssistantPart =
  | TextPart
  | FilePart
  | (Part & { readonly type: "reasoning"; readonly text: string })
  | (Part & {
      readonly type: "tool-call"
      readonly toolCallId: string
      readonly toolName: string
      readonly input: unknown
      readonly providerExecuted?: boolean | undefined
    })
  | ToolResultPart

/**
 * @category models
 */
export interface ToolResultPart extends Part {
  readonly type: "tool-result"
  readonly toolCallId: string
  readonly toolName: string
  readonly output:
    | { readonly type: "text" | "error-text"; readonly value: string }
    | { readonly type: "json" | "error-json"; readonly value: unknown }
    | { readonly type: "content"; readonly value: ReadonlyArray<object> }
}

/**
 * @category models
 */
export type Message = Part &
  (
    | { readonly role: "system"; readonly content: string }
    | { readonly role: "user"; readonly content: ReadonlyArray<TextPart | FilePart> }
    | { readonly role: "assistant"; readonly content: ReadonlyArray<AssistantPart> }
    | { readonly role: "tool"; readonly content: ReadonlyArray<ToolResultPart> }
  )

/**
 * @category models
 */
export interface CallOptions {
  readonly prompt: ReadonlyArray<Message>
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly stopSequences?: ReadonlyArray<string> | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly seed?: number | undefined
  readonly responseFormat?:
    | { readonly type: "json"; readonly schema: unknown; readonly name: string; readonly description?: string }
    | undefined
  readonly tools?: ReadonlyArray<unknown> | undefined
  readonly toolChoice?: { readonly type: string; readonly toolName?: string } | undefined
  /** Version 4 only. */
  readonly reasoning?: string | undefined
  readonly providerOptions?: Options | undefined
}
