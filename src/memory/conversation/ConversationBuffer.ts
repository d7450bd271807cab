/**
 * Buffers the last turns of one conversation in this process, bounded by number and tokens.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Count from "../../internal/Count.js"
import { TokenCounter } from "../../llm/model/TokenCounter.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as MemoryText from "../entry/MemoryText.js"
import * as ToolPairs from "../entry/ToolPairs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum entries, not counting system entries. Default 20. */
  readonly maxTurns?: number | undefined
  /** Maximum tokens of all entries as messages. Default 4096. */
  readonly maxTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ConversationBuffer {
  /**
   * Appends an entry and drops the oldest ones beyond the bounds. System entries are never dropped, nor is the newest
   * entry with the call or results it belongs to (`ToolPairs`), even if they exceed the bounds alone. A call and its
   * results are dropped together; a result without its call is rejected. An entry with an existing id replaces it, in
   * its place if it has the same calls.
   */
  readonly add: (entry: MemoryEntry) => Effect.Effect<void>
  /**
   * In the order in which they were added, results with their call. A call that lacks results is included only until
   * another entry is added.
   */
  readonly entries: Effect.Effect<ReadonlyArray<MemoryEntry>>
  /** Number of entries. */
  readonly size: Effect.Effect<number>
  /** Their tokens as messages of a prompt. */
  readonly tokens: Effect.Effect<number>
  readonly clear: Effect.Effect<void>
}

interface Held {
  readonly entries: Array<MemoryEntry>
  readonly pending: Set<string>
  readonly system: boolean
  tokens: number
}

const sameTools = (a: MemoryEntry, b: MemoryEntry): boolean => {
  const calls = ToolPairs.callsOf(a)
  const others = ToolPairs.callsOf(b)
  return (
    ToolPairs.resultOf(a) === ToolPairs.resultOf(b) &&
    calls.size === others.size &&
    Array.from(calls).every((id) => others.has(id)) &&
    (a.role === "system") === (b.role === "system")
  )
}

/**
 * An empty buffer. Each entry is counted once, when it is added.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids, TokenCounter } from "effect-lexigram"
 * import { ConversationBuffer, MemoryEntry } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const buffer = yield* ConversationBuffer.make({ maxTurns: 10, maxTokens: 2_000 })
 *   const entry = { ownerId: "ada", role: "user", timestamp: 0 } as const
 *   yield* buffer.add(MemoryEntry.make({ ...entry, id: Ids.EntryId.make("1"), content: "My desk is in room 4." }))
 *   return { entries: yield* buffer.entries, tokens: yield* buffer.tokens }
 * }).pipe(Effect.provide(TokenCounter.layerApproximate()))
 * ```
 */
export const make = (options?: Options | undefined): Effect.Effect<ConversationBuffer, never, TokenCounter> =>
  Effect.map(TokenCounter, (counter) => {
    const maxTurns = Count.count(options?.maxTurns, 20, 1)
    const maxTokens = Count.count(options?.maxTokens, 4096, 0)
    const costOf = (entry: MemoryEntry): number => MemoryText.messageTokens(counter, entry)
    // In the order in which they were begun.
    const units = new Set<Held>()
    const unitOf = new Map<string, Held>()
    const waiting = new Map<string, Held>()
    let newest: Held | undefined
    let turns = 0
    let tokens = 0

    const remove = (unit: Held): void => {
      units.delete(unit)
      tokens -= unit.tokens
      if (!unit.system) turns -= unit.entries.length
      for (const { id } of unit.entries) unitOf.delete(id)
      for (const id of unit.pending) if (waiting.get(id) === unit) waiting.delete(id)
      if (newest === unit) newest = undefined
    }

    const makeRoom = (): void => {
      for (const unit of units) {
        if (turns <= maxTurns && tokens <= maxTokens) return
        if (!unit.system && unit !== newest) remove(unit)
      }
    }

    const put = (unit: Held, entry: MemoryEntry): void => {
      const cost = costOf(entry)
      unit.entries.push(entry)
      unit.tokens += cost
      tokens += cost
      if (!unit.system) turns++
      unitOf.set(entry.id, unit)
      newest = unit
    }

    const add = (entry: MemoryEntry): void => {
      const known = unitOf.get(entry.id)
      if (known !== undefined) {
        const index = known.entries.findIndex(({ id }) => id === entry.id)
        if (sameTools(known.entries[index] as MemoryEntry, entry)) {
          const more = costOf(entry) - costOf(known.entries[index] as MemoryEntry)
          known.entries[index] = entry
          known.tokens += more
          tokens += more
          makeRoom()
          return
        }
        remove(known)
      }
      const result = ToolPairs.resultOf(entry)
      if (result !== undefined) {
        const call = waiting.get(result)
        if (call === undefined) return
        call.pending.delete(result)
        waiting.delete(result)
        put(call, entry)
        makeRoom()
        return
      }
      const unit: Held = {
        entries: [],
        pending: ToolPairs.callsOf(entry),
        system: entry.role === "system",
        tokens: 0
      }
      units.add(unit)
      for (const id of unit.pending) waiting.set(id, unit)
      put(unit, entry)
      makeRoom()
    }

    return {
      add: (entry) => Effect.sync(() => add(entry)),
      entries: Effect.sync(() =>
        Array.from(units).flatMap((unit, index, all) =>
          unit.pending.size === 0 || index === all.length - 1 ? unit.entries : []
        )
      ),
      size: Effect.sync(() => unitOf.size),
      tokens: Effect.sync(() => tokens),
      clear: Effect.sync(() => {
        units.clear()
        unitOf.clear()
        waiting.clear()
        newest = undefined
        turns = 0
        tokens = 0
      })
    }
  })
