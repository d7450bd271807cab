/**
 * Talks to an agent elsewhere by JSON-RPC of the Agent2Agent protocol 1.0.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as JsonText from "../internal/text/JsonText.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as SseLines from "../provider/exchange/SseLines.js"
import { A2aError } from "./A2aError.js"
import { AgentCard, type Artifact, type Message, Reply, Task, type TaskStatus, Update, VERSION } from "./A2aModels.js"

/** The most bytes of a card, of an answer, and of one event of a stream. */
const MOST_BYTES = 4 * 1024 * 1024
/** The most texts of one task. */
const MOST_CHARACTERS = 16 * 1024 * 1024

/**
 * @category models
 */
export interface Options {
  readonly card: URL
  readonly headers: Readonly<Record<string, string>>
  /** Origins besides that of the card where the agent may be. */
  readonly origins: ReadonlyArray<string>
}

const excerpt = (text: string): string => SecretText.redact(SecretText.excerpt(text, { maxLength: 500 }))

const unreachable = (what: string) => () =>
  new A2aError({ reason: "unreachable", message: `${what} cannot be reached`, hint: "Try again later" })

const invalid = (message: string): A2aError => new A2aError({ reason: "answer", message })

const tooLarge = invalid(`An answer of the other agent has more than ${MOST_BYTES} bytes`)

const textOf = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<string, A2aError> => {
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ""
  return response.stream.pipe(
    Stream.mapError(unreachable("The other agent")),
    Stream.runForEach((chunk) => {
      bytes += chunk.byteLength
      if (bytes > MOST_BYTES) return Effect.fail(tooLarge)
      text += decoder.decode(chunk, { stream: true })
      return Effect.void
    }),
    Effect.map(() => text + decoder.decode())
  )
}

const read = <A, I>(schema: Schema.Schema<A, I>, what: string) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (value: unknown): Effect.Effect<A, A2aError> =>
    Effect.mapError(decode(value), ({ message }) => invalid(`${what} is not valid: ${excerpt(message)}`))
}

const json = (text: string): Effect.Effect<unknown, A2aError> =>
  Effect.mapError(JsonText.read(text), () => invalid("An answer of the other agent is not JSON"))

const readCard = read(AgentCard, "The card of the other agent")
const readReply = read(Reply, "An answer of the other agent")
const readUpdate = read(Update, "An update of the other agent")
const readTask = read(Schema.Struct({ task: Schema.optional(Task), message: Update.fields.message }), "A task")

/** What is known of a task, from the updates so far. */
export class TaskView {
  id: string | undefined
  contextId: string | undefined
  status: TaskStatus | undefined
  message: Message | undefined
  readonly artifacts = new Map<string, Artifact>()
  private characters = 0

  private keep({ artifactId, ...artifact }: Artifact, append: boolean): void {
    const before = append ? (this.artifacts.get(artifactId)?.parts ?? []) : []
    this.artifacts.set(artifactId, { ...artifact, artifactId, parts: [...before, ...artifact.parts] })
  }

  /** Fails once there is more text than any answer has. */
  take({ artifactUpdate, message, statusUpdate, task }: Update, size: number): Effect.Effect<void, A2aError> {
    this.characters += size
    if (this.characters > MOST_CHARACTERS) {
      return Effect.fail(invalid(`The updates of a task have more than ${MOST_CHARACTERS} characters`))
    }
    this.id ??= task?.id ?? statusUpdate?.taskId ?? artifactUpdate?.taskId
    this.contextId ??= [task, statusUpdate, artifactUpdate, message].find((one) => one?.contextId)?.contextId
    this.status = task?.status ?? statusUpdate?.status ?? this.status
    for (const artifact of task?.artifacts ?? []) this.keep(artifact, false)
    if (artifactUpdate !== undefined) this.keep(artifactUpdate.artifact, artifactUpdate.append === true)
    this.message = message ?? this.message
    return Effect.void
  }
}

/** A connection to one agent. Its card is read once. */
export class A2aClient {
  private known: { readonly url: string; readonly streams: boolean } | undefined
  private number = 0

  constructor(private readonly options: Options) {}

  private execute(request: HttpClientRequest.HttpClientRequest) {
    return Effect.flatMap(HttpClient.HttpClient, (client) =>
      client.execute(HttpClientRequest.setHeaders(request, { "a2a-version": VERSION, ...this.options.headers }))
    )
  }

  /** Where the agent is. It must be at the site of its card: what a card says is not to be trusted with credentials. */
  private readonly agent = Effect.gen(this, function* () {
    if (this.known !== undefined) return this.known
    const { card: url, origins } = this.options
    const response = yield* Effect.mapError(this.execute(HttpClientRequest.get(url)), unreachable("The agent card"))
    if (response.status !== 200) {
      return yield* new A2aError({ reason: "card", message: `The card is not there: status ${response.status}` })
    }
    const card = yield* readCard(yield* Effect.flatMap(textOf(response), json))
    const found = card.supportedInterfaces.find(
      ({ protocolBinding, protocolVersion = VERSION }) =>
        protocolBinding === "JSONRPC" && /^1(?:\.|$)/.test(protocolVersion)
    )
    if (found === undefined) {
      return yield* new A2aError({ reason: "card", message: "The card names no JSON-RPC of A2A 1.0" })
    }
    const address = URL.canParse(found.url, url) ? new URL(found.url, url) : undefined
    if (address === undefined || ![url.origin, ...origins].includes(address.origin)) {
      return yield* new A2aError({
        reason: "card",
        message: `The card names an address at another site: ${excerpt(found.url)}`,
        hint: "Name its origin in `origins` if it is right"
      })
    }
    this.known = { url: address.href, streams: card.capabilities?.streaming === true }
    return this.known
  })

  private call(url: string, method: string, params: unknown, accept: string) {
    const request = HttpClientRequest.post(url, { headers: { accept } }).pipe(
      HttpClientRequest.bodyUnsafeJson({ jsonrpc: "2.0", id: ++this.number, method, params })
    )
    return Effect.mapError(this.execute(request), unreachable("The other agent"))
  }

  private resultOf(reply: Reply): Effect.Effect<unknown, A2aError> {
    return reply.error === undefined
      ? Effect.succeed(reply.result)
      : new A2aError({ reason: "refused", message: `The other agent refuses: ${excerpt(reply.error.message)}` })
  }

  private whole(response: HttpClientResponse.HttpClientResponse): Effect.Effect<unknown, A2aError> {
    const refused = new A2aError({ reason: "refused", message: `The other agent answers ${response.status}` })
    return textOf(response).pipe(
      Effect.flatMap(json),
      Effect.flatMap(readReply),
      Effect.catchAll((error) => (response.status < 400 ? error : refused)),
      Effect.flatMap((reply) => this.resultOf(reply)),
      Effect.flatMap((result) => (response.status < 400 ? Effect.succeed(result) : refused))
    )
  }

  private updates(response: HttpClientResponse.HttpClientResponse, view: TaskView): Effect.Effect<void, A2aError> {
    const lines = SseLines.make({ maxEventLength: MOST_BYTES })
    return Stream.runForEach(Stream.mapError(response.stream, unreachable("The other agent")), (bytes) => {
      const found: Array<SseLines.SseEvent> = []
      if (!lines.push(bytes, found)) return Effect.fail(tooLarge)
      return Effect.forEach(
        found,
        ({ data }) => {
          const text = data.join("\n")
          return json(text).pipe(
            Effect.flatMap(readReply),
            Effect.flatMap((reply) => this.resultOf(reply)),
            Effect.flatMap(readUpdate),
            Effect.flatMap((update) => view.take(update, text.length))
          )
        },
        { discard: true }
      )
    })
  }

  /** Sends a message, and waits until its task has ended or needs input. `view` is what is known meanwhile. */
  readonly send = (message: Message, view: TaskView): Effect.Effect<void, A2aError, HttpClient.HttpClient> =>
    Effect.gen(this, function* () {
      const { streams, url } = yield* this.agent
      const method = streams ? "SendStreamingMessage" : "SendMessage"
      const response = yield* this.call(url, method, { message }, streams ? "text/event-stream" : "application/json")
      if (response.headers["content-type"]?.startsWith("text/event-stream") === true && response.status < 400) {
        return yield* this.updates(response, view)
      }
      yield* view.take(yield* Effect.flatMap(this.whole(response), readTask), 0)
    })

  /** Tells the agent that nobody waits for a task any more. */
  readonly cancel = (id: string): Effect.Effect<void, never, HttpClient.HttpClient> =>
    Effect.ignore(Effect.flatMap(this.agent, ({ url }) => this.call(url, "CancelTask", { id }, "application/json")))
}
