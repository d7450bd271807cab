import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as PairwiseJudge from "../../../src/eval/scorer/PairwiseJudge.js"
import type * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as TestModel from "../../../src/testing/TestModel.js"

const subject: Scorer.Subject = { input: "Say hello.", output: "new", expected: "old", response: undefined }

const userOf = ({ messages }: LlmClient.LlmRequest): string => JSON.stringify(messages[1])

const isFirstA = (request: LlmClient.LlmRequest, first: string): boolean =>
  new RegExp(`begin A\\\\n${first}\\\\n`).test(userOf(request))

const says = (better: string, reason = "it is") => JSON.stringify({ reason, better })

/** A judge that prefers this output, wherever it is shown. */
const preferring = (text: string) =>
  TestModel.make((request) => says(isFirstA(request, text) ? "A" : "B", `${text} is kinder`))

describe("PairwiseJudge", () => {
  it.effect("asks in both orders, and gives 1, 0 or 0.5", () =>
    Effect.gen(function* () {
      const valueOf = (client: LlmClient.Service) =>
        PairwiseJudge.makeWith(client, { criteria: "The kinder one." }).score(subject)
      const judge = preferring("new")
      const won = yield* valueOf(judge)
      assert.deepStrictEqual([won.value, won.reason], [1, "new is kinder / new is kinder"])
      assert.strictEqual(won.usage?.totalTokens, 30)
      const requests = yield* judge.observer.requests
      assert.deepStrictEqual(requests.map((request) => isFirstA(request, "new")).sort(), [false, true])
      for (const request of requests) assert.include(userOf(request), "The kinder one.")
      assert.strictEqual((yield* valueOf(preferring("old"))).value, 0)
      assert.strictEqual((yield* valueOf(TestModel.make(() => says("tie")))).value, 0.5)
    })
  )

  it.effect("gives a tie where the judge prefers a position", () =>
    Effect.gen(function* () {
      for (const position of ["A", "B"]) {
        const client = TestModel.make(() => says(position))
        const score = yield* PairwiseJudge.makeWith(client, { criteria: "x" }).score(subject)
        assert.strictEqual(score.value, 0.5)
        assert.include(score.reason ?? "", "the judge preferred a position")
      }
    })
  )

  it.effect("compares a pair with the client in context", () =>
    Effect.gen(function* () {
      const pair = { input: "x", first: "one", second: "two" }
      const estimator = CostEstimator.CostEstimator.of({ estimate: () => 0.5 })
      const compared = yield* Effect.provideService(
        PairwiseJudge.compare(pair, { criteria: "x" }),
        CostEstimator.CostEstimator,
        estimator
      )
      assert.strictEqual(compared.better, "tie")
      assert.isFalse(compared.isConsistent)
      assert.deepStrictEqual(compared.reasons, ["r1", "r2"])
      assert.strictEqual(compared.costUsd, 1)
    }).pipe(
      Effect.provide(TestModel.layer((request) => (isFirstA(request, "one") ? says("tie", "r1") : says("B", "r2"))))
    )
  )

  it.effect("compares with another output than the expected one, under another name", () =>
    Effect.gen(function* () {
      const judge = preferring("other")
      const scorer = PairwiseJudge.makeWith(judge, { name: "vs", criteria: "x", baseline: () => "other" })
      assert.deepStrictEqual([scorer.name, (yield* scorer.score(subject)).value], ["vs", 0])
    })
  )

  it.effect("asks again for a verdict that it cannot read, and fails after its retries", () =>
    Effect.gen(function* () {
      let asked = 0
      const late = TestModel.make(() => (asked++ < 2 ? says("C") : says("tie")))
      assert.strictEqual((yield* PairwiseJudge.makeWith(late, { criteria: "x" }).score(subject)).value, 0.5)
      const never = TestModel.make(() => "A")
      const error = yield* Effect.flip(PairwiseJudge.makeWith(never, { criteria: "x", retries: 0 }).score(subject))
      assert.include(error.message, "pairwise gave no score: the judge gave no readable verdict in 1 attempt")
      const compared = yield* Effect.flip(
        Effect.provide(
          PairwiseJudge.compare({ input: "", first: "", second: "" }, { criteria: "x", retries: 0 }),
          TestModel.layer(() => "A")
        )
      )
      assert.include(compared.message, "pairwise gave no score: the judge gave no readable verdict")
    })
  )

  it.effect("fails without an output to compare with", () =>
    Effect.gen(function* () {
      const scorer = PairwiseJudge.makeWith(TestModel.make([]), { criteria: "x" })
      const error = yield* Effect.flip(scorer.score({ ...subject, expected: undefined }))
      assert.include(error.message, "there is no output to compare with")
    })
  )
})
