import { assert, describe } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { TurnId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as MergeStrategy from "../../src/session/branch/MergeStrategy.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { NewTurn, stateOf } from "../../src/session/turn/Session.js"
import { SessionCheckpointCreatedHook } from "../../src/session/turn/SessionHooks.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as B from "../support/Branching.js"
import * as SystemTest from "../support/SystemTest.js"

const { sid } = B
const threeWay = MergeStrategy.threeWay()

/** A millisecond later, so that what follows has a time of its own. */
const later = TestClock.adjust(1)

const setUp = Effect.gen(function* () {
  const branches = yield* BranchManager.BranchManager
  yield* TestClock.setTime(1000)
  yield* B.create("s", { variables: { a: 0, b: 0, c: 0 } })
  yield* B.say("s", "s1")
  yield* later
  yield* branches.fork(sid("s"), { id: sid("b") })
  yield* later
  return branches
})

describe("BranchManager.merge", () => {
  SystemTest.effect("appends the turns of the branch, including those older than the head", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1", {
        role: "assistant",
        toolCalls: [{ id: "c", name: "search", params: { q: 1 }, result: "r" }],
        metadata: { k: 1 },
        model: "m",
        tokensUsed: 7,
        cost: 2
      })
      yield* later
      yield* B.say("b", "b2")
      yield* later
      yield* B.say("s", "s2")
      yield* later
      const before = yield* B.load("s")
      const branch = yield* B.load("b")
      const merged = yield* branches.merge(sid("s"), sid("b"))
      assert.isTrue(merged.isNew)
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "s2", "b1", "b2"])
      const [first, second] = merged.turns
      const [, said] = yield* B.said("b")
      assert.deepStrictEqual(first, {
        ...said!,
        id: first!.id,
        sessionId: sid("s"),
        timestamp: 1005,
        parent: before.head!,
        depth: 3,
        origin: { sessionId: sid("b"), turnId: TurnId.make("b1"), timestamp: said!.timestamp }
      })
      assert.strictEqual(second?.timestamp, 1006)
      assert.deepStrictEqual(merged.session, yield* B.load("s"))
      assert.strictEqual(merged.session.revision, before.revision + 1)
      assert.deepStrictEqual(
        [merged.session.depth, merged.session.totalTokens, merged.session.totalCost, merged.session.updatedAt],
        [4, before.totalTokens + 8, before.totalCost + 2.5, 1005]
      )
      assert.deepStrictEqual(yield* B.load("b"), branch)
      const { checkpoint } = merged
      assert.strictEqual(merged.session.checkpointId, checkpoint?.id)
      assert.deepStrictEqual(checkpoint?.merge, {
        sessionId: sid("b"),
        strategy: "append",
        ours: before.head!,
        theirs: branch.head!,
        state: stateOf(branch)
      })
      assert.deepStrictEqual(checkpoint?.state, stateOf(merged.session))
      const store = yield* SessionStore.SessionStore
      assert.deepStrictEqual(Option.getOrThrow(yield* store.lastMerge(sid("s"), sid("b"))), checkpoint)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("copies only new turns in a second merge and none in a third", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* branches.merge(sid("s"), sid("b"))
      yield* later
      yield* B.say("b", "b2")
      yield* B.say("s", "s2")
      const second = yield* branches.merge(sid("s"), sid("b"))
      assert.deepStrictEqual(
        second.turns.map(({ content }) => content),
        ["b2"]
      )
      const session = yield* B.load("s")
      const third = yield* branches.merge(sid("s"), sid("b"))
      assert.deepStrictEqual(third, { session, turns: [], conflicts: [], isNew: false })
      assert.deepStrictEqual(yield* B.load("s"), session)
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "b1", "s2", "b2"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("changes nothing for a branch without changes, however the session continued", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("s", "s2")
      yield* B.update("s", { variables: { a: 1 }, systemPrompt: "new" })
      const session = yield* B.load("s")
      for (const strategy of [MergeStrategy.append, threeWay, MergeStrategy.selective([])]) {
        const merged = yield* branches.merge(sid("s"), sid("b"), { strategy })
        assert.deepStrictEqual(merged, { session, turns: [], conflicts: [], isNew: false })
      }
      assert.deepStrictEqual(yield* B.load("s"), session)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("duplicates nothing when merging back and forth and keeps the first origin", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* B.say("s", "s2")
      for (let round = 0; round < 3; round++) {
        yield* later
        yield* branches.merge(sid("s"), sid("b"))
        yield* later
        yield* branches.merge(sid("b"), sid("s"))
      }
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "s2", "b1"])
      assert.deepStrictEqual(yield* B.words("b"), ["s1", "b1", "s2"])
      // A third one gets both, from whom it may be.
      yield* branches
        .fork(sid("s"), { id: sid("c"), fromCheckpoint: (yield* B.load("b")).checkpointId! })
        .pipe(Effect.flip)
      const c = yield* branches.fork(sid("s"), { id: sid("c") })
      assert.deepStrictEqual((yield* branches.merge(c.id, sid("b"))).turns, [])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("merges siblings and cousins from their common state", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* branches.fork(sid("s"), { id: sid("d") })
      yield* B.say("b", "b1")
      yield* B.update("b", { variables: { a: 1, b: 0, c: 0 } })
      yield* B.say("d", "d1")
      yield* B.update("d", { variables: { a: 0, b: 2, c: 0 } })
      yield* later
      yield* branches.fork(sid("d"), { id: sid("dd") })
      yield* later
      yield* B.say("dd", "dd1")
      yield* B.update("dd", { variables: { a: 0, b: 2 } })
      yield* later
      const siblings = yield* branches.merge(sid("b"), sid("d"), { strategy: threeWay })
      assert.deepStrictEqual(siblings.session.variables, { a: 1, b: 2, c: 0 })
      yield* later
      const cousins = yield* branches.merge(sid("dd"), sid("b"), { strategy: threeWay })
      assert.deepStrictEqual(cousins.session.variables, { a: 1, b: 2 })
      assert.deepStrictEqual(yield* B.words("dd"), ["s1", "d1", "dd1", "b1"])
      yield* later
      const again = yield* branches.merge(sid("s"), sid("dd"), { strategy: threeWay })
      assert.deepStrictEqual(again.session.variables, { a: 1, b: 2 })
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "d1", "dd1", "b1"])
      assert.deepStrictEqual((yield* branches.merge(sid("s"), sid("b"))).turns, [])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("brings back turns of a branch that the session dropped by a restore before the fork", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* TestClock.setTime(1000)
      yield* B.create("s", { variables: { a: 0 } })
      yield* B.say("s", "s1")
      yield* B.checkpoint("s", "c")
      yield* later
      yield* B.say("s", "s2")
      yield* B.update("s", { variables: { a: 1 } })
      yield* later
      yield* branches.fork(sid("s"), { id: sid("b") })
      yield* later
      yield* B.say("b", "b1")
      yield* B.restore("c")
      yield* later
      yield* B.say("s", "s3")
      yield* later
      const merged = yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "s3", "s2", "b1"])
      assert.deepStrictEqual(merged.session.variables, { a: 1 })
      assert.isFalse((yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })).isNew)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("merges turns again that a restore removed", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.checkpoint("s", "c")
      yield* later
      yield* B.say("b", "b1")
      yield* B.update("b", { variables: { a: 5, b: 0, c: 0 } })
      yield* branches.merge(sid("s"), sid("b"))
      yield* later
      yield* B.restore("c")
      assert.deepStrictEqual(yield* B.words("s"), ["s1"])
      yield* later
      const again = yield* branches.merge(sid("s"), sid("b"))
      assert.deepStrictEqual(
        again.turns.map(({ content }) => content),
        ["b1"]
      )
      assert.deepStrictEqual(again.session.variables, { a: 5, b: 0, c: 0 })
      assert.isFalse((yield* branches.merge(sid("s"), sid("b"))).isNew)
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "b1"])
    }).pipe(Effect.provide(B.layer()))
  )

  for (const { around, hasTurns, name } of [
    { name: "a source with turns of its own", hasTurns: true, around: undefined },
    { name: "a source without turns of its own", hasTurns: false, around: undefined },
    { name: "forks that an older version stored", hasTurns: true, around: B.withoutSourceCuts }
  ]) {
    SystemTest.effect(`does not take a state that the source abandoned for common: ${name}`, () =>
      Effect.gen(function* () {
        const branches = yield* BranchManager.BranchManager
        yield* B.create("root")
        yield* B.say("root", "1")
        yield* TestClock.setTime(10)
        yield* branches.fork(sid("root"), { id: sid("s") })
        yield* TestClock.setTime(20)
        if (hasTurns) yield* B.say("s", "2")
        yield* B.checkpoint("s", "c")
        yield* TestClock.setTime(30)
        yield* B.update("s", { variables: { a: 1 } })
        yield* branches.fork(sid("s"), { id: sid("before") })
        yield* TestClock.setTime(40)
        yield* B.restore("c")
        yield* TestClock.setTime(50)
        yield* branches.fork(sid("s"), { id: sid("after") })
        const { session } = yield* branches.merge(sid("before"), sid("after"), { strategy: threeWay })
        assert.deepStrictEqual(session.variables, { a: 1 })
        const back = yield* branches.merge(sid("after"), sid("before"), { strategy: threeWay })
        assert.deepStrictEqual(back.session.variables, { a: 1 })
      }).pipe(Effect.provide(B.layer(undefined, undefined, around)))
    )
  }

  SystemTest.effect("treats everything as added when the branch's session was deleted in between", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const store = yield* SessionStore.SessionStore
      yield* branches.fork(sid("b"), { id: sid("bb") })
      yield* later
      yield* B.say("bb", "bb1")
      yield* B.update("bb", { variables: { a: 0, b: 1, z: 1 } })
      yield* store.delete(sid("b"))
      const error = yield* Effect.flip(branches.merge(sid("s"), sid("bb"), { strategy: threeWay }))
      assert.strictEqual(error._tag, "SessionMergeError")
      const merged = yield* branches.merge(sid("s"), sid("bb"), {
        strategy: MergeStrategy.threeWay({ conflict: "theirs" })
      })
      assert.deepStrictEqual(merged.session.variables, { a: 0, b: 1, c: 0, z: 1 })
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "bb1"])
      assert.isFalse((yield* branches.merge(sid("s"), sid("bb"), { strategy: threeWay })).isNew)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("merges siblings after their parent was deleted", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const store = yield* SessionStore.SessionStore
      yield* branches.fork(sid("s"), { id: sid("d") })
      yield* store.delete(sid("s"))
      yield* B.say("b", "b1")
      yield* B.say("d", "d1")
      yield* B.update("b", { variables: { a: 1, b: 0 } })
      const merged = yield* branches.merge(sid("d"), sid("b"), { strategy: threeWay })
      assert.deepStrictEqual(merged.session.variables, { a: 1, b: 0 })
      assert.deepStrictEqual(yield* B.words("d"), ["s1", "d1", "b1"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("says why sessions cannot be merged", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* B.create("other")
      yield* B.create("hers", { userId: UserId.make("eve") })
      const why = (into: string, from: string, access = {}) =>
        Effect.map(Effect.flip(branches.merge(sid(into), sid(from), access)), (error) =>
          error._tag === "SessionMergeError" ? error.reason : error._tag
        )
      assert.strictEqual(yield* why("s", "s"), "same")
      assert.strictEqual(yield* why("s", "other"), "unrelated")
      assert.strictEqual(yield* why("s", "hers"), "unrelated")
      assert.strictEqual(yield* why("s", "hers", { userId: B.user }), "SessionNotFoundError")
      assert.strictEqual(yield* why("hers", "s", { userId: B.user }), "SessionNotFoundError")
      assert.strictEqual(yield* why("s", "none"), "SessionNotFoundError")
      const session = yield* B.load("s")
      for (const [status, tag] of [
        ["suspended", "SessionTransitionError"],
        ["closed", "SessionClosedError"],
        ["expired", "SessionExpiredError"]
      ] as const) {
        yield* B.update("s", { status })
        assert.strictEqual(yield* why("s", "b"), tag)
      }
      yield* B.update("s", { status: "active" })
      yield* B.update("b", { status: "closed" })
      assert.isTrue((yield* branches.merge(sid("s"), sid("b"))).isNew)
      assert.isAbove((yield* B.load("s")).depth, session.depth)
      yield* TestClock.adjust("25 hours")
      assert.strictEqual(yield* why("s", "b"), "SessionExpiredError")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("merges nothing when the turns would exceed the limit", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* B.say("b", "b2")
      yield* B.say("s", "s2")
      const error = yield* Effect.flip(branches.merge(sid("s"), sid("b")))
      assert.strictEqual(error._tag, "SessionCapacityError")
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "s2"])
      yield* branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.selective([TurnId.make("b2")]) })
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "s2", "b2"])
    }).pipe(Effect.provide(B.layer({ maxTurnsPerSession: 3 })))
  )

  SystemTest.effect("merges at any time into a session that never expires", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* TestClock.adjust("1000 days")
      assert.isTrue((yield* branches.merge(sid("s"), sid("b"))).isNew)
    }).pipe(Effect.provide(B.layer({ sessionTtl: 0 })))
  )

  SystemTest.effect("keeps all turns when many branches merge at once into an active session", () => {
    const count = 24
    return Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.say("s", "0")
      for (let n = 0; n < count; n++) {
        yield* branches.fork(sid("s"), { id: sid(`b${n}`) })
        yield* B.say(`b${n}`, `${n}.1`)
        yield* B.say(`b${n}`, `${n}.2`)
        yield* B.update(`b${n}`, { variables: { [`v${n}`]: n } })
      }
      yield* Effect.forEach(
        Array.from({ length: count }, (_, n) => n),
        (n) =>
          Effect.zipRight(branches.merge(sid("s"), sid(`b${n}`), { strategy: threeWay }), B.say("s", `after ${n}`)),
        { concurrency: "unbounded", discard: true }
      )
      const words = yield* B.words("s")
      assert.strictEqual(words.length, 1 + 3 * count)
      for (let n = 0; n < count; n++) assert.strictEqual(words[words.indexOf(`${n}.1`) + 1], `${n}.2`)
      const { depth, variables } = yield* B.load("s")
      assert.strictEqual(depth, words.length)
      assert.strictEqual(Object.keys(variables).length, count)
    }).pipe(Effect.provide(B.layer({ maxBranchesPerSession: count })))
  })

  SystemTest.effect("asks a strategy again only when its input changed", () => {
    const asked: Array<number> = []
    return Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      const strategy = MergeStrategy.make("slow", ({ turns }) =>
        Effect.gen(function* () {
          asked.push(turns.length)
          if (asked.length === 1) yield* SystemAccess.grant(B.say("s", "meanwhile"))
          if (asked.length === 2) yield* SystemAccess.grant(B.update("s", { variables: { a: 9 } }))
          return { turns }
        })
      )
      yield* branches.merge(sid("s"), sid("b"), { strategy })
      assert.deepStrictEqual(asked, [1])
      assert.deepStrictEqual(yield* B.words("s"), ["s1", "meanwhile", "b1"])
      yield* B.say("b", "b2")
      const merged = yield* branches.merge(sid("s"), sid("b"), { strategy })
      assert.deepStrictEqual(asked, [1, 1, 1])
      assert.deepStrictEqual(merged.session.variables, { a: 9 })
    }).pipe(Effect.provide(B.layer()))
  })

  SystemTest.effect("reads the same amount for a long and a short conversation when the branch has no turns", () => {
    const calls = new B.Calls()
    return Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const asked: Array<unknown> = []
      for (const [id, length] of [
        ["short", 10],
        ["long", 500]
      ] as const) {
        yield* B.create(id)
        for (let n = 0; n < length; n++) yield* B.say(id, String(n))
        const branch = yield* branches.fork(sid(id))
        for (let n = 0; n < length; n++) yield* B.say(id, `more ${n}`)
        yield* B.update(branch.id, { variables: { a: 1 } })
        calls.reset()
        yield* branches.merge(sid(id), branch.id)
        asked.push(Array.from(calls.of))
      }
      assert.deepStrictEqual(asked[0], asked[1])
    }).pipe(Effect.provide(B.layer({}, calls)))
  })

  SystemTest.effect("publishes a merge and its checkpoint once", () => {
    const told: Array<string> = []
    return Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.say("b", "b1")
      yield* branches.merge(sid("s"), sid("b"))
      yield* branches.merge(sid("s"), sid("b"))
      assert.deepStrictEqual(told, ["merge s"])
    }).pipe(
      Effect.provide(
        B.layer().pipe(
          Layer.provideMerge(
            Hooks.handler(SessionCheckpointCreatedHook, ({ kind, sessionId }) =>
              Effect.sync(() => {
                told.push(`${kind} ${sessionId}`)
              })
            )
          ),
          Layer.provideMerge(Hooks.layer)
        )
      )
    )
  })
})

describe("BranchManager with the SessionManager", () => {
  const layer = Layer.merge(
    DefaultBranchManager.layer(),
    DefaultSessionManager.layer({ autoCheckpointInterval: null })
  ).pipe(
    Layer.provide(Layer.mergeAll(InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
  )
  const say = (id: string, content: string) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* TestClock.adjust(1)
      yield* sessions.addTurn(
        sid(id),
        NewTurn.make({ id: TurnId.make(content), role: "user", content, timestamp: yield* Clock.currentTimeMillis })
      )
    })
  const words = (id: string) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      return (yield* sessions.turns(sid(id), { last: 100 })).map(({ content }) => content)
    })

  SystemTest.effect("merges turns again that a restore removed, and continues from there", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const sessions = yield* SessionManager.SessionManager
      yield* TestClock.setTime(1000)
      yield* sessions.create({ id: sid("s"), variables: { a: 0, b: 0 } })
      yield* say("s", "1")
      yield* branches.fork(sid("s"), { id: sid("b") })
      const { id } = yield* sessions.checkpoint(sid("s"))
      yield* say("b", "2")
      yield* sessions.update(sid("b"), { variables: { a: 1, b: 0 } })
      yield* say("s", "3")
      yield* sessions.update(sid("s"), { variables: { a: 0, b: 1 } })
      const first = yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })
      assert.deepStrictEqual(first.session.variables, { a: 1, b: 1 })
      assert.deepStrictEqual(yield* words("s"), ["1", "3", "2"])
      yield* TestClock.adjust(10)
      assert.deepStrictEqual((yield* sessions.restore(id)).variables, { a: 0, b: 0 })
      yield* say("s", "4")
      const again = yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })
      assert.deepStrictEqual(again.session.variables, { a: 1, b: 0 })
      assert.deepStrictEqual(yield* words("s"), ["1", "4", "2"])
      assert.isFalse((yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })).isNew)
      const { id: merge } = again.checkpoint!
      yield* say("s", "5")
      yield* sessions.restore(merge)
      assert.deepStrictEqual(yield* words("s"), ["1", "4", "2"])
      assert.isFalse((yield* branches.merge(sid("s"), sid("b"), { strategy: threeWay })).isNew)
    }).pipe(Effect.provide(layer))
  )
})
