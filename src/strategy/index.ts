/**
 * The strategy that fits the task: rules first, then one cheap question to a model, then the strategy that was picked.
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
 * Native tool calls in a loop: the model calls tools, reads their results and answers.
 *
 * @since 0.1.0
 */
export * as FunctionCalling from "./FunctionCalling.js"

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
 * A plan of tool calls that runs in parallel (Kim et al. 2023, "An LLM Compiler for Parallel Function Calling"): a
 * planner writes which calls a task takes and which of them need results of which others, a task fetching unit makes
 * each as soon as it can, also while the plan is still being written, and a joiner answers or asks for another plan.
 *
 * @since 0.1.0
 */
export * as LlmCompiler from "./LlmCompiler.js"

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
 * What an event shows of a graph's update: the fields that a node changed, without messages, in at most so many bytes.
 *
 * @since 0.1.0
 */
export * as NodeUpdate from "./reasoning/NodeUpdate.js"

/**
 * A plan, its steps solved one after another with the results before them, and an answer made of all results (Wang, Xu,
 * Lan et al. 2023). Takes two model calls and one for each step; a step that uses tools takes one more for each turn of
 * them.
 *
 * @since 0.1.0
 */
export * as PlanAndSolve from "./PlanAndSolve.js"

/**
 * A plan first, then its steps one after another, then an answer from their results (Wang et al. 2023). A step that
 * fails leads to a new plan from there on.
 *
 * @since 0.1.0
 */
export * as PlanExecute from "./PlanExecute.js"

/**
 * A planner of one's own, in the place of the model's: rules, a solver, a recorded plan.
 *
 * @since 0.1.0
 */
export * as Planner from "./planning/Planner.js"

/**
 * Notices when a loop goes in circles: steps that make the same calls and see the same results, one right after the
 * other.
 *
 * @since 0.1.0
 */
export * as Progress from "./reasoning/Progress.js"

/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"):
 * thought, action, observation, until a final answer.
 *
 * @since 0.1.0
 */
export * as ReAct from "./ReAct.js"

/**
 * The ReAct text protocol (Yao et al. 2022): what a model wrote, read as an action, a final answer, or neither. Only
 * the model's own completion is ever parsed, only markers at the start of a line count, and nothing behind the first
 * observation that the model invented does; one that the completion begins with is passed over.
 *
 * @since 0.1.0
 */
export * as ReActText from "./reasoning/ReActText.js"

/**
 * Reasoning without observation (Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations for Efficient Augmented
 * Language Models"): a planner writes once which evidence a task needs, workers collect it, and a solver answers from
 * all of it. Two model calls, however many tools there are.
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
 * Ways of thinking that `SelfDiscovery` chooses from: the ideas of the 39 modules of Zhou, Pujara et al. 2024 (arXiv
 * 2402.03620) in words of this library, and further ones.
 *
 * @since 0.1.0
 */
export * as ReasoningModules from "./ReasoningModules.js"

/**
 * Makes the `Reasoning` service of one run.
 *
 * @since 0.1.0
 */
export * as ReasoningService from "./reasoning/ReasoningService.js"

/**
 * The first half of Self-Discover (Zhou, Pujara et al. 2024): the reasoning structure of a kind of task.
 *
 * @since 0.1.0
 */
export * as ReasoningStructure from "./ReasoningStructure.js"

/**
 * A draft that is judged and mended until it is accepted (nearest: Self-Refine, Madaan et al. 2023).
 *
 * @since 0.1.0
 */
export * as Reflection from "./Reflection.js"

/**
 * Trials with reflection (Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning"): try,
 * judge, and after a failure put into words what to do differently; the words are there in the next trial. Another form
 * criticises and refines one text.
 *
 * @since 0.1.0
 */
export * as Reflexion from "./Reflexion.js"

/**
 * The form of Reflexion that works on one text: generate, criticise, refine, until the critic has nothing to say.
 *
 * @since 0.1.0
 */
export * as ReflexionCritique from "./ReflexionCritique.js"

/**
 * The shape a step wants its reply in: JSON by a Schema where the model can, a text form where it writes one.
 *
 * @since 0.1.0
 */
export * as ReplyForm from "./definition/ReplyForm.js"

/**
 * The tree that a Monte Carlo tree search grows: immutable, kept as nodes by id, so that a change costs no more than
 * the way to the root.
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
 * Self-Discover (Zhou, Pujara et al. 2024): choose ways of thinking, adapt them to the task, make a reasoning structure
 * of them, then solve the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */
export * as SelfDiscovery from "./SelfDiscovery.js"

/**
 * When to stop a loop of model and tools before the model says it is done: conditions as values that combine.
 *
 * @since 0.1.0
 */
export * as StopCondition from "./reasoning/StopCondition.js"

/**
 * Research and writing of an article (Shao et al. 2024, "Assisting in Writing Wikipedia-like Articles From Scratch with
 * Large Language Models"): perspectives from what is written about related topics, conversations of a writer and an
 * expert who looks everything up, an outline from those, sections from the sources that bear on them, a lead, and the
 * whole polished.
 *
 * @since 0.1.0
 */
export * as Storm from "./storm/Storm.js"

/**
 * The article that `storm` writes: sections put together, citations numbered in the order in which they appear,
 * Markdown in and out.
 *
 * @since 0.1.0
 */
export * as StormArticle from "./storm/StormArticle.js"

/**
 * Citations in Markdown: `[3]`, `[1, 2]`, `[1-3]`. What stands in code is none.
 *
 * @since 0.1.0
 */
export * as StormCitations from "./storm/StormCitations.js"

/**
 * What was found: results of tools read as sources, each kept once under a number of its own, ranked by the words they
 * share with a question.
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
 * How reasoning can fail besides its model calls.
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
 * Strategies that other packages bring: a package declares them in its `package.json`, and a program that depends on it
 * finds them by name.
 *
 * @since 0.1.0
 */
export * as StrategyPlugins from "./StrategyPlugins.js"

/**
 * Strategies by name: the registry that an agent's strategy is looked up in when the agent runs.
 *
 * @since 0.1.0
 */
export * as StrategyRegistry from "./definition/StrategyRegistry.js"

/**
 * A supervisor of sub-agents: assess, delegate, review, decide. The sub-agents are tools of the task
 * (`AgentTool.make`), known by their names; other tools stay at hand for the supervisor itself.
 *
 * @since 0.1.0
 */
export * as Supervisor from "./Supervisor.js"

/**
 * What every loop of model and tools has in common: its options, its limits, its end.
 *
 * @since 0.1.0
 */
export * as ToolLoop from "./reasoning/ToolLoop.js"
