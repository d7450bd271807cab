/**
 * The skills that a run has activated, and what they leave it to do.
 *
 * @since 0.1.0
 */
export * as ActiveSkills from "./skill/folder/ActiveSkills.js"

/**
 * The strategy that fits the task: rules first, then one cheap question to a model, then the strategy that was picked.
 *
 * @since 0.1.0
 */
export * as Adaptive from "./strategy/Adaptive.js"

/**
 * What `AdaptiveAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as AdaptivePrompts from "./prompt/defaults/AdaptivePrompts.js"

/**
 * An agent: who it is, what it can do and how it reasons. An immutable value; running it is `AgentExecutor`'s work.
 *
 * @since 0.1.0
 */
export * as Agent from "./agent/definition/Agent.js"

/**
 * Defaults of all agents of an executor, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as AgentConfig from "./agent/definition/AgentConfig.js"

/**
 * How an agent can fail besides its model, its tools and its reasoning.
 *
 * @since 0.1.0
 */
export * as AgentError from "./agent/definition/AgentError.js"

/**
 * What happens during a run, as plain tagged objects: the stream of them is the truth, everything else is derived from
 * it.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./domain/AgentEvent.js"

/**
 * Runs agents.
 *
 * @since 0.1.0
 */
export * as AgentExecutor from "./agent/AgentExecutor.js"

/**
 * The places of a run where handlers may wait, and where values may be changed.
 *
 * @since 0.1.0
 */
export * as AgentHooks from "./observability/AgentHooks.js"

/**
 * Metrics of runs and tool calls, on Effect's `Metric`.
 *
 * @since 0.1.0
 */
export * as AgentMetrics from "./observability/AgentMetrics.js"

/**
 * The domain events of runs: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as AgentNotices from "./observability/AgentNotices.js"

/**
 * An agent in a group.
 *
 * @since 0.1.0
 */
export * as AgentParticipant from "./agent/AgentParticipant.js"

/**
 * A run's outcome, folded from its events.
 *
 * @since 0.1.0
 */
export * as AgentResponse from "./domain/AgentResponse.js"

/**
 * An agent as a tool of another one.
 *
 * @since 0.1.0
 */
export * as AgentTool from "./agent/AgentTool.js"

/**
 * Ready compositions of the executor.
 *
 * @since 0.1.0
 */
export * as Agents from "./agent/Agents.js"

/**
 * Toolkits of `@effect/ai` as tool sets, and tool sets as toolkits.
 *
 * @since 0.1.0
 */
export * as AiToolkit from "./tool/AiToolkit.js"

/**
 * Which calls the `allowed-tools` of a skill allow.
 *
 * @since 0.1.0
 */
export * as AllowedTools from "./skill/folder/AllowedTools.js"

/**
 * The figures of conversations, made of turns one after the other: what is known of one part and of the part behind it
 * gives what is known of both, so that a conversation of any length is read by pages, from either end.
 *
 * @since 0.1.0
 */
export * as AnalyticsFold from "./session/upkeep/AnalyticsFold.js"

/**
 * Anthropic's models over `/messages`.
 *
 * @since 0.1.0
 */
export * as Anthropic from "./provider/format/Anthropic.js"

/**
 * Asks for approvals at the terminal.
 *
 * @since 0.1.0
 */
export * as ApprovalConsole from "./tool/approval/ApprovalConsole.js"

/**
 * How approvals can fail.
 *
 * @since 0.1.0
 */
export * as ApprovalError from "./tool/approval/ApprovalError.js"

/**
 * Who decides about tool calls that require approval.
 *
 * @since 0.1.0
 */
export * as ApprovalGate from "./tool/approval/ApprovalGate.js"

/**
 * Approvals decided by rules that are plain data.
 *
 * @since 0.1.0
 */
export * as ApprovalPolicy from "./tool/approval/ApprovalPolicy.js"

/**
 * Where requests for approval wait and decisions are kept.
 *
 * @since 0.1.0
 */
export * as ApprovalStore from "./tool/approval/ApprovalStore.js"

/**
 * What governance decided and what runs did, written down.
 *
 * @since 0.1.0
 */
export * as AuditLog from "./governance/store/AuditLog.js"

/**
 * Branches of sessions: fork a conversation, see its tree, bring branches together again.
 *
 * @since 0.1.0
 */
export * as BranchManager from "./session/branch/BranchManager.js"

/**
 * The branches of a conversation as a tree, as data and as text.
 *
 * @since 0.1.0
 */
export * as BranchTree from "./session/branch/BranchTree.js"

/**
 * A store that keeps the newest entries of each owner: first in, first out.
 *
 * @since 0.1.0
 */
export * as BufferMemoryStore from "./memory/conversation/BufferMemoryStore.js"

/**
 * The strategies of the library by name. Each is loaded when it is first named.
 *
 * @since 0.1.0
 */
export * as BuiltInStrategies from "./strategy/BuiltInStrategies.js"

/**
 * A small key-value port with expiry, shared by everything that caches.
 *
 * @since 0.1.0
 */
export * as CacheBackend from "./llm/CacheBackend.js"

/**
 * Entries in a `CacheBackend`: Redis, a `KeyValueStore`, this process. They live as long as the cache keeps them.
 *
 * @since 0.1.0
 */
export * as CacheMemoryStore from "./memory/cache/CacheMemoryStore.js"

/**
 * What the requests of a model call used, also where they were cut off: a request that is interrupted, times out or
 * fails midway costs its input and what was streamed of its answer, as far as the provider did not say what it used.
 *
 * @since 0.1.0
 */
export * as CallMeter from "./llm/model/CallMeter.js"

/**
 * The tools with which a model uses a catalogue of skills. Their descriptions are the same whatever skills there are:
 * nothing that stands in a skill gets into them.
 *
 * @since 0.1.0
 */
export * as CatalogTools from "./skill/folder/CatalogTools.js"

/**
 * A client for every server that speaks the chat-completions API: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Ollama,
 * vLLM, llama.cpp, LM Studio and their like. What they differ in is a {@link ChatCompletionsDialect.Dialect}.
 *
 * @since 0.1.0
 */
export * as ChatCompletions from "./provider/format/ChatCompletions.js"

/**
 * What servers of the chat-completions API differ in, as plain values.
 *
 * @since 0.1.0
 */
export * as ChatCompletionsDialect from "./provider/format/ChatCompletionsDialect.js"

/**
 * The port that keeps where the runs of graphs stand: rows of strings and JSON, of no graph's types.
 *
 * @since 0.1.0
 */
export * as Checkpointer from "./graph/Checkpointer.js"

/**
 * Shows the newest turns of a session as they were said, and a summary of what was said before (`HistoryCompactor`).
 *
 * @since 0.1.0
 */
export * as CompactedSessionHistory from "./session/history/CompactedSessionHistory.js"

/**
 * One skill or the other, by the parameters.
 *
 * @since 0.1.0
 */
export * as ConditionalSkill from "./skill/compose/ConditionalSkill.js"

/**
 * Consolidates the memory of everybody, again and again.
 *
 * @since 0.1.0
 */
export * as ConsolidationScheduler from "./memory/consolidation/ConsolidationScheduler.js"

/**
 * What goes when memory is consolidated: doubles, what has faded, what never mattered; and what is put in the place of
 * much that is old.
 *
 * @since 0.1.0
 */
export * as ConsolidationStrategies from "./memory/consolidation/ConsolidationStrategies.js"

/**
 * Which entries stay when not all of them fit: by how new they are, by what they have to do with a query, or by both.
 *
 * @since 0.1.0
 */
export * as ContextPruner from "./memory/working/ContextPruner.js"

/**
 * The conversation a run is about, as tools may see it that ask other agents.
 *
 * @since 0.1.0
 */
export * as Conversation from "./agent/definition/Conversation.js"

/**
 * The last turns of one conversation, in this process: so many, and of so many tokens.
 *
 * @since 0.1.0
 */
export * as ConversationBuffer from "./memory/conversation/ConversationBuffer.js"

/**
 * One conversation, message by message: the plain memory of an agent that needs no recall.
 *
 * @since 0.1.0
 */
export * as ConversationMemory from "./memory/conversation/ConversationMemory.js"

/**
 * A store of conversations: every entry belongs to a session, and each session keeps its newest entries.
 *
 * @since 0.1.0
 */
export * as ConversationMemoryStore from "./memory/conversation/ConversationMemoryStore.js"

/**
 * Plain conversations as the working memory of an agent: what was said last, and nothing else.
 *
 * @since 0.1.0
 */
export * as ConversationWorkingMemory from "./memory/working/ConversationWorkingMemory.js"

/**
 * What a model call cost. Unknown unless prices are given: a price that is not known is never taken for zero.
 *
 * @since 0.1.0
 */
export * as CostEstimator from "./llm/model/CostEstimator.js"

/**
 * The book of money and tokens: what was spent, and what is set aside for calls that are under way.
 *
 * @since 0.1.0
 */
export * as CostLedger from "./governance/store/CostLedger.js"

/**
 * Closes the books of a run, whether it succeeded or not.
 *
 * @since 0.1.0
 */
export * as CostStage from "./agent/stage/CostStage.js"

/**
 * Tokens, private keys, credentials in URLs and headers, and values that are assigned to names of secrets.
 *
 * @since 0.1.0
 */
export * as CredentialEntities from "./guard/pii/CredentialEntities.js"

/**
 * Agents that share out tasks: in order, side by side, or under a manager.
 *
 * @since 0.1.0
 */
export * as Crew from "./agent/crew/Crew.js"

/**
 * What a crew's work comes to, and what happens on the way.
 *
 * @since 0.1.0
 */
export * as CrewResult from "./agent/crew/CrewResult.js"

/**
 * A task of a crew.
 *
 * @since 0.1.0
 */
export * as CrewTask from "./agent/crew/CrewTask.js"

/**
 * Every step that ships with the library.
 *
 * @since 0.1.0
 */
export * as DefaultPrompts from "./prompt/defaults/DefaultPrompts.js"

/**
 * The session manager over a store: checks, limits, expiry, and the memory work after each write. Turns, exchanges and
 * checkpoints have modules of their own.
 *
 * @since 0.1.0
 */
export * as DefaultSessionManager from "./session/manager/DefaultSessionManager.js"

/**
 * What happened, as other parts of an application are told of it after the fact.
 *
 * @since 0.1.0
 */
export * as DomainEvent from "./observability/DomainEvent.js"

/**
 * Texts as vectors.
 *
 * @since 0.1.0
 */
export * as Embedder from "./llm/embedding/Embedder.js"

/**
 * Texts that many fibers embed at about the same time, in one request.
 *
 * @since 0.1.0
 */
export * as EmbedderBatch from "./llm/embedding/EmbedderBatch.js"

/**
 * Vectors kept for texts that were embedded before: in this process, or in a `CacheBackend` that others share.
 *
 * @since 0.1.0
 */
export * as EmbedderCache from "./llm/embedding/EmbedderCache.js"

/**
 * Repeats calls of an embedder that failed for a passing reason, each try under a time limit.
 *
 * @since 0.1.0
 */
export * as EmbedderRetry from "./llm/embedding/EmbedderRetry.js"

/**
 * Keeps the turns that mean most nearly what the query means, by vectors, and the newer ones before the older.
 *
 * @since 0.1.0
 */
export * as EmbeddingContextPruner from "./session/history/EmbeddingContextPruner.js"

/**
 * Any `@effect/ai` embedding model as an {@link Embedder.Embedder}.
 *
 * @since 0.1.0
 */
export * as EmbeddingModelClient from "./provider/embedding/EmbeddingModelClient.js"

/**
 * An embedder by the name of its provider: in code, or from the environment (`LEX_AI_LLM__EMBEDDING__PROVIDER` and its
 * siblings).
 *
 * @since 0.1.0
 */
export * as EmbeddingProviders from "./provider/embedding/EmbeddingProviders.js"

/**
 * An embedder for every server that speaks the embeddings API of OpenAI (`POST /embeddings`): OpenAI, Azure,
 * OpenRouter, Ollama, vLLM, llama.cpp, LM Studio and their like.
 *
 * @since 0.1.0
 */
export * as Embeddings from "./provider/embedding/Embeddings.js"

/**
 * From entries to facts and names: by the words of plain English sentences, or by a model.
 *
 * @since 0.1.0
 */
export * as EntityExtractor from "./memory/facts/EntityExtractor.js"

/**
 * A store that knows whom and what its entries name.
 *
 * @since 0.1.0
 */
export * as EntityMemoryStore from "./memory/conversation/EntityMemoryStore.js"

/**
 * Names in a text, found by how they are written: what an index of entities is made of.
 *
 * @since 0.1.0
 */
export * as EntityNames from "./memory/text/EntityNames.js"

/**
 * Makes one entry of several.
 *
 * @since 0.1.0
 */
export * as EpisodicCompressor from "./memory/episodic/EpisodicCompressor.js"

/**
 * What happened: entries with a time, recalled by how recent, how important and how relevant they are.
 *
 * @since 0.1.0
 */
export * as EpisodicMemory from "./memory/episodic/EpisodicMemory.js"

/**
 * What `EpisodicCompressor` tells its models.
 *
 * @since 0.1.0
 */
export * as EpisodicPrompts from "./prompt/defaults/EpisodicPrompts.js"

/**
 * Every error code of the library. A code belongs to exactly one error class; the first of each family (`_001`) names
 * the family.
 *
 * @since 0.1.0
 */
export * as ErrorCode from "./domain/ErrorCode.js"

/**
 * Whether an answer solves its task: by a model, by a check of one's own, or against a key. The verdict is a value,
 * never a guess from the words of a text.
 *
 * @since 0.1.0
 */
export * as Evaluator from "./strategy/reasoning/Evaluator.js"

/**
 * Tells other parts of an application what happened. Runs hand their events over and go on: a slow or failing listener
 * never holds one up.
 *
 * @since 0.1.0
 */
export * as EventBus from "./observability/EventBus.js"

/**
 * Outermost: the run's first event, its message and its end, and who else is told of them.
 *
 * @since 0.1.0
 */
export * as EventsStage from "./agent/stage/EventsStage.js"

/**
 * What is known: subject, predicate, object, how sure it is, where it comes from and from when until when it held.
 *
 * @since 0.1.0
 */
export * as Fact from "./memory/facts/Fact.js"

/**
 * What a store of facts needs from below: rows in, rows out. What contradicts what, what is known already and what a
 * fact was closed by is worked out once, in `FactStore.fromBackend`; a backend keeps rows and finds them.
 *
 * @since 0.1.0
 */
export * as FactBackend from "./memory/facts/FactBackend.js"

/**
 * How many objects a predicate has at a time.
 *
 * @since 0.1.0
 */
export * as FactCardinality from "./memory/facts/FactCardinality.js"

/**
 * Where facts are kept: what is known, how sure it is, and from when until when it held.
 *
 * @since 0.1.0
 */
export * as FactStore from "./memory/facts/FactStore.js"

/**
 * Native tool calls in a loop: the model calls tools, reads their results and answers.
 *
 * @since 0.1.0
 */
export * as FunctionCalling from "./strategy/FunctionCalling.js"

/**
 * Who may ask which model for what, and what it may cost.
 *
 * @since 0.1.0
 */
export * as Governance from "./governance/Governance.js"

/**
 * What governance limits, from code or from the environment. A limit that is not set does not limit.
 *
 * @since 0.1.0
 */
export * as GovernanceConfig from "./governance/GovernanceConfig.js"

/**
 * Changes what governance limits while it is in force.
 *
 * @since 0.1.0
 */
export * as GovernanceControl from "./governance/GovernanceControl.js"

/**
 * How governance refuses or fails.
 *
 * @since 0.1.0
 */
export * as GovernanceError from "./governance/store/GovernanceError.js"

/**
 * Where governance can be watched: places for hooks, and what is told on the event bus.
 *
 * @since 0.1.0
 */
export * as GovernanceEvents from "./governance/store/GovernanceEvents.js"

/**
 * Metrics of governance, on Effect's `Metric`. Labels come from fixed lists: no user, model or run is ever one.
 *
 * @since 0.1.0
 */
export * as GovernanceMetrics from "./governance/store/GovernanceMetrics.js"

/**
 * Asks whether the run may begin at all.
 *
 * @since 0.1.0
 */
export * as GovernanceStage from "./agent/stage/GovernanceStage.js"

/**
 * How graphs fail.
 *
 * @since 0.1.0
 */
export * as GraphError from "./graph/GraphError.js"

/**
 * How groups refuse or fail, besides their sessions.
 *
 * @since 0.1.0
 */
export * as GroupError from "./session/group/GroupError.js"

/**
 * What a group came to.
 *
 * @since 0.1.0
 */
export * as GroupOutcome from "./session/group/GroupOutcome.js"

/**
 * Somebody who takes part in a group: an agent, a human, or a function. It is asked with what it may see of the
 * conversation and answers, or says nothing.
 *
 * @since 0.1.0
 */
export * as GroupParticipant from "./session/group/GroupParticipant.js"

/**
 * What groups tell models: whoever takes part, and whoever chooses the next speaker.
 *
 * @since 0.1.0
 */
export * as GroupPrompts from "./prompt/defaults/GroupPrompts.js"

/**
 * Several participants in one conversation, which a session keeps: who speaks is the turn manager's choice, what each
 * of them sees that of its isolation.
 *
 * @since 0.1.0
 */
export * as GroupSession from "./session/group/GroupSession.js"

/**
 * When a group is done, besides its limits. Conditions are looked at whenever somebody was asked, between two turns:
 * what is in progress is never cut off by them.
 *
 * @since 0.1.0
 */
export * as GroupTermination from "./session/group/GroupTermination.js"

/**
 * A guard looks at text on its way into or out of a run and passes it, warns, redacts or blocks.
 *
 * @since 0.1.0
 */
export * as Guard from "./guard/pipeline/Guard.js"

/**
 * What the guard stages share: asking the agent's guards and the executor's, one after the other, and saying what they
 * did.
 *
 * @since 0.1.0
 */
export * as GuardChecks from "./agent/stage/GuardChecks.js"

/**
 * Which guards an application has, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as GuardConfig from "./guard/GuardConfig.js"

/**
 * How guards stop a run.
 *
 * @since 0.1.0
 */
export * as GuardError from "./guard/pipeline/GuardError.js"

/**
 * Where guards can be watched: places for hooks, and what is told on the event bus. Nothing here holds checked text.
 *
 * @since 0.1.0
 */
export * as GuardEvents from "./guard/pipeline/GuardEvents.js"

/**
 * Metrics of guards, on Effect's `Metric`, with the labels `guard`, `stage` and `action`.
 *
 * @since 0.1.0
 */
export * as GuardMetrics from "./guard/pipeline/GuardMetrics.js"

/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
export * as GuardPipeline from "./guard/pipeline/GuardPipeline.js"

/**
 * The pipeline of the guards that come with the library, as a configuration wants them.
 *
 * @since 0.1.0
 */
export * as GuardPresets from "./guard/GuardPresets.js"

/**
 * Passing a conversation to another agent, which answers in place of the one that had it.
 *
 * @since 0.1.0
 */
export * as Handoff from "./agent/Handoff.js"

/**
 * An embedder that needs no model: words and parts of words, hashed into a vector. It knows how texts are written, not
 * what they mean: typing errors, inflections and shared words are close, synonyms are as far from each other as
 * anything else. Nothing is learned or loaded, and a text has the same vector on every machine.
 *
 * @since 0.1.0
 */
export * as HashingEmbedder from "./llm/embedding/HashingEmbedder.js"

/**
 * How the parts of a system are, asked one by one and summed.
 *
 * @since 0.1.0
 */
export * as Health from "./observability/Health.js"

/**
 * Keeps the history of a conversation within its share: the newest turns stay as they are, what is older becomes a
 * summary.
 *
 * @since 0.1.0
 */
export * as HistoryCompactor from "./memory/conversation/HistoryCompactor.js"

/**
 * What `HistoryCompactor` tells its models.
 *
 * @since 0.1.0
 */
export * as HistoryPrompts from "./prompt/defaults/HistoryPrompts.js"

/**
 * Which turns of a session stay when not all of them may be shown.
 *
 * @since 0.1.0
 */
export * as HistoryPruner from "./session/history/HistoryPruner.js"

/**
 * Places in a run where an application may look in or change a value, while the run waits for it.
 *
 * @since 0.1.0
 */
export * as Hooks from "./observability/Hooks.js"

/**
 * Humans in a group. They are asked like everybody else, have longer for it, and say nothing by not answering.
 *
 * @since 0.1.0
 */
export * as HumanParticipant from "./session/group/HumanParticipant.js"

/**
 * Ids that sort by the time they were made. The default reads Effect's `Clock` and `Random`, so a program under
 * `TestClock` and a seeded `Random` makes the same ids on every run.
 *
 * @since 0.1.0
 */
export * as IdGenerator from "./domain/IdGenerator.js"

/**
 * Branded identifiers shared by every subsystem. All are plain strings on the wire, 1 to 256 characters without control
 * characters.
 *
 * @since 0.1.0
 */
export * as Ids from "./domain/Ids.js"

/**
 * A session store in the memory of this process. The cost of a call depends on its input and output, not on the number
 * of stored sessions, turns and checkpoints.
 *
 * @since 0.1.0
 */
export * as InMemorySessionStore from "./session/turn/InMemorySessionStore.js"

/**
 * Finds instructions that somebody else wants a model to follow, by documented heuristics: no model is asked, nothing
 * leaves the process.
 *
 * @since 0.1.0
 */
export * as InjectionDetector from "./guard/injection/InjectionDetector.js"

/**
 * Keeps out instructions that come from somebody else than those who may give them: by heuristics, at once, without a
 * model.
 *
 * @since 0.1.0
 */
export * as InjectionGuard from "./guard/injection/InjectionGuard.js"

/**
 * What injected instructions look like: one table, each rule with what it is for and how much it weighs. None proves
 * anything alone; what they say together is summed up by the detector.
 *
 * @since 0.1.0
 */
export * as InjectionRules from "./guard/injection/InjectionRules.js"

/**
 * Guards see the user's message before the model does.
 *
 * @since 0.1.0
 */
export * as InputGuardStage from "./agent/stage/InputGuardStage.js"

/**
 * JSON Schemas that come from outside (MCP servers, files, skills): made usable, compiled once.
 *
 * @since 0.1.0
 */
export * as JsonSchemaValidator from "./tool/definition/JsonSchemaValidator.js"

/**
 * Texts that have to be JSON of a certain shape.
 *
 * @since 0.1.0
 */
export * as JsonShapeGuard from "./guard/JsonShapeGuard.js"

/**
 * A model judges a text: what heuristics cannot know, at the price of a call.
 *
 * @since 0.1.0
 */
export * as JudgeGuard from "./guard/JudgeGuard.js"

/**
 * Keeps sessions in a `KeyValueStore` of `@effect/platform`: in files, in the storage of a browser, or in what else
 * there is one for.
 *
 * @since 0.1.0
 */
export * as KeyValueSessionStore from "./session/keyvalue/KeyValueSessionStore.js"

/**
 * Any `@effect/ai` language model as an {@link LlmClient}.
 *
 * @since 0.1.0
 */
export * as LanguageModelClient from "./provider/LanguageModelClient.js"

/**
 * When memory was consolidated last, kept so that what was missed while nothing ran is made up for at once.
 *
 * @since 0.1.0
 */
export * as LastConsolidation from "./memory/consolidation/LastConsolidation.js"

/**
 * Language agent tree search (Zhou, Yan, Shlapentokh-Rothman, Wang, Wang 2023, "Language Agent Tree Search Unifies
 * Reasoning, Acting and Planning in Language Models", arXiv 2310.04406): Monte Carlo tree search over actions that
 * really run.
 *
 * @since 0.1.0
 */
export * as Lats from "./strategy/lats/Lats.js"

/**
 * What `LATSAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as LatsPrompts from "./prompt/defaults/LatsPrompts.js"

/**
 * No text longer than a limit.
 *
 * @since 0.1.0
 */
export * as LengthGuard from "./guard/LengthGuard.js"

/**
 * Answers kept for equal requests, over a `CacheBackend`. Equal requests that are under way at the same time share one
 * call.
 *
 * @since 0.1.0
 */
export * as LlmCache from "./llm/LlmCache.js"

/**
 * The one door to models: plain, serialisable requests and responses in the vocabulary of `@effect/ai` (prompt
 * messages, response parts, finish reasons), and a single method, so that every wrapper (retry, cache, fallback,
 * recording) is one Effect combinator.
 *
 * @since 0.1.0
 */
export * as LlmClient from "./llm/model/LlmClient.js"

/**
 * A plan of tool calls that runs in parallel (Kim et al. 2023, "An LLM Compiler for Parallel Function Calling"): a
 * planner writes which calls a task takes and which of them need results of which others, a task fetching unit makes
 * each as soon as it can, also while the plan is still being written, and a joiner answers or asks for another plan.
 *
 * @since 0.1.0
 */
export * as LlmCompiler from "./strategy/LlmCompiler.js"

/**
 * Plans of `llm-compiler`, read whole or while the model writes them. Three forms are told apart by themselves:
 *
 * @since 0.1.0
 */
export * as LlmCompilerPlan from "./plan/LlmCompilerPlan.js"

/**
 * What `LLMCompilerAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as LlmCompilerPrompts from "./prompt/defaults/LlmCompilerPrompts.js"

/**
 * How a model call can fail. Every error names its provider and, where known, the model, the HTTP status and the
 * provider's request id. None ever holds a key or a header.
 *
 * @since 0.1.0
 */
export * as LlmError from "./llm/model/LlmError.js"

/**
 * From what a provider answered to an {@link LlmError}: status, headers and body in, a typed error out. Shared by every
 * client, so that the same failure has the same class whoever served it.
 *
 * @since 0.1.0
 */
export * as LlmErrorClassifier from "./provider/exchange/LlmErrorClassifier.js"

/**
 * How many model calls may run at once, and how many requests and tokens may go out in any minute.
 *
 * @since 0.1.0
 */
export * as LlmLimits from "./llm/LlmLimits.js"

/**
 * Takes secrets out of what goes to the model and out of what comes back, streamed answers included.
 *
 * @since 0.1.0
 */
export * as LlmRedaction from "./llm/LlmRedaction.js"

/**
 * The usual care around a model, in the right order: each try under its own time limits, failed ones repeated.
 *
 * @since 0.1.0
 */
export * as LlmResilience from "./llm/LlmResilience.js"

/**
 * The schema of a whole answer: what caches, recordings and durable runs store and read back. Both sides are the plain
 * `LlmClient.LlmResponse`.
 *
 * @since 0.1.0
 */
export * as LlmResponseSchema from "./llm/model/LlmResponseSchema.js"

/**
 * Repeats model calls that failed for a passing reason, with exponential, jittered waits and the provider's
 * `Retry-After`.
 *
 * @since 0.1.0
 */
export * as LlmRetry from "./llm/LlmRetry.js"

/**
 * Limits on how long a model call may take: the whole, the time to the first part, the gap between two parts.
 *
 * @since 0.1.0
 */
export * as LlmTimeout from "./llm/LlmTimeout.js"

/**
 * The tools of an MCP server as skills and tools, its prompts as messages, and skills as definitions that MCP clients
 * understand.
 *
 * @since 0.1.0
 */
export * as McpBridge from "./skill/mcp/McpBridge.js"

/**
 * The door to a server of the Model Context Protocol: its tools, resources and prompts as plain data.
 *
 * @since 0.1.0
 */
export * as McpClient from "./skill/mcp/McpClient.js"

/**
 * An MCP server that is made of values: for tests, and for servers that live in the same process.
 *
 * @since 0.1.0
 */
export * as McpMemory from "./skill/mcp/McpMemory.js"

/**
 * Memory as an application has it: a store of entries, the kinds of memory over it, a context put together from them,
 * and what keeps it small, as a configuration wants them.
 *
 * @since 0.1.0
 */
export * as Memory from "./memory/Memory.js"

/**
 * What a store of entries needs from below: rows in, rows out. Scores, weights, fusion, expiry by configuration and
 * telemetry are written once, in `MemoryStore.fromBackend`; a backend keeps entries and finds candidates.
 *
 * @since 0.1.0
 */
export * as MemoryBackend from "./memory/entry/MemoryBackend.js"

/**
 * A model that remembers: working memory for calls that no agent makes. Agents have theirs from the executor.
 *
 * @since 0.1.0
 */
export * as MemoryClient from "./memory/working/MemoryClient.js"

/**
 * What an application remembers and for how long, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as MemoryConfig from "./memory/MemoryConfig.js"

/**
 * Keeps memory small and true: doubles and what has faded go, aged groups become summaries, facts are read.
 *
 * @since 0.1.0
 */
export * as MemoryConsolidator from "./memory/consolidation/MemoryConsolidator.js"

/**
 * What is remembered, how it is asked for and what is found. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 */
export * as MemoryEntry from "./memory/entry/MemoryEntry.js"

/**
 * How memory fails. Inside a run none of these breaks it: the executor passes them over and says so.
 *
 * @since 0.1.0
 */
export * as MemoryError from "./memory/entry/MemoryError.js"

/**
 * The domain events of memory: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as MemoryEvents from "./memory/entry/MemoryEvents.js"

/**
 * The places of memory where handlers may wait.
 *
 * @since 0.1.0
 */
export * as MemoryHooks from "./memory/entry/MemoryHooks.js"

/**
 * Metrics and span names of memory. Labels are the kinds of memory, operations and outcomes, all from fixed lists, and
 * names of stores.
 *
 * @since 0.1.0
 */
export * as MemoryMetrics from "./memory/entry/MemoryMetrics.js"

/**
 * Lets go of what matters little or is long past.
 *
 * @since 0.1.0
 */
export * as MemoryPruner from "./memory/consolidation/MemoryPruner.js"

/**
 * What `MemoryReranker` tells its models.
 *
 * @since 0.1.0
 */
export * as MemoryRerankPrompts from "./prompt/defaults/MemoryRerankPrompts.js"

/**
 * Lets a model put results in order: it sees the question and the best of them once, as numbered data, and answers with
 * their numbers. Nothing else it says is read. What stands in an entry can at most move entries among those shown; it
 * adds none, takes none away and changes none.
 *
 * @since 0.1.0
 */
export * as MemoryReranker from "./memory/search/MemoryReranker.js"

/**
 * Several memories asked as one: all sources at once, each with a time limit; a source that fails or is too slow is
 * left out, and the answer says so. What is found is ranked once, from its relevance, whatever score its source gave
 * it.
 *
 * @since 0.1.0
 */
export * as MemoryRetriever from "./memory/search/MemoryRetriever.js"

/**
 * Keeps what was said, in the session and in memory.
 *
 * @since 0.1.0
 */
export * as MemorySaveStage from "./agent/stage/MemorySaveStage.js"

/**
 * Brings what is remembered into the context.
 *
 * @since 0.1.0
 */
export * as MemoryStage from "./agent/stage/MemoryStage.js"

/**
 * Where entries are kept and found again: by their words, by vectors where there are some, by time.
 *
 * @since 0.1.0
 */
export * as MemoryStore from "./memory/search/MemoryStore.js"

/**
 * Entries that stand for several others: how they are built and told from the rest.
 *
 * @since 0.1.0
 */
export * as MemorySummary from "./memory/episodic/MemorySummary.js"

/**
 * How a branch is taken over into another session of its tree: which of its turns, and what becomes of the small state
 * that both have.
 *
 * @since 0.1.0
 */
export * as MergeStrategy from "./session/branch/MergeStrategy.js"

/**
 * Counts runs, their duration, tokens, steps, tool calls and failures.
 *
 * @since 0.1.0
 */
export * as MetricsStage from "./agent/stage/MetricsStage.js"

/**
 * Who may use which model, decided by lists of names.
 *
 * @since 0.1.0
 */
export * as ModelAccess from "./governance/policy/ModelAccess.js"

/**
 * How strategies call models: through the router, with a deadline, a span, live deltas and a report of what was used.
 *
 * @since 0.1.0
 */
export * as ModelCall from "./strategy/reasoning/ModelCall.js"

/**
 * A chain of clients: when one fails, the next one answers.
 *
 * @since 0.1.0
 */
export * as ModelFallback from "./llm/ModelFallback.js"

/**
 * Lets a model decide about the conflicts of a merge. It sees the versions as numbered data, and what it answers can do
 * no more than choose one of them or give a value in their place.
 *
 * @since 0.1.0
 */
export * as ModelMergeResolver from "./session/branch/ModelMergeResolver.js"

/**
 * Metrics of model calls, by OpenTelemetry's semantic conventions for generative AI: tokens and seconds a call.
 *
 * @since 0.1.0
 */
export * as ModelMetrics from "./observability/ModelMetrics.js"

/**
 * The published prices of the models of many providers, from the data set of the package `@pydantic/genai-prices` as it
 * was installed. Nothing is fetched. An application that renews the prices itself, by the `updatePrices` of that
 * package, is served the new ones within a minute.
 *
 * @since 0.1.0
 */
export * as ModelPrices from "./llm/ModelPrices.js"

/**
 * Which client and settings answer for a role: `thinking` may be a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
export * as ModelRouter from "./llm/ModelRouter.js"

/**
 * What a caller may ask of a model call. Every field that is set reaches the request body.
 *
 * @since 0.1.0
 */
export * as ModelSettings from "./llm/model/ModelSettings.js"

/**
 * A model decides who speaks next. It sees the end of the conversation as data, as far as it is visible to it, and what
 * it says is looked up among the names of the group: nothing else in it counts.
 *
 * @since 0.1.0
 */
export * as ModelTurnManager from "./session/group/ModelTurnManager.js"

/**
 * Skills that modules export: a program names packages or files, and what they export as skills is found.
 *
 * @since 0.1.0
 */
export * as ModuleDiscovery from "./skill/ModuleDiscovery.js"

/**
 * Which module may use the tools of which other.
 *
 * @since 0.1.0
 */
export * as ModuleGraph from "./tool/ModuleGraph.js"

/**
 * Identifiers that countries give to people, companies and cars, and two kinds of text that are no secret by
 * themselves: addresses of the web and dates.
 *
 * @since 0.1.0
 */
export * as NationalEntities from "./guard/pii/NationalEntities.js"

/**
 * What an event shows of a graph's update: the fields that a node changed, without messages, in at most so many bytes.
 *
 * @since 0.1.0
 */
export * as NodeUpdate from "./strategy/reasoning/NodeUpdate.js"

/**
 * What a model gets to read of a tool's result or failure: plain data, bounded text.
 *
 * @since 0.1.0
 */
export * as Observation from "./tool/definition/Observation.js"

/**
 * A model inside the process, for demos and tests without a network. It is no language model: it matches words. It
 * reads the conversation and the tools' schemas, picks tools whose words the request shares, takes their arguments from
 * the text, calls them, and reports what they return. It invents no facts: what the conversation does not say, it asks
 * for. The same request always gets the same answer.
 *
 * @since 0.1.0
 */
export * as OfflineModel from "./offline/OfflineModel.js"

/**
 * OpenAI's own models over `/responses`.
 *
 * @since 0.1.0
 */
export * as OpenAi from "./provider/format/OpenAi.js"

/**
 * Guards see the answer before anybody else does.
 *
 * @since 0.1.0
 */
export * as OutputGuardStage from "./agent/stage/OutputGuardStage.js"

/**
 * Owners of what memory keeps for itself beside the entries of an owner, such as learned procedures: a space of its own
 * in every store.
 *
 * @since 0.1.0
 */
export * as OwnerNamespace from "./memory/entry/OwnerNamespace.js"

/**
 * Several skills at once, over the same parameters: all of them, as many as succeed, or a quorum.
 *
 * @since 0.1.0
 */
export * as ParallelSkills from "./skill/compose/ParallelSkills.js"

/**
 * Streamed parts put together into the whole answer: what every streaming client ends with, and what history and
 * durability keep.
 *
 * @since 0.1.0
 */
export * as PartAssembler from "./llm/model/PartAssembler.js"

/**
 * Numbers of payment cards, bank accounts and wallets of crypto-currencies.
 *
 * @since 0.1.0
 */
export * as PaymentEntities from "./guard/pii/PaymentEntities.js"

/**
 * Requests for approval that wait until somebody answers them from outside: a page, a chat, a colleague, days later.
 *
 * @since 0.1.0
 */
export * as PendingApprovals from "./tool/approval/PendingApprovals.js"

/**
 * Who may execute which skills.
 *
 * @since 0.1.0
 */
export * as PermissionChecker from "./skill/execute/PermissionChecker.js"

/**
 * What users may do, granted and revoked while the program runs.
 *
 * @since 0.1.0
 */
export * as PermissionGrants from "./skill/execute/PermissionGrants.js"

/**
 * Permissions as texts of segments that are separated by dots: `files.read`.
 *
 * @since 0.1.0
 */
export * as Permissions from "./skill/definition/Permissions.js"

/**
 * Addresses of people and their machines, and the social security number of the United States.
 *
 * @since 0.1.0
 */
export * as PersonalEntities from "./guard/pii/PersonalEntities.js"

/**
 * Telephone numbers: international ones of every country, and those written as people of some countries write them at
 * home.
 *
 * @since 0.1.0
 */
export * as PhoneEntity from "./guard/pii/PhoneEntity.js"

/**
 * Finds personal data and secrets in texts: many recognisers asked at once, what they find weighed and made into places
 * that do not overlap.
 *
 * @since 0.1.0
 */
export * as PiiDetector from "./guard/pii/PiiDetector.js"

/**
 * The recognisers that guards use when none are named.
 *
 * @since 0.1.0
 */
export * as PiiEntities from "./guard/pii/PiiEntities.js"

/**
 * One kind of personal data or secret and how it is recognised: by its shape, a checksum, and the words around it.
 *
 * @since 0.1.0
 */
export * as PiiEntity from "./guard/pii/PiiEntity.js"

/**
 * A guard that finds personal data and secrets and takes them out, or blocks, or warns.
 *
 * @since 0.1.0
 */
export * as PiiGuard from "./guard/pii/PiiGuard.js"

/**
 * A plan, its steps solved one after another with the results before them, and an answer made of all results (Wang, Xu,
 * Lan et al. 2023). Takes two model calls and one for each step; a step that uses tools takes one more for each turn of
 * them.
 *
 * @since 0.1.0
 */
export * as PlanAndSolve from "./strategy/PlanAndSolve.js"

/**
 * What `PlanAndSolveAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as PlanAndSolvePrompts from "./prompt/defaults/PlanAndSolvePrompts.js"

/**
 * How plans are wrong.
 *
 * @since 0.1.0
 */
export * as PlanError from "./plan/PlanError.js"

/**
 * A plan first, then its steps one after another, then an answer from their results (Wang et al. 2023). A step that
 * fails leads to a new plan from there on.
 *
 * @since 0.1.0
 */
export * as PlanExecute from "./strategy/PlanExecute.js"

/**
 * What `PlanExecuteAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as PlanExecutePrompts from "./prompt/defaults/PlanExecutePrompts.js"

/**
 * Plans as models write them: numbered, lettered with "Step", bulleted, as headings, with tags, bold, fenced, with talk
 * around them. Read line by line, in time linear in the text.
 *
 * @since 0.1.0
 */
export * as PlanText from "./plan/PlanText.js"

/**
 * A planner of one's own, in the place of the model's: rules, a solver, a recorded plan.
 *
 * @since 0.1.0
 */
export * as Planner from "./strategy/planning/Planner.js"

/**
 * Rules about who may use what, as data or code.
 *
 * @since 0.1.0
 */
export * as PolicyEngine from "./governance/policy/PolicyEngine.js"

/**
 * Everybody in turn, whoever has the highest priority first, in each cycle anew.
 *
 * @since 0.1.0
 */
export * as PriorityTurnManager from "./session/group/PriorityTurnManager.js"

/**
 * How things are done: procedures learned from runs that went well, recalled for tasks that are alike.
 *
 * @since 0.1.0
 */
export * as ProceduralMemory from "./memory/procedural/ProceduralMemory.js"

/**
 * A way to do something: the steps that worked for a task, and how often they did.
 *
 * @since 0.1.0
 */
export * as Procedure from "./memory/procedural/Procedure.js"

/**
 * Notices when a loop goes in circles: steps that make the same calls and see the same results, one right after the
 * other.
 *
 * @since 0.1.0
 */
export * as Progress from "./strategy/reasoning/Progress.js"

/**
 * How prompts can be wrong.
 *
 * @since 0.1.0
 */
export * as PromptError from "./prompt/template/PromptError.js"

/**
 * Which prompt a step really uses. Three layers, the later wins, each half on its own: the default that ships with the
 * step, the files of a directory (`<Pattern>/<Step>/system.md` and `user.md`), overrides given in code. Custom
 * instructions are appended to every system half, whichever layer it comes from, under a heading of their own.
 *
 * @since 0.1.0
 */
export * as PromptLibrary from "./prompt/PromptLibrary.js"

/**
 * What a model is told in one step of a pattern: who it is and what is wanted (the system half), and the matter at hand
 * (the user half).
 *
 * @since 0.1.0
 */
export * as PromptStep from "./prompt/template/PromptStep.js"

/**
 * Text with named places. A place is `{name}`: a name of letters, digits and `_` that does not begin with a digit.
 * Every other brace is itself, and `{{` and `}}` are one brace each, so that `{{name}}` is the text `{name}`. Nothing
 * is ever evaluated: values go in as they are, and places inside values stay text.
 *
 * @since 0.1.0
 */
export * as PromptTemplate from "./prompt/template/PromptTemplate.js"

/**
 * Model roles from the environment, each with the provider it names.
 *
 * @since 0.1.0
 */
export * as ProviderRoles from "./provider/ProviderRoles.js"

/**
 * A provider by its name: in code, or from the environment (`LEX_AI_LLM__PROVIDER` and its siblings).
 *
 * @since 0.1.0
 */
export * as Providers from "./provider/Providers.js"

/**
 * Shows those turns of a session that matter for the message: out of a wide window of the newest ones, what a pruner
 * keeps.
 *
 * @since 0.1.0
 */
export * as PrunedSessionHistory from "./session/history/PrunedSessionHistory.js"

/**
 * How much was taken under a key within a sliding window: no stretch of the length of the window ever sees more than
 * the limit, borders of minutes included.
 *
 * @since 0.1.0
 */
export * as RateLimitStore from "./governance/store/RateLimitStore.js"

/**
 * Reasoning and acting in turns (Yao et al. 2022, "ReAct: Synergizing Reasoning and Acting in Language Models"):
 * thought, action, observation, until a final answer.
 *
 * @since 0.1.0
 */
export * as ReAct from "./strategy/ReAct.js"

/**
 * What `ReActAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReActPrompts from "./prompt/defaults/ReActPrompts.js"

/**
 * The ReAct text protocol (Yao et al. 2022): what a model wrote, read as an action, a final answer, or neither. Only
 * the model's own completion is ever parsed, only markers at the start of a line count, and nothing behind the first
 * observation that the model invented does; one that the completion begins with is passed over.
 *
 * @since 0.1.0
 */
export * as ReActText from "./strategy/reasoning/ReActText.js"

/**
 * Reasoning without observation (Xu et al. 2023, "ReWOO: Decoupling Reasoning from Observations for Efficient Augmented
 * Language Models"): a planner writes once which evidence a task needs, workers collect it, and a solver answers from
 * all of it. Two model calls, however many tools there are.
 *
 * @since 0.1.0
 */
export * as ReWoo from "./strategy/ReWoo.js"

/**
 * Plans of `rewoo`. Three forms are told apart by themselves:
 *
 * @since 0.1.0
 */
export * as ReWooPlan from "./plan/ReWooPlan.js"

/**
 * What `REWOOAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReWooPrompts from "./prompt/defaults/ReWooPrompts.js"

/**
 * The limit on how long a stream waits for its reader. The time of that wait counts for no other limit.
 *
 * @since 0.1.0
 */
export * as ReaderTimeout from "./domain/ReaderTimeout.js"

/**
 * What the steps of a strategy work with during one run: prompts of the library filled in and asked, replies read,
 * tools run, the answer put into its shape. A service, so that a graph is made once and its nodes still know their run.
 *
 * @since 0.1.0
 */
export * as Reasoning from "./strategy/reasoning/Reasoning.js"

/**
 * Ways of thinking that `SelfDiscovery` chooses from: the ideas of the 39 modules of Zhou, Pujara et al. 2024 (arXiv
 * 2402.03620) in words of this library, and further ones.
 *
 * @since 0.1.0
 */
export * as ReasoningModules from "./strategy/ReasoningModules.js"

/**
 * The first half of Self-Discover (Zhou, Pujara et al. 2024): the reasoning structure of a kind of task.
 *
 * @since 0.1.0
 */
export * as ReasoningStructure from "./strategy/ReasoningStructure.js"

/**
 * Keeps the newest turns, whatever the query.
 *
 * @since 0.1.0
 */
export * as RecencyContextPruner from "./session/history/RecencyContextPruner.js"

/**
 * A draft that is judged and mended until it is accepted (nearest: Self-Refine, Madaan et al. 2023).
 *
 * @since 0.1.0
 */
export * as Reflection from "./strategy/Reflection.js"

/**
 * What `ReflectionAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReflectionPrompts from "./prompt/defaults/ReflectionPrompts.js"

/**
 * Trials with reflection (Shinn et al. 2023, "Reflexion: Language Agents with Verbal Reinforcement Learning"): try,
 * judge, and after a failure put into words what to do differently; the words are there in the next trial. Another form
 * criticises and refines one text.
 *
 * @since 0.1.0
 */
export * as Reflexion from "./strategy/Reflexion.js"

/**
 * The form of Reflexion that works on one text: generate, criticise, refine, until the critic has nothing to say.
 *
 * @since 0.1.0
 */
export * as ReflexionCritique from "./strategy/ReflexionCritique.js"

/**
 * What `ReflexionAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as ReflexionPrompts from "./prompt/defaults/ReflexionPrompts.js"

/**
 * Keeps the turns that have most words in common with the query, rare words first (BM25), and the newer ones before the
 * older.
 *
 * @since 0.1.0
 */
export * as RelevanceContextPruner from "./session/history/RelevanceContextPruner.js"

/**
 * Puts results in another order: by weights of one's own, or those of a query. Scores are made anew, from what each
 * entry is: its relevance, its importance and its age. A score that a result had before counts for nothing, so that
 * nothing counts twice.
 *
 * @since 0.1.0
 */
export * as RelevanceRanker from "./memory/search/RelevanceRanker.js"

/**
 * The shape a step wants its reply in: JSON by a Schema where the model can, a text form where it writes one.
 *
 * @since 0.1.0
 */
export * as ReplyForm from "./strategy/reasoning/ReplyForm.js"

/**
 * For whom the current run works.
 *
 * @since 0.1.0
 */
export * as Requester from "./domain/Requester.js"

/**
 * How much of a resource a tenant may use in a window of time.
 *
 * @since 0.1.0
 */
export * as ResourceQuotas from "./governance/ResourceQuotas.js"

/**
 * Who sees which turn of a group. Turns carry it themselves, in their metadata: `visibleTo` (a list of names and roles)
 * wins over `hiddenFrom` (another one); with neither everybody sees them. Rules by role come on top: a turn is seen
 * where both allow it.
 *
 * @since 0.1.0
 */
export * as RoleIsolation from "./session/group/RoleIsolation.js"

/**
 * Everybody in turn, in the order of the group.
 *
 * @since 0.1.0
 */
export * as RoundRobinTurnManager from "./session/group/RoundRobinTurnManager.js"

/**
 * The current run: where strategies, tools and stages emit what happens.
 *
 * @since 0.1.0
 */
export * as Run from "./observability/Run.js"

/**
 * Keeps the events of runs.
 *
 * @since 0.1.0
 */
export * as RunLog from "./observability/RunLog.js"

/**
 * The arithmetic of retrieval: how recent, how important and how relevant an entry is make one score; several rankings
 * make one; results that say the same give way to others. Pure functions.
 *
 * @since 0.1.0
 */
export * as Scoring from "./memory/entry/Scoring.js"

/**
 * Runs the scripts that come with skills.
 *
 * @since 0.1.0
 */
export * as ScriptRunner from "./skill/folder/ScriptRunner.js"

/**
 * The tree that a Monte Carlo tree search grows: immutable, kept as nodes by id, so that a change costs no more than
 * the way to the root.
 *
 * @since 0.1.0
 */
export * as SearchTree from "./strategy/lats/SearchTree.js"

/**
 * A guard that finds keys, tokens and passwords and takes them out, or blocks, or warns.
 *
 * @since 0.1.0
 */
export * as SecretGuard from "./guard/pii/SecretGuard.js"

/**
 * Which entries of an owner are meant: a filter as plain data, so that every backend can answer it in its own language.
 *
 * @since 0.1.0
 */
export * as Selection from "./memory/entry/Selection.js"

/**
 * Self-Discover (Zhou, Pujara et al. 2024): choose ways of thinking, adapt them to the task, make a reasoning structure
 * of them, then solve the task by following it. The structure serves every task of its kind.
 *
 * @since 0.1.0
 */
export * as SelfDiscovery from "./strategy/SelfDiscovery.js"

/**
 * What `SelfDiscoveryAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as SelfDiscoveryPrompts from "./prompt/defaults/SelfDiscoveryPrompts.js"

/**
 * What is known about people and things, as facts.
 *
 * @since 0.1.0
 */
export * as SemanticMemory from "./memory/facts/SemanticMemory.js"

/**
 * What `EntityExtractor` tells its models.
 *
 * @since 0.1.0
 */
export * as SemanticPrompts from "./prompt/defaults/SemanticPrompts.js"

/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a
 * session its newest turn (its head), a checkpoint a head and the small state of the session. A branch is a session
 * whose first turn has its parent in another session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
export * as Session from "./session/turn/Session.js"

/**
 * The figures of sessions: turns, tokens, cost, time, and who and what took part. Turns are read by pages, however many
 * there are.
 *
 * @since 0.1.0
 */
export * as SessionAnalytics from "./session/upkeep/SessionAnalytics.js"

/**
 * Makes sessions expired in which nothing happened for too long, again and again. They are kept, and their turns can
 * still be read.
 *
 * @since 0.1.0
 */
export * as SessionCleanup from "./session/upkeep/SessionCleanup.js"

/**
 * How conversations are kept and for how long, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SessionConfig from "./session/SessionConfig.js"

/**
 * The session that belongs to what is going on: bound around a piece of work, and read from anywhere within it. Fibers
 * that are forked there inherit it; others never see it.
 *
 * @since 0.1.0
 */
export * as SessionContext from "./session/manager/SessionContext.js"

/**
 * How sessions refuse or fail.
 *
 * @since 0.1.0
 */
export * as SessionError from "./session/turn/SessionError.js"

/**
 * The domain events of sessions: what other parts of an application are told of. The aggregate is the session.
 *
 * @since 0.1.0
 */
export * as SessionEvents from "./session/turn/SessionEvents.js"

/**
 * What a model is shown of a session before the message it is to answer.
 *
 * @since 0.1.0
 */
export * as SessionHistory from "./session/history/SessionHistory.js"

/**
 * The places of sessions where handlers may wait. They are called after the session is kept.
 *
 * @since 0.1.0
 */
export * as SessionHooks from "./session/turn/SessionHooks.js"

/**
 * The life of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
export * as SessionManager from "./session/manager/SessionManager.js"

/**
 * Sessions in memory: whose memory it is, a turn as what is remembered of it, and what of it a branch may recall.
 *
 * @since 0.1.0
 */
export * as SessionMemory from "./session/manager/SessionMemory.js"

/**
 * Turns of a session as messages for a model: what was said, and the calls of tools that lie between.
 *
 * @since 0.1.0
 */
export * as SessionMessages from "./session/history/SessionMessages.js"

/**
 * Metrics and span names of sessions. Labels come from fixed lists; none names a session or a user.
 *
 * @since 0.1.0
 */
export * as SessionMetrics from "./session/turn/SessionMetrics.js"

/**
 * What is asked about sessions: which side of a conflict holds when a branch is merged.
 *
 * @since 0.1.0
 */
export * as SessionPrompts from "./prompt/defaults/SessionPrompts.js"

/**
 * Finds the conversation the run belongs to.
 *
 * @since 0.1.0
 */
export * as SessionStage from "./agent/stage/SessionStage.js"

/**
 * Which status of a session may follow which.
 *
 * @since 0.1.0
 */
export * as SessionStateMachine from "./session/manager/SessionStateMachine.js"

/**
 * Where sessions, their turns and their checkpoints are kept. What may be done to a session is the manager's business;
 * a store keeps what it is given, all or nothing, and never lets one writer pass over another.
 *
 * @since 0.1.0
 */
export * as SessionStore from "./session/turn/SessionStore.js"

/**
 * Failures of the work that follows when a session was written: memory takes its turns, takes over what it held, and is
 * consolidated.
 *
 * @since 0.1.0
 */
export * as SessionTaskError from "./session/turn/SessionTaskError.js"

/**
 * Sessions as an application has them: a store, their life, their branches and what keeps them in order, as a
 * configuration wants them.
 *
 * @since 0.1.0
 */
export * as Sessions from "./session/Sessions.js"

/**
 * A skill: a capability with a definition, checked parameters and a checked result, whose failures and requirements are
 * typed.
 *
 * @since 0.1.0
 */
export * as Skill from "./skill/definition/Skill.js"

/**
 * Reading a file of a skill's folder, and nothing outside of it.
 *
 * @since 0.1.0
 */
export * as SkillAccess from "./skill/execute/SkillAccess.js"

/**
 * The instructions of a skill as a model is given them.
 *
 * @since 0.1.0
 */
export * as SkillActivation from "./skill/folder/SkillActivation.js"

/**
 * Arguments of a `SKILL.md`: what `$ARGUMENTS` in its instructions stands for.
 *
 * @since 0.1.0
 */
export * as SkillArguments from "./skill/folder/SkillArguments.js"

/**
 * The `SKILL.md` skills an agent may use, disclosed in three levels: names and descriptions of all, the instructions of
 * those that are activated, and files when they are asked for. Everything that stands in a skill is data: it is escaped
 * or fenced, and bounded.
 *
 * @since 0.1.0
 */
export * as SkillCatalog from "./skill/folder/SkillCatalog.js"

/**
 * Skills one after another: each result is the next one's parameters.
 *
 * @since 0.1.0
 */
export * as SkillChain from "./skill/compose/SkillChain.js"

/**
 * Skills made of skills: tried again, in another form, with a substitute, in a race, in a loop, in less time.
 *
 * @since 0.1.0
 */
export * as SkillCombinators from "./skill/compose/SkillCombinators.js"

/**
 * Skills and their results as data.
 *
 * @since 0.1.0
 */
export * as SkillDefinition from "./skill/definition/SkillDefinition.js"

/**
 * How skills fail.
 *
 * @since 0.1.0
 */
export * as SkillError from "./skill/definition/SkillError.js"

/**
 * The domain events of skills: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as SkillEvents from "./skill/definition/SkillEvents.js"

/**
 * Executes skills: permissions, validation, confirmation, cache, limits, timeout and retries in one place.
 *
 * @since 0.1.0
 */
export * as SkillExecutor from "./skill/execute/SkillExecutor.js"

/**
 * Skills as folders: a file `SKILL.md` with what the skill is for and its instructions, beside scripts and other files.
 *
 * @since 0.1.0
 */
export * as SkillFile from "./skill/definition/SkillFile.js"

/**
 * Folders of skills: found below paths, made executable, and kept in step with a registry.
 *
 * @since 0.1.0
 */
export * as SkillFolders from "./skill/folder/SkillFolders.js"

/**
 * The places of skills where handlers may wait.
 *
 * @since 0.1.0
 */
export * as SkillHooks from "./skill/definition/SkillHooks.js"

/**
 * What a model is told of all skills: names and descriptions.
 *
 * @since 0.1.0
 */
export * as SkillListing from "./skill/folder/SkillListing.js"

/**
 * Trust that is kept in a lock file: a skill folder that is new, or is no longer what was accepted, is asked about
 * before anything of it is used.
 *
 * @since 0.1.0
 */
export * as SkillLock from "./skill/folder/SkillLock.js"

/**
 * The lock file of skills: which were accepted, and with what content. JSON, in one form for the same content.
 *
 * @since 0.1.0
 */
export * as SkillLockFile from "./skill/folder/SkillLockFile.js"

/**
 * Metrics and span names of skills. Labels are names of skills, of which there are at most `maxNames`, and outcomes
 * from a fixed list.
 *
 * @since 0.1.0
 */
export * as SkillMetrics from "./skill/definition/SkillMetrics.js"

/**
 * One of several skills, chosen by a model from their descriptions.
 *
 * @since 0.1.0
 */
export * as SkillModelRouter from "./skill/compose/SkillModelRouter.js"

/**
 * The parameters of a skill as a list, for those who have no schema: written by hand, or read from somewhere.
 *
 * @since 0.1.0
 */
export * as SkillParameters from "./skill/definition/SkillParameters.js"

/**
 * Stages over one growing context: each takes what the stages before have put there, and puts its own result in.
 *
 * @since 0.1.0
 */
export * as SkillPipeline from "./skill/compose/SkillPipeline.js"

/**
 * The skills that can be executed, by name.
 *
 * @since 0.1.0
 */
export * as SkillRegistry from "./skill/execute/SkillRegistry.js"

/**
 * Results of cacheable skills, kept for equal parameters.
 *
 * @since 0.1.0
 */
export * as SkillResultCache from "./skill/execute/SkillResultCache.js"

/**
 * One of several skills, by the parameters: the first route whose condition holds, in their order.
 *
 * @since 0.1.0
 */
export * as SkillRouter from "./skill/compose/SkillRouter.js"

/**
 * Where skills come from: built in, in modules, or from a place of your own.
 *
 * @since 0.1.0
 */
export * as SkillSource from "./skill/folder/SkillSource.js"

/**
 * Puts skills beside the agent's tools.
 *
 * @since 0.1.0
 */
export * as SkillStage from "./agent/stage/SkillStage.js"

/**
 * Skills as tools, tools as skills.
 *
 * @since 0.1.0
 */
export * as SkillTool from "./skill/execute/SkillTool.js"

/**
 * Skills that belong together, under one name and with one description.
 *
 * @since 0.1.0
 */
export * as SkillToolkit from "./skill/execute/SkillToolkit.js"

/**
 * Whether the text and the scripts of a skill folder may be used.
 *
 * @since 0.1.0
 */
export * as SkillTrust from "./skill/folder/SkillTrust.js"

/**
 * Skills as an application has them: a registry that is filled from several sources, and an executor, as a
 * configuration wants them.
 *
 * @since 0.1.0
 */
export * as Skills from "./skill/Skills.js"

/**
 * Which skills an application has and how they are executed, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SkillsConfig from "./skill/SkillsConfig.js"

/**
 * A stage of a run: a wrapper around everything further in. The list of stages is the order of the run and the type of
 * its failures.
 *
 * @since 0.1.0
 */
export * as Stage from "./agent/definition/Stage.js"

/**
 * What lies between two states of sessions: field by field, so that it can be read, kept, and put onto a state again.
 *
 * @since 0.1.0
 */
export * as StateDiff from "./session/turn/StateDiff.js"

/**
 * Typed state graphs: nodes are Effects that return updates of one state, edges say what runs next.
 *
 * @since 0.1.0
 */
export * as StateGraph from "./graph/StateGraph.js"

/**
 * Messages for runs that are going on, and the order of runs that share a session.
 *
 * @since 0.1.0
 */
export * as Steering from "./agent/definition/Steering.js"

/**
 * Lets a run be reached while it goes on, and makes runs of one session follow one another.
 *
 * @since 0.1.0
 */
export * as SteeringStage from "./agent/stage/SteeringStage.js"

/**
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by where
 * it stands in the run, the same on every replay. Without a durable layer a step is the effect itself and costs one
 * look-up.
 *
 * @since 0.1.0
 */
export * as Step from "./observability/Step.js"

/**
 * When to stop a loop of model and tools before the model says it is done: conditions as values that combine.
 *
 * @since 0.1.0
 */
export * as StopCondition from "./strategy/reasoning/StopCondition.js"

/**
 * Research and writing of an article (Shao et al. 2024, "Assisting in Writing Wikipedia-like Articles From Scratch with
 * Large Language Models"): perspectives from what is written about related topics, conversations of a writer and an
 * expert who looks everything up, an outline from those, sections from the sources that bear on them, a lead, and the
 * whole polished.
 *
 * @since 0.1.0
 */
export * as Storm from "./strategy/storm/Storm.js"

/**
 * The article that `storm` writes: sections put together, citations numbered in the order in which they appear,
 * Markdown in and out.
 *
 * @since 0.1.0
 */
export * as StormArticle from "./strategy/storm/StormArticle.js"

/**
 * Citations in Markdown: `[3]`, `[1, 2]`, `[1-3]`. What stands in code is none.
 *
 * @since 0.1.0
 */
export * as StormCitations from "./strategy/storm/StormCitations.js"

/**
 * The outline of an article: sections, what each covers, and the points of that. Read from whatever form a model writes
 * one in.
 *
 * @since 0.1.0
 */
export * as StormOutline from "./plan/StormOutline.js"

/**
 * What `STORMAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as StormPrompts from "./prompt/defaults/StormPrompts.js"

/**
 * What was found: results of tools read as sources, each kept once under a number of its own, ranked by the words they
 * share with a question.
 *
 * @since 0.1.0
 */
export * as StormSources from "./strategy/storm/StormSources.js"

/**
 * A way to reason: an Effect that emits what happens through the current run and ends in its answer.
 *
 * @since 0.1.0
 */
export * as Strategy from "./strategy/reasoning/Strategy.js"

/**
 * Strategies made of strategies: one in the place of another that failed, many for one answer, a budget, hooks, prompts
 * and settings of its own.
 *
 * @since 0.1.0
 */
export * as StrategyCombinators from "./strategy/reasoning/StrategyCombinators.js"

/**
 * How reasoning can fail besides its model calls.
 *
 * @since 0.1.0
 */
export * as StrategyError from "./strategy/reasoning/StrategyError.js"

/**
 * Strategies that other packages bring: a package declares them in its `package.json`, and a program that depends on it
 * finds them by name.
 *
 * @since 0.1.0
 */
export * as StrategyPlugins from "./strategy/StrategyPlugins.js"

/**
 * Strategies by name: the registry that an agent's strategy is looked up in when the agent runs.
 *
 * @since 0.1.0
 */
export * as StrategyRegistry from "./strategy/reasoning/StrategyRegistry.js"

/**
 * Puts summaries in the place of what is old.
 *
 * @since 0.1.0
 */
export * as SummarizeStrategy from "./memory/consolidation/SummarizeStrategy.js"

/**
 * A store that sums up what gets old: the newest entries stay as they are, those before become summaries.
 *
 * @since 0.1.0
 */
export * as SummaryMemoryStore from "./memory/conversation/SummaryMemoryStore.js"

/**
 * A supervisor of sub-agents: assess, delegate, review, decide. The sub-agents are tools of the task
 * (`AgentTool.make`), known by their names; other tools stay at hand for the supervisor itself.
 *
 * @since 0.1.0
 */
export * as Supervisor from "./strategy/Supervisor.js"

/**
 * What `SupervisorAgent` tells its models.
 *
 * @since 0.1.0
 */
export * as SupervisorPrompts from "./prompt/defaults/SupervisorPrompts.js"

/**
 * The capability to act for the system, and the one rule of ownership: with a user, a call reaches only what is that
 * user's; without one, only what belongs to nobody. Only an effect that holds the capability reaches everybody's data,
 * and only while it names no user.
 *
 * @since 0.1.0
 */
export * as SystemAccess from "./domain/SystemAccess.js"

/**
 * Names and attributes of spans: those of the original library beside OpenTelemetry's semantic conventions for
 * generative AI.
 *
 * @since 0.1.0
 */
export * as Telemetry from "./observability/Telemetry.js"

/**
 * From a text to the terms an index keeps of it, and from a query to those it is looked for by.
 *
 * @since 0.1.0
 */
export * as TextAnalyzer from "./memory/text/TextAnalyzer.js"

/**
 * How a budget of tokens is shared among the sections of working memory.
 *
 * @since 0.1.0
 */
export * as TokenBudgetAllocator from "./memory/working/TokenBudgetAllocator.js"

/**
 * How many tokens a text or a conversation is for a model: the tokenizer of OpenAI's models, an approximation for all
 * others.
 *
 * @since 0.1.0
 */
export * as TokenCounter from "./llm/model/TokenCounter.js"

/**
 * A tool: something the model may call. Name, description, parameters, and a handler Effect with its own failures and
 * requirements.
 *
 * @since 0.1.0
 */
export * as Tool from "./tool/definition/Tool.js"

/**
 * Arguments as models send them, made into what a tool can decode.
 *
 * @since 0.1.0
 */
export * as ToolArguments from "./tool/definition/ToolArguments.js"

/**
 * How a tool call can fail. Most of these never leave a run: the model reads them as observations and may act on them.
 *
 * @since 0.1.0
 */
export * as ToolError from "./tool/definition/ToolError.js"

/**
 * Tools as a prompt shows them.
 *
 * @since 0.1.0
 */
export * as ToolList from "./prompt/template/ToolList.js"

/**
 * What every loop of model and tools has in common: its options, its limits, its end.
 *
 * @since 0.1.0
 */
export * as ToolLoop from "./strategy/reasoning/ToolLoop.js"

/**
 * Tool names as providers accept them (1 to 64 of `[A-Za-z0-9_-]`), mapped there and back without collisions.
 *
 * @since 0.1.0
 */
export * as ToolNames from "./tool/definition/ToolNames.js"

/**
 * Calls of tools and their results among entries: one without the other means nothing to a model, and providers refuse
 * it.
 *
 * @since 0.1.0
 */
export * as ToolPairs from "./memory/entry/ToolPairs.js"

/**
 * Tools by name, registered and removed while a program runs.
 *
 * @since 0.1.0
 */
export * as ToolRegistry from "./tool/ToolRegistry.js"

/**
 * The one place where tools run: visibility, decoding, approval, timeout, retries, handler, encoding, bounds.
 *
 * @since 0.1.0
 */
export * as ToolRunner from "./tool/ToolRunner.js"

/**
 * The tools of an agent, with their failures and requirements summed.
 *
 * @since 0.1.0
 */
export * as ToolSet from "./tool/definition/ToolSet.js"

/**
 * Puts the tools of a registry beside the agent's own.
 *
 * @since 0.1.0
 */
export * as ToolStage from "./agent/stage/ToolStage.js"

/**
 * Words and phrases that must not be talked of.
 *
 * @since 0.1.0
 */
export * as TopicGuard from "./guard/TopicGuard.js"

/**
 * Whoever is responsible for what was just said.
 *
 * @since 0.1.0
 */
export * as TopicTurnManager from "./session/group/TopicTurnManager.js"

/**
 * Who speaks next in a group. A turn manager is a value without memory: what it has to remember is a state that each
 * run of a group keeps for itself, so that one manager serves any number of sessions at once.
 *
 * @since 0.1.0
 */
export * as TurnManager from "./session/group/TurnManager.js"

/**
 * Characters nobody sees: invisible, controlling, hidden or piled up. Text in which they do their proper work (emoji
 * sequences, Persian and Indic joiners, marks of Arabic and Hebrew, word breaks of Thai, flags) is left as it is, byte
 * for byte.
 *
 * @since 0.1.0
 */
export * as UnicodeGuard from "./guard/UnicodeGuard.js"

/**
 * Tokens used by model calls. A field that no provider reported is absent, never zero.
 *
 * @since 0.1.0
 */
export * as Usage from "./domain/Usage.js"

/**
 * Vectors as bytes and as text: 32-bit floats, little-endian, as models, databases and caches write them.
 *
 * @since 0.1.0
 */
export * as VectorCodec from "./llm/embedding/VectorCodec.js"

/**
 * Vectors of entries, and which are nearest.
 *
 * @since 0.1.0
 */
export * as VectorIndex from "./memory/search/VectorIndex.js"

/**
 * Keys and tokens of the common vendors, known by their prefixes.
 *
 * @since 0.1.0
 */
export * as VendorEntities from "./guard/pii/VendorEntities.js"

/**
 * The version of this package.
 *
 * @since 0.1.0
 */
export * as Version from "./domain/Version.js"

/**
 * Shows the newest turns of a session as they were said.
 *
 * @since 0.1.0
 */
export * as WindowSessionHistory from "./session/history/WindowSessionHistory.js"

/**
 * What an agent has in mind: recent turns, and what the long-term stores recall for a question, within a budget of
 * tokens.
 *
 * @since 0.1.0
 */
export * as WorkingMemory from "./memory/working/WorkingMemory.js"
