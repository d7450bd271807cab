/**
 * The error classes of the library that runs may fail with.
 *
 * @private
 * @since 0.1.0
 */
import * as AgentError from "../agent/definition/AgentError.js"
import { SteeringError } from "../agent/record/Steering.js"
import * as ContentError from "../content/ContentError.js"
import * as GovernanceError from "../governance/store/GovernanceError.js"
import * as GuardError from "../guard/pipeline/GuardError.js"
import * as LlmError from "../llm/model/LlmError.js"
import { StepTooLargeError } from "../observability/journal/StepTooLargeError.js"
import * as SessionError from "../session/turn/SessionError.js"
import * as StrategyError from "../strategy/definition/StrategyError.js"
import * as ToolError from "../tool/definition/ToolError.js"
import type { ErrorClass } from "./FailureCodec.js"
import { ReplayError } from "./ReplayError.js"

const modules: ReadonlyArray<object> = [
  AgentError,
  ContentError,
  GovernanceError,
  GuardError,
  LlmError,
  SessionError,
  StrategyError,
  ToolError,
  { ReplayError, SteeringError, StepTooLargeError }
]

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === "function" && value.prototype instanceof Error && typeof (value as ErrorClass)._tag === "string"

export const classes: ReadonlyArray<ErrorClass> = modules.flatMap((module) =>
  Object.values(module).filter(isErrorClass)
)
