import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as Books from "./Books.js"
import * as CutRuns from "./CutRuns.js"
import { call, say } from "./DurableProcesses.js"

const month = "user:ann"

const scenario = (
  config: GovernanceConfig.Options,
  options: Parameters<typeof Books.make>[1] & { readonly pause?: number } = {}
) => {
  /** The reserved tokens of Ann at each call of the model. */
  const reserved: Array<number> = []
  return {
    ...Books.parts(config, options),
    ...(options.pause === undefined ? {} : { pause: options.pause }),
    reserved,
    agents: (world) => [Agent.make("a", { settings: { maxTokens: 100 }, tools: [world.tool("look")] })],
    model: (world, { accounts, ledger }) => {
      const model = CutRuns.modelOf(world, (_request, number) => ({
        ...(number < 2 ? call(["look", {}]) : say("done")),
        provider: "test",
        model: "m",
        usage: { inputTokens: 30, outputTokens: 20, totalTokens: 50 }
      }))
      return {
        ...model,
        complete: (request) =>
          Effect.gen(function* () {
            const account = Array.from(accounts).find((name) => name.startsWith(month)) ?? ""
            reserved.push((yield* Effect.orDie(ledger.read(account))).reserved.tokens)
            return yield* model.complete(request)
          })
      }
    }
  } satisfies CutRuns.Scenario<Books.Books> & { readonly reserved: Array<number> }
}

const budgets: ReadonlyArray<readonly [string, GovernanceConfig.Options]> = [
  ["held", { monthlyBudget: 100, maxRequestCost: 50, tpmLimit: 100_000 }],
  ["without a limit", {}]
]

describe("the budget of a durable run", () => {
  for (const [name, config] of budgets) {
    it.live(`is booked once, whichever operation of the ledger was the last of a process: ${name}`, () =>
      Effect.gen(function* () {
        const ends = yield* CutRuns.everywhere(scenario(config, { cuts: true }), 100)
        assert.include(JSON.stringify(ends.expected), '"tokens":150')
        assert.isAbove(ends.cut.length, 5)
        CutRuns.assertSame(ends)
      })
    )

    it.live(`is booked if its process was away for longer than a hold lasts: ${name}`, () =>
      Effect.gen(function* () {
        const ends = yield* CutRuns.everywhere(scenario(config, { holdTtl: "100 millis", pause: 150 }), 3)
        assert.include(JSON.stringify(ends.expected), '"tokens":150')
        CutRuns.assertSame(ends)
      })
    )
  }

  it.live("is held again while a call of a process that died is made again", () =>
    Effect.gen(function* () {
      const given = scenario({ monthlyTokens: 100_000 }, { holdTtl: "400 millis", pause: 500 })
      // The second call of the model: the third of all.
      yield* CutRuns.run(given, 3)
      const [first, second, again, last] = given.reserved
      assert.isAbove(first ?? 0, 100)
      assert.isAbove(second ?? 0, first ?? 0)
      assert.strictEqual(again, second)
      assert.isAbove(last ?? 0, again ?? 0)
      assert.lengthOf(given.reserved, 4)
    })
  )
})
