/**
 * Shows the newest turns of a session as they were said, and a summary of what was said before (`HistoryCompactor`).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import type { Message } from "../../llm/model/LlmClient.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import * as HistoryCompactor from "../../memory/conversation/HistoryCompactor.js"
import type { MemoryCapacityError } from "../../memory/entry/MemoryError.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { SessionTurn } from "../turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"
import * as SessionHistory from "./SessionHistory.js"
import * as SessionMessages from "./SessionMessages.js"
import * as SessionToolCalls from "./SessionToolCalls.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Turns that are read at most, the newest ones: those that a first summary is made of. Never fewer than are to be
   * shown. Where a summary is remembered, only what is newer is read. Default 200.
   */
  readonly window?: number | undefined
  /** Tokens of the messages at most, the summary with them, unless the reader says otherwise. Default 4096. */
  readonly tokenBudget?: number | undefined
}

/**
 * A message of a turn. Calls of tools are put in where all else is chosen, so that there is nothing to keep together.
 */
interface Item extends HistoryCompactor.Item {
  readonly turn: SessionTurn
  readonly message: Message
  /** It is what the turn says, and no note about it. */
  readonly isTurn: boolean
}

const noMetadata = {}

const itemsOf = (turn: SessionTurn): ReadonlyArray<Item> =>
  SessionMessages.fromTurn(turn).map((message, index) => ({
    turn,
    message,
    isTurn: index === 0,
    id: JSON.stringify([turn.sessionId, turn.id, index]),
    role: message.role,
    content: message.content as string,
    metadata: noMetadata
  }))

const historyOf = (
  { kept, summary }: HistoryCompactor.Compacted<Item>,
  options: Pick<SessionHistory.ReadOptions, "tokenBudget" | "toolCalls">
): Effect.Effect<SessionHistory.History> => {
  const told = summary === undefined ? [] : [HistoryCompactor.summaryMessage(summary)]
  const turns = kept.filter(({ isTurn }) => isTurn).map(({ turn }) => turn)
  const shown = [...told, ...kept.map(({ message }) => message)]
  return Effect.map(SessionToolCalls.fitting(turns, { ...options, shown }), (calls) => ({
    messages: [
      ...told,
      ...kept.flatMap(({ isTurn, message, turn }) => [...((isTurn ? calls.get(turn) : undefined) ?? []), message])
    ],
    shown: new Set(turns.map(({ id }) => id)),
    summarized: summary?.turns ?? 0
  }))
}

/** The items of the newest turns, so many of them; undefined where there are no more. */
const newest = (items: ReadonlyArray<Item>, turns: number): ReadonlyArray<Item> | undefined => {
  const places = items.flatMap(({ isTurn }, index) => (isTurn ? [index] : []))
  return places.length <= turns ? undefined : items.slice(places.at(-turns))
}

/**
 * History is summarized when there are more turns or tokens than may be shown. As many turns stay as
 * `DefaultHistoryCompactor.layer` says (`keepFraction`, about half of them), so that the next ones need no new summary.
 * If there are too many turns, the messages have no more tokens than the newest turns that are kept, including the
 * summary.
 *
 * The compactor remembers the summary by user and session, and lets it grow with the conversation; nothing is written.
 * A process that begins anew summarises the window once, and a branch has a summary of its own.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<
  SessionHistory.Service,
  never,
  SessionManager.SessionManager | HistoryCompactor.HistoryCompactor | TokenCounter
> =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const compactor = yield* HistoryCompactor.HistoryCompactor
    const counter = yield* TokenCounter
    const widest = Count.count(options?.window, 200, 1)
    const ownBudget = Count.count(options?.tokenBudget, 4096, 0)
    const tokensOf = (items: ReadonlyArray<Item>): number =>
      counter.countMessages(items.map(({ message }) => message)) - counter.countMessages([])

    const read = Effect.fnUntraced(function* ({
      access,
      session,
      tokenBudget,
      toolCalls,
      turns
    }: SessionHistory.ReadOptions): Effect.fn.Return<
      SessionHistory.History,
      SessionNotFoundError | SessionStorageError | MemoryCapacityError
    > {
      const most = Count.count(turns, 0, 0)
      if (most === 0) return SessionHistory.empty
      // Whoever else compacts what the user says in the session has other items, and a summary of its own.
      const scope = { ownerId: `turns of ${session.userId ?? ""}`, sessionId: session.id }
      const limit = Math.max(widest, most)
      const page = Math.min(limit, 2 * most + 2)
      const latest = yield* sessions.turns(session.id, { last: page, ...access })
      let items = latest.flatMap(itemsOf)
      // Without a limit nothing is summarised: this is what is remembered, and what came after.
      let whole = yield* compactor.compact({ scope, items, tokenBudget: Number.POSITIVE_INFINITY })
      const [first] = latest
      if (whole.summary === undefined && first !== undefined && latest.length === page && page < limit) {
        const before = { sessionId: first.sessionId, turnId: first.id }
        const older = yield* sessions.turns(session.id, { last: limit - page, before, ...access })
        items = [...older.flatMap(itemsOf), ...items]
        whole = yield* compactor.compact({ scope, items, tokenBudget: Number.POSITIVE_INFINITY })
      }
      const budget = tokenBudget ?? ownBudget
      const enough = newest(whole.kept, most)
      if (enough === undefined && whole.tokens <= budget) {
        return yield* historyOf(whole, { tokenBudget: budget, toolCalls })
      }
      // No more turns have room than those whose room it is.
      const room = enough === undefined ? budget : Math.min(budget, tokensOf(enough))
      const compacted = yield* compactor.compact({ scope, items, tokenBudget: room })
      return yield* historyOf(compacted, { tokenBudget: budget, toolCalls })
    })

    return {
      read: (options) =>
        Effect.catchTag(read(options), "MemoryCapacityError", () =>
          SessionHistory.overBudget("CompactedSessionHistory")
        )
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, TokenCounter } from "effect-lexigram"
 * import { DefaultHistoryCompactor } from "effect-lexigram/memory"
 * import { CompactedSessionHistory } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * const layer = Agents.layerWith({
 *   history: CompactedSessionHistory.layer({ tokenBudget: 6000 }).pipe(
 *     Layer.provide(DefaultHistoryCompactor.layer())
 *   ),
 *   tokens: TokenCounter.layer({ model: "gpt-4o" })
 * })
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<
  SessionHistory.SessionHistory,
  never,
  SessionManager.SessionManager | HistoryCompactor.HistoryCompactor | TokenCounter
> => Layer.effect(SessionHistory.SessionHistory, make(options))
