/**
 * A store that keeps the newest entries of each owner: first in, first out.
 *
 * @since 0.1.0
 */
export * as BufferMemoryStore from "./conversation/BufferMemoryStore.js"

/**
 * Entries in a `CacheBackend`: Redis, a `KeyValueStore`, this process. They live as long as the cache keeps them.
 *
 * @since 0.1.0
 */
export * as CacheMemoryStore from "./cache/CacheMemoryStore.js"

/**
 * Consolidates the memory of everybody, again and again.
 *
 * @since 0.1.0
 */
export * as ConsolidationScheduler from "./consolidation/ConsolidationScheduler.js"

/**
 * What goes when memory is consolidated: doubles, what has faded, what never mattered; and what is put in the place of
 * much that is old.
 *
 * @since 0.1.0
 */
export * as ConsolidationStrategies from "./consolidation/ConsolidationStrategies.js"

/**
 * Which entries stay when not all of them fit: by how new they are, by what they have to do with a query, or by both.
 *
 * @since 0.1.0
 */
export * as ContextPruner from "./working/ContextPruner.js"

/**
 * The last turns of one conversation, in this process: so many, and of so many tokens.
 *
 * @since 0.1.0
 */
export * as ConversationBuffer from "./conversation/ConversationBuffer.js"

/**
 * One conversation, message by message: the plain memory of an agent that needs no recall.
 *
 * @since 0.1.0
 */
export * as ConversationMemory from "./conversation/ConversationMemory.js"

/**
 * A store of conversations: every entry belongs to a session, and each session keeps its newest entries.
 *
 * @since 0.1.0
 */
export * as ConversationMemoryStore from "./conversation/ConversationMemoryStore.js"

/**
 * Plain conversations as the working memory of an agent: what was said last, and nothing else.
 *
 * @since 0.1.0
 */
export * as ConversationWorkingMemory from "./working/ConversationWorkingMemory.js"

/**
 * Consolidates the memory of all owners at a fixed interval or on demand.
 *
 * @since 0.1.0
 */
export * as DefaultConsolidationScheduler from "./consolidation/DefaultConsolidationScheduler.js"

/**
 * Episodic memory over a memory store.
 *
 * @since 0.1.0
 */
export * as DefaultEpisodicMemory from "./episodic/DefaultEpisodicMemory.js"

/**
 * The fact store over a backend: merges, closes and trims facts. Includes the in-process store.
 *
 * @since 0.1.0
 */
export * as DefaultFactStore from "./facts/DefaultFactStore.js"

/**
 * The memory subsystem as one layer, built from a configuration: stores, tiers, working memory and consolidation.
 *
 * @since 0.1.0
 */
export * as DefaultMemory from "./DefaultMemory.js"

/**
 * The memory consolidator over a memory store and semantic memory.
 *
 * @since 0.1.0
 */
export * as DefaultMemoryConsolidator from "./consolidation/DefaultMemoryConsolidator.js"

/**
 * The memory store over a backend: checks, lifetimes, pages, vectors and scores. Includes the in-process store.
 *
 * @since 0.1.0
 */
export * as DefaultMemoryStore from "./search/DefaultMemoryStore.js"

/**
 * Procedural memory over a memory store.
 *
 * @since 0.1.0
 */
export * as DefaultProceduralMemory from "./procedural/DefaultProceduralMemory.js"

/**
 * Semantic memory over a fact store and an entity extractor.
 *
 * @since 0.1.0
 */
export * as DefaultSemanticMemory from "./semantic/DefaultSemanticMemory.js"

/**
 * Working memory over the long-term tiers: recent turns and what the tiers recall for a query, within a token budget.
 *
 * @since 0.1.0
 */
export * as DefaultWorkingMemory from "./working/DefaultWorkingMemory.js"

/**
 * From entries to facts and names: by the words of plain English sentences, or by a model.
 *
 * @since 0.1.0
 */
export * as EntityExtractor from "./semantic/EntityExtractor.js"

/**
 * A store that knows whom and what its entries name.
 *
 * @since 0.1.0
 */
export * as EntityMemoryStore from "./conversation/EntityMemoryStore.js"

/**
 * Names in a text, found by how they are written: what an index of entities is made of.
 *
 * @since 0.1.0
 */
export * as EntityNames from "./text/EntityNames.js"

/**
 * Makes one entry of several.
 *
 * @since 0.1.0
 */
export * as EpisodicCompressor from "./episodic/EpisodicCompressor.js"

/**
 * What happened: entries with a time, recalled by how recent, how important and how relevant they are.
 *
 * @since 0.1.0
 */
export * as EpisodicMemory from "./episodic/EpisodicMemory.js"

/**
 * What is known: subject, predicate, object, how sure it is, where it comes from and from when until when it held.
 *
 * @since 0.1.0
 */
export * as Fact from "./facts/Fact.js"

/**
 * What a store of facts needs from below: rows in, rows out. What contradicts what, what is known already and what a
 * fact was closed by is worked out once, in `DefaultFactStore.fromBackend`; a backend keeps rows and finds them.
 *
 * @since 0.1.0
 */
export * as FactBackend from "./facts/FactBackend.js"

/**
 * How many objects a predicate has at a time.
 *
 * @since 0.1.0
 */
export * as FactCardinality from "./facts/FactCardinality.js"

/**
 * Where facts are kept: what is known, how sure it is, and from when until when it held.
 *
 * @since 0.1.0
 */
export * as FactStore from "./facts/FactStore.js"

/**
 * Keeps the history of a conversation within its share: the newest turns stay as they are, what is older becomes a
 * summary.
 *
 * @since 0.1.0
 */
export * as HistoryCompactor from "./conversation/HistoryCompactor.js"

/**
 * When memory was consolidated last, kept so that what was missed while nothing ran is made up for at once.
 *
 * @since 0.1.0
 */
export * as LastConsolidation from "./consolidation/LastConsolidation.js"

/**
 * Memory as an application has it: a store of entries, the kinds of memory over it, a context put together from them,
 * and what keeps it small, as a configuration wants them.
 *
 * @since 0.1.0
 */
export * as Memory from "./Memory.js"

/**
 * What a store of entries needs from below: rows in, rows out. Scores, weights, fusion, expiry by configuration and
 * telemetry are written once, in `DefaultMemoryStore.fromBackend`; a backend keeps entries and finds candidates.
 *
 * @since 0.1.0
 */
export * as MemoryBackend from "./entry/MemoryBackend.js"

/**
 * A model that remembers: working memory for calls that no agent makes. Agents have theirs from the executor.
 *
 * @since 0.1.0
 */
export * as MemoryClient from "./working/MemoryClient.js"

/**
 * What an application remembers and for how long, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as MemoryConfig from "./MemoryConfig.js"

/**
 * Keeps memory small and true: doubles and what has faded go, aged groups become summaries, facts are read.
 *
 * @since 0.1.0
 */
export * as MemoryConsolidator from "./consolidation/MemoryConsolidator.js"

/**
 * What is remembered, how it is asked for and what is found. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 */
export * as MemoryEntry from "./entry/MemoryEntry.js"

/**
 * How memory fails. Inside a run none of these breaks it: the executor passes them over and says so.
 *
 * @since 0.1.0
 */
export * as MemoryError from "./entry/MemoryError.js"

/**
 * The domain events of memory: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as MemoryEvents from "./entry/MemoryEvents.js"

/**
 * The places of memory where handlers may wait.
 *
 * @since 0.1.0
 */
export * as MemoryHooks from "./entry/MemoryHooks.js"

/**
 * Metrics and span names of memory. Labels are the kinds of memory, operations and outcomes, all from fixed lists, and
 * names of stores.
 *
 * @since 0.1.0
 */
export * as MemoryMetrics from "./entry/MemoryMetrics.js"

/**
 * Lets go of what matters little or is long past.
 *
 * @since 0.1.0
 */
export * as MemoryPruner from "./consolidation/MemoryPruner.js"

/**
 * Lets a model put results in order: it sees the question and the best of them once, as numbered data, and answers with
 * their numbers. Nothing else it says is read. What stands in an entry can at most move entries among those shown; it
 * adds none, takes none away and changes none.
 *
 * @since 0.1.0
 */
export * as MemoryReranker from "./search/MemoryReranker.js"

/**
 * Several memories asked as one: all sources at once, each with a time limit; a source that fails or is too slow is
 * left out, and the answer says so. What is found is ranked once, from its relevance, whatever score its source gave
 * it.
 *
 * @since 0.1.0
 */
export * as MemoryRetriever from "./search/MemoryRetriever.js"

/**
 * Where entries are kept and found again: by their words, by vectors where there are some, by time.
 *
 * @since 0.1.0
 */
export * as MemoryStore from "./search/MemoryStore.js"

/**
 * Entries that stand for several others: how they are built and told from the rest.
 *
 * @since 0.1.0
 */
export * as MemorySummary from "./episodic/MemorySummary.js"

/**
 * Owners of what memory keeps for itself beside the entries of an owner, such as learned procedures: a space of its own
 * in every store.
 *
 * @since 0.1.0
 */
export * as OwnerNamespace from "./entry/OwnerNamespace.js"

/**
 * How things are done: procedures learned from runs that went well, recalled for tasks that are alike.
 *
 * @since 0.1.0
 */
export * as ProceduralMemory from "./procedural/ProceduralMemory.js"

/**
 * A way to do something: the steps that worked for a task, and how often they did.
 *
 * @since 0.1.0
 */
export * as Procedure from "./procedural/Procedure.js"

/**
 * Puts results in another order: by weights of one's own, or those of a query. Scores are made anew, from what each
 * entry is: its relevance, its importance and its age. A score that a result had before counts for nothing, so that
 * nothing counts twice.
 *
 * @since 0.1.0
 */
export * as RelevanceRanker from "./search/RelevanceRanker.js"

/**
 * The arithmetic of retrieval: how recent, how important and how relevant an entry is make one score; several rankings
 * make one; results that say the same give way to others. Pure functions.
 *
 * @since 0.1.0
 */
export * as Scoring from "./entry/Scoring.js"

/**
 * Which entries of an owner are meant: a filter as plain data, so that every backend can answer it in its own language.
 *
 * @since 0.1.0
 */
export * as Selection from "./entry/Selection.js"

/**
 * What is known about people and things, as facts.
 *
 * @since 0.1.0
 */
export * as SemanticMemory from "./semantic/SemanticMemory.js"

/**
 * Puts summaries in the place of what is old.
 *
 * @since 0.1.0
 */
export * as SummarizeStrategy from "./consolidation/SummarizeStrategy.js"

/**
 * A store that sums up what gets old: the newest entries stay as they are, those before become summaries.
 *
 * @since 0.1.0
 */
export * as SummaryMemoryStore from "./conversation/SummaryMemoryStore.js"

/**
 * From a text to the terms an index keeps of it, and from a query to those it is looked for by.
 *
 * @since 0.1.0
 */
export * as TextAnalyzer from "./text/TextAnalyzer.js"

/**
 * How a budget of tokens is shared among the sections of working memory.
 *
 * @since 0.1.0
 */
export * as TokenBudgetAllocator from "./working/TokenBudgetAllocator.js"

/**
 * Calls of tools and their results among entries: one without the other means nothing to a model, and providers refuse
 * it.
 *
 * @since 0.1.0
 */
export * as ToolPairs from "./entry/ToolPairs.js"

/**
 * Vectors of entries, and which are nearest.
 *
 * @since 0.1.0
 */
export * as VectorIndex from "./search/VectorIndex.js"

/**
 * What an agent has in mind: recent turns, and what the long-term stores recall for a question, within a budget of
 * tokens.
 *
 * @since 0.1.0
 */
export * as WorkingMemory from "./working/WorkingMemory.js"
