import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { RunId, TurnId } from "../../../src/domain/Ids.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { type NewTurn, SessionTurn } from "../../../src/session/turn/Session.js"
import type * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, layer, sid, Told, turn, words } = ManagedSessions
const id = sid("s1")
const ref = (sessionId: string, turnId: string) => ({ sessionId: sid(sessionId), turnId: TurnId.make(turnId) })

const loaded = Effect.flatMap(SessionManager.SessionManager, (sessions) =>
  Effect.map(sessions.get(id), Option.getOrThrow)
)

describe("SessionManager.addTurn", () => {
  SystemTest.effect("appends turns in order and adds up their totals", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      yield* TestClock.adjust(7)
      const first = yield* sessions.addTurn(id, turn(1, { tokensUsed: 10, cost: 0.25 }))
      const given: NewTurn = {
        id: TurnId.make("t2"),
        role: "assistant",
        content: "it is 4",
        timestamp: 2.5,
        toolCalls: [
          { id: "c1", name: "add", params: { a: [2, 2] }, result: 4, isFailure: false },
          { id: "c2", name: "none", params: null }
        ],
        skillResults: [{ skill: "math", ok: true }],
        metadata: { __proto__x: 1, nested: { deep: [null, "\u0000\ud800"] } },
        tokensUsed: 5,
        cost: 0.5,
        model: "m",
        provider: "p",
        runId: RunId.make("r1"),
        unanswered: "blocked"
      }
      const second = yield* sessions.addTurn(id, given, { userId: ada })
      assert.deepStrictEqual(first, { ...turn(1, { tokensUsed: 10, cost: 0.25 }), sessionId: id, depth: 1 })
      assert.deepStrictEqual(second, { ...given, sessionId: id, parent: ref("s1", "t1"), depth: 2 })
      assert.isTrue(Schema.is(SessionTurn)(second))
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 10 }), [first, second])
      const session = yield* loaded
      assert.deepInclude(session, {
        head: ref("s1", "t2"),
        depth: 2,
        totalTokens: 15,
        totalCost: 0.75,
        updatedAt: 7,
        revision: 2
      })
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("returns the first version of a known turn and changes nothing, in every status", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId: ada })
      const first = yield* sessions.addTurn(id, turn(1, { content: "first" }))
      yield* sessions.addTurn(id, turn(2))
      // What was said is the same; when, by what and at what price it was said does not count.
      const again = () =>
        sessions.addTurn(id, turn(1, { content: "first", timestamp: 77, metadata: { a: 1 }, cost: 3, model: "m" }))
      const before = yield* loaded
      assert.deepStrictEqual(yield* again(), first)
      assert.deepStrictEqual(yield* loaded, before)
      yield* sessions.suspend(id)
      assert.deepStrictEqual(yield* again(), first)
      yield* sessions.resume(id)
      yield* TestClock.adjust("24 hours")
      assert.deepStrictEqual(yield* again(), first)
      assert.strictEqual((yield* loaded).status, "active")
      yield* sessions.close(id)
      assert.deepStrictEqual(yield* again(), first)
      assert.deepStrictEqual(yield* words(id), ["first", "t2"])
      assert.strictEqual(told.entries.length, 2)
    }).pipe(Effect.provide(layer({}, { told })))
  })

  SystemTest.effect("refuses a known id with another role, text, call or skill result, in every status", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const call = { id: "c1", name: "add", params: { a: 1, b: [2] }, result: 3, isFailure: false }
      const said: Partial<NewTurn> = { content: "first", toolCalls: [call], skillResults: [{ skill: "s" }] }
      const first = yield* sessions.addTurn(id, turn(1, said))
      const same = { ...said, toolCalls: [{ ...call, params: { b: [2], a: 1 } }] }
      assert.deepStrictEqual(yield* sessions.addTurn(id, turn(1, same)), first)
      const refuse = Effect.gen(function* () {
        for (const other of [
          { ...said, role: "assistant" as const },
          { ...said, content: "second" },
          { ...said, toolCalls: [] },
          { ...said, toolCalls: [{ ...call, params: { a: 2, b: [2] } }] },
          { ...said, toolCalls: [{ ...call, result: 4 }] },
          { ...said, skillResults: [] }
        ]) {
          const error = yield* Effect.flip(sessions.addTurn(id, turn(1, other)))
          assert.strictEqual(error._tag, "SessionConflictError")
          assert.include(error.message, "another")
          assert.deepStrictEqual(yield* sessions.addTurn(id, turn(1, other), { ifKnown: "first" }), first)
        }
      })
      yield* refuse
      yield* sessions.suspend(id)
      yield* refuse
      yield* sessions.close(id)
      yield* refuse
      assert.deepStrictEqual(yield* words(id), ["first"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("refuses the id of a turn that a restore removed, whatever its content", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (const n of [1, 2, 3]) yield* sessions.addTurn(id, turn(n))
      const checkpoint = yield* sessions.checkpoint(id)
      yield* sessions.addTurn(id, turn(4))
      yield* sessions.addTurn(id, turn(5))
      yield* sessions.restore(checkpoint.id)
      const refuse = Effect.gen(function* () {
        const other = yield* Effect.flip(sessions.addTurn(id, turn(4, { content: "other" })))
        assert.strictEqual(other._tag, "SessionConflictError")
        for (const left of [turn(4), turn(5)]) {
          for (const ifKnown of ["same", "first"] as const) {
            const error = yield* Effect.flip(sessions.addTurn(id, left, { ifKnown }))
            assert.strictEqual(error._tag, "SessionConflictError")
            assert.include(error.message, "restore")
          }
        }
      })
      yield* refuse
      assert.deepStrictEqual(yield* words(id), ["t1", "t2", "t3"])
      for (const n of [6, 7, 8]) yield* sessions.addTurn(id, turn(n))
      yield* refuse
      for (const n of [1, 2, 3, 6, 7, 8]) assert.strictEqual((yield* sessions.addTurn(id, turn(n))).content, `t${n}`)
      yield* sessions.close(id)
      yield* refuse
      assert.deepStrictEqual(yield* words(id), ["t1", "t2", "t3", "t6", "t7", "t8"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("rejects turns of a suspended session with a hint", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.suspend(id)
      const error = yield* Effect.flip(sessions.addTurn(id, turn(1)))
      assert.deepInclude(error, { _tag: "SessionTransitionError", fromStatus: "suspended", toStatus: "active" })
      assert.include(error.hint, "Resume")
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("rejects more turns of a full session and counts only those on the path", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id })
      yield* sessions.addTurn(id, turn(1))
      const one = yield* sessions.checkpoint(id)
      yield* sessions.addTurn(id, turn(2))
      yield* sessions.addTurn(id, turn(3))
      const error = yield* Effect.flip(sessions.addTurn(id, turn(4)))
      assert.deepInclude(error, { _tag: "SessionCapacityError", detail: "turns of a session" })
      assert.strictEqual((yield* loaded).status, "active")
      assert.strictEqual((yield* sessions.addTurn(id, turn(3))).content, "t3")
      const branch = yield* branches.fork(id)
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(branch.id, turn(9))))._tag, "SessionCapacityError")
      yield* sessions.restore(one.id)
      yield* sessions.addTurn(id, turn(4))
      assert.deepStrictEqual(yield* words(id), ["t1", "t4"])
    }).pipe(Effect.provide(layer({ maxTurnsPerSession: 3 })))
  )

  SystemTest.effect("conflicts with an expected head that is outdated, unless the turn is known", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const first = yield* sessions.addTurn(id, turn(1), { expectedHead: null })
      yield* sessions.addTurn(id, turn(2), { expectedHead: ref("s1", "t1") })
      for (const expectedHead of [null, ref("s1", "t1"), ref("s2", "t2")]) {
        const error = yield* Effect.flip(sessions.addTurn(id, turn(3), { expectedHead }))
        assert.strictEqual(error._tag, "SessionConflictError")
        if (error._tag === "SessionConflictError") assert.include(error.actual, "t2")
      }
      assert.deepStrictEqual(yield* sessions.addTurn(id, turn(1), { expectedHead: null }), first)
      assert.deepStrictEqual(yield* words(id), ["t1", "t2"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("accepts one of several turns with the same expected head", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const exits = yield* Effect.all(
        Array.from({ length: 8 }, (_, n) => Effect.either(sessions.addTurn(id, turn(n), { expectedHead: null }))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(({ _tag }) => _tag === "Right").length, 1)
      for (const exit of exits) if (exit._tag === "Left") assert.strictEqual(exit.left._tag, "SessionConflictError")
      assert.strictEqual((yield* loaded).depth, 1)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("creates a checkpoint every N turns and keeps the newest", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 9; n++) yield* sessions.addTurn(id, turn(n))
      const checkpoints = yield* sessions.checkpoints(id)
      assert.deepStrictEqual(
        checkpoints.map(({ kind, state }) => [kind, state.depth, String(state.head?.turnId)]),
        [
          ["auto", 9, "t9"],
          ["auto", 6, "t6"]
        ]
      )
      assert.strictEqual((yield* loaded).checkpointId, checkpoints[0]?.id)
      assert.strictEqual(checkpoints[0]?.parentCheckpointId, checkpoints[1]?.id)
      assert.deepStrictEqual(told.hooks, ["started s1", ...Array.from({ length: 3 }, () => "checkpoint auto s1")])
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: 3, maxCheckpointsPerSession: 2 }, { told })))
  })

  SystemTest.effect("creates one every ten turns by default", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 25; n++) yield* sessions.addTurn(id, turn(n))
      assert.deepStrictEqual(
        (yield* sessions.checkpoints(id)).map(({ state }) => state.depth),
        [20, 10]
      )
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("creates none if configured", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 11; n++) yield* sessions.addTurn(id, turn(n))
      assert.deepStrictEqual(yield* sessions.checkpoints(id), [])
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: null })))
  )

  SystemTest.effect("writes the turn and its checkpoint at once", () => {
    const additions: Array<SessionStore.Addition> = []
    const store = ManagedSessions.storeWith((store) => ({
      append: (addition) => {
        additions.push(addition)
        return store.append(addition)
      }
    }))
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      yield* sessions.addTurn(id, turn(1))
      const [addition] = additions
      assert.deepInclude(addition?.checkpoint, { kind: "auto", revision: 1, sessionId: id })
      assert.strictEqual(addition?.session.checkpointId, addition?.checkpoint?.id)
      assert.strictEqual(addition?.keepCheckpoints, 50)
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: 1 }, { store })))
  })

  SystemTest.effect("keeps storable totals, however large the parts", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 3; n++) {
        yield* sessions.addTurn(id, turn(n, { tokensUsed: Number.MAX_SAFE_INTEGER, cost: Number.MAX_VALUE }))
      }
      const { totalCost, totalTokens } = yield* loaded
      assert.deepStrictEqual([totalTokens, totalCost], [Number.MAX_SAFE_INTEGER, Number.MAX_VALUE])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("names the invalid field of a turn, not its content, and writes nothing", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const before = yield* loaded
      const cycle: Record<string, unknown> = {}
      cycle["self"] = cycle
      let deep: unknown = 1
      for (let level = 0; level < 10_000; level++) deep = [deep]
      let wide: unknown = 1
      for (let level = 0; level < 40; level++) wide = [wide, wide]
      const secret = "hunter2"
      const wrong: ReadonlyArray<readonly [string, object]> = [
        ["id", { id: `${secret}\n` }],
        ["id", { id: "" }],
        ["role", { role: secret }],
        ["content", { content: { secret } }],
        ["timestamp", { timestamp: Number.NaN }],
        ["timestamp", { timestamp: "2026" }],
        ["tokensUsed", { tokensUsed: -1 }],
        ["tokensUsed", { tokensUsed: 1.5 }],
        ["cost", { cost: Number.POSITIVE_INFINITY }],
        ["cost", { cost: Number.NaN }],
        ["runId", { runId: 7 }],
        ["unanswered", { unanswered: secret }],
        ["metadata", { metadata: { f: () => secret } }],
        ["metadata", { metadata: { n: 1n } }],
        ["metadata", { metadata: cycle }],
        ["metadata", { metadata: { deep } }],
        ["metadata", { metadata: { wide } }],
        ["metadata", { metadata: undefined }],
        ["metadata", { metadata: new Map([[secret, 1]]) }],
        ["toolCalls", { toolCalls: undefined }],
        ["toolCalls", { toolCalls: [{ id: 1, name: "x", params: {} }] }],
        ["toolCalls", { toolCalls: [{ id: "1", name: "x", params: cycle }] }],
        ["toolCalls", { toolCalls: [{ id: "1", name: "x", params: {}, result: Symbol(secret) }] }],
        ["toolCalls", { toolCalls: [null] }],
        ["skillResults", { skillResults: [secret] }],
        ["skillResults", { skillResults: [[1]] }],
        ["skillResults", { skillResults: [{ big: 1n }] }]
      ]
      for (const [field, fields] of wrong) {
        const error = yield* Effect.flip(sessions.addTurn(id, { ...turn(1), ...fields } as NewTurn))
        assert.strictEqual(error._tag, "SessionInputError", field)
        assert.include(error.message, field)
        assert.notInclude(JSON.stringify(error), secret)
      }
      for (const nothing of [null, undefined, "turn", 7]) {
        const error = yield* Effect.flip(sessions.addTurn(id, nothing as never))
        assert.strictEqual(error._tag, "SessionInputError")
      }
      assert.deepStrictEqual(yield* loaded, before)
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("drops unknown fields and ignores later mutations by the caller", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const metadata = { list: [1] }
      const given = { ...turn(1, { metadata }), depth: 99, sessionId: "other", extra: true }
      const added = yield* sessions.addTurn(id, given)
      metadata.list.push(2)
      assert.deepStrictEqual(added, { ...turn(1, { metadata: { list: [1] } }), sessionId: id, depth: 1 })
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 1 }), [added])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("keeps hostile keys of metadata as plain ones", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      const metadata = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}')
      yield* sessions.addTurn(id, { ...turn(1), metadata })
      const [{ metadata: kept } = turn(2)] = yield* sessions.turns(id, { last: 1 })
      assert.deepStrictEqual(Object.keys(kept), ["__proto__", "constructor"])
      assert.isUndefined(kept["polluted"])
    }).pipe(Effect.provide(layer()))
  )
})

describe("SessionManager.addTurn on a branch", () => {
  /** s1: t1 t2 t3, gone back to t1, then t4; the branch begins behind t1 t4. */
  const branched = Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const branches = yield* BranchManager.BranchManager
    yield* sessions.create({ id, userId: ada })
    yield* sessions.addTurn(id, turn(1))
    const checkpoint = yield* sessions.checkpoint(id)
    yield* sessions.addTurn(id, turn(2))
    yield* sessions.addTurn(id, turn(3))
    yield* sessions.restore(checkpoint.id)
    yield* sessions.addTurn(id, turn(4))
    yield* sessions.addTurn(id, turn(5))
    const branch = yield* branches.fork(id)
    return branch.id
  })

  SystemTest.effect("recognizes an inherited turn in any status", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branch = yield* branched
      for (const n of [1, 4, 5]) {
        assert.strictEqual((yield* sessions.addTurn(branch, turn(n))).content, `t${n}`)
        const error = yield* Effect.flip(sessions.addTurn(branch, turn(n, { content: "other" })))
        assert.strictEqual(error._tag, "SessionConflictError")
      }
      yield* sessions.close(branch)
      assert.strictEqual((yield* sessions.addTurn(branch, turn(4))).sessionId, id)
      assert.deepStrictEqual(yield* words(branch), ["t1", "t4", "t5"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("does not recognize an ancestor's turn that was removed by a restore or added later", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branch = yield* branched
      yield* sessions.addTurn(id, turn(6))
      for (const n of [2, 3, 6]) {
        assert.strictEqual((yield* sessions.addTurn(branch, turn(n, { content: `own ${n}` }))).content, `own ${n}`)
      }
      assert.deepStrictEqual(yield* words(branch), ["t1", "t4", "t5", "own 2", "own 3", "own 6"])
      assert.deepStrictEqual(yield* words(id), ["t1", "t4", "t5", "t6"])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("finds an inherited turn over many pages and ancestors", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 450; n++) yield* sessions.addTurn(id, turn(n))
      const child = yield* branches.fork(id)
      yield* sessions.addTurn(child.id, turn(451))
      const grandchild = yield* branches.fork(child.id)
      for (const n of [1, 49, 50, 51, 250, 251, 450]) {
        assert.strictEqual((yield* sessions.addTurn(grandchild.id, turn(n))).sessionId, id)
      }
      assert.strictEqual((yield* sessions.addTurn(grandchild.id, turn(451))).sessionId, child.id)
      assert.strictEqual((yield* sessions.addTurn(grandchild.id, turn(452))).sessionId, grandchild.id)
    }).pipe(Effect.provide(layer({ autoCheckpointInterval: null })))
  )

  SystemTest.effect("writes a new turn without a lookup when the session is not a branch", () => {
    let asked = 0
    const store = ManagedSessions.storeWith((store) => ({
      turn: (ref) => {
        asked++
        return store.turn(ref)
      },
      turns: (head, options) => {
        asked++
        return store.turns(head, options)
      }
    }))
    return Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id })
      for (let n = 1; n <= 20; n++) yield* sessions.addTurn(id, turn(n))
      yield* sessions.addTurn(id, turn(1))
      assert.strictEqual(asked, 0)
    }).pipe(Effect.provide(layer({}, { store })))
  })
})

describe("SessionManager.turns", () => {
  const ten = Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    yield* sessions.create({ id, userId: ada })
    for (let n = 1; n <= 10; n++) yield* sessions.addTurn(id, turn(n))
    return sessions
  })
  const contents = (turns: ReadonlyArray<SessionTurn>) => turns.map(({ content }) => content)

  SystemTest.effect("returns the newest, oldest first, and none for 0 or NaN", () =>
    Effect.gen(function* () {
      const sessions = yield* ten
      assert.deepStrictEqual(contents(yield* sessions.turns(id, { last: 3 })), ["t8", "t9", "t10"])
      assert.strictEqual((yield* sessions.turns(id, { last: Number.POSITIVE_INFINITY })).length, 10)
      for (const last of [0, -1, Number.NaN]) assert.deepStrictEqual(yield* sessions.turns(id, { last }), [])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("pages back to the first turn, through a branch to its ancestors", () =>
    Effect.gen(function* () {
      const sessions = yield* ten
      const branches = yield* BranchManager.BranchManager
      const branch = yield* branches.fork(id)
      for (const n of [11, 12]) yield* sessions.addTurn(branch.id, turn(n))
      const pages: Array<ReadonlyArray<string>> = []
      let page = yield* sessions.turns(branch.id, { last: 5 })
      while (page.length > 0) {
        pages.push(contents(page))
        const [first] = page
        page =
          first === undefined
            ? []
            : yield* sessions.turns(branch.id, {
                last: 5,
                before: { sessionId: first.sessionId, turnId: first.id },
                userId: ada
              })
      }
      assert.deepStrictEqual(pages, [
        ["t8", "t9", "t10", "t11", "t12"],
        ["t3", "t4", "t5", "t6", "t7"],
        ["t1", "t2"]
      ])
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("returns turns after a turn on the path only", () =>
    Effect.gen(function* () {
      const sessions = yield* ten
      const since = ref("s1", "t8")
      assert.deepStrictEqual(contents(yield* sessions.turns(id, { last: 10, since })), ["t9", "t10"])
      assert.deepStrictEqual(contents(yield* sessions.turns(id, { last: 1, since })), ["t10"])
      assert.deepStrictEqual(yield* sessions.turns(id, { last: 10, since: ref("s1", "t10") }), [])
      assert.deepStrictEqual(
        contents(yield* sessions.turns(id, { last: 10, since: ref("s1", "t5"), before: ref("s1", "t8") })),
        ["t6", "t7"]
      )
    }).pipe(Effect.provide(layer()))
  )

  SystemTest.effect("returns nothing before an unknown turn, including another user's", () =>
    Effect.gen(function* () {
      const sessions = yield* ten
      const branches = yield* BranchManager.BranchManager
      const branch = yield* branches.fork(id)
      yield* sessions.addTurn(id, turn(11))
      yield* sessions.addTurn(id, turn(12))
      yield* sessions.create({ id: sid("s2"), userId: ManagedSessions.bob })
      yield* sessions.addTurn(sid("s2"), turn(1))
      yield* sessions.addTurn(sid("s2"), turn(2))
      const pageBefore = (sessionId: string, turnId: string) => ({ last: 5, before: ref(sessionId, turnId) })
      assert.deepStrictEqual(yield* sessions.turns(id, pageBefore("s2", "t2")), [])
      assert.deepStrictEqual(yield* sessions.turns(id, pageBefore("s1", "t99")), [])
      assert.deepStrictEqual(yield* sessions.turns(id, pageBefore("s1", "t1")), [])
      // Said after the branch left.
      assert.deepStrictEqual(yield* sessions.turns(branch.id, pageBefore("s1", "t12")), [])
      assert.deepStrictEqual(contents(yield* sessions.turns(branch.id, pageBefore("s1", "t3"))), ["t1", "t2"])
    }).pipe(Effect.provide(layer()))
  )
})
