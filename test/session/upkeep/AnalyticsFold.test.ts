import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import { SessionTurn } from "../../../src/session/turn/Session.js"
import * as AnalyticsFold from "../../../src/session/upkeep/AnalyticsFold.js"
import * as SessionAnalytics from "../../../src/session/upkeep/SessionAnalytics.js"

type Given = Partial<(typeof SessionTurn)["Encoded"]>

const decode = Schema.decodeSync(SessionTurn)

const turn = (given: Given = {}): SessionTurn =>
  decode({ id: "t", role: "user", content: "hello", timestamp: 0, sessionId: "s", depth: 1, ...given })

const figures = (...turns: ReadonlyArray<Given>) => AnalyticsFold.figures(AnalyticsFold.fromTurns(turns.map(turn)))

const call = (name: string, isFailure?: boolean) => ({
  id: "c",
  name,
  params: {},
  ...(isFailure === undefined ? {} : { isFailure })
})

describe("figures", () => {
  it("is zero without turns", () => {
    assert.deepStrictEqual(AnalyticsFold.figures(AnalyticsFold.empty), {
      totalTurns: 0,
      totalTokens: 0,
      totalCost: 0,
      durationSeconds: 0,
      agentsUsed: [],
      toolsInvoked: [],
      toolCalls: [],
      skillsInvoked: [],
      averageResponseTimeMs: 0,
      answeredTurns: 0,
      unansweredTurns: 0,
      modelsUsed: [],
      providersUsed: [],
      moreNames: false
    })
  })

  it("counts a conversation", () => {
    const given = figures(
      { role: "system", timestamp: 1000 },
      { role: "user", timestamp: 2000, tokensUsed: 3 },
      {
        role: "assistant",
        timestamp: 3500,
        tokensUsed: 40,
        cost: 0.1,
        model: "m-2",
        provider: "openai",
        metadata: { agent: "writer" },
        toolCalls: [call("search"), call("calc", true), call("search", false)],
        skillResults: [{ skillName: "summary", success: true, metadata: { agent: "reader" } }]
      },
      { role: "user", timestamp: 10_000, unanswered: "failed" },
      { role: "user", timestamp: 11_000 },
      {
        role: "assistant",
        timestamp: 11_500,
        tokensUsed: 7,
        cost: 0.2,
        model: "m-1",
        provider: "anthropic",
        metadata: { agent: "critic" }
      },
      { role: "tool", timestamp: 61_000 }
    )
    assert.deepStrictEqual(given, {
      totalTurns: 7,
      totalTokens: 50,
      totalCost: 0.3,
      durationSeconds: 60,
      agentsUsed: ["critic", "reader", "writer"],
      toolsInvoked: ["calc", "search"],
      toolCalls: [
        { name: "calc", calls: 1, failures: 1 },
        { name: "search", calls: 2, failures: 0 }
      ],
      skillsInvoked: ["summary"],
      averageResponseTimeMs: 1000,
      answeredTurns: 2,
      unansweredTurns: 1,
      modelsUsed: ["m-1", "m-2"],
      providersUsed: ["anthropic", "openai"],
      moreNames: false
    })
    assert.isTrue(Schema.is(SessionAnalytics.Figures)(given))
  })

  const answered = (...turns: ReadonlyArray<Given>) => {
    const { answeredTurns, averageResponseTimeMs } = figures(...turns)
    return [answeredTurns, averageResponseTimeMs]
  }

  it("counts the first answer, not those after it", () => {
    const user = { role: "user", timestamp: 0 } as const
    const first = { role: "assistant", timestamp: 100, metadata: { agent: "a" } } as const
    assert.deepStrictEqual(answered(user, first, { ...first, timestamp: 900 }), [1, 100])
  })

  it("does not count a turn that only calls tools as an answer", () => {
    assert.deepStrictEqual(
      answered(
        { role: "user", timestamp: 0 },
        { role: "assistant", content: "", timestamp: 100, toolCalls: [call("search")] },
        { role: "tool", timestamp: 200 },
        { role: "assistant", timestamp: 700, toolCalls: [call("search")] }
      ),
      [1, 700]
    )
  })

  it("counts an empty answer without tools", () => {
    assert.deepStrictEqual(answered({ role: "user" }, { role: "assistant", content: "", timestamp: 5 }), [1, 5])
  })

  it("treats the second of two questions in a row as answered", () => {
    assert.deepStrictEqual(
      answered({ role: "user", timestamp: 0 }, { role: "user", timestamp: 60 }, { role: "assistant", timestamp: 100 }),
      [1, 40]
    )
  })

  it("does not match a later answer to a question marked as unanswered", () => {
    assert.deepStrictEqual(
      answered({ role: "user", timestamp: 0, unanswered: "interrupted" }, { role: "assistant", timestamp: 100 }),
      [0, 0]
    )
  })

  it("ignores answers without a question and questions without an answer", () => {
    assert.deepStrictEqual(answered({ role: "assistant", timestamp: 1 }, { role: "user", timestamp: 2 }), [0, 0])
  })

  it("counts no time for an answer before its question when clocks differ", () => {
    assert.deepStrictEqual(answered({ role: "user", timestamp: 50 }, { role: "assistant", timestamp: 20 }), [1, 0])
  })

  it("dates a merged turn by its first version", () => {
    const origin = (timestamp: number) => ({
      origin: { sessionId: SessionId.make("b"), turnId: TurnId.make("x"), timestamp }
    })
    assert.deepStrictEqual(
      answered(
        { role: "user", timestamp: 9000, ...origin(1000) },
        { role: "assistant", timestamp: 9000, ...origin(1300) }
      ),
      [1, 300]
    )
  })

  it("adds up cents", () => {
    const turns = Array.from({ length: 10 }, () => ({ cost: 0.1 }))
    assert.strictEqual(figures(...turns).totalCost, 1)
    assert.strictEqual(figures({ cost: 0.1 }, { cost: 0.2 }).totalCost, 0.3)
  })

  it("accepts any name", () => {
    const names = ["__proto__", "constructor", "\ud800", "a\u0000b", "toString"]
    const given = figures({ toolCalls: names.map((name) => call(name)), metadata: { agent: "__proto__" } })
    assert.deepStrictEqual(given.toolsInvoked, [...names].sort())
    assert.deepStrictEqual(given.agentsUsed, ["__proto__"])
  })

  it("ignores invalid names and cuts long ones", () => {
    const given = figures(
      { metadata: { agent: 7 } },
      { metadata: { agent: "" } },
      { skillResults: [{ skillName: null }, { metadata: "x" }, { metadata: null }] },
      { model: "m".repeat(100_000) }
    )
    assert.deepStrictEqual(given.agentsUsed, [])
    assert.deepStrictEqual(given.skillsInvoked, [])
    assert.deepStrictEqual(given.modelsUsed, ["m".repeat(AnalyticsFold.maxNameLength)])
  })

  it("keeps the first of too many names with all their uses, in any order", () => {
    const name = (i: number) => `tool-${String(i).padStart(5, "0")}`
    const turns = Array.from({ length: 4000 }, (_, i) => turn({ toolCalls: [call(name((i * 7919) % 2000))] }))
    const given = AnalyticsFold.figures(AnalyticsFold.fromTurns(turns))
    assert.strictEqual(given.toolCalls.length, AnalyticsFold.maxNames)
    assert.isTrue(given.moreNames)
    assert.deepStrictEqual(given.toolCalls.at(-1), { name: name(AnalyticsFold.maxNames - 1), calls: 2, failures: 0 })
    assert.isTrue(given.toolCalls.every(({ calls }) => calls === 2))
    const parts = [turns.slice(0, 1500), turns.slice(1500)].map(AnalyticsFold.fromTurns)
    assert.deepStrictEqual(AnalyticsFold.figures(parts.reduce(AnalyticsFold.combine)), given)
  })
})

const anyTurn: FastCheck.Arbitrary<SessionTurn> = FastCheck.record({
  role: FastCheck.constantFrom("user" as const, "assistant" as const, "tool" as const, "system" as const),
  content: FastCheck.constantFrom("", "x"),
  timestamp: FastCheck.integer({ min: 0, max: 100_000 }),
  tokensUsed: FastCheck.nat(1000),
  cost: FastCheck.nat(1_000_000).map((micros) => micros / 1_000_000),
  tools: FastCheck.array(FastCheck.constantFrom("a", "b", "c"), { maxLength: 3 }),
  agent: FastCheck.constantFrom("ann", "bob", ""),
  unanswered: FastCheck.boolean()
}).map(({ agent, tools, unanswered, ...rest }) =>
  turn({
    ...rest,
    metadata: { agent },
    toolCalls: tools.map((name, i) => call(name, i % 2 === 0)),
    ...(unanswered && rest.role === "user" ? { unanswered: "failed" as const } : {})
  })
)

const turns = FastCheck.array(anyTurn, { maxLength: 12 })

describe("combine", () => {
  it("gives the figures of all turns for any split into two parts", () => {
    FastCheck.assert(
      FastCheck.property(turns, turns, (a, b) => {
        const parted = AnalyticsFold.combine(AnalyticsFold.fromTurns(a), AnalyticsFold.fromTurns(b))
        assert.deepStrictEqual(
          AnalyticsFold.figures(parted),
          AnalyticsFold.figures(AnalyticsFold.fromTurns([...a, ...b]))
        )
      })
    )
  })

  it("is associative, with a neutral element", () => {
    FastCheck.assert(
      FastCheck.property(turns, turns, turns, FastCheck.boolean(), (a, b, c, over) => {
        const [x, y, z] = [a, b, c]
          .map(AnalyticsFold.fromTurns)
          .map((fold) => (over ? AnalyticsFold.close(fold) : fold))
        const left = AnalyticsFold.combine(AnalyticsFold.combine(x!, y!), z!)
        const right = AnalyticsFold.combine(x!, AnalyticsFold.combine(y!, z!))
        assert.deepStrictEqual(AnalyticsFold.figures(left), AnalyticsFold.figures(right))
        assert.strictEqual(AnalyticsFold.conversations(left), AnalyticsFold.conversations(right))
        for (const same of [
          AnalyticsFold.combine(AnalyticsFold.empty, x!),
          AnalyticsFold.combine(x!, AnalyticsFold.empty)
        ]) {
          assert.deepStrictEqual(AnalyticsFold.figures(same), AnalyticsFold.figures(x!))
        }
      })
    )
  })

  it("combines closed conversations in any order without matching answers across them", () => {
    FastCheck.assert(
      FastCheck.property(turns, turns, (a, b) => {
        const [x, y] = [a, b].map((given) => AnalyticsFold.close(AnalyticsFold.fromTurns(given)))
        const one = AnalyticsFold.combine(x!, y!)
        assert.deepStrictEqual(AnalyticsFold.figures(one), AnalyticsFold.figures(AnalyticsFold.combine(y!, x!)))
        const [p, q] = [AnalyticsFold.figures(x!), AnalyticsFold.figures(y!)]
        const both = AnalyticsFold.figures(one)
        assert.strictEqual(both.answeredTurns, p.answeredTurns + q.answeredTurns)
        assert.approximately(both.durationSeconds, p.durationSeconds + q.durationSeconds, 1e-9)
        assert.strictEqual(AnalyticsFold.conversations(one), Math.min(1, a.length) + Math.min(1, b.length))
      })
    )
  })

  it("closes a conversation once", () => {
    const fold = AnalyticsFold.close(AnalyticsFold.fromTurns([turn(), turn({ timestamp: 5000 })]))
    const again = AnalyticsFold.close(fold)
    assert.strictEqual(AnalyticsFold.conversations(again), 1)
    assert.strictEqual(AnalyticsFold.figures(again).durationSeconds, 5)
  })

  it("add appends a turn", () => {
    const fold = AnalyticsFold.add(AnalyticsFold.of(turn()), turn({ role: "assistant", timestamp: 70 }))
    assert.strictEqual(AnalyticsFold.figures(fold).averageResponseTimeMs, 70)
  })
})

describe("settle", () => {
  it("gives the figures of the conversation from settled turns in any order", () => {
    FastCheck.assert(
      FastCheck.property(turns, (given) => {
        let answeredAt: number | undefined
        let fold = AnalyticsFold.empty
        for (const said of given.toReversed().map(AnalyticsFold.of)) {
          fold = AnalyticsFold.combine(fold, AnalyticsFold.settle(said, answeredAt))
          answeredAt = said.opening ?? (said.asked ? undefined : answeredAt)
        }
        assert.deepStrictEqual(AnalyticsFold.figures(fold), AnalyticsFold.figures(AnalyticsFold.fromTurns(given)))
      })
    )
  })
})
