/** Clients of the official SDK, closed with their scope. */
import { PassThrough } from "node:stream"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  type ClientCapabilities,
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult
} from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Options {
  readonly user?: string
  /** Answers the questions of the server; without it the client cannot be asked. */
  readonly elicit?: (params: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>
  readonly capabilities?: ClientCapabilities
}

const make = ({ capabilities = {}, elicit }: Options): Client => {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { capabilities: { ...capabilities, ...(elicit === undefined ? {} : { elicitation: { form: {} } }) } }
  )
  if (elicit !== undefined) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => elicit(params))
  return client
}

const connected = (client: Client, transport: Transport): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.as(
      Effect.promise(() => client.connect(transport)),
      client
    ),
    (client) => Effect.promise(() => client.close())
  )

/** A client over HTTP, and its transport. */
export const http = (url: string, options: Options = {}) => {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer token-${options.user ?? "ann"}` } }
  })
  // The types of the SDK are not exact about optional members.
  return Effect.map(connected(make(options), transport as Transport), (client) => ({ client, transport }))
}

class StreamTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport["onmessage"]
  private readonly buffer = new ReadBuffer()

  constructor(
    private readonly input: PassThrough,
    private readonly output: PassThrough
  ) {}

  async start() {
    this.output.on("data", (chunk: Buffer) => {
      this.buffer.append(chunk)
      for (let message = this.buffer.readMessage(); message !== null; message = this.buffer.readMessage()) {
        this.onmessage?.(message as never)
      }
    })
  }

  async send(message: Parameters<Transport["send"]>[0]) {
    this.input.write(serializeMessage(message))
  }

  async close() {
    this.input.end()
    this.onclose?.()
  }
}

/** The standard streams of a server in this process. */
export const streams = () => ({ input: new PassThrough(), output: new PassThrough() })

/** A client at the other end of standard streams. */
export const stdio = ({ input, output }: ReturnType<typeof streams>, options: Options = {}) =>
  connected(make(options), new StreamTransport(input, output) as Transport)

/** The text of a result. */
export const textOf = (result: unknown): string =>
  (result as { readonly content: ReadonlyArray<{ readonly text?: string }> }).content
    .map(({ text = "" }) => text)
    .join("\n")
