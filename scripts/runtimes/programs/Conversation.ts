/** One turn of a conversation in a SQLite file. Each process prints how many messages of the user its model was shown. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Ids } from "effect-lexigram"
import { Lexigram } from "effect-lexigram/persistence"
import { TestModel } from "effect-lexigram/testing"

const clerk = Agent.make("clerk", { system: "You remember." })
const model = TestModel.layer([({ messages }) => `turn ${messages.filter(({ role }) => role === "user").length}`])

const program = AgentExecutor.run(clerk, { input: "Hello", sessionId: "desk", userId: Ids.UserId.make("ann") })

const { message } = await Effect.runPromise(
  Effect.provide(program, Lexigram.layerSqlite({ file: "agents.db" }).pipe(Layer.provide(model)))
)
console.log(message)
