import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { UserId } from "../../../src/domain/Ids.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as ApprovalPolicy from "../../../src/tool/approval/ApprovalPolicy.js"
import { request } from "./ApprovalStoreSuite.js"

type Rules = ReadonlyArray<ApprovalPolicy.ApprovalRule>

const ask = (over: Partial<ApprovalGate.ApprovalRequest> = {}) =>
  Effect.flatMap(ApprovalGate.ApprovalGate, (gate) => gate.request(request("a", over)))

const decided = (rules: Rules, over: Partial<ApprovalGate.ApprovalRequest> = {}) =>
  Effect.provide(ask(over), ApprovalPolicy.layer(rules))

/** Whether a rule with these conditions fits arguments. */
const fits = (condition: ApprovalPolicy.ArgumentCondition, params: unknown) =>
  Effect.map(
    decided([{ arguments: [condition], decision: "approve" }], { params }),
    (decision) => decision._tag === "Approved"
  )

const table = (rows: ReadonlyArray<readonly [ApprovalPolicy.ArgumentCondition, unknown, boolean]>) =>
  Effect.forEach(rows, ([condition, params, expected]) =>
    Effect.map(fits(condition, params), (is) => assert.strictEqual(is, expected, JSON.stringify([condition, params])))
  )

describe("ApprovalPolicy", () => {
  it.effect("applies the first matching rule, and denies without a match", () =>
    Effect.gen(function* () {
      const rules: Rules = [
        { tools: ["read_*"], decision: "approve" },
        { tools: ["*_secret"], decision: "deny", reason: "secrets stay" },
        { tools: ["write_?"], agents: ["clerk"], decision: "approve" }
      ]
      const tag = (over: Partial<ApprovalGate.ApprovalRequest>) => Effect.map(decided(rules, over), ({ _tag }) => _tag)
      assert.strictEqual(yield* tag({ tool: "read_secret" }), "Approved")
      assert.deepStrictEqual(yield* decided(rules, { tool: "write_secret" }), {
        _tag: "Denied",
        reason: "secrets stay"
      })
      assert.strictEqual(yield* tag({ tool: "write_a" }), "Approved")
      assert.strictEqual(yield* tag({ tool: "write_a", agent: "other" }), "Denied")
      assert.strictEqual(yield* tag({ tool: "write_ab" }), "Denied")
      assert.strictEqual(
        (yield* Effect.provide(ask({ tool: "x" }), ApprovalPolicy.layer(rules, { otherwise: "approve" })))._tag,
        "Approved"
      )
    })
  )

  it.effect("matches a user rule with no other user and with no missing user", () =>
    Effect.gen(function* () {
      const rules: Rules = [{ users: ["u1", "admin-*"], decision: "approve" }]
      const tag = (userId?: string) =>
        Effect.map(decided(rules, userId === undefined ? {} : { userId: UserId.make(userId) }), ({ _tag }) => _tag)
      assert.deepStrictEqual(yield* Effect.all([tag("u1"), tag("admin-7"), tag("u2"), tag()]), [
        "Approved",
        "Approved",
        "Denied",
        "Denied"
      ])
    })
  )

  it.effect("finds arguments by pointer, among own fields only", () =>
    table([
      [{ pointer: "/a/1/b", equals: 1 }, { a: [0, { b: 1 }] }, true],
      [{ pointer: "/a/01/b", equals: 1 }, { a: [0, { b: 1 }] }, false],
      [{ pointer: "/a/-", equals: 1 }, { a: [1] }, false],
      [{ pointer: "/a~1b/m~0n", equals: 1 }, { "a/b": { "m~n": 1 } }, true],
      [{ pointer: "", equals: { a: 1 } }, { a: 1 }, true],
      [{ pointer: "/", equals: 1 }, { "": 1 }, true],
      [{ pointer: "/__proto__", equals: {} }, {}, false],
      [{ pointer: "/constructor/name", equals: "Object" }, {}, false],
      [{ pointer: "/a/length", min: 0 }, { a: [] }, false],
      [{ pointer: "/a/b", equals: 1 }, { a: null }, false],
      [{ pointer: "/a", equals: 1 }, undefined, false]
    ])
  )

  it.effect("compares as JSON, and an absent argument equals nothing", () =>
    table([
      [{ pointer: "/a", equals: { x: 1, y: [2] } }, { a: { y: [2], x: 1 } }, true],
      [{ pointer: "/a", equals: { x: 1 } }, { a: { x: 1, y: 2 } }, false],
      [{ pointer: "/a", equals: null }, { a: null }, true],
      [{ pointer: "/a", equals: null }, {}, false],
      [{ pointer: "/a", equals: 1 }, { a: "1" }, false],
      [{ pointer: "/a", in: ["x", 2] }, { a: 2 }, true],
      [{ pointer: "/a", in: ["x", 2] }, { a: 3 }, false],
      [{ pointer: "/a", in: [] }, { a: 3 }, false]
    ])
  )

  it.effect("applies bounds to numbers and patterns to texts, and requires the whole condition", () =>
    table([
      [{ pointer: "/a", max: 100 }, { a: 100 }, true],
      [{ pointer: "/a", max: 100 }, { a: 100.01 }, false],
      [{ pointer: "/a", max: 100 }, { a: "5" }, false],
      [{ pointer: "/a", max: 100 }, { a: Number.NaN }, false],
      [{ pointer: "/a", max: 100 }, {}, false],
      [{ pointer: "/a", min: 0, max: 100 }, { a: -1 }, false],
      [{ pointer: "/a", min: 0, max: 100 }, { a: 0 }, true],
      [{ pointer: "/a", matches: ["/tmp/*", "x"] }, { a: "/tmp/y" }, true],
      [{ pointer: "/a", matches: ["/tmp/*", "x"] }, { a: "/etc/y" }, false],
      [{ pointer: "/a", matches: ["*"] }, { a: 1 }, false]
    ])
  )

  it.effect("lets arguments without a JSON form equal nothing", () =>
    Effect.gen(function* () {
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      assert.isFalse(yield* fits({ pointer: "/self", equals: undefined }, cyclic))
    })
  )

  it.effect("matches a huge text quickly", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* fits({ pointer: "/a", matches: [`${"*a".repeat(100)}b`] }, { a: "a".repeat(100_000) }))
    })
  )

  it("decodes rules from data with all issues", () => {
    const rules = [{ tools: ["a"], arguments: [{ pointer: "/x", max: 3 }], decision: "ask", reason: "look" }]
    assert.deepStrictEqual(ApprovalPolicy.decode(JSON.parse(JSON.stringify(rules))), Either.right(rules as never))
    const wrong = ApprovalPolicy.decode([
      { tools: [], decision: "approve" },
      { tools: ["x".repeat(300)], decision: "maybe" },
      { argument: [], decision: "approve" },
      { arguments: [{ pointer: "x", equals: 1 }, { pointer: "/~2", equals: 1 }, { pointer: "/x" }], decision: "deny" },
      { arguments: [{ pointer: "/x", maximum: 3, max: 1 }], decision: "approve" }
    ])
    assert.isTrue(Either.isLeft(wrong))
    if (!Either.isLeft(wrong)) return
    assert.strictEqual(wrong.left.reason, "policy")
    for (const place of [
      "0.tools",
      "1.tools.0",
      "1.decision",
      "2.argument:",
      "3.arguments.0.pointer",
      "3.arguments.1.pointer",
      "3.arguments.2: ",
      "4.arguments.0.maximum"
    ]) {
      assert.include(wrong.left.message, place)
    }
    assert.isTrue(Either.isLeft(ApprovalPolicy.decode("all")))
  })

  it.effect("validates rules given in code", () =>
    Effect.gen(function* () {
      const rules: Rules = [{ arguments: [{ pointer: "amount", max: 1 }], decision: "approve" }]
      assert.strictEqual((yield* Effect.flip(decided(rules))).reason, "policy")
    })
  )

  describe("over another gate", () => {
    const asked: Array<ApprovalGate.ApprovalRequest> = []
    const inner = ApprovalGate.layer((request) =>
      Effect.sync(() => {
        asked.push(request)
        return ApprovalGate.approve({ params: "inner" })
      })
    )
    const over = (rules: Rules, options?: Parameters<typeof ApprovalPolicy.layerOver>[1]) =>
      Effect.provide(ask(), Layer.provide(ApprovalPolicy.layerOver(rules, options), inner))

    it.effect("passes ask and unmatched requests to it with the reason", () =>
      Effect.gen(function* () {
        asked.length = 0
        assert.deepStrictEqual(yield* over([{ decision: "ask", reason: "look twice" }]), {
          _tag: "Approved",
          params: "inner"
        })
        assert.deepStrictEqual(yield* over([]), { _tag: "Approved", params: "inner" })
        assert.deepStrictEqual(asked, [request("a", { reason: "look twice" }), request("a")])
      })
    )

    it.effect("keeps decisions of rules from it", () =>
      Effect.gen(function* () {
        asked.length = 0
        assert.deepStrictEqual(yield* over([{ decision: "approve" }]), { _tag: "Approved" })
        assert.strictEqual((yield* over([{ decision: "deny" }]))._tag, "Denied")
        assert.strictEqual((yield* over([], { otherwise: "deny" }))._tag, "Denied")
        assert.deepStrictEqual(asked, [])
      })
    )

    it.effect("denies ask requests without one", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* decided([{ decision: "ask", reason: "look twice" }, { decision: "approve" }]), {
          _tag: "Denied",
          reason: "look twice"
        })
      })
    )
  })
})
