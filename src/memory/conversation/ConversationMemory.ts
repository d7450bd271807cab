/**
 * One conversation, message by message: memory for an agent that needs no recall.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { EntryId, type SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Permits from "../../internal/fiber/Permits.js"
import type { Message } from "../../llm/model/LlmClient.js"
import type { RetrievalFailure } from "../entry/MemoryError.js"
import * as MessageEntry from "../entry/MessageEntry.js"
import type { Selection } from "../entry/Selection.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as MessageWindow from "./MessageWindow.js"

/**
 * `E`: errors of storing.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConversationMemory<out E = never> {
  /** Adds a message at the end. */
  readonly addMessage: (message: Message) => Effect.Effect<void, E>
  /**
   * The kept messages, oldest first. The oldest are dropped first, except the system messages that open the
   * conversation (at most 16). Tool calls are dropped with their results, and a result without its call is omitted.
   */
  readonly getMessages: Effect.Effect<ReadonlyArray<Message>, E>
  /** Removes all messages. */
  readonly clear: Effect.Effect<void, E>
}

/** Number of messages kept beyond the bound before they are dropped together. */
const slack = 32

const bounded = (limits: { readonly turns: number; readonly messages: number }): Effect.Effect<ConversationMemory> =>
  Effect.sync(() => {
    let opening: Array<Message> = []
    let kept: ReadonlyArray<Message> = []
    let added: Array<Message> = []
    let isOpen = true
    const isBounded = limits.turns !== Number.POSITIVE_INFINITY || limits.messages !== Number.POSITIVE_INFINITY
    const shown = (): ReadonlyArray<Message> => MessageWindow.newest([...kept, ...added], limits)
    return {
      addMessage: (message) =>
        Effect.sync(() => {
          isOpen &&= message.role === "system" && opening.length < MessageWindow.maxOpening
          if (isOpen) {
            opening.push(message)
            return
          }
          added.push(message)
          // The cost of an addition does not grow with the conversation: it is trimmed when it has doubled.
          if (isBounded && added.length > kept.length + slack) {
            kept = shown()
            added = []
          }
        }),
      getMessages: Effect.sync(() => [...opening, ...shown()]),
      clear: Effect.sync(() => {
        opening = []
        kept = []
        added = []
        isOpen = true
      })
    }
  })

/**
 * Keeps messages in this process: all, or the newest `maxMessages`. System messages that open the conversation do not
 * count. The newest message stays with its calls, even if they exceed the bound.
 *
 * @since 0.1.0
 * @category constructors
 */
export const buffer = (
  options?: { readonly maxMessages?: number | undefined } | undefined
): Effect.Effect<ConversationMemory> =>
  bounded({
    turns: Number.POSITIVE_INFINITY,
    messages: Count.count(options?.maxMessages, Number.POSITIVE_INFINITY, 1)
  })

/**
 * Keeps the last `size` turns (default 5) in this process, with at most `maxMessages` messages (default unlimited). A
 * turn is a user message and everything up to the next one.
 *
 * @since 0.1.0
 * @category constructors
 */
export const window = (
  options?: { readonly size?: number | undefined; readonly maxMessages?: number | undefined } | undefined
): Effect.Effect<ConversationMemory> =>
  bounded({
    turns: Count.count(options?.size, 5, 1),
    messages: Count.count(options?.maxMessages, Number.POSITIVE_INFINITY, 1)
  })

/** Entries deleted at once. */
const page = 500

/** The place among the messages of one millisecond. */
const sequenceOf = (id: string): number | undefined => {
  const digits = /^message:(\d{8}):/.exec(id)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/**
 * One session of an owner in a store, isolated from other sessions and owners. Reads the newest `maxMessages` messages
 * (default 1000); each tool result counts as one. The store decides how long messages are kept
 * (`ConversationMemoryStore` bounds sessions). Messages are stored as entries of the type `turn`, which the other
 * memory tiers also recall.
 *
 * Messages keep the order in which they were added, even within one millisecond and when the clock goes back.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { ConversationMemory, InMemoryMemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const sessionId = Ids.SessionId.make("support-17")
 *   const conversation = yield* ConversationMemory.fromStore({ ownerId: "ada", sessionId, maxMessages: 50 })
 *   yield* conversation.addMessage({ role: "user", content: "Where is my parcel?" })
 *   return yield* conversation.getMessages
 * }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
 * ```
 */
export const fromStore = (options: {
  readonly ownerId: string
  readonly sessionId: SessionId
  readonly maxMessages?: number | undefined
}): Effect.Effect<ConversationMemory<RetrievalFailure>, never, MemoryStore.MemoryStore> =>
  Effect.gen(function* () {
    const { ownerId, sessionId } = options
    const store = yield* MemoryStore.MemoryStore
    const oneAtATime = Permits.make(1)
    const messages = Count.count(options.maxMessages, 1000, 1)
    // Entries without a type come from other programs.
    const selection: Selection = { sessionIds: [sessionId], filters: { type: { in: ["turn", null] } } }
    let last: { readonly timestamp: number; readonly sequence: number } | undefined

    const latest = Effect.map(store.getRecent({ ownerId, n: 1, selection }), ([newest]) => {
      if (newest === undefined) return { timestamp: Number.NEGATIVE_INFINITY, sequence: 0 }
      const sequence = sequenceOf(newest.id)
      return sequence === undefined
        ? { timestamp: newest.timestamp + 1, sequence: -1 }
        : { timestamp: newest.timestamp, sequence }
    })

    const oldest = Stream.runCollect(Stream.take(store.stream(ownerId, selection), MessageWindow.maxOpening))

    return {
      addMessage: (message) =>
        Effect.gen(function* () {
          const origin = MessageEntry.saidOrigin(message)
          // Entries of another session stay there.
          if (origin !== undefined && (origin.sessionId ?? sessionId) === sessionId) {
            return yield* store.storeMany(MessageEntry.toEntries(message, { ...origin, ownerId, sessionId }))
          }
          const now = yield* Clock.currentTimeMillis
          const before = last ?? (yield* latest)
          const timestamp = Math.max(now, before.timestamp)
          const sequence = timestamp === before.timestamp ? before.sequence + 1 : 0
          const id = `message:${String(sequence).padStart(8, "0")}:${yield* IdGenerator.generate}`
          yield* store.storeMany(
            MessageEntry.toEntries(message, { id: EntryId.make(id), ownerId, sessionId, timestamp })
          )
          last = { timestamp, sequence }
        }).pipe(oneAtATime),
      getMessages: Effect.gen(function* () {
        const n = messages + MessageWindow.maxOpening
        const entries = (yield* store.getRecent({ ownerId, n, selection })).toReversed()
        const first = entries.length < n ? entries : Array.from(yield* oldest)
        const opening = first.slice(0, MessageWindow.openingOf(first.map(({ role }) => role)))
        const opens = new Set(opening.map(({ id }) => id))
        const said = MessageEntry.toMessages(entries.filter(({ id }) => !opens.has(id)))
        return [
          ...MessageEntry.toMessages(opening),
          ...MessageWindow.newest(said, { turns: Number.POSITIVE_INFINITY, messages })
        ]
      }),
      clear: store.stream(ownerId, selection).pipe(
        Stream.grouped(page),
        Stream.runForEach((entries) => store.apply(ownerId, { delete: Array.from(entries, ({ id }) => id) })),
        oneAtATime
      )
    }
  })
