/**
 * The port that selects which turns of a session are shown when not all fit.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as TokenCosts from "../../memory/entry/TokenCosts.js"
import type { SessionTurn } from "../turn/Session.js"
import { SessionCapacityError } from "../turn/SessionError.js"
import * as SessionMessages from "./SessionMessages.js"
import * as TurnPairs from "./TurnPairs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface PruneOptions {
  /** What the turns are wanted for. Default nothing: the newest are the best. */
  readonly query?: string | undefined
  /** At most so many turns, those of the system not counted. Default any number. */
  readonly maxTurns?: number | undefined
  /** At most so many tokens, of all that stays as messages. Default any number. */
  readonly maxTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Pruned {
  /** In the order in which they were said. */
  readonly kept: ReadonlyArray<SessionTurn>
  /** How many are not kept. */
  readonly dropped: number
  /** Of the kept ones as messages (`SessionMessages.tokens`). */
  readonly tokens: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The best turns that fit together; the same ones for the same turns and query, in whatever order they are given.
   * Turns of the system and the newest turn stay always: `SessionCapacityError` when these alone are more tokens than
   * allowed. A call of a tool and its results stay or go together (`ToolPairs`; a call whose turn holds it needs no
   * turn of its result), the newest turn with what belongs to it, even where that is more turns than allowed; one
   * without the other goes, unless it is the newest. No turn is cut.
   */
  readonly prune: (
    turns: ReadonlyArray<SessionTurn>,
    options: PruneOptions
  ) => Effect.Effect<Pruned, SessionCapacityError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class HistoryPruner extends Context.Tag("effect-lexigram/session/HistoryPruner")<HistoryPruner, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Weights {
  /**
   * What it counts to be new, against a relevance of 0 to 1: all of it for the newest turn, nothing for the oldest.
   * Default 0.3.
   */
  readonly recencyWeight?: number | undefined
  /** So many of the newest turns come before all others, if they fit. Default 2. */
  readonly keepRecent?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Weights {
  /**
   * What each turn has to do with the query, in their order: 0 for nothing, 1 for as much as can be. What is no number
   * is 0. Asked only where something has to go, and there is a query.
   */
  readonly relevance: (query: string, turns: ReadonlyArray<SessionTurn>) => Effect.Effect<ReadonlyArray<number>>
}

/** In the order of the conversation. */
const order = (a: SessionTurn, b: SessionTurn): number =>
  a.depth - b.depth || a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

type Unit = Pick<TurnPairs.Unit, "turns">

interface Sorted {
  readonly inOrder: ReadonlyArray<SessionTurn>
  readonly system: ReadonlyArray<SessionTurn>
  readonly others: ReadonlyArray<SessionTurn>
  /** With the newest turn; undefined where there are no turns but those of the system. */
  readonly newest: Unit | undefined
  /** What may stay besides. */
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
  /** Of its newest turn. */
  readonly place: number
}

/** The best first; those of the newest turns before all others, the newest first. */
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
 * A pruner by a measure of relevance: the turn that has most to do with the query and is newest comes first. One that
 * does not fit is passed over.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, never, TokenCounter> =>
  Effect.map(TokenCounter, (counter): Service => {
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
      { maxTokens, maxTurns, query }: PruneOptions
    ): Effect.fn.Return<Pruned, SessionCapacityError> {
      const mostTurns = Count.count(maxTurns, Number.POSITIVE_INFINITY, 1)
      const limit = maxTokens ?? Number.POSITIVE_INFINITY
      const mostTokens = Number.isNaN(limit) ? 0 : Math.max(0, limit)
      const sorted = sort(turns)
      const { candidates, inOrder, newest, system } = sorted
      const result = (units: ReadonlyArray<Unit>): Pruned => {
        const stays = new Set([...system, ...units.flatMap(({ turns }) => turns)])
        const kept = inOrder.filter((turn) => stays.has(turn))
        return { kept, dropped: turns.length - kept.length, tokens: SessionMessages.tokens(counter, kept) }
      }
      const fits = ({ tokens }: Pruned): boolean => tokens <= mostTokens
      const least = result(newest === undefined ? [] : [newest])
      if (!fits(least)) {
        return yield* new SessionCapacityError({
          message: "The turns of the system and the newest turn are more than the budget",
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
      // A counter may find more in all of them than in each: half as many fit at some point, the newest alone at last.
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
 */
export const layer = (options: Options): Layer.Layer<HistoryPruner, never, TokenCounter> =>
  Layer.effect(HistoryPruner, make(options))
