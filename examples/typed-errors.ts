/**
 * Typed errors: every failure is in the type. A tool's failures are observations for the model; those named with
 * `Tool.failOn` end the run and join the agent's `E`. `catchTag` removes one again, and the compiler knows.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, LlmError, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

class DatabaseDown extends Schema.TaggedError<DatabaseDown>()("DatabaseDown", { host: Schema.String }) {
  override get message() {
    return `The database at ${this.host} does not answer`
  }
}

class UnknownAccount extends Schema.TaggedError<UnknownAccount>()("UnknownAccount", { id: Schema.String }) {
  override get message() {
    return `There is no account ${this.id}`
  }
}

const balance = Tool.make("balance", {
  description: "The balance of an account",
  parameters: { id: Schema.String },
  success: Schema.Number,
  failure: Schema.Union(DatabaseDown, UnknownAccount),
  handler: ({ id }) =>
    id === "7" ? Effect.fail(new DatabaseDown({ host: "db-1" })) : Effect.fail(new UnknownAccount({ id }))
}).pipe(Tool.failOn("DatabaseDown"))

const clerk = Agent.make("clerk", { tools: [balance] })

/** Asks for the balance of an account, then answers, if the run goes on. */
const model = (id: string, ...answers: ReadonlyArray<string>) =>
  TestModel.layer([{ calls: [{ name: "balance", params: { id } }] }, ...answers])
const over = (id: string, ...answers: ReadonlyArray<string>) =>
  Agents.layer().pipe(Layer.provide(model(id, ...answers)))

// DatabaseDown | ExecutorError: UnknownAccount is not in it.
const run = AgentExecutor.run(clerk, "What is my balance?")

const withoutDatabaseDown: Effect.Effect<string, AgentExecutor.ExecutorError, AgentExecutor.AgentExecutor> = run.pipe(
  Effect.map((response) => response.message),
  Effect.catchTag("DatabaseDown", (error) => Effect.succeed(`Come back later (${error.host} is down).`))
)

const failing = TestModel.layer([
  { fail: new LlmError.LlmRateLimitError({ provider: "acme", message: "Too many requests", retryAfterMs: 2000 }) }
])

const program = Effect.gen(function* () {
  console.log("observed:", yield* Effect.provide(withoutDatabaseDown, over("8", "That account does not exist.")))
  console.log("fatal:   ", yield* Effect.provide(withoutDatabaseDown, over("7")))

  const limited = yield* withoutDatabaseDown.pipe(
    Effect.provide(Agents.layer().pipe(Layer.provide(failing))),
    Effect.catchTag("LlmRateLimitError", (error) => Effect.succeed(`again in ${error.retryAfterMs} ms (${error.code})`))
  )
  console.log("model:   ", limited)
})

await Effect.runPromise(program)
