import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Programs from "../support/Programs.js"

const concurrency = 4
const price = 0.125

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-experiment-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const results = (program: Programs.Program): Effect.Effect<any> =>
  Effect.flatMap(program.hear, (said) => (typeof said === "number" ? results(program) : Effect.succeed(said)))

describe("an experiment of 200 cases by three variants that is killed twice", () => {
  for (const store of ["jsonl", "sqlite"] as const) {
    it.scopedLive(
      `has one result of each trial, and pays again for what was in flight alone, in ${store}`,
      () =>
        Effect.gen(function* () {
          const input = { store, folder: yield* folder, tally: Path.join(yield* folder, "tally"), concurrency }
          for (const least of [60, 120]) {
            const program = yield* Programs.start("ExperimentRunner", input)
            const most = yield* Random.nextIntBetween(least, least + 60)
            yield* Effect.repeat(program.hear, { until: (ended: number) => ended >= most })
            assert.strictEqual((yield* program.kill()).signal, "SIGKILL")
          }
          const last = yield* Programs.start("ExperimentRunner", input)
          const { attempts, costUsd, finished, missing } = yield* results(last)
          yield* last.ended
          assert.strictEqual(missing, 0)
          assert.lengthOf(finished, 600)
          assert.strictEqual(new Set(finished).size, 600)
          assert.strictEqual(costUsd, 600 * price)
          const calls = Fs.readFileSync(input.tally, "utf8").trim().split("\n")
          assert.strictEqual(new Set(calls).size, 600)
          assert.isAtMost(calls.length, 600 + 2 * concurrency)
          // An attempt is kept before its call, so that each call is counted. A kill may fall between the two.
          assert.isAtLeast(attempts, calls.length)
          assert.isAtMost(attempts, 600 + 2 * concurrency)
        }),
      120_000
    )
  }
})
