/**
 * Selects the entries that fit a token budget, by recency, by relevance to a query, or both.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryCapacityError } from "../entry/MemoryError.js"
import * as MemoryText from "../entry/MemoryText.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import * as TextRelevance from "../search/TextRelevance.js"
import * as ContextPruner from "./ContextPruner.js"

const recencyOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<number> => {
  let oldest = Number.POSITIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY
  for (const { timestamp } of entries) {
    oldest = Math.min(oldest, timestamp)
    newest = Math.max(newest, timestamp)
  }
  return entries.map(({ timestamp }) => (newest > oldest ? (timestamp - oldest) / (newest - oldest) : 1))
}

const relevanceOf = (entries: ReadonlyArray<MemoryEntry>, query: string): ReadonlyArray<number> =>
  TextRelevance.scores(
    query,
    entries.map(({ content }) => content)
  )

/**
 * 1 for the newest entry, 0 for the oldest.
 *
 * @since 0.1.0
 * @category scorers
 */
export const recency: ContextPruner.Scorer = {
  name: "recency",
  score: (entries) => Effect.sync(() => recencyOf(entries))
}

/**
 * BM25 of the query among the entries, as a share of the best: 1 for the most relevant entry, 0 without a word of the
 * query. Equal entries are kept newest first, so that without a query this equals `recency`.
 *
 * @since 0.1.0
 * @category scorers
 */
export const relevance: ContextPruner.Scorer = {
  name: "relevance",
  score: (entries, query) => Effect.sync(() => relevanceOf(entries, query))
}

/**
 * Combines both scores, each 0 to 1.
 *
 * @since 0.1.0
 * @category scorers
 */
export const hybrid = (
  weights?: { readonly recency?: number | undefined; readonly relevance?: number | undefined } | undefined
): ContextPruner.Scorer => {
  const recencyWeight = weights?.recency ?? 0.6
  const relevanceWeight = weights?.relevance ?? 0.4
  return {
    name: "hybrid",
    score: (entries, query) =>
      Effect.sync(() => {
        const relevant = relevanceOf(entries, query)
        return recencyOf(entries).map(
          (recent, index) => recencyWeight * recent + relevanceWeight * (relevant[index] ?? 0)
        )
      })
  }
}

const scorers: Readonly<Record<"recency" | "relevance" | "hybrid", ContextPruner.Scorer>> = {
  recency,
  relevance,
  hybrid: hybrid()
}

interface Ranked {
  readonly entries: ReadonlyArray<MemoryEntry>
  readonly score: number
  readonly tokens: number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: { readonly strategy?: ContextPruner.Strategy | undefined } | undefined
): Effect.Effect<ContextPruner.Service, never, TokenCounter> =>
  Effect.map(TokenCounter, (counter): ContextPruner.Service => {
    const count = (entries: ReadonlyArray<MemoryEntry>): number => MemoryText.messageTokens(counter, ...entries)
    const prune = <E, R>(
      entries: ReadonlyArray<MemoryEntry>,
      request: ContextPruner.PruneOptions<E, R>
    ): Effect.Effect<ContextPruner.PruningResult, MemoryCapacityError | E, R> => {
      const given: ContextPruner.Strategy<E, R> = request.strategy ?? options?.strategy ?? "hybrid"
      const scorer: ContextPruner.Scorer<E, R> = typeof given === "string" ? scorers[given] : given
      const tokenBudget = Number.isNaN(request.tokenBudget) ? 0 : Math.max(0, request.tokenBudget)
      return Effect.flatMap(scorer.score(entries, request.query ?? ""), (scores) => {
        const system = entries.filter(({ role }) => role === "system").sort(ToolPairs.chronological)
        const systemTokens = system.length === 0 ? 0 : count(system)
        if (!(systemTokens <= tokenBudget)) {
          return new MemoryCapacityError({
            message: "The system entries alone exceed the token budget",
            capacity: tokenBudget
          })
        }
        const ranked = rank(entries, scores, count)
        let taken: Array<Ranked> = []
        let used = systemTokens
        for (const unit of ranked) {
          if (!(used + unit.tokens <= tokenBudget)) continue
          taken.push(unit)
          used += unit.tokens
        }
        const keptOf = (units: ReadonlyArray<Ranked>) => [...system, ...units.flatMap(({ entries }) => entries)]
        let tokens = taken.length === 0 ? systemTokens : count(keptOf(taken).sort(ToolPairs.chronological))
        // A tokenizer may count more for all entries than for each: half as many fit at some point.
        while (!(tokens <= tokenBudget) && taken.length > 0) {
          taken = taken.slice(0, Math.floor(taken.length / 2))
          tokens = taken.length === 0 ? systemTokens : count(keptOf(taken).sort(ToolPairs.chronological))
        }
        const best = ranked[0]
        if (taken.length === 0 && request.keepAtLeastOne === true && best !== undefined) {
          taken = [best]
          tokens = count(keptOf(taken).sort(ToolPairs.chronological))
        }
        const kept = keptOf(taken)
        if (request.order !== "score") kept.sort(ToolPairs.chronological)
        return Effect.succeed({
          kept,
          prunedCount: entries.length - kept.length,
          originalCount: entries.length,
          tokenBudget,
          strategy: scorer.name,
          tokens,
          remainingBudget: Math.max(0, tokenBudget - tokens)
        })
      })
    }
    return { prune }
  })

/** Units, best first, without system entries and incomplete tool calls. */
const rank = (
  entries: ReadonlyArray<MemoryEntry>,
  scores: ReadonlyArray<number>,
  count: (entries: ReadonlyArray<MemoryEntry>) => number
): ReadonlyArray<Ranked> => {
  const scoreOf = new Map<MemoryEntry, number>()
  entries.forEach((entry, index) => {
    const score = scores[index]
    scoreOf.set(entry, score === undefined || Number.isNaN(score) ? Number.NEGATIVE_INFINITY : score)
  })
  const others = entries.filter(({ role }) => role !== "system").sort(ToolPairs.chronological)
  return ToolPairs.units(others)
    .filter(({ broken }) => !broken)
    .map(({ entries }) => ({
      entries,
      score: Math.max(...entries.map((entry) => scoreOf.get(entry) ?? Number.NEGATIVE_INFINITY)),
      tokens: count(entries)
    }))
    .reverse()
    .sort((a, b) => (a.score === b.score ? 0 : b.score - a.score))
}

/**
 * The strategy is for calls that name none. Default `hybrid`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { ContextPruner, DefaultContextPruner, MemoryEntry } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const strategy = DefaultContextPruner.hybrid({ relevance: 0.8, recency: 0.2 })
 *
 * const fit = (entries: ReadonlyArray<MemoryEntry.MemoryEntry>, query: string) =>
 *   ContextPruner.ContextPruner.pipe(
 *     Effect.flatMap((pruner) => pruner.prune(entries, { query, tokenBudget: 1_000 })),
 *     Effect.provide(DefaultContextPruner.layer({ strategy })),
 *     Effect.provide(TokenCounter.layerApproximate())
 *   )
 * ```
 */
export const layer = (
  options?: { readonly strategy?: ContextPruner.Strategy | undefined } | undefined
): Layer.Layer<ContextPruner.ContextPruner, never, TokenCounter> =>
  Layer.effect(ContextPruner.ContextPruner, make(options))
