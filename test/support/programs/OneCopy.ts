/** The parts of a copy of the library that `TwoCopies` uses. */

export * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
export * as Agents from "../../../src/agent/Agents.js"
export * as Agent from "../../../src/agent/definition/Agent.js"
export * as IdGenerator from "../../../src/domain/IdGenerator.js"
export * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
export * as Run from "../../../src/observability/Run.js"
export * as Step from "../../../src/observability/Step.js"
export * as PromptLibrary from "../../../src/prompt/PromptLibrary.js"
export * as Evaluator from "../../../src/strategy/definition/Evaluator.js"
export * as TestModel from "../../../src/testing/TestModel.js"
