/** Turns of one conversation. */
import * as FastCheck from "effect/FastCheck"
import { SessionId, TurnId } from "../../src/domain/Ids.js"
import type { NewTurn, SessionTurn } from "../../src/session/turn/Session.js"

/** Characters of all kinds, including unpaired surrogates, for property tests. */
export const hostile = FastCheck.constantFrom(...'ab z.\n"\\{}\u0000\u200d\u0301é漢ก😀', "\ud800", "\udfff", "\u202e")

type Fields = Partial<Omit<SessionTurn, "id" | "sessionId">>

/** A turn that is not yet in a session. */
export const fresh = (id: string, fields?: Fields): NewTurn => ({
  id: TurnId.make(id),
  role: "user",
  content: `content of ${id}`,
  timestamp: 0,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 0,
  cost: 0,
  ...fields
})

/** Turn number n of session `s`, from 1. */
export const turn = (depth: number, fields?: Fields & { readonly id?: string }): SessionTurn => {
  const { id, ...rest } = fields ?? {}
  return {
    ...fresh(id ?? `t${depth}`, { timestamp: depth * 1000, role: depth % 2 === 1 ? "user" : "assistant", ...rest }),
    sessionId: SessionId.make("s"),
    depth
  }
}

export const call = (depth: number, ...ids: ReadonlyArray<string>): SessionTurn =>
  turn(depth, { role: "assistant", metadata: { toolCallIds: ids } })

export const result = (depth: number, id: string, content = `result of ${id}`): SessionTurn =>
  turn(depth, { role: "tool", content, metadata: { toolCallId: id } })
