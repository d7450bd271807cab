import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as MergeStrategy from "../../../src/session/branch/MergeStrategy.js"
import { begin, type Session, type SessionTurn } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as B from "../../support/Branching.js"
import * as SystemTest from "../../support/SystemTest.js"

const { sid } = B

const session = (id: string, fields: Partial<Session> = {}): Session => ({
  ...begin(SessionId.make(id), { at: 0 }),
  ...fields
})

const turn = (id: string, depth: number, fields: Partial<SessionTurn> = {}): SessionTurn => ({
  id: TurnId.make(id),
  sessionId: SessionId.make("theirs"),
  role: "user",
  content: id,
  timestamp: depth,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 0,
  cost: 0,
  depth,
  ...fields
})

const merging = (
  base: Partial<Session>,
  ours: Partial<Session>,
  theirs: Partial<Session>,
  turns: ReadonlyArray<SessionTurn> = [],
  known: ReadonlyArray<SessionTurn> = []
): MergeStrategy.Merging => ({
  base: session("base", base),
  into: session("ours", ours),
  from: session("theirs", theirs),
  turns,
  known
})

describe("MergeStrategy.append", () => {
  SystemTest.effect("lets variables changed by the branch win and keeps all others", () =>
    Effect.gen(function* () {
      const { state } = yield* MergeStrategy.append.merge(
        merging(
          { variables: { kept: 0, changed: 0, both: 0, removed: 0, gone: 0 } },
          { variables: { kept: 1, changed: 0, both: 1, removed: 1, added: 1 } },
          { variables: { kept: 0, changed: 2, both: 2, gone: 0, new: 2 } }
        )
      )
      assert.deepStrictEqual(state?.variables, { kept: 1, changed: 2, both: 2, added: 1, new: 2 })
    })
  )

  SystemTest.effect("combines tools and skills, and keeps metadata and prompt", () =>
    Effect.gen(function* () {
      const { state, turns } = yield* MergeStrategy.append.merge(
        merging(
          { activeTools: ["a", "b"], activeSkills: ["s"] },
          { activeTools: ["b", "c"], activeSkills: ["s"] },
          { activeTools: ["a", "d", "b"], activeSkills: [], metadata: { m: 1 }, systemPrompt: "p" },
          [turn("1", 1)]
        )
      )
      assert.deepStrictEqual(state?.activeTools, ["b", "c", "d"])
      assert.deepStrictEqual(state?.activeSkills, [])
      assert.isUndefined(state?.metadata)
      assert.isUndefined(state?.systemPrompt)
      assert.deepStrictEqual(turns, [turn("1", 1)])
    })
  )
})

describe("MergeStrategy.selective", () => {
  const call = { id: "c", name: "search", params: {} }
  const turns = [
    turn("1", 1),
    turn("2", 2, { role: "assistant", toolCalls: [call] }),
    turn("3", 3, { role: "tool", toolCalls: [{ ...call, result: "r" }] }),
    turn("4", 4, { role: "tool" }),
    turn("5", 5, { role: "assistant" })
  ]
  const chosen = (...ids: ReadonlyArray<string>) =>
    Effect.map(
      MergeStrategy.selective(ids.map((id) => TurnId.make(id))).merge(merging({}, {}, {}, turns)),
      ({ state, turns }) => ({ state, ids: turns.map(({ id }) => id as string) })
    )

  SystemTest.effect("takes the named turns in the order of the branch, and no state", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chosen("5", "1", "5"), { state: undefined, ids: ["1", "5"] })
      assert.deepStrictEqual(yield* chosen(), { state: undefined, ids: [] })
    })
  )

  SystemTest.effect("takes a call with its results, and a result with its call", () =>
    Effect.gen(function* () {
      for (const id of ["2", "3", "4"]) assert.deepStrictEqual((yield* chosen(id)).ids, ["2", "3", "4"])
    })
  )

  SystemTest.effect("rejects a turn that the branch lacks, without showing its content", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(chosen("1", "secret"))
      assert.strictEqual(error.reason, "unknown_turn")
      assert.notInclude(JSON.stringify(error), "secret")
    })
  )

  SystemTest.effect("skips turns that the session already has", () =>
    Effect.gen(function* () {
      const plan = yield* MergeStrategy.selective([TurnId.make("1"), TurnId.make("2")]).merge(
        merging({}, {}, {}, [turn("2", 2)], [turn("1", 1)])
      )
      assert.deepStrictEqual(plan.turns, [turn("2", 2)])
    })
  )

  SystemTest.effect("takes the branch's own turn when an id is ambiguous, or that of the named session", () =>
    Effect.gen(function* () {
      const other = turn("1", 1, { sessionId: SessionId.make("between") })
      const third = turn("1", 2, { sessionId: SessionId.make("third") })
      const own = turn("1", 3)
      const pick = (wanted: Parameters<typeof MergeStrategy.selective>[0][number], all: ReadonlyArray<SessionTurn>) =>
        Effect.map(MergeStrategy.selective([wanted]).merge(merging({}, {}, {}, all)), (plan) => plan.turns)
      assert.deepStrictEqual(yield* pick(TurnId.make("1"), [other, third, own]), [own])
      assert.deepStrictEqual(yield* pick({ sessionId: other.sessionId, turnId: other.id }, [other, third]), [other])
      const error = yield* Effect.flip(pick(TurnId.make("1"), [other, third]))
      assert.strictEqual(error.reason, "unknown_turn")
    })
  )
})

describe("MergeStrategy.threeWay", () => {
  const sides = merging(
    { variables: { same: 0, ours: 0, theirs: 0, both: 0, alike: 0, dropped: 0 }, systemPrompt: "base" },
    { variables: { same: 0, ours: 1, theirs: 0, both: 1, alike: 3, dropped: 1 }, systemPrompt: "base" },
    { variables: { same: 0, ours: 0, theirs: 2, both: 2, alike: 3 }, systemPrompt: "theirs" }
  )
  const clashes: ReadonlyArray<MergeStrategy.Conflict> = [
    { field: "variables", key: "both", base: Option.some(0), ours: Option.some(1), theirs: Option.some(2) },
    { field: "variables", key: "dropped", base: Option.some(0), ours: Option.some(1), theirs: Option.none() }
  ]

  SystemTest.effect("settles one-sided and equal changes, and fails with the names of the rest", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(MergeStrategy.threeWay().merge(sides))
      assert.strictEqual(error.reason, "conflict")
      assert.deepStrictEqual(error.variables, ["both", "dropped"])
      assert.strictEqual(error.sessionId, "ours")
      assert.strictEqual(error.branchSessionId, "theirs")
    })
  )

  SystemTest.effect("lets the chosen side win", () =>
    Effect.gen(function* () {
      const ours = yield* MergeStrategy.threeWay({ conflict: "ours" }).merge(sides)
      assert.deepStrictEqual(ours.state?.variables, { same: 0, ours: 1, theirs: 2, alike: 3, both: 1, dropped: 1 })
      assert.deepStrictEqual(ours.state?.systemPrompt, Option.some("theirs"))
      assert.deepStrictEqual(
        ours.conflicts,
        clashes.map((clash) => ({ ...clash, resolved: clash.ours }))
      )
      const theirs = yield* MergeStrategy.threeWay({ conflict: "theirs" }).merge(sides)
      assert.deepStrictEqual(theirs.state?.variables, { same: 0, ours: 1, theirs: 2, alike: 3, both: 2 })
    })
  )

  SystemTest.effect("passes all conflicts to a resolver, which may also remove values", () =>
    Effect.gen(function* () {
      const seen: Array<MergeStrategy.Conflict> = []
      const plan = yield* MergeStrategy.threeWay({
        conflict: (conflicts) =>
          Effect.sync(() => {
            seen.push(...conflicts)
            return [Option.none(), Option.some("new")]
          })
      }).merge(sides)
      assert.deepStrictEqual(seen, clashes)
      assert.deepStrictEqual(plan.state?.variables, { same: 0, ours: 1, theirs: 2, alike: 3, dropped: "new" })
    })
  )

  SystemTest.effect("rejects a resolver that leaves a conflict open, and passes on its failure", () =>
    Effect.gen(function* () {
      const short = yield* Effect.flip(MergeStrategy.threeWay({ conflict: () => Effect.succeed([]) }).merge(sides))
      assert.strictEqual(short.reason, "resolver")
      const own = yield* Effect.flip(MergeStrategy.threeWay({ conflict: () => Effect.fail("mine") }).merge(sides))
      assert.strictEqual(own, "mine")
    })
  )

  SystemTest.effect("detects conflicts of metadata and system prompt", () =>
    Effect.gen(function* () {
      const both = merging(
        { systemPrompt: "p", metadata: { m: 0 } },
        { systemPrompt: "ours", metadata: { m: 1 } },
        { metadata: { m: 2 } }
      )
      const error = yield* Effect.flip(MergeStrategy.threeWay().merge(both))
      assert.deepStrictEqual(error.variables, [])
      assert.include(error.message, "the metadata and the system prompt")
      const plan = yield* MergeStrategy.threeWay({ conflict: "theirs" }).merge(both)
      assert.deepStrictEqual(plan.state?.metadata, { m: 2 })
      assert.deepStrictEqual(plan.state?.systemPrompt, Option.none())
      const wrong = MergeStrategy.threeWay({
        conflict: (conflicts) => Effect.succeed(conflicts.map(() => Option.some(1)))
      })
      assert.strictEqual((yield* Effect.flip(wrong.merge(both))).reason, "resolver")
    })
  )

  SystemTest.effect("does not call the resolver without conflicts", () =>
    Effect.gen(function* () {
      const never = MergeStrategy.threeWay({ conflict: () => Effect.die("asked") })
      const plan = yield* never.merge(merging({}, { variables: { a: 1 } }, { variables: { b: 1 } }))
      assert.deepStrictEqual(plan.state?.variables, { a: 1, b: 1 })
    })
  )

  SystemTest.effect("keeps keys such as __proto__, ignores deeply equal values, and bounds names in errors", () =>
    Effect.gen(function* () {
      const evil = JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"a": [1, {"b": 2}]}}')
      const same = JSON.parse('{"constructor": {"a": [1, {"b": 2}]}}')
      const plan = yield* MergeStrategy.threeWay().merge(merging({}, { variables: same }, { variables: evil }))
      assert.deepStrictEqual(plan.state?.variables, evil)
      assert.deepStrictEqual(Object.keys(plan.state?.variables ?? {}), ["constructor", "__proto__"])
      assert.isUndefined(({} as Record<string, unknown>)["polluted"])
      const many = (value: number) =>
        Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${n}${"x".repeat(1000)}`, value]))
      const error = yield* Effect.flip(
        MergeStrategy.threeWay().merge(merging({}, { variables: many(1) }, { variables: many(2) }))
      )
      assert.strictEqual(error.variables.length, 100)
      assert.isTrue(error.variables.every((name) => name.length === 256))
    })
  )
})

describe("custom strategies", () => {
  const setUp = Effect.gen(function* () {
    yield* B.create("s")
    const branches = yield* BranchManager.BranchManager
    yield* branches.fork(sid("s"), { id: sid("b") })
    yield* B.say("b", "b1")
    yield* B.say("b", "b2")
    return branches
  })

  SystemTest.effect("select turns in the order of the branch, and are named in the record", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const strategy = MergeStrategy.make("backwards", ({ turns }) =>
        Effect.succeed({ turns: [...turns, ...turns].reverse(), state: { systemPrompt: Option.some("merged") } })
      )
      const { checkpoint, session } = yield* branches.merge(sid("s"), sid("b"), { strategy })
      assert.deepStrictEqual(yield* B.words("s"), ["b1", "b2"])
      assert.strictEqual(session.systemPrompt, "merged")
      assert.strictEqual(checkpoint?.merge?.strategy, "backwards")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("cannot add unknown turns or invalid state", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const before = yield* B.load("s")
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      for (const [reason, plan] of [
        ["unknown_turn", { turns: [turn("invented", 1)] }],
        ["resolver", { turns: [], state: { variables: cyclic } }],
        ["resolver", { turns: [], state: { metadata: { f: () => 1 } } }],
        ["resolver", { turns: [], state: { activeTools: [1] as never } }],
        ["resolver", { turns: [], state: { systemPrompt: Option.some(1 as never) } }]
      ] as const) {
        const error = yield* Effect.flip(
          branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.make("wrong", () => Effect.succeed(plan)) })
        )
        assert.strictEqual(error._tag === "SessionMergeError" ? error.reason : error._tag, reason)
      }
      assert.deepStrictEqual(yield* B.load("s"), before)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("fail with their own errors and write nothing", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const before = yield* B.load("s")
      const strategy = MergeStrategy.make("failing", () => Effect.fail("mine" as const))
      assert.strictEqual(yield* Effect.flip(branches.merge(sid("s"), sid("b"), { strategy })), "mine")
      assert.deepStrictEqual(yield* B.load("s"), before)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("leave omitted fields open for the next merge", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      const store = yield* SessionStore.SessionStore
      yield* B.update("b", { variables: { v: 1 }, metadata: { m: 1 } })
      yield* branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.selective([TurnId.make("b1")]) })
      assert.deepStrictEqual((yield* B.load("s")).variables, {})
      const appended = yield* branches.merge(sid("s"), sid("b"))
      assert.deepStrictEqual(
        appended.turns.map(({ content }) => content),
        ["b2"]
      )
      assert.deepStrictEqual([appended.session.variables, appended.session.metadata], [{ v: 1 }, {}])
      const whole = yield* branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.threeWay() })
      assert.deepStrictEqual([whole.session.variables, whole.session.metadata], [{ v: 1 }, { m: 1 }])
      assert.isFalse((yield* branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.threeWay() })).isNew)
      assert.strictEqual((yield* store.checkpoints(sid("s"), { limit: 10 })).length, 3)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("decide a conflict once: the losing value does not come back", () =>
    Effect.gen(function* () {
      const branches = yield* setUp
      yield* B.update("b", { variables: { v: "theirs" } })
      yield* B.update("s", { variables: { v: "ours" } })
      const strategy = MergeStrategy.threeWay({ conflict: "ours" })
      const first = yield* branches.merge(sid("s"), sid("b"), { strategy })
      assert.strictEqual(first.conflicts.length, 1)
      yield* B.update("s", { variables: { v: "later" } })
      const second = yield* branches.merge(sid("s"), sid("b"), { strategy: MergeStrategy.threeWay() })
      assert.isFalse(second.isNew)
      assert.deepStrictEqual(second.session.variables, { v: "later" })
    }).pipe(Effect.provide(B.layer()))
  )
})
