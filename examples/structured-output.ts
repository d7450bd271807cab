/**
 * Structured output: the Schema goes to the model, and the answer is decoded. A mismatching answer goes back with the
 * issues, a bounded number of times.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

const Ticket = Schema.Struct({
  subject: Schema.NonEmptyString,
  urgency: Schema.Literal("low", "normal", "high"),
  due: Schema.Date.annotations({ jsonSchema: { type: "string", format: "date-time" } })
})

// Agent<{ subject: string; urgency: …; due: Date }, OutputValidationError>
const triage = Agent.make("triage", {
  system: "You turn mails into tickets.",
  output: Ticket,
  outputRetries: 1
})

const mail = "The checkout is down since nine, please fix it today!"

const over = (...answers: ReadonlyArray<unknown>) =>
  Agents.layer().pipe(Layer.provide(TestModel.layer(answers.map((answer) => JSON.stringify(answer)))))

const wrong = { subject: "", urgency: "very high", due: "2026-03-12T18:00:00Z" }
const right = { subject: "Checkout down", urgency: "high", due: "2026-03-12T18:00:00Z" }

const program = Effect.gen(function* () {
  const { modelCalls, output } = yield* Effect.provide(AgentExecutor.run(triage, mail), over(wrong, right))
  console.log(`${output.subject}, ${output.urgency}, due at ${output.due.toISOString()} (${modelCalls} model calls)`)

  const refused = yield* AgentExecutor.run(triage, mail).pipe(
    Effect.provide(over(wrong, wrong)),
    Effect.map((response) => response.output.subject),
    Effect.catchTag("OutputValidationError", (error) => Effect.succeed(`given up: ${error.issues}`))
  )
  console.log(refused)
})

await Effect.runPromise(program)
