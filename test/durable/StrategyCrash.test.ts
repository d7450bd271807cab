import * as Fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Bundle from "../support/Bundle.js"
import * as Programs from "../support/Programs.js"
import type { Input } from "../support/programs/DurableScenario.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as KillScenarios from "./KillScenarios.js"

/** Kills of each scenario; `npm run test:crash` has five. */
const KILLS = Number(process.env["DURABLE_SCENARIO_KILLS"] ?? 0)

/** The scenarios that `npm test` kills once. */
const FEW: ReadonlySet<string> = new Set(["llm-compiler", "payments"])

interface Said {
  readonly name: string
  readonly end: string
}

const isEnd = (said: unknown): said is Said => typeof said === "object" && said !== null && "end" in said

const endOf = (program: string, input: Input) =>
  Effect.scoped(
    Effect.map(
      Effect.flatMap(Programs.start(program, input), ({ rest }) => rest),
      (said) => said.find(isEnd)?.end ?? "no end"
    )
  )

/** Kills a process at a moment that the numbers give. Succeeds with its end, if it had one before. */
const killed = (program: string, input: Input, random: SeededRandom.SeededRandom) =>
  Effect.scoped(
    Effect.gen(function* () {
      const process = yield* Programs.start(program, input)
      for (let heard = random.below(6); heard >= 0; heard--) {
        const said = yield* process.hear
        if (isEnd(said)) return said.end
      }
      yield* Effect.sleep(random.below(8))
      yield* process.kill()
      return undefined
    })
  )

describe("a durable run whose process is killed with -9", () => {
  for (const [number, { name }] of KillScenarios.scenarios.entries()) {
    const kills = KILLS > 0 ? KILLS : FEW.has(name) ? 1 : 0
    it.scopedLive.skipIf(kills === 0)(
      `ends as the undisturbed one: ${name}`,
      () =>
        Effect.gen(function* () {
          const folder = yield* SqliteDrivers.folder
          const journal = `${folder}/journal.txt`
          Fs.writeFileSync(journal, "")
          const random = SeededRandom.make(Number(process.env["DURABLE_CRASH_SEED"] ?? 11) + number)
          const program = yield* Bundle.make("DurableScenario")
          const input = { file: `${folder}/runs.db`, journal, scenario: name }
          const expected = yield* endOf(program, { ...input, runId: "undisturbed" })
          let done = 0
          let runs = 0
          while (done < kills) {
            const run = { ...input, runId: `run-${runs++}` }
            let ofRun = 0
            let end: string | undefined
            for (let left = 1 + random.below(3); left > 0 && end === undefined && done < kills; left--) {
              end = yield* killed(program, run, random)
              if (end === undefined) ofRun++
              done++
            }
            end ??= yield* endOf(program, run)
            const calls = Fs.readFileSync(journal, "utf8")
              .split("\n")
              .filter((line) => line.startsWith(`${run.runId} `))
            const again = calls.length - new Set(calls).size
            const payments = calls.filter((line) => line.includes(" pay "))
            assert.strictEqual(new Set(payments).size, payments.length, "no payment twice")
            if (KillScenarios.paying.has(name) && end.includes("nobody knows whether")) continue
            assert.strictEqual(end, expected, run.runId)
            const undisturbed = Fs.readFileSync(journal, "utf8")
              .split("\n")
              .filter((line) => line.startsWith("undisturbed "))
            // Some scenarios ask the same twice by themselves.
            const same = undisturbed.length - new Set(undisturbed).size
            assert.isAtMost(again - same, 8 * ofRun, "only calls under way at a kill are made again")
            assert.strictEqual(new Set(calls).size, new Set(undisturbed).size, "nothing else is asked")
          }
        }),
      600_000
    )
  }
})
