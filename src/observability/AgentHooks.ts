/**
 * Hook points of a run: actions that the run waits for, and filters that change a value.
 *
 * @since 0.1.0
 */
import type { ErrorInfo } from "../domain/ErrorInfo.js"
import type { RunId } from "../domain/Ids.js"
import * as Hooks from "./Hooks.js"

/**
 * The run of a hook.
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
 * The tool call of a hook.
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
 * A run began: right after its first event, before any guard or check.
 *
 * @since 0.1.0
 * @category hooks
 */
export const AgentStartedHook: Hooks.Action<RunInfo> = Hooks.action("AgentStartedHook")

/**
 * A run is about to end, before its last event, with its answer or its failure. An interrupted run waits at most 5 s.
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
 * The answer as text, before any guard sees it. Not applied to answers with an output schema of the agent. An output
 * that a request asks for is read again from the changed text.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentAnswerFilter: Hooks.Filter<string, RunInfo> = Hooks.filter("AgentAnswerFilter")

/**
 * The arguments of a tool call, before any guard sees them. The result is checked against the parameters of the tool.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentToolParamsFilter: Hooks.Filter<unknown, ToolCallInfo> = Hooks.filter("AgentToolParamsFilter")

/**
 * The observation of a tool as the model reads it, before any guard sees it.
 *
 * @since 0.1.0
 * @category filters
 */
export const AgentObservationFilter: Hooks.Filter<string, ToolCallInfo & { readonly isFailure: boolean }> =
  Hooks.filter("AgentObservationFilter")
