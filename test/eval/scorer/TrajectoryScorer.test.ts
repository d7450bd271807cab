import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import type * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as TrajectoryScorer from "../../../src/eval/scorer/TrajectoryScorer.js"
import * as TrajectoryChecks from "../../../src/eval/trajectory/TrajectoryChecks.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

const tool = (name: string) =>
  Tool.make(name, {
    description: name,
    parameters: Schema.Struct({ q: Schema.String }),
    success: Schema.String,
    handler: ({ q }) => Effect.succeed(q)
  })

const agent = Agent.make("clerk", { system: "You book tables.", tools: [tool("find"), tool("book")] })

/** The run of an agent that makes these calls, one a step. */
const runOf = (...calls: ReadonlyArray<readonly [name: string, q: string]>) =>
  AgentExecutor.run(agent, "A table").pipe(
    Effect.provide(
      Agents.layer().pipe(
        Layer.provide(TestModel.layer([...calls.map(([name, q]) => ({ calls: [{ name, params: { q } }] })), "Booked."]))
      )
    )
  )

const subject = (
  response: AgentResponse.AgentResponse<unknown> | undefined,
  expected: unknown = undefined
): Scorer.Subject => ({ input: "A table", output: "Booked.", expected, response })

/** A response with these calls, without a run. */
const withCalls = (
  ...calls: ReadonlyArray<readonly [name: string, q: string]>
): AgentResponse.AgentResponse<unknown> => ({
  ...AgentResponse.fromEvents([]),
  toolCalls: calls.map(([name, q], at) => ({ id: `${at}`, name, params: { q }, step: at + 1, at }))
})

describe("TrajectoryScorer.make", () => {
  it.effect("scores the run of an agent by checks, and says what does not hold", () =>
    Effect.gen(function* () {
      const response = yield* runOf(["find", "two"], ["book", "window"])
      const scorer = TrajectoryScorer.make({
        checks: [
          TrajectoryChecks.calledInOrder("find", ["book", { q: "window" }]),
          TrajectoryChecks.nothingCalledAfter("book"),
          TrajectoryChecks.within({ modelCalls: 3 }),
          TrajectoryChecks.answered("Booked.")
        ]
      })
      assert.strictEqual(scorer.name, "trajectory")
      assert.deepStrictEqual(yield* scorer.score(subject(response)), { value: 1 })
      const checks = [
        TrajectoryChecks.called("pay"),
        TrajectoryChecks.calledAtMost(0, "find"),
        TrajectoryChecks.succeeded
      ]
      const strict = yield* TrajectoryScorer.make({ name: "strict", checks }).score(subject(response))
      assert.deepStrictEqual(strict, {
        value: 0,
        reason: "pay was not called; find was called once, at most 0 times was allowed"
      })
      const partial = yield* TrajectoryScorer.make({ checks, partial: true }).score(subject(response))
      assert.closeTo(partial.value, 1 / 3, 1e-12)
    })
  )

  it.effect("takes checks by the case", () =>
    Effect.gen(function* () {
      const scorer = TrajectoryScorer.make({
        checks: ({ expected }: Scorer.Subject<unknown, unknown, string>) => [TrajectoryChecks.called(expected)]
      })
      const response = withCalls(["find", "x"])
      assert.strictEqual((yield* scorer.score({ ...subject(response), expected: "find" })).value, 1)
      assert.strictEqual((yield* scorer.score({ ...subject(response), expected: "book" })).value, 0)
    })
  )

  it.effect("names few of many problems", () =>
    Effect.gen(function* () {
      const checks = Array.from({ length: 9 }, (_, i) => TrajectoryChecks.called(`tool${i}`))
      const { reason } = yield* TrajectoryScorer.make({ checks }).score(subject(withCalls()))
      assert.include(reason ?? "", "tool4 was not called; and 4 more")
    })
  )

  it.effect("fails without a run, without checks, and with checks that throw", () =>
    Effect.gen(function* () {
      const failure = (checks: TrajectoryScorer.Options["checks"], response = withCalls(["find", "x"])) =>
        Effect.map(Effect.flip(TrajectoryScorer.make({ checks }).score(subject(response))), ({ message }) => message)
      const noRun = TrajectoryScorer.make({ checks: [TrajectoryChecks.succeeded] }).score(subject(undefined))
      assert.include((yield* Effect.flip(noRun)).message, "the task gave no run")
      assert.include(yield* failure([]), "there is nothing to check")
      const throws = () => {
        throw new Error("no field")
      }
      assert.include(yield* failure([TrajectoryChecks.called("find", throws)]), "it threw: no field")
      assert.include(yield* failure(throws), "it threw: no field")
    })
  )
})

describe("TrajectoryScorer.calls", () => {
  const valueOf = (
    compare: TrajectoryScorer.Comparison,
    made: ReadonlyArray<readonly [string, string]>,
    expected: unknown
  ) =>
    Effect.map(
      TrajectoryScorer.calls<unknown, unknown, unknown>({ compare, calls: () => expected as any }).score(
        subject(withCalls(...made))
      ),
      ({ value }) => value
    )

  const all = ["exact", "inOrder", "anyOrder", "precision", "recall", "f1"] as const

  it.effect("compares calls in six ways", () =>
    Effect.gen(function* () {
      const made = [
        ["find", "a"],
        ["look", "b"],
        ["book", "c"]
      ] as const
      const cases: ReadonlyArray<readonly [expected: ReadonlyArray<unknown>, values: ReadonlyArray<number>]> = [
        [
          ["find", "look", "book"],
          [1, 1, 1, 1, 1, 1]
        ],
        [
          ["find", ["book", { q: "c" }]],
          [0, 1, 1, 2 / 3, 1, 4 / 5]
        ],
        [
          ["book", "find"],
          [0, 0, 1, 2 / 3, 1, 4 / 5]
        ],
        [
          ["find", "pay"],
          [0, 0, 0, 1 / 3, 1 / 2, 2 / 5]
        ],
        [["pay"], [0, 0, 0, 0, 0, 0]],
        [
          ["find", "find"],
          [0, 0, 0, 1 / 3, 1 / 2, 2 / 5]
        ],
        [[], [0, 1, 1, 0, 1, 0]]
      ]
      for (const [expected, values] of cases)
        for (const [i, compare] of all.entries())
          assert.closeTo(yield* valueOf(compare, made, expected), values[i] ?? -1, 1e-12, `${compare} ${expected}`)
      for (const compare of all) {
        assert.strictEqual(yield* valueOf(compare, [], []), 1, compare)
        assert.strictEqual(yield* valueOf(compare, [], ["find"]), 0, compare)
      }
    })
  )

  it.effect("finds each expected call one of its own, where several fit", () =>
    Effect.gen(function* () {
      const made = [
        ["find", "a"],
        ["find", "b"]
      ] as const
      assert.strictEqual(yield* valueOf("anyOrder", made, ["find", ["find", { q: "a" }]]), 1)
      assert.strictEqual(
        yield* valueOf("anyOrder", made, [
          ["find", { q: "a" }],
          ["find", { q: "a" }]
        ]),
        0
      )
      assert.strictEqual(yield* valueOf("recall", made, ["find", "find", "find"]), 2 / 3)
    })
  )

  it("is exact where it is in order and of one length, and in order where it is exact", () => {
    const calls = FastCheck.array(FastCheck.constantFrom("a", "b", "c"), { maxLength: 6 })
    FastCheck.assert(
      FastCheck.property(calls, calls, (names, expected) => {
        const made = names.map((name) => [name, "x"] as const)
        const value = (compare: TrajectoryScorer.Comparison) => Effect.runSync(valueOf(compare, made, expected))
        assert.isAtMost(value("exact"), value("inOrder"))
        assert.isAtMost(value("inOrder"), value("anyOrder"))
        assert.strictEqual(value("anyOrder") === 1, value("recall") === 1)
        assert.strictEqual(value("exact") === 1, JSON.stringify(names) === JSON.stringify(expected))
        for (const compare of all) assert.isTrue(value(compare) >= 0 && value(compare) <= 1)
      })
    )
  })

  it.effect("takes the calls that were expected, and says what differs", () =>
    Effect.gen(function* () {
      const scorer = TrajectoryScorer.calls({ compare: "inOrder" })
      assert.strictEqual(scorer.name, "calls inOrder")
      const response = yield* runOf(["find", "two"], ["book", "window"])
      const score = (expected: any) => scorer.score({ ...subject(response), expected })
      assert.deepStrictEqual(yield* score(["find", ["book", { q: "window" }]]), { value: 1 })
      assert.deepStrictEqual(yield* score(["book", ["find", { q: "two" }]]), {
        value: 0,
        reason: 'it called find, book; expected is book, find({"q":"two"})'
      })
      assert.strictEqual(TrajectoryScorer.calls({ name: "tools", compare: "f1" }).name, "tools")
    })
  )

  it.effect("refuses what is no list of calls, too many calls, and tasks without a run", () =>
    Effect.gen(function* () {
      for (const expected of [undefined, "find", [1], [["find"]], [["find", null]], [["find", 5]], [[1, {}]]]) {
        const error = yield* Effect.flip(valueOf("recall", [["find", "a"]], expected))
        assert.include(error.message, "what is expected is no list of calls")
      }
      const many = Array.from({ length: 1001 }, () => "find")
      assert.include((yield* Effect.flip(valueOf("recall", [], many))).message, "are too many")
      const none = TrajectoryScorer.calls({ compare: "exact" }).score({ ...subject(undefined), expected: [] })
      assert.include((yield* Effect.flip(none)).message, "the task gave no run")
    })
  )

  it.effect("pairs as many calls as it takes", () =>
    Effect.gen(function* () {
      const made = Array.from({ length: 1000 }, (_, i) => ["find", `${i % 10}`] as const)
      const expected = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? "find" : ["find", { q: `${i % 10}` }]))
      assert.strictEqual(yield* valueOf("recall", made, expected), 1)
    })
  )
})
