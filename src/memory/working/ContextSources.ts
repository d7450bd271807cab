/**
 * Queries the memory tiers concurrently.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SessionId } from "../../domain/Ids.js"
import * as Step from "../../observability/Step.js"
import type { MemoryEntry, MemorySearchResult } from "../entry/MemoryEntry.js"
import { type MemoryError, MemorySystemError } from "../entry/MemoryError.js"
import * as Scoring from "../entry/Scoring.js"
import * as Selection from "../entry/Selection.js"
import type * as EpisodicMemory from "../episodic/EpisodicMemory.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type * as ProceduralMemory from "../procedural/ProceduralMemory.js"
import type * as HeldEntries from "../search/HeldEntries.js"
import * as SharedRanking from "../search/SharedRanking.js"
import type * as SemanticMemory from "../semantic/SemanticMemory.js"
import * as ContextAssembly from "./ContextAssembly.js"
import type * as TokenBudgetAllocator from "./TokenBudgetAllocator.js"
import type { AssembleOptions } from "./WorkingMemory.js"

/**
 * @category models
 */
export interface From {
  readonly episodic: EpisodicMemory.Service
  readonly semantic: SemanticMemory.Service
  readonly procedural: ProceduralMemory.Service
  readonly held: HeldEntries.HeldEntries
  readonly shares: TokenBudgetAllocator.Shares
  readonly maxRecentTurns: number
  readonly maxRecalled: number
  readonly maxProcedures: number
}

/**
 * @category models
 */
export interface Answers {
  readonly found: ContextAssembly.Found
  /** Failures, by the section they would have filled. */
  readonly failed: ReadonlyMap<string, MemoryError>
  /** Keys of entries that the query found (`ContextAssembly.keyOf`), without those that only fill up the results. */
  readonly relevant: ReadonlySet<string>
}

/**
 * The answer if there is no room for any.
 *
 * @category constants
 */
export const nothing: Answers = { found: ContextAssembly.nothing, failed: new Map(), relevant: new Set() }

/** Upper bound of the shown turns that a query compensates for. */
const maxShown = 1000

/** Selects the session, and on a branch its lineage. */
const conversationOf = ({ lineage, sessionId, tree }: AssembleOptions): Selection.Selection => {
  if (sessionId === undefined) return { lineage, tree }
  if (lineage === undefined) return { sessionIds: [sessionId] }
  return {
    sessionIds: [...lineage.map((ancestor) => ancestor.sessionId), sessionId],
    lineage: lineageOf(lineage, sessionId)
  }
}

const lineageOf = (
  lineage: ReadonlyArray<Selection.Ancestor>,
  sessionId: SessionId | undefined
): ReadonlyArray<Selection.Ancestor> =>
  sessionId === undefined || lineage.some((ancestor) => ancestor.sessionId === sessionId)
    ? lineage
    : [...lineage, { sessionId }]

type Conditions = Pick<Selection.Selection, "lineage" | "tree"> | undefined

/** Turns of the conversation, including those before the branch. Held entries stand in if they cannot be read. */
const recentTurns = (from: From, request: AssembleOptions, hidden: number, now: number) => {
  const conversation = conversationOf(request)
  const isOf = Selection.predicate(conversation) ?? (() => true)
  return {
    effect: from.episodic.recent({
      ownerId: request.ownerId,
      n: from.maxRecentTurns + hidden,
      selection: { ...conversation, filters: { type: { in: ["turn", MemorySummary.TYPE] } } }
    }),
    orElse: () =>
      from.held
        .entriesOf({ ownerId: request.ownerId })
        .filter((entry) => isOf(entry) && (entry.expiresAt === undefined || entry.expiresAt > now))
  }
}

/** Recalled entries, without counting them as accessed: most of them are not used. */
const recall =
  (from: From, { query }: AssembleOptions, conditions: Conditions, hidden: number) =>
  (ownerId: string) =>
    from.episodic.recall(
      // At most the recent turns and the hidden turns are duplicates of results.
      { ownerId, query, topK: from.maxRecalled + from.maxRecentTurns + hidden, ...conditions },
      { counted: false }
    )

type Failures = Map<TokenBudgetAllocator.Section, MemoryError>

/**
 * Queries the owner and the namespaces that it inherits from, in one list for each. A namespace that fails is left out
 * and reported.
 */
const ofEach = <A>(
  { inherits = [], ownerId }: AssembleOptions,
  section: TokenBudgetAllocator.Section,
  incomplete: Failures,
  ask: (ownerId: string) => Effect.Effect<ReadonlyArray<A>, MemoryError>
): Effect.Effect<ReadonlyArray<ReadonlyArray<A>>, MemoryError> =>
  inherits.length === 0
    ? Effect.map(ask(ownerId), (own) => [own])
    : Step.forEach([{ ownerId }, ...inherits], (one, index) =>
        index === 0
          ? ask(one.ownerId)
          : Effect.catchAll(ask(one.ownerId), (error) =>
              Effect.sync(() => {
                incomplete.set(section, error)
                return []
              })
            )
      )

/**
 * Queries the tiers concurrently for the contents of each section. Fails if all queries fail. Held entries stand in for
 * turns that cannot be read.
 *
 * @category combinators
 */
export const query = (from: From, request: AssembleOptions): Effect.Effect<Answers, MemorySystemError> =>
  Effect.gen(function* () {
    const { ownerId, query, shown } = request
    const hidden = Math.min(shown?.size ?? 0, maxShown)
    const turns = recentTurns(from, request, hidden, yield* Clock.currentTimeMillis)
    const conditions: Conditions =
      request.lineage === undefined
        ? undefined
        : { lineage: lineageOf(request.lineage, request.sessionId), tree: request.tree }
    const failed: Failures = new Map()
    const incomplete: Failures = new Map()
    let asked = 0
    const part = <A>(
      section: Exclude<TokenBudgetAllocator.Section, "system_prompt">,
      effect: Effect.Effect<ReadonlyArray<A>, MemoryError>,
      orElse: () => ReadonlyArray<A> = () => []
    ): Effect.Effect<ReadonlyArray<A>> => {
      if (!ContextAssembly.isServed(section, from.shares)) return Effect.succeed([])
      asked++
      return Effect.catchAll(effect, (error) =>
        Effect.sync(() => {
          failed.set(section, error)
          return orElse()
        })
      )
    }
    const [recent, recalled, facts, procedures] = (yield* Step.forEach(
      [
        part("recent_turns", turns.effect, turns.orElse),
        part(
          "episodic",
          Effect.map(ofEach(request, "episodic", incomplete, recall(from, request, conditions, hidden)), (results) =>
            SharedRanking.results(query, results)
          )
        ),
        part(
          "semantic",
          Effect.map(
            ofEach(request, "semantic", incomplete, (owner) => from.semantic.recall(owner, query, conditions)),
            SharedRanking.ranks
          )
        ),
        part("tool_descriptions", from.procedural.recall({ ownerId, task: query, limit: from.maxProcedures }))
      ] as ReadonlyArray<Effect.Effect<ReadonlyArray<unknown>>>,
      (effect) => effect
    )) as unknown as [
      ReadonlyArray<MemoryEntry>,
      ReadonlyArray<MemorySearchResult>,
      ContextAssembly.Found["facts"],
      ContextAssembly.Found["procedures"]
    ]
    const cause = failed.values().next().value
    if (cause !== undefined && failed.size === asked) {
      return yield* new MemorySystemError({ message: "Every tier of memory failed", cause })
    }
    const unseen = (entry: MemoryEntry): boolean => entry.turnId === undefined || shown?.has(entry.turnId) !== true
    return {
      failed: new Map([...incomplete, ...failed]),
      relevant: new Set(recalled.filter(Scoring.isRelevant).map(({ entry }) => ContextAssembly.keyOf(entry))),
      found: {
        recent: recent.filter(unseen),
        recalled: recalled.map(({ entry }) => entry).filter(unseen),
        facts,
        procedures,
        tools: request.tools ?? []
      }
    }
  })
