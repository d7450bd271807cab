/**
 * `npm run compare:strategies`: runs every strategy on three datasets with a solver that errs by a seed, and writes the
 * tables of `docs/strategies-compared.md`. `--check` writes nothing, and fails if the page says anything else.
 *
 * `-- --real` asks the provider that the environment names instead, and only prints: `--cases 5` of each dataset,
 * `--strategies react,rewoo`, `--budget 1` in US dollars for everything, or `--budget none`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { parseArgs } from "node:util"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LlmClient, LlmRetry, LlmTimeout } from "effect-lexigram"
import { CostEstimator, ModelPrices } from "effect-lexigram/llm"
import { FetchTransport, Providers } from "effect-lexigram/provider"
import * as Comparison from "./Comparison.js"

const file = Path.resolve(import.meta.dirname, "../../docs/strategies-compared.md")

const { values } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    real: { type: "boolean", default: false },
    cases: { type: "string", default: "5" },
    strategies: { type: "string" },
    budget: { type: "string", default: "1" }
  }
})

class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

const refuse = (message: string) => new Refused({ message })

const written = Effect.gen(function* () {
  if (Comparison.missing.length > 0) return yield* refuse(`Not compared: ${Comparison.missing.join(", ")}`)
  const page = Fs.readFileSync(file, "utf8")
  const next = Comparison.withTables(page, yield* Comparison.compare(Comparison.offline))
  if (next === page) return console.log("docs/strategies-compared.md is up to date")
  if (values.check)
    return yield* refuse("docs/strategies-compared.md is not what comes out: run npm run compare:strategies")
  Fs.writeFileSync(file, next)
  console.log("wrote docs/strategies-compared.md")
})

const remote = LlmRetry.layer({ maxRetries: 3 }).pipe(
  Layer.provide(LlmTimeout.layer({ whole: "2 minutes", first: "1 minute", gap: "1 minute" })),
  Layer.provide(Providers.layerConfig),
  Layer.provide(FetchTransport.layer)
)

const usage = { inputTokens: 1000, outputTokens: 1000, totalTokens: 2000 }

/** Runs the datasets on a model of a provider. */
const asked = Effect.gen(function* () {
  const size = Number(values.cases)
  if (!(Number.isInteger(size) && size >= 1 && size <= 900))
    return yield* refuse("--cases is a whole number from 1 to 900")
  const maxCostUsd = values.budget === "none" ? undefined : Number(values.budget)
  if (maxCostUsd !== undefined && !(maxCostUsd > 0)) return yield* refuse("--budget is a number of US dollars, or none")
  const names = values.strategies?.split(",")
  const unknown = names?.find((name) => !Object.hasOwn(Comparison.strategies, name))
  if (unknown !== undefined) {
    return yield* refuse(`There is no strategy ${unknown}: ${Object.keys(Comparison.strategies).join(", ")}`)
  }
  const client = yield* LlmClient.LlmClient
  const prices = yield* CostEstimator.CostEstimator
  const price = prices.estimate({ provider: client.provider, model: client.model, usage })
  if (price === undefined && maxCostUsd !== undefined) {
    return yield* refuse(
      `The price of ${client.provider} ${client.model} is not known, so no budget holds: add --budget none`
    )
  }
  console.log(`${client.provider} ${client.model}, ${size} cases of each dataset`)
  const model = Layer.succeed(LlmClient.LlmClient, client)
  for (const compared of yield* Comparison.compare({ model, size, names, maxCostUsd })) {
    console.log(`\n${compared.dataset}\n\n${Comparison.tableOf(compared)}\n\n${compared.costUsd.toFixed(4)} US dollars`)
    if (compared.isOverBudget) console.log("The budget is used up: the rest was left out.")
  }
}).pipe(Effect.provide([remote, ModelPrices.layerInstalled]))

const program: Effect.Effect<void, { readonly message: string; readonly hint?: string | undefined }> = values.real
  ? asked
  : written

await program.pipe(
  Effect.catchAll((error) =>
    Effect.sync(() => {
      console.error(error.message)
      if (error.hint !== undefined) console.error(error.hint)
      process.exitCode = 1
    })
  ),
  Effect.runPromise
)
