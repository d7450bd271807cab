import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as CutRuns from "./CutRuns.js"
import { ann, asked } from "./DurableProcesses.js"
import * as KillScenarios from "./KillScenarios.js"

/** Ends of the process in each scenario; more by `npm run test:crash`. */
const KILLS = Number(process.env["DURABLE_KILLS"] ?? 1)

/** Calls under way at one moment, at most. */
const IN_FLIGHT = 8

const approving = Effect.forever(
  Effect.flatMap(asked, ({ id }) => Effect.ignore(Runs.answer(id, { _tag: "Approved" }, ann)))
)

const toScenario = ({ agent, approves, input, model }: KillScenarios.KillScenario): CutRuns.Scenario => ({
  shared: () => Effect.void,
  agents: (world) => [agent(world)],
  model,
  request: { input },
  ...(approves === true ? { beside: approving } : {})
})

/** Calls of the second list that the first does not have. */
const added = (expected: ReadonlyArray<string>, done: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = [...expected]
  return done.filter((what) => {
    const at = left.indexOf(what)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

describe("a durable run whose process ends at a random moment", () => {
  for (const [number, scenario] of KillScenarios.scenarios.entries()) {
    it.live(`ends as the undisturbed one, and repeats nothing that is recorded: ${scenario.name}`, () =>
      Effect.gen(function* () {
        const random = SeededRandom.make(Number(process.env["DURABLE_CRASH_SEED"] ?? 11) + number)
        const { cut, expected } = yield* CutRuns.everywhere(toScenario(scenario), (calls) =>
          Array.from({ length: KILLS }, () => 1 + random.below(calls))
        )
        assert.property(expected.end, "message", JSON.stringify(expected.end))
        for (const { at, done, end, repeated } of cut) {
          const where = `ended at call ${at}`
          const again = added(expected.done, done)
          if ((end as { readonly _tag?: string })._tag === "ToolUnknownOutcomeError") {
            assert.isTrue(KillScenarios.paying.has(scenario.name), where)
            assert.lengthOf(again, 0, where)
            continue
          }
          assert.deepStrictEqual(end, expected.end, where)
          assert.strictEqual(repeated, 0, where)
          assert.isAtMost(again.length, IN_FLIGHT, where)
          assert.strictEqual(new Set(again).size, again.length, where)
          assert.isFalse(
            again.some((what) => what.startsWith("pay")),
            where
          )
          assert.lengthOf(added(done, expected.done), 0, where)
        }
      })
    )
  }
})
