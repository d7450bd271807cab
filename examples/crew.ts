/**
 * A crew: two agents with their own tasks share three tasks, and a manager judges the results. Runs offline on a
 * scripted model that identifies agents by their system prompts.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Agents, type LlmClient } from "effect-lexigram"
import { Crew } from "effect-lexigram/agent"
import { TestModel } from "effect-lexigram/testing"

const gardener = Agent.make("gardener", { system: "You know plants." })
const editor = Agent.make("editor", { system: "You write for a newspaper." })

const Plants = Schema.Struct({ plants: Schema.Array(Schema.String) })

const column = Crew.make("column", {
  process: "parallel",
  agents: [gardener, editor],
  tasks: [
    Crew.task("choice", { description: "Choose plants for the place.", agent: "gardener", output: Plants }),
    Crew.task("care", { description: "Say how often to water there.", agent: "gardener" }),
    Crew.task("text", {
      description: "Write the column.",
      agent: "editor",
      context: ["choice", "care"],
      expectedOutput: "One sentence that names every plant"
    })
  ],
  limits: { maxModelCalls: 20 }
})

const textOf = (message: LlmClient.Message | undefined) => (typeof message?.content === "string" ? message.content : "")

/** The editor forgets the ivy at first; the manager notices. */
const model = TestModel.layer((request) => {
  const [system, asked] = [textOf(request.messages[0]), textOf(request.messages.at(-1))]
  if (system.startsWith("You know plants.")) {
    return asked.includes("Choose") ? JSON.stringify({ plants: ["fern", "ivy"] }) : "Once a week."
  }
  if (system.startsWith("You write")) {
    return asked.includes("The ivy is missing")
      ? "A fern and an ivy make a dark hall friendly, watered once a week."
      : "A fern makes a dark hall friendly."
  }
  const accepted = asked.includes("an ivy")
  return JSON.stringify({ accepted, feedback: accepted ? "" : "The ivy is missing." })
})

const program = Crew.stream(column, "Plants for a dark hall").pipe(
  Stream.runForEach((event) =>
    Effect.sync(() => {
      switch (event._tag) {
        case "TaskStarted":
          return console.log(`${event.agent} begins "${event.task}"`)
        case "TaskRetried":
          return console.log(`${event.agent} tries "${event.task}" again: ${event.reason}`)
        case "TaskFinished":
          return console.log(`"${event.task}" ${event.result.status}: ${event.result.output}`)
        case "CrewFinished":
          return console.log(`\n${event.result.finalOutput}\n${event.result.usage.totalTokens} tokens`)
      }
    })
  )
)

await Effect.runPromise(Effect.provide(program, Agents.layer().pipe(Layer.provide(model))))
