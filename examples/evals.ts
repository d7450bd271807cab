/**
 * Evals: two prompts over one dataset, what each scored, whether the second is worse, and a report. The experiment is
 * kept in files: run again with the same id, it would call no model.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { NodeContext } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, Agents, LlmClient } from "effect-lexigram"
import { Dataset, EvalReport, Experiment, Gate, JsonlExperimentStore, Task, TextScorer } from "effect-lexigram/eval"

const cases = Array.from({ length: 40 }, (_, index) =>
  JSON.stringify({ id: `sum ${index}`, input: `${index} + ${index * 3}`, expected: `${index * 4}` })
).join("\n")

/** Stands for a model: it adds, and forgets to carry without being told to check. */
const model = Layer.succeed(LlmClient.LlmClient, {
  provider: "example",
  model: "adder",
  complete: ({ messages }) => {
    const text = JSON.stringify(messages)
    const [, a = "0", b = "0"] = /(\d+) \+ (\d+)/.exec(text) ?? []
    const digits = (Number(a) % 10) + (Number(b) % 10)
    const sum = Number(a) + Number(b) - (digits > 9 && !text.includes("Check your sum.") ? 10 : 0)
    return Effect.succeed({
      content: [{ type: "text", text: `${sum}` }],
      finishReason: "stop",
      usage: { inputTokens: 40, outputTokens: 2 }
    })
  }
})

const prompts = { checked: "Add. Check your sum.", short: "Add." }

const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "evals-"))

const program = Effect.gen(function* () {
  const dataset = yield* Dataset.fromJsonl(cases, { name: "sums", input: Schema.String, expected: Schema.String })
  const experiment = yield* Experiment.make("adding", {
    dataset,
    variants: Task.matrix({ prompt: prompts }, ({ prompt }) => Task.agent(Agent.make("adder", { system: prompt }))),
    scorers: [TextScorer.exact],
    repetitions: 2
  })
  const results = yield* Experiment.run(experiment, { id: "1a2b3c4", concurrency: 8, maxCostUsd: 1 })

  const report = yield* EvalReport.make(results)
  console.log(EvalReport.toMarkdown(report, { maxCases: 3 }))
  const page = Path.join(folder, "report.html")
  Fs.writeFileSync(page, EvalReport.toHtml(report, { content: true }))
  console.log("The page has", Math.round(Fs.statSync(page).size / 1024), "kB")

  // In a test or before a release: fails with a reason, and not by noise.
  const judged = yield* Effect.either(
    Gate.check(results, {
      variant: "short",
      min: { exact: 0.9 },
      noWorseThan: { results, variant: "checked" }
    })
  )
  console.log(judged._tag === "Left" ? judged.left.message : "The gate is open")
})

const stores = JsonlExperimentStore.layer({ folder: Path.join(folder, "experiments") }).pipe(
  Layer.provide(NodeContext.layer)
)

await Effect.runPromise(
  Effect.provide(program, Layer.merge(Layer.provide(Agents.layer(), model), stores)).pipe(
    Effect.ensuring(Effect.sync(() => Fs.rmSync(folder, { recursive: true })))
  )
)
