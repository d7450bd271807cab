/** Budgets under parallel calls that succeed, fail and are interrupted at any point. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { RunId, UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as RateLimitStore from "../../src/governance/store/RateLimitStore.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as SetClock from "../support/SetClock.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

const rootRunId = RunId.make("root")
const userId = UserId.make("ada")
const month = "user:ada:1970-01"
const windowMs = 60_000

/** A thousandth of a dollar a token. */
const prices = CostEstimator.layerPrices({ m: { input: 1000, output: 1000 } })

/** Counts the releases and settlements that a ledger took as the end of a hold, by id. */
const watched = (ended: Map<string, number>, observe: (ledger: CostLedger.Service) => Effect.Effect<void>) =>
  Layer.effect(
    CostLedger.CostLedger,
    Effect.map(InMemoryCostLedger.make(), (ledger): CostLedger.Service => {
      const end = (id: string) => void ended.set(id, (ended.get(id) ?? 0) + 1)
      const after = <A, E>(effect: Effect.Effect<A, E>) => Effect.tap(effect, () => observe(ledger))
      return {
        ...ledger,
        hold: (hold) => after(ledger.hold(hold)),
        settle: (id, amount) =>
          after(Effect.tap(ledger.settle(id, amount), (made) => Effect.sync(() => made !== undefined && end(id)))),
        release: (id) => after(Effect.tap(ledger.release(id), (made) => Effect.sync(() => made && end(id)))),
        book: (accounts, amount) => after(ledger.book(accounts, amount))
      }
    })
  )

const sum = ({ reserved, spent }: CostLedger.Balance) => spent.nanoUsd + reserved.nanoUsd

describe("a budget", () => {
  it.effect("is never exceeded by a thousand runs that share it", () =>
    Effect.gen(function* () {
      const limit = CostLedger.fromUsd(5)
      let highest = 0
      const ended = new Map<string, number>()
      const ledger = watched(ended, (book) =>
        Effect.flatMap(Effect.all([book.read("run:root"), book.read(month)]), (balances) =>
          Effect.sync(() => {
            for (const balance of balances) {
              highest = Math.max(highest, sum(balance))
              assert.isAtMost(sum(balance), limit)
            }
          })
        ).pipe(Effect.orDie)
      )
      yield* Effect.gen(function* () {
        const governance = yield* Governance.Governance
        const child = (index: number) =>
          Effect.acquireUseRelease(
            governance.reserve({
              runId: RunId.make(`child-${index}`),
              rootRunId,
              userId,
              provider: "p",
              model: "m",
              inputTokens: 10,
              maxOutputTokens: 40
            }),
            () => Effect.yieldNow(),
            (reservation) =>
              index % 3 === 0
                ? Effect.orDie(governance.refund(reservation))
                : Effect.orDie(governance.settle(reservation, { inputTokens: 10, outputTokens: index % 41 }))
          )
        const exits = yield* Effect.forEach(
          Array.from({ length: 1000 }, (_, index) => index),
          (index) => Effect.either(child(index)),
          { concurrency: "unbounded" }
        )
        const refused = exits.filter(({ _tag }) => _tag === "Left").length
        assert.isAbove(refused, 0)
        assert.isBelow(refused, 1000)
        assert.strictEqual(ended.size, 1000 - refused)
        assert.isTrue(Array.from(ended.values()).every((times) => times === 1))
        const budget = yield* governance.getBudget(userId)
        assert.strictEqual(budget.reserved, 0)
        assert.isAtMost(budget.spent, 5)
        // Children were waiting for room, so it was used to the last reservation that fits.
        assert.isAbove(highest, limit - CostLedger.fromUsd(0.05))
      }).pipe(
        Effect.provide(
          Layer.provideMerge(
            DefaultGovernance.layerWith({
              ledger,
              config: { maxRequestCost: 5, monthlyBudget: 5, softLimitPct: undefined }
            }),
            prices
          )
        )
      )
    })
  )

  /** What becomes of a call, and how many operations it takes. */
  const aCall = FastCheck.record({
    yields: FastCheck.nat(6),
    input: FastCheck.nat(30),
    output: FastCheck.nat(30),
    used: FastCheck.nat(60),
    end: FastCheck.constantFrom("settle" as const, "refund" as const, "both" as const, "twice" as const),
    /** The operation of the scheduler at which it is interrupted. */
    interruptAt: FastCheck.option(FastCheck.nat(400), { nil: undefined })
  })

  it.effect("adds up exactly, whatever succeeds, fails or is interrupted between any two operations", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(FastCheck.array(aCall, { minLength: 1, maxLength: 12 }), async (calls) => {
          const ended = new Map<string, number>()
          const rates = await Effect.runPromise(RateLimitStore.makeMemory())
          const booked = { tokens: 0 }
          const limit = CostLedger.fromUsd(0.1)
          const ledger = watched(ended, (book) =>
            Effect.orDie(
              Effect.map(book.read(month), ({ reserved, spent }) => {
                // What is used past its reservation is booked past the limit; what is reserved never is.
                assert.isAtMost(reserved.nanoUsd, limit)
                assert.isAtLeast(reserved.nanoUsd, 0)
                assert.isAtLeast(reserved.tokens, 0)
                assert.isAtLeast(spent.nanoUsd, 0)
              })
            )
          )
          const fibers: Array<Fiber.RuntimeFiber<unknown, unknown> | undefined> = []
          const scheduler = YieldingScheduler.make((count) => {
            for (const [index, { interruptAt }] of calls.entries()) {
              const fiber = fibers[index]
              if (interruptAt === count && fiber !== undefined) fiber.unsafeInterruptAsFork(fiber.id())
            }
          })
          const program = Effect.gen(function* () {
            const governance = yield* Governance.Governance
            const one = (call: (typeof calls)[number], index: number) =>
              Effect.acquireUseRelease(
                governance.reserve({
                  runId: RunId.make(`child-${index}`),
                  rootRunId,
                  userId,
                  provider: "p",
                  model: "m",
                  inputTokens: call.input,
                  maxOutputTokens: call.output
                }),
                () => Effect.repeatN(Effect.yieldNow(), call.yields),
                (reservation, exit) => {
                  const usage = { inputTokens: 0, outputTokens: call.used }
                  const settle = Effect.suspend(() => {
                    booked.tokens += call.used
                    return Effect.orDie(governance.settle(reservation, usage))
                  })
                  const refund = Effect.orDie(governance.refund(reservation))
                  if (exit._tag === "Failure" || call.end === "refund") return refund
                  if (call.end === "settle") return settle
                  return call.end === "both"
                    ? Effect.zipRight(settle, refund)
                    : Effect.zipRight(
                        settle,
                        Effect.zipRight(Effect.orDie(governance.settle(reservation, usage)), refund)
                      )
                }
              )
            for (const [index, call] of calls.entries()) fibers[index] = yield* Effect.fork(one(call, index))
            yield* Effect.forEach(fibers, (fiber) => Fiber.await(fiber as Fiber.RuntimeFiber<unknown, unknown>))
            return yield* governance.getBudget(userId)
          }).pipe(
            Effect.provide(
              Layer.provideMerge(
                DefaultGovernance.layerWith({
                  ledger,
                  rates: Layer.succeed(RateLimitStore.RateLimitStore, rates),
                  config: { monthlyBudget: 0.1, tpmLimit: 1_000_000, softLimitPct: undefined }
                }),
                prices
              )
            )
          )
          const fixed = SetClock.make().clock
          const budget = await Effect.runPromise(Effect.withScheduler(Effect.withClock(program, fixed), scheduler))
          assert.strictEqual(budget.reserved, 0)
          assert.strictEqual(CostLedger.fromUsd(budget.spent), booked.tokens * 1_000_000)
          assert.isTrue(Array.from(ended.values()).every((times) => times === 1))
          const minute = await Effect.runPromise(Effect.withClock(rates.peek({ key: "tpm:user:ada", windowMs }), fixed))
          assert.strictEqual(minute, booked.tokens)
        }),
        { numRuns: 100 }
      )
    )
  )

  it.effect("is reserved completely or not at all, even without a mask, and release gives it back", () =>
    Effect.promise(async () => {
      const seen = new Set<string>()
      for (let at = 0; at < 120; at++) {
        const { clock } = SetClock.make()
        const rates = await Effect.runPromise(RateLimitStore.makeMemory())
        let fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
        let start = Number.POSITIVE_INFINITY
        const scheduler = YieldingScheduler.make((count) => {
          if (fiber !== undefined && count === start + at) fiber.unsafeInterruptAsFork(fiber.id())
        })
        const program = Effect.gen(function* () {
          const governance = yield* Governance.Governance
          const request = {
            runId: rootRunId,
            userId,
            provider: "p",
            model: "m",
            inputTokens: 10,
            maxOutputTokens: 40
          }
          fiber = yield* Effect.fork(governance.reserve(request))
          start = scheduler.count()
          const exit = yield* Fiber.await(fiber)
          const { reserved } = yield* governance.getBudget(userId)
          const minute = yield* rates.peek({ key: "tpm:user:ada", windowMs })
          assert.include(["0 0", "0.05 50"], `${reserved} ${minute}`)
          seen.add(`${exit._tag} ${reserved}`)
          if (exit._tag === "Success") assert.strictEqual(reserved, 0.05)
          yield* governance.release(rootRunId)
          assert.strictEqual((yield* governance.getBudget(userId)).reserved, 0)
        }).pipe(
          Effect.provide(
            Layer.provideMerge(
              DefaultGovernance.layerWith({
                rates: Layer.succeed(RateLimitStore.RateLimitStore, rates),
                config: { monthlyBudget: 1, tpmLimit: 1000 }
              }),
              prices
            )
          )
        )
        await Effect.runPromise(Effect.withScheduler(Effect.withClock(program, clock), scheduler))
      }
      // Interrupted before anything was taken, and too late to be interrupted at all.
      assert.isTrue(seen.has("Failure 0"))
      assert.isTrue(seen.has("Success 0.05"))
    })
  )
})
