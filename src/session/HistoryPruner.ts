/**
 * Which turns of a session stay when not all of them may be shown.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../internal/Count.js"
import { TokenCounter } from "../llm/TokenCounter.js"
import * as TokenCosts from "../memory/TokenCosts.js"
import type { SessionTurn } from "./Session.js"
import { SessionCapacityError } from "./SessionError.js"
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
   * The best turns that fit together; the same ones for the same turns and query, in whatever order they are given. Turns of the system and
   * the newest turn stay always: `SessionCapacityError` when these alone are more tokens than allowed. A call of a tool and its results stay
   * or go together (`ToolPairs`; a call that holds its result itself is complete), the newest turn with what belongs to it, even where that
   * is more turns than allowed; one without the other goes, unless it is the newest. No turn is cut.
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
  /** What it counts to be new, against a relevance of 0 to 1: all of it for the newest turn, nothing for the oldest. Default 0.3. */
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
   * What each turn has to do with the query, in their order: 0 for nothing, 1 for as much as can be. What is no number is 0. Asked only
   * where something has to go, and there is a query.
   */
  readonly relevance: (query: string, turns: ReadonlyArray<SessionTurn>) => Effect.Effect<ReadonlyArray<number>>
}

/** In the order of the conversation. */
const order = (a: SessionTurn, b: SessionTurn): number =>
  a.depth - b.depth || a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

interface Ranked {
  readonly turns: ReadonlyArray<SessionTurn>
  readonly tokens: number
  readonly isRecent: boolean
  readonly score: number
  /** Of its newest turn. */
  readonly place: number
}

/**
 * A pruner by a measure of relevance: the turn that has most to do with the query and is newest comes first. One that does not fit is passed
 * over.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, never, TokenCounter> =>
  Effect.map(TokenCounter, (counter): Service => {
    const given = options.recencyWeight ?? 0.3
    const recencyWeight = given >= 0 ? given : 0.3
    const keepRecent = Count.count(options.keepRecent, 2, 0)
    const costs = TokenCosts.make({ maxTexts: 8192, maxChars: 8_000_000 })
    const costOf = (turn: SessionTurn): number =>
      costs.of(JSON.stringify([turn.sessionId, turn.id, turn.role, turn.unanswered]), turn.content, () =>
        SessionMessages.tokens(counter, [turn])
      )

    const prune = Effect.fnUntraced(function* (
      turns: ReadonlyArray<SessionTurn>,
      { maxTokens, maxTurns, query }: PruneOptions
    ): Effect.fn.Return<Pruned, SessionCapacityError> {
      const mostTurns = Count.count(maxTurns, Number.POSITIVE_INFINITY, 1)
      const limit = maxTokens ?? Number.POSITIVE_INFINITY
      const mostTokens = Number.isNaN(limit) ? 0 : Math.max(0, limit)
      const counted = mostTokens < Number.POSITIVE_INFINITY
      const inOrder = turns.toSorted(order)
      const system = inOrder.filter(({ role }) => role === "system")
      const others = inOrder.filter(({ role }) => role !== "system")
      const newestTurn = others.at(-1)
      const units = TurnPairs.units(others).filter(
        ({ broken, turns }) => !broken || turns.includes(newestTurn as SessionTurn)
      )
      const result = (chosen: ReadonlyArray<{ readonly turns: ReadonlyArray<SessionTurn> }>): Pruned => {
        const stays = new Set([...system, ...chosen.flatMap(({ turns }) => turns)])
        const kept = inOrder.filter((turn) => stays.has(turn))
        return { kept, dropped: turns.length - kept.length, tokens: SessionMessages.tokens(counter, kept) }
      }
      const newest = units.find(({ turns }) => turns.includes(newestTurn as SessionTurn))
      const least = result(newest === undefined ? [] : [newest])
      if (!(least.tokens <= mostTokens)) {
        return yield* new SessionCapacityError({
          message: "The turns of the system and the newest turn are more than the budget",
          hint: "Allow more tokens for the history",
          detail: `${mostTokens} tokens of history`
        })
      }
      if (newest === undefined) return least

      const fits = (pruned: Pruned): boolean => pruned.tokens <= mostTokens
      const tokensOf = (turns: ReadonlyArray<SessionTurn>): number =>
        counted ? turns.reduce((sum, turn) => sum + costOf(turn), 0) : 0
      const usable = units.flatMap(({ turns }) => turns)
      if (usable.length <= mostTurns && tokensOf([...system, ...usable]) <= mostTokens) {
        const all = result(units)
        if (fits(all)) return all
      }

      const places = new Map(others.map((turn, index) => [turn, index] as const))
      const relevance = query === undefined || query.trim() === "" ? [] : yield* options.relevance(query, others)
      const scoreOf = (turn: SessionTurn): number => {
        const place = places.get(turn) as number
        const relevant = relevance[place] ?? 0
        const recent = others.length > 1 ? place / (others.length - 1) : 1
        return (Number.isNaN(relevant) ? 0 : relevant) + recencyWeight * recent
      }
      const ranked = units
        .filter((unit) => unit !== newest)
        .map(({ turns }): Ranked => {
          const place = Math.max(...turns.map((turn) => places.get(turn) as number))
          return {
            turns,
            place,
            tokens: tokensOf(turns),
            isRecent: place >= others.length - keepRecent,
            score: Math.max(...turns.map(scoreOf))
          }
        })
        .sort((a, b) =>
          a.isRecent !== b.isRecent
            ? Number(b.isRecent) - Number(a.isRecent)
            : (a.isRecent || a.score === b.score ? 0 : b.score - a.score) || b.place - a.place
        )
      let taken: Array<{ readonly turns: ReadonlyArray<SessionTurn> }> = [newest]
      let usedTurns = newest.turns.length
      let usedTokens = least.tokens
      for (const unit of ranked) {
        if (usedTurns + unit.turns.length > mostTurns || !(usedTokens + unit.tokens <= mostTokens)) continue
        taken.push(unit)
        usedTurns += unit.turns.length
        usedTokens += unit.tokens
      }
      let pruned = result(taken)
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
