/**
 * The tool calls of a response, and the steps that they belong to. `AgentResponse` exports them.
 *
 * @private
 * @since 0.1.0
 */
import type { ErrorInfo } from "./ErrorInfo.js"
import type { StoredFile } from "./StoredFile.js"

/**
 * One tool call with its result. A call without a result was cut off when the run ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolExecutionRecord {
  readonly id: string
  readonly name: string
  readonly params: unknown
  readonly step: number
  readonly at: number
  readonly isFailure?: boolean | undefined
  readonly result?: unknown
  readonly observation?: string | undefined
  readonly durationMs?: number | undefined
  readonly attempts?: number | undefined
  readonly error?: ErrorInfo | undefined
  readonly files?: ReadonlyArray<StoredFile> | undefined
  /** Present once its compensation has ended; with a failure the call is not undone. */
  readonly compensation?: { readonly isFailure: boolean; readonly error?: ErrorInfo | undefined } | undefined
}

/**
 * One step of the reasoning: a thought, the tool calls it led to and their results.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReasoningStep {
  readonly step: number
  readonly at: number
  readonly thought?: string | undefined
  readonly toolCalls: ReadonlyArray<ToolExecutionRecord>
}
