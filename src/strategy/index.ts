/**
 * Native tool calls in a loop: the model calls tools, reads their results and answers.
 *
 * @since 0.1.0
 */
export * as FunctionCalling from "./FunctionCalling.js"

/**
 * How strategies call models: through the router, with a deadline, a span, live deltas and a report of what was used.
 *
 * @since 0.1.0
 */
export * as ModelCall from "./ModelCall.js"

/**
 * Notices when a loop goes in circles: the same call with the same result, again and again.
 *
 * @since 0.1.0
 */
export * as Progress from "./Progress.js"

/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action,
 * observation, until a final answer.
 *
 * @since 0.1.0
 */
export * as ReAct from "./ReAct.js"

/**
 * The ReAct text protocol (Yao et al. 2022): what a model wrote, read as an action, a final answer, or neither. Only the model's own
 * completion is ever parsed, only markers at the start of a line count, and nothing behind the first observation that the model
 * invented does.
 *
 * @since 0.1.0
 */
export * as ReActText from "./ReActText.js"

/**
 * What the steps of a strategy work with during one run: prompts of the library filled in and asked, replies read, tools run, the answer
 * put into its shape. A service, so that a graph is made once and its nodes still know their run.
 *
 * @since 0.1.0
 */
export * as Reasoning from "./Reasoning.js"

/**
 * The shape a step wants its reply in: JSON by a Schema where the model can, a text form where it writes one.
 *
 * @since 0.1.0
 */
export * as ReplyForm from "./ReplyForm.js"

/**
 * When to stop a loop of model and tools before the model says it is done: conditions as values that combine.
 *
 * @since 0.1.0
 */
export * as StopCondition from "./StopCondition.js"

/**
 * A way to reason: an Effect that emits what happens through the current run and ends in its answer.
 *
 * @since 0.1.0
 */
export * as Strategy from "./Strategy.js"

/**
 * How reasoning can fail besides its model calls.
 *
 * @since 0.1.0
 */
export * as StrategyError from "./StrategyError.js"

/**
 * Strategies by name.
 *
 * @since 0.1.0
 */
export * as StrategyRegistry from "./StrategyRegistry.js"

/**
 * The loop of model and tools that `function_calling` and native `react` share.
 *
 * @since 0.1.0
 */
export * as ToolLoop from "./ToolLoop.js"
