/**
 * Handoff: the desk finds the right agent and hands the conversation over; that agent answers. Runs offline on a
 * scripted model that identifies agents by their system prompts.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, Handoff, type LlmClient, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

const invoice = Tool.make("invoice", {
  description: "Looks an invoice up",
  parameters: { number: Schema.String },
  success: Schema.Struct({ euros: Schema.Number, paid: Schema.Boolean }),
  handler: () => Effect.succeed({ euros: 40, paid: true })
})

const billing = Agent.make("billing", { system: "You answer questions about invoices.", tools: [invoice] })
const repairs = Agent.make("repairs", { system: "You repair lamps." })

const desk = Agent.make("desk", {
  system: "You find out who can help, and hand over.",
  tools: [Handoff.to(billing), Handoff.to(repairs)]
})

const lastOf = (request: LlmClient.LlmRequest) => JSON.stringify(request.messages.at(-1)?.content)

const model = TestModel.layer((request) => {
  const [system] = request.messages
  if (system?.role === "system" && system.content.startsWith("You find out")) {
    const name = lastOf(request).includes("invoice") ? "transfer_to_billing" : "transfer_to_repairs"
    return { text: "Let me pass you on.", calls: [{ name }] }
  }
  return lastOf(request).includes("euros")
    ? "Invoice 7 of 40 euros is paid."
    : { calls: [{ name: "invoice", params: { number: "7" } }] }
})

const program = AgentExecutor.stream(desk, "Is my invoice 7 paid?").pipe(
  Stream.runForEach((event) =>
    Effect.sync(() => {
      switch (event._tag) {
        case "Delegated":
          return console.log(`${event.agent} hands over to ${event.toAgent}`)
        case "ToolResult":
          return console.log(`${event.agent} called ${event.name}: ${event.observation}`)
        case "Message":
          return console.log(`${event.agent} answers: ${event.text}`)
      }
    })
  )
)

await Effect.runPromise(Effect.provide(program, Agents.layer().pipe(Layer.provide(model))))
