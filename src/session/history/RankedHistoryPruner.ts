/**
 * Selects turns by their rank: by any measure of relevance, and by recency.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as TokenCosts from "../../memory/entry/TokenCosts.js"
import type { SessionTurn } from "../turn/Session.js"
import { SessionCapacityError } from "../turn/SessionError.js"
import * as HistoryPruner from "./HistoryPruner.js"
import * as SessionMessages from "./SessionMessages.js"
import * as TurnPairs from "./TurnPairs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Weights {
  /**
   * The weight of recency against a relevance of 0 to 1: all of it for the newest turn, nothing for the oldest. Default
   * 0.3.
   */
  readonly recencyWeight?: number | undefined
  /** This many of the newest turns rank before all others, if they fit. Default 2. */
  readonly keepRecent?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Weights {
  /**
   * The relevance of each turn to the query, in order, from 0 to 1. A value that is not a number counts as 0. Called
   * only when something must be dropped and there is a query.
   */
  readonly relevance: (query: string, turns: ReadonlyArray<SessionTurn>) => Effect.Effect<ReadonlyArray<number>>
}

/** In conversation order. */
const order = (a: SessionTurn, b: SessionTurn): number =>
  a.depth - b.depth || a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

type Unit = Pick<TurnPairs.Unit, "turns">

interface Sorted {
  readonly inOrder: ReadonlyArray<SessionTurn>
  readonly system: ReadonlyArray<SessionTurn>
  readonly others: ReadonlyArray<SessionTurn>
  /** The unit of the newest turn; undefined when there are only system turns. */
  readonly newest: Unit | undefined
  /** The other units, which may stay. */
  readonly candidates: ReadonlyArray<Unit>
}

const sort = (turns: ReadonlyArray<SessionTurn>): Sorted => {
  const inOrder = turns.toSorted(order)
  const system = inOrder.filter(({ role }) => role === "system")
  const others = inOrder.filter(({ role }) => role !== "system")
  const last = others.at(-1)
  const units = TurnPairs.units(others)
  const newest = last === undefined ? undefined : units.find(({ turns }) => turns.includes(last))
  return { inOrder, system, others, newest, candidates: units.filter((unit) => unit !== newest && !unit.broken) }
}

interface Ranked extends Unit {
  readonly isRecent: boolean
  readonly score: number
  /** The position of its newest turn. */
  readonly place: number
}

/** Best first; the units of the newest turns come before all others, newest first. */
const rank = (
  { candidates, others }: Sorted,
  relevance: ReadonlyArray<number>,
  { keepRecent, recencyWeight }: { readonly keepRecent: number; readonly recencyWeight: number }
): ReadonlyArray<Ranked> => {
  const places = new Map(others.map((turn, index) => [turn, index] as const))
  const ranked = candidates.map(({ turns }): Ranked => {
    let place = 0
    let score = Number.NEGATIVE_INFINITY
    for (const turn of turns) {
      const at = places.get(turn) as number
      const relevant = relevance[at] ?? 0
      const recent = at / Math.max(1, others.length - 1)
      place = Math.max(place, at)
      score = Math.max(score, (Number.isNaN(relevant) ? 0 : relevant) + recencyWeight * recent)
    }
    return { turns, place, score, isRecent: place >= others.length - keepRecent }
  })
  return ranked.sort((a, b) => {
    if (a.isRecent !== b.isRecent) return a.isRecent ? -1 : 1
    return (a.isRecent || a.score === b.score ? 0 : b.score - a.score) || b.place - a.place
  })
}

/**
 * Makes a pruner from a relevance measure: turns rank by relevance and recency. A turn that does not fit is skipped.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<HistoryPruner.Service, never, TokenCounter> =>
  Effect.map(TokenCounter, (counter): HistoryPruner.Service => {
    const given = options.recencyWeight ?? 0.3
    const weights = {
      recencyWeight: given >= 0 && given < Number.POSITIVE_INFINITY ? given : 0.3,
      keepRecent: Count.count(options.keepRecent, 2, 0)
    }
    const costs = TokenCosts.make({ maxTexts: 8192, maxChars: 8_000_000 })
    const costOf = (turn: SessionTurn): number =>
      costs.get(JSON.stringify([turn.sessionId, turn.id, turn.role, turn.unanswered]), turn.content, () =>
        SessionMessages.tokens(counter, [turn])
      )

    const prune = Effect.fnUntraced(function* (
      turns: ReadonlyArray<SessionTurn>,
      { maxTokens, maxTurns, query }: HistoryPruner.PruneOptions
    ): Effect.fn.Return<HistoryPruner.Pruned, SessionCapacityError> {
      const mostTurns = Count.count(maxTurns, Number.POSITIVE_INFINITY, 1)
      const limit = maxTokens ?? Number.POSITIVE_INFINITY
      const mostTokens = Number.isNaN(limit) ? 0 : Math.max(0, limit)
      const sorted = sort(turns)
      const { candidates, inOrder, newest, system } = sorted
      const result = (units: ReadonlyArray<Unit>): HistoryPruner.Pruned => {
        const stays = new Set([...system, ...units.flatMap(({ turns }) => turns)])
        const kept = inOrder.filter((turn) => stays.has(turn))
        return { kept, dropped: turns.length - kept.length, tokens: SessionMessages.tokens(counter, kept) }
      }
      const fits = ({ tokens }: HistoryPruner.Pruned): boolean => tokens <= mostTokens
      const least = result(newest === undefined ? [] : [newest])
      if (!fits(least)) {
        return yield* new SessionCapacityError({
          message: "The system turns and the newest turn exceed the budget",
          hint: "Allow more tokens for the history",
          detail: `${mostTokens} tokens of history`
        })
      }
      if (newest === undefined) return least

      const tokensOf = ({ turns }: Unit): number =>
        mostTokens === Number.POSITIVE_INFINITY ? 0 : turns.reduce((sum, turn) => sum + costOf(turn), 0)
      const take = (units: ReadonlyArray<Unit>): ReadonlyArray<Unit> => {
        const taken = [newest]
        let usedTurns = newest.turns.length
        let usedTokens = least.tokens
        for (const unit of units) {
          if (usedTurns + unit.turns.length > mostTurns) continue
          const tokens = tokensOf(unit)
          if (!(usedTokens + tokens <= mostTokens)) continue
          taken.push(unit)
          usedTurns += unit.turns.length
          usedTokens += tokens
        }
        return taken
      }
      let taken = take(candidates)
      let pruned = result(taken)
      if (taken.length > candidates.length && fits(pruned)) return pruned
      const relevance = query === undefined || query.trim() === "" ? [] : yield* options.relevance(query, sorted.others)
      taken = take(rank(sorted, relevance, weights))
      pruned = result(taken)
      // A counter may count more tokens for all of them together than for each: the number is halved until they fit,
      // down to the newest alone.
      while (!fits(pruned) && taken.length > 1) {
        taken = taken.slice(0, Math.max(1, Math.floor(taken.length / 2)))
        pruned = result(taken)
      }
      return pruned
    })
    return { prune }
  })

/**
 * As `make`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { RankedHistoryPruner } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * // Turns that name an order matter most, whatever the question.
 * const pruner = RankedHistoryPruner.layer({
 *   relevance: (_query, turns) => Effect.succeed(turns.map(({ content }) => (/\border \d+/.test(content) ? 1 : 0))),
 *   recencyWeight: 0.1
 * })
 * ```
 */
export const layer = (options: Options): Layer.Layer<HistoryPruner.HistoryPruner, never, TokenCounter> =>
  Layer.effect(HistoryPruner.HistoryPruner, make(options))
