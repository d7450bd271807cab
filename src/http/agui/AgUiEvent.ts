/**
 * The events of the AG-UI protocol 1.0 that agents emit.
 *
 * @since 0.1.0
 */
import type { AgUiMessage, ContentPart } from "./AgUiMessage.js"

/**
 * The version of the protocol.
 *
 * @since 0.1.0
 * @category constants
 */
export const PROTOCOL_VERSION = "1.0"

/**
 * What a run waits for. The next run of the thread answers it (`resume`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Interrupt {
  readonly id: string
  /**
   * `tool_call`: a call waits for approval. `confirmation`: one of an inner run does, which `metadata` has.
   * `input_required`: a tool asks a question.
   */
  readonly reason: "tool_call" | "confirmation" | "input_required"
  readonly message?: string | undefined
  readonly toolCallId?: string | undefined
  /** The JSON Schema of the answer. */
  readonly responseSchema: Readonly<Record<string, unknown>>
  /** ISO 8601. */
  readonly expiresAt?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TokenUsage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly cacheWriteInputTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Outcome =
  | { readonly type: "success" | "cancelled" }
  | { readonly type: "interrupt"; readonly interrupts: ReadonlyArray<Interrupt> }

interface Named {
  readonly threadId: string
  readonly runId: string
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * An event of a run. Those of a run are between `RUN_STARTED` and `RUN_FINISHED` or `RUN_ERROR`, those of a message, a
 * call or a step between its start and its end.
 *
 * @since 0.1.0
 * @category models
 */
export type AgUiEvent =
  | ({ readonly type: "RUN_STARTED"; readonly protocolVersion: string } & Named)
  | ({
      readonly type: "RUN_FINISHED"
      readonly outcome: Outcome
      readonly result?: unknown
      readonly usage?: ReadonlyArray<TokenUsage> | undefined
    } & Named)
  | {
      readonly type: "RUN_ERROR"
      readonly message: string
      readonly code?: string | undefined
      readonly usage?: ReadonlyArray<TokenUsage> | undefined
    }
  | { readonly type: "STEP_STARTED" | "STEP_FINISHED"; readonly stepName: string }
  | { readonly type: "TEXT_MESSAGE_START"; readonly messageId: string; readonly role: "assistant" }
  | { readonly type: "TEXT_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
  | { readonly type: "TEXT_MESSAGE_END"; readonly messageId: string }
  | { readonly type: "REASONING_START" | "REASONING_END" | "REASONING_MESSAGE_END"; readonly messageId: string }
  | { readonly type: "REASONING_MESSAGE_START"; readonly messageId: string; readonly role: "reasoning" }
  | { readonly type: "REASONING_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
  | {
      readonly type: "TOOL_CALL_START"
      readonly toolCallId: string
      readonly toolCallName: string
      readonly parentMessageId: string
    }
  | { readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "TOOL_CALL_END"; readonly toolCallId: string }
  | {
      readonly type: "TOOL_CALL_RESULT"
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string | ReadonlyArray<ContentPart>
      readonly role: "tool"
      readonly metadata?: Readonly<Record<string, unknown>> | undefined
    }
  | { readonly type: "STATE_SNAPSHOT"; readonly snapshot: unknown }
  | { readonly type: "MESSAGES_SNAPSHOT"; readonly messages: ReadonlyArray<AgUiMessage> }
  | {
      readonly type: "ACTIVITY_SNAPSHOT"
      readonly messageId: string
      readonly activityType: string
      readonly content: Readonly<Record<string, unknown>>
    }
  | { readonly type: "CUSTOM"; readonly name: string; readonly value: unknown }

/** An event without the value that JSON cannot have, which a tool or a graph of the application may give. */
const withoutValue = (event: AgUiEvent): unknown =>
  event.type === "CUSTOM"
    ? { ...event, value: null }
    : event.type === "ACTIVITY_SNAPSHOT"
      ? { ...event, content: {} }
      : { ...event, result: undefined, snapshot: event.type === "STATE_SNAPSHOT" ? {} : undefined }

/**
 * An event as the data of a server-sent event.
 *
 * @since 0.1.0
 * @category conversions
 */
export const encode = (event: AgUiEvent): string => {
  try {
    return JSON.stringify(event)
  } catch {
    return JSON.stringify(withoutValue(event))
  }
}

/**
 * A value as the text of a call or a result: JSON, or the text itself. A value that JSON cannot have is empty.
 *
 * @since 0.1.0
 * @category conversions
 */
export const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}
