/** Clients of the SDK of A2A, and what they send and read. */
import * as A2a from "@a2a-js/sdk"
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  JsonRpcTransportFactory,
  RestTransportFactory
} from "@a2a-js/sdk/client"
import * as Effect from "effect/Effect"

/** The client of the SDK, with the credentials of a user. */
export const clientOf = (url: string, agent: string, user = "ann", binding: "JSONRPC" | "HTTP+JSON" = "JSONRPC") =>
  Effect.promise(() => {
    const fetchImpl: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...(init?.headers as object), authorization: `Bearer token-${user}` } })
    const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
      preferredTransports: [binding]
    })
    return new ClientFactory(options).createFromUrl(url, `/a2a/${agent}/.well-known/agent-card.json`)
  })

let messages = 0
export const textPart = (text: string): A2a.Part => ({
  content: { $case: "text", value: text },
  metadata: undefined,
  filename: "",
  mediaType: ""
})
export const dataPart = (value: unknown): A2a.Part => ({ ...textPart(""), content: { $case: "data", value } })

export const said = (
  parts: string | ReadonlyArray<A2a.Part>,
  fields: Partial<A2a.Message> = {}
): A2a.SendMessageRequest => ({
  tenant: "",
  message: {
    messageId: `m${messages++}`,
    contextId: "",
    taskId: "",
    role: A2a.Role.ROLE_USER,
    parts: typeof parts === "string" ? [textPart(parts)] : [...parts],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...fields
  },
  configuration: undefined,
  metadata: undefined
})

const isTask = (result: A2a.Task | A2a.Message): result is A2a.Task => "artifacts" in result

export const send = (client: Client, request: A2a.SendMessageRequest): Effect.Effect<A2a.Task> =>
  Effect.promise(async () => {
    const result = await client.sendMessage(request)
    if (!isTask(result)) throw new Error("not a task")
    return result
  })

export const refused = (attempt: () => Promise<unknown>): Effect.Effect<Error> =>
  Effect.promise(() =>
    attempt().then(
      () => new Error("it was taken"),
      (error: Error) => error
    )
  )

export const textOf = (parts: ReadonlyArray<A2a.Part> = []): string =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("")

export const answerOf = ({ artifacts }: A2a.Task): string => textOf(artifacts[0]?.parts)

export const all = (stream: AsyncGenerator<A2a.StreamResponse>) =>
  Effect.promise(async () => {
    const updates: Array<A2a.StreamResponse> = []
    for await (const update of stream) updates.push(update)
    return updates
  })

/** What a reader of a stream has at its end. */
export const collected = (updates: ReadonlyArray<A2a.StreamResponse | void>) => {
  const states: Array<A2a.TaskState | undefined> = []
  let parts: ReadonlyArray<A2a.Part> = []
  for (const update of updates) {
    const payload = update?.payload
    if (payload?.$case === "task") states.push(payload.value.status?.state)
    if (payload?.$case === "statusUpdate") states.push(payload.value.status?.state)
    if (payload?.$case === "artifactUpdate") {
      const { append, artifact } = payload.value
      parts = append ? [...parts, ...(artifact?.parts ?? [])] : (artifact?.parts ?? [])
    }
  }
  return { states, parts, text: textOf(parts) }
}
