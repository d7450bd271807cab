/**
 * Hook points and bus events of guards. They contain no checked text.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { RunId } from "../../domain/Ids.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Hooks from "../../observability/Hooks.js"
import { GuardAction, GuardStage } from "./Guard.js"

/**
 * One guard judged a text. `stage` distinguishes a message from tool parameters, and an answer from a tool result.
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
 * A guard judged an input.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GuardInputChecked: Hooks.Action<GuardChecked> = Hooks.action("GuardInputChecked")

/**
 * A guard judged an output.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GuardOutputChecked: Hooks.Action<GuardChecked> = Hooks.action("GuardOutputChecked")

/**
 * The guards of a pipeline finished a text. `blocked`: the text does not pass, because a guard blocked it or, with
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
  /** Always true: a guard that passes a text publishes no event. */
  triggered: Schema.Boolean,
  action: GuardAction,
  stage: GuardStage
}

/**
 * A guard found something in an input. The run is the aggregate.
 *
 * @since 0.1.0
 * @category events
 */
export const InputGuardTriggeredEvent = DomainEvent.define("InputGuardTriggeredEvent", {
  aggregateType: "AgentRun",
  fields
})

/**
 * A guard found something in an output. The run is the aggregate.
 *
 * @since 0.1.0
 * @category events
 */
export const OutputGuardTriggeredEvent = DomainEvent.define("OutputGuardTriggeredEvent", {
  aggregateType: "AgentRun",
  fields
})
