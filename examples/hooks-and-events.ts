/**
 * Observing runs. A run waits for a hook, and a filter changes a value; a listener of the event bus is notified
 * afterwards and delays nothing.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, AgentHooks, Agents, EventBus, Hooks, Tool } from "effect-lexigram"
import { AgentDomainEvents, LocalEventBus } from "effect-lexigram/observability"
import { TestModel } from "effect-lexigram/testing"

const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
const clerk = Agent.make("clerk", { tools: [time] })

const watching = Layer.mergeAll(
  Hooks.handler(AgentHooks.AgentToolCalledHook, ({ agentName, toolName }) =>
    Console.log(`${agentName} calls ${toolName}`)
  ),
  Hooks.filterHandler(AgentHooks.AgentAnswerFilter, (answer) => Effect.succeed(`${answer} Have a nice day.`)),
  EventBus.handler(AgentDomainEvents.AgentRunCompletedEvent, (event) =>
    Console.log(`${event.agentId} is done: ${event.toolCallsCount} tool calls, ${event.success ? "well" : "badly"}`)
  )
)

const hooks = Hooks.layer
const events = LocalEventBus.layer()
const executor = Agents.layerWith({ hooks, events }).pipe(
  Layer.provide(TestModel.layer([{ calls: [{ name: "time" }] }, "It is noon."]))
)

const program = Effect.flatMap(AgentExecutor.run(clerk, "What time is it?"), ({ message }) => Console.log(message))

// The same layers, so that the executor and the handlers share one registry and one bus.
await Effect.runPromise(
  Effect.provide(program, Layer.mergeAll(executor, watching).pipe(Layer.provide([hooks, events])))
)
