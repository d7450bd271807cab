/**
 * Looks for a better prompt: a model proposes one, an experiment scores it, and it is kept if a paired test says that
 * it is better. What was kept is a version of the prompts, with its differences. The last cases are held back: they say
 * what the best prompt is worth, as no choice was made by them.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, LlmClient } from "effect-lexigram"
import { Dataset, Experiment, InMemoryExperimentStore, Task, TextScorer, VariantComparison } from "effect-lexigram/eval"
import { PromptVersions } from "effect-lexigram/prompt"

const proposals = [
  "Say whether the text praises or complains. Use one word.",
  "Say praise or complaint. Be friendly.",
  "Say praise or complaint. Words such as not turn the meaning."
]

/** Stands for a model: what it gets right depends on what its prompt says. */
const model = Effect.sync(() => {
  let proposed = 0
  const answer = (text: string): string => {
    if (text.includes("Propose another prompt")) return proposals[proposed++] ?? proposals[0] ?? ""
    const isNegated = text.includes("is not") && text.includes("turn the meaning")
    const word = /is (?:not )?good/.test(text) !== isNegated ? "praise" : "complaint"
    return text.includes("praise or complaint") ? word : `It is a ${word}`
  }
  return LlmClient.LlmClient.of({
    provider: "example",
    model: "reader",
    complete: ({ messages }) =>
      Effect.succeed({
        content: [{ type: "text", text: answer(JSON.stringify(messages)) }],
        finishReason: "stop",
        usage: { inputTokens: 30, outputTokens: 3 }
      })
  })
})

const cases = Array.from({ length: 60 }, (_, index) => {
  const isNegated = index % 4 === 0
  const isGood = index % 3 === 0
  return {
    input: `Thing ${index} is ${isNegated ? "not " : ""}${isGood ? "good" : "bad"}.`,
    expected: isGood !== isNegated ? "praise" : "complaint"
  }
})

const reader = (prompt: string) => Agent.make("reader", { system: prompt })
const proposer = Agent.make("proposer", { system: "You write prompts." })

const program = Effect.gen(function* () {
  const all = yield* Dataset.make("opinions", cases)
  const seen = Dataset.filter(all, ({ id }) => Number(id) <= 40)
  const heldBack = Dataset.filter(all, ({ id }) => Number(id) > 40)

  const score = (prompt: string, dataset: typeof all, id: string) =>
    Effect.flatMap(
      Experiment.make("reading", { dataset, variants: [Task.agent(reader(prompt))], scorers: [TextScorer.exact] }),
      (experiment) => Experiment.run(experiment, { id, maxCostUsd: 1 })
    )

  const first = "Is it praise or a complaint?"
  let versions = PromptVersions.add(PromptVersions.empty, { instructions: first, note: "by hand" }).versions
  let best = { prompt: first, results: yield* score(first, seen, "round 0") }

  for (let round = 1; round <= proposals.length; round++) {
    const { message } = yield* AgentExecutor.run(proposer, `Propose another prompt than: ${best.prompt}`)
    const results = yield* score(message, seen, `round ${round}`)
    const compared = yield* VariantComparison.make({
      baseline: { results: best.results },
      candidate: { results },
      scorer: "exact"
    })
    const isBetter = compared.pBetter < 0.05
    console.log(
      `round ${round}: ${compared.meanBaseline.toFixed(2)} → ${compared.meanCandidate.toFixed(2)},`,
      `p = ${compared.pBetter.toPrecision(2)}: ${isBetter ? "kept" : "left"}`
    )
    if (!isBetter) continue
    best = { prompt: message, results }
    versions = PromptVersions.add(versions, { instructions: message, note: `round ${round}` }).versions
  }

  const last = versions.versions.at(-1)?.number ?? 1
  const labelled = yield* PromptVersions.label(versions, "production", last)
  const changes = PromptVersions.diff(
    yield* PromptVersions.get(labelled, 1),
    yield* PromptVersions.get(labelled, "production")
  )
  console.log(`\n${PromptVersions.toText(changes)}`)

  const before = yield* score(first, heldBack, "held back, before")
  const after = yield* score(best.prompt, heldBack, "held back, after")
  const worth = yield* Either.map(
    VariantComparison.make({ baseline: { results: before }, candidate: { results: after }, scorer: "exact" }),
    ({ meanBaseline, meanCandidate }) => `${meanBaseline.toFixed(2)} → ${meanCandidate.toFixed(2)}`
  )
  console.log("on cases that were held back:", worth)
})

const layer = Layer.merge(
  Layer.provide(Agents.layer(), Layer.effect(LlmClient.LlmClient, model)),
  InMemoryExperimentStore.layer
)

await Effect.runPromise(Effect.provide(program, layer))
