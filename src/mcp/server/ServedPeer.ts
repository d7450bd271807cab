/**
 * The client at the other end of a session, for the handlers of its calls.
 *
 * @private
 * @since 0.1.0
 */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as McpPeer from "../offer/McpPeer.js"
import { McpServerError } from "../offer/McpServerError.js"
import type { ServedCall } from "./ServedCall.js"

/**
 * @category models
 */
export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** Progress and log messages of one call: a tool must not fill the memory of a server with them. */
const MOST_TOLD = 10_000

const INVALID = -32602
const UNSUPPORTED = -32601

const cannot = (what: string): McpServerError =>
  new McpServerError({ reason: "unsupported", message: `The client cannot be asked for ${what}` })

/** What a client says about its failure is not repeated. */
const refusedBy = (cause: unknown): McpServerError => {
  const code = (cause as { readonly code?: unknown } | null)?.code
  return code === INVALID
    ? new McpServerError({ reason: "invalid", message: "The answer of the client does not fit the question", cause })
    : code === UNSUPPORTED
      ? new McpServerError({ reason: "unsupported", message: "The client cannot do what was asked of it", cause })
      : new McpServerError({ reason: "refused", message: "The client refused, or did not answer in time", cause })
}

/** Sends a message that nobody waits for. A client that left needs none. */
const notifier = (extra: Extra): ((notification: ServerNotification) => Effect.Effect<void>) => {
  let told = 0
  return (notification) =>
    told++ < MOST_TOLD ? Effect.ignore(Effect.tryPromise(() => extra.sendNotification(notification))) : Effect.void
}

/**
 * Numbers of a call only grow, as the protocol demands; others are left out.
 *
 * @category constructors
 */
export const progressOf = (extra: Extra): ServedCall["progress"] => {
  const progressToken = extra._meta?.progressToken
  if (progressToken === undefined) return () => Effect.void
  const notify = notifier(extra)
  let last = -1
  return (message, done = last + 1, total) =>
    Effect.suspend(() => {
      if (done <= last) return Effect.void
      last = done
      return notify({
        method: "notifications/progress",
        params: {
          progressToken,
          progress: done,
          ...(total === undefined ? {} : { total }),
          ...(message === undefined ? {} : { message })
        }
      })
    })
}

/**
 * @category constructors
 */
export const make = (
  server: Server,
  extra: Extra,
  options: {
    readonly name: string
    /** Milliseconds. */
    readonly answerTimeout: number
    readonly isLogged: (level: McpPeer.LogLevel) => boolean
  }
): McpPeer.Service => {
  const { elicitation, sampling } = server.getClientCapabilities() ?? {}
  const can = { elicit: elicitation?.form !== undefined, sample: sampling !== undefined }
  const notify = notifier(extra)
  const asked = (signal: AbortSignal) => ({
    signal,
    relatedRequestId: extra.requestId,
    timeout: options.answerTimeout
  })
  return {
    can,
    log: (level, data) =>
      options.isLogged(level)
        ? notify({ method: "notifications/message", params: { level, logger: options.name, data } })
        : Effect.void,
    elicit: ({ message, schema: { properties, required } }) =>
      can.elicit
        ? Effect.map(
            Effect.tryPromise({
              try: (signal) =>
                server.elicitInput(
                  {
                    mode: "form",
                    message,
                    requestedSchema: {
                      type: "object",
                      // The client checks the fields of a form.
                      properties: properties as {},
                      ...(required === undefined ? {} : { required: [...required] })
                    }
                  },
                  asked(signal)
                ),
              catch: refusedBy
            }),
            ({ action, content = {} }): McpPeer.Answer => (action === "accept" ? { action, content } : { action })
          )
        : cannot("answers of a person (elicitation)"),
    sample: ({ maxTokens, messages, system, temperature }) =>
      can.sample
        ? Effect.map(
            Effect.tryPromise({
              try: (signal) =>
                server.createMessage(
                  {
                    maxTokens,
                    messages: messages.map(({ role, text }) => ({ role, content: { type: "text" as const, text } })),
                    ...(system === undefined ? {} : { systemPrompt: system }),
                    ...(temperature === undefined ? {} : { temperature })
                  },
                  asked(signal)
                ),
              catch: refusedBy
            }),
            ({ content, model }): McpPeer.Sampled => ({
              model,
              text: [content]
                .flat()
                .flatMap((part) => (part.type === "text" ? [part.text] : []))
                .join("\n")
            })
          )
        : cannot("answers of a model (sampling)"),
    disconnect: Effect.sync(() => extra.closeSSEStream?.())
  }
}
