import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { EntryId, SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as Selection from "../../../src/memory/entry/Selection.js"
import * as SessionMemory from "../../../src/session/manager/SessionMemory.js"
import * as Session from "../../../src/session/turn/Session.js"

const id = (length: number) => "x".repeat(length)
const session = SessionId.make
const trunk = { id: session("trunk") }
const branch = { id: session("branch"), rootSessionId: session("trunk") }

const turn = (turnId: string, fields: Partial<Session.NewTurn> = {}) =>
  Session.NewTurn.make({ id: TurnId.make(turnId), role: "user", content: turnId, timestamp: 1, ...fields })

const placed = (turnId: string, sessionId: SessionId): Session.SessionTurn =>
  Session.SessionTurn.make({ ...turn(turnId), sessionId, depth: 1 })

/** Which times of a session a way has. */
const recalled = (
  way: ReturnType<typeof SessionMemory.lineageOf>,
  sessionId: SessionId,
  times: ReadonlyArray<number>
) => {
  const selects = Selection.predicate(way) ?? (() => true)
  return times.filter((timestamp) => selects({ timestamp, sessionId, role: "user", metadata: {} }))
}

const times = [1, 5, 10, 11, 15, 20, 21, 30, 31, 40]

describe("owners", () => {
  it("keeps the names of owners apart", () => {
    const given: ReadonlyArray<{ readonly userId?: string; readonly sessionId?: string }> = [
      { userId: "ada" },
      { sessionId: "ada" },
      { userId: "session:ada" },
      { userId: "user:session:ada" },
      { sessionId: "session:ada" },
      { userId: id(256) },
      { userId: `user:${id(251)}` },
      { sessionId: id(256) },
      { sessionId: `${id(255)}y` }
    ]
    const owners = given.map((of) => SessionMemory.ownerOf(of as never) ?? "")
    assert.strictEqual(new Set(owners).size, owners.length)
    for (const owner of owners) assert.isTrue(Schema.is(MemoryEntry.OwnerId)(owner), owner)
    assert.strictEqual(owners[0], "ada")
    assert.strictEqual(SessionMemory.ownerOf({ userId: undefined, sessionId: undefined }), undefined)
  })

  it("uses the user's memory, else that of the session tree", () => {
    const userId = UserId.make("ada")
    assert.strictEqual(SessionMemory.ownerOfSession({ ...branch, userId }), "ada")
    assert.strictEqual(SessionMemory.ownerOfSession(branch), SessionMemory.ownerOf({ sessionId: trunk.id }))
    assert.strictEqual(SessionMemory.ownerOfSession(branch), SessionMemory.ownerOfSession(trunk))
  })
})

describe("a turn in memory", () => {
  it("has its content, its place and the reason for a missing answer", () => {
    const { id, ...entry } = SessionMemory.entryOf(turn("t", { unanswered: "failed", metadata: { secret: 1 } }), {
      ...branch,
      userId: UserId.make("ada")
    })
    assert.isTrue(Schema.is(EntryId)(id))
    assert.deepStrictEqual(entry, {
      ownerId: "ada",
      content: "t",
      role: "user",
      timestamp: 1,
      importance: 0.5,
      metadata: { type: "turn", unanswered: "failed", [Selection.treeKey]: "trunk" },
      sessionId: branch.id,
      turnId: TurnId.make("t")
    })
  })

  it("has one id however often it is added, and another one for another session", () => {
    const ofTrunk = SessionMemory.entryOf(turn("t"), trunk).id
    const ids = [
      ofTrunk,
      SessionMemory.entryOf(turn("t"), branch).id,
      SessionMemory.entryOf(turn("u"), trunk).id,
      SessionMemory.entryOf(turn("b t"), { id: session("a") }).id,
      SessionMemory.entryOf(turn("t"), { id: session("a b") }).id,
      SessionMemory.entryOf(turn('"],["t'), trunk).id,
      SessionMemory.entryOf(turn(id(256)), { id: session(id(256)) }).id,
      SessionMemory.entryOf(turn("__proto__"), { id: session("\ud800") }).id
    ]
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const one of ids) assert.isTrue(Schema.is(EntryId)(one), one)
    assert.strictEqual(SessionMemory.entryOf(placed("t", trunk.id), trunk).id, ofTrunk)
    assert.strictEqual(SessionMemory.toEntry(turn("t"), { ownerId: "somebody", session: trunk }).id, ofTrunk)
  })

  it("belongs to the session that wrote it, in any branch", () => {
    const shared = SessionMemory.entryOf(placed("t", trunk.id), branch)
    assert.deepStrictEqual(shared, SessionMemory.entryOf(placed("t", trunk.id), trunk))
    assert.strictEqual(shared.sessionId, trunk.id)
  })

  it("has the time since which a restored session has continued", () => {
    const restored = {
      ...trunk,
      cuts: [
        { after: 5, before: 10 },
        { after: 12, before: 20 }
      ]
    }
    const stretch = (timestamp: number, place: SessionMemory.Place = restored) =>
      SessionMemory.entryOf(turn("t", { timestamp }), place).metadata[Selection.stretchKey]
    assert.deepStrictEqual(
      [7, 10, 19, 20, 30].map((at) => stretch(at)),
      [undefined, 10, 10, 20, 20]
    )
    assert.strictEqual(stretch(30, trunk), undefined)
    const shared = SessionMemory.entryOf({ ...placed("t", trunk.id), timestamp: 30 }, { ...restored, ...branch })
    assert.notProperty(shared.metadata, Selection.stretchKey)
  })

  it("has the id of the turn and no tree outside of any session", () => {
    const entry = SessionMemory.toEntry(turn("run-1:user"), { ownerId: "ada" })
    assert.strictEqual(entry.id, EntryId.make("run-1:user"))
    assert.strictEqual(entry.sessionId, undefined)
    assert.deepStrictEqual(entry.metadata, { type: "turn" })
  })
})

describe("the lineage of a session", () => {
  const of = (fields: Partial<Session.Session>) =>
    SessionMemory.lineageOf({ ...trunk, cuts: [], lineage: [], ...fields })
  const ancestor = (sessionId: SessionId, until: number, cuts: ReadonlyArray<Session.Cut> = []): Session.Ancestor => ({
    sessionId,
    turnId: TurnId.make("t"),
    depth: 1,
    until,
    cuts
  })

  it("covers everything without forks and restores", () => {
    assert.deepStrictEqual(of({}), { tree: trunk.id, lineage: [{ sessionId: trunk.id }] })
  })

  it("excludes turns between the ends of a cut, not the ends", () => {
    const way = of({ cuts: [{ after: 10, before: 20 }] })
    assert.deepStrictEqual(recalled(way, trunk.id, times), [1, 5, 10, 20, 21, 30, 31, 40])
    const several = of({
      cuts: [
        { after: 30, before: 40 },
        { after: 5, before: 11 },
        { after: 5, before: 15 }
      ]
    })
    assert.deepStrictEqual(recalled(several, trunk.id, times), [1, 5, 15, 20, 21, 30, 40])
  })

  it("starts at the end of a cut that goes back before the first turn", () => {
    assert.deepStrictEqual(of({ cuts: [{ after: 0, before: 20 }] }).lineage, [{ sessionId: trunk.id, from: 20 }])
  })

  it("covers an ancestor's turns before the fork, without its cuts by then", () => {
    const way = SessionMemory.lineageOf({
      ...branch,
      cuts: [{ after: 11, before: 15 }],
      lineage: [ancestor(trunk.id, 30, [{ after: 5, before: 20 }])]
    })
    assert.strictEqual(way.tree, trunk.id)
    assert.deepStrictEqual(recalled(way, trunk.id, times), [1, 5, 20, 21, 30])
    assert.deepStrictEqual(recalled(way, branch.id, times), [1, 5, 10, 11, 15, 20, 21, 30, 31, 40])
    // Left right after it was restored, with nothing said since.
    const restored = of({ ...branch, lineage: [ancestor(trunk.id, 10, [{ after: 10, before: 20 }])] })
    assert.deepStrictEqual(recalled(restored, trunk.id, times), [1, 5, 10])
  })

  it("has the newest stretches, up to the limit", () => {
    const cuts = Array.from({ length: 1000 }, (_, index) => ({ after: 10 * index + 1, before: 10 * index + 2 }))
    const way = of({ cuts })
    assert.strictEqual(way.lineage.length, SessionMemory.maxStretches)
    assert.deepStrictEqual(recalled(way, trunk.id, [5, 9985, 9995, 1e6]), [9985, 9995, 1e6])
  })
})
