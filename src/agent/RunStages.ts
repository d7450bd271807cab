/**
 * The stages of every run in their order, and the failures that they add.
 *
 * @since 0.1.0
 */
import type { ToolObservationBlockedError, ToolObservationGuardError } from "../guard/pipeline/GuardError.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import type { StrategyBaseError } from "../strategy/definition/Strategy.js"
import type { StrategyBudgetError } from "../strategy/definition/StrategyError.js"
import type { Fatality } from "../tool/ToolRunner.js"
import type { AgentConfigurationError, RunLimitExceededError } from "./definition/AgentError.js"
import type { ErrorOf, Placed } from "./definition/Stage.js"
import * as CostStage from "./stage/CostStage.js"
import * as EventsStage from "./stage/EventsStage.js"
import * as GovernanceStage from "./stage/GovernanceStage.js"
import * as InputGuardStage from "./stage/InputGuardStage.js"
import * as MemorySaveStage from "./stage/MemorySaveStage.js"
import * as MemoryStage from "./stage/MemoryStage.js"
import * as MetricsStage from "./stage/MetricsStage.js"
import * as OutputGuardStage from "./stage/OutputGuardStage.js"
import * as SessionStage from "./stage/SessionStage.js"
import * as SkillStage from "./stage/SkillStage.js"
import * as SteeringStage from "./stage/SteeringStage.js"
import * as ToolStage from "./stage/ToolStage.js"

/** Stages outside the time limit of the run: they conclude it when its time is up. */
export const outer = [
  EventsStage.stage,
  SteeringStage.stage,
  CostStage.stage,
  MemorySaveStage.stage,
  MetricsStage.stage
] as const

/** Stages within the time limit of the run. */
export const inner = [
  OutputGuardStage.stage,
  GovernanceStage.stage,
  InputGuardStage.stage,
  SessionStage.stage,
  MemoryStage.stage,
  ToolStage.stage,
  SkillStage.stage
] as const

/**
 * The stages of a run, outermost first: their order, and the type of the failures around the reasoning.
 *
 * @since 0.1.0
 * @category constants
 */
export const stages = [...outer, ...inner] as const

/**
 * The failures of any run, besides those that its agent adds.
 *
 * @since 0.1.0
 * @category models
 */
export type ExecutorError =
  | Exclude<ErrorOf<typeof stages>, Fatality>
  | AgentConfigurationError
  | RunLimitExceededError
  | ToolObservationBlockedError
  | ToolObservationGuardError
  | Exclude<StrategyBaseError, Fatality>
  | StrategyBudgetError

/**
 * Stages that an executor adds to every run, at their places. Their failures are among those of any run.
 *
 * @since 0.1.0
 * @category tags
 */
export class Stages extends Ambient.Reference<Stages>()("effect-lexigram/agent/AgentExecutor/Stages", {
  defaultValue: (): ReadonlyArray<Placed<ExecutorError>> => []
}) {}
