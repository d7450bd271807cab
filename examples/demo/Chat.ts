/**
 * One question, or a conversation of many.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Agent, AgentExecutor, AgentResponse, type LlmClient } from "effect-lexigram"
import type { Printer } from "./Printer.js"
import type { Terminal } from "./Terminal.js"

/** Earlier messages that go along with a question. */
const maxHistory = 40

/** A turn as the messages of a conversation, its tool calls included: a later question may be about what they showed. */
export const messagesOf = (
  question: string,
  response: AgentResponse.AgentResponse<unknown>
): ReadonlyArray<LlmClient.Message> => [
  { role: "user", content: question },
  ...response.steps.flatMap((step): ReadonlyArray<LlmClient.Message> => {
    const calls = step.toolCalls.filter((call) => call.isFailure !== undefined)
    if (calls.length === 0) return []
    return [
      {
        role: "assistant",
        content: calls.map(({ id, name, params }) => ({
          type: "tool-call" as const,
          id,
          name,
          params,
          providerExecuted: false
        }))
      },
      {
        role: "tool",
        content: calls.map(({ id, isFailure, name, result }) => ({
          type: "tool-result" as const,
          id,
          name,
          isFailure: isFailure === true,
          result,
          providerExecuted: false
        }))
      }
    ]
  }),
  { role: "assistant", content: response.message }
]

/** The newest messages, from a question on: a tool result without its call is refused by most providers. */
const recent = (messages: ReadonlyArray<LlmClient.Message>): ReadonlyArray<LlmClient.Message> => {
  const tail = messages.slice(-maxHistory)
  return tail.slice(
    Math.max(
      0,
      tail.findIndex((message) => message.role === "user")
    )
  )
}

/** Asks once and shows what happens. */
export const ask = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly question: string
  readonly history?: ReadonlyArray<LlmClient.Message> | undefined
}): Effect.Effect<
  AgentResponse.AgentResponse<unknown>,
  E | AgentExecutor.ExecutorError,
  R | AgentExecutor.AgentExecutor
> =>
  Effect.suspend(() => {
    const fold = AgentResponse.fold()
    return AgentExecutor.stream(options.agent, { input: options.question, history: options.history }).pipe(
      Stream.runForEach((event) =>
        Effect.sync(() => {
          fold.push(event)
          options.printer.event(event)
        })
      ),
      Effect.map(fold.response),
      Effect.tap((response) => Effect.sync(() => options.printer.summary(response)))
    )
  })

/** Asks line after line, each with what was said before. Gives back how many questions failed. */
export const converse = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly terminal: Terminal
}): Effect.Effect<number, never, R | AgentExecutor.AgentExecutor> =>
  Effect.gen(function* () {
    const { agent, printer, terminal } = options
    let history: ReadonlyArray<LlmClient.Message> = []
    let failures = 0
    while (true) {
      const line = yield* terminal.readLine("\nyou> ")
      if (Option.isNone(line)) return failures
      const question = line.value.trim()
      if (question === "") continue
      if (/^(exit|quit)$/i.test(question)) return failures
      if (!terminal.interactive) terminal.write(`\nyou> ${question}\n`)
      const answered = yield* Effect.either(ask({ agent, printer, question, history }))
      if (Either.isRight(answered)) history = recent([...history, ...messagesOf(question, answered.right)])
      else {
        failures++
        printer.error(answered.left)
      }
    }
  })
