/**
 * Keeps the last messages of a session, so that a client that lost its connection takes them up again.
 *
 * @private
 * @since 0.1.0
 */
import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"

interface Kept {
  readonly stream: string
  readonly message: JSONRPCMessage
  readonly size: number
}

/**
 * The oldest messages are forgotten first. An event that is forgotten cannot be resumed from.
 *
 * @category constructors
 */
export const make = (options: { readonly maxEvents: number; readonly maxCharacters: number }): EventStore => {
  const kept = new Map<number, Kept>()
  let next = 1
  let characters = 0
  const find = (eventId: string): Kept | undefined =>
    /^\d{1,15}$/.test(eventId) ? kept.get(Number(eventId)) : undefined
  return {
    storeEvent: async (stream, message) => {
      const size = JSON.stringify(message).length
      const id = next++
      kept.set(id, { stream, message, size })
      characters += size
      for (const [oldest, { size }] of kept) {
        if (kept.size <= options.maxEvents && characters <= options.maxCharacters) break
        kept.delete(oldest)
        characters -= size
      }
      return String(id)
    },
    getStreamIdForEventId: async (eventId) => find(eventId)?.stream,
    replayEventsAfter: async (lastEventId, { send }) => {
      const last = find(lastEventId)
      if (last === undefined) throw new Error("The event is forgotten")
      const from = Number(lastEventId)
      for (const [id, { message, stream }] of Array.from(kept)) {
        if (id > from && stream === last.stream) await send(String(id), message)
      }
      return last.stream
    }
  }
}
