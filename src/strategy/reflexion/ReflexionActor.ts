/**
 * What both forms of Reflexion share: a strategy run as the actor with a prompt of its own, and the answer at the end.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Body, FinishReason } from "../../domain/AgentEvent.js"
import type { Message } from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import { OUTPUT_FORMAT, type PromptStep } from "../../prompt/template/PromptStep.js"
import type { Values } from "../../prompt/template/PromptTemplate.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Answer, Strategy, Task } from "../definition/Strategy.js"

/** An answer as a field of a state. */
export const Answered = Schema.Struct({
  text: Schema.String,
  reason: FinishReason,
  output: Schema.optional(Schema.Unknown),
  messages: Schema.Array(Schema.Any as Schema.Schema<Message>)
})
export interface Answered extends Schema.Schema.Type<typeof Answered> {}

const maxLineChars = 600

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max).replace(/[\ud800-\udbff]$/, "")}…`

const lineOf = (event: Body): string | undefined => {
  switch (event._tag) {
    case "Thought":
      return `Thought: ${event.text}`
    case "ToolCall":
      return `Action: ${event.name} ${JSON.stringify(event.params) ?? ""}`
    case "ToolResult":
      return `Observation: ${event.observation}`
    default:
      return undefined
  }
}

/** Collects thoughts, actions and observations, one per line. If they grow too long, the middle is omitted. */
export const trajectory = (maxChars: number) => {
  const half = Math.floor(maxChars / 2)
  const head: Array<string> = []
  const tail: Array<string> = []
  let headChars = 0
  let tailChars = 0
  let leftOut = 0
  return {
    note: (event: Body): void => {
      const text = lineOf(event)
      if (text === undefined) return
      const line = truncate(text.slice(0, 8 * maxLineChars).replace(/\s+/g, " "), maxLineChars)
      if (leftOut === 0 && tail.length === 0 && headChars + line.length <= half) {
        head.push(line)
        headChars += line.length
        return
      }
      tail.push(line)
      tailChars += line.length
      while (tailChars > half && tail.length > 1) {
        tailChars -= (tail.shift() as string).length
        leftOut++
      }
    },
    text: (): string => [...head, ...(leftOut === 0 ? [] : [`[${leftOut} lines left out]`]), ...tail].join("\n")
  }
}

/**
 * Runs the strategy on the task as the prompt states it. The system half follows the agent's own; the user half is the
 * input.
 */
export const act = <E, R, Variable extends string>(
  actor: Strategy<E, R>,
  task: Task,
  prompt: PromptStep<Variable>,
  values: Values<Variable>,
  onEvent?: ((event: Body) => void) | undefined
) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const prompts = yield* PromptLibrary.PromptLibrary
    const { system, user } = prompts.render(prompt, { ...values, [OUTPUT_FORMAT]: prompt.textFormat } as Values<
      Variable | typeof OUTPUT_FORMAT
    >)
    return yield* reasoning.inner(
      actor,
      {
        ...task,
        system: task.system === "" || system === "" ? task.system + system : `${task.system}\n\n${system}`,
        input: user
      },
      { onEvent }
    )
  })

/** Emits the text of an answer that was not streamed as an answer while it was written. */
export const emitText = (answer: Answer): Effect.Effect<Answer, never, Reasoning.Reasoning> =>
  Effect.flatMap(Reasoning.Reasoning, ({ run }) =>
    run.live && answer.text !== ""
      ? Effect.as(run.emit({ _tag: "TextDelta", text: answer.text }), answer)
      : Effect.succeed(answer)
  )

/** Turns an actor's answer into that of the run: an answer to the user's own words, in the output shape of the task. */
export const toRunAnswer = (
  answer: Answer,
  reason: FinishReason
): Effect.Effect<Answer, LlmError | Fatality, Reasoning.Reasoning> =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { input, output } = reasoning.task
    if (output !== undefined && answer.output === undefined) {
      return yield* Effect.flatMap(reasoning.answer(answer.text, reason), emitText)
    }
    const messages: ReadonlyArray<Message> = [{ role: "user", content: input }, ...answer.messages.slice(1)]
    return yield* emitText({ ...answer, reason, messages })
  })
