/**
 * Picks the strategy that fits the task: by rules first, then by one cheap question to a model.
 *
 * @since 0.1.0
 */
export * as Adaptive from "./Adaptive.js"

/**
 * The strategies of the library by name. Each is loaded when it is first named.
 *
 * @since 0.1.0
 */
export * as BuiltInStrategies from "./BuiltInStrategies.js"

/**
 * Judges whether an answer solves its task, by a model, a custom check or an answer key. The verdict is a value; it is
 * never inferred from words in a text.
 *
 * @since 0.1.0
 */
export * as Evaluator from "./definition/Evaluator.js"

/**
 * Function calling: a loop in which the model calls tools natively, reads their results and answers.
 *
 * @since 0.1.0
 */
export * as FunctionCalling from "./loop/FunctionCalling.js"

/**
 * Strategies that are state graphs.
 *
 * @since 0.1.0
 */
export * as GraphStrategy from "./reasoning/GraphStrategy.js"

/**
 * Language agent tree search (Zhou, Yan, Shlapentokh-Rothman, Wang, Wang 2023, "Language Agent Tree Search Unifies
 * Reasoning, Acting and Planning in Language Models", arXiv 2310.04406): Monte Carlo tree search over actions that
 * really run.
 *
 * @since 0.1.0
 */
export * as Lats from "./lats/Lats.js"

/**
 * LLMCompiler: a plan of tool calls that runs in parallel (Kim et al. 2023, "An LLM Compiler for Parallel Function
 * Calling"). A planner writes the calls and their dependencies, a task fetching unit makes each call as soon as it can,
 * even while the plan is still being written, and a joiner answers or asks for another plan.
 *
 * @since 0.1.0
 */
export * as LlmCompiler from "./compiler/LlmCompiler.js"

/**
 * Binds a task to its model. Calls go through the router, with a deadline, a span, live deltas and a usage report.
 *
 * @since 0.1.0
 */
export * as ModelBinding from "./reasoning/ModelBinding.js"

/**
 * The contract of a strategy's model calls: the model of a task, and the interceptors around its calls.
 *
 * @since 0.1.0
 */
export * as ModelCall from "./definition/ModelCall.js"

/**
 * An evaluator that asks a model.
 *
 * @since 0.1.0
 */
export * as ModelEvaluator from "./reasoning/ModelEvaluator.js"

/**
 * Bounds what an event shows of a graph update: the changed fields, without messages, in a limited number of bytes.
 *
 * @since 0.1.0
 */
export * as NodeUpdate from "./reasoning/NodeUpdate.js"

/**
 * Plan-and-Solve: makes a plan, solves its steps one at a time with the previous results, and makes an answer from all
 * results (Wang, Xu, Lan et al. 2023). It takes two model calls plus one per step; a step with tools takes one more per
 * turn of tools.
 *
 * @since 0.1.0
 */
export * as PlanAndSolve from "./PlanAndSolve.js"

/**
 * Plan-and-execute: makes a plan, carries out its steps one at a time, and answers from their results (Wang et al.
 * 2023). A failed step leads to a new plan for the rest.
 *
 * @since 0.1.0
 */
export * as PlanExecute from "./PlanExecute.js"

/**
 * A custom planner in place of the model: rules, a solver, a recorded plan.
 *
 * @since 0.1.0
 */
export * as Planner from "./planning/Planner.js"

/**
 * Detects a loop that goes in circles: consecutive steps that make the same calls and see the same results.
 *
 * @since 0.1.0
 */
export * as Progress from "./reasoning/Progress.js"

/**
 * ReAct (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"): thought, action and
 * observation, repeated until a final answer.
 *
 * @since 0.1.0
 */
export * as ReAct from "./loop/ReAct.js"

/**
 * Reads the ReAct text protocol (Yao et al. 2022): a completion is an action, a final answer, or neither. Only the
 * model's own completion is parsed. Only markers at the start of a line count. Everything after the first observation
 * that the model invented is ignored; an observation at the start of the completion is skipped.
 *
 * @since 0.1.0
 */
export * as ReActText from "./reasoning/ReActText.js"

/**
 * ReWOO, reasoning without observation (Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations for Efficient
 * Augmented Language Models"): a planner writes once which evidence a task needs, workers collect it, and a solver
 * answers from all of it. Two model calls, regardless of the number of tools.
 *
 * @since 0.1.0
 */
export * as ReWoo from "./ReWoo.js"

/**
 * The service that the steps of a strategy work with during one run: it fills in and asks prompts, reads replies, runs
 * tools and shapes the answer. Because it is a service, a graph is built once and its nodes still reach their run.
 *
 * @since 0.1.0
 */
export * as Reasoning from "./definition/Reasoning.js"

/**
 * Reasoning modules that `SelfDiscovery` chooses from: the ideas of the 39 modules of Zhou, Pujara et al. 2024 (arXiv
 * 2402.03620) in the words of this library, and further ones.
 *
 * @since 0.1.0
 */
export * as ReasoningModules from "./discovery/ReasoningModules.js"

/**
 * Makes the `Reasoning` service of one run.
 *
 * @since 0.1.0
 */
export * as ReasoningService from "./reasoning/ReasoningService.js"

/**
 * The first stage of Self-Discover (Zhou, Pujara et al. 2024): the reasoning structure for a kind of task.
 *
 * @since 0.1.0
 */
export * as ReasoningStructure from "./discovery/ReasoningStructure.js"

/**
 * Reflection: a draft that is judged and revised until it is accepted (closest to Self-Refine, Madaan et al. 2023).
 *
 * @since 0.1.0
 */
export * as Reflection from "./Reflection.js"

/**
 * Trials with reflection (Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning"). It
 * tries, judges, and after a failure writes down what to do differently for the next trial. The critique form
 * criticizes and refines one text instead.
 *
 * @since 0.1.0
 */
export * as Reflexion from "./reflexion/Reflexion.js"

/**
 * The critique form of Reflexion: generate, criticize and refine one text until the critic accepts it.
 *
 * @since 0.1.0
 */
export * as ReflexionCritique from "./reflexion/ReflexionCritique.js"

/**
 * The form of a reply: JSON by a Schema where the model supports it, and a text form where it does not.
 *
 * @since 0.1.0
 */
export * as ReplyForm from "./definition/ReplyForm.js"

/**
 * The tree of a Monte Carlo tree search. It is immutable and keeps nodes by id, so that a change costs no more than the
 * path to the root.
 *
 * @since 0.1.0
 */
export * as SearchTree from "./lats/SearchTree.js"

/**
 * Samples several answers and returns the one that most of them agree on.
 *
 * @since 0.1.0
 */
export * as SelfConsistency from "./combine/SelfConsistency.js"

/**
 * Self-Discover (Zhou, Pujara et al. 2024): selects reasoning modules, adapts them to the task, turns them into a
 * reasoning structure, and solves the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */
export * as SelfDiscovery from "./discovery/SelfDiscovery.js"

/**
 * Prepares each model call of a strategy: its messages, the tools it offers, its settings and its model.
 *
 * @since 0.1.0
 */
export * as StepPreparation from "./definition/StepPreparation.js"

/**
 * Conditions that stop a loop of model and tools before the model is done. They are values that combine.
 *
 * @since 0.1.0
 */
export * as StopCondition from "./reasoning/StopCondition.js"

/**
 * STORM: research and writing of an article (Shao et al. 2024, "Assisting in Writing Wikipedia-like Articles From
 * Scratch with Large Language Models"). It finds perspectives in texts on related topics, holds conversations between a
 * writer and an expert who looks everything up, makes an outline from them, writes sections from the relevant sources
 * and a lead, and polishes the whole.
 *
 * @since 0.1.0
 */
export * as Storm from "./storm/Storm.js"

/**
 * The article of STORM: joins sections, numbers citations in the order of appearance, and reads and writes Markdown.
 *
 * @since 0.1.0
 */
export * as StormArticle from "./storm/StormArticle.js"

/**
 * The sources of an article: reads tool results as sources, keeps each source once under its number, and ranks sources
 * by the words they share with a question.
 *
 * @since 0.1.0
 */
export * as StormSources from "./storm/StormSources.js"

/**
 * A strategy: an Effect that emits events through the current run and returns an answer.
 *
 * @since 0.1.0
 */
export * as Strategy from "./definition/Strategy.js"

/**
 * Limits the model calls, tokens, cost and time of a strategy's run.
 *
 * @since 0.1.0
 */
export * as StrategyBudget from "./combine/StrategyBudget.js"

/**
 * Errors of strategies apart from those of model calls.
 *
 * @since 0.1.0
 */
export * as StrategyError from "./definition/StrategyError.js"

/**
 * Falls back to a second strategy when the first one fails.
 *
 * @since 0.1.0
 */
export * as StrategyFallback from "./combine/StrategyFallback.js"

/**
 * Runs effects before and after a strategy, and on its failure or interruption.
 *
 * @since 0.1.0
 */
export * as StrategyHooks from "./combine/StrategyHooks.js"

/**
 * Changes what a strategy starts from: its task, settings and prompts.
 *
 * @since 0.1.0
 */
export * as StrategyInput from "./combine/StrategyInput.js"

/**
 * Shows an observer the steps of a strategy.
 *
 * @since 0.1.0
 */
export * as StrategyObserver from "./combine/StrategyObserver.js"

/**
 * Strategies from other packages. A package declares them in its `package.json`, and a program that depends on it finds
 * them by name.
 *
 * @since 0.1.0
 */
export * as StrategyPlugins from "./StrategyPlugins.js"

/**
 * The registry of strategies by name. An agent's strategy is resolved when the agent runs.
 *
 * @since 0.1.0
 */
export * as StrategyRegistry from "./definition/StrategyRegistry.js"

/**
 * A supervisor of sub-agents: it assesses the task, delegates, reviews the reports and decides. The sub-agents are
 * tools of the task (`AgentTool.make`), recognized by their names; the supervisor can use other tools itself.
 *
 * @since 0.1.0
 */
export * as Supervisor from "./supervisor/Supervisor.js"

/**
 * What all loops of model and tools share: options, limits and the end of the loop.
 *
 * @since 0.1.0
 */
export * as ToolLoop from "./reasoning/ToolLoop.js"
