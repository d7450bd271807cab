/**
 * A custom strategy: it writes drafts concurrently, then a judge picks one. A strategy is a function from a task to an
 * Effect that returns an answer. Models, tools, limits and telemetry come with the services it calls.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, LlmClient, Run, Step, Strategy, Usage } from "effect-lexigram"
import { ModelBinding } from "effect-lexigram/strategy"
import { TestModel } from "effect-lexigram/testing"

const bestOf = (count: number) =>
  Strategy.make("best-of", (task) =>
    Effect.gen(function* () {
      const model = yield* ModelBinding.bind(task)
      const messages = Strategy.openingMessages(task)

      yield* Run.emit({ _tag: "StepStarted", step: 1, name: "drafts" })
      const drafts = yield* Step.forEach(
        Array.from({ length: count }, (_, index) => index),
        // Drafts are not the answer: they do not stream to the reader.
        (seed) => model.call({ messages, settings: { temperature: 1, seed } }, { step: 1, deltas: () => [] }),
        { concurrency: count }
      )

      yield* Run.emit({ _tag: "StepStarted", step: 2, name: "judge" })
      const listed = drafts.map((draft, index) => `${index + 1}. ${LlmClient.text(draft)}`).join("\n")
      const verdict = yield* model.call(
        {
          messages: [
            { role: "system", content: "Which answer is best? Say its number and nothing else." },
            { role: "user", content: `Question: ${task.input}\n\n${listed}` }
          ],
          settings: { temperature: 0 }
        },
        { step: 2, deltas: () => [] }
      )
      const said = LlmClient.text(verdict).trim()
      const chosen = drafts[Number(said) - 1] ?? drafts[0]!
      const text = LlmClient.text(chosen)
      yield* Run.emit({ _tag: "Critique", step: 2, text: `the judge chose ${said}` })
      return {
        text,
        reason: "completed" as const,
        messages: [{ role: "user" as const, content: task.input }, LlmClient.assistantMessage(chosen)]
      }
    })
  )

const namer = Agent.make("namer", { system: "You name products.", strategy: bestOf(3) })

const names = ["Kettle One", "Steamling", "The Boiler"]
const model = TestModel.layer((request) => {
  const seed = request.settings?.seed
  return seed === undefined ? "2" : (names[seed] ?? "")
})

const program = Effect.gen(function* () {
  const response = yield* AgentExecutor.run(namer, "A name for a small kettle")
  console.log(`"${response.message}", best of ${names.length}`)
  console.log(`${response.modelCalls} model calls, ${Usage.total(response.usage)} tokens`)
})

await Effect.runPromise(Effect.provide(program, Agents.layer().pipe(Layer.provide(model))))
