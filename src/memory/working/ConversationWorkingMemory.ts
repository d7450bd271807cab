/**
 * Working memory over plain conversations: the newest messages, without search.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId, type SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { ConversationMemory } from "../conversation/ConversationMemory.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryError, MemoryStoreError } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as MemoryText from "../entry/MemoryText.js"
import * as MessageEntry from "../entry/MessageEntry.js"
import * as Selection from "../entry/Selection.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import * as WorkingMemory from "./WorkingMemory.js"

/**
 * Makes the conversation of an owner in a session, or outside any session. The health check calls it with a reserved
 * owner (`OwnerNamespace.isReserved`).
 *
 * @since 0.1.0
 * @category models
 */
export type Conversations<E extends MemoryError = never, R = never> = (
  scope: WorkingMemory.Scope
) => Effect.Effect<ConversationMemory<E>, E, R>

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Maximum number of conversations. Default 1000. The least recently used is dropped, with what it kept in this
   * process.
   */
  readonly maxConversations?: number | undefined
}

interface Held {
  readonly scope: WorkingMemory.Scope
  readonly memory: ConversationMemory<MemoryError>
  /** Ids of the most recently added entries, so that they are not added again. */
  readonly ids: Set<EntryId>
}

/** Number of ids that are remembered per conversation. */
const maxIds = 256

const keyOf = ({ ownerId, sessionId }: WorkingMemory.Scope): string => JSON.stringify([ownerId, sessionId ?? null])

/** Messages from other sources have no timestamp, and get an id from their content. */
const entriesOf = (
  { ownerId, sessionId }: WorkingMemory.Scope,
  messages: ReadonlyArray<Message>
): Array<MemoryEntry> => {
  const entries: Array<MemoryEntry> = []
  const said = new Map<string, number>()
  for (const message of messages) {
    const origin = MessageEntry.originOf(message)
    let fields: MessageEntry.Origin
    if (origin === undefined) {
      const hash = CanonicalJson.hash([message.role, MessageEntry.textOf(message)]).slice(0, 32)
      const times = (said.get(hash) ?? 0) + 1
      said.set(hash, times)
      fields = { id: EntryId.make(`said:${hash}:${times}`), timestamp: entries.at(-1)?.timestamp ?? 0 }
    } else {
      const { sessionId: _, ...others } = origin
      fields = others
    }
    const owned = { ...fields, ownerId, ...(sessionId === undefined ? {} : { sessionId }) }
    for (const entry of MessageEntry.toEntries(message, owned)) entries.push(entry)
  }
  return entries
}

const timeOf = (unit: ToolPairs.Unit): number => unit.entries[0]?.timestamp ?? 0

/** The scopes to read: the sessions of the lineage, the session, or all held conversations of the owner. */
const scopesOf = (
  held: Iterable<Held>,
  { ownerId, sessionId }: WorkingMemory.Scope,
  lineage: ReadonlyArray<Selection.Ancestor> | undefined
): ReadonlyArray<WorkingMemory.Scope> => {
  const sessions = new Set<SessionId>(lineage?.map((ancestor) => ancestor.sessionId))
  if (sessionId !== undefined) sessions.add(sessionId)
  if (sessions.size > 0) return Array.from(sessions, (one) => ({ ownerId, sessionId: one }))
  const scopes = Array.from(held, ({ scope }) => scope).filter((scope) => scope.ownerId === ownerId)
  return scopes.some((scope) => scope.sessionId === undefined) ? scopes : [{ ownerId }, ...scopes]
}

/** The newest units that fit the budget together with the system prompt. */
const assembledOf = (
  counter: TokenCounter.Service,
  units: ReadonlyArray<ToolPairs.Unit>,
  { systemPrompt, tokenBudget }: Pick<WorkingMemory.AssembleOptions, "systemPrompt" | "tokenBudget">
): WorkingMemory.Assembled => {
  const budget = tokenBudget > 0 ? tokenBudget : 0
  const system: ReadonlyArray<Message> = systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]
  const tokensOf = (entries: ReadonlyArray<MemoryEntry>): number =>
    counter.countMessages([...system, ...MemoryText.messages({ entries, facts: [], tools: [] })]) -
    counter.countMessages([])
  const systemTokens = tokensOf([])
  const whole = units.filter(({ broken }) => !broken)
  // Lines are counted one by one, and then the whole, which may have more tokens than its lines.
  let start = whole.length
  let used =
    systemTokens + counter.countMessages([{ role: "user", content: MemoryText.heading }]) - counter.countMessages([])
  for (; start > 0; start--) {
    for (const entry of whole[start - 1]?.entries ?? []) used += counter.count(MemoryText.line.entry(entry))
    if (used > budget) break
  }
  const taken = () => whole.slice(start).flatMap(({ entries }) => entries)
  while (start < whole.length && tokensOf(taken()) > budget) start++
  const entries = taken()
  const tokens = Math.min(budget, tokensOf(entries))
  const ids = new Set(entries.map(({ id }) => id))
  const left = units.flatMap((unit) => unit.entries.map(({ id }) => id)).filter((id) => !ids.has(id))
  return {
    entries,
    facts: [],
    tools: [],
    tokens,
    report: [
      {
        source: "recent_turns",
        tokenBudget: Math.max(0, budget - systemTokens),
        tokens: Math.max(0, tokens - systemTokens),
        taken: entries.map(({ id }) => id),
        left: left.reverse()
      }
    ]
  }
}

/**
 * A working memory from conversations, one for each session of each owner, so that owners who talk to the same agent do
 * not see each other's messages. Takes what fits the budget from the newest on, tool calls with their results. The
 * query has no effect.
 *
 * Without a session it combines the owner's held conversations; on a branch it reads exactly those of the lineage,
 * whatever the tree. `flush` and `learn` do nothing, since the conversations are the whole memory. If adding several
 * entries fails, those before the failed one stay. An entry is not added again while it is among the last 256 of its
 * conversation.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E extends MemoryError = never, R = never>(
  conversations: Conversations<E, R>,
  options?: Options | undefined
): Effect.Effect<WorkingMemory.Service, never, TokenCounter.TokenCounter | R> =>
  Effect.gen(function* () {
    const maxConversations = Count.count(options?.maxConversations, 1000, 1)
    const counter = yield* TokenCounter.TokenCounter
    const telemetry = yield* MemoryTelemetry.make
    const captured = yield* CapturedContext.context<R>()
    const locks = KeyedLock.make()
    // In the order of their last use.
    const held = new Map<string, Held>()

    const open = (scope: WorkingMemory.Scope): Effect.Effect<ConversationMemory<MemoryError>, MemoryError> =>
      scope.ownerId === ""
        ? Effect.fail(
            new MemoryStoreError({ store: "conversation", message: "An owner must have 1 to 256 characters" })
          )
        : // The context of construction takes precedence over that of the run.
          Effect.provide(conversations(scope), captured)

    /** Reads do not hold a conversation: that would evict the ones in use. */
    const read = (scope: WorkingMemory.Scope): Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryError> =>
      Effect.gen(function* () {
        const memory = held.get(keyOf(scope))?.memory ?? (yield* open(scope))
        const now = yield* Clock.currentTimeMillis
        return entriesOf(scope, yield* memory.getMessages).filter(
          (entry) => entry.expiresAt === undefined || entry.expiresAt > now
        )
      })

    /** Units that belong together, oldest first. */
    const unitsOf = (
      scope: WorkingMemory.Scope,
      lineage: ReadonlyArray<Selection.Ancestor> | undefined
    ): Effect.Effect<ReadonlyArray<ToolPairs.Unit>, MemoryError> => {
      const { sessionId } = scope
      const ends = new Set(lineage?.map((ancestor) => ancestor.sessionId))
      const way =
        sessionId === undefined || ends.has(sessionId) || lineage === undefined ? lineage : [...lineage, { sessionId }]
      const selects = Selection.predicate(way === undefined ? {} : { lineage: way }) ?? (() => true)
      return Effect.map(Effect.forEach(scopesOf(held.values(), scope, lineage), read), (said) =>
        said
          .flatMap((entries) => ToolPairs.units(entries.filter(selects)))
          // The sort is stable: messages without a timestamp keep their place.
          .sort((left, right) => timeOf(left) - timeOf(right))
      )
    }

    const add = (entry: MemoryEntry): Effect.Effect<boolean, MemoryError> => {
      const { ownerId, sessionId } = entry
      const scope = sessionId === undefined ? { ownerId } : { ownerId, sessionId }
      const key = keyOf(scope)
      return locks.withLock(key)(
        Effect.gen(function* () {
          const known = held.get(key) ?? { scope, memory: yield* open(scope), ids: new Set() }
          held.delete(key)
          held.set(key, known)
          for (const [oldest] of held) {
            if (held.size <= maxConversations) break
            held.delete(oldest)
          }
          if (known.ids.has(entry.id)) return false
          yield* known.memory.addMessage(MessageEntry.toMessage(entry))
          known.ids.add(entry.id)
          for (const oldest of known.ids) {
            if (known.ids.size <= maxIds) break
            known.ids.delete(oldest)
          }
          return true
        })
      )
    }

    const addAll: WorkingMemory.Service["addAll"] = Effect.fnUntraced(
      function* (entries) {
        for (const entry of entries) {
          if (yield* add(entry)) {
            yield* telemetry.written({
              tier: "working",
              backend: "conversation",
              ownerId: entry.ownerId,
              ids: [entry.id]
            })
          }
        }
      },
      MemoryTelemetry.observed("working", "record")
    )

    const assemble: WorkingMemory.Service["assemble"] = Effect.fnUntraced(
      function* (request) {
        const { lineage, ownerId, sessionId, shown } = request
        const scope = sessionId === undefined ? { ownerId } : { ownerId, sessionId }
        const units = (yield* unitsOf(scope, lineage)).filter(
          ({ entries }) => !entries.some(({ turnId }) => turnId !== undefined && shown?.has(turnId) === true)
        )
        const assembled = assembledOf(counter, units, request)
        yield* telemetry.retrieved({ tier: "working", ownerId, count: assembled.entries.length })
        return assembled
      },
      MemoryTelemetry.observed("working", "assemble")
    )

    return {
      assemble,
      add: (entry) => addAll([entry]),
      addAll,
      getContextEntries: (scope) =>
        Effect.map(unitsOf(scope, undefined), (units) => units.flatMap(({ entries }) => entries)),
      flush: () => Effect.void,
      learn: () => Effect.void,
      // The conversation of a reserved owner: the store must answer for it.
      health: Effect.asVoid(read({ ownerId: "\u001fhealth" }))
    }
  })

/**
 * Conversations as the default working memory of agents.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ConversationMemory, ConversationWorkingMemory } from "effect-lexigram/memory"
 *
 * const memory = ConversationWorkingMemory.layer(() => ConversationMemory.window({ size: 5 }))
 * ```
 */
export const layer = <E extends MemoryError = never, R = never>(
  conversations: Conversations<E, R>,
  options?: Options | undefined
): Layer.Layer<WorkingMemory.WorkingMemory, never, TokenCounter.TokenCounter | R> =>
  Layer.effect(WorkingMemory.WorkingMemory, make(conversations, options))
