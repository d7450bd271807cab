/**
 * One question, or a conversation of many.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Agent, AgentExecutor, AgentResponse, type Ids, type LlmClient } from "effect-lexigram"
import type { Printer } from "./Printer.js"
import type { Terminal } from "./Terminal.js"

/** Whose conversation it is: each question goes on where the last one ended, also the last one of an earlier run of this program. */
export interface Conversation {
  readonly userId: Ids.UserId
  readonly sessionId: string
}

/** Messages with what tools have shown that go along with a question. */
const maxShown = 40

/**
 * What the tools of an answer have shown: a later question may be about it. Sessions keep what was said; this is known as long as the conversation
 * lasts.
 */
export const shownIn = (response: AgentResponse.AgentResponse<unknown>): ReadonlyArray<LlmClient.Message> =>
  response.steps.flatMap((step): ReadonlyArray<LlmClient.Message> => {
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
  })

/** Asks once and shows what happens. */
export const ask = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly question: string
  readonly conversation: Conversation
  /** What tools have shown before. */
  readonly shown?: ReadonlyArray<LlmClient.Message> | undefined
}): Effect.Effect<
  AgentResponse.AgentResponse<unknown>,
  E | AgentExecutor.ExecutorError,
  R | AgentExecutor.AgentExecutor
> =>
  Effect.suspend(() => {
    const fold = AgentResponse.fold()
    return AgentExecutor.stream(options.agent, {
      input: options.question,
      ...options.conversation,
      history: options.shown
    }).pipe(
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

/** Asks line after line. Gives back how many questions failed. */
export const converse = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly terminal: Terminal
  readonly conversation: Conversation
}): Effect.Effect<number, never, R | AgentExecutor.AgentExecutor> =>
  Effect.gen(function* () {
    const { agent, conversation, printer, terminal } = options
    let shown: ReadonlyArray<LlmClient.Message> = []
    let failures = 0
    while (true) {
      const line = yield* terminal.readLine("\nyou> ")
      if (Option.isNone(line)) return failures
      const question = line.value.trim()
      if (question === "") continue
      if (/^(exit|quit)$/i.test(question)) return failures
      if (!terminal.interactive) terminal.write(`\nyou> ${question}\n`)
      const answered = yield* Effect.either(ask({ agent, printer, question, conversation, shown }))
      // A call and its result stand together: one without the other is refused by most providers.
      if (Either.isRight(answered)) shown = [...shown, ...shownIn(answered.right)].slice(-maxShown)
      else {
        failures++
        printer.error(answered.left)
      }
    }
  })
