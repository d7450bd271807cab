/**
 * The places of a run where handlers may wait, and where values may be changed.
 *
 * @since 0.1.0
 */
import type { ErrorInfo } from "../domain/ErrorInfo.js"
import type { RunId } from "../domain/Ids.js"
import * as Hooks from "./Hooks.js"

/**
 * The run a hook belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunInfo {
  readonly agentName: string
  readonly runId: RunId
  readonly parentRunId?: RunId | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
}

/**
 * The call of a tool a hook belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCallInfo {
  readonly agentName: string
  readonly runId: RunId
  readonly toolName: string
  readonly toolCallId: string
}

/**
 * A run began: right behind its first event, before anything is asked or checked.
 *
 * @since 0.1.0
 * @category hooks
 */
export const AgentStartedHook: Hooks.Action<RunInfo> = Hooks.action("AgentStartedHook")

/**
 * A run is about to end, before its last event: with its answer, or with what went wrong. One that is interrupted waits
 * 5 s at most.
 *
 * @since 0.1.0
 * @category hooks
 */
export const AgentCompletedHook: Hooks.Action<
  RunInfo & {
    readonly success: boolean
    readonly interrupted: boolean
    readonly error?: ErrorInfo | undefined
    readonly durationMs: number
  }
> = Hooks.action("AgentCompletedHook")

/**
 * A tool is about to run for an agent. `params` are what the model sent.
 *
 * @since 0.1.0
 * @category hooks
 */
export const AgentToolCalledHook: Hooks.Action<ToolCallInfo & { readonly params: unknown }> =
  Hooks.action("AgentToolCalledHook")

/**
 * The user's message, before any guard sees it.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentInputFilter: Hooks.Filter<string, RunInfo> = Hooks.filter("AgentInputFilter")

/**
 * The answer as text, before any guard sees it. Not asked for answers that must fit an output schema.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentAnswerFilter: Hooks.Filter<string, RunInfo> = Hooks.filter("AgentAnswerFilter")

/**
 * The arguments of a tool call, before any guard sees them; what comes out is checked against the tool's parameters.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentToolParamsFilter: Hooks.Filter<unknown, ToolCallInfo> = Hooks.filter("AgentToolParamsFilter")

/**
 * What a tool gave back as the model reads it, before any guard sees it.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentObservationFilter: Hooks.Filter<string, ToolCallInfo & { readonly isFailure: boolean }> =
  Hooks.filter("AgentObservationFilter")
