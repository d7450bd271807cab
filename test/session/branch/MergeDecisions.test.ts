import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as MergeDecisions from "../../../src/session/branch/MergeDecisions.js"
import type { SessionMergeError } from "../../../src/session/turn/SessionError.js"
import * as B from "../../support/Branching.js"
import * as SystemTest from "../../support/SystemTest.js"

const { sid } = B

/** A session and its branch, which both changed a variable, the metadata and the prompt. */
const diverged = Effect.gen(function* () {
  const branches = yield* BranchManager.BranchManager
  yield* B.create("s", { variables: { tone: "calm", same: 1, gone: 1 }, metadata: { topic: "a" }, systemPrompt: "p" })
  yield* B.say("s", "1")
  yield* branches.fork(sid("s"), { id: sid("b"), userId: B.user })
  yield* B.say("b", "2")
  yield* B.update("b", {
    variables: { tone: "loud", same: 2, new: 1 },
    metadata: { topic: "b" },
    systemPrompt: "theirs"
  })
  yield* B.update("s", { variables: { tone: "dry", same: 2 }, metadata: { topic: "c" }, systemPrompt: "ours" })
  return branches
})

const preview = (branches: BranchManager.Service) =>
  MergeDecisions.preview(branches, sid("s"), sid("b"), { userId: B.user })

const merge = (branches: BranchManager.Service, ...given: Parameters<typeof MergeDecisions.strategy>) =>
  branches.merge(sid("s"), sid("b"), { userId: B.user, strategy: MergeDecisions.strategy(...given) })

const refusal = (effect: Effect.Effect<unknown, { readonly _tag: string }>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.strictEqual(error._tag, "SessionMergeError")
    return error as SessionMergeError
  })

describe("MergeDecisions.preview", () => {
  SystemTest.effect("shows what comes, and both sides of each conflict with their base, and writes nothing", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      const before = yield* B.load("s")
      const { changes, conflicts, turns } = yield* preview(branches)
      assert.deepStrictEqual(
        turns.map(({ content }) => content),
        ["2"]
      )
      assert.deepStrictEqual(
        conflicts.map((one) => [MergeDecisions.pathOf(one), one.base, one.ours, one.theirs]),
        [
          ["variables/tone", Option.some("calm"), Option.some("dry"), Option.some("loud")],
          ["metadata/topic", Option.some("a"), Option.some("c"), Option.some("b")],
          ["systemPrompt", Option.some("p"), Option.some("ours"), Option.some("theirs")]
        ]
      )
      assert.deepStrictEqual(changes, { variables: { set: [{ key: "new", value: 1 }], removed: [] } })
      assert.deepStrictEqual(yield* B.load("s"), before)
      assert.deepStrictEqual(yield* B.words("s"), ["1"])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("fails as a merge does", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      yield* B.create("other")
      const { reason } = yield* refusal(MergeDecisions.preview(branches, sid("s"), sid("other"), { userId: B.user }))
      assert.strictEqual(reason, "unrelated")
    }).pipe(Effect.provide(B.layer()))
  )

  it.effect("is empty where nothing is kept", () =>
    Effect.gen(function* () {
      const found = yield* preview(yield* BranchManager.BranchManager)
      assert.deepStrictEqual([found.turns, found.conflicts, found.changes], [[], [], {}])
    }).pipe(Effect.provide(BranchManager.layerNoop))
  )
})

describe("MergeDecisions.strategy", () => {
  SystemTest.effect("takes for each conflict the side that was chosen", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      const { fingerprint } = yield* preview(branches)
      const { conflicts, session, turns } = yield* merge(
        branches,
        { "variables/tone": "theirs", "metadata/topic": "ours", systemPrompt: "theirs" },
        { seen: fingerprint }
      )
      assert.deepStrictEqual(session.variables, { tone: "loud", same: 2, new: 1 })
      assert.deepStrictEqual(session.metadata, { topic: "c" })
      assert.strictEqual(session.systemPrompt, "theirs")
      assert.strictEqual(turns.length, 1)
      assert.strictEqual(conflicts.length, 3)
      assert.deepStrictEqual((yield* preview(branches)).conflicts, [])
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("fails and writes nothing while a conflict has no decision", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      const before = yield* B.load("s")
      const error = yield* refusal(merge(branches, { "metadata/topic": "ours" }))
      assert.strictEqual(error.reason, "conflict")
      assert.deepStrictEqual(error.variables, ["tone"])
      assert.include(error.message, '2 of 3 conflicts are not decided, such as "variables/tone", "systemPrompt"')
      assert.deepStrictEqual(yield* B.load("s"), before)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("fails when a session changed after its conflicts were seen", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      const { fingerprint } = yield* preview(branches)
      yield* B.update("s", { variables: { tone: "flat", same: 2 } })
      const decisions = { "variables/tone": "ours", "metadata/topic": "ours", systemPrompt: "ours" } as const
      const error = yield* refusal(merge(branches, decisions, { seen: fingerprint }))
      assert.strictEqual(error.reason, "conflict")
      assert.include(error.message, "no longer")
      assert.strictEqual((yield* merge(branches, decisions)).session.variables["tone"], "flat")
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("refuses a decision without a conflict", () =>
    Effect.gen(function* () {
      const branches = yield* diverged
      const decisions = {
        "variables/tone": "ours",
        "metadata/topic": "ours",
        systemPrompt: "ours",
        [`variables/${"x".repeat(1000)}`]: "ours"
      } as const
      const error = yield* refusal(merge(branches, decisions))
      assert.strictEqual(error.reason, "resolver")
      assert.isBelow(error.message.length, 200)
    }).pipe(Effect.provide(B.layer()))
  )

  SystemTest.effect("takes keys with any names, those of prototypes too", () =>
    Effect.gen(function* () {
      const branches = yield* BranchManager.BranchManager
      yield* B.create("s", { variables: JSON.parse('{"__proto__":0,"constructor":0,"a/b":0}') })
      yield* branches.fork(sid("s"), { id: sid("b"), userId: B.user })
      yield* B.update("b", { variables: JSON.parse('{"__proto__":1,"constructor":1,"a/b":1}') })
      yield* B.update("s", { variables: JSON.parse('{"__proto__":2,"constructor":2,"a/b":2}') })
      const paths = (yield* preview(branches)).conflicts.map(MergeDecisions.pathOf)
      assert.sameMembers(paths, ["variables/__proto__", "variables/constructor", "variables/a/b"])
      const error = yield* refusal(merge(branches, {}))
      assert.strictEqual(error.reason, "conflict")
      const { session } = yield* merge(branches, Object.fromEntries(paths.map((path) => [path, "theirs" as const])))
      assert.deepStrictEqual(Object.entries(session.variables).sort(), [
        ["__proto__", 1],
        ["a/b", 1],
        ["constructor", 1]
      ])
    }).pipe(Effect.provide(B.layer()))
  )
})
