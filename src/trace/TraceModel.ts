/**
 * The model of a trace: runs with their items, plans and search trees. `Trace` exports it.
 *
 * @private
 * @since 0.1.0
 */
import type { FinishReason, PlanStep } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"
import type * as Usage from "../domain/Usage.js"
import type { Content } from "./TraceContent.js"
import type * as TraceItem from "./TraceItem.js"

export type * from "./TraceItem.js"

/**
 * Another run inside of this one. `run` is absent if the trace has none of its events.
 *
 * @since 0.1.0
 * @category models
 */
export interface SubRun extends TraceItem.ItemBase {
  readonly _tag: "SubRun"
  readonly runId: RunId
  readonly agent: string
  readonly handoff: boolean
  readonly message?: Content | undefined
  readonly run?: Run | undefined
}

/**
 * What happened in a run.
 *
 * @since 0.1.0
 * @category models
 */
export type Item =
  | TraceItem.Step
  | TraceItem.ModelCall
  | TraceItem.ToolCall
  | TraceItem.ProviderTool
  | TraceItem.Compensation
  | SubRun
  | TraceItem.Approval
  | TraceItem.Question
  | TraceItem.Guard
  | TraceItem.Recall
  | TraceItem.Files
  | TraceItem.Note
  | TraceItem.Critique
  | TraceItem.PlanChange
  | TraceItem.Node
  | TraceItem.Resumed
  | TraceItem.Degraded

/**
 * A step of the last plan.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlannedStep extends Omit<PlanStep, "description"> {
  readonly description: Content
}

/**
 * A node of a search tree. `children` are ids; the root has id 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchNode {
  readonly id: number
  readonly parent?: number | undefined
  readonly children: ReadonlyArray<number>
  readonly visits: number
  /** The mean value of the visits; absent before the first. */
  readonly value?: number | undefined
  readonly score?: number | undefined
  readonly solved: boolean
  readonly terminal: boolean
  /** What its action is: a call of a tool, an answer, a thought. */
  readonly kind?: string | undefined
  readonly tool?: string | undefined
  readonly text?: Content | undefined
}

/**
 * What a run took. `costUsd` adds up the calls whose price is known; `unpricedCalls` counts the others.
 *
 * @since 0.1.0
 * @category models
 */
export interface Totals {
  readonly modelCalls: number
  readonly cutOffCalls: number
  readonly cachedCalls: number
  readonly retries: number
  readonly toolCalls: number
  readonly failedToolCalls: number
  readonly usage: Usage.Usage
  readonly costUsd: number
  readonly unpricedCalls: number
  /** Runs that began inside. */
  readonly subRuns: number
}

/**
 * One run. Times are in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Run {
  readonly runId: RunId
  readonly parentRunId?: RunId | undefined
  readonly agent: string
  /** Empty if the events have no start. */
  readonly strategy: string
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly session?: Content | undefined
  readonly user?: Content | undefined
  /** Attempts whose events there are: 1, and more for a durable run that went on after a crash or a sleep. */
  readonly attempts: number
  /** `open`: the events have no end. */
  readonly state: "completed" | "failed" | "interrupted" | "open"
  readonly startedAt: number
  /** The time of the last event if the run is open. */
  readonly endedAt: number
  readonly durationMs: number
  readonly finishReason?: FinishReason | undefined
  readonly error?: TraceItem.Failure | undefined
  readonly input?: Content | undefined
  /** The answer, or what there is of one. */
  readonly answer?: Content | undefined
  readonly output?: Content | undefined
  readonly items: ReadonlyArray<Item>
  readonly plan: ReadonlyArray<PlannedStep>
  readonly search: ReadonlyArray<SearchNode>
  /** Of the run itself. */
  readonly own: Totals
  /** With the runs inside of it. */
  readonly total: Totals
}

/**
 * Why a trace does not tell the whole, or what was strange about its events:
 *
 * - `empty`: there are no events;
 * - `no-start`, `no-end`: the first or the last event of a run is missing; without an end it still goes on, or was cut;
 * - `open-call`: a run ended, and calls have no result; `unmatched`: a result, a decision or an answer has no begin;
 * - `duplicate`, `out-of-order`, `after-end`: events came twice, in another order, or after the end;
 * - `malformed`: values that are no events were left out; `unknown-event`: events of another version were;
 * - `no-events`: an inner run has no events; `no-parent`: the outer run has none; `cycle`: runs are in each other;
 * - `left-out`: runs beyond the bound were not read; `stream-failed`: the stream failed, and events may be missing.
 *
 * @since 0.1.0
 * @category models
 */
export interface Issue {
  readonly kind:
    | "empty"
    | "no-start"
    | "no-end"
    | "open-call"
    | "unmatched"
    | "duplicate"
    | "out-of-order"
    | "after-end"
    | "malformed"
    | "unknown-event"
    | "no-events"
    | "no-parent"
    | "cycle"
    | "left-out"
    | "stream-failed"
  readonly runId?: RunId | undefined
  readonly count: number
}

/**
 * What runs did. `runs` are the outermost ones, in the order of their first events; those inside of them are their
 * items. The texts in it are `Redacted`: they do not show in logs or JSON.
 *
 * @since 0.1.0
 * @category models
 */
export interface Trace {
  readonly runs: ReadonlyArray<Run>
  readonly issues: ReadonlyArray<Issue>
}
