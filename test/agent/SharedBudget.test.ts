import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import type { BudgetExceededError } from "../../src/governance/store/GovernanceError.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as Step from "../../src/observability/Step.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"
import * as WatchedLedger from "../support/WatchedLedger.js"

/** A thousandth of a dollar for a token that is read, two for one that is written; of the cheap one, a thousandth of that. */
const dear = { input: 1000, output: 2000 }
const prices = CostEstimator.layerPrices({ "test-model": dear, dear, cheap: { input: 1, output: 2 } })

const ada = UserId.make("ada")
const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
const child = Agent.make("child", { tools: [look], settings: { maxTokens: 20 } })

type Ended = Exit.Exit<unknown, AgentExecutor.ExecutorError>

const errorOf = (exit: Ended): AgentExecutor.ExecutorError | undefined =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined

const asBudget = (exit: Ended): BudgetExceededError | undefined => {
  const error = errorOf(exit)
  return error?._tag === "BudgetExceededError" ? error : undefined
}

const given = (config: GovernanceConfig.Options, script: Parameters<typeof TestModel.layer>[0]) =>
  Effect.map(WatchedLedger.make, (ledger) => {
    const governance = DefaultGovernance.layerWith({
      config,
      ledger: Layer.succeed(CostLedger.CostLedger, ledger.service)
    }).pipe(Layer.provide(prices))
    return { ledger, layer: Layer.merge(Runs.layer(script, { governance, prices }), governance) }
  })

const turns = (count: number) => Effect.repeatN(Effect.yieldNow(), count)

/** What must hold once everything has ended, whatever became of it. */
const settledUp = (ledger: WatchedLedger.Watched) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(ledger.problems, [])
    assert.strictEqual(ledger.open(), 0)
    const governance = yield* Governance.Governance
    const { reserved, spent } = yield* governance.getBudget(ada)
    assert.strictEqual(reserved, 0)
    assert.strictEqual(spent, CostLedger.toUsd(ledger.settled().nanoUsd))
    const at = DateTime.formatIso(yield* DateTime.now).slice(0, 7)
    const month = yield* ledger.service.read(`user:ada:${at}`)
    assert.deepStrictEqual(month.spent, ledger.settled())
    assert.deepStrictEqual(month.reserved, { nanoUsd: 0, tokens: 0 })
  })

describe("a budget that runs share", () => {
  it.effect(
    "is never exceeded by 1,000 concurrent runs, and each gets its answer or a refusal",
    () =>
      Effect.gen(function* () {
        const count = 1000
        const limits = { maxRequestCost: 12, maxTokensPerRequest: 25_000 }
        let asked = 0
        const { layer, ledger } = yield* given(limits, (request) => {
          const n = ++asked
          const outputTokens = n % 20
          const turn: TestModel.Turn = {
            ...(request.messages.some(({ role }) => role === "tool")
              ? { text: "seen" }
              : { calls: [{ name: "look" }] }),
            usage: { inputTokens: 5, outputTokens, totalTokens: 5 + outputTokens },
            delay: n % 7 === 0 ? (Math.imul(n, 7919) >>> 3) % 29 : undefined
          }
          return Effect.as(turns(n % 5), turn)
        })
        const ends: Array<Ended> = []
        let before: CostLedger.Balance | undefined
        const fan = Strategy.make("fan", () =>
          Effect.gen(function* () {
            yield* Step.forEach(Array.from({ length: count }), (_, index) =>
              Effect.map(
                // Every other one asks a model whose tokens cost nearly nothing: money and tokens run out one after the other.
                Effect.exit(
                  AgentExecutor.run(child, {
                    input: `part ${index}`,
                    userId: "ada",
                    settings: { model: index % 2 === 0 ? "dear" : "cheap" }
                  })
                ),
                (exit) => void ends.push(exit)
              )
            )
            before = yield* Effect.orDie(ledger.service.read("run:top"))
            return { text: "done", reason: "completed" as const, messages: [] }
          })
        )
        yield* Effect.gen(function* () {
          const top = Agent.make("top", { strategy: fan })
          const fiber = yield* Effect.fork(AgentExecutor.run(top, { input: "all", userId: "ada", runId: "top" }))
          yield* TestClock.adjust("1 second")
          const response = yield* Fiber.join(fiber)
          assert.strictEqual(ends.length, count)
          const refused = ends.flatMap((exit) => asBudget(exit) ?? [])
          const answered = ends.filter(Exit.isSuccess).length
          assert.strictEqual(refused.length + answered, count)
          assert.isAbove(answered, 0)
          assert.isTrue(refused.every((error) => error.partial !== undefined))
          for (const type of ["request", "tokens"]) {
            assert.isAbove(refused.filter((error) => error.budgetType === type).length, 10)
          }
          const halfway = refused.filter((error) => error.partial?.modelCalls === 1)
          assert.isAbove(halfway.length, 0)
          assert.isTrue(halfway.every((error) => error.partial?.toolCalls.length === 1))
          assert.isAtMost(ledger.most().nanoUsd, limits.maxRequestCost * 1e9)
          assert.isAtMost(ledger.most().tokens, limits.maxTokensPerRequest)
          assert.strictEqual(ledger.refused(), refused.length)
          assert.deepStrictEqual(before, { spent: ledger.settled(), reserved: { nanoUsd: 0, tokens: 0 } })
          assert.closeTo(response.costUsd ?? 0, CostLedger.toUsd(ledger.settled().nanoUsd), 1e-6)
          // The run at the top has ended: its own budget is forgotten.
          assert.strictEqual((yield* ledger.service.read("run:top")).spent.tokens, 0)
          yield* settledUp(ledger)
        }).pipe(Effect.provide(layer))
      }),
    300_000
  )

  interface Part {
    readonly kind: "answers" | "fails" | "crashes" | "hangs"
    /** Turns of the scheduler before it begins, and in each of its model calls. */
    readonly before: number
    readonly during: number
    /** Turns until it is interrupted, if it goes on then. */
    readonly interrupted: number | undefined
  }

  const parts = FastCheck.array(
    FastCheck.record({
      kind: FastCheck.constantFrom<Array<Part["kind"]>>("answers", "answers", "fails", "crashes", "hangs"),
      before: FastCheck.nat(6),
      during: FastCheck.nat(12),
      interrupted: FastCheck.option(FastCheck.nat(60), { nil: undefined })
    }),
    { minLength: 1, maxLength: 8 }
  )

  it.effect(
    "is settled or refunded once per call, however and in whatever order runs end",
    () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(
            parts,
            FastCheck.integer({ min: 20, max: 400 }),
            FastCheck.option(FastCheck.nat(120), { nil: undefined }),
            (parts, tokens, stopped) =>
              Effect.runPromise(
                Effect.gen(function* () {
                  const { layer, ledger } = yield* given(
                    { maxTokensPerRequest: tokens, maxRequestCost: tokens / 600 },
                    (request) => {
                      const [message] = request.messages.filter(({ role }) => role === "user")
                      const part = parts[Number(message?.content)] as Part
                      const answer: TestModel.Turn = request.messages.some(({ role }) => role === "tool")
                        ? { text: "seen", usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 } }
                        : { calls: [{ name: "look" }], usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 } }
                      return Effect.flatMap(turns(part.during), () =>
                        part.kind === "answers"
                          ? Effect.succeed(answer)
                          : part.kind === "fails"
                            ? new LlmUnavailableError({ provider: "test", message: "down" })
                            : part.kind === "crashes"
                              ? Effect.die("crashed")
                              : Effect.never
                      )
                    }
                  )
                  const ends: Array<Ended> = []
                  const fan = Strategy.make("fan", () =>
                    Effect.as(
                      Step.forEach(parts, (part, index) =>
                        Effect.gen(function* () {
                          yield* turns(part.before)
                          const run = yield* Effect.fork(
                            AgentExecutor.run(child, { input: String(index), userId: "ada" })
                          )
                          // What hangs is always interrupted in the end.
                          const until = part.interrupted ?? (part.kind === "hangs" ? 100 : undefined)
                          if (until !== undefined) yield* Effect.zipRight(turns(until), Fiber.interrupt(run))
                          ends.push(yield* Fiber.await(run))
                        })
                      ),
                      { text: "done", reason: "completed" as const, messages: [] }
                    )
                  )
                  yield* Effect.gen(function* () {
                    const top = Agent.make("top", { strategy: fan })
                    const fiber = yield* Effect.fork(AgentExecutor.run(top, { input: "all", userId: "ada" }))
                    if (stopped !== undefined) yield* Effect.zipRight(turns(stopped), Fiber.interrupt(fiber))
                    yield* Fiber.await(fiber)
                    assert.isAtMost(ledger.most().nanoUsd, Math.floor((tokens / 600) * 1e9 + 1e-3))
                    assert.isAtMost(ledger.most().tokens, tokens)
                    for (const end of ends) {
                      const error = errorOf(end)
                      if (error === undefined) continue
                      assert.include(["BudgetExceededError", "LlmUnavailableError"], error._tag)
                      if (error._tag === "BudgetExceededError") assert.isDefined(error.partial)
                    }
                    yield* settledUp(ledger)
                  }).pipe(Effect.provide(layer))
                })
              )
          ),
          { numRuns: 60 }
        )
      ),
    300_000
  )
})
