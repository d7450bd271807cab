/**
 * Plain conversations as the working memory of an agent: what was said last, and nothing else.
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
 * Makes the conversation of an owner in a session, or outside of any. It is asked for health, too, with an owner that
 * nobody has (`OwnerNamespace.isReserved`).
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
   * Conversations at most; default 1000. The one that was not added to for longest is let go of, and what it kept in
   * this process with it.
   */
  readonly maxConversations?: number | undefined
}

interface Held {
  readonly scope: WorkingMemory.Scope
  readonly memory: ConversationMemory<MemoryError>
  /** What was added last, so that the same entry is not added again. */
  readonly ids: Set<EntryId>
}

/** Ids of a conversation that are remembered. */
const maxIds = 256

const keyOf = ({ ownerId, sessionId }: WorkingMemory.Scope): string => JSON.stringify([ownerId, sessionId ?? null])

/** Messages that came from elsewhere have no time of their own and are called by what they say. */
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

/**
 * A working memory from conversations, one for each session of each owner, so that nobody sees what another said to the
 * same agent. What fits the budget is taken from the newest on, calls of tools with their results. Nothing is searched:
 * the query does not matter.
 *
 * Without a session the conversations of the owner are taken together, as far as they are held; on a branch those of
 * its lineage and no others, whatever its tree. `flush` and `learn` do nothing: a conversation is all the memory there
 * is. Of several entries those before one that fails are kept. An entry that was added already is not added again, as
 * long as it is among the last 256 of its conversation.
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
        ? Effect.fail(new MemoryStoreError({ store: "conversation", message: "an owner has 1 to 256 characters" }))
        : // What it was made with wins over what a run has.
          Effect.provide(conversations(scope), captured)

    /** What is asked for only is not held: it would push out what is used. */
    const read = (scope: WorkingMemory.Scope): Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryError> =>
      Effect.gen(function* () {
        const memory = held.get(keyOf(scope))?.memory ?? (yield* open(scope))
        const now = yield* Clock.currentTimeMillis
        return entriesOf(scope, yield* memory.getMessages).filter(
          (entry) => entry.expiresAt === undefined || entry.expiresAt > now
        )
      })

    const scopesOf = (
      { ownerId, sessionId }: WorkingMemory.Scope,
      lineage: ReadonlyArray<Selection.Ancestor> | undefined
    ): ReadonlyArray<WorkingMemory.Scope> => {
      const sessions = new Set<SessionId>(lineage?.map((ancestor) => ancestor.sessionId))
      if (sessionId !== undefined) sessions.add(sessionId)
      if (sessions.size > 0) return Array.from(sessions, (one) => ({ ownerId, sessionId: one }))
      const scopes = Array.from(held.values(), ({ scope }) => scope).filter((scope) => scope.ownerId === ownerId)
      return scopes.some((scope) => scope.sessionId === undefined) ? scopes : [{ ownerId }, ...scopes]
    }

    /** What goes together, oldest first. */
    const unitsOf = (
      scope: WorkingMemory.Scope,
      lineage: ReadonlyArray<Selection.Ancestor> | undefined
    ): Effect.Effect<ReadonlyArray<ToolPairs.Unit>, MemoryError> => {
      const { sessionId } = scope
      const ends = new Set(lineage?.map((ancestor) => ancestor.sessionId))
      const way =
        sessionId === undefined || ends.has(sessionId) || lineage === undefined ? lineage : [...lineage, { sessionId }]
      const selects = Selection.predicate(way === undefined ? {} : { lineage: way }) ?? (() => true)
      return Effect.map(Effect.forEach(scopesOf(scope, lineage), read), (said) =>
        said
          .flatMap((entries) => ToolPairs.units(entries.filter(selects)))
          // Stable: what has no time of its own stays where it was said.
          .sort((left, right) => timeOf(left) - timeOf(right))
      )
    }

    const tokensOf = (system: ReadonlyArray<Message>, entries: ReadonlyArray<MemoryEntry>): number =>
      counter.countMessages([...system, ...MemoryText.messages({ entries, facts: [], tools: [] })]) -
      counter.countMessages([])

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

    return {
      assemble: Effect.fnUntraced(
        function* (request) {
          const { lineage, ownerId, sessionId, shown, systemPrompt } = request
          const budget = request.tokenBudget > 0 ? request.tokenBudget : 0
          const system: ReadonlyArray<Message> =
            systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]
          const systemTokens = tokensOf(system, [])
          const scope = sessionId === undefined ? { ownerId } : { ownerId, sessionId }
          const units = (yield* unitsOf(scope, lineage)).filter(
            ({ entries }) => !entries.some(({ turnId }) => turnId !== undefined && shown?.has(turnId) === true)
          )
          const whole = units.filter(({ broken }) => !broken)
          // Lines are counted one by one, and the whole once more: a tokenizer may find more in it than in its lines.
          const frame = tokensOf(system, []) + counter.countMessages([{ role: "user", content: MemoryText.heading }])
          let start = whole.length
          let used = frame - counter.countMessages([])
          for (; start > 0; start--) {
            for (const entry of whole[start - 1]?.entries ?? []) used += counter.count(MemoryText.line.entry(entry))
            if (used > budget) break
          }
          const taken = () => whole.slice(start).flatMap(({ entries }) => entries)
          while (start < whole.length && tokensOf(system, taken()) > budget) start++
          const entries = taken()
          const tokens = Math.min(budget, tokensOf(system, entries))
          const ids = new Set(entries.map(({ id }) => id))
          const left = units.flatMap((unit) => unit.entries.map(({ id }) => id)).filter((id) => !ids.has(id))
          yield* telemetry.retrieved({ tier: "working", ownerId, count: entries.length })
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
        },
        MemoryTelemetry.observed("working", "assemble")
      ),
      add: (entry) => addAll([entry]),
      addAll,
      getContextEntries: (scope) =>
        Effect.map(unitsOf(scope, undefined), (units) => units.flatMap(({ entries }) => entries)),
      flush: () => Effect.void,
      learn: () => Effect.void,
      // A conversation of nobody: what lies below has to answer for it.
      health: Effect.asVoid(read({ ownerId: "\u001fhealth" }))
    }
  })

/**
 * Conversations as the working memory of every agent that has none of its own.
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
