import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import type { SessionId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { Session } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, bob, layer, sid, Told, turn } = ManagedSessions
const id = sid("s1")

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ _tag }) => _tag)

const statusOf = (id: SessionId) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    Effect.map(sessions.get(id), (found) => Option.getOrThrow(found).status)
  )

describe("SessionManager.create", () => {
  SystemTest.effect("creates an active session of its user without turns", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({
        id,
        userId: ada,
        metadata: { from: "web" },
        variables: { a: [1, { b: null }] },
        activeTools: ["search"],
        activeSkills: ["math"],
        systemPrompt: "be brief"
      })
      assert.deepStrictEqual(created, {
        id,
        userId: ada,
        status: "active",
        metadata: { from: "web" },
        activeTools: ["search"],
        activeSkills: ["math"],
        systemPrompt: "be brief",
        variables: { a: [1, { b: null }] },
        depth: 0,
        totalTokens: 0,
        totalCost: 0,
        cuts: [],
        createdAt: 5000,
        updatedAt: 5000,
        revision: 0,
        lineage: []
      })
      assert.isTrue(Schema.is(Session)(created))
      assert.deepStrictEqual(yield* sessions.get(id, { userId: ada }), Option.some(created))
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 10 }), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("makes a new id for each session without one", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const [first, second] = [yield* sessions.create(), yield* sessions.create()]
      assert.notStrictEqual(first.id, second.id)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("returns an existing session unchanged to the same user without publishing it", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const first = yield* sessions.create({ id, userId: ada, variables: { a: 1 } })
      yield* sessions.close(id)
      const again = yield* sessions.create({ id, userId: ada, variables: { a: 2 } })
      assert.deepStrictEqual(again.variables, first.variables)
      assert.strictEqual(again.status, "closed")
      assert.deepStrictEqual(told.hooks, ["started s1", "closed s1"])
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("does not find the id of another user's session or of one without an owner", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.create({ id: sid("nobody's") })
      const error = yield* Effect.flip(sessions.create({ id, userId: bob }))
      assert.strictEqual(error._tag, "SessionNotFoundError")
      assert.include(error.hint, "another")
      assert.strictEqual(yield* tagOf(sessions.create({ id: sid("nobody's"), userId: bob })), "SessionNotFoundError")
      assert.strictEqual((yield* sessions.create({ id })).userId, ada)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("hides the id of a deleted session while a branch needs its turns, then frees it", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1))
      const branch = yield* branches.fork(id)
      yield* sessions.delete(id)
      const error = yield* Effect.flip(sessions.create({ id, userId: ada }))
      assert.strictEqual(error._tag, "SessionNotFoundError")
      assert.include(error.hint, "branches")
      yield* sessions.delete(branch.id)
      assert.strictEqual((yield* sessions.create({ id, userId: ada })).depth, 0)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("applies the default prompt only to sessions without one", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      assert.strictEqual((yield* sessions.create()).systemPrompt, "be kind")
      assert.strictEqual((yield* sessions.create({ systemPrompt: "be brief" })).systemPrompt, "be brief")
      assert.strictEqual((yield* sessions.create({ systemPrompt: "" })).systemPrompt, "")
    }).pipe(Effect.provide(layer({ defaultSystemPrompt: "be kind" })))
  )

  SystemTest.effect("sets no prompt without a default", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      assert.notProperty(yield* sessions.create(), "systemPrompt")
    }).pipe(Effect.provide(layer({ defaultSystemPrompt: null })))
  )

  SystemTest.effect("counts only the user's active and suspended sessions", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id: sid("a"), userId: ada })
      yield* sessions.create({ id: sid("b"), userId: ada })
      yield* sessions.suspend(sid("b"))
      const error = yield* Effect.flip(sessions.create({ id: sid("c"), userId: ada }))
      assert.strictEqual(error._tag, "SessionCapacityError")
      assert.isTrue(Option.isNone(yield* sessions.get(sid("c"))))
      // An id that is there creates nothing.
      assert.strictEqual((yield* sessions.create({ id: sid("a"), userId: ada })).id, "a")
      yield* sessions.create({ userId: bob })
      yield* sessions.create()
      yield* sessions.create()
      yield* sessions.create()
      yield* sessions.close(sid("a"))
      yield* sessions.create({ id: sid("c"), userId: ada })
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      yield* sessions.create({ userId: ada })
      yield* sessions.create({ userId: ada })
    }).pipe(Effect.provide(layer({ maxSessionsPerUser: 2 })))
  )

  SystemTest.effect("lets concurrent creates make no more sessions than allowed", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const exits = yield* Effect.all(
        Array.from({ length: 20 }, () => Effect.exit(sessions.create({ userId: ada }))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(({ _tag }) => _tag === "Success").length, 5)
    }).pipe(Effect.provide(layer({ maxSessionsPerUser: 5 })))
  )

  SystemTest.effect("does not count overdue sessions before a clean-up", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id: sid("old"), userId: ada })
      yield* TestClock.adjust("59 minutes")
      assert.strictEqual(yield* tagOf(sessions.create({ userId: ada })), "SessionCapacityError")
      yield* TestClock.adjust("1 minute")
      yield* sessions.create({ id: sid("new"), userId: ada })
      assert.strictEqual(yield* statusOf(sid("old")), "expired")
      assert.deepStrictEqual(told.hooks, ["started old", "expired old", "started new"])
    }).pipe(Effect.provide(layer({ maxSessionsPerUser: 1, sessionTtl: "1 hour" }, { told })))
  })

  SystemTest.effect("names the field of invalid data, lists, texts and ids", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const cycle: Record<string, unknown> = {}
      cycle["self"] = cycle
      const wrong: ReadonlyArray<readonly [string, object]> = [
        ["metadata", { metadata: { f: () => 1 } }],
        ["metadata", { metadata: [1] }],
        ["metadata", { metadata: null }],
        ["variables", { variables: { n: 10n } }],
        ["variables", { variables: cycle }],
        ["variables", { variables: { when: new Date(0) } }],
        ["activeTools", { activeTools: ["a", 1] }],
        ["activeSkills", { activeSkills: "math" }],
        ["systemPrompt", { systemPrompt: 7 }],
        ["id", { id: "a\nb" }],
        ["id", { id: "" }],
        ["userId", { userId: "x".repeat(257) }]
      ]
      for (const [field, options] of wrong) {
        const error = yield* Effect.flip(sessions.create(options as SessionManager.CreateOptions))
        assert.strictEqual(error._tag, "SessionInputError")
        assert.include(error.message, field)
      }
      assert.deepStrictEqual(yield* sessions.list(null), { sessions: [] })
    }).pipe(Effect.provide(layer()))
  )
})

describe("SessionManager and the caller", () => {
  SystemTest.effect("hides another user's sessions from every operation", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1))
      const checkpoint = yield* sessions.checkpoint(id)
      const before = yield* sessions.get(id)
      const other = { userId: bob }
      assert.isTrue(Option.isNone(yield* sessions.get(id, other)))
      const refused: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        sessions.resume(id, other),
        sessions.suspend(id, other),
        sessions.close(id, other),
        sessions.update(id, { variables: { a: 1 }, ...other }),
        sessions.addTurn(id, turn(2), other),
        sessions.addTurn(id, turn(1), other),
        sessions.turns(id, { last: 1, ...other }),
        sessions.checkpoint(id, other),
        sessions.checkpoints(id, other)
      ]
      for (const one of refused) assert.strictEqual(yield* tagOf(one), "SessionNotFoundError")
      for (const reopen of [false, true]) {
        const error = yield* Effect.flip(sessions.restore(checkpoint.id, { reopen, ...other }))
        assert.strictEqual(error._tag, "CheckpointNotFoundError")
      }
      yield* sessions.delete(id, other)
      assert.deepStrictEqual(yield* sessions.list(bob), { sessions: [] })
      assert.deepStrictEqual(yield* sessions.get(id), before)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("finds a session without an owner only for callers without a user", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      assert.strictEqual(yield* tagOf(sessions.resume(id, { userId: ada })), "SessionNotFoundError")
      assert.isTrue(Option.isNone(yield* sessions.get(id, { userId: ada })))
      assert.strictEqual((yield* sessions.resume(id)).id, id)
      assert.deepStrictEqual(
        (yield* sessions.list(null)).sessions.map(({ id }) => id),
        [id]
      )
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("reports a missing session in every operation", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const missing = sid("__proto__")
      const asked: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        sessions.resume(missing),
        sessions.suspend(missing),
        sessions.close(missing),
        sessions.update(missing, {}),
        sessions.addTurn(missing, turn(1)),
        sessions.turns(missing, { last: 1 }),
        sessions.checkpoint(missing),
        sessions.checkpoints(missing)
      ]
      for (const one of asked) assert.strictEqual(yield* tagOf(one), "SessionNotFoundError")
      yield* sessions.delete(missing)
      assert.isTrue(Option.isNone(yield* sessions.get(missing)))
    }).pipe(Effect.provide(layer()))
  )
})

describe("SessionManager and the status of sessions", () => {
  SystemTest.effect("suspends and resumes without other changes, and repeats without an event", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ id, userId: ada, variables: { a: 1 } })
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* sessions.resume(id), created)
      const suspended = yield* sessions.suspend(id)
      assert.deepStrictEqual(suspended, { ...created, status: "suspended", updatedAt: 1000, revision: 1 })
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* sessions.suspend(id), suspended)
      const resumed = yield* sessions.resume(id)
      assert.deepStrictEqual(resumed, { ...created, updatedAt: 2000, revision: 2 })
      assert.deepStrictEqual(told.eventTypes, [
        "SessionCreatedEvent",
        "SessionChangedEvent suspended",
        "SessionChangedEvent resumed"
      ])
      assert.deepStrictEqual(told.events[1]?.fields, { sessionId: id, change: "suspended", status: "suspended" })
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("allows only reads after a close, with the reason and a way out", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1))
      yield* sessions.close(id)
      const closed: ReadonlyArray<
        Effect.Effect<unknown, { readonly _tag: string; readonly hint?: string | undefined }>
      > = [sessions.resume(id), sessions.update(id, { variables: {} }), sessions.addTurn(id, turn(2))]
      for (const one of closed) {
        const error = yield* Effect.flip(one)
        assert.strictEqual(error._tag, "SessionClosedError")
        assert.include(error.hint, "restore")
      }
      const error = yield* Effect.flip(sessions.suspend(id))
      assert.deepInclude(error, { _tag: "SessionTransitionError", fromStatus: "closed", toStatus: "suspended" })
      assert.deepStrictEqual(yield* ManagedSessions.words(id), ["t1"])
      assert.strictEqual(yield* statusOf(id), "closed")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("allows only reads after expiry, with an error of its own", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* SystemAccess.grant(sessions.expireIdle({ idle: 0 }))
      const expired: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>> = [
        sessions.resume(id),
        sessions.update(id, { variables: {} }),
        sessions.addTurn(id, turn(2))
      ]
      for (const one of expired) assert.strictEqual(yield* tagOf(one), "SessionExpiredError")
      const error = yield* Effect.flip(sessions.suspend(id))
      assert.deepInclude(error, { _tag: "SessionTransitionError", fromStatus: "expired", toStatus: "suspended" })
      yield* sessions.close(id)
      assert.strictEqual(yield* statusOf(id), "expired")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("replaces the given fields in an update and writes nothing without fields", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({
        id,
        variables: { a: 1, b: 2 },
        metadata: { m: 1 },
        systemPrompt: "old",
        activeTools: ["x"]
      })
      assert.deepStrictEqual(yield* sessions.update(id, {}), created)
      yield* TestClock.adjust(10)
      const updated = yield* sessions.update(id, { variables: { c: 3 }, activeTools: [], systemPrompt: "new" })
      assert.deepStrictEqual(updated, {
        ...created,
        variables: { c: 3 },
        activeTools: [],
        systemPrompt: "new",
        updatedAt: 10,
        revision: 1
      })
      yield* sessions.suspend(id)
      assert.deepStrictEqual((yield* sessions.update(id, { metadata: {} })).metadata, {})
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("writes nothing for an update with invalid data", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ id })
      const error = yield* Effect.flip(sessions.update(id, { metadata: {}, variables: { n: Number.NaN } }))
      assert.strictEqual(error._tag, "SessionInputError")
      assert.include(error.message, "variables")
      assert.deepStrictEqual(Option.getOrThrow(yield* sessions.get(id)), created)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("keeps stored data when the caller mutates its input", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const variables = { list: [1] }
      yield* sessions.create({ id, variables })
      variables.list.push(2)
      assert.deepStrictEqual(Option.getOrThrow(yield* sessions.get(id)).variables, { list: [1] })
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("deletes a session with its turns and checkpoints, and repeats without effect", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* sessions.addTurn(id, turn(1))
      const checkpoint = yield* sessions.checkpoint(id)
      yield* sessions.delete(id, { userId: ada })
      yield* sessions.delete(id, { userId: ada })
      assert.isTrue(Option.isNone(yield* sessions.get(id)))
      assert.strictEqual(yield* tagOf(sessions.restore(checkpoint.id)), "CheckpointNotFoundError")
      yield* sessions.create({ id, userId: bob })
      assert.deepStrictEqual(yield* ManagedSessions.words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("reports the health of the store", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const store = yield* SessionStore.SessionStore
      yield* sessions.health
      assert.strictEqual(sessions.health, store.health)
    }).pipe(Effect.provide(layer()))
  )
})

describe("SessionManager and idle sessions", () => {
  const operations: ReadonlyArray<
    readonly [string, (sessions: SessionManager.Service) => Effect.Effect<unknown, { readonly _tag: string }>]
  > = [
    ["addTurn", (sessions) => sessions.addTurn(id, turn(2))],
    ["resume", (sessions) => sessions.resume(id)],
    ["update", (sessions) => sessions.update(id, { variables: {} })]
  ]

  for (const [name, operation] of operations) {
    SystemTest.effect(`${name} finds an overdue session expired and ends it once`, () => {
      const told = new Told()
      return Effect.gen(function* () {
        const sessions = yield* SessionManager.SessionManager
        yield* sessions.create({ id, userId: ada })
        yield* TestClock.adjust("24 hours")
        assert.strictEqual(yield* tagOf(operation(sessions)), "SessionExpiredError")
        assert.strictEqual(yield* tagOf(operation(sessions)), "SessionExpiredError")
        assert.strictEqual(yield* statusOf(id), "expired")
        assert.deepStrictEqual(told.hooks, ["started s1", "expired s1"])
        assert.deepStrictEqual(told.eventTypes, ["SessionCreatedEvent", "SessionClosedEvent"])
        assert.deepStrictEqual(told.events[1]?.fields, { sessionId: id, status: "expired", durationSeconds: 86_400 })
      }).pipe(Effect.provide(layer({}, { told })))
    })

    SystemTest.effect(`${name} succeeds a millisecond before expiry`, () =>
      Effect.gen(function* () {
        const sessions = yield* SessionManager.SessionManager
        yield* sessions.create({ id, userId: ada })
        yield* TestClock.adjust(86_400_000 - 1)
        yield* operation(sessions)
        assert.strictEqual(yield* statusOf(id), "active")
      }).pipe(Effect.provide(layer()))
    )
  }

  SystemTest.effect("expires suspended sessions, which cannot be suspended again to live longer", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.suspend(id)
      yield* TestClock.adjust("24 hours")
      const error = yield* Effect.flip(sessions.suspend(id))
      assert.deepInclude(error, { _tag: "SessionTransitionError", fromStatus: "expired" })
      assert.strictEqual(yield* statusOf(id), "expired")
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("extends the life of a session by turns and updates, not by reads and checkpoints", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* TestClock.adjust("50 minutes")
      yield* sessions.addTurn(id, turn(1))
      yield* TestClock.adjust("50 minutes")
      yield* sessions.update(id, { variables: { a: 1 } })
      yield* TestClock.adjust("50 minutes")
      yield* sessions.turns(id, { last: 1 })
      yield* sessions.checkpoint(id)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* tagOf(sessions.resume(id)), "SessionExpiredError")
    }).pipe(Effect.provide(layer({ sessionTtl: "1 hour" })))
  )

  SystemTest.effect("expireIdle expires the longest idle sessions first, up to the limit", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (const name of ["a", "b", "c", "d"]) {
        yield* sessions.create({ id: sid(name) })
        yield* TestClock.adjust("10 minutes")
      }
      yield* sessions.close(sid("b"))
      yield* TestClock.adjust("30 minutes")
      const expired = yield* SystemAccess.grant(sessions.expireIdle({ limit: 1 }))
      assert.deepStrictEqual(
        expired.map(({ id, status, updatedAt }) => [id, status, updatedAt]),
        [["a", "expired", 70 * 60_000]]
      )
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.expireIdle()), [])
      assert.deepStrictEqual(
        (yield* SystemAccess.grant(sessions.expireIdle({ idle: "45 minutes" }))).map(({ id }) => id),
        ["c"]
      )
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.expireIdle({ idle: 0, limit: 0 })), [])
      assert.deepStrictEqual(told.hooks.slice(4), ["closed b", "expired a", "expired c"])
    }).pipe(Effect.provide(layer({ sessionTtl: "70 minutes" }, { told })))
  })

  SystemTest.effect("expires nothing with a TTL of 0 unless an idle time is given", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.expireIdle()), [])
      assert.strictEqual((yield* sessions.resume(id)).status, "active")
      assert.strictEqual((yield* SystemAccess.grant(sessions.expireIdle({ idle: "1 hour" }))).length, 1)
    }).pipe(Effect.provide(layer({ sessionTtl: 0 })))
  )

  SystemTest.effect("publishes each expiry once for two concurrent clean-ups", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (let n = 0; n < 20; n++) yield* sessions.create({ id: sid(`n${n}`) })
      const [first, second] = yield* Effect.all(
        [SystemAccess.grant(sessions.expireIdle({ idle: 0 })), SystemAccess.grant(sessions.expireIdle({ idle: 0 }))],
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(first.length + second.length, 20)
      assert.strictEqual(told.hooks.filter((hook) => hook.startsWith("expired")).length, 20)
    }).pipe(Effect.provide(layer({}, { told })))
  })
})

describe("SessionManager.list", () => {
  SystemTest.effect("pages through each session of a user once, last changed first", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (let n = 0; n < 7; n++) {
        yield* sessions.create({ id: sid(`n${n}`), userId: ada })
        // Two have the same time.
        if (n !== 3) yield* TestClock.adjust(1)
      }
      yield* sessions.create({ userId: bob })
      yield* sessions.update(sid("n0"), { metadata: { touched: true } })
      const pages: Array<ReadonlyArray<string>> = []
      let after: SessionStore.Cursor | undefined
      do {
        const page: SessionManager.Page = yield* sessions.list(ada, { limit: 3, after })
        pages.push(page.sessions.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      assert.deepStrictEqual(pages, [["n0", "n6", "n5"], ["n4", "n3", "n2"], ["n1"]])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("ends after a page that is exactly full, and keeps the order by creation", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      for (let n = 0; n < 4; n++) {
        yield* sessions.create({ id: sid(`n${n}`), userId: ada })
        yield* TestClock.adjust(1)
      }
      const first = yield* sessions.list(ada, { order: "created", limit: 2 })
      yield* sessions.close(sid("n0"))
      const second = yield* sessions.list(ada, { order: "created", limit: 2, after: first.next })
      assert.deepStrictEqual(
        [first, second].map(({ sessions }) => sessions.map(({ id }) => id)),
        [
          ["n3", "n2"],
          ["n1", "n0"]
        ] as never
      )
      assert.notProperty(second, "next")
      assert.deepStrictEqual(
        (yield* sessions.list(ada, { statuses: ["closed", "expired"] })).sessions.map(({ id }) => id),
        ["n0"] as never
      )
      assert.deepStrictEqual(yield* sessions.list(ada, { limit: 0 }), { sessions: [] })
    }).pipe(Effect.provide(layer()))
  )
})
