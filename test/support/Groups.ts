/** Sessions and participants for tests of groups. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as GroupParticipant from "../../src/session/group/GroupParticipant.js"
import { authorOf } from "../../src/session/group/RoleIsolation.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import type { SessionTurn } from "../../src/session/turn/Session.js"

export const sessionId = SessionId.make("s1")

/** The real manager over an in-memory store. */
export const sessions: Layer.Layer<SessionManager.SessionManager> = DefaultSessionManager.layer({
  autoCheckpointInterval: null
}).pipe(
  Layer.provide(Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
)

/** An open session. */
export const opened = (id: SessionId = sessionId) =>
  Effect.flatMap(SessionManager.SessionManager, (manager) => manager.create({ id }))

/** A participant that answers with the function's result and records its requests. */
export const speaker = (
  name: string,
  says: (invitation: GroupParticipant.Invitation, index: number) => GroupParticipant.Reply | string | undefined = (
    _invitation,
    index
  ) => `${name} ${index + 1}`,
  options: Omit<GroupParticipant.Options, "respond"> = {}
): GroupParticipant.GroupParticipant & { readonly asked: ReadonlyArray<GroupParticipant.Invitation> } => {
  const asked: Array<GroupParticipant.Invitation> = []
  const participant = GroupParticipant.make(name, {
    ...options,
    respond: (invitation) => Effect.sync(() => says(invitation, asked.push(invitation) - 1))
  })
  return { ...participant, asked }
}

/** Speakers and texts, in order. */
export const lines = (turns: ReadonlyArray<SessionTurn>): ReadonlyArray<string> =>
  turns.map((turn) => `${authorOf(turn).name}: ${turn.content}`)

/** All stored data of a session. */
export const kept = (id: SessionId = sessionId) =>
  Effect.flatMap(SessionManager.SessionManager, (manager) => manager.turns(id, { last: 1000 }))
