/**
 * The items of a run that hold no other run. `Trace` exports them.
 *
 * @private
 * @since 0.1.0
 */
import type { RunId } from "../domain/Ids.js"
import type * as Usage from "../domain/Usage.js"
import type { Content } from "./TraceContent.js"

/**
 * An error: its class, its code and a fixed sentence. `code` and `hint` are there for errors of this library. The
 * message may quote anything, so it is content.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly tag: string
  readonly code?: string | undefined
  /** Absent if nothing but the message says what happened. */
  readonly summary?: string | undefined
  readonly hint?: string | undefined
  readonly message: Content
}

/**
 * Fields of all items: the time in milliseconds since the epoch, and the number of the event in its run.
 *
 * @since 0.1.0
 * @category models
 */
export interface ItemBase {
  readonly at: number
  readonly seq: number
}

/**
 * A file: its type, and its size in bytes unless it is one of a URL.
 *
 * @since 0.1.0
 * @category models
 */
export interface File {
  readonly mediaType: string
  readonly size?: number | undefined
}

/**
 * A step of the strategy began.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step extends ItemBase {
  readonly _tag: "Step"
  readonly step: number
  readonly name?: string | undefined
}

/**
 * A model call that ended at `at`. Events do not say when it began: `startedAt` is the begin of its step or, if that
 * has another call, the end of what came before. `isCached`: the answer took no tokens, because a cache had it.
 * `retries` counts the attempts before that failed.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelCall extends ItemBase {
  readonly _tag: "ModelCall"
  readonly startedAt: number
  readonly step?: number | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly role?: string | undefined
  readonly usage: Usage.Usage
  readonly costUsd?: number | undefined
  readonly finishReason?: string | undefined
  readonly cutOff: boolean
  readonly isCached: boolean
  readonly retries: number
  /** The reasoning that was streamed. */
  readonly reasoning?: Content | undefined
}

/**
 * A call of a tool from `at` on; without `endedAt` it has no result. `endSeq` is the number of the event that ended it,
 * and `progress` counts its reports.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCall extends ItemBase {
  readonly _tag: "ToolCall"
  readonly id: string
  readonly name: string
  readonly step: number
  readonly clientTool: boolean
  readonly params?: Content | undefined
  readonly endedAt?: number | undefined
  readonly endSeq?: number | undefined
  readonly durationMs?: number | undefined
  readonly attempts?: number | undefined
  readonly isFailure?: boolean | undefined
  readonly truncated?: boolean | undefined
  readonly result?: Content | undefined
  readonly error?: Failure | undefined
  readonly files: ReadonlyArray<File>
  /** Names and addresses of the files. */
  readonly sources?: Content | undefined
  readonly progress: number
}

/**
 * The provider ran a tool of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProviderTool extends ItemBase {
  readonly _tag: "ProviderTool"
  readonly name: string
  readonly step: number
  readonly isFailure: boolean
  readonly params: Content
  readonly result: Content
}

/**
 * A tool call was undone, or could not be.
 *
 * @since 0.1.0
 * @category models
 */
export interface Compensation extends ItemBase {
  readonly _tag: "Compensation"
  readonly name: string
  readonly callRunId?: RunId | undefined
  readonly isFailure: boolean
  readonly attempts: number
  readonly durationMs: number
  readonly error?: Failure | undefined
}

/**
 * A tool call waited for approval. Without `resolvedAt` nobody has decided.
 *
 * @since 0.1.0
 * @category models
 */
export interface Approval extends ItemBase {
  readonly _tag: "Approval"
  readonly id: string
  readonly name: string
  readonly params?: Content | undefined
  readonly requestReason?: Content | undefined
  readonly resolvedAt?: number | undefined
  readonly endSeq?: number | undefined
  readonly approved?: boolean | undefined
  readonly reason?: Content | undefined
}

/**
 * A tool asked a person, or the caller of the run for the result of its own tool (`clientTool`). Without `answeredAt`
 * nothing has come of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Question extends ItemBase {
  readonly _tag: "Question"
  readonly id: string
  readonly name: string
  readonly clientTool: boolean
  readonly message?: Content | undefined
  readonly form?: Content | undefined
  readonly answeredAt?: number | undefined
  readonly endSeq?: number | undefined
  readonly action?: "accept" | "decline" | "cancel" | undefined
  readonly content?: Content | undefined
  readonly reason?: Content | undefined
}

/**
 * A guard warned, redacted or blocked.
 *
 * @since 0.1.0
 * @category models
 */
export interface Guard extends ItemBase {
  readonly _tag: "Guard"
  readonly stage: "input" | "output" | "toolInput" | "toolOutput"
  readonly guard: string
  readonly action: "warn" | "redact" | "block"
  readonly reason?: Content | undefined
}

/**
 * Turns of the session or memories came into the context.
 *
 * @since 0.1.0
 * @category models
 */
export interface Recall extends ItemBase {
  readonly _tag: "Recall"
  readonly source: "working-memory" | "session"
  readonly count: number
  readonly tokens?: number | undefined
}

/**
 * The session keeps files of the message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Files extends ItemBase {
  readonly _tag: "Files"
  readonly files: ReadonlyArray<File>
  /** Names and addresses of the files. */
  readonly sources?: Content | undefined
}

/**
 * A text of the run: a message that was added, a thought, or why a validator rejected an answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Note extends ItemBase {
  readonly _tag: "Steered" | "Thought" | "Rejected"
  readonly step?: number | undefined
  readonly text: Content
}

/**
 * A judgment of an answer or a trial.
 *
 * @since 0.1.0
 * @category models
 */
export interface Critique extends ItemBase {
  readonly _tag: "Critique"
  readonly step: number
  readonly text: Content
  readonly accepted?: boolean | undefined
  readonly score?: number | undefined
}

/**
 * The plan was made, or a step of it changed: how many steps have which status.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlanChange extends ItemBase {
  readonly _tag: "PlanChange"
  readonly steps: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * A node of a graph ended with an update, or emitted a value.
 *
 * @since 0.1.0
 * @category models
 */
export interface Node extends ItemBase {
  readonly _tag: "Node"
  readonly graph: string
  readonly node: string
  readonly isEnd: boolean
  readonly value: Content
}

/**
 * A durable run went on in another attempt: its process had ended, or it had slept. `attempt` counts from 2, and
 * `pauseMs` is the time without events before. Attempts that kept no event are not known.
 *
 * @since 0.1.0
 * @category models
 */
export interface Resumed extends ItemBase {
  readonly _tag: "Resumed"
  readonly attempt: number
  readonly pauseMs: number
}

/**
 * Something failed and the run went on; `attempt` is the number of the next attempt if it was a model call that is
 * retried.
 *
 * @since 0.1.0
 * @category models
 */
export interface Degraded extends ItemBase {
  readonly _tag: "Degraded"
  readonly stage: string
  readonly attempt?: number | undefined
  readonly error: Failure
}
