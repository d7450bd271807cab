/** Pages of AI SDK UI in Node: a chat of `@ai-sdk/react` 4 or 3 that talks to a server. */
import { Chat as Chat7 } from "@ai-sdk/react"
import { Chat as Chat6 } from "@ai-sdk/react-v3"
import {
  lastAssistantMessageIsCompleteWithToolCalls as called7,
  lastAssistantMessageIsCompleteWithApprovalResponses as complete7,
  DefaultChatTransport as Transport7
} from "ai"
import {
  lastAssistantMessageIsCompleteWithToolCalls as called6,
  lastAssistantMessageIsCompleteWithApprovalResponses as complete6,
  DefaultChatTransport as Transport6
} from "ai-v6"

export interface Page {
  readonly messages: ReadonlyArray<{
    readonly id: string
    readonly role: string
    readonly metadata?: any
    readonly parts: ReadonlyArray<any>
  }>
  readonly status: string
  readonly error: Error | undefined
  readonly sendMessage: (message?: {
    readonly text: string
    readonly files?: any
    readonly messageId?: string
  }) => Promise<void>
  readonly regenerate: (options?: { readonly messageId?: string }) => Promise<void>
  readonly resumeStream: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly addToolApprovalResponse: (response: {
    readonly id: string
    readonly approved: boolean
    readonly reason?: string
  }) => unknown
  readonly addToolOutput: (output: { readonly tool: string; readonly toolCallId: string } & Output) => unknown
}

/** What a page makes of a call of its own: its output, or why it failed. */
export type Output = { readonly output: unknown } | { readonly state: "output-error"; readonly errorText: string }

export interface Options {
  readonly url: string
  readonly agent: string
  readonly id: string
  readonly user?: string
  readonly messages?: ReadonlyArray<unknown>
  readonly onData?: (part: any) => void
  readonly onRequest?: () => void
  /** Makes a call; without an output the call waits for `addToolOutput`. */
  readonly onToolCall?: (call: {
    readonly toolName: string
    readonly toolCallId: string
    readonly input: any
  }) => Output | undefined
}

export type Make = (options: Options) => Page

const transportOf = ({ agent, onRequest, url, user = "ann" }: Options) => ({
  fetch: (input: RequestInfo | URL, init?: RequestInit) => {
    onRequest?.()
    return fetch(input, init)
  },
  api: `${url}/ui/chat/${agent}`,
  headers: { authorization: `Bearer token-${user}` }
})

const onToolCall =
  ({ onToolCall }: Options, page: () => Page) =>
  ({ toolCall }: { readonly toolCall: any }) => {
    const output = onToolCall?.(toolCall)
    // Waiting for it here would stop the stream.
    if (output !== undefined) {
      void page().addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, ...output })
    }
  }

const make7: Make = (options) => {
  const chat: Page = new Chat7({
    id: options.id,
    transport: new Transport7(transportOf(options)),
    sendAutomaticallyWhen: (options) => complete7(options) || called7(options),
    onToolCall: onToolCall(options, () => chat),
    ...(options.messages === undefined ? {} : { messages: options.messages as never }),
    ...(options.onData === undefined ? {} : { onData: options.onData })
  }) as unknown as Page
  return chat
}

const make6: Make = (options) => {
  const chat: Page = new Chat6({
    id: options.id,
    transport: new Transport6(transportOf(options)),
    sendAutomaticallyWhen: (options) => complete6(options) || called6(options),
    onToolCall: onToolCall(options, () => chat),
    ...(options.messages === undefined ? {} : { messages: options.messages as never }),
    ...(options.onData === undefined ? {} : { onData: options.onData })
  }) as unknown as Page
  return chat
}

/** Each version of the client, by its name. */
export const versions: ReadonlyArray<readonly [string, Make]> = [
  ["@ai-sdk/react 4", make7],
  ["@ai-sdk/react 3", make6]
]

/** The text of the last message. */
export const lastText = ({ messages }: Page): string =>
  (messages.at(-1)?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")

/** Waits until it is so. */
export const until = async (test: () => boolean): Promise<void> => {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 5))
}
