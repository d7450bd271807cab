/**
 * Agents elsewhere as tools, by the Agent2Agent protocol 1.0.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Tool from "../tool/definition/Tool.js"
import * as A2aClient from "./A2aClient.js"
import { A2aError } from "./A2aError.js"
import type { Part } from "./A2aModels.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The URL of the agent's card, or of a server whose card is at `/.well-known/agent-card.json`. */
  readonly url: string
  /** What the model reads of the agent: what it is for. */
  readonly description: string
  /** Sent with each request, such as `authorization`; default none. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Origins besides that of the card where the agent may be; default none. They get the headers too. */
  readonly origins?: ReadonlyArray<string> | undefined
  /** How long one answer may take before its task is canceled; default 10 minutes. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * What the model reads of an answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly answer: string
  /** Goes on with the conversation. */
  readonly conversation?: string | undefined
  /** The other agent asks for something: the task that the next message answers. */
  readonly task?: string | undefined
}

const Answer = Schema.Struct({
  answer: Schema.String,
  conversation: Schema.optional(Schema.String),
  task: Schema.optional(Schema.String)
})

const describe = (text: string) => Schema.String.annotations({ description: text })

const parameters = {
  message: describe("What to say to the agent"),
  conversation: Schema.optional(describe("The `conversation` of its earlier answer, to go on with it")),
  task: Schema.optional(describe("The `task` of its earlier answer, to give what that asks for"))
}

const WELL_KNOWN = "/.well-known/agent-card.json"

const cardOf = (text: string): Either.Either<URL, A2aError> =>
  Either.try({
    try: () => {
      const url = new URL(text)
      if (!/^https?:$/.test(url.protocol)) throw new Error("not an address of the web")
      return url.pathname === "/" ? new URL(WELL_KNOWN, url) : url
    },
    catch: () => new A2aError({ reason: "card", message: "The `url` of the agent is no address of the web" })
  })

const textOf = (parts: ReadonlyArray<Part>): string =>
  parts.flatMap(({ data, text, url }) => text ?? url ?? (data === undefined ? [] : JSON.stringify(data))).join("\n")

const answerOf = ({
  artifacts,
  contextId,
  id,
  message,
  status
}: A2aClient.TaskView): Effect.Effect<Answer, A2aError> => {
  const conversation = contextId === undefined ? {} : { conversation: contextId }
  if (status === undefined) {
    return message === undefined
      ? new A2aError({ reason: "answer", message: "The other agent ended without an answer" })
      : Effect.succeed({ answer: textOf(message.parts), ...conversation })
  }
  const said = textOf(status.message?.parts ?? [])
  switch (status.state) {
    case "TASK_STATE_COMPLETED": {
      const answer = Array.from(artifacts.values(), ({ parts }) => textOf(parts)).join("\n\n")
      return Effect.succeed({ answer: answer === "" ? said : answer, ...conversation })
    }
    case "TASK_STATE_INPUT_REQUIRED":
    case "TASK_STATE_AUTH_REQUIRED":
      return Effect.succeed({ answer: said, ...conversation, ...(id === undefined ? {} : { task: id }) })
    case "TASK_STATE_FAILED":
    case "TASK_STATE_REJECTED":
    case "TASK_STATE_CANCELED":
      return new A2aError({
        reason: "failed",
        message: `The task of the other agent ended as ${status.state}${said === "" ? "" : `: ${said.slice(0, 1000)}`}`
      })
    default:
      return new A2aError({ reason: "unreachable", message: "The other agent ended the connection before its answer" })
  }
}

/**
 * A tool that asks an agent elsewhere. The model gets its answer and the id of the conversation, and may go on with it;
 * where the other agent needs something, the model gets what it asks and the task to answer. A call that is interrupted
 * cancels its task.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { A2aAgent } from "effect-lexigram/a2a"
 *
 * const travel = A2aAgent.make("travel_agent", {
 *   url: "https://travel.example",
 *   description: "Knows trains and hotels, and books them"
 * })
 *
 * const clerk = Agent.make("clerk", { tools: [travel] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  { description, headers = {}, origins = [], timeout = "10 minutes", url }: Options
): Tool.Tool<Tool.ParametersType<typeof parameters>, Answer, never, HttpClient.HttpClient, A2aError> => {
  const client = Either.map(cardOf(url), (card) => new A2aClient.A2aClient({ card, headers, origins }))
  return Tool.make(name, {
    description,
    parameters,
    success: Answer,
    failure: A2aError,
    timeout,
    handler: ({ conversation, message, task }, { idempotencyKey }) =>
      Effect.gen(function* () {
        const agent = yield* client
        const view = new A2aClient.TaskView()
        const given = {
          messageId: idempotencyKey,
          role: "ROLE_USER" as const,
          parts: [{ text: message }],
          ...(conversation === undefined ? {} : { contextId: conversation }),
          ...(task === undefined ? {} : { taskId: task })
        }
        yield* agent.send(given, view).pipe(
          // The other agent would go on with what nobody waits for.
          Effect.onExit((exit) =>
            exit._tag === "Success" || view.id === undefined
              ? Effect.void
              : Effect.asVoid(Effect.timeoutOption(agent.cancel(view.id), "5 seconds"))
          )
        )
        return yield* answerOf(view)
      })
  })
}
