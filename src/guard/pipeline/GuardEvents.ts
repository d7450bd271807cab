/**
 * Where guards can be watched: places for hooks, and what is told on the event bus. Nothing here holds checked text.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { RunId } from "../../domain/Ids.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Hooks from "../../observability/Hooks.js"
import { GuardAction, GuardStage } from "./Guard.js"

/**
 * One guard judged a text. `stage` tells a message from the parameters of a tool call, and an answer from what a tool
 * gave back.
 *
 * @since 0.1.0
 * @category models
 */
export interface GuardChecked {
  readonly runId: RunId
  readonly guardName: string
  readonly stage: GuardStage
  readonly action: GuardAction
  readonly blocked: boolean
}

/**
 * A guard judged what goes in.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GuardInputChecked: Hooks.Action<GuardChecked> = Hooks.action("GuardInputChecked")

/**
 * A guard judged what comes out.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GuardOutputChecked: Hooks.Action<GuardChecked> = Hooks.action("GuardOutputChecked")

/**
 * The guards of a pipeline came to an end with a text. `blocked`: it does not go on, because a guard said so or, with
 * `failedGuard`, because one could not judge.
 *
 * @since 0.1.0
 * @category models
 */
export interface GuardPipelineDone {
  readonly runId: RunId
  readonly stage: GuardStage
  readonly blocked: boolean
  readonly failedGuard?: string | undefined
}

/**
 * @since 0.1.0
 * @category hooks
 */
export const GuardPipelineCompleted: Hooks.Action<GuardPipelineDone> = Hooks.action("GuardPipelineCompleted")

const fields = {
  guardName: Schema.String,
  /** Always true: a guard that lets a text pass is not told of. */
  triggered: Schema.Boolean,
  action: GuardAction,
  stage: GuardStage
}

/**
 * A guard found something in what goes in. About a run: its id is the aggregate's.
 *
 * @since 0.1.0
 * @category events
 */
export const InputGuardTriggeredEvent = DomainEvent.define("InputGuardTriggeredEvent", {
  aggregateType: "AgentRun",
  fields
})

/**
 * A guard found something in what comes out. About a run: its id is the aggregate's.
 *
 * @since 0.1.0
 * @category events
 */
export const OutputGuardTriggeredEvent = DomainEvent.define("OutputGuardTriggeredEvent", {
  aggregateType: "AgentRun",
  fields
})
