/** Pages of AI SDK UI in Node: a chat of `@ai-sdk/react` 4 or 3 that talks to a server. */
import { Chat as Chat7 } from "@ai-sdk/react"
import { Chat as Chat6 } from "@ai-sdk/react-v3"
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as complete7,
  DefaultChatTransport as Transport7
} from "ai"
import {
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
}

export interface Options {
  readonly url: string
  readonly agent: string
  readonly id: string
  readonly user?: string
  readonly messages?: ReadonlyArray<unknown>
  readonly onData?: (part: any) => void
}

export type Make = (options: Options) => Page

const transportOf = ({ agent, url, user = "ann" }: Options) => ({
  api: `${url}/ui/chat/${agent}`,
  headers: { authorization: `Bearer token-${user}` }
})

const make7: Make = (options) =>
  new Chat7({
    id: options.id,
    transport: new Transport7(transportOf(options)),
    sendAutomaticallyWhen: complete7,
    ...(options.messages === undefined ? {} : { messages: options.messages as never }),
    ...(options.onData === undefined ? {} : { onData: options.onData })
  }) as unknown as Page

const make6: Make = (options) =>
  new Chat6({
    id: options.id,
    transport: new Transport6(transportOf(options)),
    sendAutomaticallyWhen: complete6,
    ...(options.messages === undefined ? {} : { messages: options.messages as never }),
    ...(options.onData === undefined ? {} : { onData: options.onData })
  }) as unknown as Page

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
