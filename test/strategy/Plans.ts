/** What the tests of strategies with plans share: which prompt a request is, what stands in it, and replies in either form. */
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import type { PromptStep } from "../../src/prompt/template/PromptStep.js"

export const contents = (request: LlmClient.LlmRequest): ReadonlyArray<string> =>
  request.messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))

/** The first line of what a prompt says about the role of the model. */
const roleOf = (step: PromptStep): string => step.system.source.split("\n")[2]!

/** The name of the prompt a request was made of. */
export const promptOf = (steps: ReadonlyArray<PromptStep>, request: LlmClient.LlmRequest): string => {
  const system = contents(request)[0]!
  return steps.find((step) => system.includes(roleOf(step)))?.name ?? "?"
}

/** The steps of a plan at the end: `1 completed`. */
export const statuses = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<ReadonlyArray<string>> =>
  events.flatMap((event) => (event._tag === "Plan" ? [event.steps.map((step) => `${step.id} ${step.status}`)] : []))

export const json = (value: unknown): string => JSON.stringify(value)

export const user = (request: LlmClient.LlmRequest | undefined): string => contents(request!).at(-1)!

export const system = (request: LlmClient.LlmRequest | undefined): string => contents(request!)[0]!

/** The last text between the marks of results. */
export const lastResult = (text: string): string | undefined =>
  Array.from(text.matchAll(/<result>\n([\s\S]*?)\n<\/result>/g), (match) => match[1]!).at(-1)
