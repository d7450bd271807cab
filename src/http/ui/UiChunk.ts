/**
 * The parts of the UI message stream protocol of AI SDK UI (version 1), which `ai` 6 and 7 read.
 *
 * @since 0.1.0
 */

/**
 * The header that names the protocol, and its version.
 *
 * @since 0.1.0
 * @category constants
 */
export const HEADERS: Readonly<Record<string, string>> = { "x-vercel-ai-ui-message-stream": "v1" }

/**
 * The data of the last event of a stream.
 *
 * @since 0.1.0
 * @category constants
 */
export const DONE = "[DONE]"

/**
 * @since 0.1.0
 * @category models
 */
export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other"

interface Call {
  readonly toolCallId: string
  readonly toolName: string
  readonly providerExecuted?: boolean | undefined
}

/**
 * A part of a stream. The parts of an answer are between `start` and `finish`, those of a step between `start-step` and
 * `finish-step`, those of a text between `text-start` and `text-end`.
 *
 * @since 0.1.0
 * @category models
 */
export type UiChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata?: unknown }
  | { readonly type: "start-step" | "finish-step" | "reset-step" }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | ({ readonly type: "tool-input-start" } & Call)
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | ({
      readonly type: "tool-input-available"
      readonly input: unknown
      readonly providerMetadata?: Readonly<Record<string, unknown>> | undefined
    } & Call)
  | {
      readonly type: "tool-approval-request"
      readonly approvalId: string
      readonly toolCallId: string
      readonly reason?: string | undefined
    }
  | {
      readonly type: "tool-output-available"
      readonly toolCallId: string
      readonly output: unknown
      readonly preliminary?: boolean | undefined
      readonly providerExecuted?: boolean | undefined
    }
  | {
      readonly type: "tool-output-error"
      readonly toolCallId: string
      readonly errorText: string
      readonly providerExecuted?: boolean | undefined
    }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title: string }
  | {
      readonly type: "source-document"
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
      readonly filename: string
    }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  | {
      readonly type: `data-${string}`
      readonly id?: string | undefined
      readonly data: unknown
      readonly transient?: boolean | undefined
    }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "abort"; readonly reason?: string | undefined }
  | { readonly type: "finish"; readonly finishReason?: FinishReason; readonly messageMetadata?: unknown }

/** A chunk without the value that JSON cannot have, which a tool of the application may return. */
const withoutValue = (chunk: UiChunk): UiChunk =>
  "output" in chunk
    ? { ...chunk, output: null }
    : "input" in chunk
      ? { ...chunk, input: null }
      : "data" in chunk
        ? { ...chunk, data: null }
        : chunk

/**
 * A chunk as the data of an event.
 *
 * @since 0.1.0
 * @category conversions
 */
export const encode = (chunk: UiChunk): string => {
  try {
    return JSON.stringify(chunk)
  } catch {
    return JSON.stringify(withoutValue(chunk))
  }
}
