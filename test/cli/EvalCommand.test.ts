import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, LlmError } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig } from "effect-lexigram/cli"
import { Dataset, Experiment, Task, TextScorer } from "effect-lexigram/eval"
import { TestModel } from "effect-lexigram/testing"
import * as Commands from "../support/Commands.js"

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-eval-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

const letters = Array.from({ length: 20 }, (_, index) => ({
  id: `case ${index}`,
  input: `${index}`,
  expected: `${index}`
}))

/** Repeats its input, except for those from `wrongFrom` on. Tells of each run. */
const repeating = (wrongFrom: number, onRun = (_input: string): void => undefined) =>
  Effect.flatMap(Dataset.make("numbers", letters), (dataset) =>
    Experiment.make("repeating", {
      dataset,
      variants: [
        Task.make("parrot", (input: string) =>
          Effect.sync(() => {
            onRun(input)
            return Number(input) < wrongFrom ? input : "?"
          })
        )
      ],
      scorers: [TextScorer.exact]
    })
  )

const modules = { "good.ts": { default: repeating(20) }, "bad.ts": { default: repeating(8) } }

const cli = (args: ReadonlyArray<string>, more: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {}) =>
  Commands.run(["eval", ...args], { modules: { ...modules, ...more } })

describe("lexigram eval", () => {
  for (const store of ["evals", "evals.db"]) {
    it.scoped(`runs experiments, and lists, compares and checks them, in ${store}`, () =>
      Effect.gen(function* () {
        const kept = ["--store", Path.join(yield* folder, "new", store)]
        const good = yield* cli(["run", "good.ts", "--id", "v1", ...kept, "--json"])
        assert.strictEqual(good.code, 0, good.err)
        assert.deepInclude(good.json, { id: "v1", missing: 0, attempts: 20 })
        assert.strictEqual(good.json.variants[0].scores[0].mean, 1)
        assert.match(good.err, /^2 of 20\n4 of 20\n[\s\S]*20 of 20\n$/)
        const bad = yield* cli(["run", "bad.ts", "--id", "v2", ...kept])
        assert.match(bad.out, /parrot +exact +40\.0 % +20 +0 +\d+\.0 % to \d+\.0 %/)
        const listed = yield* cli(["list", ...kept, "--json"])
        assert.sameMembers(
          listed.json.experiments.map(({ id }: { readonly id: string }) => id),
          ["v1", "v2"]
        )
        assert.lengthOf((yield* cli(["list", ...kept, "--json", "--limit", "1"])).json.experiments, 1)
        const compared = yield* cli(["compare", "v1", "v2", ...kept])
        assert.match(compared.out, /parrot +exact +100\.0 % +40\.0 % +\S+ +0 +12 +case/)
        const passes = yield* cli(["gate", "v1", "--min", "exact=0.8", "--baseline", "v2", ...kept])
        assert.deepStrictEqual([passes.code, passes.out], [0, "parrot passes: exact 100.0 %\n"])
        const low = yield* cli(["gate", "v2", "--min", "exact=0.8", ...kept])
        assert.strictEqual(low.code, 7)
        assert.include(low.err, "the mean is 40.0 %, at least 80.0 %")
        const worse = yield* cli(["gate", "v2", "--baseline", "v1", ...kept])
        assert.strictEqual(worse.code, 7)
        assert.include(worse.err, "12 cases lost")
        assert.strictEqual((yield* cli(["gate", "v2", "--baseline", "v1", "--tolerance", "0.9", ...kept])).code, 0)
      })
    )
  }

  it.scoped("goes on with the same id, and begins anew with another", () =>
    Effect.gen(function* () {
      const kept = ["--store", Path.join(yield* folder, "evals")]
      const runs: Array<string> = []
      const counted = { "counted.ts": { default: repeating(20, (input) => runs.push(input)) } }
      yield* cli(["run", "counted.ts", "--id", "a", ...kept], counted)
      yield* cli(["run", "counted.ts", "--id", "a", ...kept], counted)
      assert.lengthOf(runs, 20)
      yield* cli(["run", "counted.ts", "--id", "b", ...kept], counted)
      assert.lengthOf(runs, 40)
      const other = yield* cli(["run", "other.ts", "--id", "a", ...kept], {
        "other.ts": { default: Effect.map(repeating(20), (one) => ({ ...one, repetitions: 2 })) }
      })
      assert.strictEqual(other.code, 1)
      assert.include(other.err, "Another experiment has this id")
      const named = yield* cli(["run", "counted.ts", ...kept, "--json"], counted)
      assert.match(named.json.id, /^repeating \d{4}-/)
    })
  )

  it.scoped("writes reports, with outputs where they are asked for", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const args = ["run", "bad.ts", "--id", "v1", "--store", Path.join(path, "evals"), "--report"]
      const read = (name: string) => Fs.readFileSync(Path.join(path, name), "utf8")
      yield* cli([...args, Path.join(path, "report.md")])
      assert.include(read("report.md"), "40.0")
      yield* cli([...args, Path.join(path, "bare.html")])
      yield* cli([...args, Path.join(path, "full.html"), "--content"])
      assert.include(read("bare.html"), "<!doctype html>")
      assert.isAbove(read("full.html").length, read("bare.html").length)
      const wrong = yield* cli([...args, Path.join(path, "report.pdf")])
      assert.strictEqual(wrong.code, 2)
      assert.strictEqual((yield* cli([...args, Path.join(path, "absent", "report.md")])).code, 1)
    })
  )

  it.scoped("runs agents of the configuration, and keeps trials open whose failure may pass", () =>
    Effect.gen(function* () {
      const clerk = Agent.make("clerk", { system: "You help." })
      const experiment = Effect.flatMap(Dataset.make("one", [{ input: "Hi", expected: "Hello" }]), (dataset) =>
        Experiment.make("greeting", { dataset, variants: [Task.agent(clerk)], scorers: [TextScorer.exact] })
      )
      const desk = (script: Parameters<typeof TestModel.layer>[0]) =>
        CliConfig.make({
          agents: [clerk],
          layer: Layer.provide(Application.layerMemory([clerk]), TestModel.layer(script, { exhausted: false }))
        })
      const world = { modules: { "greeting.ts": { default: experiment } } }
      const args = ["eval", "run", "greeting.ts", "--id", "a", "--store", Path.join(yield* folder, "evals"), "--json"]
      const wrongKey = new LlmError.LlmAuthenticationError({ provider: "test", message: "No" })
      const ended = yield* Commands.runWith(desk(["Hello"]), args, world)
      assert.strictEqual(ended.code, 0, ended.err)
      assert.strictEqual(ended.json.variants[0].scores[0].mean, 1)
      const failed = yield* Commands.runWith(desk([{ fail: wrongKey }]), args.with(4, "b"), world)
      assert.strictEqual(failed.json.variants[0].failed, 1)
    })
  )

  it.scoped("refuses what it cannot do, and says what to do instead", () =>
    Effect.gen(function* () {
      const path = yield* folder
      const kept = ["--store", Path.join(path, "evals")]
      const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
        [["list", ...kept], 4, "lexigram eval run"],
        [["run", "absent.ts", ...kept], 3, "absent.ts"],
        [["run", "none.ts", ...kept], 3, "Experiment.make"],
        [["run", "good.ts", "--concurrency", "0", ...kept], 1, "from 1 to 1,000"]
      ]
      for (const [args, code, text] of refusals) {
        const ended = yield* cli(args, { "none.ts": { default: { name: "x" } } })
        assert.strictEqual(ended.code, code, ended.err)
        assert.include(ended.err, text)
      }
      yield* cli(["run", "good.ts", "--id", "v1", ...kept])
      const later: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
        [["gate", "v1"], 2, "--baseline, --min or --max-cost"],
        [["gate", "v1", "--min", "exact=high"], 2, "--min exact=0.8"],
        [["gate", "v1", "--min", "exact=2"], 2, "Scores are from 0 to 1"],
        [["gate", "v1", "--min", "__proto__=0.5"], 2, "Name one of: exact"],
        [["gate", "v9", "--min", "exact=0.5"], 4, "No experiment has this id"],
        [["gate", "v1", "--variant", "owl", "--min", "exact=0.5"], 2, "Name one of: parrot"],
        [["compare", "v1", "v9"], 4, "No experiment has this id"]
      ]
      for (const [args, code, text] of later) {
        const ended = yield* cli([...args, ...kept])
        assert.strictEqual(ended.code, code, `${args.join(" ")}: ${ended.err}`)
        assert.include(ended.err, text)
      }
    })
  )
})
