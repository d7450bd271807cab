/**
 * Asks the tiers of memory at once for what may help with a question.
 *
 * @internal
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../../domain/Ids.js"
import * as Step from "../../observability/Step.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryError, MemorySystemError } from "../entry/MemoryError.js"
import * as Scoring from "../entry/Scoring.js"
import * as Selection from "../entry/Selection.js"
import type * as EpisodicMemory from "../episodic/EpisodicMemory.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type * as ProceduralMemory from "../procedural/ProceduralMemory.js"
import type * as HeldEntries from "../search/HeldEntries.js"
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
export interface Asked {
  readonly found: ContextAssembly.Found
  /** What failed, by the section it would have filled. */
  readonly failed: ReadonlyMap<string, MemoryError>
  /** What the query found, not what only makes up the number. */
  readonly relevant: ReadonlySet<EntryId>
}

/**
 * Of a question for which there is no room.
 *
 * @category constants
 */
export const nothing: Asked = { found: ContextAssembly.nothing, failed: new Map(), relevant: new Set() }

/** More turns than a reader sees anyway are not looked past. */
const maxShown = 1000

/** The session; on a branch the way to it, too. */
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

/**
 * What each section may be filled with. Fails when all that was asked does; held entries stand in for turns that cannot
 * be read.
 *
 * @category combinators
 */
export const ask = (from: From, request: AssembleOptions): Effect.Effect<Asked, MemorySystemError> =>
  Effect.gen(function* () {
    const { episodic, held, maxProcedures, maxRecalled, maxRecentTurns, procedural, semantic, shares } = from
    const { ownerId, query, shown } = request
    const hidden = Math.min(shown?.size ?? 0, maxShown)
    const unseen = (entry: MemoryEntry): boolean => entry.turnId === undefined || shown?.has(entry.turnId) !== true
    const now = yield* Clock.currentTimeMillis
    const conversation = conversationOf(request)
    const way =
      request.lineage === undefined
        ? undefined
        : { lineage: lineageOf(request.lineage, request.sessionId), tree: request.tree }
    const isOf = Selection.predicate(conversation) ?? (() => true)
    const failed = new Map<TokenBudgetAllocator.Section, MemoryError>()
    let asked = 0
    const part = <A>(
      section: Exclude<TokenBudgetAllocator.Section, "system_prompt">,
      effect: Effect.Effect<ReadonlyArray<A>, MemoryError>,
      orElse: () => ReadonlyArray<A>
    ): Effect.Effect<ReadonlyArray<A>> => {
      if (!ContextAssembly.isServed(section, shares)) return Effect.succeed([])
      asked++
      return Effect.catchAll(effect, (error) =>
        Effect.sync(() => {
          failed.set(section, error)
          return orElse()
        })
      )
    }
    const none = () => []
    const relevant = new Set<EntryId>()
    // Of the best results no more can be there already than stand in the recent turns and are shown.
    const topK = maxRecalled + maxRecentTurns + hidden
    const results = yield* Step.forEach(
      [
        part(
          "recent_turns",
          episodic.recent({
            ownerId,
            n: maxRecentTurns + hidden,
            selection: { ...conversation, filters: { type: { in: ["turn", MemorySummary.TYPE] } } }
          }),
          () =>
            held
              .of({ ownerId })
              .filter((entry) => isOf(entry) && (entry.expiresAt === undefined || entry.expiresAt > now))
        ),
        part(
          "episodic",
          Effect.map(
            episodic.recall(
              {
                ownerId,
                query,
                topK,
                ...way
              },
              // Most of it is not shown; what is gets counted then.
              { counted: false }
            ),
            (results) => {
              for (const result of results) if (Scoring.isRelevant(result)) relevant.add(result.entry.id)
              return results.map(({ entry }) => entry)
            }
          ),
          none
        ),
        part("semantic", semantic.recall(ownerId, query, way), none),
        part("tool_descriptions", procedural.recall({ ownerId, task: query, limit: maxProcedures }), none)
      ] as ReadonlyArray<Effect.Effect<ReadonlyArray<unknown>>>,
      (effect) => effect
    )
    const [recent, recalled, facts, procedures] = results as unknown as [
      ReadonlyArray<MemoryEntry>,
      ReadonlyArray<MemoryEntry>,
      ContextAssembly.Found["facts"],
      ContextAssembly.Found["procedures"]
    ]
    const cause = failed.values().next().value
    if (cause !== undefined && failed.size === asked) {
      return yield* new MemorySystemError({ message: "No part of memory answers", cause })
    }
    return {
      failed,
      relevant,
      found: {
        recent: recent.filter(unseen),
        recalled: recalled.filter(unseen),
        facts,
        procedures,
        tools: request.tools ?? []
      }
    }
  })
