import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { TurnId, UserId } from "../../../src/domain/Ids.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as BranchTree from "../../../src/session/branch/BranchTree.js"
import { CheckpointId, Session, stateOf } from "../../../src/session/turn/Session.js"
import type { SessionError } from "../../../src/session/turn/SessionError.js"
import { SessionStartedHook } from "../../../src/session/turn/SessionHooks.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as StateDiff from "../../../src/session/turn/StateDiff.js"
import * as B from "../../support/Branching.js"
import * as SystemTest from "../../support/SystemTest.js"

const { sid } = B
const eve = UserId.make("eve")

describe("BranchManager.fork", () => {
  SystemTest.effect("continues from the head with its own state", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const store = yield* SessionStore.SessionStore
      yield* TestClock.setTime(1000)
      yield* B.create("s", { variables: { a: 1 }, metadata: { m: 1 }, activeTools: ["t"], systemPrompt: "brief" })
      yield* B.say("s", "1")
      yield* B.say("s", "2")
      yield* TestClock.setTime(2000)
      const branch = yield* branches.fork(sid("s"), { id: sid("b"), branchName: "try" })
      const source = yield* B.load("s")
      assert.deepStrictEqual(branch, {
        ...stateOf(source),
        id: sid("b"),
        userId: B.user,
        createdAt: 2000,
        updatedAt: 2000,
        revision: 0,
        checkpointId: branch.checkpointId as CheckpointId,
        parentSessionId: sid("s"),
        rootSessionId: sid("s"),
        branchName: "try",
        lineage: [{ ...source.head!, depth: 2, until: 1000, cuts: [] }]
      })
      assert.deepStrictEqual(yield* B.words("b"), ["1", "2"])
      yield* B.say("b", "3")
      yield* B.update("b", { variables: { a: 2 } })
      yield* B.say("s", "3")
      assert.deepStrictEqual(yield* B.words("b"), ["1", "2", "3"])
      assert.deepStrictEqual((yield* B.load("s")).variables, { a: 1 })
      const [fork] = yield* store.checkpoints(sid("b"), { limit: 10 })
      assert.strictEqual(fork?.id, branch.checkpointId)
      assert.strictEqual(fork?.kind, "fork")
      assert.deepStrictEqual(fork?.state, stateOf(branch))
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("names exactly the sessions that wrote turns on the path in the lineage", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      const empty = yield* branches.fork(sid("s"), { id: sid("empty") })
      assert.deepStrictEqual(empty.lineage, [])
      assert.isUndefined(empty.head)
      yield* TestClock.setTime(5)
      yield* B.say("s", "1")
      yield* branches.fork(sid("s"), { id: sid("silent") })
      yield* branches.fork(sid("silent"), { id: sid("b") })
      yield* TestClock.setTime(7)
      yield* B.say("b", "2")
      const last = yield* branches.fork(sid("b"), { id: sid("c") })
      assert.deepStrictEqual(
        last.lineage.map(({ depth, sessionId, turnId, until }) => [sessionId, turnId, depth, until]),
        [
          ["s", "1", 1, 5],
          ["b", "2", 2, 7]
        ]
      )
      assert.strictEqual(last.parentSessionId, "b")
      assert.strictEqual(last.rootSessionId, "s")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("records the cuts of the source in the lineage, not in the branch", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* TestClock.setTime(10)
      yield* B.say("s", "1")
      yield* B.checkpoint("s", "c")
      yield* TestClock.setTime(20)
      yield* B.say("s", "2")
      yield* TestClock.setTime(30)
      yield* B.restore("c")
      const branch = yield* branches.fork(sid("s"))
      assert.deepStrictEqual(branch.cuts, [])
      assert.deepStrictEqual(branch.lineage[0]?.cuts, [{ after: 10, before: 30 }])
      assert.deepStrictEqual(yield* B.words(branch.id), ["1"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("takes head and state from a checkpoint", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s", { variables: { a: 1 } })
      yield* B.say("s", "1")
      const { id, state } = yield* B.checkpoint("s", "c")
      yield* B.say("s", "2")
      yield* B.update("s", { variables: { a: 2 } })
      const branch = yield* branches.fork(sid("s"), { fromCheckpoint: id, metadata: { why: "again" } })
      assert.deepStrictEqual(stateOf(branch), { ...state, metadata: { why: "again" } })
      assert.deepStrictEqual(yield* B.words(branch.id), ["1"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("continues after an earlier turn, with the cuts of that time", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s", { variables: { a: 1 } })
      yield* TestClock.setTime(10)
      yield* B.say("s", "1")
      yield* B.checkpoint("s", "c")
      yield* TestClock.setTime(20)
      yield* B.say("s", "dropped")
      yield* TestClock.setTime(30)
      yield* B.restore("c")
      yield* TestClock.setTime(40)
      yield* B.say("s", "2")
      yield* TestClock.setTime(50)
      yield* B.say("s", "3")
      yield* B.update("s", { variables: { a: 2 } })
      const source = yield* B.load("s")
      const branch = yield* branches.fork(sid("s"), { id: sid("b"), afterTurn: TurnId.make("2") })
      assert.deepStrictEqual(yield* B.words("b"), ["1", "2"])
      assert.deepInclude(branch, {
        depth: 2,
        variables: { a: 2 },
        head: { sessionId: sid("s"), turnId: TurnId.make("2") }
      })
      assert.strictEqual(branch.totalTokens, (source.totalTokens * 2) / 3)
      assert.deepStrictEqual(branch.lineage, [
        { ...branch.head!, depth: 2, until: 40, cuts: [{ after: 10, before: 30 }] }
      ])
      const early = yield* branches.fork(sid("s"), { afterTurn: TurnId.make("1") })
      assert.deepStrictEqual(early.lineage[0]?.cuts, [])
      yield* B.say("b", "other")
      assert.deepStrictEqual(yield* B.words("b"), ["1", "2", "other"])
      assert.deepStrictEqual(yield* B.words("s"), ["1", "2", "3"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("does not find a turn of another session, and does not begin at two places", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.say("s", "1")
      const { id } = yield* B.checkpoint("s", "c")
      yield* branches.fork(sid("s"), { id: sid("b") })
      yield* B.say("b", "2")
      for (const [from, afterTurn, fromCheckpoint] of [
        ["s", "2", undefined],
        ["b", "1", undefined],
        ["s", "__proto__", undefined],
        ["s", "1", id]
      ] as const) {
        const error = yield* Effect.flip(
          branches.fork(sid(from), { afterTurn: TurnId.make(afterTurn), fromCheckpoint })
        )
        assert.strictEqual(error._tag, "SessionInputError")
      }
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("does not find a checkpoint of another session, even of a branch", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.create("other")
      const foreign = yield* B.checkpoint("other", "foreign")
      const branch = yield* branches.fork(sid("s"))
      for (const fromCheckpoint of [foreign.id, branch.checkpointId!, CheckpointId.make("__proto__")]) {
        const error = yield* Effect.flip(branches.fork(sid("s"), { fromCheckpoint }))
        assert.strictEqual(error._tag, "CheckpointNotFoundError")
      }
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("returns the first branch for a repeated id without publishing it again", () => {
    const started: Array<string> = []
    return Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.say("s", "1")
      const first = yield* branches.fork(sid("s"), { id: sid("b"), userId: B.user })
      yield* B.say("s", "2")
      assert.deepStrictEqual(yield* branches.fork(sid("s"), { id: sid("b"), userId: B.user }), first)
      assert.deepStrictEqual(started, ["b of s"])
    }).pipe(
      Effect.provide(
        B.layer().pipe(
          Layer.provideMerge(
            Hooks.handler(SessionStartedHook, ({ parentSessionId, sessionId }) =>
              Effect.sync(() => {
                started.push(`${sessionId} of ${parentSessionId}`)
              })
            )
          ),
          Layer.provideMerge(Hooks.layer)
        )
      )
    )
  })

  SystemTest.effect("refuses an id that another session already uses", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.create("own")
      yield* B.create("hers", { userId: eve })
      for (const id of [sid("own"), sid("hers"), sid("s")]) {
        const error = yield* Effect.flip(branches.fork(sid("s"), { id }))
        assert.strictEqual(error._tag, "SessionNotFoundError")
      }
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("does not find sessions of another user", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      const hers = { userId: eve }
      for (const call of [
        Effect.asVoid(branches.fork(sid("s"), hers)),
        Effect.asVoid(branches.branches(sid("s"), hers)),
        Effect.asVoid(branches.tree(sid("s"), hers))
      ]) {
        const error = yield* Effect.flip(call as Effect.Effect<void, SessionError>)
        assert.strictEqual(error._tag, "SessionNotFoundError")
      }
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("forks closed, expired and suspended sessions into active branches", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      for (const status of ["suspended", "closed", "expired"] as const) {
        yield* B.update("s", { status })
        assert.strictEqual((yield* branches.fork(sid("s"))).status, "active")
      }
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("lets concurrent forks create no more branches than allowed", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      const results = yield* Effect.forEach(
        Array.from({ length: 64 }),
        () => Effect.either(Effect.zipRight(Effect.yieldNow(), branches.fork(sid("s")))),
        { concurrency: "unbounded" }
      )
      const refusals = results.flatMap((result) => (result._tag === "Left" ? [result.left] : []))
      assert.strictEqual(results.length - refusals.length, 10)
      for (const refusal of refusals) assert.strictEqual(refusal._tag, "SessionCapacityError")
      const { sessions } = yield* branches.branches(sid("s"))
      assert.strictEqual(sessions.length, 10)
      yield* B.update(sessions[0]!.id, { status: "closed" })
      assert.isTrue((yield* branches.fork(sid("s"))).status === "active")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("counts branches as sessions of their user", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* branches.fork(sid("s"))
      const error = yield* Effect.flip(branches.fork(sid("s")))
      assert.strictEqual(error._tag, "SessionCapacityError")
      yield* B.create("nobody", { userId: null })
      for (let n = 0; n < 3; n++) yield* branches.fork(sid("nobody"))
    }).pipe(Effect.provide(B.layer({ maxSessionsPerUser: 2 })))
  )

  SystemTest.effect("limits the writers of the inherited turns to 256 sessions", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("0")
      yield* B.say("0", "t")
      for (let n = 1; n <= 256; n++) {
        yield* branches.fork(sid(String(n - 1)), { id: sid(String(n)) })
        yield* B.say(String(n), "t")
      }
      const error = yield* Effect.flip(branches.fork(sid("256")))
      assert.strictEqual(error._tag, "SessionCapacityError")
    }).pipe(Effect.provide(B.layer({ maxSessionsPerUser: Infinity })))
  )

  SystemTest.effect("makes as few store calls for a long conversation as for a short one", () => {
    const calls = new B.Calls()
    return Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const asked: Array<ReadonlyArray<[string, number]>> = []
      for (const [id, length] of [
        ["short", 10],
        ["long", 10_000]
      ] as const) {
        yield* B.create(id)
        for (let n = 0; n < length; n++) yield* B.say(id, String(n))
        calls.reset()
        yield* branches.fork(sid(id))
        asked.push(Array.from(calls.of))
      }
      assert.deepStrictEqual(asked[0], [
        ["load", 1],
        ["turn", 1],
        ["create", 1]
      ])
      assert.deepStrictEqual(asked[1], asked[0])
    }).pipe(Effect.provide(B.layer({}, calls)))
  })

  SystemTest.effect("keeps a branch complete when its source is deleted", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const store = yield* SessionStore.SessionStore
      yield* B.create("s")
      yield* B.say("s", "1")
      yield* branches.fork(sid("s"), { id: sid("b") })
      yield* B.say("b", "2")
      yield* store.delete(sid("s"))
      assert.deepStrictEqual(yield* B.words("b"), ["1", "2"])
      const again = yield* branches.fork(sid("b"), { id: sid("c") })
      assert.deepStrictEqual(yield* B.words(again.id), ["1", "2"])
      const error = yield* Effect.flip(branches.fork(sid("s")))
      assert.strictEqual(error._tag, "SessionNotFoundError")
      // Its turns are needed: a new session of that id would write into them.
      assert.strictEqual((yield* Effect.flip(branches.fork(sid("b"), { id: sid("s") })))._tag, "SessionNotFoundError")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("rejects invalid metadata and ids, and keeps keys such as __proto__", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("__proto__", { variables: JSON.parse('{"__proto__":{"polluted":true},"constructor":1}') })
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const error = yield* Effect.flip(branches.fork(sid("__proto__"), { metadata: cyclic }))
      assert.strictEqual(error._tag, "SessionInputError")
      const refused = yield* Effect.flip(branches.fork(sid("__proto__"), { id: "a\u0000b" as never }))
      assert.strictEqual(refused._tag, "SessionInputError")
      const branch = yield* branches.fork(sid("__proto__"), { id: sid("constructor") })
      assert.deepStrictEqual(Object.keys(branch.variables).sort(), ["__proto__", "constructor"])
      assert.isUndefined((branch.variables as Record<string, unknown>)["polluted"])
    }).pipe(Effect.provide(B.layer()))
  )
})

describe("BranchManager.branches", () => {
  SystemTest.effect("lists forks page by page, newest first, without the forks of forks", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      for (let n = 1; n <= 5; n++) {
        yield* TestClock.setTime(n)
        yield* branches.fork(sid("s"), { id: sid(`b${n}`) })
        yield* branches.fork(sid(`b${n}`))
      }
      yield* B.update("b4", { status: "closed" })
      const first = yield* branches.branches(sid("s"), { limit: 2 })
      assert.deepStrictEqual(
        first.sessions.map(({ id }) => id),
        ["b5", "b4"]
      )
      const second = yield* branches.branches(sid("s"), { limit: 2, after: first.next })
      assert.deepStrictEqual(
        second.sessions.map(({ id }) => id),
        ["b3", "b2"]
      )
      const third = yield* branches.branches(sid("s"), { limit: 2, after: second.next })
      assert.deepStrictEqual(
        third.sessions.map(({ id }) => id),
        ["b1"]
      )
      assert.isUndefined(third.next)
      const live = yield* branches.branches(sid("s"), { statuses: ["active"] })
      assert.deepStrictEqual(
        live.sessions.map(({ id }) => id),
        ["b5", "b3", "b2", "b1"]
      )
      assert.deepStrictEqual(yield* branches.branches(sid("s"), { limit: 0 }), { sessions: [] })
      assert.strictEqual((yield* branches.branches(sid("s"), { limit: Infinity })).sessions.length, 5)
    }).pipe(Effect.provide(B.layer()))
  )
})

describe("BranchManager.tree", () => {
  SystemTest.effect("returns the whole tree for any of its sessions, and as text", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s")
      yield* B.create("unrelated")
      yield* B.say("s", "1")
      yield* TestClock.setTime(1)
      yield* branches.fork(sid("s"), { id: sid("a"), branchName: "one \u202e\n" })
      yield* TestClock.setTime(2)
      yield* B.say("a", "2")
      yield* branches.fork(sid("a"), { id: sid("aa") })
      yield* TestClock.setTime(3)
      yield* branches.fork(sid("s"), { id: sid("b") })
      yield* B.update("b", { status: "closed" })
      const tree = yield* branches.tree(sid("aa"), { userId: B.user })
      assert.isTrue(tree.isComplete)
      assert.deepStrictEqual(tree.root, {
        sessionId: sid("s"),
        status: "active",
        depth: 1,
        children: [
          {
            sessionId: sid("a"),
            branchName: "one \u202e\n",
            status: "active",
            depth: 2,
            fork: { turn: { sessionId: sid("s"), turnId: "1" as never }, depth: 1 },
            children: [
              {
                sessionId: sid("aa"),
                status: "active",
                depth: 2,
                fork: { turn: { sessionId: sid("a"), turnId: "2" as never }, depth: 2 },
                children: []
              }
            ]
          },
          {
            sessionId: sid("b"),
            status: "closed",
            depth: 1,
            fork: { turn: { sessionId: sid("s"), turnId: "1" as never }, depth: 1 },
            children: []
          }
        ]
      })
      assert.strictEqual(
        BranchTree.toText(tree),
        [
          "s: active, 1 turn",
          "├─ one \\u{202e}\\u{000a} (a): active, 2 turns, from turn 1",
          "│  └─ * aa: active, 2 turns, from turn 2",
          "└─ b: closed, 1 turn, from turn 1"
        ].join("\n")
      )
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("keeps descendants of a deleted session in the tree", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const store = yield* SessionStore.SessionStore
      yield* B.create("s")
      yield* B.say("s", "1")
      yield* branches.fork(sid("s"), { id: sid("a") })
      yield* B.say("a", "2")
      yield* branches.fork(sid("a"), { id: sid("aa") })
      yield* store.delete(sid("a"))
      const text = Effect.map(branches.tree(sid("aa")), BranchTree.toText)
      assert.strictEqual(
        yield* text,
        ["s: active, 1 turn", "└─ a: missing", "   └─ * aa: active, 2 turns, from turn 2"].join("\n")
      )
      yield* store.delete(sid("s"))
      assert.strictEqual(
        yield* text,
        ["s: missing", "└─ a: missing", "   └─ * aa: active, 2 turns, from turn 2"].join("\n")
      )
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("reads a deep tree of several pages to its end, or up to the limit", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("0")
      for (let n = 1; n < 250; n++) {
        yield* TestClock.setTime(n)
        yield* branches.fork(sid(String(n - 1)), { id: sid(String(n)) })
      }
      const whole = yield* branches.tree(sid("7"))
      assert.isTrue(whole.isComplete)
      assert.strictEqual(BranchTree.toText(whole).split("\n").length, 250)
      const newest = yield* branches.tree(sid("7"), { maxSessions: 2 })
      assert.isFalse(newest.isComplete)
      assert.strictEqual(
        BranchTree.toText(newest),
        [
          "0: missing",
          "└─ 247: missing",
          "   └─ 248: active, 0 turns",
          "      └─ 249: active, 0 turns",
          "… older sessions are not shown"
        ].join("\n")
      )
      assert.isTrue((yield* branches.tree(sid("7"), { maxSessions: 250 })).isComplete)
    }).pipe(Effect.provide(B.layer({ maxSessionsPerUser: Infinity })))
  )

  it("renders a tree of thousands of levels as text", () => {
    let id = sid("0")
    const sessions = Array.from({ length: 3000 }, (_, n) => {
      const session = {
        id: sid(String(n)),
        status: "active" as const,
        metadata: {},
        activeTools: [],
        activeSkills: [],
        variables: {},
        depth: 0,
        totalTokens: 0,
        totalCost: 0,
        cuts: [],
        createdAt: n,
        updatedAt: n,
        revision: 0,
        lineage: [],
        ...(n === 0 ? {} : { parentSessionId: id, rootSessionId: sid("0") })
      }
      id = session.id
      return session
    })
    const tree = BranchTree.make(sessions, { sessionId: id, rootSessionId: sid("0") })
    assert.isTrue(BranchTree.toText(tree).endsWith("* 2999: active, 0 turns"))
  })
})

describe("BranchManager.diff", () => {
  const setUp = Effect.gen(function* () {
    yield* TestClock.setTime(1)
    yield* B.create("s", { variables: { a: 1, b: 1 } })
    yield* B.say("s", "s1")
    const { id: first } = yield* B.checkpoint("s", "first")
    yield* B.say("s", "s2")
    yield* B.update("s", { variables: { a: 2 }, activeTools: ["t"] })
    const { id: second } = yield* B.checkpoint("s", "second")
    return { first, second }
  })
  const turnsOf = ({
    turns
  }: StateDiff.StateDiff): { readonly added: ReadonlyArray<string>; readonly removed: ReadonlyArray<string> } => ({
    added: turns?.added.map(({ content }) => content) ?? [],
    removed: turns?.removed.map(({ turnId }) => turnId) ?? []
  })

  SystemTest.effect("compares checkpoints of a session in both directions, with turns and state", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const store = yield* SessionStore.SessionStore
      const { first, second } = yield* setUp
      const diff = yield* branches.diff(first, second)
      assert.deepStrictEqual(turnsOf(diff), { added: ["s2"], removed: [] })
      assert.deepStrictEqual(diff.variables, { set: [{ key: "a", value: 2 }], removed: ["b"] })
      const [from, to] = [
        Option.getOrThrow(yield* store.checkpoint(first)),
        Option.getOrThrow(yield* store.checkpoint(second))
      ]
      assert.deepStrictEqual(StateDiff.apply(from.state, diff), to.state)
      const back = yield* branches.diff(second, first)
      assert.deepStrictEqual(turnsOf(back), { added: [], removed: ["s2"] })
      assert.deepStrictEqual(StateDiff.apply(to.state, back), from.state)
      assert.deepStrictEqual(yield* branches.diff(first, first), {})
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("compares branches, and states across a restore", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const { second } = yield* setUp
      const branch = yield* branches.fork(sid("s"), { id: sid("b") })
      yield* B.say("b", "b1")
      const { id: third } = yield* B.checkpoint("b", "third")
      yield* TestClock.setTime(2)
      yield* B.restore("first")
      for (let n = 0; n < 250; n++) yield* B.say("s", `n${n}`)
      const { id: fourth } = yield* B.checkpoint("s", "fourth")
      assert.deepStrictEqual(turnsOf(yield* branches.diff(branch.checkpointId!, third)), { added: ["b1"], removed: [] })
      assert.deepStrictEqual(turnsOf(yield* branches.diff(second, branch.checkpointId!)), { added: [], removed: [] })
      const far = turnsOf(yield* branches.diff(third, fourth))
      assert.deepStrictEqual(far.removed, ["s2", "b1"])
      assert.strictEqual(far.added.length, 250)
      assert.deepStrictEqual(far.added.slice(0, 2), ["n0", "n1"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("does not find another user's checkpoints and does not compare two trees", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const { first } = yield* setUp
      yield* B.create("other")
      const { id: other } = yield* B.checkpoint("other", "other")
      yield* B.create("hers", { userId: eve })
      const { id: hers } = yield* B.checkpoint("hers", "hers")
      const none = yield* Effect.flip(branches.diff(first, CheckpointId.make("none")))
      assert.strictEqual(none._tag, "CheckpointNotFoundError")
      const foreign = yield* Effect.flip(branches.diff(first, hers, { userId: B.user }))
      assert.strictEqual(foreign._tag, "CheckpointNotFoundError")
      const unrelated = yield* Effect.flip(branches.diff(first, other))
      assert.strictEqual(unrelated._tag, "SessionMergeError")
    }).pipe(Effect.provide(B.layer()))
  )
})

describe("BranchManager.layerNoop", () => {
  SystemTest.effect("returns forks without storing them, and never merges anything", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      const branch = yield* branches.fork(sid("s"), { branchName: "try", metadata: { m: 1 }, userId: B.user })
      assert.isTrue(Schema.is(Session)(branch))
      assert.deepStrictEqual(
        [branch.parentSessionId, branch.branchName, branch.metadata, branch.userId],
        [sid("s"), "try", { m: 1 }, B.user]
      )
      assert.strictEqual((yield* branches.fork(sid("s"), { id: sid("b") })).id, "b")
      assert.deepStrictEqual(yield* branches.branches(sid("s")), { sessions: [] })
      assert.deepStrictEqual((yield* branches.tree(sid("s"))).root, { sessionId: sid("s"), depth: 0, children: [] })
      const merged = yield* branches.merge(sid("s"), sid("b"), { userId: B.user })
      assert.deepStrictEqual([merged.isNew, merged.session.id, merged.session.userId], [false, sid("s"), B.user])
      const id = CheckpointId.make("c")
      assert.strictEqual((yield* Effect.flip(branches.diff(id, id)))._tag, "CheckpointNotFoundError")
      const error = yield* Effect.flip(branches.fork(sid("s"), { fromCheckpoint: id }))
      assert.strictEqual(error._tag, "CheckpointNotFoundError")
    }).pipe(Effect.provide(BranchManager.layerNoop))
  )
})
