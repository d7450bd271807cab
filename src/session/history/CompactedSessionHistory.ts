/**
 * Shows the newest turns of a session verbatim, after a summary of the earlier ones (`HistoryCompactor`).
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
   * The maximum number of newest turns to read; the first summary is made of them. Never fewer than are shown. When a
   * summary is remembered, only newer turns are read. Default 200.
   */
  readonly window?: number | undefined
  /** The maximum number of tokens of the messages, including the summary, unless the reader sets one. Default 4096. */
  readonly tokenBudget?: number | undefined
}

/** A message of a turn. Tool calls are added after the selection, so nothing has to stay together here. */
interface Item extends HistoryCompactor.Item {
  readonly turn: SessionTurn
  readonly message: Message
  /** It is the turn itself, not a note about it. */
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
  const summaryMessages = summary === undefined ? [] : [HistoryCompactor.summaryMessage(summary)]
  const turns = kept.filter(({ isTurn }) => isTurn).map(({ turn }) => turn)
  const shown = [...summaryMessages, ...kept.map(({ message }) => message)]
  return Effect.map(SessionToolCalls.fitting(turns, { ...options, shown }), (calls) => ({
    messages: [
      ...summaryMessages,
      ...kept.flatMap(({ isTurn, message, turn }) => [...((isTurn ? calls.get(turn) : undefined) ?? []), message])
    ],
    shown: new Set(turns.map(({ id }) => id)),
    summarized: summary?.turns ?? 0
  }))
}

/** The items of the newest turns; undefined when there are fewer. */
const newest = (items: ReadonlyArray<Item>, turns: number): ReadonlyArray<Item> | undefined => {
  const places = items.flatMap(({ isTurn }, index) => (isTurn ? [index] : []))
  return places.length <= turns ? undefined : items.slice(places.at(-turns))
}

/**
 * History is summarized when there are more turns or tokens than may be shown. `DefaultHistoryCompactor.layer` sets how
 * many turns stay (`keepFraction`, about half), so that the next turns need no new summary. If there are too many
 * turns, the messages and the summary together have no more tokens than the newest turns that stay.
 *
 * The compactor remembers the summary by user and session, and lets it grow with the conversation; nothing is written.
 * A new process summarizes the window once, and a branch has its own summary.
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
      // Another compaction of the same session has other items and its own summary.
      const scope = { ownerId: `turns of ${session.userId ?? ""}`, sessionId: session.id }
      const limit = Math.max(widest, most)
      const page = Math.min(limit, 2 * most + 2)
      const latest = yield* sessions.turns(session.id, { last: page, ...access })
      let items = latest.flatMap(itemsOf)
      // Without a limit nothing is summarized: the result is the remembered summary and the turns after it.
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
      // The summary never makes room for more turns than the limit.
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
