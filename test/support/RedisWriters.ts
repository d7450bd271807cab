/** Writers to Redis stores, in the process of a test or in others. */
import * as Effect from "effect/Effect"
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import type * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as SessionWriter from "../../src/session/manager/SessionWriter.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import { behind, turnsOf } from "../../src/testing/session/SessionFixtures.js"

export const sessionId = SessionId.make("session")
export const owner = "owner"
export const windowMs = 3_600_000

/** Appends a turn with this id after the current head. */
export const said = (writer: SessionWriter.Service, id: SessionId, turn: string) =>
  SystemAccess.grant(
    writer.modify(id, undefined, (session) => {
      const turns = turnsOf(session, [turn])
      return Effect.succeed({
        _tag: "Append",
        value: undefined,
        addition: { session: behind(session, turns), turns },
        known: () => Effect.void
      } as SessionWriter.Decision<undefined>)
    })
  )

export const writerOf = (store: SessionStore.Service): Effect.Effect<SessionWriter.Service> =>
  Effect.provideService(SessionWriter.make, SessionStore.SessionStore, store)

export const entry = (id: string, fields: Partial<MemoryEntry.MemoryEntry> = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: owner,
    content: `about ${id}`,
    role: "user",
    timestamp: 1,
    ...fields
  })

export const stored = (store: MemoryStore.Service, name: string, count: number) =>
  Effect.gen(function* () {
    let found = 0
    for (let n = 0; n < count; n++) {
      yield* store.store(entry(`${name}-${n}`))
      const results = yield* store.retrieve(
        MemoryEntry.MemoryQuery.make({ ownerId: owner, query: `${name}-${n}`, topK: 1 })
      )
      found += results.length
    }
    return found
  })
