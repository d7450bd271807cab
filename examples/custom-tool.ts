/**
 * A complete tool: Schema parameters, a required service, its own timeout and retries, and a failure that ends the run.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

class Busy extends Schema.TaggedError<Busy>()("Busy", {}) {
  override readonly message = "The calendar is busy"
}

class Revoked extends Schema.TaggedError<Revoked>()("Revoked", { owner: Schema.String }) {
  override readonly message = "The access to this calendar was revoked"
}

class Calendar extends Context.Tag("Calendar")<
  Calendar,
  { readonly book: (day: string, minutes: number, key: string) => Effect.Effect<string, Busy | Revoked> }
>() {}

const book = Tool.make("book_meeting", {
  description: "Books a meeting",
  parameters: {
    // Checked before the handler runs: issues go back to the model, field by field.
    day: Schema.String.pipe(Schema.pattern(/^\d{4}-\d{2}-\d{2}$/)).annotations({ description: "Day, as YYYY-MM-DD" }),
    minutes: Schema.Int.pipe(Schema.between(15, 120)).annotations({ description: "Length in minutes" })
  },
  success: Schema.String,
  failure: Schema.Union(Busy, Revoked),
  timeout: "5 seconds",
  retries: 2,
  retryable: (error) => error._tag === "Busy",
  // The id is the same on every attempt: a key that prevents double booking.
  handler: ({ day, minutes }, call) => Effect.flatMap(Calendar, (calendar) => calendar.book(day, minutes, call.id))
}).pipe(Tool.failOn("Revoked"))

// Agent<string, Revoked, Calendar>
const secretary = Agent.make("secretary", { tools: [book] })

/** Busy on the first call. */
const calendar = Layer.effect(
  Calendar,
  Effect.map(Ref.make(0), (tries) => ({
    book: (day, minutes, key) =>
      Effect.flatMap(
        Ref.updateAndGet(tries, (n) => n + 1),
        (n) => (n === 1 ? new Busy() : Effect.succeed(`${day}, ${minutes} minutes (booking ${key})`))
      )
  }))
)

const model = TestModel.layer([
  { calls: [{ name: "book_meeting", params: { day: "next Monday", minutes: 5 } }] },
  { calls: [{ name: "book_meeting", params: { day: "2026-03-16", minutes: 30 } }] },
  "It is booked for Monday."
])

const program = Effect.gen(function* () {
  const response = yield* AgentExecutor.run(secretary, "Half an hour next Monday, please")
  for (const { attempts, isFailure, observation } of response.toolCalls) {
    console.log(isFailure ? "refused" : `done in ${attempts} tries`, "-", observation)
  }
  console.log(response.message)
})

await Effect.runPromise(Effect.provide(program, Layer.merge(calendar, Agents.layer().pipe(Layer.provide(model)))))
