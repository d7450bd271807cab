/**
 * Asks one question, or holds a conversation.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Agent, AgentExecutor, AgentResponse, type Ids, type ReaderTimeout } from "effect-lexigram"
import type { Printer } from "./Printer.js"
import type { Terminal } from "./Terminal.js"

/**
 * State of a conversation: each question continues where the last one ended, with the tool results, including those of
 * an earlier run of this program.
 */
export interface Conversation {
  readonly userId: Ids.UserId
  readonly sessionId: string
}

/** Asks once and shows the events. */
export const ask = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly question: string
  readonly conversation: Conversation
}): Effect.Effect<
  AgentResponse.AgentResponse<unknown>,
  E | AgentExecutor.ExecutorError | ReaderTimeout.ReaderTimeoutError,
  R | AgentExecutor.AgentExecutor
> =>
  Effect.suspend(() => {
    const fold = AgentResponse.fold()
    return AgentExecutor.stream(options.agent, {
      input: options.question,
      ...options.conversation
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

/** Asks line by line. Returns the number of failed questions. */
export const converse = <O, E, R>(options: {
  readonly agent: Agent.Agent<O, E, R>
  readonly printer: Printer
  readonly terminal: Terminal
  readonly conversation: Conversation
}): Effect.Effect<number, never, R | AgentExecutor.AgentExecutor> =>
  Effect.gen(function* () {
    const { agent, conversation, printer, terminal } = options
    let failures = 0
    while (true) {
      const line = yield* terminal.readLine("\nyou> ")
      if (Option.isNone(line)) return failures
      const question = line.value.trim()
      if (question === "") continue
      if (/^(exit|quit)$/i.test(question)) return failures
      if (!terminal.interactive) terminal.write(`\nyou> ${question}\n`)
      const answered = yield* Effect.either(ask({ agent, printer, question, conversation }))
      if (Either.isLeft(answered)) {
        failures++
        printer.error(answered.left)
      }
    }
  })
