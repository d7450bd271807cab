/**
 * A store that keeps the newest entries of each owner: first in, first out.
 *
 * @since 0.1.0
 */
export * as BufferMemoryStore from "./conversation/BufferMemoryStore.js"

/**
 * A memory store on a `CacheBackend`: Redis, a `KeyValueStore`, this process. Entries live as long as the cache keeps
 * them.
 *
 * @since 0.1.0
 */
export * as CacheMemoryStore from "./cache/CacheMemoryStore.js"

/**
 * The consolidation scheduler port: consolidates the memory of all owners.
 *
 * @since 0.1.0
 */
export * as ConsolidationScheduler from "./consolidation/ConsolidationScheduler.js"

/**
 * The consolidation strategies: remove duplicates, faded and unimportant entries, and fade importance.
 *
 * @since 0.1.0
 */
export * as ConsolidationStrategies from "./consolidation/ConsolidationStrategies.js"

/**
 * The port that selects the entries that fit a token budget.
 *
 * @since 0.1.0
 */
export * as ContextPruner from "./working/ContextPruner.js"

/**
 * Buffers the last turns of one conversation in this process, bounded by number and tokens.
 *
 * @since 0.1.0
 */
export * as ConversationBuffer from "./conversation/ConversationBuffer.js"

/**
 * One conversation, message by message: memory for an agent that needs no recall.
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
 * Working memory over plain conversations: the newest messages, without search.
 *
 * @since 0.1.0
 */
export * as ConversationWorkingMemory from "./working/ConversationWorkingMemory.js"

/**
 * Orders results by the scores of a {@link CrossEncoder.CrossEncoder}, which reads the question and each result
 * together.
 *
 * @since 0.1.0
 */
export * as CrossEncoderReranker from "./rerank/CrossEncoderReranker.js"

/**
 * Consolidates the memory of all owners at a fixed interval or on demand.
 *
 * @since 0.1.0
 */
export * as DefaultConsolidationScheduler from "./consolidation/DefaultConsolidationScheduler.js"

/**
 * Selects the entries that fit a token budget, by recency, by relevance to a query, or both.
 *
 * @since 0.1.0
 */
export * as DefaultContextPruner from "./working/DefaultContextPruner.js"

/**
 * Extracts facts and names from entries, by plain English sentences or by a model.
 *
 * @since 0.1.0
 */
export * as DefaultEntityExtractor from "./semantic/DefaultEntityExtractor.js"

/**
 * Compressors that quote entries, ask a model, or use any function that writes the text of a summary.
 *
 * @since 0.1.0
 */
export * as DefaultEpisodicCompressor from "./episodic/DefaultEpisodicCompressor.js"

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
 * The history compactor: keeps the newest turns and lets a model summarize the older ones.
 *
 * @since 0.1.0
 */
export * as DefaultHistoryCompactor from "./conversation/DefaultHistoryCompactor.js"

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
 * Queries all sources concurrently, each with a timeout. A source that fails or is too slow is skipped and reported.
 * Results are ranked once, by their relevance; the scores of the sources are ignored.
 *
 * @since 0.1.0
 */
export * as DefaultMemoryRetriever from "./search/DefaultMemoryRetriever.js"

/**
 * The memory store over a backend: checks, lifetimes, pages, vectors and scores.
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
 * The port that extracts facts and names from entries.
 *
 * @since 0.1.0
 */
export * as EntityExtractor from "./semantic/EntityExtractor.js"

/**
 * The port that decides which known person or thing a mention means where the rules of `EntityResolution` are
 * undecided.
 *
 * @since 0.1.0
 */
export * as EntityMatcher from "./semantic/EntityMatcher.js"

/**
 * A store that indexes entries by the entities they name.
 *
 * @since 0.1.0
 */
export * as EntityMemoryStore from "./conversation/EntityMemoryStore.js"

/**
 * Finds names in a text by how they are written, for an index of entities.
 *
 * @since 0.1.0
 */
export * as EntityNames from "./text/EntityNames.js"

/**
 * Decides whether two mentions name the same person or thing, by rules and by aliases that somebody declared.
 *
 * @since 0.1.0
 */
export * as EntityResolution from "./semantic/EntityResolution.js"

/**
 * The port that summarizes several entries into one.
 *
 * @since 0.1.0
 */
export * as EpisodicCompressor from "./episodic/EpisodicCompressor.js"

/**
 * The episodic memory port: entries recalled by recency, importance and relevance.
 *
 * @since 0.1.0
 */
export * as EpisodicMemory from "./episodic/EpisodicMemory.js"

/**
 * Facts: subject, predicate and object, with confidence, sources and validity.
 *
 * @since 0.1.0
 */
export * as Fact from "./facts/Fact.js"

/**
 * The port that a fact store is built on: rows in, rows out. `DefaultFactStore.fromBackend` resolves contradictions,
 * repetitions and closings once; a backend stores rows and finds them.
 *
 * @since 0.1.0
 */
export * as FactBackend from "./facts/FactBackend.js"

/**
 * Decides how many objects a predicate has at a time.
 *
 * @since 0.1.0
 */
export * as FactCardinality from "./facts/FactCardinality.js"

/**
 * Extracts facts soon after a conversation, instead of with consolidation a day later.
 *
 * @since 0.1.0
 */
export * as FactExtraction from "./working/FactExtraction.js"

/**
 * The fact store port: facts with their confidence and the time in which they held.
 *
 * @since 0.1.0
 */
export * as FactStore from "./facts/FactStore.js"

/**
 * Finds facts by meaning: a fact store in whose context an `Embedder` is has a vector of each fact that holds.
 *
 * @since 0.1.0
 */
export * as FactVectors from "./semantic/FactVectors.js"

/**
 * Chooses examples for a prompt: those whose inputs are most like the input of the task, and unlike each other.
 *
 * @since 0.1.0
 */
export * as FewShot from "./example/FewShot.js"

/**
 * The history compactor port: fits the history of a conversation into a token budget by summarizing its older turns.
 *
 * @since 0.1.0
 */
export * as HistoryCompactor from "./conversation/HistoryCompactor.js"

/**
 * Judges how important it is to remember entries, by rules or by a model.
 *
 * @since 0.1.0
 */
export * as ImportanceJudge from "./semantic/ImportanceJudge.js"

/**
 * A fact store in this process. Its facts end with the process.
 *
 * @since 0.1.0
 */
export * as InMemoryFactStore from "./facts/InMemoryFactStore.js"

/**
 * A memory store in this process. Its entries end with the process.
 *
 * @since 0.1.0
 */
export * as InMemoryMemoryStore from "./search/InMemoryMemoryStore.js"

/**
 * Stores when memory was last consolidated, so that a run missed while no process was running is made up for at once.
 *
 * @since 0.1.0
 */
export * as LastConsolidation from "./consolidation/LastConsolidation.js"

/**
 * The memory subsystem: its configuration, health, and deletion of an owner's data.
 *
 * @since 0.1.0
 */
export * as Memory from "./Memory.js"

/**
 * The port that a memory store is built on: rows in, rows out. `DefaultMemoryStore.fromBackend` implements scores,
 * weights, fusion, configured expiry and telemetry once; a backend stores entries and finds candidates.
 *
 * @since 0.1.0
 */
export * as MemoryBackend from "./entry/MemoryBackend.js"

/**
 * Memory blocks: small named records about a user that agents always see, typed by a schema, and that a model changes
 * field by field.
 *
 * @since 0.1.0
 */
export * as MemoryBlock from "./tools/MemoryBlock.js"

/**
 * A model client with working memory, for calls outside agents. Agents get memory from the executor.
 *
 * @since 0.1.0
 */
export * as MemoryClient from "./working/MemoryClient.js"

/**
 * The configuration of memory, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as MemoryConfig from "./MemoryConfig.js"

/**
 * The memory consolidator port: removes duplicate and faded entries, summarizes aged ones and extracts facts.
 *
 * @since 0.1.0
 */
export * as MemoryConsolidator from "./consolidation/MemoryConsolidator.js"

/**
 * Memory entries, queries and search results. Times are in milliseconds since the epoch.
 *
 * @since 0.1.0
 */
export * as MemoryEntry from "./entry/MemoryEntry.js"

/**
 * Errors of memory. None of them fails a run: the executor reports them and continues without memory.
 *
 * @since 0.1.0
 */
export * as MemoryError from "./entry/MemoryError.js"

/**
 * Domain events published by the memory subsystem.
 *
 * @since 0.1.0
 */
export * as MemoryEvents from "./entry/MemoryEvents.js"

/**
 * Hook points of memory.
 *
 * @since 0.1.0
 */
export * as MemoryHooks from "./entry/MemoryHooks.js"

/**
 * Metrics and span names of memory. All labels (tiers, operations, outcomes) come from fixed lists, except store names.
 *
 * @since 0.1.0
 */
export * as MemoryMetrics from "./entry/MemoryMetrics.js"

/**
 * Namespaces of memory: whom an entry, a fact or a block belongs to besides single users. A project, a team or an
 * organization owns its memory as a user does.
 *
 * @since 0.1.0
 */
export * as MemoryNamespace from "./tools/MemoryNamespace.js"

/**
 * Which namespaces an agent reads and writes for the user of a run: its own declaration, within what the application
 * knows of that user. No argument of a model widens it.
 *
 * @since 0.1.0
 */
export * as MemoryNamespaces from "./tools/MemoryNamespaces.js"

/**
 * Deletes unimportant and old entries.
 *
 * @since 0.1.0
 */
export * as MemoryPruner from "./consolidation/MemoryPruner.js"

/**
 * The port that puts search results into a better order.
 *
 * @since 0.1.0
 */
export * as MemoryReranker from "./rerank/MemoryReranker.js"

/**
 * The port that queries several memories as one.
 *
 * @since 0.1.0
 */
export * as MemoryRetriever from "./search/MemoryRetriever.js"

/**
 * The memory store port: stores entries and finds them by words, vectors or time.
 *
 * @since 0.1.0
 */
export * as MemoryStore from "./search/MemoryStore.js"

/**
 * Builds and recognizes entries that summarize others.
 *
 * @since 0.1.0
 */
export * as MemorySummary from "./episodic/MemorySummary.js"

/**
 * The error of memory tools, and the owner for whom they act.
 *
 * @since 0.1.0
 */
export * as MemoryToolError from "./tools/MemoryToolError.js"

/**
 * Tools by which a model keeps notes about its user: `remember`, `search_memory` and `forget`.
 *
 * @since 0.1.0
 */
export * as MemoryTools from "./tools/MemoryTools.js"

/**
 * Asks a model which known person or thing a mention means.
 *
 * @since 0.1.0
 */
export * as ModelEntityMatcher from "./semantic/ModelEntityMatcher.js"

/**
 * Lets a model order results. It sees the question and the best results once, as numbered data, and answers with their
 * numbers; nothing else in its answer is used. The content of an entry can at most reorder the entries shown. It cannot
 * add, remove or change any.
 *
 * @since 0.1.0
 */
export * as ModelMemoryReranker from "./rerank/ModelMemoryReranker.js"

/**
 * Owner names for data that memory keeps in addition to an owner's entries, such as learned procedures: a separate
 * space in every store.
 *
 * @since 0.1.0
 */
export * as OwnerNamespace from "./entry/OwnerNamespace.js"

/**
 * The procedural memory port: procedures learned from successful runs, recalled for similar tasks.
 *
 * @since 0.1.0
 */
export * as ProceduralMemory from "./procedural/ProceduralMemory.js"

/**
 * A procedure: the steps that solved a task, and how often they did.
 *
 * @since 0.1.0
 */
export * as Procedure from "./procedural/Procedure.js"

/**
 * Ranks results by custom weights or those of a query. Recomputes each score from the relevance, importance and age of
 * the entry. Previous scores are ignored, so that nothing counts twice.
 *
 * @since 0.1.0
 */
export * as RelevanceRanker from "./search/RelevanceRanker.js"

/**
 * Arithmetic of retrieval: combines recency, importance and relevance into one score, fuses rankings, and diversifies
 * results. Pure functions.
 *
 * @since 0.1.0
 */
export * as Scoring from "./entry/Scoring.js"

/**
 * Selects entries of an owner by a filter that is plain data, so that every backend can translate it to its own
 * language.
 *
 * @since 0.1.0
 */
export * as Selection from "./entry/Selection.js"

/**
 * The semantic memory port: facts about people and things.
 *
 * @since 0.1.0
 */
export * as SemanticMemory from "./semantic/SemanticMemory.js"

/**
 * Replaces old entries by summaries.
 *
 * @since 0.1.0
 */
export * as SummarizeStrategy from "./consolidation/SummarizeStrategy.js"

/**
 * A store that replaces old entries by summaries and keeps the newest as they are.
 *
 * @since 0.1.0
 */
export * as SummaryMemoryStore from "./conversation/SummaryMemoryStore.js"

/**
 * Turns texts into the terms of an index, and queries into the terms to search for.
 *
 * @since 0.1.0
 */
export * as TextAnalyzer from "./text/TextAnalyzer.js"

/**
 * Divides a token budget among the sections of working memory.
 *
 * @since 0.1.0
 */
export * as TokenBudgetAllocator from "./working/TokenBudgetAllocator.js"

/**
 * Pairs tool calls with their results. One without the other means nothing to a model, and providers reject it.
 *
 * @since 0.1.0
 */
export * as ToolPairs from "./entry/ToolPairs.js"

/**
 * The vector index port: stores vectors of entries and finds the nearest.
 *
 * @since 0.1.0
 */
export * as VectorIndex from "./search/VectorIndex.js"

/**
 * The working memory port: recent turns and recalled content for a query, within a token budget.
 *
 * @since 0.1.0
 */
export * as WorkingMemory from "./working/WorkingMemory.js"
