import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { TurnId } from "../../../src/domain/Ids.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { CheckpointId, SessionCheckpoint } from "../../../src/session/turn/Session.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, bob, layer, sid, Told, turn, words } = ManagedSessions
const id = sid("s1")

const loaded = Effect.flatMap(SessionManager.SessionManager, (sessions) =>
  Effect.map(sessions.get(id), Option.getOrThrow)
)

/** Says a turn at its own time. */
const say = (n: number) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    yield* TestClock.setTime(n)
    return yield* sessions.addTurn(id, turn(n))
  })

describe("SessionManager.checkpoint", () => {
  SystemTest.effect("stores head and small state under a name and becomes the session's checkpoint", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada, variables: { a: 1 }, metadata: { m: 1 }, systemPrompt: "p" })
      yield* say(10)
      yield* TestClock.setTime(20)
      const first = yield* sessions.checkpoint(id, { name: "before", metadata: { why: "test" } })
      const { checkpointId: _, ...kept } = yield* loaded
      assert.deepStrictEqual(first, {
        id: first.id,
        sessionId: id,
        name: "before",
        kind: "manual",
        state: {
          status: "active",
          metadata: { m: 1 },
          activeTools: [],
          activeSkills: [],
          systemPrompt: "p",
          variables: { a: 1 },
          head: { sessionId: id, turnId: TurnId.make("t10") },
          depth: 1,
          totalTokens: 0,
          totalCost: 0,
          cuts: []
        },
        createdAt: 20,
        revision: kept.revision,
        metadata: { why: "test" }
      })
      assert.isTrue(Schema.is(SessionCheckpoint)(first))
      assert.strictEqual((yield* loaded).checkpointId, first.id)
      assert.strictEqual(kept.updatedAt, 10)
      const second = yield* sessions.checkpoint(id)
      assert.strictEqual(second.parentCheckpointId, first.id)
      assert.deepStrictEqual(yield* sessions.checkpoints(id), [second, first])
      assert.deepStrictEqual(told.hooks.slice(1), ["checkpoint manual s1", "checkpoint manual s1"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("works on a closed session", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.close(id)
      assert.strictEqual((yield* sessions.checkpoint(id)).state.status, "closed")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("keeps only the newest, and lists by page and kind", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id: sid("root") })
      const branch = yield* branches.fork(sid("root"), { id })
      for (let n = 1; n <= 6; n++) yield* sessions.checkpoint(branch.id, { name: `n${n}` })
      const names = (found: ReadonlyArray<SessionCheckpoint>) => found.map(({ kind, name }) => name ?? kind)
      const all = yield* sessions.checkpoints(id)
      assert.deepStrictEqual(names(all), ["n6", "n5", "n4", "fork"])
      const page = yield* sessions.checkpoints(id, { limit: 2 })
      assert.deepStrictEqual(names(page), ["n6", "n5"])
      assert.deepStrictEqual(names(yield* sessions.checkpoints(id, { limit: 2, before: page[1]?.revision })), [
        "n4",
        "fork"
      ])
      assert.deepStrictEqual(names(yield* sessions.checkpoints(id, { kinds: ["fork"] })), ["fork"])
      assert.deepStrictEqual(yield* sessions.checkpoints(id, { limit: 0 }), [])
      assert.strictEqual(
        (yield* Effect.flip(sessions.restore((all[3] as SessionCheckpoint).id, { userId: bob })))._tag,
        "CheckpointNotFoundError"
      )
    }).pipe(Effect.provide(layer({ maxCheckpointsPerSession: 3 })))
  )

  SystemTest.effect("writes nothing for an invalid name or metadata", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const before = yield* loaded
      for (const [field, options] of [
        ["name", { name: 7 }],
        ["metadata", { metadata: { n: 1n } }]
      ] as const) {
        const error = yield* Effect.flip(sessions.checkpoint(id, options as SessionManager.CheckpointOptions))
        assert.strictEqual(error._tag, "SessionInputError")
        assert.include(error.message, field)
      }
      assert.deepStrictEqual(yield* loaded, before)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("costs the same for any length of conversation", () => {
    const sizes: Array<number> = []
    const store = ManagedSessions.storeWith((store) => ({
      save: (change) => {
        sizes.push(JSON.stringify(change).length)
        return store.save(change)
      }
    }))
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.addTurn(id, turn(1001))
      yield* sessions.checkpoint(id)
      for (let n = 1002; n <= 1300; n++) yield* sessions.addTurn(id, turn(n))
      yield* sessions.checkpoint(id)
      const [first = 0, last = 0] = sizes
      assert.isBelow(last - first, 200)
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: null }, { store })))
  })
})

describe("SessionManager.restore", () => {
  SystemTest.effect("restores head and small state, keeps the status, and records the cut", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada, variables: { a: 1 }, activeTools: ["x"] })
      yield* say(10)
      const checkpoint = yield* sessions.checkpoint(id)
      yield* say(20)
      yield* sessions.update(id, { variables: { a: 2 }, activeTools: [], systemPrompt: "later", metadata: { late: 1 } })
      yield* sessions.suspend(id)
      yield* TestClock.setTime(30)
      const before = yield* loaded
      const back = yield* sessions.restore(checkpoint.id, { userId: ada })
      const { systemPrompt: _, ...rest } = before
      assert.deepStrictEqual(back, {
        ...rest,
        metadata: {},
        variables: { a: 1 },
        activeTools: ["x"],
        head: { sessionId: id, turnId: TurnId.make("t10") },
        depth: 1,
        cuts: [{ after: 10, before: 30 }],
        checkpointId: checkpoint.id,
        updatedAt: 30,
        revision: before.revision + 1
      })
      assert.strictEqual(back.status, "suspended")
      assert.deepStrictEqual(yield* loaded, back)
      assert.deepStrictEqual(yield* words(id), ["t10"])
      assert.strictEqual(told.eventTypes.at(-1), "SessionChangedEvent restored")
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("changes only the time when repeated", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* say(10)
      const checkpoint = yield* sessions.checkpoint(id)
      yield* say(20)
      yield* TestClock.setTime(30)
      const once = yield* sessions.restore(checkpoint.id)
      yield* TestClock.setTime(40)
      const twice = yield* sessions.restore(checkpoint.id)
      assert.deepStrictEqual(twice, {
        ...once,
        cuts: [{ after: 10, before: 40 }],
        updatedAt: 40,
        revision: once.revision + 1
      })
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("cuts turns a moment ahead of the clock, but none with times of their own", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const cutsAfter = (ahead: number) =>
        Effect.gen(function* () {
          const { id } = yield* sessions.create()
          yield* TestClock.setTime(100)
          yield* sessions.addTurn(id, turn(1, { timestamp: 100 }))
          const checkpoint = yield* sessions.checkpoint(id)
          yield* sessions.addTurn(id, turn(2, { timestamp: 100 + ahead }))
          return (yield* sessions.restore(checkpoint.id)).cuts
        })
      assert.deepStrictEqual(yield* cutsAfter(0), [{ after: 100, before: 101 }])
      assert.deepStrictEqual(yield* cutsAfter(7), [{ after: 100, before: 108 }])
      assert.deepStrictEqual(yield* cutsAfter(3_600_000), [{ after: 100, before: 100 }])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("merges the oldest of more than 256 cuts", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let at = 1; at <= 300; at++) {
        yield* sessions.addTurn(id, turn(at * 10))
        const checkpoint = yield* sessions.checkpoint(id)
        yield* sessions.addTurn(id, turn(at * 10 + 5))
        yield* sessions.restore(checkpoint.id)
      }
      const { cuts } = yield* loaded
      assert.strictEqual(cuts.length, 256)
      assert.deepStrictEqual(cuts[0], { after: 10, before: 456 })
      assert.deepStrictEqual(cuts.at(-1), { after: 3000, before: 3006 })
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("drops cuts inside a new one, keeps earlier ones, and restores a later checkpoint's cuts", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const restored = (checkpoint: SessionCheckpoint, at: number) =>
        Effect.zipRight(
          TestClock.setTime(at),
          Effect.map(sessions.restore(checkpoint.id), ({ cuts }) => cuts.map(({ after, before }) => [after, before]))
        )
      yield* sessions.create({ id })
      const none = yield* sessions.checkpoint(id)
      yield* say(10)
      const one = yield* sessions.checkpoint(id)
      yield* say(20)
      const two = yield* sessions.checkpoint(id)
      assert.deepStrictEqual(yield* restored(one, 30), [[10, 30]])
      yield* say(40)
      const other = yield* sessions.checkpoint(id)
      yield* say(50)
      assert.deepStrictEqual(yield* restored(other, 60), [
        [10, 30],
        [40, 60]
      ])
      assert.deepStrictEqual(yield* restored(two, 70), [[20, 70]])
      assert.deepStrictEqual(yield* words(id), ["t10", "t20"])
      assert.deepStrictEqual(yield* restored(none, 80), [[0, 80]])
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("keeps every turn readable from its checkpoint", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const none = yield* sessions.checkpoint(id)
      yield* say(10)
      yield* say(20)
      const two = yield* sessions.checkpoint(id)
      yield* sessions.restore(none.id)
      yield* say(30)
      assert.deepStrictEqual(yield* words(id), ["t30"])
      const back = yield* sessions.restore(two.id)
      assert.strictEqual(back.depth, 2)
      assert.deepStrictEqual(yield* words(id), ["t10", "t20"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("restores a branch to its beginning and drops only its own turns", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id })
      yield* say(10)
      const branch = yield* branches.fork(id)
      yield* TestClock.setTime(20)
      yield* sessions.addTurn(branch.id, turn(20))
      const [fork] = yield* sessions.checkpoints(branch.id, { kinds: ["fork"] })
      yield* TestClock.setTime(30)
      const back = yield* sessions.restore((fork as SessionCheckpoint).id)
      assert.deepStrictEqual(back.head, branch.head)
      assert.deepStrictEqual(back.lineage, branch.lineage)
      assert.deepStrictEqual(back.cuts, [{ after: 0, before: 30 }])
      assert.deepStrictEqual(yield* words(branch.id), ["t10"])
      assert.deepStrictEqual((yield* loaded).cuts, [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("rejects a closed session without reopen, and activates it with reopen", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* say(10)
      const checkpoint = yield* sessions.checkpoint(id)
      yield* say(20)
      yield* sessions.close(id)
      const error = yield* Effect.flip(sessions.restore(checkpoint.id))
      assert.strictEqual(error._tag, "SessionClosedError")
      assert.deepStrictEqual(yield* words(id), ["t10", "t20"])
      const back = yield* sessions.restore(checkpoint.id, { reopen: true })
      assert.strictEqual(back.status, "active")
      yield* say(30)
      assert.deepStrictEqual(yield* words(id), ["t10", "t30"])
      yield* sessions.close(id)
      assert.deepStrictEqual(told.hooks.slice(2), ["closed s1", "closed s1"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("rejects expired and overdue sessions without reopen", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.suspend(id)
      const checkpoint = yield* sessions.checkpoint(id)
      yield* TestClock.adjust("24 hours")
      assert.strictEqual((yield* sessions.restore(checkpoint.id, { reopen: true })).status, "active")
      yield* TestClock.adjust("24 hours")
      assert.strictEqual((yield* Effect.flip(sessions.restore(checkpoint.id)))._tag, "SessionExpiredError")
      assert.strictEqual((yield* loaded).status, "expired")
      assert.strictEqual((yield* Effect.flip(sessions.restore(checkpoint.id)))._tag, "SessionExpiredError")
      assert.strictEqual((yield* sessions.restore(checkpoint.id, { reopen: true })).status, "active")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("reopens only within the user's limit", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      const checkpoint = yield* sessions.checkpoint(id)
      yield* sessions.close(id)
      yield* sessions.create({ id: sid("s2"), userId: ada })
      const error = yield* Effect.flip(sessions.restore(checkpoint.id, { reopen: true }))
      assert.strictEqual(error._tag, "SessionCapacityError")
      assert.strictEqual((yield* loaded).status, "closed")
      yield* sessions.close(sid("s2"))
      assert.strictEqual((yield* sessions.restore(checkpoint.id, { reopen: true })).status, "active")
      // One that is open takes no more room than it has.
      assert.strictEqual((yield* sessions.restore(checkpoint.id, { reopen: true })).status, "active")
    }).pipe(Effect.provide(layer({ maxSessionsPerUser: 1 })))
  )

  SystemTest.effect("does not find a missing checkpoint", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const error = yield* Effect.flip(sessions.restore(CheckpointId.make("__proto__")))
      assert.deepInclude(error, { _tag: "CheckpointNotFoundError", checkpointId: "__proto__" })
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("appends a concurrent turn to the old or the new head, never losing it", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* say(10)
      const checkpoint = yield* sessions.checkpoint(id)
      yield* Effect.all(
        [...Array.from({ length: 20 }, (_, n) => sessions.addTurn(id, turn(100 + n))), sessions.restore(checkpoint.id)],
        { concurrency: "unbounded" }
      )
      const again = (n: number, fields?: Parameters<typeof turn>[1]) =>
        Effect.either(sessions.addTurn(id, turn(100 + n, fields)))
      const before = yield* sessions.turns(id, { last: 100 })
      for (let n = 0; n < 20; n++) {
        const same = yield* again(n)
        // On the way to the head it is known; one that the restore left behind is refused, and stays where it is.
        if (Either.isRight(same)) assert.deepInclude(before, same.right)
        else assert.strictEqual(same.left._tag, "SessionConflictError")
        const other = yield* Effect.flip(Effect.flatten(again(n, { content: "again" })))
        assert.strictEqual(other._tag, "SessionConflictError")
      }
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 100 }), before)
    }).pipe(Effect.provide(layer()))
  )
})
