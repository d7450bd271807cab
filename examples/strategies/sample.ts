/**
 * Common parts of the strategy examples: a task that shows the purpose of the strategy, and a model that answers from
 * the request.
 */
import { pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, AgentResponse, Agents, type LlmClient, type Strategy, type Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

export interface Sample {
  /** Reason to choose the strategy for such a task. */
  readonly why: string
  readonly task: string
  readonly strategy: Strategy.Strategy<any, never>
  /** May include agents. */
  readonly tools?: ReadonlyArray<Tool.Tool<any, any, never, AgentExecutor.AgentExecutor, any>> | undefined
  /** The model: a text, or a turn with calls, for a request. It knows only the request. */
  readonly model: (request: LlmClient.LlmRequest) => TestModel.Turn | string
  /** Number of model calls in general: `2 + cycles * 2`. */
  readonly calls: string
}

const agent = (sample: Sample) => Agent.make("sample", { tools: sample.tools ?? [], strategy: sample.strategy })

const short = (text: string, length = 160): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > length ? `${line.slice(0, length)}…` : line
}

/** Runs the sample and returns the measurements. */
export const measure = (sample: Sample) =>
  Effect.map(Stream.runCollect(AgentExecutor.stream(agent(sample), sample.task)), (events) =>
    AgentResponse.fromEvents(Array.from(events))
  ).pipe(Effect.provide(Agents.layer().pipe(Layer.provide(TestModel.layer(sample.model)))))

/** Runs the sample and prints its events, if the module is the main one. */
export const main = async (url: string, sample: Sample): Promise<void> => {
  if (process.argv[1] === undefined || pathToFileURL(process.argv[1]).href !== url) return
  console.log(`${sample.strategy.name}: ${sample.why}\n\nTask: ${sample.task}\n`)
  const program = Stream.runForEach(AgentExecutor.stream(agent(sample), sample.task), (event) =>
    Effect.sync(() => {
      // Names agents that were called by another one.
      const print = (text: string) =>
        console.log(event.parentRunId === undefined ? text : `    ${event.agent}: ${text.trim()}`)
      switch (event._tag) {
        case "StepStarted":
          return print(`step ${event.step}${event.name === undefined ? "" : ` ${event.name}`}`)
        case "Plan":
          return print(event.steps.map((step) => `  [${step.status}] ${step.id} ${short(step.description)}`).join("\n"))
        case "Thought":
          return print(`  thought: ${short(event.text)}`)
        case "Critique":
          return print(`  critique: ${short(event.text)}`)
        case "ToolCall":
          return print(`  ${event.name}(${short(JSON.stringify(event.params))})`)
        case "ToolResult":
          return print(`    = ${short(event.observation)}`)
        case "Message":
          return print(event.parentRunId === undefined ? `\n${event.text}` : short(event.text))
        default:
          return
      }
    })
  )
  await Effect.runPromise(Effect.provide(program, Agents.layer().pipe(Layer.provide(TestModel.layer(sample.model)))))
}
